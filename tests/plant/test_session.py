"""Who may have the plant, and what each message is: every combination, without a socket."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from linkwork.plant.device.session import Greeting, Hearing, PlantOwnership, SessionTerms, first_difference
from linkwork.protocol.codes import PROTOCOL_VERSION, Pace, RefuseCode
from linkwork.protocol.handshake import Hello, Refuse

LAYOUT = {"joints": [{"name": "a", "unit": "rad"}], "period_s": 0.001}


def hello(session: int = 1, **changes: object) -> Hello:
    fields: dict[str, object] = {
        "session": session, "owner": f"owner{session}", "interface": "same", "pace": Pace.LOCKSTEP,
        "period_s": 0.001, "layout": LAYOUT,
    }  # fmt: skip
    return Hello(**{**fields, **changes})  # type: ignore[arg-type]


def seat(
    owner: int | None = None, *, alive: bool = True, paces: tuple[Pace, ...] = tuple(Pace)
) -> PlantOwnership:
    made = PlantOwnership(SessionTerms("same", LAYOUT, 0.001, paces))
    if owner is not None:
        made.enter(hello(owner), b"peer", 10).alive = alive
    return made


@pytest.mark.parametrize(
    ("owner", "alive", "session", "outcome"),
    [
        (None, True, 1, Greeting.ENTER),
        (1, True, 1, Greeting.REPEATED),
        (1, True, 2, RefuseCode.TAKEN),
        (1, False, 1, Greeting.REPEATED),
        (1, False, 2, Greeting.ENTER),
    ],
)
def test_hello_by_owner(owner: int | None, alive: bool, session: int, outcome: object) -> None:
    verdict = seat(owner, alive=alive).judge_hello(hello(session))
    assert (verdict.code if isinstance(verdict, Refuse) else verdict) == outcome


@pytest.mark.parametrize("owner", [None, 1, 2])
@pytest.mark.parametrize("alive", [True, False])
@pytest.mark.parametrize(
    ("changes", "code", "words"),
    [
        ({"protocol": PROTOCOL_VERSION + 1}, RefuseCode.VERSION, ("version 1", "version 2")),
        ({"interface": "other", "layout": {}}, RefuseCode.INTERFACE, ("same", "other")),
        (
            {"interface": "other", "layout": {**LAYOUT, "joints": [{"name": "b", "unit": "rad"}]}},
            RefuseCode.INTERFACE,
            ("joints[0].name", "'a'", "'b'"),
        ),
        ({"pace": Pace.HOST}, RefuseCode.PACE, ("lockstep", "host")),
        ({"period_s": 0.002}, RefuseCode.PERIOD, ("0.001 s", "0.002 s")),
    ],
)
def test_a_mismatch_is_refused_with_both_values_whoever_owns(
    owner: int | None, alive: bool, changes: dict[str, object], code: RefuseCode, words: tuple[str, ...]
) -> None:
    verdict = seat(owner, alive=alive, paces=(Pace.LOCKSTEP,)).judge_hello(hello(1, **changes))
    assert isinstance(verdict, Refuse)
    assert (verdict.code, verdict.session) == (code, 1)
    for word in words:
        assert word in verdict.text


def test_another_model_is_no_reason_to_refuse() -> None:
    assert seat().judge_hello(hello(model="quite different")) is Greeting.ENTER


def test_the_refusal_names_the_owner() -> None:
    verdict = seat(1).judge_hello(hello(2))
    assert isinstance(verdict, Refuse)
    assert verdict.owner == "owner1"
    assert "owner1" in verdict.text


@pytest.mark.parametrize("taken", [-1, 0, 4])
@pytest.mark.parametrize("ahead", [0, 1, 3])
@pytest.mark.parametrize("session", [1, 2])
@pytest.mark.parametrize("alive", [True, False])
def test_every_command(taken: int, ahead: int, session: int, alive: bool) -> None:
    made = seat(1, alive=alive)
    owner = made.owner
    assert owner is not None
    owner.taken_seq, owner.sent_seq = taken, taken + ahead
    for seq in range(-1, taken + ahead + 3):
        heard = made.judge_command(session, seq)
        if session != 1:
            assert heard is Hearing.FOREIGN
        elif not alive:
            assert heard is Hearing.LATCHED
        elif seq > owner.sent_seq:
            assert heard is Hearing.EARLY
        elif seq > taken:
            assert heard is Hearing.FRESH
        else:
            assert heard is (Hearing.REPEATED if seq == taken >= 0 else Hearing.OLD)


def test_nobody_owns_so_every_command_is_foreign() -> None:
    assert seat().judge_command(1, 0) is Hearing.FOREIGN


@given(st.lists(st.tuples(st.sampled_from([1, 2]), st.integers(-1, 8)), max_size=40))
def test_commands_take_effect_in_rising_order_and_once(messages: list[tuple[int, int]]) -> None:
    made = seat(1)
    owner = made.owner
    assert owner is not None
    taken: list[int] = []
    for count, (session, seq) in enumerate(messages):
        owner.sent_seq = count // 3
        if made.judge_command(session, seq) is Hearing.FRESH:
            assert session == 1
            assert seq <= owner.sent_seq
            owner.taken_seq = seq
            taken.append(seq)
    assert taken == sorted(set(taken))


def test_the_first_difference_is_found_at_any_depth() -> None:
    ours = {"a": [1, {"b": 2}], "c": 3}
    assert first_difference(ours, {"a": [1, {"b": 2}], "c": 3}) is None
    assert first_difference(ours, {"a": (1, {"b": 2}), "c": 3}) is None, "a tuple is a list on the wire"
    assert first_difference(ours, {"a": [1, {"b": 5}], "c": 3}) == ("a[1].b", 2, 5)
    assert first_difference(ours, {"a": [1], "c": 3}) == ("a[1]", {"b": 2}, None)
    assert first_difference(ours, {"a": [1, {"b": 2}], "c": 3, "d": 4}) == ("d", None, 4)
