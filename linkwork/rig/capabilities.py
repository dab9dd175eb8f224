"""Capabilities of a rig, by name, with the reason for each missing one; tests are skipped by them."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from linkwork.machine.nearest_name import no_such
from linkwork.rig.rig_options import NONE

if TYPE_CHECKING:
    import pytest

    from linkwork.rig.under_test import RigUnderTest


FAULT_KINDS = ("wire", "sensor", "actuator", "signal", "mechanism", "processor")


@dataclass(frozen=True)
class Capabilities:
    """An answer: true, or false with the reason `why`."""

    name: str
    why: str = ""

    def __bool__(self) -> bool:
        return not self.why


_MOTORS = "{rig} has no motors"
_CONTROLLER = "the controller under test is not linkwork's (--controller none)"
_OWN_PLANT, _OWN_CONTROLLER = (
    f"the {role} was not started by these tests and is not stopped by them"
    for role in ("plant", "controller")
)


def _limited(rig: RigUnderTest) -> bool:
    goals = [each for each in rig.machine.coordinates if each.name in rig.machine.goal_coordinates]
    return any(abs(bound) < float("inf") for each in goals for bound in each.position)


CAPABILITIES: dict[str, tuple[Callable[[RigUnderTest], object], str]] = {
    "motors": (lambda rig: rig.machine.motors, _MOTORS),
    "controller": (lambda rig: rig.options.controller != NONE, _CONTROLLER),
    "closures": (lambda rig: rig.machine.is_constrained, "{rig} has no closures: its joints form a tree"),
    "redundant_motors": (
        lambda rig: len(rig.machine.motors) > rig.machine.dof,
        "{rig} has {motors} motors for {dof} degrees of freedom",
    ),
    "extra_sensors": (
        lambda rig: len(rig.machine.sensors) > rig.machine.dof,
        "{rig} has {sensors} sensors for {dof} degrees of freedom",
    ),
    "passive_joints": (
        lambda rig: len({motor.index for motor in rig.machine.motors}) < rig.machine.mechanism.nv,
        "every joint of {rig} has a motor",
    ),
    "brakes": (
        lambda rig: all(motor.brake_effort > 0.0 for motor in rig.machine.motors),
        "not every motor of {rig} has a brake",
    ),
    "gravity": (lambda rig: rig.holds_effort, "{rig} needs no holding effort at home"),
    "contacts": (lambda rig: rig.machine.mechanism.contacts, "{rig} has no contacts"),
    "force_sensors": (lambda rig: rig.machine.force_sensors, "{rig} has no force sensor"),
    "signals": (lambda rig: rig.machine.signals, "{rig} has no signals"),
    "position_limits": (_limited, "no goal coordinate of {rig} has limits of position"),
    "task_coordinates": (lambda rig: rig.motions.task, "no set of task coordinates moves {rig}"),
    "lockstep": (lambda rig: rig.pace == "lockstep", "the rig runs at pace {pace}, not in lockstep"),
    "real_time": (lambda rig: rig.pace != "lockstep", "lockstep has no clock"),
    "truth": (
        lambda rig: rig.daemons.owns_plant,
        "the true state is known only for linkwork's simulator",
    ),
    "kill:plant": (lambda rig: rig.daemons.owns_plant, _OWN_PLANT),
    "kill:controller": (lambda rig: rig.daemons.owns_controller, _OWN_CONTROLLER),
    "kill:gateway": (lambda rig: rig.daemons.owns_controller, _OWN_CONTROLLER),
    "kill:loop": (lambda rig: rig.daemons.owns_controller, _OWN_CONTROLLER),
}
"""Name → whether a rig can, and why not. Beside these: "inject", and "inject:KIND" of faults."""
_BEFORE = {
    "controller": ("controller", "motors"),
    "brakes": ("motors", "brakes"),
    "task_coordinates": ("controller", "motors", "task_coordinates"),
}
"""Capabilities that need others, in the order in which they are looked at."""


def _why_not(rig: RigUnderTest, name: str) -> str:
    """Return why a rig lacks a capability; "" where it has it."""
    machine = rig.machine
    for each in _BEFORE.get(name, (name,)):
        has, text = CAPABILITIES[each]
        if not has(rig):
            counts = {"motors": len(machine.motors), "sensors": len(machine.sensors), "dof": machine.dof}
            return text.format(rig=rig.name, pace=rig.pace, **counts)
    return ""


def can(rig: RigUnderTest, name: str) -> Capabilities:
    """Whether a rig has a capability, with the reason if not. Raises KeyError for an unknown name."""
    if name == "inject" or name.startswith("inject:"):
        return Capabilities(name, rig.daemons.cannot_inject(name.partition(":")[2]))
    if name not in CAPABILITIES:
        names = [*CAPABILITIES, "inject", *(f"inject:{kind}" for kind in FAULT_KINDS)]
        raise KeyError(no_such("capability", name, names))
    return Capabilities(name, _why_not(rig, name))


def unmet(rig: RigUnderTest, markers: Iterable[pytest.Mark]) -> str:
    """Why a test with these `rig` markers cannot run on this rig; "" when it can.

    `@pytest.mark.rig("scara", "delta", pace="lockstep", closures=True, needs=["inject:sensor"])`: only these
    machines, only this pace, with these capabilities; False: only without.
    """
    if rig.options.controller != NONE and not rig.machine.motors:
        return _why_not(rig, "motors")
    for marker in markers:
        if marker.args and rig.name not in marker.args:
            return f"the test is for {', '.join(marker.args)}"
        for name, wanted in marker.kwargs.items():
            reason = _unmet(rig, name, wanted)
            if reason:
                return reason
    return ""


def _words(wanted: Any) -> tuple[str, ...]:
    return (wanted,) if isinstance(wanted, str) else tuple(wanted)


def _unmet(rig: RigUnderTest, name: str, wanted: object) -> str:
    if name == "pace":
        paces = _words(wanted)
        return (
            "" if rig.pace in paces else f"the rig runs at pace {rig.pace}, the test needs {', '.join(paces)}"
        )
    if name == "needs":
        return next((answer.why for each in _words(wanted) if not (answer := can(rig, each))), "")
    answer = can(rig, name)
    if bool(answer) == bool(wanted):
        return ""
    return answer.why or f"the test is for rigs without {name.replace('_', ' ')}"
