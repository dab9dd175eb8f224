"""The section `shadow`: the simulator beside the machine, and how far the two may differ."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Annotated, Literal

from pydantic import Field

from machine.constraint_base import CoordinateName
from machine.fields import Number, Section, Switch, entry
from machine.problems import MachineError
from machine.unknown import unknown
from machine.yaml import Document

if TYPE_CHECKING:
    from machine.description import Machine, Motor

OnExceeded = Literal["tell", "stop", "fault"]
ENERGY = "energy"


class ShadowSpec(Section):
    """The simulator that runs beside the machine, and what happens where the two differ."""

    on: Switch = entry("Whether it runs without being asked for by `--shadow`", default=False)
    bandwidth_rad_s: Number = entry(
        "Bandwidth of the difference in effort; what is slower than this is seen whole", "rad/s", 60.0,
        gt=0, le=10_000,
    )  # fmt: skip
    effort_share: Number | None = entry(
        "Largest difference, as a share of each motor's largest effort; none: motors are not judged",
        default=0.1,
        gt=0,
        le=10,
    )
    efforts: dict[CoordinateName, Annotated[Number, Field(gt=0)]] = entry(
        "Largest difference along goal coordinates, by their names", "N m or N", default={}
    )
    energy_threshold_J: Number | None = entry(
        "Largest difference in energy over `window_s`; none: energy is not judged", "J", None, gt=0
    )
    window_s: Number = entry("Time over which the difference in energy adds up", "s", 0.5, gt=0, le=60)
    on_exceeded: OnExceeded = entry(
        "Tell it, stop the machine on its path as well, or brake it with the fault MODEL_DIFFERENCE",
        default="tell",
    )


@dataclass(frozen=True)
class ShadowSettings:
    """How the shadow runs. Thresholds are infinite where nothing is judged.

    `motors` (N m or N) has one for each motor, `coordinates` one for each goal coordinate, in their orders;
    `energy` is in J.
    """

    on: bool
    bandwidth: float
    motors: tuple[float, ...]
    coordinates: tuple[float, ...]
    energy: float
    window_s: float
    on_exceeded: OnExceeded

    @property
    def thresholds(self) -> tuple[float, ...]:
        """All of them, in the order of `differences`."""
        return (*self.motors, *self.coordinates, self.energy)


def shadow_settings(
    spec: ShadowSpec, motors: Sequence[Motor], goals: Sequence[str], document: Document
) -> ShadowSettings:
    """Return the settings of a file. Raises MachineError where a threshold is of no goal coordinate."""
    problems = [
        unknown(document, ("shadow", "efforts", name), name, "goal coordinate", goals, of_key=True)
        for name in spec.efforts
        if name not in goals
    ]
    if problems:
        raise MachineError(problems)
    share = math.inf if spec.effort_share is None else spec.effort_share
    energy = math.inf if spec.energy_threshold_J is None else spec.energy_threshold_J
    return ShadowSettings(
        spec.on,
        spec.bandwidth_rad_s,
        tuple(share * motor.max_effort for motor in motors),
        tuple(spec.efforts.get(name, math.inf) for name in goals),
        energy,
        spec.window_s,
        spec.on_exceeded,
    )


@dataclass(frozen=True)
class Difference:
    """One of the numbers that are judged: whose it is, what it is ("motor", "coordinate", "energy"), unit."""

    name: str
    kind: Literal["motor", "coordinate", "energy"]
    unit: str

    def __str__(self) -> str:
        """Name it."""
        return {
            "motor": f"the effort of motor {self.name}",
            "coordinate": f"the effort along {self.name}",
            "energy": "the energy",
        }[self.kind]


def differences(machine: Machine) -> tuple[Difference, ...]:
    """Return what is judged, in the order of `ShadowSettings.thresholds`: motors, coordinates, energy."""
    turns = {each.name: each.is_angle for each in machine.coordinates}
    motors = [Difference(each.joint, "motor", "N m" if each.is_angle else "N") for each in machine.motors]
    goals = [
        Difference(name, "coordinate", "N m" if turns[name] else "N")
        for name in machine.controller.goal_coordinates
    ]
    return (*motors, *goals, Difference(ENERGY, "energy", "J"))
