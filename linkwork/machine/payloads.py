"""Payloads at the machine's points, in the controller's model.

A load at a point of link i adds to that link's mass m, first moment m c and moment of inertia about the
link's origin J_O = J_c + m (c² 1 − c c'); all of them add up, and a share of a load adds its share. Of the
sums follow the link's own entries: c = (m c) / m and J_c.
"""

from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import Self

import numpy as np

from linkwork.arrays import Floats
from linkwork.machine.description import Machine
from linkwork.machine.sections.bounds import CarriedLoad
from linkwork.multibody.expressions.conditions import parse_condition
from linkwork.multibody.workspace import Model

_UPPER = np.triu_indices(3)


def load_vector(mass: float, com: Sequence[float], inertia: Sequence[float]) -> Floats:
    """mass (1), centre of mass (3), moments of inertia about it (xx, xy, xz, yy, yz, zz) as one vector; zero
    without mass.
    """
    if mass == 0.0:
        return np.zeros(10)
    return np.array([mass, *com, *inertia], dtype=np.float64)


def with_own_model(machine: Machine) -> Machine:
    """Return the machine with a `Mechanism.model` of its own, which `Loads` may change."""
    model = machine.mechanism.model.with_parameters(writable=True)
    return replace(machine, mechanism=replace(machine.mechanism, model=model))


def loaded(machine: Machine, payloads: Mapping[str, Sequence[float]]) -> Machine:
    """The machine as it is while it carries these, by point: mass, centre of mass, moments of inertia.

    With them all loads that signals attach: a path is admitted for the heaviest machine.
    """
    carried = [one for one in machine.payloads if one.carried is not None]
    if not payloads and not carried:
        return machine
    heavier = with_own_model(machine)
    loads = Loads(machine.mechanism.model, heavier.mechanism.model)
    for name, numbers in payloads.items():
        loads.aim(machine.mechanism.point_index(name), load_vector(numbers[0], numbers[1:4], numbers[4:10]))
    loads.apply(1.0)
    for one in carried:
        assert one.carried is not None
        loads.carry(one.index, vector_of(one.carried))
    return heavier


def vector_of(carried: CarriedLoad) -> Floats:
    """Return the load as one vector (10), see `load_vector`."""
    return load_vector(carried.mass_kg, carried.com_m, carried.moments)


class Loads:
    """Loads of a model without any, `empty`, and the model that they are written to."""

    def __init__(self, empty: Model, loaded: Model) -> None:
        points = empty.n_points
        self._link, self._at = empty.point_link, empty.point_at
        self._axes = empty.point_axes.reshape(-1, 3, 3)
        self._own = (empty.mass, empty.com, empty.inertia)
        self._out = (loaded.mass, loaded.com, loaded.inertia)
        self._sums = np.zeros((points, 10))
        self._from, self._to = np.zeros((points, 10)), np.zeros((points, 10))
        self._carried = np.zeros((points, 10))
        self._share = 1.0
        self.changes = 0
        """How often `apply` has been called: what depends on the loads is renewed when it differs."""

    def aim(self, point: int, load: Floats) -> None:
        """Set the target of the load at a point to `load` (10, `load_vector`); others stay as they are."""
        self._from[:] = self._sums
        self._to[point] = self._moments(point, load) + self._carried[point]

    def carry(self, point: int, load: Floats) -> None:
        """Carry `load` (10, `load_vector`) at a point from now on, in addition to the payload there."""
        moments = self._moments(point, load)
        change = moments - self._carried[point]
        self._carried[point] = moments
        self._from[point] += change
        self._to[point] += change
        self.apply(self._share)

    def _moments(self, point: int, load: Floats) -> Floats:
        """Mass, first and second moments about the link's origin (10) of a load at a point."""
        axes, at = self._axes[point].T, self._at[point]
        centre = at + axes @ load[1:4]
        about = np.zeros((3, 3))
        about[_UPPER] = load[4:10]
        about = axes @ (about + np.triu(about, 1).T) @ axes.T
        about += load[0] * (centre @ centre * np.eye(3) - np.outer(centre, centre))
        return np.concatenate([load[:1], load[0] * centre, about[_UPPER]])

    def adopt(self, other: Self, share: float) -> None:
        """Carry what another model of the same machine carries: this share of the way of its loads."""
        self._from[:], self._to[:], self._carried[:] = other._from, other._to, other._carried
        self.apply(share)

    def apply(self, share: float) -> None:
        """Write the parameters: this share of the way from the loads before to those aimed at."""
        self._share = share
        self._sums[:] = self._from + share * (self._to - self._from)
        self.changes += 1
        mass, com, inertia = self._out
        for link in set(self._link[self._link >= 0].tolist()):
            load = self._sums[self._link == link].sum(axis=0)
            own, centre, moments = (part[link] for part in self._own)
            mass[link], com[link], inertia[link] = carrying(float(own), centre, moments, load)

    def load_at(self, points: Sequence[int]) -> Floats:
        """Return the summed loads (10) at these points of one link: mass, first and second moments about its
        origin.
        """
        return np.asarray(self._sums[list(points)].sum(axis=0))


class SignalLoads:
    """Loads that signals attach to a model and remove (`controller.payloads.POINT.carried`)."""

    def __init__(self, machine: Machine, loads: Loads | None) -> None:
        digital = [signal.name for signal in machine.signals if signal.is_digital]
        self._rules = [
            (one.index, parse_condition(one.carried.when, digital), vector_of(one.carried))
            for one in machine.payloads
            if one.carried is not None
        ]
        self._inputs = [signal.name for signal in machine.inputs]
        self._outputs = [signal.name for signal in machine.outputs]
        self._loads = loads
        self.carried = [False] * len(self._rules)

    def __bool__(self) -> bool:
        """Whether there are any."""
        return bool(self._rules)

    def follow(self, inputs: Floats, outputs: Floats) -> bool:
        """Attach and remove loads by the values of all input and output signals (inputs; outputs).

        Returns whether any load has changed.
        """
        values = dict(zip(self._inputs, inputs.tolist(), strict=True))
        values |= zip(self._outputs, outputs.tolist(), strict=True)
        changed = False
        for number, (point, condition, load) in enumerate(self._rules):
            carried = condition.met(values)
            if carried != self.carried[number] and self._loads is not None:
                self.carried[number], changed = carried, True
                self._loads.carry(point, load if carried else np.zeros(10))
        return changed


def carrying(mass: float, centre: Floats, moments: Floats, load: Floats) -> tuple[float, Floats, Floats]:
    """Mass, centre of mass and moments of inertia about it (xx, xy, xz, yy, yz, zz) of a body with a load.

    All in the axes of the body's link; `load` (10) holds mass, first and second moments about the link's
    origin.
    """
    total = mass + float(load[0])
    if total <= 0.0:
        return mass, centre, moments
    middle = (mass * centre + load[1:4]) / total
    about = _origin(mass, centre, moments) + load[4:10] - _origin(total, middle, np.zeros(6))
    return total, middle, about


def _origin(mass: float, com: Floats, inertia: Floats) -> Floats:
    """Moments of inertia about the link's origin, from those about the centre of mass."""
    return np.asarray(inertia + mass * (com @ com * np.eye(3) - np.outer(com, com))[_UPPER])
