"""Input signals of the simulated machine: conditions and expressions of its true state."""

from collections.abc import Mapping
from dataclasses import dataclass

import numpy as np

from linkwork.arrays import Floats
from linkwork.machine import Machine
from linkwork.machine.sections.signal_section import Signal
from linkwork.multibody import Workspace
from linkwork.multibody.expressions.conditions import Condition, NamedExpression, parse_condition, parse_named
from linkwork.multibody.tree.coordinates import coordinates
from linkwork.multibody.tree.kinematics import kinematics
from linkwork.plant.scene.handling import Handling

_STREAM = 1
"""Keeps the noise apart from that of the sensors, which has the same seed."""


@dataclass(frozen=True)
class _Switch:
    source: Condition

    def value(self, values: Mapping[str, float]) -> float:
        """Return 1 while the condition holds, else 0."""
        return float(self.source.met(values))


@dataclass(frozen=True)
class _Reading:
    source: NamedExpression
    signal: Signal

    def value(self, values: Mapping[str, float]) -> float:
        """Return the value within the range; the lowest one where the expression has none."""
        low, high = self.signal.low, self.signal.high
        found = self.source.value(values)
        return min(max(found, low), high) if found == found else low


class SimulatedInputs:
    """Evaluates the inputs with a key `simulated`; the others stay at their initial values.

    A digital input is on while its condition holds, an analog one has the value of its expression, within
    its range. Noise is drawn once a period. Names are those of coordinates, JOINT.position and
    JOINT.velocity (true values, rad or m and per second), POINT.x, .y and .z (world, m), signals, and time_s.
    inputs (inputs) and outputs (outputs): their values, the former written. handling: gives the quantities
    of parts and grippers. seed: of the noise.
    """

    def __init__(
        self,
        machine: Machine,
        work: Workspace,
        inputs: Floats,
        outputs: Floats,
        handling: Handling | None = None,
        seed: int = 0,
    ) -> None:
        self._work, self._inputs, self._period_s = work, inputs, machine.plant.period_s
        mechanism = machine.plant_mechanism
        points = {
            f"{name}.{axis}": (work.point_position[number], at)
            for number, name in enumerate(mechanism.point_names)
            for at, axis in enumerate("xyz")
        }
        places: dict[str, tuple[Floats, int]] = dict(points)
        places |= {f"{name}.position": (work.q, at) for at, name in enumerate(mechanism.position_names)}
        places |= {f"{name}.velocity": (work.v, at) for at, name in enumerate(mechanism.joint_names)}
        places |= {name: (work.theta, at) for at, name in enumerate(mechanism.coordinate_names)}
        places |= {signal.name: (inputs, at) for at, signal in enumerate(machine.inputs)}
        places |= {signal.name: (outputs, at) for at, signal in enumerate(machine.outputs)}
        self._handling = handling
        if handling is not None:
            places |= handling.quantities
        switches = [signal.name for signal in machine.signals if signal.is_digital]
        self._rules: list[tuple[int, _Switch | _Reading]] = []
        used: set[str] = set()
        for at, signal in enumerate(machine.inputs):
            if not signal.simulated:
                continue
            rule = (
                _Switch(parse_condition(signal.simulated, switches))
                if signal.is_digital
                else _Reading(parse_named(signal.simulated), signal)
            )
            used |= set(rule.source.names)
            self._rules.append((at, rule))
        self._places = {name: places[name] for name in used if name != "time_s"}
        signals, period_s = machine.inputs, self._period_s
        self._late = np.array([round(signal.delay_s / period_s) for signal in signals], np.int64)
        self._past = np.tile(inputs, (int(self._late.max(initial=0)) + 1, 1))
        self._random = np.random.default_rng([seed, _STREAM])
        self._noise = np.array([signal.noise for signal in signals])
        self._drawn = np.zeros(len(signals))
        self._step = np.array([signal.resolution for signal in signals])
        self._stepped = self._step > 0.0
        self._low, self._high = (
            np.array([getattr(each, key) for each in signals]) for key in ("low", "high")
        )
        self._columns, self._tick = np.arange(len(signals)), -1
        self._gaps = any(name.endswith((".gap", ".broken", ".place")) for name in self._places)
        of_bodies = {*points, *mechanism.coordinate_names}
        self._bodies = self._gaps or not of_bodies.isdisjoint(self._places)

    def sample(self, tick: int) -> None:
        """Write the inputs at the present state. An input that names another one takes its last value."""
        if not self._rules:
            return
        if self._bodies:
            kinematics(*self._work.arguments)
            coordinates(*self._work.arguments)
        if self._gaps and self._handling is not None:
            self._handling.measure()
        values = {name: float(array[at]) for name, (array, at) in self._places.items()}
        values["time_s"] = tick * self._period_s
        exact = self._past[tick % len(self._past)]
        for at, rule in self._rules:
            exact[at] = rule.value(values)
        if tick != self._tick:
            if self._tick < 0:
                self._past[:] = exact
            self._tick = tick
            if self._noise.any():
                self._drawn[:] = self._noise * self._random.standard_normal(len(self._noise))
        late = self._past[(tick - self._late) % len(self._past), self._columns]
        late += self._drawn
        if self._stepped.any():
            step = self._step[self._stepped]
            late[self._stepped] = np.round(late[self._stepped] / step) * step
        np.clip(late, self._low, self._high, out=self._inputs)
