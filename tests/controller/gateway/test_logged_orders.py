"""Orders and goals as the log holds them, and back."""

import json
from dataclasses import replace

import numpy as np
import pytest

from linkwork.controller.exchange.orders import NOW, Order, Splice, StartGoal
from linkwork.controller.gateway.records.logged_orders import GoalWords, order_event, order_of
from linkwork.protocol.codes import ResultCode
from tests.controller.examples_of_orders import EXAMPLES, Places
from tests.controller.gateway.conftest import LAYOUT, make_records


@pytest.mark.parametrize(("order", "places"), EXAMPLES, ids=str)
@pytest.mark.parametrize("at_tick", [NOW, 7])
def test_an_order_is_logged_by_its_places_and_comes_back(order: Order, places: Places, at_tick: int) -> None:
    order = replace(order, id=12, at_tick=at_tick, authority=3)
    record = make_records(1).view(LAYOUT.dtype)[0, 0]
    event = json.loads(json.dumps(order_event(order, record)))
    _, *words, arguments = places
    assert [event[name] for name in ("slot", "length", "generation", "checksum", "goal")] == words
    assert event["arguments"] == list(arguments)
    assert all(type(each) is float for each in event["arguments"]), "as every version has written them"
    assert order_of(event) == order


def test_an_order_of_an_earlier_log_is_read() -> None:
    event = {
        "tick": 5121, "time_s": 5.121, "order": 4, "kind": "goal", "at_tick": None, "slot": 1, "length": 2084,
        "generation": 2, "checksum": 913344, "goal": 2, "arguments": [1.0, 1.0, 1.0, 0.431, 1.0, -105.0],
    }  # fmt: skip
    assert order_of(event) == StartGoal(1, 2084, 913344, 2, Splice(1, 0.431, 1.0, ResultCode.REPLACED), id=4)


def test_a_goal_comes_back_from_its_bytes():
    goal = GoalWords(7, 2, np.array([1.5, -0.0, 1e300]))
    back = GoalWords.unpack(goal.pack())
    assert (back.order, back.goal) == (7, 2)
    assert back.words.tobytes() == goal.words.tobytes()
    assert len(goal.pack()) == 4 + 8 + 8 + 4 + 4 + 3 * 8  # CDR aligns from behind its header
    for broken in (b"", goal.pack()[:-1], goal.pack() + b"\0"):
        with pytest.raises(ValueError, match="bytes"):
            GoalWords.unpack(broken)
