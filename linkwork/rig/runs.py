"""One run: a goal, the requests and faults meanwhile, and its record; injection of faults."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from contextlib import suppress
from pathlib import Path
from typing import TYPE_CHECKING, Any

from linkwork.client.goal import Goal, GoalFailed
from linkwork.client.injector import InjectionRefused, Injector
from linkwork.protocol.errors import NobodyThere
from linkwork.protocol.injection import FaultReport, Injected, InjectRefusal
from linkwork.protocol.results import GoalResult
from linkwork.rig.record import RigRecord
from linkwork.trajectories.trajectory_file import read_trajectory_file

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
    """Follow a goal to its end and record it, see `RigUnderTest.run`.

    goal: a trajectory, its file, or a map with "target" for a move; None records the machine as it is.
    during: called while it runs. inject: faults. settle_s: time that is recorded afterwards. title: of the
    record in the report.

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
            rig.daemons.faults.give(listed(inject), now["device_tick"] + begin - now["tick"])
        if during:  # lockstep time stops while a goal is paused: it runs until the last of these requests
            rig.robot.request("advance", at_tick=begin + 1, ticks=round(max(during) / rig.period_s) + 1)
        _order(rig, during, begin)
        accepted = _begin(rig, wanted)
    else:
        accepted = _begin(rig, wanted)
        begin = accepted.accepted["tick"]
        now = rig.state
        if inject:
            rig.daemons.faults.give(listed(inject), now["device_tick"] + begin - now["tick"])
        _order(rig, during, begin)
    result = _end(accepted)
    settled = result["tick"] + round(settle_s / rig.period_s)
    return recorder.end(title, result, settled)


def _wanted(rig: RigUnderTest, goal: Mapping[str, Any] | str | Path | None) -> dict[str, Any]:
    if goal is None:
        return rig.motions.slow
    if isinstance(goal, Mapping):
        return dict(goal)

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


def _end(goal: Goal) -> GoalResult:
    """Return how it ended."""
    try:
        return goal.wait(timeout_s=_PATIENCE_S)
    except GoalFailed as failed:
        return failed.result


Entries = Mapping[str, Any] | Sequence[Mapping[str, Any]]
BEGINS = ("at_s", "at_tick", "after_ticks", "when")
"""Keys with which an entry itself says when it begins."""


class RunFaults:
    """Entries of a time line (docs/faults.md) on their way into the plant at `endpoint`."""

    def __init__(self, endpoint: str, period_s: float, seed: int) -> None:
        self._injector = Injector(endpoint)
        self._period_s, self._seed = period_s, seed
        self._given: dict[str, dict[str, Any]] = {}
        """By name, the words of those given since `forget`."""
        self._cleared = False
        self._kinds: dict[str, str] | None = None

    def kinds(self) -> dict[str, str]:
        """Every kind of fault: "" where this plant can do it, else why not. Raises NobodyThere."""
        if self._kinds is None:
            self._kinds = dict(self._injector.history().kinds)
        return self._kinds

    def cannot(self, kind: str) -> str:
        """Why no fault of this kind ("sensor", "sensor.bias", "": any) can be put in; "" where one can."""
        try:
            if not self.kinds():
                return "the plant accepts no injected faults"
            self._ask_for_nothing()
        except InjectionRefused as refused:
            return str(refused)
        whys = [why for name, why in self.kinds().items() if kind in ("", name, name.partition(".")[0])]
        return "" if not whys or "" in whys else whys[0]

    def _ask_for_nothing(self) -> None:
        """Check whether the plant accepts faults, by a clear without effect."""
        try:
            self._injector.clear()
        except InjectionRefused as refused:
            if refused.code in (InjectRefusal.NOT_OFFERED, InjectRefusal.NOT_PERMITTED):
                raise

    def give(self, entries: Iterable[Mapping[str, Any]], begin: int | None) -> list[str]:
        """Put entries in; return their names. begin: the device's tick from which `after_s` counts, None:
        the next one.

        Raises InjectionRefused where one cannot be understood, or this plant cannot do it; none is then put
        in.
        """
        words = [dict(entry) for entry in entries]
        if not words:
            return []
        timed = [self._timed(dict(entry), begin) for entry in words]
        answer: Injected = self._injector.inject(*timed, seed=self._seed)
        self._given |= dict(zip(answer.names, words, strict=True))
        return list(answer.names)

    def _timed(self, entry: dict[str, Any], begin: int | None) -> dict[str, Any]:
        if begin is None or any(key in entry for key in BEGINS):
            return entry
        after_s = entry.pop("after_s", 0.0)
        return {**entry, "at_tick": max(0, begin + round(after_s / self._period_s))}

    def reports(self) -> list[dict[str, Any]]:
        """Return the reports of the given faults: name, kind, from_tick, to_tick, state, text."""
        if not self._given:
            return []
        told = {report.name: report for report in self._injector.history().faults}
        return [_told(words, told[name]) for name, words in self._given.items() if name in told]

    def clear(self) -> None:
        """End all faults, also those of other clients, and forget them."""
        if self._given or not self._cleared:
            with suppress(InjectionRefused):  # a plant that takes no faults has none
                self._injector.clear()
        self._given, self._cleared = {}, True

    def close(self) -> None:
        """End all faults, where the plant still answers, and close the connection."""
        with suppress(NobodyThere):
            self.clear()
        self._injector.close()


def _told(words: Mapping[str, Any], report: FaultReport) -> dict[str, Any]:
    fields = ("name", "kind", "of", "state", "applied", "from_tick", "to_tick", "text")
    return {**words, **{name: getattr(report, name) for name in fields}}


def listed(entries: Entries) -> list[Mapping[str, Any]]:
    """One entry, or several, as a list."""
    return [entries] if isinstance(entries, Mapping) else list(entries)
