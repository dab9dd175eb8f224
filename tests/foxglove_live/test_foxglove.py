"""Foxglove's websocket beside a running machine: channels, scene, and services that need the lease."""

import asyncio
import json
import math
import socket
import struct
import subprocess
import sys
from contextlib import contextmanager

import numpy as np
import pytest
import websockets
from foxglove.messages import FrameTransforms, SceneUpdate

from linkwork.client.robot import Robot
from linkwork.drawing.skeleton import BodyFrames
from linkwork.foxglove_live.live_channels import _text
from linkwork.foxglove_live.live_scene import LiveScene
from linkwork.launch.daemons import Rig
from linkwork.machine import load
from linkwork.machine.loading import drawable
from linkwork.protocol.errors import RequestError
from tests.command import linkwork
from tests.system.running import patient_five_bar

PROTOCOLS = ["foxglove.sdk.v1", "foxglove.websocket.v1"]


@pytest.fixture(scope="module")
def rig(tmp_path_factory):
    """A five-bar with its plant and controller, which bear a loaded computer."""
    words = [str(patient_five_bar(tmp_path_factory.mktemp("machine"))), "--realtime", "ignore"]
    with Rig("five_bar", words, [*words, "--no-log"]) as found:
        found.wait_ready(lambda _: None)
        yield found


@contextmanager
def served(rig, *words):
    """`linkwork foxglove` beside the machine: its answer."""
    argv = [
        sys.executable,
        "-m",
        "linkwork",
        "foxglove",
        "--endpoint",
        rig.requests,
        "--json",
        "--lifeline",
        *words,
    ]
    process = subprocess.Popen(argv, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True)
    try:
        yield json.loads(process.stdout.readline())
    finally:
        process.stdin.close()
        assert process.wait(60) == 0
        process.stdout.close()


class Viewer:
    """A client of the websocket, which subscribes to everything."""

    def __init__(self, socket):
        self.socket = socket
        self.topics, self.services, self.schemas = {}, {}, {}
        self.calls = 0

    async def next(self):
        """Return (topic, payload) of a message, or ("", text) of another."""
        while True:
            found = await asyncio.wait_for(self.socket.recv(), 60)
            if isinstance(found, bytes):
                if found[0] == 1:
                    return self.topics[struct.unpack("<I", found[1:5])[0]], found[13:]
                return "", found
            content = json.loads(found)
            if content["op"] == "advertise":
                new = {each["id"]: each["topic"] for each in content["channels"]}
                self.topics |= new
                self.schemas |= {each["topic"]: each for each in content["channels"]}
                ids = [{"id": each, "channelId": each} for each in new]
                await self.socket.send(json.dumps({"op": "subscribe", "subscriptions": ids}))
            elif content["op"] == "advertiseServices":
                self.services |= {each["name"]: each["id"] for each in content["services"]}
            elif content["op"] == "serviceCallFailure":
                return "", content

    async def until(self, topic, wanted=lambda _: True):
        """Return the first message of a topic that is wanted."""
        while True:
            found, payload = await self.next()
            if found == topic and wanted(payload):
                return payload

    async def call(self, name, **arguments):
        """Return a service's answer; a text where it was refused."""
        while name not in self.services:
            await self.next()
        self.calls += 1
        payload = json.dumps(arguments).encode()
        await self.socket.send(
            struct.pack("<BIII", 2, self.services[name], self.calls, 4) + b"json" + payload
        )
        while True:
            topic, found = await self.next()
            if topic == "" and isinstance(found, dict):
                return found["message"]
            if topic == "" and found[0] == 3:
                return json.loads(found[17:])


def viewing(address, work):
    """Run a coroutine function of a viewer."""

    async def run():
        async with websockets.connect(address, subprotocols=PROTOCOLS, max_size=None) as connected:
            return await work(Viewer(connected))

    return asyncio.run(run())


@pytest.mark.slow
def test_telemetry_events_and_the_scene_arrive(rig):
    async def look(viewer):
        tick = await viewer.until("tick")
        transforms = await viewer.until("tf")
        scene = await viewer.until("scene", lambda payload: b"left_forearm" in payload)
        return json.loads(tick), transforms, scene, viewer.schemas

    with served(rig) as answer:
        assert answer["address"].startswith("ws://127.0.0.1:")
        tick, transforms, scene, schemas = viewing(answer["address"], look)

        async def event(viewer):
            await viewer.until("tick")
            with Robot(endpoint=rig.requests) as robot:
                await asyncio.to_thread(robot.enable)
                found = await viewer.until("events", lambda payload: b"active" in payload)
                await asyncio.to_thread(robot.disable)
            return json.loads(found)

        assert viewing(answer["address"], event)["event"]
    with Robot(endpoint=rig.requests, lease=False) as robot:
        state = robot.state
        text = robot.describe()["file"]["text"]
    assert tick["q"] == pytest.approx(state["q"], abs=1e-12)
    assert (schemas["tick"]["encoding"], schemas["tf"]["schemaName"]) == ("json", "foxglove.FrameTransforms")
    assert schemas["scene"]["schemaName"] == "foxglove.SceneUpdate"
    live = LiveScene(drawable(text))
    assert scene == live.content().encode()
    assert len(transforms) > 100
    assert list(json.loads(schemas["tick"]["schema"])["properties"]["q"]["properties"]) == list(state["q"])


def test_frames_are_those_of_the_bodies():
    machine = load("platform_3rrs")
    frames = BodyFrames(machine.mechanism).frames_at(machine.initial_q)
    live = LiveScene(drawable(machine.source_text))
    from_live = repr(live.transforms(machine.initial_q, None))
    for body, frame in zip(machine.mechanism.body_names, frames, strict=True):
        assert f'"{body}"' in from_live
        assert np.linalg.det(frame[:3]) == pytest.approx(1.0)
    assert isinstance(live.transforms(machine.initial_q, None), FrameTransforms)
    assert isinstance(live.content(), SceneUpdate)


def test_without_the_token_and_the_lease_it_is_read_only(rig):
    async def operate(viewer, token):
        assert "read-only: call `acquire`" in await viewer.call("enable")
        assert "the token is not the one" in await viewer.call("acquire", token="guess")
        assert "read-only: call `acquire`" in await viewer.call("move", target={"left": 2.0})
        assert (await viewer.call("acquire", token=token))["lease"] == "held"

        def another():
            with (
                pytest.raises(RequestError, match="foxglove"),
                Robot(endpoint=rig.requests, owner="other") as robot,
            ):
                robot.enable()

        await asyncio.to_thread(another)
        await viewer.call("enable")
        assert (await viewer.call("move", target={"left": 2.0}))["goal"] > 0
        result = json.loads(await viewer.until("events", lambda payload: b"goal.result" in payload))
        assert result["name"] == "SUCCESSFUL"
        assert json.loads(await viewer.until("tick"))["q"]["left"] == pytest.approx(2.0, abs=0.01)
        refused = await viewer.call("move", target={"elbow": 2.0})
        assert "elbow" in refused
        await viewer.call("disable")
        assert (await viewer.call("release"))["lease"] == "released"
        assert "read-only: call `acquire`" in await viewer.call("enable")

    with served(rig, "--operate") as answer:
        viewing(answer["address"], lambda viewer: operate(viewer, answer["token"]))


def test_services_are_offered_only_where_asked_for(rig):
    async def look(viewer):
        await viewer.until("tick")
        return viewer.services

    with served(rig) as answer:
        assert viewing(answer["address"], look) == {}


def test_ports_and_addresses_that_do_not_suit_are_refused():
    with socket.create_server(("127.0.0.1", 0)) as taken:
        port = taken.getsockname()[1]
        done = linkwork("foxglove", "--port", str(port))
    assert done.returncode != 0
    assert f"cannot be served at 127.0.0.1:{port}" in " ".join(done.stderr.split())
    done = linkwork("foxglove", "--host", "0.0.0.0", "--operate")
    assert (done.returncode, "--operate is for loopback" in done.stderr) == (2, True)


def test_numbers_that_are_not_finite_become_null():
    given = {"a": math.nan, "b": {"c": [math.inf, 1.0]}, "d": b"\x01", "e": True}
    assert json.loads(_text(given), parse_constant=pytest.fail) == {
        "a": None,
        "b": {"c": [None, 1.0]},
        "d": "01",
        "e": True,
    }
