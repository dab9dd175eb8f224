"""Capabilities of a rig, by name, with the reason for each missing one; tests are skipped by them."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from linkwork.machine.nearest_name import nearest
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


def _motors(rig: RigUnderTest) -> str:
    return "" if rig.machine.motors else f"{rig.name} has no motors"


def _controller(rig: RigUnderTest) -> str:
    if rig.options.controller == NONE:
        return "the controller under test is not linkwork's (--controller none)"
    return _motors(rig)


def _closures(rig: RigUnderTest) -> str:
    return "" if rig.machine.is_constrained else f"{rig.name} has no closures: its joints form a tree"


def _redundant(rig: RigUnderTest) -> str:
    motors, dof = len(rig.machine.motors), rig.machine.dof
    return "" if motors > dof else f"{rig.name} has {motors} motors for {dof} degrees of freedom"


def _extra_sensors(rig: RigUnderTest) -> str:
    sensors, dof = len(rig.machine.sensors), rig.machine.dof
    return "" if sensors > dof else f"{rig.name} has {sensors} sensors for {dof} degrees of freedom"


def _passive(rig: RigUnderTest) -> str:
    driven = {motor.index for motor in rig.machine.motors}
    return "" if len(driven) < rig.machine.mechanism.nv else f"every joint of {rig.name} has a motor"


def _gravity(rig: RigUnderTest) -> str:
    return "" if rig.holds_effort else f"{rig.name} needs no holding effort at home"


def _brakes(rig: RigUnderTest) -> str:
    braked = all(motor.brake_effort > 0.0 for motor in rig.machine.motors)
    return _motors(rig) or ("" if braked else f"not every motor of {rig.name} has a brake")


def _contacts(rig: RigUnderTest) -> str:
    return "" if rig.machine.mechanism.contacts else f"{rig.name} has no contacts"


def _force_sensors(rig: RigUnderTest) -> str:
    return "" if rig.machine.force_sensors else f"{rig.name} has no force sensor"


def _signals(rig: RigUnderTest) -> str:
    return "" if rig.machine.signals else f"{rig.name} has no signals"


def _limits(rig: RigUnderTest) -> str:
    goals = rig.machine.goal_coordinates
    limited = [each for each in rig.machine.coordinates if each.name in goals]
    finite = any(abs(bound) < float("inf") for each in limited for bound in each.position)
    return "" if finite else f"no goal coordinate of {rig.name} has limits of position"


def _task(rig: RigUnderTest) -> str:
    return _controller(rig) or ("" if rig.motions.task else f"no set of task coordinates moves {rig.name}")


def _lockstep(rig: RigUnderTest) -> str:
    return "" if rig.pace == "lockstep" else f"the rig runs at pace {rig.pace}, not in lockstep"


def _real_time(rig: RigUnderTest) -> str:
    return "" if rig.pace != "lockstep" else "lockstep has no clock"


def _truth(rig: RigUnderTest) -> str:
    return "" if rig.daemons.owns_plant else "the true state is known only for linkwork's simulator"


def _own(role: str) -> Callable[[RigUnderTest], str]:
    def why(rig: RigUnderTest) -> str:
        ours = rig.daemons.owns_plant if role == "plant" else rig.daemons.owns_controller
        return "" if ours else f"the {role} was not started by these tests and is not stopped by them"

    return why


CAPABILITIES: dict[str, Callable[[RigUnderTest], str]] = {
    "motors": _motors,
    "controller": _controller,
    "closures": _closures,
    "redundant_motors": _redundant,
    "extra_sensors": _extra_sensors,
    "passive_joints": _passive,
    "brakes": _brakes,
    "gravity": _gravity,
    "contacts": _contacts,
    "force_sensors": _force_sensors,
    "signals": _signals,
    "position_limits": _limits,
    "task_coordinates": _task,
    "lockstep": _lockstep,
    "real_time": _real_time,
    "truth": _truth,
    "kill:plant": _own("plant"),
    "kill:controller": _own("controller"),
    "kill:gateway": _own("controller"),
    "kill:loop": _own("controller"),
}
"""Name → why a rig cannot, "" when it can. Beside these: "inject", and "inject:KIND" of faults."""


def can(rig: RigUnderTest, name: str) -> Capabilities:
    """Whether a rig has a capability, with the reason if not. Raises KeyError for an unknown name."""
    if name == "inject" or name.startswith("inject:"):
        return Capabilities(name, rig.daemons.cannot_inject(name.partition(":")[2]))
    if name not in CAPABILITIES:
        names = [*CAPABILITIES, "inject", *(f"inject:{kind}" for kind in FAULT_KINDS)]
        meant = nearest(name, names)
        hint = f", did you mean {meant!r}?" if meant else ""
        raise KeyError(f"unknown capability {name!r}{hint}; there are {', '.join(names)}")
    return Capabilities(name, CAPABILITIES[name](rig))


def unmet(rig: RigUnderTest, markers: Iterable[pytest.Mark]) -> str:
    """Why a test with these `rig` markers cannot run on this rig; "" when it can.

    `@pytest.mark.rig("scara", "delta", pace="lockstep", closures=True, needs=["inject:sensor"])`: only these
    machines, only this pace, with these capabilities; False: only without.
    """
    if rig.options.controller != NONE and not rig.machine.motors:
        return _motors(rig)
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
