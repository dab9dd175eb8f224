"""Simulated time, and processes that run in it one at a time: a discrete-event simulation in one thread.

A process is an ordinary function that waits, as a daemon does. Each runs on its own stack (a greenlet) until
it waits; then the next event runs. Computing takes no time. Events of the same instant run in the order in
which they were made, so a run depends on nothing but its seed.
"""

from collections import deque
from collections.abc import Callable
from functools import partial
from heapq import heappop, heappush
from typing import Any, Final

from greenlet import getcurrent, greenlet

START_NS: Final = 1_000_000_000_000
UNIX_NS: Final = 1_700_000_000_000_000_000
"""Clock and Unix time at the begin of a simulation."""


class SimulatedTime:
    """The clock and the events to come. `now_ns`: the present instant."""

    def __init__(self) -> None:
        self.now_ns = START_NS
        self.current: SimulatedProcess | None = None
        """The process that runs."""
        self.events = 0
        """Events that have run."""
        self.hub = getcurrent()
        self._queue: list[tuple[int, int, Callable[[], object]]] = []
        self._made = 0

    def at(self, time_ns: int, act: Callable[[], object]) -> None:
        """Act at an instant, at once where it has passed."""
        self._made += 1
        heappush(self._queue, (max(time_ns, self.now_ns), self._made, act))

    def after(self, delay_ns: int, act: Callable[[], object]) -> None:
        """Act after a delay."""
        self.at(self.now_ns + delay_ns, act)

    def run_until(self, end_ns: int) -> None:
        """Run all events up to an instant."""
        queue = self._queue
        while queue and queue[0][0] <= end_ns:
            self.now_ns, _, act = heappop(queue)
            self.events += 1
            act()
        self.now_ns = max(self.now_ns, end_ns)


class SimulatedProcess:
    """A function that runs as a process of a simulation.

    failure: the exception that ended it; status: what it returned. `on_end` is called when it has ended.
    """

    def __init__(
        self, simulation: SimulatedTime, pid: int, main: Callable[[], Any], on_end: Callable[[], None]
    ) -> None:
        self.pid, self.alive = pid, True
        self.status: Any = None
        self.failure: BaseException | None = None
        self._simulation, self._main, self._on_end = simulation, main, on_end
        self._greenlet = greenlet(self._run, simulation.hub)
        self._turn = 0
        self._suspended = self._due_meanwhile = False
        simulation.at(simulation.now_ns, self._resume)

    def wait(self, until_ns: int) -> None:
        """Wait, in this process, until an instant or until it is woken."""
        self._turn += 1
        self._simulation.at(until_ns, partial(self._timer, self._turn))
        self._simulation.hub.switch()
        self._turn += 1

    def wake(self) -> None:
        """Let a process that waits run on."""
        if self._simulation.current is not None:
            self._simulation.after(0, self.wake)
        elif self.alive:
            self._resume()

    def kill(self) -> None:
        """End the process immediately, without running its clean-up code."""
        if self._simulation.current is not None:
            self._simulation.after(0, self.kill)
            return
        if not self.alive:
            return
        self.alive = False
        self._greenlet.throw()
        self._on_end()

    @property
    def suspended(self) -> bool:
        """Whether it stands still."""
        return self._suspended

    def suspend(self) -> None:
        """Let it stand still until `resume`."""
        self._suspended = True

    def resume(self) -> None:
        """Let it run again; what came meanwhile wakes it now."""
        self._suspended = False
        if self._due_meanwhile and self.alive:
            self._due_meanwhile = False
            self._resume()

    def _timer(self, turn: int) -> None:
        if turn == self._turn and self.alive:
            self._resume()

    def _resume(self) -> None:
        if self._suspended:
            self._due_meanwhile = True
            return
        simulation = self._simulation
        simulation.current, before = self, simulation.current
        self._greenlet.switch()
        simulation.current = before

    def _run(self) -> None:
        try:
            self.status = self._main()
        except Exception as error:
            self.failure = error
        if self.alive:
            self.alive = False
            self._simulation.at(self._simulation.now_ns, self._on_end)


class SimulatedClock:
    """The clock that the daemons of a simulation are given."""

    simulated = True

    def __init__(self, simulation: SimulatedTime) -> None:
        self._simulation = simulation

    def now_ns(self) -> int:
        """Nanoseconds since some fixed instant."""
        return self._simulation.now_ns

    def unix_ns(self) -> int:
        """Simulated Unix time, ns."""
        return self._simulation.now_ns - START_NS + UNIX_NS

    def sleep_until_ns(self, deadline_ns: int) -> None:
        """Sleep until the instant, also while messages arrive."""
        process = self._simulation.current
        assert process is not None, "only a process sleeps"
        while self._simulation.now_ns < deadline_ns:
            process.wait(deadline_ns)


class Inlet:
    """Messages that have arrived for one process, which runs on when it waits for them."""

    __slots__ = ("_simulation", "_waiters", "messages")

    def __init__(self, simulation: SimulatedTime) -> None:
        self.messages: deque[Any] = deque()
        self._simulation = simulation
        self._waiters: list[SimulatedProcess] = []

    def put(self, message: Any) -> None:
        """Deliver a message."""
        self.messages.append(message)
        if self._waiters:
            self._waiters[0].wake()

    def notice(self) -> None:
        """Wake the process without a message."""
        if self._waiters:
            self._waiters[0].wake()

    def await_until(self, until_ns: int) -> None:
        """Wait in the present process until something arrives, or until an instant; perhaps less."""
        wait_for([self], self._simulation, until_ns)

    def take_until(self, deadline_ns: int) -> Any:
        """Return the next message, waiting for it until an instant; None when nothing came."""
        while not self.messages and self._simulation.now_ns < deadline_ns:
            self.await_until(deadline_ns)
        return self.messages.popleft() if self.messages else None


def wait_for(inlets: list[Inlet], simulation: SimulatedTime, until_ns: int) -> None:
    """Wait in the present process until one of the inlets is noticed, or until an instant."""
    process = simulation.current
    assert process is not None, "only a process waits"
    for inlet in inlets:
        inlet._waiters.append(process)
    try:
        process.wait(until_ns)
    finally:
        for inlet in inlets:
            inlet._waiters.remove(process)
