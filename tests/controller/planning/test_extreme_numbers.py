"""Numbers at the ends of what a double holds, in each number of a request: an answer, never INTERNAL."""

from __future__ import annotations

import copy
import math
from collections.abc import Iterator
from typing import Any

import msgpack
import pytest

from linkwork.arrays import Floats
from linkwork.controller.planning.messages.planner_messages import MachineState, PlanJob
from linkwork.controller.planning.process.planner_process import answer
from linkwork.machine import Machine
from linkwork.machine.constraint_sets import constraint_sets
from linkwork.protocol.codes import RequestCode
from linkwork.protocol.errors import RequestError

EXTREME = (
    1e155, -1e155, 1e308, -1e308, 1e16, 1e15, 1e-300, 5e-324, -5e-324, 1e-9, math.nan, math.inf, -math.inf,
    -0.0, 0.0, 2**53, 2**63 - 1, 2**64 - 1, -(2**63), 0,
)  # fmt: skip
CURVE: dict[str, Any] = {"hold": {"angle": 0.0}, "entry": {"ramp_s": 1.0}, "exit": {"ramp_s": 1.0}}
CIRCLE = {
    "center_m": [0.0, 0.35, 0.0],
    "radius_m": 0.05,
    "rate_rad_s": 1.0,
    "phase_rad": 0.1,
    "duration_s": 2.0,
}
LINE = {"from_m": [0.0, 0.35, 0.0], "to_m": [0.05, 0.35, 0.0], "duration_s": 2.0}
FULL = {"positions": [0.1, -1.2], "velocities": [0.0, 0.0], "accelerations": [0.0, 0.0]}
POINTS = {
    "coordinates": ["shoulder", "elbow"],
    "tolerances": {"shoulder": {"path": 0.1, "goal": 0.1}},
    "points": [
        {"time_from_start_s": 1.0, **FULL},
        {"time_from_start_s": 2.0, **FULL, "positions": [0.2, -1.1]},
    ],
}
EXAMPLES: tuple[tuple[str, dict[str, Any]], ...] = (
    ("move", {"target": {"elbow": -1.2, "lift": 0.05}, "speed": 0.5}),
    ("check", {"target": {"x": 0.1}, "speed": 0.5, "poses": 5}),
    ("check", {"trajectory": POINTS}),
    ("check", {"trajectory": {"curve": {"circle": CIRCLE}, **CURVE}}),
    ("check", {"trajectory": {"curve": {"helix": {**CIRCLE, "pitch_speed_m_s": 0.01}}, **CURVE}}),
    ("check", {"trajectory": {"curve": {"line": LINE}, **CURVE}}),
)


def places(content: Any, path: tuple[Any, ...] = ()) -> Iterator[tuple[Any, ...]]:
    """The paths of all numbers."""
    if isinstance(content, dict | list):
        for key, value in content.items() if isinstance(content, dict) else enumerate(content):
            yield from places(value, (*path, key))
    elif isinstance(content, int | float):
        yield path


def cases() -> Iterator[Any]:
    for index, (method, params) in enumerate(EXAMPLES):
        for path in places(params):
            yield pytest.param(method, params, path, id=f"{index}-{method}-{'.'.join(map(str, path))}")


def _keep(slot: int, words: Floats) -> None:
    """Keep no block."""


def _read(slot: int, length: int) -> Floats:
    raise AssertionError("no goal is under way")


@pytest.mark.parametrize(("method", "params", "path"), list(cases()))
def test_no_number_finds_a_defect(scara: Machine, method: str, params: dict[str, Any], path: Any) -> None:
    start = MachineState(tuple(scara.initial_q.tolist()), (0.0,) * 4)
    sets = constraint_sets(scara)
    for number in EXTREME:
        changed = copy.deepcopy(params)
        here: Any = changed
        for step in path[:-1]:
            here = here[step]
        here[path[-1]] = number
        job = PlanJob(1, method, msgpack.packb(changed), start, 0)
        result = answer(sets, job, _keep, _read).result
        if isinstance(result, RequestError):
            assert result.code != RequestCode.INTERNAL, (number, result.message)
