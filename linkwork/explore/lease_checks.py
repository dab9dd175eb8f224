"""Checks of the lease: who has it, and that nothing moves without it."""

from collections.abc import Callable, Mapping
from typing import Any, Final

import numpy as np

from linkwork.controller.gateway.records.messages import in_motion
from linkwork.controller.supervision.state_machine import State
from linkwork.explore.promises import Question
from linkwork.explore.world import World

LEASE_MARGIN_NS: Final = 100_000_000
UNLEASED_NS: Final = 60_000_000
"""Longest time from the end of a lease, or of the gateway, to the begin of the stop."""


class LeaseChecks:
    """The lease of one world, from its events and the requests of clients.

    owners: each with the instant at which it got or lost the lease (None), and its key.
    """

    def __init__(self, world: World, fail: Callable[[str, str], None]) -> None:
        self._world, self._fail = world, fail
        self.owners: list[tuple[int, str | None, bytes]] = []
        self._holders: set[str] = set()
        """Owners with holders, whose requests do not all renew the lease."""
        self._spoke_ns: dict[tuple[str | None, bytes], int] = {}
        self._forced_ns = 0
        self._unleased_ns: int | None = None

    @property
    def _length_ns(self) -> int:
        return round(1e9 * self._world.machine.controller.lease_s)

    def asked(self, question: Question) -> None:
        """Note a request, which renews its owner's lease."""
        self._spoke_ns[question.owner, question.key] = question.at_ns
        if question.params.get("force") is True:
            self._forced_ns = question.at_ns
        if question.params.get("holder"):
            self._holders.add(question.owner)

    def changed(self, lease: Mapping[str, Any]) -> None:
        """Check that a lease has not ended while its owner asked, unless it was taken by force."""
        now, service = self._world.simulation.now_ns, self._world.service
        before, key = self.owners[-1][1:] if self.owners else (None, b"")
        if (
            lease["reason"] in ("taken_over", "expired")
            and before is not None
            and before not in self._holders
        ):
            asked = now - self._spoke_ns.get((before, key), 0) < self._length_ns - LEASE_MARGIN_NS
            if asked and now - self._forced_ns > LEASE_MARGIN_NS:
                self._fail("owner", f"the lease of {before}, who has not lost it, has {lease['reason']}")
        self.owners.append((now, lease["owner"], service.lease.key if service is not None else b""))

    def _during(self, question: Question) -> list[tuple[str | None, bytes]]:
        """Return the owners of the lease while a request was under way, with their keys."""
        before = [(owner, key) for at, owner, key in self.owners if at < question.at_ns]
        return before[-1:] + [(owner, key) for at, owner, key in self.owners if at >= question.at_ns]

    def held(self, question: Question) -> list[str | None]:
        """Return the owners of the lease while a request was under way."""
        return [owner for owner, _ in self._during(question)]

    def owned(self, question: Question) -> bool:
        """Return whether the owner that a request names had the lease, with its key."""
        return (question.owner, question.key) in self._during(question)

    def answered(self, question: Question, result: Any) -> None:
        """Check the owner of the lease that an answer names."""
        told = result.get("lease", result) if isinstance(result, dict) else {}
        if "owner" not in told or "lease_s" not in told:
            return
        owner = told["owner"]
        if owner not in (self.held(question) or [None]) and self.owners:
            self._fail("owner", f"`{question.method}` answered that {owner} has the lease")
        if question.method == "acquire" and owner != question.owner:
            self._fail("owner", f"{question.owner} has acquired the lease, and {owner} has it")

    def check(self, latest: np.void | None, gateway_away_ns: int) -> None:
        """Check that the machine moves with a lease only, whose owner has spoken.

        latest: the newest record; gateway_away_ns: the latest instant at which no gateway ran.
        """
        world, now = self._world, self._world.simulation.now_ns
        moves = latest is not None and in_motion(latest) and int(latest["state"]) == State.ACTIVE
        suspended = world.alive("gateway") and world.running("gateway") is None
        if (
            latest is None
            or not moves
            or suspended
            or world.running("loop") is None
            or not latest["connected"]
        ):
            self._unleased_ns = None
            return
        service = world.service if world.alive("gateway") else None
        owner = None if service is None else service.lease.owner
        if service is None or owner is None:
            self._unleased_ns = now if self._unleased_ns is None else self._unleased_ns
            if now - self._unleased_ns > UNLEASED_NS:
                self._fail("lease", f"motion continues without a lease at tick {int(latest['tick'])}")
            return
        self._unleased_ns = None
        silent_ns = now - max(self._spoke_ns.get((owner, service.lease.key), 0), gateway_away_ns)
        if silent_ns > self._length_ns + LEASE_MARGIN_NS:
            text = f"{owner} moves the machine {1e-9 * silent_ns:.2f} s after its last request"
            self._fail("lease", text)
