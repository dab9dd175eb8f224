"""Telemetry, state and status of the machine, kept current by two threads."""

from __future__ import annotations

import base64
import logging
import math
import threading
import time
from collections.abc import Callable, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, field
from typing import Any, Final

import numpy as np

from linkwork.arrays import Floats
from linkwork.client.connection import find_controller, telemetry_endpoint
from linkwork.client.request_client import RequestClient
from linkwork.console.path_limits import path_limits
from linkwork.console.scene_content import scene_content
from linkwork.console.state_words import channel_units
from linkwork.console.twin_ghost import TwinGhost
from linkwork.display_units import CHOICE, UNITS
from linkwork.drawing.skeleton import BodyFrames
from linkwork.machine.loading import Drawable, drawable
from linkwork.protocol.errors import EndpointError, NobodyThere, ProtocolError, RequestError
from linkwork.protocol.keys import ClientKeys
from linkwork.protocol.sockets import Subscriber
from linkwork.protocol.telemetry import TELEMETRY_TOPIC, TWIN_TOPIC, read_telemetry

FRAME_S: Final = 0.025
"""Between two pictures."""
_POLL_S, _STATUS_S, _RETRY_S, _ANSWER_S = 0.2, 1.0, 0.5, 2.0
_OF_THE_MACHINE: Final = (
    *("newton_iterations", "rank", "branch", "closure_residual", "sigma_closures", "sigma_motors"),
    *("device_status", "device_fault"),
)
"""Single numbers that say something of the machine, not of the controller."""
_SILENT_S: Final = 1.0
"""Time without telemetry after which what is shown counts as old."""
HEADER: Final = 4
"""Numbers before the bodies of a picture: version of the content, number, timestamp (s), number of bodies."""
_TWIN_EVERY_S, _TWIN_FRESH_S = 0.1, 0.5
"""Between two computations of the twin's displacement, and how long a difference counts."""
_log = logging.getLogger(__name__)


@dataclass
class Address:
    """Address of the controller: a machine's name or an endpoint, and keys where it wants them.

    Without either it is the only controller that runs, and remains that one when others are started.
    """

    name: str | None = None
    endpoint: str | None = None
    keys: ClientKeys | None = None

    def client(self) -> RequestClient:
        """Return a new connection. Raises NobodyThere, EndpointError."""
        if self.endpoint is not None:
            return RequestClient(self.endpoint, self.keys)
        found = find_controller(self.name)
        self.name = found.folder.name
        return RequestClient(found.requests, self.keys)


@dataclass(frozen=True, eq=False)
class Content:
    """The machine as `describe` gave it, and what the page draws of it."""

    version: int
    described: Mapping[str, Any]
    scene: Mapping[str, Any]
    frames: BodyFrames
    drawn: Drawable


@dataclass
class Known:
    """The latest answers; None where there is none now. problem: why the machine is not reached."""

    content: Content | None = None
    state: Mapping[str, Any] | None = None
    status: Mapping[str, Any] | None = None
    faults: list[Mapping[str, Any]] = field(default_factory=list)
    sample: Mapping[str, Any] | None = None
    heard_s: float = 0.0
    """When the latest telemetry came, by the monotonic clock."""
    problem: str = "looking for the controller"

    @property
    def telemetry_due(self) -> bool:
        """Whether a controller answers that ought to send telemetry."""
        state = self.state
        return state is not None and not state["time_stands"] and state["state"] != "unconfigured"

    @property
    def has_plant(self) -> bool:
        """Whether a plant is connected."""
        return self.status is not None and bool(self.status["device"]["connected"])

    def silent_s(self) -> float:
        """Return for how long telemetry has been missing, s; 0 where none is due."""
        silent = time.monotonic() - self.heard_s
        return silent if self.telemetry_due and silent > _SILENT_S else 0.0


class MachineFeed:
    """Keeps `known` current and hands pictures on.

    show: called from a thread with the number of a picture and its bytes, at most 40 times a second while
    telemetry comes, or time stands; describe: called with a message when the machine, its channels or the
    active goal change. owner: name whose lease the polling renews, so that the goals of the pages are
    followed to their end; '' renews none.
    """

    def __init__(
        self,
        address: Address,
        show: Callable[[int, bytes], None],
        describe: Callable[[dict[str, Any]], None],
        drawing: PathDrawing,
        owner: str = "",
    ) -> None:
        self.known = Known()
        self._owner = owner
        self._drawing = drawing
        self._path: dict[str, Any] = {"type": "path"}
        self._goal: tuple[int, float] | None = None
        self._twin: Mapping[str, Any] | None = None
        self._twin_model: tuple[Content, TwinGhost] | None = None
        self._twin_heard_s = self._twin_due_s = 0.0
        self._address, self._show, self._describe = address, show, describe
        self._leaving = threading.Event()
        self._channels: list[str] = []
        self._version = self._number = 0
        self._threads = [
            threading.Thread(target=self._poll, name="state", daemon=True),
            threading.Thread(target=self._listen, name="telemetry", daemon=True),
        ]

    def start(self) -> None:
        """Start both threads."""
        for thread in self._threads:
            thread.start()

    def close(self) -> None:
        """End both threads."""
        self._leaving.set()
        for thread in self._threads:
            thread.join(3.0)

    def messages(self) -> list[dict[str, Any]]:
        """Return what a new page gets first: the content, and the path of the active goal."""
        message = self.message()
        return [] if message is None else [message, self._path]

    def message(self) -> dict[str, Any] | None:
        """Return the content as the page gets it, None where no machine is known."""
        content = self.known.content
        if content is None:
            return None
        described = {key: content.described[key] for key in ("machine", "coordinates", "goal_coordinates")}
        return {
            "type": "machine",
            "version": self._version,
            **described,
            "jog": jog_groups(content.described),
            "scene": content.scene,
            "channels": self._channels,
            "units": channel_units(self._channels, content.described),
            "shown": UNITS,
            "choice": CHOICE,
        }

    # Answers.

    def _poll(self) -> None:
        while not self._leaving.is_set():
            try:
                with self._address.client() as client:
                    self._follow(client)
            except (NobodyThere, EndpointError, RequestError, ProtocolError) as error:
                self.known.problem, self.known.state, self.known.status = str(error), None, None
            except Exception:
                _log.exception("reading the state of the machine")
            self._leaving.wait(_RETRY_S)

    def _follow(self, client: RequestClient) -> None:
        """Poll one controller until it does not answer."""
        described: Mapping[str, Any] = client.request("describe", timeout_s=_ANSWER_S)
        self._learn(described)
        self._goal = None
        gateway, due = None, 0.0
        while not self._leaving.is_set():
            if time.monotonic() >= due:
                status = client.request("status", timeout_s=_ANSWER_S)
                if gateway not in (None, status["gateway_pid"]):
                    return  # another controller answers: describe it first
                gateway, self.known.status = status["gateway_pid"], status
                self.known.faults = client.request("faults", {"limit": 20}, _ANSWER_S)["faults"]
                due = time.monotonic() + _STATUS_S
            owner = {"as": self._owner} if self._owner else {}
            state: Mapping[str, Any] = client.request("state", owner, _ANSWER_S)
            self.known.state = state
            self.known.problem = ""
            self._follow_goal(client, state["goal"])
            self._leaving.wait(_POLL_S)

    def _follow_goal(self, client: RequestClient, goal: Mapping[str, Any] | None) -> None:
        """Fetch the path of another active goal, or of one whose time has changed."""
        content = self.known.content
        key = None if goal is None else (goal["goal"], goal["duration_s"])
        if key == self._goal or content is None:
            return
        self._goal, self._path = key, {"type": "path"}
        with suppress(RequestError):  # a controller of an older linkwork
            found: Mapping[str, Any] = {} if key is None else client.request("path", timeout_s=_ANSWER_S)
            if found.get("goal") is not None:
                poses = found["poses"]
                self._path |= {"times": poses["time_s"], **self._drawing.drawn(content, poses["q"])}
                self._path |= path_limits(found.get("timing"), poses["time_s"])
        self._describe(self._path)

    def _learn(self, described: Mapping[str, Any]) -> None:
        known = self.known.content
        if known is not None and known.described["config"] == described["config"]:
            return

        if "file" not in described:
            raise ProtocolError("this controller is of an older linkwork: restart it", "file")
        drawn = drawable(described["file"]["text"])
        scene = scene_content(drawn, dict(described))
        self._version += 1
        self.known.content = Content(self._version, described, scene, BodyFrames(drawn.mechanism), drawn)
        self._announce()

    def _announce(self) -> None:
        message = self.message()
        if message is not None:
            self._describe(message)

    # Pictures.

    def _listen(self) -> None:
        while not self._leaving.is_set():
            status = self.known.status
            if status is None or self.known.content is None:
                self._leaving.wait(FRAME_S)
                continue
            told = status["telemetry"]
            try:
                endpoint = telemetry_endpoint(told, self._address.endpoint or told)
                with Subscriber(endpoint, (TELEMETRY_TOPIC, TWIN_TOPIC), self._address.keys) as subscriber:
                    self._pictures(subscriber, told)
            except (EndpointError, OSError) as error:
                self.known.problem = str(error)
                self._leaving.wait(_RETRY_S)
            except Exception:
                _log.exception("drawing the machine")
                self._leaving.wait(_RETRY_S)

    def _pictures(self, subscriber: Subscriber, told: str) -> None:
        due = time.monotonic()
        while not self._leaving.is_set():
            status = self.known.status
            if status is None or status["telemetry"] != told:
                return
            newest: bytes | None = None
            while (left_s := due - time.monotonic()) > 0.0:
                message = subscriber.receive(max(1, math.ceil(1e3 * left_s)))
                if message is not None and message[0] == TELEMETRY_TOPIC:
                    newest = message[1]
                elif message is not None and message[0] == TWIN_TOPIC:
                    with suppress(ProtocolError):
                        self._twin, self._twin_heard_s = read_telemetry(message[1]), time.monotonic()
            due = max(due + FRAME_S, time.monotonic())
            if newest is not None:
                with suppress(ProtocolError):
                    self.known.sample = read_telemetry(newest)
                    self.known.heard_s = time.monotonic()
            if newest is not None or (self.known.state is not None and not self.known.telemetry_due):
                self._picture()

    def _picture(self) -> None:
        content, sample, state = self.known.content, self.known.sample, self.known.state
        if sample is None and state is not None:  # lockstep time stands: there is no telemetry yet
            sample = {"timestamp": 0.0, "q": state["q"], "coordinate": state["coordinates"]}
        if content is None or sample is None:
            return
        q = np.fromiter(sample["q"].values(), float)
        if len(q) != content.frames.positions or not np.isfinite(q).all():
            return
        names, values = flat(sample)
        if names != self._channels:
            self._channels = names
            self._version += 1
            self._announce()
        self._number += 1
        bodies = content.frames.frames_at(q)
        head = (self._version, self._number, sample["timestamp"], len(bodies))
        ghost = self._ghost(content, q)
        self._show(self._number, np.concatenate([head, bodies.ravel(), values, ghost]).tobytes())

    def _ghost(self, content: Content, q: Floats) -> Floats:
        """Frames of the digital twin's ghost, flat; empty without a twin that compares."""
        twin, now = self._twin, time.monotonic()
        if twin is None or not twin["compared"] or now > self._twin_heard_s + _TWIN_FRESH_S:
            return np.zeros(0)
        if self._twin_model is None or self._twin_model[0] is not content:
            self._twin_model = content, TwinGhost(content.drawn.mechanism, list(twin["motor_effort"]))
        model = self._twin_model[1]
        if now >= self._twin_due_s:
            self._twin_due_s = now + _TWIN_EVERY_S
            model.learn(q, list(twin["motor_effort"].values()))
        return content.frames.frames_at(model.pose(q)).ravel() if model.visible else np.zeros(0)


def flat(sample: Mapping[str, Any]) -> tuple[list[str], Floats]:
    """Return the names (`q/shoulder`, `path_s`) and values (n) of all numbers of a telemetry map.

    Without a plant, values by joint, coordinate, motor or sensor and those of the estimate are not numbers:
    the map has old ones.
    """
    names: list[str] = []
    values: list[float] = []
    known = bool(sample.get("connected", 1))
    for key, value in sample.items():
        if isinstance(value, Mapping):
            for name, each in value.items():
                if isinstance(each, (int, float)):
                    names.append(f"{key}/{name}")
                    values.append(each if known else math.nan)
        elif isinstance(value, (int, float)) and key != "timestamp":
            names.append(key)
            values.append(value if known or key not in _OF_THE_MACHINE else math.nan)
    return names, np.array(values, dtype=np.float64)


class PathDrawing:
    """Forward kinematics of paths, for any thread."""

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._version = 0
        self._frames: BodyFrames | None = None

    def drawn(self, content: Content, poses: Sequence[Sequence[float]]) -> dict[str, Any]:
        """Return `bodies`, their number, and `frames` of all bodies in each pose q (nq; rad or m).

        `frames`: base64 of 32-bit floats, of each body x, y and z axis and origin (m). Empty without poses.
        """
        if not poses:
            return {}
        with self._lock:
            if self._frames is None or self._version != content.version:
                self._frames, self._version = BodyFrames(content.drawn.mechanism), content.version
            frames = [self._frames.frames_at(np.asarray(q, dtype=np.float64)) for q in poses]
        packed = base64.b64encode(np.asarray(frames, dtype="<f4").tobytes()).decode("ascii")
        return {"bodies": len(frames[0]), "frames": packed}


def jog_groups(described: Mapping[str, Any]) -> list[dict[str, Any]]:
    """Return the sets with their names: task coordinates first, joints, or those in which goals are given.

    A jog moves a set that has as many coordinates as the machine has degrees of freedom.
    """
    goals = list(described["goal_coordinates"])
    coordinates = described["coordinates"]
    joints = [each for each in coordinates if each["kind"] == "joint"]
    tasks = [each for each in coordinates if each["kind"] == "task"]
    home = joints if len(joints) == len(goals) else [each for each in coordinates if each["name"] in goals]
    kinds = {each["kind"] for each in home}
    groups = [{"name": "joints" if kinds == {"joint"} else "coordinates", "coordinates": home}]
    if len(tasks) == len(goals) and tasks != home:
        groups.insert(0, {"name": "task", "coordinates": tasks})
    return groups
