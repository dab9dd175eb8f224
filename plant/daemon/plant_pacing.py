"""When the plant ticks: by its own clock (device), on commands (host), or with no clock (lockstep).

Each pace begins with the state of the tick at which its session entered, and repeats: wait, `apply_commands`,
`sense`, `send_state`, `step`. So the motion of a period is computed while the controller computes its
command, in all paces alike. A pace ends when its session is replaced or no longer needs it; `alone` covers
the time without a session.
"""

from collections.abc import Callable
from typing import Protocol

from linkwork.plant.device.plant_device import PlantDevice
from linkwork.plant.device.session import Greeting, Hearing, Owner
from linkwork.protocol.codes import LATEST_DRAIN, UNANSWERED_STATES, Pace
from linkwork.timing.clock import Ticker
from linkwork.timing.together import Together

_SLICE_MS = 20
"""Longest time in a blocking call, so that the end of the daemon is noticed."""
_TICKS_BETWEEN_LOOKS = 16


class EndRequested(Protocol):
    """Whether the daemon shall end."""

    @property
    def asked(self) -> bool:
        """Whether an end was requested: cheap enough for every tick."""
        ...

    def looked(self) -> bool:
        """Whether there is any reason: a look that may cost a system call."""
        ...


def device_clocked(device: PlantDevice, ending: EndRequested) -> None:
    """The plant is the clock: a state at each absolute deadline, with the newest command come by then."""
    owner = device.seat.owner
    assert owner is not None
    ticker = Ticker(round(1e9 * device.period_s), device.clock)
    slips = Slips(device)
    ticker.start()
    device.sense()
    device.send_state()
    device.step()
    while True:
        missed = ticker.wait()
        if missed:
            slips.after(missed, ticker.deadline_ns)
        drain(device)
        if device.seat.owner is not owner or _over(device, owner, ending):
            return
        if not device.fresh or owner.taken_seq != owner.sent_seq:
            device.missed += owner.taken_seq >= 0
        device.apply_commands()
        device.sense()
        if owner.unanswered < UNANSWERED_STATES:
            device.send_state()
        device.step()
        if device.events.waiting:
            device.events.flush()


def host_clocked(device: PlantDevice, ending: EndRequested) -> None:
    """The controller is the clock: its command moves the plant by a period; without one the plant continues
    alone."""
    owner = device.seat.owner
    assert owner is not None
    period = round(1e9 * device.period_s)
    device.sense()
    device.send_state()
    device.step()
    now_ns = device.clock.now_ns
    deadline = now_ns() + period + period // 2
    while True:
        received = device.server.receive_until(deadline)
        heard = received is not None and _is_command(device.receive(*received))
        heard = drain(device) or heard
        if device.seat.owner is not owner or _over(device, owner, ending):
            return
        if not heard and now_ns() < deadline:
            continue
        deadline = (now_ns() + period // 2 if heard else max(deadline, now_ns() - period)) + period
        if not device.fresh:
            device.missed += owner.taken_seq >= 0
        device.apply_commands()
        device.sense()
        if owner.unanswered < UNANSWERED_STATES:
            device.send_state()
        device.step()
        if device.events.waiting:
            device.events.flush()


def lockstep(device: PlantDevice, ending: EndRequested) -> None:
    """No clock: one command, one period, one reply. Silence for `peer_timeout_s` (wall) ends the session.

    When the session is over, or a fault has cut its controller off, the plant continues by itself until it is
    at rest and the link is restored. Then time stops, so that the next session begins at the same tick,
    independent of the controller's speed.
    """
    owner = device.seat.owner
    assert owner is not None
    receive, hear, seat, events = device.server.receive, device.receive, device.seat, device.events
    patience_s = device.machine.plant.peer_timeout_s
    session = LockstepSession(device, ending)
    now_ns, patience_ns = device.clock.now_ns, round(1e9 * patience_s)
    heard_ns = now_ns()
    quiet = False
    ticks = 0
    with Together() as together:
        while True:
            together()
            received = receive(_SLICE_MS)
            said = hear(*received) if received is not None else None
            if said is Hearing.FRESH or said is Hearing.PASSED:
                session.tick(said)
                quiet = False
                ticks += 1
                if owner.alive and ticks % _TICKS_BETWEEN_LOOKS and not ending.asked:
                    continue
                events.flush()
                if ending.looked() or (not owner.alive and device.machinery.runs_by_itself):
                    return
                continue
            if not session.answer(said):
                return
            if said is not None or not quiet:
                heard_ns, quiet = now_ns(), said is None
            events.flush()
            if ending.looked() or (not seat.taken and device.machinery.runs_by_itself):
                return
            if now_ns() - heard_ns >= patience_ns:
                if seat.taken:
                    device.trip(f"no message for {patience_s:g} s in lockstep")
                return


class LockstepSession:
    """The plant's part in a lockstep session: a tick for each command, and answers to other messages.

    Making one sends the state of the tick at which the session entered.
    """

    def __init__(self, device: PlantDevice, ending: EndRequested) -> None:
        owner = device.seat.owner
        assert owner is not None
        self._device, self._ending, self._owner = device, ending, owner
        self._went = 0
        """Ticks that the plant made by itself."""
        device.sense()
        device.send_state()
        device.step()

    def tick(self, said: Hearing) -> None:
        """Advance by one period after a command, or after a message that replaces one (PASSED)."""
        device, passed = self._device, said is Hearing.PASSED
        device.missed += passed
        device.apply_commands()
        device.sense()
        device.send_state()
        device.step()
        if passed and not self._owner.alive:
            self._went = _by_itself(device, self._ending, self._went)

    def answer(self, said: Hearing | Greeting | None) -> bool:
        """Answer any other message, or silence (None). Returns False when another session has begun."""
        device, owner, seat = self._device, self._owner, self._device.seat
        if said is Hearing.REPEATED:
            device.server.send(owner.peer, owner.reply)
        elif said is Hearing.LATCHED:
            _answer_latched(device, owner)
        if seat.owner is not owner and seat.owner is not None:
            return False
        if said is Hearing.CUT_OFF or not seat.taken:
            self._went = _by_itself(device, self._ending, self._went)
        return True


def _answer_latched(device: PlantDevice, owner: Owner) -> None:
    """A controller that the watchdog has shut out still advances time, but does not move the machine."""
    if owner.latched_seq < owner.sent_seq:
        device.server.send(owner.peer, owner.reply)
        return
    device.sense()
    device.send_state()
    device.step()


def _by_itself(device: PlantDevice, ending: EndRequested, went: int) -> int:
    """In lockstep, the ticks of a plant without a controller; return how many there were in this session."""
    while device.unsettled(went):
        device.apply_commands()
        device.sense()
        device.step()
        went += 1
        if went % _TICKS_BETWEEN_LOOKS == 0 and ending.looked():
            break
    return went


def alone(device: PlantDevice, ending: EndRequested, uncontrolled: bool = False) -> None:
    """Without a session a moving machine continues in real time; for one that rests braked time stops.

    Time always runs for an `uncontrolled` machine, for which no session can be expected.
    """
    ticker: Ticker | None = None
    while not (device.seat.taken or ending.looked()):
        if device.machinery.resting and not uncontrolled:
            ticker = None
            received = device.server.receive(_SLICE_MS)
            if received is not None:
                _answer(device, received)
        else:
            if ticker is None:
                ticker = Ticker(round(1e9 * device.period_s), device.clock)
                ticker.start()
            device.sense()
            device.step()
            ticker.wait()
            taken = 0
            while taken < LATEST_DRAIN and not device.seat.taken:
                received = device.server.receive()
                if received is None:
                    break
                taken += 1
                _answer(device, received)
        device.events.flush()


PACES: dict[Pace, Callable[[PlantDevice, EndRequested], None]] = {
    Pace.DEVICE: device_clocked,
    Pace.HOST: host_clocked,
    Pace.LOCKSTEP: lockstep,
}


def drain(device: PlantDevice) -> bool:
    """Receive pending messages, at most LATEST_DRAIN; return whether a command of the owner was among
    them."""
    receive, hear = device.server.receive, device.receive
    command = False
    owner = device.seat.owner
    for _ in range(LATEST_DRAIN):
        received = receive()
        if received is None:
            break
        command = _is_command(hear(*received)) or command
        if device.seat.owner is not owner:
            break
    return command


def _answer(device: PlantDevice, received: tuple[bytes, bytes]) -> None:
    """Receive a message without a live session; a controller that was shut out receives the state with the
    fault."""
    if device.receive(*received) is Hearing.LATCHED:
        device.send_state()


def _is_command(said: object) -> bool:
    return isinstance(said, Hearing)


def _over(device: PlantDevice, owner: Owner, ending: EndRequested) -> bool:
    """Whether a clocked pace has ended."""
    if ending.asked or (device.machinery.tick % _TICKS_BETWEEN_LOOKS == 0 and ending.looked()):
        return True
    return not owner.alive and owner.unanswered >= UNANSWERED_STATES and device.machinery.standing


class Slips:
    """After an overrun the plant's time slips, or advances by the missed periods, as the machine file says.

    A real machine's time has passed in any case. Says so at most once a second; on a computer that is often
    late the pauses grow to a minute, so that a night fills no log.
    """

    _QUIET_NS, _LONGEST_QUIET_NS = 1_000_000_000, 60_000_000_000

    def __init__(self, device: PlantDevice) -> None:
        self._device = device
        self._advance = device.machine.plant.on_overrun == "advance"
        self._unsaid = 0
        self._said_ns = -self._LONGEST_QUIET_NS
        self._quiet_ns = self._QUIET_NS

    def after(self, missed: int, at_ns: int) -> None:
        """`missed` whole periods went by without a tick, the last of them at `at_ns`."""
        device = self._device
        if device.machinery.runs_by_itself:
            device.machinery.tick += missed
        elif self._advance:
            for done in range(missed):
                if device.machinery.resting:
                    device.machinery.tick += missed - done
                    break
                device.apply_commands()
                device.sense()
                device.step()
        else:
            device.slipped += missed
        self._unsaid += missed
        since_ns = at_ns - self._said_ns
        if since_ns >= self._quiet_ns:
            again = since_ns < 2 * self._quiet_ns
            self._quiet_ns = min(2 * self._quiet_ns, self._LONGEST_QUIET_NS) if again else self._QUIET_NS
            advances = self._advance or device.machinery.runs_by_itself
            what = "advanced over" if advances else "slipped by"
            text = f"overrun: the plant's time {what} {self._unsaid} periods"
            device.events.say(
                "overrun", text, periods=self._unsaid, on_overrun=device.machine.plant.on_overrun
            )
            self._unsaid, self._said_ns = 0, at_ns
