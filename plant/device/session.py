"""Ownership of the plant, and verdicts on messages of the device link: rules without socket or clock.

One live session of a controller owns the plant. It lives from its welcome until its bye, or until the
watchdog trips because no fresh command came; then a new session may enter, while the old one may still be
shown the states.

States count the session's device ticks from 0 (`seq`); `tick` in the welcome, and `time_s` in each state,
continue over all sessions: state `seq` is the plant at tick `welcome.tick + seq`.
"""

from dataclasses import dataclass, field
from enum import Enum
from typing import Any

from linkwork.protocol.codes import PROTOCOL_VERSION, Pace, RefuseCode, Role
from linkwork.protocol.decoding import MOST_PATH, cut, excerpt
from linkwork.protocol.errors import role_refusal
from linkwork.protocol.handshake import Hello, Refuse


class Hearing(Enum):
    """Verdict on a command; only a FRESH one may take effect."""

    FRESH = "newer than any before"
    REPEATED = "the newest one again; in lockstep the stored reply is sent again"
    OLD = "older than the newest one"
    EARLY = "answers a state that was never sent"
    FOREIGN = "of a session that does not own the plant"
    PASSED = "removed by an injected fault, or its state was; lockstep time still advances"
    CUT_OFF = "the owner's bye, removed by an injected fault; a lockstep plant stops advancing"
    LATCHED = "of the owner, after the watchdog has tripped; a new handshake is needed"


class Greeting(Enum):
    """Verdict on a hello that is not refused."""

    ENTER = "a new session that may own the plant"
    REPEATED = "of the present session: answered again, with the fault if the watchdog has tripped"


@dataclass(frozen=True)
class SessionTerms:
    """The plant's terms: its interface, as hash and as plain data, its period, the paces it runs at."""

    interface: str
    layout: dict[str, Any]
    period_s: float
    paces: tuple[Pace, ...]


@dataclass(slots=True)
class Owner:
    """The session that owns the plant, or owned it last.

    `taken_seq`: seq of the newest command taken; `latched_seq`: of the newest that came after the watchdog
    had shut it out; `sent_seq`: of the newest state sent, which is `reply`;
    `unanswered`: states sent since the owner was heard last; `welcome`, `reply`: frames as they were sent.
    """

    session: int
    name: str
    peer: bytes
    pace: Pace
    first_tick: int
    alive: bool = True
    taken_seq: int = -1
    latched_seq: int = -1
    sent_seq: int = -1
    unanswered: int = 0
    welcome: bytes = b""
    reply: bytes = b""


@dataclass(slots=True)
class Counts:
    """Counts of messages without effect, since the plant started."""

    foreign: int = 0
    old: int = 0
    early: int = 0
    latched: int = 0
    repeated: int = 0
    unreadable: int = 0
    refused: int = 0

    def count(self, hearing: Hearing) -> None:
        """Count one command that did not take effect."""
        name = hearing.name.lower()
        setattr(self, name, getattr(self, name) + 1)


@dataclass(slots=True)
class PlantOwnership:
    """The one place at the plant: its terms, its owner if any, and what was dropped."""

    terms: SessionTerms
    owner: Owner | None = None
    counts: Counts = field(default_factory=Counts)

    @property
    def taken(self) -> bool:
        """Whether a live session owns the plant."""
        return self.owner is not None and self.owner.alive

    def judge_hello(self, hello: Hello) -> Greeting | Refuse:
        """Verdict on a hello: let it enter, repeat the answer, or refuse it with this one."""
        refusal = self._mismatch(hello)
        owner = self.owner
        if refusal is not None:
            return self._refuse(hello.session, *refusal)
        if owner is not None and owner.session == hello.session:
            return Greeting.REPEATED
        if owner is None or not owner.alive:
            return Greeting.ENTER
        text = f"the plant belongs to {owner.name} (session {owner.session}), whose commands are fresh"
        return self._refuse(hello.session, RefuseCode.TAKEN, text, owner.name)

    def refuse_version(self, found: int, session: int) -> Refuse:
        """The refusal of a hello that speaks another version of the protocol, or says none (0)."""
        return self._refuse(session, RefuseCode.VERSION, _versions(found))

    def refuse_unreadable(self, why: str, session: int) -> Refuse:
        """The refusal of a hello that cannot be read, or of a command with a wrong number of values."""
        return self._refuse(session, RefuseCode.MALFORMED, why)

    def refuse_role(self, session: int, role: Role | None) -> Refuse:
        """The refusal of a hello from a controller whose key may not move the machine."""
        text = role_refusal("a controller", role, Role.OPERATE)
        return self._refuse(session, RefuseCode.NOT_PERMITTED, text)

    def enter(self, hello: Hello, peer: bytes, tick: int) -> Owner:
        """Assign the plant to the session of this hello from this tick on."""
        self.owner = Owner(hello.session, hello.owner, peer, hello.pace, tick)
        return self.owner

    def judge_command(self, session: int, seq: int) -> Hearing:
        """Verdict on a command of this session that answers the state `seq`. Without side effects."""
        owner = self.owner
        if owner is None or owner.session != session:
            return Hearing.FOREIGN
        if not owner.alive:
            return Hearing.LATCHED
        if seq > owner.sent_seq:
            return Hearing.EARLY
        if seq > owner.taken_seq:
            return Hearing.FRESH
        return Hearing.REPEATED if seq == owner.taken_seq and seq >= 0 else Hearing.OLD

    def _mismatch(self, hello: Hello) -> tuple[RefuseCode, str] | None:
        terms = self.terms
        if hello.protocol != PROTOCOL_VERSION:
            return RefuseCode.VERSION, _versions(hello.protocol)
        if hello.interface != terms.interface:
            return RefuseCode.INTERFACE, self._difference(hello)
        if hello.pace not in terms.paces:
            offered = ", ".join(terms.paces)
            return RefuseCode.PACE, f"the plant runs at {offered}, the controller asks for {hello.pace}"
        if abs(hello.period_s - terms.period_s) > 1e-9 * terms.period_s:
            text = f"the plant's period is {terms.period_s:g} s, the controller's {hello.period_s:g} s"
            return RefuseCode.PERIOD, text
        return None

    def _difference(self, hello: Hello) -> str:
        terms = self.terms
        where = first_difference(terms.layout, hello.layout) if hello.layout else None
        if where is None:
            ours, theirs = terms.interface, hello.interface
            return f"the interfaces differ: the plant's is {ours}, the controller's {theirs}"
        path, here, there = where
        return (
            f"the interfaces differ at {cut(path, MOST_PATH)}: the plant has {excerpt(here, 80)}, "
            f"the controller {excerpt(there, 80)}; hashes {terms.interface[:12]} and {hello.interface[:12]}"
        )

    def _refuse(self, session: int, code: RefuseCode, text: str, owner: str = "") -> Refuse:
        self.counts.refused += 1
        return Refuse(session=session, code=code, text=text, owner=owner)


def _versions(found: int) -> str:
    said = f"version {found}" if found else "no version"
    return f"the plant speaks version {PROTOCOL_VERSION} of the protocol, the controller {said}"


def first_difference(ours: object, theirs: object, path: str = "") -> tuple[str, object, object] | None:
    """The first place where two trees of plain data differ: (path, here, there), or None."""
    if isinstance(ours, dict) and isinstance(theirs, dict):
        for key in [*ours, *(key for key in theirs if key not in ours)]:
            below = f"{path}.{key}" if path else str(key)
            found = first_difference(ours.get(key), theirs.get(key), below)
            if found is not None:
                return found
        return None
    if isinstance(ours, (list, tuple)) and isinstance(theirs, (list, tuple)):
        for index in range(max(len(ours), len(theirs))):
            here = ours[index] if index < len(ours) else None
            there = theirs[index] if index < len(theirs) else None
            found = first_difference(here, there, f"{path}[{index}]")
            if found is not None:
                return found
        return None
    return None if ours == theirs else (path or "the whole", ours, theirs)
