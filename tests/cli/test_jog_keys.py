"""The dead-man's switch as a rule, without a terminal."""

from hypothesis import given
from hypothesis import strategies as st

from linkwork.cli.jog_keys import HOLD_S, REPEAT_S, JogHold


def test_nothing_is_held_before_a_stroke() -> None:
    assert JogHold().held(0.0) == ""


def test_one_stroke_lasts_until_the_terminal_could_repeat_it() -> None:
    man = JogHold()
    man.press("+", 0.0)
    assert man.held(HOLD_S - 0.01) == "+"
    assert man.held(HOLD_S) == ""


def test_a_repeated_key_ends_a_moment_after_its_last_stroke() -> None:
    man = JogHold()
    for stroke in range(10):
        man.press("+", 0.5 + 0.03 * stroke)
    last = 0.5 + 0.03 * 9
    assert man.held(last + REPEAT_S - 0.01) == "+"
    assert man.held(last + REPEAT_S) == ""


def test_another_key_is_a_new_stroke() -> None:
    man = JogHold()
    man.press("+", 0.0)
    man.press("-", 0.1)
    assert man.held(0.1) == "-"


@given(st.lists(st.tuples(st.sampled_from("+-"), st.floats(0.001, 2.0)), max_size=30))
def test_nothing_is_ever_held_for_longer_than_the_first_hold(strokes: list[tuple[str, float]]) -> None:
    man, now = JogHold(), 0.0
    for key, pause in strokes:
        now += pause
        man.press(key, now)
    assert man.held(now + HOLD_S) == ""
