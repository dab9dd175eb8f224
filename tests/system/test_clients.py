"""Clients of all kinds against real daemons: ours, the pages' programs as printed, bare ZeroMQ."""

import json
import re
import subprocess
import sys
import threading
from itertools import pairwise
from pathlib import Path
from typing import Any

import msgpack
import pytest
import zmq

from linkwork import GoalFailed, RequestError, Robot
from linkwork.demos.demo_motions import helix
from linkwork.demos.waypoints import begin
from linkwork.launch.daemons import Rig
from linkwork.protocol.codes import RequestCode, ResultCode
from linkwork.trajectories.trajectory_file import read_trajectory_file
from tests.system.running import environment, linkwork
from tests.waiting import wait_for

ROOT = Path(__file__).resolve().parents[2]


@pytest.fixture
def robot(lockstep: Rig) -> Any:
    """Enabled at the beginning, disabled at the end."""
    with Robot(endpoint=lockstep.requests, owner="anna") as robot:
        robot.enable()
        yield robot
        if robot.state["state"] == "estop":
            robot.reset()
        robot.disable()


def blocks(page: Path, language: str) -> list[str]:
    return re.findall(rf"^```{language}\n(.*?)^```", page.read_text(), re.MULTILINE | re.DOTALL)


def run_printed(rig: Rig, program: str, *words: str) -> str:
    ran = subprocess.run(
        [sys.executable, "-c", program, *words],
        capture_output=True,
        text=True,
        env=environment(rig.runtime),
        check=False,
    )
    assert ran.returncode == 0, ran.stderr
    return ran.stdout


def test_the_page_s_bare_client_as_printed(lockstep: Rig) -> None:
    (program,) = blocks(ROOT / "protocol" / "README.md", "python")
    assert run_printed(lockstep, program, lockstep.requests).startswith("SUCCESSFUL")


def test_the_readme_s_python_as_printed(lockstep: Rig) -> None:
    (program,) = blocks(ROOT / "README.md", "python")
    height, name = run_printed(lockstep, program).split()
    assert (float(height), name) == (pytest.approx(0.02, abs=1e-4), "SUCCESSFUL")


def test_the_readme_s_trajectories_as_printed(robot: Robot, tmp_path: Path) -> None:
    points, curve = blocks(ROOT / "README.md", "yaml")
    path = tmp_path / "path.yaml"
    path.write_text(points)
    robot.move(shoulder=0.35, elbow=-0.70)
    robot.send(read_trajectory_file(path).trajectory).wait()
    path.write_text(curve)
    robot.move(begin(helix(5.0)), wait=False).wait()
    assert robot.check(read_trajectory_file(path).trajectory)["duration_s"] == pytest.approx(7.0)


def test_the_readme_s_commands_and_trajectories_in_its_order(
    robot: Robot, lockstep: Rig, tmp_path: Path
) -> None:
    page = (ROOT / "README.md").read_text()
    moves = re.findall(r"^    linkwork (move [^#\n]*)", page, re.MULTILINE)
    (send,) = re.findall(r"`linkwork (send FILE --approach)`", page)
    path = tmp_path / "path.yaml"
    owned = ("--endpoint", lockstep.requests, "--as", "anna")
    assert "move home" in {line.strip() for line in moves}
    for line in moves:
        ran = linkwork(lockstep.runtime, *line.split(), *owned)
        assert ran.returncode == 0, ran.stderr
    for content in blocks(ROOT / "README.md", "yaml"):
        path.write_text(content)
        refused = linkwork(lockstep.runtime, "send", str(path), *owned)
        assert (refused.returncode, "--approach" in refused.stderr) == (3, True)
        ran = linkwork(lockstep.runtime, *send.replace("FILE", str(path)).split(), *owned)
        assert ran.returncode == 0, ran.stderr
        assert ran.stdout.startswith("SUCCESSFUL")


def test_the_fastest_timing_is_computed_by_the_controller_and_appended(
    lockstep: Rig, robot: Robot, tmp_path: Path
) -> None:
    now = robot.state["q"]["lift"]
    ways = [{"time_from_start_s": t, "positions": [now + z]} for t, z in ((1.0, 0.02), (2.0, 0.05))]
    path = tmp_path / "way.yaml"
    path.write_text(json.dumps({"coordinates": ["lift"], "points": ways}))
    connection = ("--endpoint", lockstep.requests)
    ran = linkwork(lockstep.runtime, "time", str(path), "--json", *connection)
    assert ran.returncode == 0, ran.stderr
    timing = json.loads(ran.stdout)["report"]["timing"]
    assert timing["duration_s"] < timing["given_s"]
    assert sum(each["share"] for each in timing["limits"]) == pytest.approx(1.0)
    assert robot.state["q"]["lift"] == pytest.approx(now, abs=1e-3), "only computed"
    back = {"coordinates": ["lift"], "points": [{"time_from_start_s": 3.0, "positions": [now]}]}
    first = robot.send({"coordinates": ["lift"], "points": ways, "timing": "fastest"})
    second = robot.append(back | {"timing": "fastest"})
    for goal in (first, second):
        assert goal.wait()["name"] == "SUCCESSFUL"
    assert first.duration_s == pytest.approx(timing["duration_s"], rel=1e-3)
    assert second.accepted["report"]["timing"]["given_s"] == 3.0
    assert second.duration_s < 3.0
    assert robot.state["q"]["lift"] == pytest.approx(now, abs=1e-3)


@pytest.mark.slow
def test_a_file_with_corners_is_checked_timed_and_followed(
    lockstep: Rig, robot: Robot, tmp_path: Path
) -> None:
    now = robot.state["q"]
    here = [now["lift"], now["wrist"]]
    places = [[here[0] + up, here[1] + turn] for up, turn in ((0.03, 0.1), (0.03, 0.4), (0.01, 0.5))]
    asked = {
        "coordinates": ["lift", "wrist"],
        "timing": "fastest",
        "points": [{"positions": p} for p in places],
    }
    path = tmp_path / "way.yaml"
    connection = ("--endpoint", lockstep.requests)
    path.write_text(json.dumps({**asked, "corner": {"radius_m": 0.005}}))
    refused = linkwork(lockstep.runtime, "time", str(path), *connection)
    assert (refused.returncode, "radius_rad" in refused.stderr, ":1:" in refused.stderr) == (3, True, True)
    path.write_text(json.dumps({**asked, "corner": {"radius_m": 0.005, "radius_rad": 0.2}}))
    ran = linkwork(lockstep.runtime, "time", str(path), *connection)
    assert ran.returncode == 0, ran.stderr
    assert "jerk of lift" in ran.stdout
    goal = robot.send(read_trajectory_file(path).trajectory)
    assert goal.wait()["name"] == "SUCCESSFUL"
    assert goal.duration_s == pytest.approx(float(ran.stdout.split()[0]), abs=1e-3)
    assert robot.state["q"]["lift"] == pytest.approx(places[-1][0], abs=1e-3)
    robot.move({"lift": here[0], "wrist": here[1]})


def test_getting_started_as_printed(lockstep: Rig, tmp_path: Path) -> None:
    page = ROOT / "docs" / "getting_started.md"
    points, curve = blocks(page, "yaml")
    program, notebook, tasks = blocks(page, "python")
    path = tmp_path / "path.yaml"
    with Robot(endpoint=lockstep.requests) as robot:
        robot.enable()
        robot.move({"x": 0.1, "y": 0.3, "angle": 0.0})
        path.write_text(points)
        robot.send(read_trajectory_file(path).trajectory).wait()
        path.write_text(points.replace("3.0", "2.05"))
        with pytest.raises(RequestError, match="lift"):
            robot.send(read_trajectory_file(path).trajectory)
        start = re.search(r"linkwork move (x=\S+) (y=\S+) (z=\S+) (angle=\S+)`", page.read_text())
        assert start
        robot.move({name: float(value) for name, value in (text.split("=") for text in start.groups())})
        path.write_text(curve)
        robot.send(read_trajectory_file(path).trajectory).wait()
    assert "%" in run_printed(lockstep, program)
    assert run_printed(lockstep, tasks).endswith("active\n")
    ended = threading.Event()

    def pass_time() -> None:
        with Robot(endpoint=lockstep.requests) as robot:
            while not ended.is_set():
                robot.advance(100)

    clock = threading.Thread(target=pass_time)
    clock.start()
    try:
        assert " s " in run_printed(lockstep, notebook)
    finally:
        ended.set()
        clock.join()


def test_texts_of_commands_are_in_degrees_and_millimetres(robot: Robot, lockstep: Rig) -> None:
    def said(*words: str, status: int = 0) -> str:
        ran = linkwork(lockstep.runtime, *words, "--endpoint", lockstep.requests, "--as", "anna")
        assert ran.returncode == status, ran.stderr
        return ran.stdout + ran.stderr

    robot.move(shoulder=0.3, elbow=-0.6, lift=0.0)
    moved = said("move", "shoulder_deg=20")
    assert re.search(r"; took \d+\.\d{3} s, planned duration \d+\.\d{3} s\n", moved)
    assert re.search(r"^  largest error \d\.\d{3} ° \(\w+\)", moved, re.MULTILINE)
    assert " ° is allowed" in said("move", "shoulder_deg=300", status=3)
    assert re.search(r"cannot reach x = \S+ mm, y = \S+ mm", said("move", "x=9", "y=9", status=3))
    data = json.loads(said("move", "shoulder_deg=300", "--json", status=3).splitlines()[0])
    assert " rad is allowed" in data["error"]["message"], "JSON has SI units"
    described = said("describe")
    assert re.search(r"shoulder +joint +° ", described)
    assert re.search(r"lift +joint +mm ", described)
    assert re.search(r"\nshoulder +[\d.]+ N m +[\d.]+ °/s", described)


def test_moves_by_joint_and_by_tool(robot: Robot) -> None:
    robot.move(shoulder=0.3, elbow=-0.6, lift=0.0)
    state = robot.state
    assert state["q"]["shoulder"] == pytest.approx(0.3, abs=1e-4)
    robot.move({"x": 0.0, "y": 0.35, "z": 0.02, "angle": 0.0}, speed=0.5)
    assert robot.state["coordinates"]["z"] == pytest.approx(0.02, abs=1e-4)
    assert robot.describe()["machine"] == "scara"
    assert robot.faults()["faults"] == []


def test_a_goal_tells_its_progress_and_can_be_cancelled(robot: Robot) -> None:
    robot.move(begin(helix(5.0)))
    seen: list[float] = []
    goal = robot.send(helix(9.0))
    canceller = threading.Timer(0.5, goal.cancel)
    canceller.start()
    with pytest.raises(GoalFailed) as caught:
        goal.wait(100.0, seen.append)
    canceller.join()
    assert caught.value.code == ResultCode.CANCELLED
    assert goal.status == "CANCELLED"
    assert 0.0 < seen[-1] < 1.0
    assert seen == sorted(seen)
    wait_for(lambda: robot.state["state"] == "active", "the end of the stop")


def test_a_trajectory_from_elsewhere_is_refused_with_the_place(robot: Robot) -> None:
    robot.move(shoulder=0.3)
    points = [{"time_from_start_s": t, "positions": [1.0 + t]} for t in (0.0, 1.0)]
    with pytest.raises(RequestError) as caught:
        robot.send({"coordinates": ["shoulder"], "points": points})
    assert caught.value.code < 0
    assert "shoulder" in caught.value.message


def test_one_moves_many_look_anyone_stops(lockstep: Rig, robot: Robot) -> None:
    with Robot(endpoint=lockstep.requests, owner="bob", lease=False) as bob:
        assert bob.state["lease"]["owner"] == "anna"
        for forbidden in (bob.disable, lambda: bob.move(lift=0.1), lambda: bob.jog(lift=0.01)):
            with pytest.raises(RequestError, match="anna") as caught:
                forbidden()
            assert caught.value.code == RequestCode.NOT_OWNER
            assert caught.value.data["owner"] == "anna"
        with (
            pytest.raises(RequestError, match="anna"),
            Robot(endpoint=lockstep.requests, owner="bob"),
        ):
            pytest.fail("took a lease that somebody else has")
        robot.move(begin(helix(5.0)))
        goal = robot.send(helix(9.0))
        bob.stop()
        with pytest.raises(GoalFailed):
            goal.wait(100.0)
        bob.estop()
        assert robot.state["state"] == "estop"
        with pytest.raises(RequestError, match="anna"):
            bob.reset()


@pytest.mark.slow
def test_a_person_may_take_over(lockstep: Rig) -> None:
    with Robot(endpoint=lockstep.requests, owner="program") as program:
        with Robot(endpoint=lockstep.requests, owner="person", take_over=True) as person:
            assert person.state["lease"]["owner"] == "person"
            with pytest.raises(RequestError, match="person"):
                program.enable()
        program.enable()
        program.disable()


def test_telemetry_is_what_plotjuggler_reads(lockstep: Rig, robot: Robot) -> None:
    context = zmq.Context()
    socket = context.socket(zmq.SUB)
    try:
        socket.set(zmq.SUBSCRIBE, b"")
        socket.set(zmq.RCVTIMEO, 60_000)
        socket.connect(robot.status["telemetry"])
        mover = threading.Thread(target=lambda: [robot.move(lift=height) for height in (0.1, 0.0, 0.1)])
        mover.start()
        samples: list[dict[str, Any]] = []
        while len(samples) < 20:
            topic, payload, *more = socket.recv_multipart()
            assert more == []
            content = msgpack.unpackb(payload)
            assert isinstance(content["timestamp"], float)
            if topic == b"telemetry":
                samples.append(content)
        mover.join()
    finally:
        socket.close(0)
        context.term()
    times = [sample["timestamp"] for sample in samples]
    assert times == sorted(times)
    steps = {round(after - before, 9) for before, after in pairwise(times)}
    assert min(steps) == 0.01
    assert set(samples[0]["q"]) == {"shoulder", "elbow", "wrist", "lift"}
