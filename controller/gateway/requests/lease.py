"""The lease: whose requests may move the machine.

Pure rules; the caller passes the time and acts on the result. A lease belongs to a name. Every request
made in that name renews it. It is *kept* when it was acquired by name, and *borrowed* when a request that
needs it found it free: a borrowed lease ends with the motion that it was taken for. Where clients have keys,
a lease belongs to the name and to the key that took it: no other key can renew, use or release it by the same
name. Several programs may share a name; those that acquire as *holders* keep the lease for each other, and
alone renew it. If the
lease ends while something moves, it counts as lost and the machine is stopped on its path.
"""

from dataclasses import dataclass
from typing import Literal

from linkwork.protocol.results import LeaseState as LeaseMap

MOST_HOLDERS = 64
Reason = Literal["acquired", "released", "expired", "taken_over", "revoked"]


@dataclass(frozen=True, slots=True)
class LeaseChange:
    """The lease has another owner now, or none.

    `motion_lost` says that `before` had the machine in motion, which no longer has an owner.
    """

    owner: str | None
    before: str | None
    reason: Reason
    motion_lost: bool = False


class LeaseHeld(Exception):
    """Another owner holds the lease, and has renewed it within its time."""

    def __init__(self, owner: str, left_s: float) -> None:
        super().__init__(f"{owner} holds the lease")
        self.owner = owner
        self.left_s = left_s


class Lease:
    """One lease.

    Times are nanoseconds on any clock that never goes back; `lease_s` is how long a renewal lasts.
    """

    def __init__(self, lease_s: float) -> None:
        self.lease_s = lease_s
        self.owner: str | None = None
        self.kept = False
        self._holders: dict[str, int] = {}
        self.key = b""
        """Public key with which it was taken."""
        self._length_ns = round(lease_s * 1e9)
        self._until_ns = 0

    def left_s(self, now_ns: int) -> float:
        """Time until it ends unless renewed; 0 without an owner."""
        return max(0.0, (self._until_ns - now_ns) * 1e-9) if self.owner is not None else 0.0

    def as_map(self, now_ns: int, reason: str = "") -> LeaseMap:
        """Return the lease as answers and events show it."""
        left_s = round(self.left_s(now_ns), 3)
        return {"owner": self.owner, "left_s": left_s, "lease_s": self.lease_s, "reason": reason}

    def held_by(self, owner: str, key: bytes = b"") -> bool:
        """Whether the lease was taken in this name, with this key; it may have ended meanwhile."""
        return owner == self.owner and key == self.key

    def renew(self, owner: str, now_ns: int, *, key: bytes = b"") -> None:
        """Renew the lease for a request in this name, if it is the owner's and has not ended yet.

        A lease that was acquired with holders is renewed by their `acquire` alone: an observer of the same
        name must not keep it when its last holder has crashed.
        """
        if self.held_by(owner, key) and now_ns < self._until_ns and not self._holders:
            self._until_ns = now_ns + self._length_ns

    def extend(self, by_ns: int) -> None:
        """Let the lease last longer by a time in which no renewal could be received."""
        self._until_ns += by_ns
        self._holders = {one: until + by_ns for one, until in self._holders.items()}

    def acquire(
        self,
        owner: str,
        now_ns: int,
        *,
        key: bytes = b"",
        holder: str = "",
        force: bool = False,
        in_motion: bool = False,
    ) -> LeaseChange | None:
        """Acquire the lease until it is released. `force` takes it from a live owner. Raises LeaseHeld
        otherwise.
        """
        change = self._take(owner, key, now_ns, force=force, in_motion=in_motion)
        self.kept = True
        self._holders = {one: until for one, until in self._holders.items() if until > now_ns}
        if holder and len(self._holders) < MOST_HOLDERS:
            self._holders[holder] = self._until_ns
        return change

    def borrow(
        self, owner: str, now_ns: int, *, key: bytes = b"", in_motion: bool = False
    ) -> LeaseChange | None:
        """Authorize a request that needs the lease: accept the owner's, and take a free lease for any other.

        Raises LeaseHeld.
        """
        return self._take(owner, key, now_ns, force=False, in_motion=in_motion)

    def release(
        self, owner: str, now_ns: int = 0, *, key: bytes = b"", holder: str = "", in_motion: bool = False
    ) -> LeaseChange | None:
        """Release the lease; without effect when it is not this owner's.

        Also without effect when another holder has renewed it within its time, unless it is released for all.
        """
        if not self.held_by(owner, key):
            return None
        self._holders.pop(holder, None)
        if holder and any(until > now_ns for until in self._holders.values()):
            return None
        return self._end("released", in_motion=in_motion)

    def revoke(self, *, in_motion: bool) -> LeaseChange:
        """End the lease, because its key may not hold it any longer."""
        return self._end("revoked", in_motion=in_motion)

    def settle(
        self, now_ns: int, *, in_use: bool, in_motion: bool, pending: bool = False
    ) -> LeaseChange | None:
        """End a lease whose time is over, or a borrowed one that is not in use. Call it often.

        `in_use`: a request of the owner waits for its answer. `in_motion`: something moves. While nothing
        moves, a client that waits for an answer need not renew the lease. `pending`: orders of the
        owner are pending; they keep a borrowed lease from being given back, but do not renew it.
        """
        if self.owner is None:
            return None
        if in_use and not in_motion:
            self._until_ns = now_ns + self._length_ns
        if now_ns >= self._until_ns:
            return self._end("expired", in_motion=in_motion)
        if not (self.kept or in_use or in_motion or pending):
            return self._end("released", in_motion=False)
        return None

    def _take(
        self, owner: str, key: bytes, now_ns: int, *, force: bool, in_motion: bool
    ) -> LeaseChange | None:
        before, same = self.owner, self.held_by(owner, key)
        live = before is not None and now_ns < self._until_ns
        if before is not None and live and not same and not force:
            raise LeaseHeld(before, self.left_s(now_ns))
        self._until_ns = now_ns + self._length_ns
        if same:
            return None
        self.owner, self.key, self.kept = owner, key, False
        self._holders.clear()
        reason: Reason = "acquired" if before is None else "taken_over"
        return LeaseChange(owner, before, reason, in_motion and before is not None)

    def _end(self, reason: Reason, *, in_motion: bool) -> LeaseChange:
        before, self.owner, self.key, self.kept = self.owner, None, b"", False
        self._holders.clear()
        return LeaseChange(None, before, reason, in_motion)
