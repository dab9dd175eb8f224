"""Malformed frames at each socket of a running machine: crashes, state changes and growth of memory.

    python -m benchmarks.malformed [--frames 1000000] [--state FILE] [--only requests,plant,loop,telemetry]

The arm holds its pose under a kept lease meanwhile. The frames are random bytes, values nested too deep,
messages of the protocol with changed bytes or fields, and requests with values that no field takes; what
would be a valid message of a client or of the session is left out. `loop` sends them to the controller
between the states of a live session; the others come from 31 strangers at once. A block has 20,000 frames.
With --state, blocks that the file lists are not repeated, so a run that was interrupted continues. The first
block of each run fills buffers, and memory counts from its end on.
"""

from __future__ import annotations

import argparse
import json
import os
import random
import sys
import tempfile
import time
from collections.abc import Callable, Iterator
from contextlib import ExitStack, suppress
from pathlib import Path
from typing import Any

import msgpack
import zmq

from linkwork import Robot
from linkwork.launch.daemons import Rig
from linkwork.machine import load, shipped_path
from linkwork.protocol.errors import ProtocolError, RequestError
from linkwork.protocol.handshake import read_handshake
from linkwork.protocol.injection import read_lost
from linkwork.protocol.link import StateCodec, read_map
from linkwork.protocol.requests import read_params, read_request
from linkwork.protocol.sockets import Subscriber
from tests.hostile import EVIL
from tests.system.link_proxy import LinkProxy
from tests.system.test_hostile_rig import anonymous_kB, connected, device_frames, flood, requests, upstream

BLOCK = 20_000
PER_STATE = 8
"""Malformed frames behind each state of the plant."""
EVENTS = (b"state", b"fault", b"lease", b"goal")
SOCKETS = ("requests", "plant", "loop", "telemetry")
PATIENT = "  loss_limit: 5000\n  loss_ratio_per_s: 1.0\n  lease_s: 60\n"


def is_request(frame: bytes) -> bool:
    """Whether a client could have meant this frame."""
    try:
        request = read_request(frame)
        read_params(request.method, request.params)
    except RequestError:
        return False
    return True


class SessionFrames:
    """Frames for a controller in the midst of a session, made of its plant's latest state."""

    def __init__(self, seed: int) -> None:
        machine = load("scara")
        self._codec = StateCodec(len(machine.sensors), len(machine.motors), unfit=True)
        self._message = self._codec.message()
        self._dice, self._others = random.Random(seed), device_frames(seed)
        self.sent, self.most = 0, 0

    def __call__(self, state: bytes) -> list[bytes]:
        """The frames behind this state; none once `most` were sent."""
        count = min(PER_STATE, self.most - self.sent)
        found = [frame for frame in (self._frame(state) for _ in range(count)) if not self._means(frame)]
        self.sent += len(found)
        return found

    def _frame(self, state: bytes) -> bytes:
        dice = self._dice
        match dice.randrange(4):
            case 0:
                return state[: dice.randrange(len(state))]
            case 1:
                changed = bytearray(state)
                for _ in range(dice.randrange(1, 6)):
                    changed[dice.randrange(len(state))] = dice.randrange(256)
                return bytes(changed)
            case 2:
                content = msgpack.unpackb(state)
                content[dice.choice(list(content))] = dice.choice(EVIL)
                return bytes(msgpack.packb(content))
            case _:
                return next(self._others)

    def _means(self, frame: bytes) -> bool:
        with suppress(ProtocolError):
            self._codec.unpack(frame, self._message)
            return True
        with suppress(ProtocolError):
            return read_lost(read_map(frame)) is not None or read_handshake(frame) is not None
        return False


class Target:
    """A rig that holds its pose, and what has changed in it since the last look. A context manager."""

    def __init__(self) -> None:
        self._stack = ExitStack()

    def __enter__(self) -> Target:
        with ExitStack() as stack:
            folder = Path(stack.enter_context(tempfile.TemporaryDirectory(prefix="lw-", dir="/tmp")))
            text = (
                shipped_path("scara")
                .read_text()
                .replace("command_timeout_periods: 20", "command_timeout_periods: 5000")
            )
            config = folder / "scara.yaml"
            config.write_text(text + PATIENT)
            front = f"ipc://{folder / 'front.ipc'}"
            self.proxy = stack.enter_context(LinkProxy(front, f"ipc://{folder / 'scara' / 'plant.ipc'}"))
            plant = [str(config), "--realtime", "ignore"]
            self.rig = stack.enter_context(
                Rig("scara", plant, [*plant, "--plant", front, "--no-log"], folder)
            )
            self.rig.wait_ready(lambda _: None)
            self.robot = stack.enter_context(Robot(endpoint=self.rig.requests, owner="bench@linkwork"))
            self.robot.enable()
            self._events = stack.enter_context(Subscriber(self.rig.seat.telemetry, EVENTS))
            time.sleep(0.5)
            self.changes()
            self._before = self._state()
            self._stack = stack.pop_all()
        return self

    def __exit__(self, *error: Any) -> None:
        self._stack.__exit__(*error)

    @property
    def pids(self) -> dict[str, int]:
        """The processes."""
        status = self.robot.status
        found = {name: int(status[f"{name}_pid"] or 0) for name in ("gateway", "loop", "planner")}  # type: ignore[literal-required]
        return {**found, "plant": self.rig.children["plant"].pid}

    def _state(self) -> dict[str, Any]:
        state, status = self.robot.state, self.robot.status
        kept = {key: state[key] for key in ("state", "fault", "goal", "results", "speed") if key in state}
        return {
            **kept,
            "owner": status["lease"]["owner"],
            "describe": self.robot.describe(),
            "pids": self.pids,
        }

    def changes(self) -> list[str]:
        """Events of the machine since the last call, and differences of its state from that at the start."""
        found = []
        while (message := self._events.receive(100)) is not None:
            found.append(f"{message[0].decode()} {msgpack.unpackb(message[1])}")
        before = getattr(self, "_before", None)
        if before is not None:
            now = self._state()
            found += [f"{key}: {before[key]} -> {now[key]}" for key in now if now[key] != before[key]]
        return found


def sender(socket: str, target: Target, context: Any, seed: int) -> Callable[[int, int], None]:
    """Sender of a number of frames to one socket."""
    if socket == "loop":
        frames = SessionFrames(seed)
        target.proxy.extra = frames

        def wait(count: int, _: int) -> None:
            frames.most += count
            until_s = time.monotonic() + 600.0
            while frames.sent < frames.most:
                if time.monotonic() > until_s:
                    raise SystemExit(f"the session stands: {target.robot.status['device']}")
                time.sleep(0.05)

        return wait
    seat = target.rig.seat
    given: dict[str, tuple[str, Iterator[bytes], int]] = {
        "requests": (target.rig.requests, (f for f in requests(seed) if not is_request(f)), zmq.DEALER),
        "plant": (seat.plant, device_frames(seed), zmq.DEALER),
        "telemetry": (seat.telemetry, upstream(seed), zmq.XSUB),
    }
    endpoint, stream, kind = given[socket]
    strangers = connected(context, endpoint, kind)
    return lambda count, part: flood(strangers, stream, count, part)


def run(socket: str, blocks: list[int], keep: Path | None) -> list[dict[str, Any]]:
    """Send these blocks to a socket; what came of each."""
    done = []
    with Target() as target:
        context: zmq.Context[zmq.Socket[bytes]] = zmq.Context()
        try:
            send = sender(socket, target, context, 1000 * SOCKETS.index(socket) + blocks[0])
            send(BLOCK, 0)
            first = {name: anonymous_kB(pid) for name, pid in target.pids.items()}
            for block in blocks:
                begun_s = time.monotonic()
                send(BLOCK, block)
                seconds = time.monotonic() - begun_s
                grown = {name: anonymous_kB(pid) - first[name] for name, pid in target.pids.items()}
                result = {
                    "socket": socket, "block": block, "frames": BLOCK, "changes": target.changes(),
                    "grown_kB": grown, "seconds": round(seconds, 1),
                }  # fmt: skip
                done.append(result)
                if keep is not None:
                    with keep.open("a") as file:
                        file.write(json.dumps(result) + "\n")
                if result["changes"]:
                    print(f"{socket}, block {block}: {result['changes'][:3]}", file=sys.stderr, flush=True)
                    break
        finally:
            target.proxy.extra = None
            context.destroy(linger=0)
    return done


def main() -> None:
    """The command line."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    parser.add_argument("--frames", type=int, default=1_000_000)
    parser.add_argument("--state", type=Path)
    parser.add_argument("--only", default=",".join(SOCKETS))
    parser.add_argument("--json", action="store_true")
    options = parser.parse_args()
    kept = options.state.read_text().splitlines() if options.state and options.state.exists() else []
    results = [json.loads(line) for line in kept]
    for socket in options.only.split(","):
        before = {result["block"] for result in results if result["socket"] == socket}
        blocks = [block for block in range(max(1, options.frames // BLOCK)) if block not in before]
        if blocks:
            results += run(socket, blocks, options.state)
    if options.json:
        print(json.dumps(results, indent=1))
        return
    for socket in options.only.split(","):
        mine = [result for result in results if result["socket"] == socket]
        grown = [max(result["grown_kB"].values()) for result in mine] or [0]
        frames, seconds = (sum(result[key] for result in mine) for key in ("frames", "seconds"))
        print(
            f"{socket:<10}{frames:>9} frames, {sum(len(result['changes']) for result in mine)} changes, "
            f"growth {grown[len(grown) // 2]} kB at half, {grown[-1]} kB at the end, "
            f"{frames / max(seconds, 1e-9):.0f} a second"
        )


if __name__ == "__main__":
    os.environ.setdefault("OPENBLAS_NUM_THREADS", "1")
    main()
