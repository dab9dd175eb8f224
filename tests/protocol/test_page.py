"""The page says what the code does: tables, bytes, and the client as printed."""

import json
import re
import subprocess
import sys
import threading
from pathlib import Path
from typing import is_typeddict

import pytest

from linkwork import protocol
from linkwork.protocol import results
from linkwork.protocol.codes import DeviceFault, DeviceStatus, Mode, RefuseCode, RequestCode, ResultCode
from linkwork.protocol.errors import RequestError
from linkwork.protocol.handshake import Bye, Hello, Refuse, Welcome
from linkwork.protocol.injection import (
    FaultProblem,
    FaultReport,
    Inject,
    Injected,
    InjectRefusal,
    InjectRefused,
    LostMessage,
)
from linkwork.protocol.request_messages import pack_error, pack_notification, pack_response
from linkwork.protocol.request_table import REQUESTS
from linkwork.protocol.requests import params_of, read_params, read_request
from linkwork.protocol.sockets import RequestServer
from linkwork.protocol.telemetry import TELEMETRY_TOPIC, TWIN_TOPIC

ROOM = Path(protocol.__file__).parent
PAGE = (ROOM / "README.md").read_text()


def section(title):
    """The text under a heading, up to the next heading of its level or above."""
    marks = re.search(rf"^(#+) {re.escape(title)}$", PAGE, re.MULTILINE)
    assert marks, title
    rest = PAGE[marks.end() :]
    end = re.search(rf"^#{{1,{len(marks[1])}}} ", rest, re.MULTILINE)
    return rest[: end.start()] if end else rest


@pytest.mark.parametrize(
    ("title", "codes"),
    [
        ("Modes", Mode), ("Status bits", DeviceStatus), ("Device faults", DeviceFault),
        ("Refusals of a hello", RefuseCode), ("Results of goals", ResultCode),
        ("Refusals of a request", RequestCode), ("Refusals of an inject", InjectRefusal),
    ],
)  # fmt: skip
def test_every_code_is_on_the_page(title, codes):
    rows = re.findall(r"^\| (-?\d+) \| ([A-Z_]+) \|", section(title), re.MULTILINE)
    assert {(int(number), name) for number, name in rows} == {(code.value, code.name) for code in codes}


def test_every_method_is_on_the_page_with_its_role_and_parameters():
    rows = {
        row[0]: row
        for row in re.findall(r"^\| `(\w+)` \| (yes)? ?\| (\w+) \|(.*)$", section("Requests"), re.MULTILINE)
    }
    assert set(rows) == set(REQUESTS)
    for name, request in REQUESTS.items():
        _, lease, role, text = rows[name]
        assert role == request.role.word, name
        assert (lease == "yes") == request.needs_lease, name
        for field, about in params_of(name).model_fields.items():
            assert f"`{about.alias or field}`" in text, (name, field)


@pytest.mark.parametrize("model", [Hello, Welcome, Refuse, Bye])
def test_every_field_of_the_rare_messages_is_on_the_page(model):
    title = {Hello: "`hello`: controller → plant", Welcome: "`welcome`: plant → controller",
             Refuse: "`refuse`: plant → controller", Bye: "`bye`: either → the other"}[model]  # fmt: skip
    text = section(title)
    for field in model.model_fields:
        assert f"`{field}`" in text, field


@pytest.mark.parametrize("model", [Inject, Injected, FaultReport, InjectRefused, FaultProblem, LostMessage])
def test_every_field_of_injected_faults_is_on_the_page(model):
    title = (
        "`lost`: in lockstep, either → the other"
        if model is LostMessage
        else "`inject`: client → plant, and its answers"
    )
    text = section(title)
    for field in model.model_fields:
        assert re.search(rf"[`{{ ]{field}[`,}}]", text), field


def test_every_field_of_answers_is_on_the_page():
    text = section("Requests")
    answers = [name for name, kind in vars(results).items() if is_typeddict(kind)]
    assert "StateResult" in answers
    for name in answers:
        for field in getattr(results, name).__annotations__:
            assert re.search(rf"\b{field}\b", text), (name, field)


@pytest.mark.parametrize("name", ["state.bin", "command.bin", "lost.bin"])
def test_the_bytes_on_the_page_are_the_vectors(name):
    data = (ROOM / "vectors" / name).read_bytes()
    blocks = re.findall(rf"`vectors/{re.escape(name)}`, (\d+) bytes\):\n\n```hex\n(.*?)```", PAGE, re.DOTALL)
    assert len(blocks) == 1
    size, block = blocks[0]
    shown = "".join(re.sub(r"\s", "", line[:47]) for line in block.splitlines())
    assert int(size) == len(data)
    assert bytes.fromhex(shown) == data


def test_links_within_the_page_lead_somewhere():
    headings = re.findall(r"^#+ (.+)$", PAGE, re.MULTILINE)
    anchors = {re.sub(r"[^\w\- ]", "", heading.lower()).replace(" ", "-") for heading in headings}
    for target in re.findall(r"\]\(#([^)]+)\)", PAGE):
        assert target in anchors, target


def client_source():
    block = re.search(r"```python\n(.*?)```", section("A client in fifteen lines"), re.DOTALL)
    return block[1]


def test_the_client_has_fifteen_lines():
    assert len([line for line in client_source().splitlines() if line]) == 15


@pytest.fixture
def gateway(tmp_path):
    """Plays the controller's part: goals end after the client has asked for the lease twice."""
    asked, ended = [], threading.Event()

    def serve():
        with RequestServer(f"ipc://{tmp_path}/requests.ipc") as server:
            ready.set()
            while not ended.is_set():
                got = server.receive(20)
                if got is None:
                    continue
                peer, request = got[0], read_request(got[1])
                params = read_params(request.method, request.params)
                asked.append((request.method, getattr(params, "owner", None)))
                if request.method == "move" and "levitate" in params.target:
                    error = RequestError(ResultCode.INVALID_COORDINATES, "no coordinate 'levitate'")
                    server.send(peer, pack_error(request.msgid, error))
                    continue
                server.send(peer, pack_notification("goal.progress", {"goal": 1, "fraction": 0.1}))
                server.send(peer, pack_response(request.msgid, {"goal": 1, "tick": 0, "state": "active"}))
                if request.method == "acquire" and asked.count(("acquire", "me@example")) == 2:
                    result = {"goal": 1, "name": "SUCCESSFUL", "code": 0, "text": "arrived"}
                    server.send(peer, pack_notification("goal.result", result))

    ready = threading.Event()
    thread = threading.Thread(target=serve)
    thread.start()
    assert ready.wait(20)
    yield f"ipc://{tmp_path}/requests.ipc", asked
    ended.set()
    thread.join()


def run(source, endpoint):
    command = [sys.executable, "-c", source, endpoint]
    return subprocess.run(command, capture_output=True, text=True, timeout=60, check=False)


def test_the_client_runs_as_printed(gateway):
    endpoint, asked = gateway
    done = run(client_source(), endpoint)
    assert (done.returncode, done.stdout, done.stderr) == (0, "SUCCESSFUL arrived\n", "")
    methods = [method for method, _ in asked]
    assert methods[:2] == ["enable", "move"]
    assert methods[-2:] == ["disable", "release"]
    assert set(methods[2:-2]) == {"acquire"}
    assert {owner for _, owner in asked} == {"me@example"}


def test_the_client_tells_a_refusal(gateway):
    endpoint, _ = gateway
    done = run(client_source().replace('"elbow"', '"levitate"'), endpoint)
    assert (done.returncode, done.stdout) == (1, "")
    assert "no coordinate 'levitate'" in done.stderr


def test_the_table_of_vectors_names_only_known_kinds():
    rows = json.loads((ROOM / "vectors" / "vectors.json").read_text())
    assert {row["refused"]["as"] for row in rows if "refused" in row} == {
        "state",
        "command",
        "handshake",
        "request",
    }
    assert all(("content" in row) != ("refused" in row) and row["about"] for row in rows)


def test_no_event_has_the_name_of_a_topic_of_samples():
    topics = {TELEMETRY_TOPIC.decode(), TWIN_TOPIC.decode()}
    events = set(re.findall(r"^\| `([a-z_.]+)` \|", section("Goals"), re.MULTILINE))
    assert {"goal.result", "twin.note"} <= events
    assert not topics & events
