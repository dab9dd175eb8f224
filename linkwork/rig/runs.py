"""One run: a goal, the requests and faults meanwhile, and its record."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Any

from linkwork.client.goal import Goal, GoalFailed
from linkwork.protocol.results import GoalResult
from linkwork.rig.record import RigRecord
from linkwork.rig.rig_faults import Entries, listed

if TYPE_CHECKING:
    from linkwork.rig.under_test import RigUnderTest

During = Mapping[float, str | tuple[str, Mapping[str, Any]]]
LINK = ("LINK_LOST", "LINK_LOSS_RATIO", "DEVICE_WATCHDOG")
REPEATS = 3
"""So often a run is done again, in real time, where the computer stalled."""
_PATIENCE_S = 100.0


def run(
    rig: RigUnderTest,
    goal: Mapping[str, Any] | str | Path | None,
    during: During,
    inject: Entries,
    settle_s: float,
    title: str,
) -> RigRecord:
    """Follow a goal to its end and record it, see `RigUnderTest.run`. A map with "target" is a move.

    In real time with the rig's own simulated plant, a run that ends because this computer stalled is repeated
    a few times, with a note: it is no finding about the machine.
    """
    repeated = 0
    record = _once(rig, goal, during, inject, settle_s, title)
    while repeated < REPEATS and _stalled(rig, record, inject):
        repeated += 1
        rig.ready()
        record = _once(rig, goal, during, inject, settle_s, title)
    if repeated:
        assert record.noted("runs repeated after a stall of the computer", repeated, "") <= REPEATS
    return record


def _stalled(rig: RigUnderTest, record: RigRecord, inject: Entries) -> bool:
    """Whether the link was lost without an injected fault that explains it."""
    if rig.pace == "lockstep" or not rig.daemons.owns_plant:
        return False
    meant = any("wire" in entry or "processor" in entry for entry in listed(inject))
    return not meant and record.fault_names[:1] in ([name] for name in LINK)


def _once(
    rig: RigUnderTest,
    goal: Mapping[str, Any] | str | Path | None,
    during: During,
    inject: Entries,
    settle_s: float,
    title: str,
) -> RigRecord:
    """One run.

    In lockstep everything is ordered, by tick, before the goal: the same run twice does the same in the same
    ticks. In real time the orders follow the goal.
    """
    recorder = rig.recorder
    recorder.come_to_rest()
    now = recorder.begin()
    wanted = _wanted(rig, goal)
    if recorder.lockstep:
        begin = now["tick"] + 1 + len(during) + bool(during)
        if inject:
            rig.faults.give(listed(inject), now["device_tick"] + begin - now["tick"])
        _let_time_run(rig, during, begin)
        _order(rig, during, begin)
        accepted = _begin(rig, wanted)
    else:
        accepted = _begin(rig, wanted)
        begin = accepted.accepted["tick"]
        now = rig.state
        if inject:
            rig.faults.give(listed(inject), now["device_tick"] + begin - now["tick"])
        _order(rig, during, begin)
    result = _end(accepted)
    settled = result["tick"] + round(settle_s / rig.period_s)
    return recorder.end(title, result, settled)


def _wanted(rig: RigUnderTest, goal: Mapping[str, Any] | str | Path | None) -> dict[str, Any]:
    if goal is None:
        return rig.motions.slow
    if isinstance(goal, Mapping):
        return dict(goal)
    from linkwork.trajectories.trajectory_file import read_trajectory_file

    return read_trajectory_file(goal).trajectory.model_dump(exclude_none=True, by_alias=True)


def _begin(rig: RigUnderTest, wanted: Mapping[str, Any]) -> Goal:
    if "target" in wanted:
        given = dict(wanted)
        return rig.robot.move(given.pop("target"), wait=False, **given)
    return rig.robot.send(wanted)


def _order(rig: RigUnderTest, during: During, begin: int) -> None:
    """Requests at ticks counted from the goal's first."""
    for after_s, what in sorted(during.items()):
        method, params = (what, {}) if isinstance(what, str) else what
        rig.robot.request(method, at_tick=begin + round(after_s / rig.period_s), **params)


def _let_time_run(rig: RigUnderTest, during: During, begin: int) -> None:
    """Keep lockstep time, which stops while a goal is paused, running until the last of these requests."""
    if during:
        ticks = round(max(during) / rig.period_s) + 1
        rig.robot.request("advance", at_tick=begin + 1, ticks=ticks)


def _end(goal: Goal) -> GoalResult:
    """Return how it ended."""
    try:
        return goal.wait(timeout_s=_PATIENCE_S)
    except GoalFailed as failed:
        return failed.result
