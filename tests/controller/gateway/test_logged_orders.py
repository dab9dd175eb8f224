"""Orders and goals as the log holds them, and back."""

import json

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from linkwork.controller.gateway.records.logged_orders import GoalWords, order_event, order_of
from linkwork.controller.orders import ARGUMENTS, NOW, Order, OrderKind
from tests.controller.gateway.conftest import LAYOUT, make_records

FINITE = st.floats(allow_nan=False, allow_infinity=False)


@given(
    st.integers(1, 2**62),
    st.sampled_from(OrderKind),
    st.sampled_from([NOW, 0, 7, 2**40]),
    st.integers(0, 3),
    st.integers(0, 2**20),
    st.integers(0, 2**32 - 1),
    st.lists(FINITE, max_size=ARGUMENTS),
)
def test_an_order_comes_back_from_json(number, kind, at_tick, slot, length, checksum, arguments):
    order = Order(number, kind, at_tick, slot, length, 3, checksum, 5, tuple(arguments))
    record = make_records(1).view(LAYOUT.dtype)[0, 0]
    assert order_of(json.loads(json.dumps(order_event(order, record)))) == order


def test_a_goal_comes_back_from_its_bytes():
    goal = GoalWords(7, 2, np.array([1.5, -0.0, 1e300]))
    back = GoalWords.unpack(goal.pack())
    assert (back.order, back.goal) == (7, 2)
    assert back.words.tobytes() == goal.words.tobytes()
    assert len(goal.pack()) == 4 + 8 + 8 + 4 + 4 + 3 * 8  # CDR aligns from behind its header
    for broken in (b"", goal.pack()[:-1], goal.pack() + b"\0"):
        with pytest.raises(ValueError, match="bytes"):
            GoalWords.unpack(broken)
