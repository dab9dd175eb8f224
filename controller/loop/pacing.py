"""When the loop ticks: on each state (the device is the clock), on its own deadlines (the host is), or in
lockstep.

In every pace the command computed from state k acts over [t_{k+1}, t_{k+2}).
"""

import select
from collections.abc import Callable

from linkwork.controller.loop.loop import Loop
from linkwork.controller.loop.overruns import TickPhase
from linkwork.protocol.codes import Pace
from linkwork.protocol.direct_link import ControllerEnd
from linkwork.protocol.sockets import DeviceClient
from linkwork.timing.clock import Ticker
from linkwork.timing.together import Together

HELLO_EVERY_NS = 100_000_000
REPEAT_AFTER_MS = 1000
"""Wall time in lockstep to a repetition of the last message, at most a quarter of `peer_timeout_s`."""
_LOOK_NS = 500_000
"""Time in lockstep between two looks whether the gateway has read enough records."""
_SLICE_MS = 10
"""Longest wait for a state in lockstep between two checks whether the plant has closed the connection."""


def device_clocked(loop: Loop, client: DeviceClient) -> None:
    """The plant speaks first: a state arrives, a command answers it.

    Where a state is more than half a period late the tick happens without it, so that orders, stops and
    faults never wait for the plant.
    """
    period, patience = loop.period_ns, loop.period_ns // 2
    deadline = loop.clock.now_ns() + period
    next_hello = 0
    while not loop.done:
        if not loop.link.connected and loop.clock.now_ns() >= next_hello:
            loop.link.hello()
            next_hello = loop.clock.now_ns() + HELLO_EVERY_NS
        message = client.receive_until(deadline)
        received = loop.timing.mark(TickPhase.WAIT)
        fresh = message is not None and _take(loop, client, message)
        if message is not None and not fresh:
            continue
        missed, late = 0, max(0, received - deadline)
        if not fresh:
            missed = late // period
            deadline += (missed + 1) * period
        else:
            deadline = received + period + patience
        loop.tick(fresh=fresh, received_ns=received, missed=missed, late_ns=late)
        if fresh:
            loop.link.send()
        loop.finish()


def host_clocked(loop: Loop, client: DeviceClient) -> None:
    """The controller speaks first: at each deadline it sends the command it has, and the state that answers
    feeds the next.
    """
    ticker = Ticker(loop.period_ns, loop.clock)
    ticker.start()
    next_hello = 0
    while not loop.done:
        missed = ticker.wait()
        loop.timing.mark(TickPhase.WAIT)
        late = ticker.late_ns if missed else 0
        if loop.link.connected:
            loop.link.send()
        elif ticker.deadline_ns >= next_hello:
            loop.link.hello()
            next_hello = ticker.deadline_ns + HELLO_EVERY_NS
        loop.timing.mark(TickPhase.SEND)
        fresh = False
        until = ticker.deadline_ns + loop.period_ns // 2
        while not fresh and (message := client.receive_until(until)) is not None:
            loop.timing.mark(TickPhase.WAIT)
            fresh = _take(loop, client, message)
        if not fresh:
            loop.timing.mark(TickPhase.WAIT)
        loop.tick(fresh=fresh, received_ns=loop.clock.now_ns(), missed=missed, late_ns=late)
        loop.finish()


def lockstep(loop: Loop, client: ControllerEnd) -> None:
    """Lockstep with a plant in another process, with all threads of this one on one processor."""
    with Together() as together:
        take_turns(loop, client, together)


def take_turns(loop: Loop, client: ControllerEnd, together: Callable[[], None] = lambda: None) -> None:
    """Lockstep: one command, one period, one state, as fast as both ends can. Time runs only during a motion.

    Exactly one message is outstanding; it is repeated byte for byte after a second of wall time. Where the
    plant says that a state is lost (faults are injected), the tick is made without it, as in real time, and
    instead of a command only a message to continue is sent. together: called once a message.
    """
    fresh: bool | None = True
    while not loop.done:
        together()
        connects = not loop.link.began
        if connects:
            fresh = _connect(loop, client)
            if fresh is None:
                continue
        elif not _await_reason(loop, client):
            continue
        loop.tick(fresh=bool(fresh), received_ns=loop.clock.now_ns(), orders=not connects)
        if fresh:
            loop.link.send()
        else:
            loop.link.pass_over()
        loop.finish()
        _await_gateway(loop)
        if not loop.link.connected:  # given up in `finish`: a tick says so, and orders wait for the next
            _tick_alone(loop, orders=False)
        elif not loop.done:
            fresh = _await_state(loop, client)
            if fresh is None:
                _lose_plant(loop)


PACES: dict[Pace, Callable[[Loop, DeviceClient], None]] = {
    Pace.DEVICE: device_clocked,
    Pace.HOST: host_clocked,
    Pace.LOCKSTEP: lockstep,
}


def _take(loop: Loop, client: DeviceClient, message: bytes) -> bool:
    """Drain the socket, keeping only the newest state. Return True if any state was new."""
    fresh = loop.link.read_message(message, loop.inputs)
    newest, _ = client.receive_latest()
    if newest is not None:
        fresh = loop.link.read_message(newest, loop.inputs) or fresh
    return fresh


def _connect(loop: Loop, client: ControllerEnd) -> bool | None:
    """Send hello until the first state has come (True) or is lost (False); None: not yet.

    A plant may welcome the controller and be late with that state.

    Meanwhile orders take effect in ticks of their own; but where the plant's answer is due they wait for it,
    so that their outcome does not depend on its timing.
    """
    loop.link.hello()
    until = loop.clock.now_ns() + HELLO_EVERY_NS
    while True:
        message = client.receive_until(until)
        if message is None:
            break
        if loop.link.read_message(message, loop.inputs):
            return True
        if loop.link.lost_seq > loop.link.seq:
            return False
    loop.look_around()
    if loop.clock.now_ns() < loop.expected_until_ns:
        return None
    if select.select([loop.inbox], [], [], 0)[0] or loop.own_orders or loop.source.busy:
        _tick_alone(loop)
    return None


def _tick_alone(loop: Loop, *, orders: bool = True) -> None:
    loop.tick(fresh=False, received_ns=loop.clock.now_ns(), orders=orders)
    loop.finish()


def _lose_plant(loop: Loop) -> None:
    """Give up a plant that said bye, closed the connection or does not answer."""
    loop.lose(f"the plant has not answered for {loop.peer_timeout_s:g} s")
    _tick_alone(loop)


def _await_gateway(loop: Loop) -> None:
    """Wait until the gateway has read enough records; repeat the command so that the plant stays patient."""
    clock, every_ns = loop.clock, round(1e9 * _repeat_after_s(loop))
    repeat_ns = clock.now_ns() + every_ns
    while loop.ring_full and not loop.orphan:
        clock.sleep_until_ns(clock.now_ns() + _LOOK_NS)
        loop.look_around()
        if clock.now_ns() >= repeat_ns:
            repeat_ns = clock.now_ns() + every_ns
            loop.link.send()


def _repeat_after_s(loop: Loop) -> float:
    return min(1e-3 * REPEAT_AFTER_MS, 0.25 * loop.peer_timeout_s)


def _await_reason(loop: Loop, client: ControllerEnd) -> bool:
    """Wait for an order while time is stopped; repeat the last message so that the plant does not time out.

    Returns False if the plant is gone.
    """
    while not (loop.supervisor.busy or loop.source.busy or loop.own_orders):
        loop.time_stands = True
        ordered = client.wait_beside(loop.inbox.fileno(), 1e3 * _repeat_after_s(loop))
        loop.time_stands = False
        if ordered:
            return True
        loop.look_around()
        loop.link.send()
        message = _receive(client, loop.peer_timeout_s)
        if message is not None:
            loop.link.read_message(message, loop.inputs)
        if message is None or not loop.link.connected:
            _lose_plant(loop)
            return False
    return True


def _await_state(loop: Loop, client: ControllerEnd) -> bool | None:
    """The answer to the command just sent, which is repeated now and then until the plant's time is up.

    True: a fresh state; False: the plant says that it is lost; None: no answer, or none any more.
    """
    waited_s, repeat_s, lost_before = 0.0, _repeat_after_s(loop), loop.link.lost_seq
    while waited_s < loop.peer_timeout_s:
        message = _receive(client, repeat_s)
        if message is None:
            if client.connection_ended():
                return None
            waited_s += repeat_s
            loop.link.send()
        elif loop.link.read_message(message, loop.inputs):
            return True
        elif not loop.link.connected:
            return None
        elif loop.link.lost_seq > lost_before:
            return False
    return None


def _receive(client: ControllerEnd, timeout_s: float) -> bytes | None:
    """The next message; None if none came in time, or none can come: the plant closed the connection."""
    for _ in range(max(1, round(1e3 * timeout_s / _SLICE_MS))):
        message = client.receive(_SLICE_MS)
        if message is not None or client.connection_ended():
            return message
    return None
