"""The brake sequence on device time."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from linkwork.controller.supervision.brakes import RAMP_S, BrakeSequence, Phase
from linkwork.protocol.codes import Mode


def at(brakes: BrakeSequence, time_s: float) -> tuple[Phase, Mode, float]:
    brakes.advance(time_s)
    return brakes.phase, brakes.mode, brakes.share


def test_enabling_loads_the_motor_before_the_brake_opens() -> None:
    brakes = BrakeSequence(brake_release_s=0.1)
    brakes.engage(10.0)
    assert at(brakes, 10.0) == (Phase.ENGAGING, Mode.BRAKE, 0.0)
    phase, mode, share = at(brakes, 10.0 + RAMP_S / 2)
    assert (phase, mode) == (Phase.ENGAGING, Mode.BRAKE)
    assert share == pytest.approx(0.5)
    assert at(brakes, 10.0 + RAMP_S + 0.05) == (Phase.RELEASING, Mode.EFFORT, 1.0)
    assert at(brakes, 10.0 + RAMP_S + 0.11) == (Phase.RELEASED, Mode.EFFORT, 1.0)


def test_disabling_closes_the_brake_before_the_motor_lets_go() -> None:
    brakes = BrakeSequence(brake_release_s=0.1)
    brakes.engage(0.0)
    brakes.advance(1.0)
    brakes.disengage(1.0)
    assert at(brakes, 1.05) == (Phase.SETTING, Mode.BRAKE, 1.0)
    phase, mode, share = at(brakes, 1.1 + RAMP_S / 2)
    assert (phase, mode) == (Phase.UNLOADING, Mode.BRAKE)
    assert share == pytest.approx(0.5)
    assert at(brakes, 2.0) == (Phase.BRAKED, Mode.BRAKE, 0.0)


@given(
    st.lists(
        st.tuples(st.sampled_from(["engage", "disengage", "wait", "drop"]), st.floats(0.0, 0.2)), max_size=40
    )
)
def test_whatever_happens_the_share_never_jumps_but_by_a_drop(happenings: list[tuple[str, float]]) -> None:
    brakes, time_s, step = BrakeSequence(0.03), 0.0, 1e-3
    brakes.advance(time_s)
    for action, wait in happenings:
        if action == "drop":
            brakes.drop()
            assert (brakes.phase, brakes.share, brakes.mode) == (Phase.BRAKED, 0.0, Mode.BRAKE)
        elif action != "wait":
            getattr(brakes, action)(time_s)
        for _ in range(int(wait / step)):
            before, time_s = brakes.share, time_s + step
            brakes.advance(time_s)
            assert 0.0 <= brakes.share <= 1.0
            assert abs(brakes.share - before) <= step / RAMP_S + 1e-9
