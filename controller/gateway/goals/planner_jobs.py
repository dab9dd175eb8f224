"""Jobs for the planner: one at a time, a short queue, each answered once even if the planner dies."""

from collections import deque
from collections.abc import Callable
from dataclasses import dataclass

from linkwork.controller.exchange.shared_memory import GOAL_SLOTS
from linkwork.controller.gateway.child_processes import ChildProcesses, PlannerProcess
from linkwork.controller.gateway.history import Requester
from linkwork.controller.gateway.requests.call import PendingResult
from linkwork.controller.planning.messages.planner_messages import (
    MachineState,
    PlanAnswer,
    PlanJob,
    PlanResult,
)
from linkwork.protocol.codes import RequestCode, ResultCode
from linkwork.protocol.errors import RequestError
from linkwork.timing.clock import Clock

MOST_JOBS, MOST_CHECKS, MOST_CHECKS_EACH = 8, 4, 2
"""Motions that wait to be planned, checks of trajectories, and such checks of each client."""
STEADY_S = 5.0
Planned = Callable[[PlanResult], None]


@dataclass(eq=False)
class Job:
    """A request to be planned. `start` gives the machine's state when its turn has come."""

    method: str
    params: bytes
    start: Callable[[], MachineState]
    then: Planned
    slot: int = -1
    """Goal slot that the block goes to; -1: none is needed."""
    dropped: bool = False
    requester: Requester | None = None
    """Connection of a check, which ends with it."""

    @property
    def checks(self) -> bool:
        """Whether the job only asks whether a trajectory would be accepted."""
        return self.method == "check"


def _same_client(one: Job, other: Job) -> bool:
    mine, theirs = one.requester, other.requester
    return mine is not None and theirs is not None and mine.client == theirs.client


class Planning:
    """The planner process and its queue."""

    def __init__(self, processes: ChildProcesses, clock: Clock) -> None:
        self._processes, self._clock = processes, clock
        self._client: PlannerProcess | None = None
        self._queue: deque[Job] = deque()
        self._running: Job | None = None
        self._number = 0
        self._slots_taken: set[int] = set()
        self._started_ns = 0
        self.restarts = 0

    def start(self) -> None:
        """Start the planner, unless it runs."""
        if self._client is None:
            self._client = self._processes.start_planner()
            self._started_ns = self._clock.now_ns()

    @property
    def ready(self) -> bool:
        """Whether a planner runs and has its kernels; until then motions wait to be planned."""
        return self._client is not None and self._client.ready

    @property
    def fd(self) -> int | None:
        """Readable when the planner has answered, or has ended."""
        return self._client.fileno() if self._client is not None else None

    @property
    def pid(self) -> int | None:
        """Process id of the planner."""
        return self._client.pid if self._client is not None else None

    @property
    def in_use(self) -> bool:
        """Whether a motion is being planned."""
        jobs = [*self._queue, *([self._running] if self._running else [])]
        return any(job.slot >= 0 and not job.dropped for job in jobs)

    def submit(self, job: Job) -> None:
        """Queue a job. Motions go before checks, which any client may ask for. Raises RequestError (BUSY)."""
        checks = [waiting for waiting in self._queue if waiting.checks]
        alike, most = (
            (len(checks), MOST_CHECKS) if job.checks else (len(self._queue) - len(checks), MOST_JOBS)
        )
        if len([one for one in checks if _same_client(one, job)]) >= MOST_CHECKS_EACH:
            text = f"{MOST_CHECKS_EACH} checks of this client are waiting, the maximum; try again"
            raise RequestError(RequestCode.BUSY, text)
        if alike >= most:
            what = "checks are waiting" if job.checks else "goals are waiting to be planned"
            raise RequestError(RequestCode.BUSY, f"{alike} {what}; try again")
        self._queue.insert(len(self._queue) if job.checks else len(self._queue) - len(checks), job)
        self._feed()

    def plan(
        self,
        method: str,
        params: bytes,
        start: Callable[[], MachineState],
        slot: int = -1,
        requester: Requester | None = None,
    ) -> PendingResult[PlanResult]:
        """Queue a job of the planner, and await its result. Raises RequestError.

        method, params: the request, encoded. start: returns the state of the machine when the job is sent.
        slot: shared memory of the goal's block, -1 for none; where the queue is full the slot is freed.
        """
        awaited: PendingResult[PlanResult] = PendingResult()
        try:
            self.submit(Job(method, params, start, awaited, slot, requester=requester))
        except RequestError:
            self.free_slot(slot)
            raise
        return awaited

    def take_slot(self, in_use: int) -> int:
        """A goal slot that neither the loop (bit mask `in_use`) nor another job uses.

        Raises RequestError (BUSY).
        """
        for slot in range(GOAL_SLOTS):
            if slot not in self._slots_taken and not in_use >> slot & 1:
                self._slots_taken.add(slot)
                return slot
        raise RequestError(
            RequestCode.BUSY, f"all {GOAL_SLOTS} goal slots are in use; wait for a goal to end"
        )

    def free_slot(self, slot: int) -> None:
        """The slot is not needed any longer, or the loop has it now."""
        self._slots_taken.discard(slot)

    def drop_motions(self, why: str) -> None:
        """Revoke all motions that are being planned. why: text for their clients."""
        reason = RequestError(ResultCode.CANCELLED, f"not started: {why}")
        jobs = [*self._queue, *([self._running] if self._running else [])]
        for job in jobs:
            if job.slot >= 0 and not job.dropped:
                job.dropped = True
                job.then(reason)
        self._queue = deque(job for job in self._queue if not job.dropped)

    def drop_checks(self, gone: Callable[[Requester], bool]) -> None:
        """Forget the waiting checks whose requester is gone."""
        self._queue = deque(job for job in self._queue if job.requester is None or not gone(job.requester))

    def receive(self) -> None:
        """Deliver answers and replace a planner that has ended. Call it when `fd` is readable."""
        client = self._client
        if client is None:
            return
        for answer in client.receive():
            self._told(answer)
        if not client.alive:
            self._planner_ended(client)
        self._feed()

    def _planner_ended(self, client: PlannerProcess) -> None:
        """Fail its job; replace a planner that ran for a while immediately, another on demand."""
        self.restarts += 1
        client.close()
        self._client = None
        text = "the planner ended while planning this motion; nothing moves"
        self._fail_running(RequestError(RequestCode.INTERNAL, text))
        if self._clock.now_ns() - self._started_ns > 1e9 * STEADY_S:
            self.start()

    def close(self, reason: RequestError) -> None:
        """End the planner; waiting clients receive the reason."""
        self._fail_running(reason)
        while self._queue:
            job = self._queue.popleft()
            self._finish(job, reason)
        if self._client is not None:
            self._client.close()
            self._client = None

    def _feed(self) -> None:
        if self._running is None and self._queue:
            self.start()
            assert self._client is not None
            job = self._running = self._queue.popleft()
            self._number += 1
            self._client.submit(PlanJob(self._number, job.method, job.params, job.start(), job.slot))

    def _told(self, answer: PlanAnswer) -> None:
        if self._running is None or answer.id != self._number:
            return
        job, self._running = self._running, None
        self._finish(job, answer.result)

    def _fail_running(self, reason: RequestError) -> None:
        job, self._running = self._running, None
        if job is not None:
            self._finish(job, reason)

    def _finish(self, job: Job, result: PlanResult) -> None:
        if isinstance(result, RequestError) or job.dropped:
            self.free_slot(job.slot)
        if not job.dropped:
            job.then(result)
