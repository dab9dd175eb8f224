"""What clients are told of a machine with joints of several degrees of freedom, which are no coordinates."""

from linkwork.controller.gateway.requests.describe import describe
from linkwork.machine import load
from linkwork.protocol.codes import Pace


def test_task_coordinates_are_told_apart_from_joints() -> None:
    machine = load("platform_3rrs")
    told = describe(machine, Pace.LOCKSTEP)
    kinds = {each["name"]: each["kind"] for each in told["coordinates"]}
    assert {name for name, kind in kinds.items() if kind == "task"} == {"height", "roll", "pitch", "yaw"}
    assert "ball_1.rx" not in kinds
