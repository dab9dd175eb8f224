"""The state machine: every pair of state and event, and the page that prints the table."""

import re
from itertools import product
from pathlib import Path

import pytest

from linkwork.controller.exchange.faults import FAULTS, FaultCode
from linkwork.controller.supervision.state_machine import TABLE, Event, State, after, allowed

PAGE = Path(__file__).parents[3] / "docs" / "states.md"


@pytest.mark.parametrize(("state", "event"), list(product(State, Event)))
def test_every_pair_either_moves_or_is_refused(state: State, event: Event) -> None:
    following = after(state, event)
    assert following is TABLE.get((state, event))
    assert (event in allowed(state)) == (following is not None)


@pytest.mark.parametrize("state", State)
def test_an_emergency_stop_is_heard_in_every_state(state: State) -> None:
    assert after(state, Event.ESTOP) is State.ESTOP


@pytest.mark.parametrize("state", State)
def test_a_fault_never_leaves_the_machine_moving(state: State) -> None:
    assert after(state, Event.FAULT) in (State.FAULT, State.ESTOP)


def test_only_recover_and_reset_lead_out_of_the_latched_states() -> None:
    leaving = {
        (state, event)
        for (state, event), following in TABLE.items()
        if state in (State.FAULT, State.ESTOP) and following not in (State.FAULT, State.ESTOP)
    }
    assert leaving == {(State.FAULT, Event.CLEARED), (State.ESTOP, Event.RESET)}


def test_only_enable_leads_from_inactive_to_active() -> None:
    assert [event for event in Event if after(State.INACTIVE, event) is State.ACTIVE] == [Event.ENABLE]


def test_the_page_prints_the_table() -> None:
    rows = re.findall(r"^\| (\w+) \| (\w+) \| (\w+) \|$", PAGE.read_text(), re.MULTILINE)
    printed = {tuple(row) for row in rows if row[0] in {state.name.lower() for state in State}}
    assert printed == {
        (state.name.lower(), event.name.lower(), to.name.lower()) for (state, event), to in TABLE.items()
    }


def test_the_page_prints_every_fault() -> None:
    rows = re.findall(r"^\| (\d+) \| (\w+) \| (.+?) \| (.+?) \|$", PAGE.read_text(), re.MULTILINE)
    assert [(int(code), name, text, clears) for code, name, text, clears in rows] == [
        (code.value, code.name, FAULTS[code].text, FAULTS[code].clears_when) for code in FaultCode if code
    ]
