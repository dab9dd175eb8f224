"""Limits: an infeasible motion is refused before it begins, with the reason."""

import math

import pytest

from linkwork.client.robot import Robot
from linkwork.protocol.codes import RequestCode, ResultCode
from linkwork.protocol.errors import RequestError
from linkwork.rig.motions import duration_s, slower
from linkwork.rig.under_test import RigUnderTest

pytestmark = pytest.mark.rig(controller=True)
SUGGESTIONS = 3
"""So many suggestions how much slower a motion has to be lead to one that is feasible."""


def test_efforts_stay_within_the_motors_limits(rig: RigUnderTest) -> None:
    """No command exceeds a motor's largest effort."""
    record = rig.run(rig.motions.fast, title="fast")
    for motor in rig.machine.motors:
        record.effort(motor.joint).never_exceeds(motor.max_effort)


def test_too_fast_is_refused_with_what_would_do(rig: RigUnderTest) -> None:
    """A motion beyond the machine's limits is refused; the message gives the feasible slower motion."""
    hasty = slower(rig.motions.at_speed(1.0), 2.0)
    answer = rig.robot.check(hasty)
    assert not answer["feasible"]
    assert answer["violations"]
    assert answer["violations"][0]["text"]
    with pytest.raises(RequestError) as refused:
        rig.robot.send(hasty)
    assert refused.value.code in (ResultCode.INFEASIBLE, ResultCode.INVALID_GOAL)
    for _ in range(SUGGESTIONS):
        stretch = answer["min_time_stretch"]
        if answer["feasible"] or stretch is None:
            break
        hasty = slower(hasty, 1.0 / stretch)
        answer = rig.robot.check(hasty)
    assert answer["feasible"] or stretch is None


@pytest.mark.rig(position_limits=True)
def test_beyond_a_position_limit_is_refused(rig: RigUnderTest) -> None:
    """A motion beyond a joint's position limit is refused at any speed."""
    home = rig.home
    name, beyond = rig.motions.beyond_a_limit
    with pytest.raises(RequestError) as refused:
        rig.robot.move(home | {name: beyond})
    assert refused.value.code in (ResultCode.INFEASIBLE, ResultCode.INVALID_GOAL)
    assert all(math.isclose(rig.positions[each], home[each], abs_tol=1e-3) for each in home)


def test_a_jump_is_refused(rig: RigUnderTest) -> None:
    """A trajectory that does not begin at the machine's present position is refused."""
    motion = rig.motions.slow
    there = rig.motions.turning_point
    points = [dict(point) for point in motion["points"]]
    points[0]["positions"] = [there[name] for name in motion["coordinates"]]
    with pytest.raises(RequestError) as refused:
        rig.robot.send(motion | {"points": points})
    assert refused.value.code < 0


def test_unknown_coordinates_are_refused(rig: RigUnderTest) -> None:
    """A goal for an unknown coordinate is refused; the message names the coordinates that exist."""
    with pytest.raises(RequestError) as refused:
        rig.robot.move({"no such coordinate": 0.1})
    assert refused.value.code == ResultCode.INVALID_COORDINATES
    assert rig.motions.coordinates[0] in refused.value.message


def test_only_the_owner_moves_it(rig: RigUnderTest) -> None:
    """While a client holds the lease, motions of others are refused, naming the owner; any may stop."""
    endpoint = rig.daemons.requests
    with Robot(endpoint=endpoint, owner="another client", lease=False) as other:
        with pytest.raises(RequestError) as refused:
            other.move(rig.motions.turning_point)
        assert refused.value.code == RequestCode.NOT_OWNER
        assert rig.robot.owner in refused.value.message
        other.stop()
    assert duration_s(rig.motions.slow) > 0.0
