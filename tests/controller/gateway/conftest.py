"""Made-up tick records, for tests of what the gateway does with them."""

from typing import Protocol

import numpy as np
import pytest
from numpy.typing import NDArray

from controller.gateway.segment import LogSource
from controller.records import RecordLayout

LAYOUT = RecordLayout(
    ["shoulder", "Fore arm"], ["shoulder", "Fore arm", "x"], ["shoulder"], ["shoulder", "Fore arm"]
)


class MakeRecords(Protocol):
    def __call__(self, count: int, first: int = 0, **fields: float) -> NDArray[np.float64]: ...


def make_records(count: int, first: int = 0, **fields: float) -> NDArray[np.float64]:
    """`count` records (n, words) numbered from `first`, one a millisecond, with every number in them
    different.
    """
    words = np.random.default_rng(7).normal(size=(first + count, LAYOUT.words))[first:].copy()
    table = words.view(LAYOUT.dtype)[:, 0]
    for name in LAYOUT.dtype.names or ():
        if table.dtype[name] == np.int64:
            table[name] = 0
    table["tick"] = table["device_tick"] = np.arange(first, first + count)
    table["time_s"] = table["tick"] * 1e-3
    table["received_ns"] = table["tick"] * 1_000_000
    table["sent_ns"] = table["received_ns"] + 150_000
    table["real_time_ns"] = 1_700_000_000_000_000_000 + table["received_ns"]
    table["connected"] = 1
    table["fault_tick"] = table["fault_index"] = table["goal_coordinate"] = -1
    for name, value in fields.items():
        table[name] = value
    return words


@pytest.fixture
def layout() -> RecordLayout:
    return LAYOUT


@pytest.fixture
def records() -> MakeRecords:
    return make_records


@pytest.fixture
def real_time() -> LogSource:
    return LogSource(LAYOUT, True, "name: test\n", {"machine": "test", "config": "0" * 64})


@pytest.fixture
def lockstep() -> LogSource:
    return LogSource(LAYOUT, False, "name: test\n", {"machine": "test", "config": "0" * 64})
