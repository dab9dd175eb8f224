"""A controller and its simulated plant in one process, in lockstep, without sockets.

Both are the daemons' own: the loop with its device link and pace, the plant device with its faults, the
planner's answer to a request. Messages cross as the same bytes in the same order, so that the motion is that
of lockstep daemons, bit for bit.
"""

import os
from collections import deque
from collections.abc import Callable, Iterable, Iterator, Mapping
from contextlib import suppress
from dataclasses import dataclass, replace
from functools import cache
from typing import Any, Final

import msgpack
import numpy as np
from numpy.typing import NDArray

from linkwork.arrays import Floats
from linkwork.controller.exchange.orders import Enable, Order, StartGoal
from linkwork.controller.exchange.records import RecordLayout, layout_for
from linkwork.controller.exchange.shared_memory import RING_RECORDS, Shared
from linkwork.controller.loop.device_link import DeviceLink
from linkwork.controller.loop.loop import Loop
from linkwork.controller.loop.pacing import take_turns
from linkwork.controller.motion.references.reference import GoalStatus
from linkwork.controller.planning.messages.planner_messages import MachineState, PlanJob, PlannedGoal
from linkwork.controller.planning.process.planner_process import answer
from linkwork.controller.supervision.brakes import Phase
from linkwork.controller.supervision.state_machine import State
from linkwork.machine import Machine
from linkwork.machine.constraint_sets import constraint_sets
from linkwork.plant.daemon.plant_pacing import LockstepSession
from linkwork.plant.device.events import Events
from linkwork.plant.device.plant_device import PlantDevice
from linkwork.plant.device.session import Greeting, Hearing
from linkwork.plant.faults.device import FaultyDevice
from linkwork.plant.faults.faulty_machinery import faulty
from linkwork.plant.faults.timeline import TimeLine
from linkwork.plant.machinery import MachineryFailed
from linkwork.plant.simulator.simulator import Simulator
from linkwork.protocol.codes import Pace
from linkwork.protocol.direct_link import DirectControllerEnd, DirectPlantEnd
from linkwork.protocol.errors import RequestError
from linkwork.timing.children import Lifeline

BATCH: Final = 1024
"""Records handed over together; a quarter of the ring."""
_SLOT: Final = 0
_ENDED: Final = (GoalStatus.SUCCEEDED, GoalStatus.ENDED)

Take = Callable[[NDArray[Any], Floats], None]
"""Receives records (n; structured) and the true positions (n, nq; rad or m) of the plant at their ticks."""


@dataclass(frozen=True)
class MotionRequest:
    """A request for motion: `move` or `send`, with its parameters as plain data."""

    method: str
    params: Mapping[str, Any]


@dataclass(frozen=True)
class RunEnd:
    """End of a run. goal: number of the last request's goal, 0 where it did not begin.

    text: why the run ended before that, "" where it did not. orders: those that were given, with the words of
    goals' blocks.
    """

    goal: int
    text: str
    name: str = ""
    orders: tuple[tuple[Order, Floats | None], ...] = ()


class _RunOver(Exception):
    """Nothing is left to do."""


class _Inbox:
    """Orders for the loop in this process."""

    def __init__(self) -> None:
        self.lifeline: int | None = None
        self.waiting: deque[Order] = deque()

    def receive(self) -> Order | None:
        """Return the next order, or None."""
        return self.waiting.popleft() if self.waiting else None

    def fileno(self) -> int:
        """Return a descriptor that is never readable."""
        return _silent()


@cache
def _silent() -> int:
    """The reading end of a pipe that stays open and empty."""
    reading, writing = os.pipe()
    _OPEN.append(writing)
    return reading


_OPEN: Final[list[int]] = []


class _Never:
    """The plant is not asked to end."""

    asked = False

    def looked(self) -> bool:
        """Return False."""
        return False


class WitnessedSimulator(Simulator):
    """A simulator that keeps its true positions at the last ticks.

    `truth` (RING_RECORDS, nq): row tick modulo RING_RECORDS, rad or m.
    """

    def __init__(self, machine: Machine, seed: int) -> None:
        super().__init__(machine, seed)
        self.truth: Floats = np.zeros((RING_RECORDS, len(self.q)))

    def integrate(self, periods: int = 1) -> None:
        """Advance as the simulator does, and keep the true positions of each period."""
        for _ in range(periods):
            self.truth[self.tick % RING_RECORDS] = self.q
            super().integrate()


class InProcessRun:
    """One run: enables the machine, then carries out one request after another until the last goal ends.

    machine: as both ends have it (`plant_mechanism` for the plant). requests: each is asked for when the one
    before it has ended. take: receives the records. seed: of the sensors' noise. faults: a timeline; its
    machine must be pushable (`linkwork.plant.faults.pushes`). simulator: in place of the machine's own.
    """

    def __init__(
        self,
        machine: Machine,
        requests: Iterable[MotionRequest],
        take: Take,
        seed: int = 0,
        faults: TimeLine | None = None,
        simulator: WitnessedSimulator | None = None,
    ) -> None:
        self._machine, self._requests, self._receive = machine, iter(requests), take
        self.layout: RecordLayout = layout_for(machine)
        self._plant_end, self._inbox = DirectPlantEnd(), _Inbox()
        self._simulator = simulator or WitnessedSimulator(machine, seed)
        self._device = _device(machine, self._simulator, self._plant_end, faults)
        self._session: LockstepSession | None = None
        self._shared = Shared.private(self.layout, machine.config_hash)
        end = DirectControllerEnd(self._plant_end, self._run_plant, self._at_rest)
        link = DeviceLink(end, machine, Pace.LOCKSTEP, "controller")
        lifeline = Lifeline(_silent())
        self._loop = Loop(machine, link, self._shared, self._inbox, lifeline, Pace.LOCKSTEP)
        self._end, self._since = end, 0
        self._sets = constraint_sets(machine)
        self._latest: NDArray[Any] | None = None
        self._goal = self._order = 0
        self._text = self._name = ""
        self._given: list[tuple[Order, Floats | None]] = []
        self._script = self._orders()

    def run(self) -> RunEnd:
        """Carry out the run; call this once. Never raises for what the machine does."""
        try:
            with suppress(_RunOver):
                take_turns(self._loop, self._end)
        except MachineryFailed as diverged:
            self._name, self._text = "DIVERGED", str(diverged)
        self._hand_over()
        self._shared.close()
        return RunEnd(self._goal, self._text, self._name, tuple(self._given))

    def _run_plant(self) -> None:
        """Let the plant answer the messages that wait for it."""
        device, session = self._device, self._session
        if self._simulator.tick - self._since >= BATCH:
            self._hand_over()
        while (received := self._plant_end.receive()) is not None:
            said = device.receive(*received)
            if said is Greeting.ENTER:
                session = self._session = LockstepSession(device, _Never())
            elif session is None:
                continue
            elif said is Hearing.FRESH or said is Hearing.PASSED:
                session.tick(said)
            else:
                session.answer(said)

    def _hand_over(self) -> None:
        """Hand the records so far to their receiver."""
        shared = self._shared
        while True:
            words, first, _ = shared.read_records(self._since, BATCH)
            if not len(words):
                return
            shared.tail = self._since = first + len(words)
            table = words.view(self.layout.dtype)[:, 0]
            self._latest = table[-1:]
            self._receive(table, self._simulator.truth[table["device_tick"] % RING_RECORDS])

    def _at_rest(self) -> bool:
        """Time stands still: give the next order, or end the run."""
        self._hand_over()
        order = next(self._script, None)
        if order is None:
            raise _RunOver
        self._inbox.waiting.append(order)
        return True

    @property
    def _record(self) -> np.void:
        assert self._latest is not None
        record: np.void = self._latest[0]
        return record

    def _orders(self) -> Iterator[Order]:
        yield self._numbered(Enable())
        record = self._record
        if int(record["state"]) != State.ACTIVE or int(record["phase"]) != Phase.RELEASED:
            self._name = "NOT_ENABLED"
            self._text = f"enabling ended in {State(int(record['state'])).name.lower()}"
            return
        for request in self._requests:
            planned = self._plan(request)
            if planned is None:
                return
            yield planned
            record = self._record
            if int(record["goal_id"]) != self._goal or int(record["goal_status"]) not in _ENDED:
                self._name, self._text, self._goal = "REFUSED", "the loop refused the goal", 0
                return
            if int(record["goal_status"]) != GoalStatus.SUCCEEDED:
                return

    def _plan(self, request: MotionRequest) -> Order | None:
        """Plan a motion from the present state; None where it is refused."""
        record = self._record
        state = state_of(self._machine, record)
        job = PlanJob(self._order, request.method, _packed(request.params), state, _SLOT)
        result = answer(self._sets, job, self._keep, self._fetch).result
        if isinstance(result, RequestError):
            self._name, self._text, self._goal = result.name, result.message, 0
            return None
        assert isinstance(result, PlannedGoal), "only `check` has a verdict"
        self._goal += 1
        order = StartGoal(_SLOT, result.words, result.checksum, self._goal, result.begin)
        return self._numbered(order, self._fetch(_SLOT, order.words))

    def _numbered(self, order: Order, words: Floats | None = None) -> Order:
        """Give an order its number and authority, as the gateway does."""
        self._order += 1
        order = replace(order, id=self._order, authority=1 if order.bound else 0)
        self._given.append((order, words))
        return order

    def _keep(self, slot: int, words: Floats) -> None:
        self._shared.slot(slot)[: len(words)] = words

    def _fetch(self, slot: int, length: int) -> Floats:
        words: Floats = self._shared.slot(slot)[:length].copy()
        return words


def state_of(machine: Machine, record: np.void) -> MachineState:
    """Return the start of a goal from the newest record: the estimate, and the reference that is held."""
    reference = record["reference"]
    held = np.flatnonzero(np.isfinite(reference))
    names = machine.mechanism.coordinate_names
    closed = sum(1 << bit for bit, on in enumerate(record["closed"]) if on) if machine.switchable else -1
    return MachineState(
        tuple(record["q"].tolist()),
        tuple(record["v"].tolist()),
        tuple(names[index] for index in held),
        tuple(reference[held].tolist()),
        closed,
        {},
        time_s=float(record["time_s"]),
        inputs=tuple(record["input"].tolist()),
        outputs=tuple(record["output"].tolist()),
    )


def _packed(params: Mapping[str, Any]) -> bytes:
    packed: bytes = msgpack.packb(dict(params))
    return packed


def _device(
    machine: Machine, simulator: Simulator, end: DirectPlantEnd, faults: TimeLine | None
) -> PlantDevice:
    events = Events()
    if faults is None:
        return PlantDevice(machine, simulator, end, events, (Pace.LOCKSTEP,))

    machinery = faulty(simulator)
    return FaultyDevice(machine, machinery, end, events, (Pace.LOCKSTEP,), faults, open_to_all=False)
