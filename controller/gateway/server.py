"""The gateway's poll loop: requests, child processes, timers, and shutdown."""

import json
import os
import traceback
from collections import Counter, deque
from collections.abc import Callable, Sequence
from contextlib import suppress
from dataclasses import dataclass

from linkwork.controller.exchange.orders import Shutdown
from linkwork.controller.gateway.gateway import Gateway
from linkwork.controller.gateway.history import Requester
from linkwork.controller.gateway.loop_host import LoopStatus
from linkwork.controller.gateway.requests.call import Call, run_steps
from linkwork.controller.gateway.requests.handlers import HANDLERS
from linkwork.protocol.codes import ExitCode, RequestCode, Role
from linkwork.protocol.endpoints import Claim
from linkwork.protocol.errors import RequestError
from linkwork.protocol.gateway_ends import RequestEnd, TelemetryEnd, Waiting
from linkwork.protocol.open_connections import HeldMemory
from linkwork.protocol.request_messages import pack_error
from linkwork.protocol.requests import UnreadableRequest, read_request
from linkwork.timing.children import Lifeline
from linkwork.timing.clock import Clock
from linkwork.timing.memory import allocated_bytes
from linkwork.timing.notify import Notifier
from linkwork.timing.signals import SignalInterrupts

READ_AT_LEAST, READ_BYTES_AT_ONCE = 16, 8 * 1024 * 1024
"""Requests read between two looks at everything else, or one of each connection: they take turns, so that a
stop is found behind the requests of others.
"""
SERVE_NS = 2_000_000
"""Time for serving requests between two looks at everything else."""
MOST_UNSERVED, MOST_UNSERVED_EACH, MOST_UNSERVED_BYTES = 4096, 256, 64 * 1024 * 1024
"""Requests that are read and not served yet: in all, of each connection, and their bytes in all."""
MOST_HELD_BYTES = 128 * 1024 * 1024
"""Memory that clients may make ZeroMQ hold, beyond the requests above: a dozen of the largest requests."""
READY_WITHIN_S = 600.0
"""Most time that the loop and the planner take to start."""
LEAVES_WITHIN_S, BRAKES_WITHIN_S = 60.0, 2.0
RESTART_AFTER_S = (0.0, 0.5, 1.0, 2.0, 5.0)
"""Pause before a loop is started again, by how many have died in a row."""
_MOST_DEFECTS = 20
"""Kinds of defects that are written with their trace."""
STEADY_S = 10.0
"""A loop that has lived this long is forgiven what went before."""


_HEAD_BYTES = 160
"""Bytes of a request that hold its number."""
_Message = tuple[bytes, bytes]
"""A request, and the key of its sender."""


class StartFailed(Exception):
    """The daemon could not start; `status` is its exit status."""

    def __init__(self, message: str, status: int) -> None:
        super().__init__(message)
        self.status = status


@dataclass
class _Ending:
    """State of a shutdown: when it was requested, and whether with the brakes."""

    until_s: float
    braking: bool


class _Unserved:
    """Requests that were read and not served yet. Connections take turns; stops go first."""

    def __init__(self) -> None:
        self._urgent: dict[tuple[RequestEnd, bytes], deque[_Message]] = {}
        self._others: dict[tuple[RequestEnd, bytes], deque[_Message]] = {}
        self._count = self.bytes = 0

    def __bool__(self) -> bool:
        return self._count > 0

    def add(self, server: RequestEnd, peer: bytes, message: bytes) -> bool:
        """Keep a request. Return False when too many wait."""
        # The method's name is behind one to six bytes of the message's shape and number.
        waiting = self._urgent if b"stop" in message[3:15] else self._others
        mine = waiting.get((server, peer), ())
        full = self._count >= MOST_UNSERVED or self.bytes + len(message) > MOST_UNSERVED_BYTES
        if len(mine) >= MOST_UNSERVED_EACH or (full and mine):
            return False
        waiting.setdefault((server, peer), deque()).append((message, server.sender))
        self._count, self.bytes = self._count + 1, self.bytes + len(message)
        return True

    def has(self, server: RequestEnd | TelemetryEnd, peer: bytes) -> bool:
        """Return whether a request of this connection is not served yet."""
        return (server, peer) in self._urgent or (server, peer) in self._others

    def next(self) -> tuple[RequestEnd, bytes, bytes, bytes]:
        """Remove and return the next one: server, peer, message, key of the sender."""
        waiting = self._urgent or self._others
        whose = next(iter(waiting))
        mine = waiting.pop(whose)
        message, key = mine.popleft()
        if mine:
            waiting[whose] = mine  # behind the other connections
        self._count, self.bytes = self._count - 1, self.bytes - len(message)
        return *whose, message, key


class Server:
    """The poll loop. `waiting` makes what waits for sockets and descriptors; lines for people go to the
    descriptor `output`.
    """

    def __init__(
        self,
        gateway: Gateway,
        servers: Sequence[RequestEnd],
        interrupts: SignalInterrupts,
        lifeline: Lifeline | None,
        held: Claim,
        notifier: Notifier,
        clock: Clock,
        waiting: Callable[[], Waiting],
        output: int = 1,
    ) -> None:
        self._gateway, self._servers, self._clock = gateway, servers, clock
        self._new_poller, self._output = waiting, output
        self._interrupts, self._lifeline, self._held = interrupts, lifeline, held
        self._notifier = notifier
        self._progress = (-1, -1)
        """How far the loop was at the last ping of the service manager's watchdog."""
        self._standing = LoopStatus.STARTING
        self._started_s = self._now_s
        self._deaths = 0
        self._restart_s: float | None = None
        self._ready = False
        self._ending: _Ending | None = None
        self._lost = ""
        """Why no client can connect any longer, or empty."""
        self._pressed = 0
        self._unserved = _Unserved()
        self._left: list[tuple[RequestEnd | TelemetryEnd, bytes]] = []
        """Connections that have ended, some of whose requests are not served yet."""
        self._held_memory = HeldMemory(allocated_bytes, MOST_HELD_BYTES, 2.0)
        self._watched: tuple[int | None, ...] = ()
        self._poller = waiting()
        self._defects: Counter[str] = Counter()
        """Requests that found a defect, by method and exception."""

    @property
    def _now_s(self) -> float:
        return 1e-9 * self._clock.now_ns()

    def run(self) -> int:
        """Serve until a shutdown is requested and the loop has ended."""
        self._gateway.host.begin()
        while True:
            self._watch()
            ready = self._poller.wait(0 if self._unserved else self._gateway.patience_ms)
            self._gateway.wake(self._clock.now_ns())
            drop_revoked(self._gateway, self._servers[-1])
            self._requests()
            self._mind_connections()
            if self._gateway.planning.fd in ready:
                self._gateway.planning.receive()
            self._mind_loop()
            self._gateway.records.drain()
            self._gateway.attend()
            while self._gateway.records.notices:
                self._say("log", self._gateway.records.notices.popleft())
            self._ping()
            if self._asked_to_end():
                self._begin_to_end()
            if self._ending is not None and self._ended():
                return int(ExitCode.GOAL_FAILED if self._lost else ExitCode.DONE)

    # Requests.

    def _requests(self) -> None:
        """Read the requests that have arrived, then serve some: stops first."""
        for server in self._servers:
            read = taken = 0
            most = max(READ_AT_LEAST, 0 if server.connections is None else server.connections.count)
            while read < most and taken < READ_BYTES_AT_ONCE and server.ready():
                read += 1
                received = server.receive()
                if received is None:
                    continue
                taken += len(received[1])
                if not self._unserved.add(server, *received):
                    self._refuse_another(server, *received)
        until_ns = self._clock.now_ns() + SERVE_NS
        while self._unserved and self._clock.now_ns() < until_ns:
            self._serve(*self._unserved.next())

    def _mind_connections(self) -> None:
        """Forget the clients that have left; close connections beyond the limits."""
        bound: list[RequestEnd | TelemetryEnd] = [*self._servers, *self._gateway.broadcast.publishers]
        sockets = [server.connections for server in bound if server.connections is not None]
        self._held_memory.mind(sockets, self._unserved.bytes)
        for server in bound:
            if server.connections is not None:
                server.connections.mind()
                self._left += [(server, peer) for peer in server.connections.take_ended()]
                for text in server.connections.take_notices():
                    self._say("connections", f"{server.endpoint}: {text}")
        for server, peer in self._left:
            client_left(self._gateway, server, peer)
        self._left = [one for one in self._left if self._unserved.has(*one)]

    def _refuse_another(self, server: RequestEnd, peer: bytes, message: bytes) -> None:
        try:
            msgid: int | None = read_request(message[:_HEAD_BYTES]).msgid
        except UnreadableRequest as error:
            msgid = error.msgid
        text = f"{MOST_UNSERVED_EACH} requests of this client, or {MOST_UNSERVED} of all, wait to be served"
        text += "; send the next ones when these are answered"
        server.send(peer, pack_error(msgid, RequestError(RequestCode.BUSY, text)))

    def _serve(self, server: RequestEnd, peer: bytes, message: bytes, key: bytes) -> None:
        gateway = self._gateway
        try:
            request = read_request(message)
        except UnreadableRequest as error:
            server.send(peer, pack_error(error.msgid, error))
            return
        except Exception as error:
            self._defect("a request", error)
            return
        call = Call(server, peer, request, key, gateway.machine.aliases)
        try:
            call.check_role()
            if call.owner:
                gateway.lease.renew(call.owner, gateway.now_ns, key=call.key)
            gateway.check_tick(call.at_tick)
            steps = HANDLERS[call.method](gateway, call)
            if steps is not None:
                run_steps(steps, call.answer, call.refuse)
        except RequestError as error:
            call.refuse(error)
        except Exception as error:  # a defect of ours must not stop the machine's gateway
            self._defect(f"`{call.method}`", error)
            text = f"{type(error).__name__} in `{call.method}`: {error}"
            call.refuse(RequestError(RequestCode.INTERNAL, text))

    def _defect(self, what: str, error: Exception) -> None:
        """Count a request that raised an unexpected error; the first of a kind is logged with its trace."""
        kind = f"{what}: {type(error).__name__}"
        self._defects[kind] += 1
        if self._defects[kind] == 1 and len(self._defects) <= _MOST_DEFECTS:
            traceback.print_exception(error)

    # Children.

    def _watch(self) -> None:
        """Register the sockets of new children with the poller, and remove those of ended ones."""
        gateway = self._gateway
        lifeline = self._lifeline.fd if self._lifeline is not None and self._ending is None else None
        twin = gateway.twin_watch.twin.fd if gateway.twin_watch is not None else None
        watched = (gateway.host.pidfd, gateway.planning.fd, twin, self._interrupts.fd, lifeline)
        if watched == self._watched:
            return
        self._watched = watched
        self._poller = self._new_poller()
        for server in self._servers:
            self._poller.add(server)
            if server.monitor is not None:
                self._poller.add(server.monitor)
        for descriptor in watched:
            if descriptor is not None and descriptor >= 0:
                self._poller.add(descriptor)

    def _mind_loop(self) -> None:
        now = self._now_s
        if self._restart_s is not None:
            if now >= self._restart_s and self._ending is None:
                self._restart_s, self._started_s = None, now
                self._standing = LoopStatus.STARTING
                self._gateway.host.start()
            return
        standing = self._gateway.host.poll()
        if standing is self._standing is not LoopStatus.ENDED:
            if standing is LoopStatus.STARTING and now - self._started_s > READY_WITHIN_S:
                raise StartFailed(f"the loop was not ready within {READY_WITHIN_S:g} s", ExitCode.GOAL_FAILED)
            return
        self._standing = standing
        if standing is LoopStatus.READY:
            self._gateway.loop_ready()
            self._say_ready()
        elif standing is LoopStatus.ENDED:
            self._loop_ended(now)

    def _loop_ended(self, now: float) -> None:
        gateway, status = self._gateway, self._gateway.host.returncode
        if not self._ready and self._ending is None:
            code = status if status in (ExitCode.USAGE, ExitCode.REFUSED) else ExitCode.GOAL_FAILED
            raise StartFailed(f"the real-time loop ended with status {status} before it was ready", int(code))
        gateway.loop_ended()
        if self._ending is not None:
            return
        self._deaths = 1 if now - self._started_s > STEADY_S else self._deaths + 1
        self._restart_s = now + RESTART_AFTER_S[min(self._deaths, len(RESTART_AFTER_S)) - 1]
        self._say("loop_ended", f"the loop ended unexpectedly (status {status}); starting a new one")

    def _ping(self) -> None:
        """Ping the service manager's watchdog, unless the loop has made no progress since the last ping."""
        shared = self._gateway.host.shared
        if not self._notifier.due:
            return
        if self._standing is LoopStatus.READY and shared is not None and self._ending is None:
            progress = shared.progress
            if progress == self._progress:
                return
            self._progress = progress
        self._notifier.ping()

    # The end.

    def _asked_to_end(self) -> bool:
        self._interrupts.drain()
        alone = self._lifeline is not None and self._ending is None and self._lifeline.ended()
        if self._ending is None:
            self._lost = self._held.lost
        asked = self._interrupts.count > self._pressed or alone or (bool(self._lost) and self._ending is None)
        return asked and (self._ending is None or not self._ending.braking)

    def _begin_to_end(self) -> None:
        """Stop the machine on its path and disable it; on a second request, brake it at once."""
        gateway, again = self._gateway, self._ending is not None or self._interrupts.insisted
        self._pressed = self._interrupts.count
        within = BRAKES_WITHIN_S if again else LEAVES_WITHIN_S
        self._ending = _Ending(self._now_s + within, braking=again)
        gateway.leaving = True
        gateway.planning.drop_motions("the controller is being shut down")
        text = "braking, then ending" if again else "stopping the machine, then ending"
        self._notifier.stopping(text)
        self._say("ending", f"{self._lost}; {text}" if self._lost else text)
        if self._standing is LoopStatus.READY:
            order = Shutdown(at_once=again)
            gateway.order_queue.place(order, lambda _: None, now_ns=gateway.now_ns, urgent=True)
        else:
            gateway.host.kill()  # it has no machine yet

    def _ended(self) -> bool:
        assert self._ending is not None
        if self._standing is LoopStatus.ENDED or self._restart_s is not None:
            return True
        if self._now_s < self._ending.until_s:
            return False
        self._say("killed", "the loop did not end in time and was killed; the plant brakes the machine")
        self._gateway.host.kill()
        self._gateway.host.wait(BRAKES_WITHIN_S)
        return True

    # What people see.

    def _say_ready(self) -> None:
        gateway = self._gateway
        first, self._ready = not self._ready, True
        self._held.describe(f"controller of {gateway.machine.name} at {self._servers[-1].endpoint}")
        if first:
            self._notifier.ready(f"controller of {gateway.machine.name} at {self._servers[-1].endpoint}")
        shared = gateway.host.shared
        note = f"; {gateway.host.note}" if gateway.host.note else ""
        log = f"; log {gateway.log.path}" if gateway.log is not None else ""
        where = f"ready at {self._servers[-1].endpoint}, telemetry at {gateway.broadcast.endpoints[-1]}{log}"
        means = shared.text if shared is not None else ""
        self._say("ready", f"{gateway.machine.name}: {where}{note}; {gateway.host.link_text}; {means}")

    def _say(self, event: str, text: str) -> None:
        gateway = self._gateway
        if gateway.options.as_json:
            content = {
                "event": event,
                "text": text,
                "machine": gateway.machine.name,
                "endpoint": self._servers[-1].endpoint,
                "telemetry": gateway.broadcast.endpoints,
                "log": str(gateway.log.path) if gateway.log is not None else None,
                "pid": gateway.host.processes.pid,
                "loop_pid": gateway.host.pid,
                "adopted": gateway.host.adopted,
            }
            text = json.dumps(content)
        with suppress(OSError):  # the reader has closed; the machine continues
            os.write(self._output, text.encode() + b"\n")


def client_left(gateway: Gateway, server: object, peer: bytes) -> None:
    """Forget what a client whose connection has ended waits for."""
    _drop(gateway, lambda one: one.server is server and one.peer == peer, "the client has disconnected")


def drop_revoked(gateway: Gateway, server: RequestEnd) -> None:
    """Forget what clients wait for whose key is not allowed any longer; end the lease of such a key.

    server: the one with keys, if there is one.
    """
    roles: dict[bytes, Role | None] = {b"": Role.SERVICE}

    def role_of(key: bytes) -> Role | None:
        if key not in roles:
            roles[key] = server.role_of(key)
        return roles[key]

    def gone(one: Requester) -> bool:
        return role_of(one.key) is None

    _drop(gateway, gone, "the key of the client was revoked")
    gateway.order_queue.withdraw_stops(gone, gateway.now_ns)
    if (role_of(gateway.lease.key) or 0) < Role.OPERATE:
        gateway.change_lease(lambda: gateway.lease.revoke(in_motion=gateway.in_motion))


def _drop(gateway: Gateway, gone: Callable[[Requester], bool], why: str) -> None:
    gateway.planning.drop_checks(gone)
    gateway.order_queue.drop(gone, RequestError(RequestCode.NOT_PERMITTED, why))
