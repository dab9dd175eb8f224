"""The state machine of CiA 402: every statusword, every order of events, the reasons in words."""

from __future__ import annotations

import re

from hypothesis import given
from hypothesis import strategies as st

from linkwork.cia402.drive_states import ENABLE, FAULT_RESET, DriveAxis, DriveState, Wish
from linkwork.cia402.objects import OperationMode
from linkwork.cia402.simulated_drive import SimulatedDrive

TORQUE = OperationMode.TORQUE


def test_no_statusword_has_two_states() -> None:
    for word in range(1 << 7):
        matching = [state for state in DriveState if word & state.mask == state.bits]
        assert len(matching) <= 1
        assert DriveState.decoded(word | 0xFF80) is (matching[0] if matching else None)


def drive() -> SimulatedDrive:
    return SimulatedDrive("left", 1, 2.5, in_amperes=False, send=lambda identifier, data: None)


def cycle(axis: DriveAxis, server: SimulatedDrive, wish: Wish, *, reset: bool = False) -> int:
    word = axis.update(wish, reset=reset)
    server._control(word)
    axis.observe(server.statusword)
    return word


def test_a_drive_is_enabled_and_braked_through_all_its_states() -> None:
    axis, server = DriveAxis(), drive()
    axis.observe(server.statusword)
    for _ in range(4):
        cycle(axis, server, Wish.ENABLED)
    passed = [after.words for _, after in axis.transitions if after is not None]
    assert passed == ["switch on disabled", "ready to switch on", "switched on", "operation enabled"]
    cycle(axis, server, Wish.BRAKED)
    assert axis.state is DriveState.SWITCHED_ON
    cycle(axis, server, Wish.ENABLED)
    cycle(axis, server, Wish.STOPPED)
    assert axis.state is DriveState.QUICK_STOP


EVENTS = st.lists(
    st.tuples(st.sampled_from(Wish), st.booleans(), st.sampled_from(["", "", "", "fails", "recovers alone"])),
    max_size=60,
)


@given(EVENTS)
def test_no_drive_is_enabled_after_a_fault_without_a_reset_edge_and_the_brake(
    events: list[tuple[Wish, bool, str]],
) -> None:
    axis, server = DriveAxis(), drive()
    axis.observe(server.statusword)
    edge, braked, before = True, True, 0
    for wish, reset, event in events:
        if event == "fails":
            server.fail(0x2310)
            axis.observe(server.statusword)
            edge = braked = False
        elif event == "recovers alone" and server.state is DriveState.FAULT:
            server.state = DriveState.SWITCHED_ON
            axis.observe(server.statusword)
        word = cycle(axis, server, wish, reset=reset)
        edge = edge or bool(word & FAULT_RESET and not before & FAULT_RESET)
        braked = braked or (edge and wish is Wish.BRAKED)
        before = word
        if word == ENABLE:
            assert edge
            assert braked


def test_the_reasons_are_words() -> None:
    axis = DriveAxis()
    axis.observe(0x0640 & ~(1 << 9))
    text = axis.why_not_enabled(TORQUE, 0x3220, 0b1001, 1 << 5, 6)
    for part in ("switch on disabled", "3220h (under-voltage", "does not offer cyclic synchronous torque",
                 "no voltage", "local control", "negative limit switch, interlock"):  # fmt: skip
        assert part in text
    axis.observe(0x0633)
    said = axis.why_not_enabled(TORQUE, 0, 0, TORQUE.offered, TORQUE)
    assert re.search("no reason in 603Fh, 60FDh, 6502h", said)
