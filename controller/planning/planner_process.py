"""The planner process: takes jobs on standard input, answers them in order on standard output.

    job     {id, method, params: bytes (MessagePack), start: {q, v, coordinates, theta, closed}, slot}
            closed is the set of the switchable constraints that hold (`linkwork.machine.constraint_sets`);
            start has `running` too where there is a goal before it (`controller.planning.goal_in_motion`)
    ready   {ready: true}, once, when the kernels are there; jobs may be sent before
    answer  {id, goal: {slot, length, checksum, duration_s, coordinates, full_speed_s, report}}
            {id, goal: the answer of `check`}
            {id, error: {code, name, message, path, data}}

The block of an accepted goal is written into the shared slot before the answer; with slot -1 it is thrown
away. Whatever is wrong with a job, its answer says so and the next one is taken. The end of standard input
ends the process.
"""

from __future__ import annotations

import os
from collections.abc import Callable, Mapping
from importlib import import_module
from pathlib import Path
from typing import Any

from linkwork.arrays import Floats
from linkwork.controller.planning.goal_in_motion import GoalInMotion, Words
from linkwork.controller.planning.pipe_frames import BadFrame, FrameReader, pack_frame, read_body
from linkwork.controller.planning.planner import judge, plan
from linkwork.controller.planning.planner_start import REWALK, Start
from linkwork.controller.shared_memory import GOAL_SLOTS, Shared, SharedMismatch
from linkwork.machine import Machine
from linkwork.machine.chains import declared
from linkwork.machine.constraint_sets import constraint_sets
from linkwork.machine.payloads import loaded
from linkwork.multibody.kernels.compiling import warm
from linkwork.protocol.codes import RequestCode
from linkwork.protocol.errors import RequestError
from linkwork.protocol.requests import read_params
from linkwork.timing.children import ignore_interrupts

Store = Callable[[int, Floats], None]
Sets = Mapping[int, Machine | str]
PLANNED = ("move", "send", "append", "speed", "check")
_READ_BYTES = 1 << 20


def run(machine: Machine, shared: Path) -> None:
    """The process: warms the kernels, serves standard input to its end. `shared`: the loop's memory."""
    ignore_interrupts()
    jobs, answers = os.dup(0), os.dup(1)
    null = os.open(os.devnull, os.O_RDONLY)
    os.dup2(null, 0)
    os.dup2(2, 1)  # whatever prints must not write between the frames
    os.close(null)
    declared([machine.chain.walk])
    if machine.mechanism.contacts:
        import_module("linkwork.controller.planning.contact_check")
    if machine.regions:
        import_module("linkwork.controller.planning.workspace_check")
    warm()
    _write(answers, pack_frame({"ready": True}))
    serve(
        constraint_sets(machine),
        jobs,
        answers,
        lambda slot, words: store(shared, slot, words),
        lambda slot, length: fetch(shared, slot, length),
    )


def store(shared: Path, slot: int, words: Floats) -> None:
    """Writes a block into a goal slot. Raises RequestError (NO_LOOP) when the loop's memory is not there.

    The memory is opened for each block, because a new loop makes a new one at the same path.
    """
    try:
        memory = Shared.open(shared)
    except (OSError, SharedMismatch) as error:
        text = f"the loop's memory is not there: {error}; ask again when the loop runs"
        raise RequestError(RequestCode.NO_LOOP, text) from None
    memory.slot(slot)[: len(words)] = words
    memory.close()


def fetch(shared: Path, slot: int, length: int) -> Floats:
    """The words of the goal in a slot. Raises RequestError (NO_LOOP) when the loop's memory is not there."""
    try:
        memory = Shared.open(shared)
    except (OSError, SharedMismatch) as error:
        text = f"the loop's memory is not there: {error}; ask again when the loop runs"
        raise RequestError(RequestCode.NO_LOOP, text) from None
    words: Floats = memory.slot(slot)[:length].copy()
    memory.close()
    return words


def serve(sets: Sets, jobs: int, answers: int, keep: Store, read: Words) -> None:
    """Answers the jobs read from one descriptor on another, until either is closed."""
    reader = FrameReader()
    while data := os.read(jobs, _READ_BYTES):
        reader.feed(data)
        try:
            while (body := reader.next()) is not None:
                _write(answers, pack_frame(answer(sets, body, keep, read)))
        except BadFrame as error:  # nobody knows where the next frame begins
            wrong = RequestError(RequestCode.MALFORMED, str(error))
            _write(answers, pack_frame({"id": None, "error": wrong.as_map()}))
            return
        except BrokenPipeError:
            return


def answer(sets: Sets, body: bytes, keep: Store, read: Words) -> dict[str, Any]:
    """The answer to one job, for the machine under the constraints that hold."""
    number: Any = None
    try:
        job = _read_job(body)
        number = job["id"]
        under = sets[job["start"].get("closed", next(iter(sets)))]
        if isinstance(under, str):
            text = f"the controller cannot run the machine under the constraints that hold: {under}"
            raise RequestError(RequestCode.UNSUPPORTED, text)
        machine = loaded(under, job["start"].get("payloads") or {})
        start, slot = Start.from_map(machine, job["start"]), job["slot"]
        params = _params(job)
        if job["method"] == "check":
            return {"id": number, "goal": judge(params, machine, start)}
        before = job["start"].get("running")
        running = None if before is None else GoalInMotion.from_map(machine, before, read)
        made = plan(job["method"], params, machine, start, running)
        if slot >= 0:
            keep(slot, made.words)
        return {"id": number, "goal": {"slot": slot, **made.as_map()}}
    except RequestError as error:
        return {"id": number, "error": error.as_map()}
    except Exception as error:  # a defect must cost this job alone
        text = f"the planner failed: {type(error).__name__}: {error}"
        return {"id": number, "error": RequestError(RequestCode.INTERNAL, text).as_map()}


def _read_job(body: bytes) -> Mapping[str, Any]:
    try:
        job = read_body(body)
    except BadFrame as error:
        raise RequestError(RequestCode.MALFORMED, str(error)) from None
    match job:
        case {"id": int(), "method": str(), "params": bytes(), "start": dict(), "slot": int() as slot} if (
            -1 <= slot < GOAL_SLOTS
        ):
            return dict(job)
    text = f"a job is {{id, method, params, start, slot}} with a slot from -1 to {GOAL_SLOTS - 1}"
    raise RequestError(RequestCode.MALFORMED, text, (), {"found": type(job).__name__})


def _params(job: Mapping[str, Any]) -> Any:
    method = job["method"]
    if method == REWALK:
        return None
    if method not in PLANNED:
        raise RequestError(RequestCode.UNSUPPORTED, f"the planner plans {', '.join(PLANNED)}, not {method!r}")
    return read_params(method, job["params"])


def _write(fd: int, data: bytes) -> None:
    view = memoryview(data)
    while view:
        view = view[os.write(fd, view) :]
