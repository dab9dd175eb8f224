"""The client against a server that plays a controller, over a real socket."""

import tempfile
import threading
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import msgpack
import pytest

from linkwork import GoalFailed, Robot
from linkwork.client.connection import telemetry_endpoint
from linkwork.protocol.codes import RequestCode
from linkwork.protocol.errors import EndpointError, NobodyThere, RequestError
from linkwork.protocol.request_messages import pack_error, pack_notification, pack_response
from linkwork.protocol.requests import read_request
from linkwork.protocol.sockets import Publisher, RequestServer
from linkwork.protocol.telemetry import TELEMETRY_TOPIC, pack_telemetry
from tests.waiting import wait_for

DONE = {"goal": 1, "code": 0, "name": "SUCCESSFUL", "text": "", "tick": 9, "time_s": 0.009}
LATE = {"goal": 1, "code": -4, "name": "PATH_TOLERANCE_VIOLATED", "text": "elbow by 0.1", "tick": 9}
PROGRESS = {"goal": 1, "fraction": 0.5, "status": "running"}
HELD = object()
"""An answer that is sent once the controller lets go."""
Answers = dict[str, Any]


class Controller:
    """Answers requests from a table; a callable is asked, an exception refuses."""

    def __init__(self, endpoint: str) -> None:
        self.asked: list[tuple[str, dict[str, Any]]] = []
        self.events: list[tuple[str, dict[str, Any]]] = []
        self.answers: Answers = {
            "status": {"gateway_pid": 7},
            "acquire": {"owner": "anna", "left_s": 0.4, "lease_s": 0.4},
            "release": {"owner": None},
            "state": {"results": [], "goal": PROGRESS},
            "move": {"goal": 1, "duration_s": 1.0},
            "send": {"goal": 1, "duration_s": 1.0},
            "cancel": {"tick": 1, "state": "stopping", "text": ""},
        }
        self._server = RequestServer(endpoint)
        self._end, self.let_go = threading.Event(), threading.Event()
        self._thread = threading.Thread(target=self._serve)
        self._thread.start()

    def count(self, method: str) -> int:
        return sum(asked == method for asked, _ in self.asked)

    def close(self) -> None:
        self._end.set()
        self._thread.join()
        self._server.close()

    def _serve(self) -> None:
        held: list[tuple[bytes, int]] = []
        while not self._end.is_set():
            while held and self.let_go.is_set():
                peer, number = held.pop()
                self._server.send(peer, pack_response(number, {"state": "holding"}))
            received = self._server.receive(20)
            if received is None:
                continue
            peer, frame = received
            request = read_request(frame)
            params = msgpack.unpackb(request.params)
            self.asked.append((request.method, params))
            answer = self.answers[request.method]
            answer = answer(params) if callable(answer) else answer
            if answer is HELD:
                held.append((peer, request.msgid))
                continue
            if isinstance(answer, RequestError):
                self._server.send(peer, pack_error(request.msgid, answer))
                continue
            self._server.send(peer, pack_response(request.msgid, answer))
            if request.method in ("move", "send"):
                for event, content in self.events:
                    self._server.send(peer, pack_notification(event, content))


@pytest.fixture
def endpoint() -> Iterator[str]:
    with tempfile.TemporaryDirectory(prefix="lw-") as folder:
        yield f"ipc://{Path(folder) / 'requests.ipc'}"


@pytest.fixture
def controller(endpoint: str) -> Iterator[Controller]:
    served = Controller(endpoint)
    yield served
    served.close()


def test_a_goal_that_succeeds(controller: Controller, endpoint: str) -> None:
    controller.events = [("goal.progress", PROGRESS), ("goal.result", DONE)]
    with Robot(endpoint=endpoint, owner="anna") as robot:
        goal = robot.move(shoulder=0.3)
        assert goal.result == DONE
        assert goal.progress == 1.0
    _, params = next(each for each in controller.asked if each[0] == "move")
    assert params == {"as": "anna", "target": {"shoulder": 0.3}, "speed": 1.0}


def test_a_goal_that_fails_raises_with_its_code(controller: Controller, endpoint: str) -> None:
    controller.events = [("goal.result", LATE)]
    with Robot(endpoint=endpoint) as robot:
        with pytest.raises(GoalFailed, match="elbow by") as caught:
            robot.move({"elbow": 1.0})
        assert (caught.value.code, caught.value.name) == (-4, "PATH_TOLERANCE_VIOLATED")


@pytest.mark.parametrize("result", [DONE, LATE])
def test_lost_events_lose_nothing(controller: Controller, endpoint: str, result: dict[str, Any]) -> None:
    controller.answers["state"] = {"results": [{**DONE, "goal": 0}, result], "goal": None}
    with Robot(endpoint=endpoint) as robot:
        goal = robot.send({"coordinates": ["lift"], "points": []})
        if result is DONE:
            assert goal.wait(20.0) == DONE
        else:
            with pytest.raises(GoalFailed):
                goal.wait(20.0)


def test_a_restarted_controller_is_told_apart_from_a_goal_under_way(
    controller: Controller, endpoint: str
) -> None:
    controller.answers["state"] = {"results": [], "goal": None}
    with Robot(endpoint=endpoint) as robot:
        goal = robot.move(lift=0.1, wait=False)
        with pytest.raises(TimeoutError, match="goal 1"):
            goal.wait(1.2)
        controller.answers["status"] = {"gateway_pid": 8}
        with pytest.raises(NobodyThere, match="restarted"):
            goal.wait(20.0)


def test_waiting_shows_progress(controller: Controller, endpoint: str) -> None:
    seen: list[float] = []
    with Robot(endpoint=endpoint) as robot:
        goal = robot.move(lift=0.1, wait=False)
        with pytest.raises(TimeoutError):
            goal.wait(0.7, seen.append)
        assert goal.status == "running"
    assert seen[-1] == 0.5


def test_cancel_names_the_goal(controller: Controller, endpoint: str) -> None:
    with Robot(endpoint=endpoint, owner="anna") as robot:
        robot.move(lift=0.1, wait=False).cancel()
    assert ("cancel", {"as": "anna", "goal": 1}) in controller.asked


def test_the_lease_is_kept_and_given_back(controller: Controller, endpoint: str) -> None:
    before = threading.active_count()
    with Robot(endpoint=endpoint):
        wait_for(lambda: controller.count("acquire") >= 4, "the lease, kept")
    assert controller.asked[-1][0] == "release"
    assert threading.active_count() == before, "nobody is left to ask for it again"


def test_a_lease_taken_over_is_not_fought_for(controller: Controller, endpoint: str) -> None:
    refusal = RequestError(RequestCode.NOT_OWNER, "bob has the lease", (), {"owner": "bob"})
    before = threading.active_count()
    refused: list[Any] = []

    def refuse(params: Any) -> RequestError:
        refused.append(params)
        return refusal

    with Robot(endpoint=endpoint) as robot:
        controller.answers["move"] = refusal
        controller.answers["acquire"] = refuse
        wait_for(lambda: bool(refused), "the lease, asked for again")
        with pytest.raises(RequestError, match="bob"):
            robot.move(lift=0.1)
        wait_for(lambda: threading.active_count() == before, "its keeper, who gives up")
        assert len(refused) == 1


def test_a_robot_that_is_refused_leaves_no_thread_behind(controller: Controller, endpoint: str) -> None:
    controller.answers["acquire"] = RequestError(RequestCode.NOT_OWNER, "bob has the lease")
    before = threading.active_count()
    with pytest.raises(RequestError, match="bob"), Robot(endpoint=endpoint):
        pytest.fail("entered without the lease")
    assert threading.active_count() == before


def test_only_looking_takes_no_lease(controller: Controller, endpoint: str) -> None:
    with Robot(endpoint=endpoint, lease=False) as robot:
        assert robot.state["goal"] == PROGRESS
    assert controller.count("acquire") == controller.count("release") == 0


def test_nobody_there(endpoint: str) -> None:
    robot = Robot(endpoint=endpoint)
    with pytest.raises(RuntimeError, match="with Robot"):
        _ = robot.state
    with pytest.raises(NobodyThere), robot:
        pytest.fail("entered without a controller")


def test_without_a_name_the_message_says_how_to_start_one(monkeypatch: pytest.MonkeyPatch) -> None:
    with tempfile.TemporaryDirectory(prefix="lw-") as folder:
        monkeypatch.setenv("LINKWORK_RUNTIME_DIR", folder)
        with pytest.raises(NobodyThere, match="linkwork up scara"), Robot():
            pytest.fail("entered without a controller")


def test_a_trajectory_with_an_unknown_key_is_not_sent(controller: Controller, endpoint: str) -> None:
    with Robot(endpoint=endpoint, owner="anna") as robot:
        misspelt = {"coordinates": ["lift"], "points": [], "events": [{"at": {}, "set": {}, "led_s": 0.1}]}
        for ask in (robot.send, robot.append, robot.check):
            with pytest.raises(RequestError, match="no such key; there are at, set, lead_s") as refused:
                ask(misspelt)
            assert refused.value.path == ("trajectory", "events", 0, "led_s")
    assert not {"send", "append", "check"} & {method for method, _ in controller.asked}


def test_connect_and_close_without_a_block(controller: Controller, endpoint: str) -> None:
    before = threading.active_count()
    robot = Robot(endpoint=endpoint, owner="anna")
    robot.close()
    assert robot.connect() is robot
    assert robot.connect() is robot
    assert repr(robot) == f"<Robot: connected to {endpoint}, as anna>"
    assert robot.state["goal"] == PROGRESS
    robot.close()
    robot.close()
    assert repr(robot) == "<Robot: not connected, as anna>"
    with pytest.raises(RuntimeError, match="connect"):
        _ = robot.state
    assert controller.asked[-1][0] == "release"
    assert controller.count("release") == 1
    assert threading.active_count() == before
    with robot:
        assert robot.state["goal"] == PROGRESS
        robot.close()


def test_a_goal_has_a_short_text(controller: Controller, endpoint: str) -> None:
    controller.answers["move"] = {
        "goal": 1,
        "duration_s": 1.0,
        "report": {"limits": dict.fromkeys("abcd", [0.0] * 99)},
    }
    with Robot(endpoint=endpoint) as robot:
        goal = robot.move(lift=0.1, wait=False)
        assert repr(goal) == "<Goal 1: running, planned duration 1.000 s>"
        controller.answers["state"] = {"results": [DONE], "goal": None}
        goal.wait()
        assert repr(goal) == "<Goal 1: SUCCESSFUL, planned duration 1.000 s>"


def test_a_request_does_not_wait_for_that_of_another_thread(controller: Controller, endpoint: str) -> None:
    controller.answers |= {"advance": HELD, "stop": {"tick": 1, "state": "stopping", "text": ""}}
    stopped: list[Any] = []
    with Robot(endpoint=endpoint) as robot:
        long = threading.Thread(target=robot.advance, args=(5,))
        long.start()
        wait_for(lambda: controller.count("advance"), "the long request")
        short = threading.Thread(target=lambda: stopped.append(robot.stop()))
        short.start()
        try:
            wait_for(lambda: stopped, "the answer to stop", 10.0)
        finally:
            controller.let_go.set()
            long.join()
            short.join()


class Samples:
    """Telemetry of a robot, read in a thread."""

    def __init__(self, robot: Robot, endpoint: str | None = None) -> None:
        self.found: list[float] = []
        self.error: Exception | None = None
        self.thread = threading.Thread(target=self._read, args=(robot, endpoint))
        self.thread.start()

    def _read(self, robot: Robot, endpoint: str | None) -> None:
        try:
            for sample in robot.telemetry(endpoint):
                self.found.append(sample["timestamp"])
        except Exception as error:
            self.error = error


def test_telemetry_is_a_loop_that_silence_does_not_end(
    controller: Controller, endpoint: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("linkwork.client.controller_client._SILENT_S", 0.0)
    beside = endpoint.replace("requests", "telemetry")
    publisher = Publisher(beside)
    controller.answers["status"] = {"gateway_pid": 7, "telemetry": "tcp://127.0.0.1:1"}
    robot = Robot(endpoint=endpoint, lease=False).connect()
    samples = Samples(robot)
    wait_for(lambda: publisher.wanted(TELEMETRY_TOPIC), "a subscription")
    publisher.send(TELEMETRY_TOPIC, pack_telemetry(0.5, {}))
    wait_for(lambda: samples.found == [0.5], "the first sample")
    asked = controller.count("state")
    wait_for(lambda: controller.count("state") > asked + 2, "questions in the silence")
    publisher.send(TELEMETRY_TOPIC, pack_telemetry(0.75, {}))
    wait_for(lambda: samples.found == [0.5, 0.75], "the sample after the silence")
    robot.close()
    samples.thread.join()
    publisher.close()
    assert samples.error is None


def test_telemetry_ends_with_the_controller(endpoint: str, monkeypatch: pytest.MonkeyPatch) -> None:
    controller = Controller(endpoint)
    monkeypatch.setattr("linkwork.client.controller_client._SILENT_S", 0.0)
    monkeypatch.setattr("linkwork.client.controller_client.ANSWER_S", 0.2)
    controller.answers["state"] = HELD
    with Robot(endpoint=endpoint, lease=False) as robot:
        samples = Samples(robot, endpoint.replace("requests", "telemetry"))
        wait_for(lambda: controller.count("state"), "a question in the silence")
        controller.close()
        samples.thread.join()
    assert isinstance(samples.error, NobodyThere)


@pytest.mark.parametrize(
    ("told", "requests", "heard"),
    [
        ("tcp://0.0.0.0:9872", "tcp://arm.example:9871", "tcp://arm.example:9872"),
        ("tcp://[::]:9872", "tcp://10.0.0.7:9871", "tcp://10.0.0.7:9872"),
        ("tcp://10.0.0.7:9872", "tcp://10.0.0.7:9871", "tcp://10.0.0.7:9872"),
        ("tcp://127.0.0.1:9872", "tcp://localhost:9871", "tcp://127.0.0.1:9872"),
        ("tcp://127.0.0.1:9872", "tcp://10.0.0.7:9871", None),
        ("ipc:///run/nowhere/scara/telemetry.ipc", "tcp://10.0.0.7:9871", None),
        ("ipc:///run/nowhere/scara/telemetry.ipc", "tcp://127.0.0.1:9871", None),
    ],
)
def test_telemetry_is_heard_where_the_client_can_reach_it(
    told: str, requests: str, heard: str | None
) -> None:
    if heard is None:
        with pytest.raises(EndpointError, match="on its own computer only; start it with --telemetry"):
            telemetry_endpoint(told, requests)
    else:
        assert telemetry_endpoint(told, requests) == heard
