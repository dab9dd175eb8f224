"""The planner as a process of its own, over real pipes and real shared memory."""

import os
import select
import signal
import subprocess
import sys
import time
import zlib
from dataclasses import replace

import msgpack
import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from linkwork.controller.exchange.goal_block import GoalBlock
from linkwork.controller.exchange.orders import After, Fresh, Retime, Splice
from linkwork.controller.exchange.records import layout_for
from linkwork.controller.exchange.shared_memory import Shared
from linkwork.controller.planning.messages.planner_messages import (
    BadFrame,
    FrameReader,
    GoalBefore,
    MachineState,
    PlanAnswer,
    PlanJob,
    PlannedGoal,
    Verdict,
    pack_answer,
    pack_frame,
    pack_job,
    read_answer,
    read_job,
)
from linkwork.controller.planning.process.planner_client import PlannerClient
from linkwork.protocol.codes import RequestCode, ResultCode
from linkwork.protocol.errors import RequestError

SERVE = """
import sys
from pathlib import Path
from linkwork.controller.planning.process.planner_process import run
from linkwork.machine import load
run(load("scara"), Path(sys.argv[1]))
"""
PATIENCE_S = 100.0


@pytest.fixture(scope="module")
def shared(scara, tmp_path_factory):
    path = tmp_path_factory.mktemp("seat") / "memory"
    memory = Shared.create(path, layout_for(scara), scara.config_hash, lockstep=False)
    yield memory
    memory.close()


@pytest.fixture(scope="module")
def common(shared):
    """A planner for the tests that leave it alive."""
    planner = PlannerClient.start(arguments(shared.path))
    yield planner
    planner.close()


def arguments(path):
    return [sys.executable, "-c", SERVE, str(path)]


@pytest.fixture
def client(shared):
    planner = PlannerClient.start(arguments(shared.path))
    yield planner
    planner.close()


@pytest.fixture
def raw(shared):
    """The process with bare pipes."""
    process = subprocess.Popen(arguments(shared.path), stdin=subprocess.PIPE, stdout=subprocess.PIPE)
    assert read_frame(process.stdout) == {"ready": True}
    yield process
    process.kill()
    process.wait()
    process.stdin.close()
    process.stdout.close()


def answers(client, count):
    """Waits for this many answers, or for the end of the planner."""
    found, deadline = [], time.monotonic() + PATIENCE_S
    while len(found) < count and client.alive:
        assert select.select([client.fileno()], [], [], max(0.0, deadline - time.monotonic()))[0], "no answer"
        found += client.receive()
    return found


def job(number, scara, method="move", slot=0, **params):
    params = params or {"target": {"elbow": -1.2}}
    start = MachineState(tuple(scara.initial_q.tolist()), (0.0,) * 4)
    return PlanJob(number, method, msgpack.packb(params), start, slot)


def test_a_planner_starts_without_scipy():
    code = (
        "import sys; import linkwork.controller.planning.process.planner_process; "
        "from linkwork.machine import load; load('five_bar'); sys.exit('scipy' in sys.modules)"
    )
    subprocess.run([sys.executable, "-c", code], check=True, timeout=PATIENCE_S)


def test_a_goal_crosses_into_its_slot(common, shared, scara):
    common.submit(job(7, scara, slot=2))
    (answer,) = answers(common, 1)
    goal = answer.result
    assert isinstance(goal, PlannedGoal)
    assert (answer.id, goal.slot, goal.begin, goal.limited) == (7, 2, Fresh(), None)
    assert goal.coordinates == ("shoulder", "elbow", "wrist", "lift")
    words = shared.slot(2)[: goal.words]
    assert zlib.crc32(words.tobytes()) == goal.checksum
    block = GoalBlock(words)
    assert block.duration_s == goal.duration_s
    found = np.empty((3, 4))
    block.evaluate(block.duration_s, *found)
    assert found[0, 1] == pytest.approx(-1.2, abs=1e-12)
    assert goal.report["limits"]["velocity"]["elbow"]["used"] <= 1.0 + 1e-6


def test_a_check_writes_nothing(common, shared, scara):
    shared.slot(0)[:64] = 0.0
    points = [{"time_from_start_s": 2.0, "positions": [-1.2]}]
    common.submit(job(1, scara, "check", -1, trajectory={"coordinates": ["elbow"], "points": points}))
    (answer,) = answers(common, 1)
    assert answer.result.content["feasible"]
    assert not shared.slot(0)[:64].any()


def test_jobs_are_answered_in_order_and_bad_ones_cost_only_themselves(common, scara):
    common.submit(job(1, scara, target={"elbow": 9.0}))
    common.submit(job(2, scara))
    common.submit(replace(job(3, scara), params=b"\xc1 garbage"))
    common.submit(replace(job(4, scara), start=MachineState((), ())))
    common.submit(job(5, scara, slot=99))
    common.submit(job(6, scara, "jog"))
    common.submit(replace(job(7, scara), start=MachineState(("nowhere",), ())))
    common.submit(job(8, scara, target={"nobody": 1.0}))
    common.submit(job(9, scara, target={"elbow": float("nan")}))
    common.submit(job(10, scara))
    found = answers(common, 10)
    assert [one.id for one in found] == list(range(1, 11))
    codes = [getattr(one.result, "code", None) for one in found]
    assert codes == [
        ResultCode.INFEASIBLE,
        None,
        RequestCode.MALFORMED,
        RequestCode.INTERNAL,
        RequestCode.MALFORMED,
        RequestCode.UNSUPPORTED,
        RequestCode.MALFORMED,
        ResultCode.INVALID_COORDINATES,
        RequestCode.INVALID_PARAMS,
        None,
    ]
    assert found[0].result.data["coordinate"] == "elbow"


def test_a_job_larger_than_the_pipe_is_handed_over_without_waiting(common, scara):
    count = 20_000
    times = (np.linspace(0.0, 21.0, count + 1)[1:]).tolist()
    points = [{"time_from_start_s": t, "positions": [-0.95993109]} for t in times]
    common.submit(job(1, scara, "check", -1, trajectory={"coordinates": ["elbow"], "points": points}))
    common.submit(job(2, scara))
    found = answers(common, 2)
    assert [one.id for one in found] == [1, 2]
    assert isinstance(found[1].result, PlannedGoal)


def test_the_end_of_the_pipe_ends_it(client):
    pid = client.pid
    handle = os.pidfd_open(pid)
    client.close()
    assert select.select([handle], [], [], PATIENCE_S)[0]
    os.close(handle)
    assert not client.alive


def test_an_interrupt_does_not(common, scara):
    common.submit(job(1, scara))
    answers(common, 1)
    os.kill(common.pid, signal.SIGINT)
    common.submit(job(2, scara))
    assert answers(common, 1)[0].id == 2


def test_the_client_tells_when_the_planner_has_died(client, scara):
    client.submit(job(1, scara))
    answers(client, 1)
    os.kill(client.pid, signal.SIGKILL)
    assert answers(client, 1) == []
    assert not client.alive
    client.submit(job(2, scara))
    assert client.receive() == []


def test_the_loops_memory_may_vanish_and_be_made_anew(scara, tmp_path):
    path = tmp_path / "memory"
    client = PlannerClient.start(arguments(path))
    client.submit(job(1, scara, "move", -1))
    client.submit(job(2, scara))
    found = answers(client, 2)
    assert isinstance(found[0].result, PlannedGoal)
    assert found[1].result.code == RequestCode.NO_LOOP
    for number in (3, 4):
        new = Shared.create(path, layout_for(scara), scara.config_hash, lockstep=False)
        client.submit(job(number, scara, slot=3))
        length = answers(client, 1)[0].result.words
        assert GoalBlock(new.slot(3)[:length]).duration_s > 0.0
        new.close()
    client.close()


def read_frame(stream):
    length = int.from_bytes(stream.read(4), "little")
    return msgpack.unpackb(stream.read(length))


def test_frames_may_arrive_in_pieces(raw, scara):
    frames = pack_job(job(1, scara)) + pack_job(job(2, scara))
    for at in range(0, len(frames), 37):
        raw.stdin.write(frames[at : at + 37])
        raw.stdin.flush()
    assert [read_frame(raw.stdout)["id"] for _ in range(2)] == [1, 2]


def test_a_frame_that_is_no_messagepack_is_answered(raw, scara):
    raw.stdin.write(b"\x03\x00\x00\x00\xc1\xc1\xc1" + pack_job(job(2, scara)))
    raw.stdin.flush()
    first, second = read_frame(raw.stdout), read_frame(raw.stdout)
    assert (first["id"], first["error"]["code"]) == (None, RequestCode.MALFORMED)
    assert "goal" in second


def test_an_impossible_length_ends_it_with_an_answer(raw):
    raw.stdin.write(b"\xff\xff\xff\xff" + b"x" * 100)
    raw.stdin.flush()
    assert read_frame(raw.stdout)["error"]["code"] == RequestCode.MALFORMED
    assert raw.wait(PATIENCE_S) == 0


def test_the_reader_cuts_frames_wherever_they_break():
    frames = [pack_frame({"n": n, "data": b"x" * n}) for n in range(40)]
    stream = b"".join(frames)
    reader, found = FrameReader(), []
    for at in range(0, len(stream), 11):
        reader.feed(stream[at : at + 11])
        while (body := reader.next()) is not None:
            found.append(msgpack.unpackb(body)["n"])
    assert found == list(range(40))
    reader.feed(b"\xff\xff\xff\x7f")
    with pytest.raises(BadFrame):
        reader.next()


BEFORE = GoalBefore(3, 1, 2084, 0.5, (0.1, 0.2), 0.25, 0.75, 0.9)
STATE = MachineState((0.1,), (0.2,), ("elbow",), (0.1,), 2, {"tool": (1.5, *(0.0,) * 9)}, BEFORE)
GOAL = PlannedGoal(
    1, 2084, 77, 1.5, ("elbow",), (0.0, 1.5), {"limits": {"velocity": 0.5}}, Fresh(), (0.1, 0.2), None
)
BEGINS = [Fresh(), After(3), Splice(3, 0.75, 0.9, ResultCode.REPLACED), Retime(3, 1.5, keep_speed=True)]


def body(frame):
    return frame[4:]


def test_a_job_comes_back_from_its_frame():
    sent = PlanJob(5, "move", b"\x80", STATE, -1)
    assert read_job(body(pack_job(sent))) == sent


@pytest.mark.parametrize("begin", BEGINS, ids=str)
def test_a_planned_goal_comes_back_from_its_frame(begin):
    sent = PlanAnswer(5, replace(GOAL, begin=begin, limited={"text": "too fast"}))
    back = read_answer(body(pack_answer(sent)))
    assert back == sent
    assert type(back.result.begin) is type(begin)


def test_a_verdict_and_a_refusal_come_back_from_their_frames():
    verdict = PlanAnswer(5, Verdict({"feasible": True}))
    assert read_answer(body(pack_answer(verdict))) == verdict
    refused = PlanAnswer(None, RequestError(RequestCode.MALFORMED, "no job", ["start"], {"found": 3}))
    back = read_answer(body(pack_answer(refused)))
    assert (back.id, back.result.as_map()) == (None, refused.result.as_map())


@pytest.mark.parametrize(
    "content",
    [{"id": 1}, {"id": 1, "goal": {}}, {"id": 1, "goal": {"begin": {"way": "Somehow"}}}, [1, 2], None],
    ids=str,
)
def test_an_answer_that_is_none_is_a_bad_frame(content):
    with pytest.raises(BadFrame):
        read_answer(msgpack.packb(content))


@given(st.binary(max_size=200))
def test_a_frame_that_holds_no_job_is_answered(data):
    job = read_job(data)
    assert isinstance(job, PlanAnswer)
    assert job.result.code == RequestCode.MALFORMED
