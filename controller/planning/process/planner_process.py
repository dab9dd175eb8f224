"""The planner process: takes jobs on standard input, answers them in order on standard output.

The messages are in `planner_messages.py`. The block of an accepted goal is written into the shared slot
before the answer; with slot -1 it is discarded. An invalid job is answered with its error, and the next one
is taken. The end of standard input ends the process.
"""

import os
from collections.abc import Callable, Iterator, Mapping
from contextlib import closing
from pathlib import Path
from typing import Any

import numpy as np

from linkwork.arrays import Floats
from linkwork.controller.configuration import configured
from linkwork.controller.controller_options import PlannerOptions
from linkwork.controller.exchange.shared_memory import Shared, SharedMismatch
from linkwork.controller.planning.goals.goal_in_motion import GoalInMotion, Words
from linkwork.controller.planning.messages.planner_messages import (
    READY,
    BadFrame,
    FrameReader,
    PlanAnswer,
    PlanJob,
    PlanResult,
    Verdict,
    pack_answer,
    read_job,
)
from linkwork.controller.planning.messages.planner_start import REWALK, Start
from linkwork.controller.planning.process.planner import judge, plan
from linkwork.machine import Machine
from linkwork.machine.constraint_sets import constraint_sets
from linkwork.machine.payloads import loaded
from linkwork.protocol.codes import RequestCode, ResultCode
from linkwork.protocol.endpoints import MachineEndpoints
from linkwork.protocol.errors import RequestError
from linkwork.protocol.requests import read_params
from linkwork.timing.children import ignore_interrupts
from linkwork.timing.memory import give_back
from linkwork.timing.scheduling import give_way

Store = Callable[[int, Floats], None]
Sets = Mapping[int, Machine | str]
PLANNED = ("move", "send", "append", "speed", "check")
_READ_BYTES = 1 << 20


def planner(options: PlannerOptions) -> None:
    """Run the planner process."""
    run(configured(options.config, options.law), MachineEndpoints(options.seat).shared_path)


def run(machine: Machine, shared: Path) -> None:
    """The process: serves standard input to its end. `shared`: the loop's memory."""
    ignore_interrupts()
    give_way()
    jobs, answers = os.dup(0), os.dup(1)
    null = os.open(os.devnull, os.O_RDONLY)
    os.dup2(null, 0)
    os.dup2(2, 1)  # output of print must not get between the frames
    os.close(null)
    _write(answers, READY)
    serve(
        constraint_sets(machine),
        jobs,
        answers,
        lambda slot, words: store(shared, slot, words),
        lambda slot, length: fetch(shared, slot, length),
    )


def store(shared: Path, slot: int, words: Floats) -> None:
    """Write a block, a flat array, to a goal slot.

    Raises RequestError: NO_LOOP when the loop's shared memory is missing, BUSY when there is no room for the
    block.
    """
    with closing(_opened(shared)) as memory:
        try:
            memory.reserve(slot, len(words))
        except OSError as error:
            text = f"{shared.parent} has no room for this goal: {error.strerror}; make room and try again"
            raise RequestError(RequestCode.BUSY, text) from None
        memory.slot(slot)[: len(words)] = words


def fetch(shared: Path, slot: int, length: int) -> Floats:
    """Return the block of the goal in a slot, a flat array.

    Raises RequestError (NO_LOOP) when the loop's shared memory is missing.
    """
    with closing(_opened(shared)) as memory:
        words: Floats = memory.slot(slot)[:length].copy()
    return words


def _opened(shared: Path) -> Shared:
    """Open the loop's memory for one use, because a new loop makes a new one at the same path."""
    try:
        return Shared.open(shared)
    except (OSError, SharedMismatch) as error:
        text = f"the loop's shared memory is missing: {error}; try again when the loop runs"
        raise RequestError(RequestCode.NO_LOOP, text) from None


def serve(sets: Sets, jobs: int, answers: int, keep: Store, read: Words) -> None:
    """Answer the jobs read from one descriptor on another, until either is closed."""
    reader = FrameReader()
    while data := os.read(jobs, _READ_BYTES):
        try:
            for frame in answers_to(data, reader, sets, keep, read):
                _write(answers, frame)
        except BadFrame as error:  # the start of the next frame is unknown
            wrong = RequestError(RequestCode.MALFORMED, str(error))
            _write(answers, pack_answer(PlanAnswer(None, wrong)))
            return
        except BrokenPipeError:
            return
        give_back()  # a long trajectory takes tens of MB; the planner lives for months


def answers_to(data: bytes, reader: FrameReader, sets: Sets, keep: Store, read: Words) -> Iterator[bytes]:
    """Yield the frames that answer the jobs completed by these bytes. Raises BadFrame.

    data: bytes from the pipe; reader: keeps incomplete frames. sets, keep, read: as of `answer`.
    """
    reader.feed(data)
    while (body := reader.next()) is not None:
        job = read_job(body)
        yield pack_answer(answer(sets, job, keep, read) if isinstance(job, PlanJob) else job)


def answer(sets: Sets, job: PlanJob, keep: Store, read: Words) -> PlanAnswer:
    """Return the answer to one job, for the machine under the constraints that hold.

    sets: the machine under each set of constraints. keep: writes a goal block to a slot; read: returns a
    slot's words.
    """
    try:
        with np.errstate(over="raise", invalid="raise", divide="raise"):
            return PlanAnswer(job.id, _result(sets, job, keep, read))
    except RequestError as error:
        return PlanAnswer(job.id, error)
    except (ArithmeticError, np.linalg.LinAlgError) as error:
        text = f"the numbers of the goal are too large or too small to compute with: {error}"
        return PlanAnswer(job.id, RequestError(ResultCode.INVALID_GOAL, text))
    except Exception as error:  # a defect must cost this job alone
        text = f"the planner failed: {type(error).__name__}: {error}"
        return PlanAnswer(job.id, RequestError(RequestCode.INTERNAL, text))


def _result(sets: Sets, job: PlanJob, keep: Store, read: Words) -> PlanResult:
    under, before = sets[job.start.closed], job.start.before
    if isinstance(under, str):
        text = f"the controller cannot run the machine under the constraints that hold: {under}"
        raise RequestError(RequestCode.UNSUPPORTED, text)
    machine = loaded(under, job.start.payloads)
    start, params = Start.from_message(machine, job.start), _params(job, machine.aliases)
    if job.method == "check":
        return Verdict(judge(params, machine, start))
    running = None
    if before is not None:
        running = GoalInMotion.from_message(machine, before, read, job.start.time_s, job.start.inputs)
    made = plan(job.method, params, machine, start, running)
    if job.slot >= 0:
        keep(job.slot, made.words)
    return made.in_slot(job.slot)


def _params(job: PlanJob, aliases: Mapping[str, str]) -> Any:
    if job.method == REWALK:
        return None
    if job.method not in PLANNED:
        text = f"the planner plans {', '.join(PLANNED)}, not {job.method!r}"
        raise RequestError(RequestCode.UNSUPPORTED, text)
    return read_params(job.method, job.params, aliases)


def _write(fd: int, data: bytes) -> None:
    view = memoryview(data)
    while view:
        view = view[os.write(fd, view) :]
