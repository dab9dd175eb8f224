"""Names of a machine's quantities, their places and units; a wrong one is answered with those there are."""

from __future__ import annotations

from collections.abc import Sequence

from linkwork.machine import Machine
from linkwork.machine.nearest_name import nearest


class Names:
    """The names of one machine."""

    def __init__(self, machine: Machine) -> None:
        self._machine = machine
        mechanism = machine.mechanism
        self._coordinates = {name: at for at, name in enumerate(mechanism.coordinate_names)}
        own = len(mechanism.coordinate_names) - len(mechanism.coordinates)
        for at, task in enumerate(mechanism.coordinates, own):
            self._coordinates.setdefault(f"{task.of}.{task.kind}", at)

    def coordinate(self, name: str) -> int:
        """The place of a coordinate: a joint, a task coordinate, or a point's: "tool.x". Raises KeyError."""
        if name not in self._coordinates:
            raise KeyError(_unknown("coordinate", name, list(self._coordinates)))
        return self._coordinates[name]

    def joint(self, name: str) -> int:
        """The place of a joint's degree of freedom. Raises KeyError."""
        names = self._machine.mechanism.joint_names
        if name not in names:
            raise KeyError(_unknown("joint", name, names))
        return names.index(name)

    def motor(self, name: str) -> tuple[int, str]:
        """The place of a motor, by its joint, and the unit of its effort. Raises KeyError."""
        names = [motor.joint for motor in self._machine.motors]
        if name not in names:
            raise KeyError(_unknown("motor", name, names))
        at = names.index(name)
        return at, "N m" if self._machine.motors[at].is_angle else "N"

    def signal(self, name: str) -> tuple[str, int]:
        """The channel of a signal in the log, and its place there. Raises KeyError."""
        for channel, signals in (("input", self._machine.inputs), ("output", self._machine.outputs)):
            for at, signal in enumerate(signals):
                if signal.name == name:
                    return channel, at
        names = [signal.name for signal in self._machine.signals]
        raise KeyError(_unknown("signal", name, names) if names else f"{self._machine.name} has no signals")

    def unit(self, coordinate: int) -> str:
        """rad or m."""
        return "rad" if self._machine.coordinates[coordinate].is_angle else "m"

    def path_tolerance(self, coordinate: str) -> float:
        """The path tolerance that a goal has by default, rad or m."""
        return self._machine.controller.tolerances[self.coordinate(coordinate)].path


def _unknown(kind: str, name: str, names: Sequence[str]) -> str:
    meant = nearest(name, list(names))
    hint = f", did you mean {meant!r}?" if meant else ""
    return f"there is no {kind} {name!r}{hint}; there are {', '.join(names)}"
