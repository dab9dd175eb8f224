"""Faults of a rig: injection, clearing, and reports with the ticks at which they began and ended."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from contextlib import suppress
from typing import Any

from linkwork.client.injector import InjectionRefused, Injector
from linkwork.protocol.errors import NobodyThere
from linkwork.protocol.injection import FaultReport, Injected, InjectRefusal

Entries = Mapping[str, Any] | Sequence[Mapping[str, Any]]
BEGINS = ("at_s", "at_tick", "after_ticks", "when")
"""Keys with which an entry itself says when it begins."""


class FaultDesk:
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
