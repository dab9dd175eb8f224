"""FMUs in place of motors: connections between a machine that is simulated, and FMUs of others.

The exchange is explicit: at the start of each step of the machine the inputs of the FMUs are set from its
state, the FMUs make the step, and their outputs act on the machine during the same step.
"""

from collections.abc import Callable, Collection, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Final

import numpy as np

from linkwork.arrays import Floats
from linkwork.fmu.foreign_fmu import FmuFailed, ForeignFmu
from linkwork.machine import Machine
from linkwork.machine.nearest_name import with_remedy
from linkwork.multibody.expressions import ExpressionError, parse
from linkwork.multibody.expressions.program import Program, program_of
from linkwork.multibody.workspace import Workspace
from linkwork.offline.efforts import MotorEfforts, known_motors

_STATE: Final = ("position", "velocity")
_KINDS: Final = ("position.JOINT", "velocity.JOINT", "effort.MOTOR")


@dataclass(frozen=True)
class _Source:
    """Source of a value: a function of workspace, time (s) and commanded efforts, and its unit ("": any)."""

    value: Callable[[Workspace, float, Floats], float]
    unit: str


@dataclass(frozen=True)
class _Input:
    """A variable of an FMU that is set before each step; SI value = factor × value + offset."""

    fmu: ForeignFmu
    variable: Any
    source: _Source
    factor: float
    offset: float

    def put(self, work: Workspace, time_s: float, commanded: Floats) -> None:
        """Set the variable."""
        value = self.source.value(work, time_s, commanded)
        self.fmu.set(self.variable, (value - self.offset) / self.factor)


class FmuCoupling:
    """FMUs, and what connects them with a machine.

    files: the FMUs by name. connections: "TARGET=SOURCE" texts. A target is a motor, or an input or a
    parameter of an FMU, `NAME.variable`; a source is an output `NAME.variable`, `position.JOINT`,
    `velocity.JOINT`, `effort.MOTOR` (the commanded effort), or a function of the time t (s). work: the
    machine's state at the start. taken: motors whose effort is given otherwise. Raises FmuFailed (a
    ValueError).
    """

    def __init__(
        self,
        machine: Machine,
        files: Mapping[str, Path],
        connections: Sequence[str],
        work: Workspace,
        taken: Collection[str] = (),
    ) -> None:
        """Load, connect and initialize the FMUs."""
        self._machine = machine
        self._fmus: dict[str, ForeignFmu] = {}
        self._inputs, self._fixed = list[_Input](), list[_Input]()
        self.motors: dict[int, _Source] = {}
        """Sources of efforts, by the motor's number."""
        try:
            for name, path in files.items():
                self._fmus[name] = ForeignFmu(name, path)
            commanded = [text.partition("=")[2].strip().removeprefix("effort.") for text in connections]
            for text in connections:
                self._connect(text, set(taken) - set(commanded))
            if not self.motors:
                motors = ", ".join(motor.joint for motor in machine.motors) or "none"
                raise FmuFailed(f"no motor is connected: write MOTOR=NAME.output; motors: {motors}")
            for fmu in self._fmus.values():
                fmu.begin()
            for each in (*self._fixed, *self._inputs):
                each.put(work, 0.0, np.zeros(len(machine.motors)))
            for fmu in self._fmus.values():
                fmu.initialized()
        except BaseException:
            self.close()
            raise

    def close(self) -> None:
        """Free the FMUs."""
        for fmu in self._fmus.values():
            fmu.close()

    def step(self, work: Workspace, commanded: Floats, time_s: float, length_s: float) -> None:
        """Let the FMUs make a step from a time, with the machine's state and commanded efforts (motors)."""
        for each in self._inputs:
            each.put(work, time_s, commanded)
        for fmu in self._fmus.values():
            fmu.step(time_s, length_s)

    def put(self, work: Workspace, time_s: float, effort: Floats) -> None:
        """Replace the efforts (motors; N m or N) of connected motors by those of the last step's end."""
        for motor, source in self.motors.items():
            effort[motor] = source.value(work, time_s, effort)
        if not np.isfinite(effort).all():
            raise FmuFailed(f"an FMU gives an effort that is not a finite number at {time_s:g} s")

    def _connect(self, text: str, taken: Collection[str]) -> None:
        target, sign, written = (part.strip() for part in text.partition("="))
        if not (target and sign and written):
            raise FmuFailed(f"{text}: not a connection; write TARGET=SOURCE, say elbow=drive.torque")
        source = self._source(written)
        name, _, variable = target.partition(".")
        if name in self._fmus:
            fmu = self._fmus[name]
            found = fmu.variable(variable, "input", "parameter")
            inputs = self._inputs if found.causality == "input" else self._fixed
            inputs.append(_Input(fmu, found, source, *fmu.scale(found, source.unit)))
            return
        motors = [motor.joint for motor in self._machine.motors]
        if target not in motors:
            targets = ", ".join([*motors, *(f"{fmu}.VARIABLE" for fmu in self._fmus)])
            problem = f"{text}: there is no motor and no FMU {name!r}; available: {targets}"
            raise FmuFailed(with_remedy(problem, target, motors))
        if target in taken or motors.index(target) in self.motors:
            raise FmuFailed(f"{text}: the effort of {target} is given twice")
        number = motors.index(target)
        self.motors[number] = self._output(written, self._machine.motors[number].effort_unit) or source

    def _source(self, text: str) -> _Source:
        """Return what a text stands for."""
        kind, _, name = text.partition(".")
        if kind in self._fmus:
            found = self._output(text, "")
            assert found is not None
            return found
        if kind == "effort" and name:
            return self._commanded(name)
        if kind in _STATE and name:
            return self._state(kind, name)
        try:
            program = program_of(parse(text), {})
        except ExpressionError as error:
            kinds = [f"{fmu}.OUTPUT" for fmu in self._fmus] + [*_KINDS]
            raise FmuFailed(f"{text}: {error}; sources are {', '.join(kinds)} and functions of t") from None
        return _Source(lambda _, time_s, __: _evaluated(program, text, time_s), "")

    def _commanded(self, name: str) -> _Source:
        motors = [motor.joint for motor in self._machine.motors]
        if name not in motors:
            text = f"effort.{name}: there is no motor {name!r}; available: {', '.join(motors)}"
            raise FmuFailed(with_remedy(text, name, motors))
        k = motors.index(name)
        return _Source(lambda _, __, commanded: float(commanded[k]), self._machine.motors[k].effort_unit)

    def _state(self, kind: str, name: str) -> _Source:
        mechanism = self._machine.plant_mechanism
        names = [
            each for each in mechanism.joint_names if each in mechanism.coordinate_names or kind == "velocity"
        ]
        if name not in names:
            text = f"{kind}.{name}: there is no joint {name!r}; available: {', '.join(names)}"
            raise FmuFailed(with_remedy(text, name, names))
        k = mechanism.joint_index(name)
        unit = "rad" if mechanism.joint_is_angle[k] else "m"
        if kind == "position":
            return _Source(lambda work, _, __: float(work.q[k]), unit)
        return _Source(lambda work, _, __: float(work.v[k]), f"{unit}/s")

    def _output(self, text: str, unit: str) -> _Source | None:
        """Return an output of an FMU, in SI units; None for another source."""
        name, _, variable = text.partition(".")
        if name not in self._fmus:
            return None
        fmu = self._fmus[name]
        found = fmu.variable(variable, "output")
        factor, offset = fmu.scale(found, unit)
        return _Source(lambda *_: factor * fmu.get(found) + offset, "")


class FmuEfforts(MotorEfforts):
    """Efforts of motors in an offline simulation, of which some are outputs of FMUs; see `FmuCoupling`.

    given: efforts of the other motors, and those that are commanded to FMUs, see `MotorEfforts`.
    """

    vary = True

    def __init__(
        self,
        machine: Machine,
        given: Mapping[str, float | str],
        files: Mapping[str, Path],
        connections: Sequence[str],
        work: Workspace,
    ) -> None:
        """Load, connect and initialize the FMUs."""
        super().__init__(machine, given)
        self._coupling = FmuCoupling(machine, files, connections, work, known_motors(machine, given))
        self._time = 0.0

    def close(self) -> None:
        """Free the FMUs."""
        self._coupling.close()

    def values(self, time_s: float) -> Floats:
        """Return the efforts (motors; N m or N), those of FMUs at the end of their last step."""
        found = super().values(time_s)
        self._coupling.put(self._work, time_s, found)
        return found

    def hold(self, work: Workspace, figures: Floats, time_s: float) -> None:
        """Let the FMUs make the step whose middle is at a time, and apply their outputs over it.

        figures (flat array): see `look` of the offline runs.
        """
        length = 2.0 * (time_s - self._time)
        self._work = work
        self._coupling.step(work, super().values(time_s), self._time, length)
        self._time += length
        super().hold(work, figures, time_s)


def _evaluated(program: Program, text: str, time_s: float) -> float:
    try:
        return program.value([], time_s)
    except (ArithmeticError, ValueError):
        raise FmuFailed(f"{text} is not a finite number at {time_s:g} s") from None
