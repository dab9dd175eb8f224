"""One session: a world, its clients and its auditor, from the first step to the replay of the log."""

from __future__ import annotations

import gc
import shutil
import tempfile
from collections import Counter
from collections.abc import Mapping
from contextlib import suppress
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import Any, Final

import numpy as np

from linkwork.controller.configuration import configured
from linkwork.controller.gateway.records.flight_record import MOST_PENDING
from linkwork.explore.auditor import LOGGED, WATCH_NS, Auditor, BrokenRule
from linkwork.explore.held_memory import grown, held_containers
from linkwork.explore.simulated_time import START_NS
from linkwork.explore.workload import ExploredSession, Step
from linkwork.explore.world import Scenery, World
from linkwork.machine import Machine, MachineError, load
from linkwork.machine.yaml_document import Document
from linkwork.plant.faults.pushes import pushable
from linkwork.plant.faults.timeline import TimeLine, check_timeline
from linkwork.protocol.request_messages import pack_request
from linkwork.recordings.recording import NoRecording, read_recording
from linkwork.recordings.replay import replay

ANSWERS_WITHIN_S: Final = 12.0
"""Longest wait at the end for answers and results."""
ENDS_WITHIN_S: Final = 20.0
"""Longest wait for the end of a controller that has been asked to end."""
CLIENT_NS: Final = 80_000
"""Time that a request takes."""
WEIGHED_AT: Final = 0.4
"""Share of a session's time after which memory is weighed first."""
SHARED: Final = Path("/dev/shm")


@dataclass(frozen=True)
class Explored:
    """A machine, as controller and plant have it."""

    machine: Machine
    plant_machine: Machine

    @classmethod
    def of(cls, config: str) -> Explored:
        """Return the machine of a file or a name. Raises MachineError."""
        return cls(configured(config), pushable(load(config)))


@dataclass(frozen=True)
class SessionResult:
    """Result of a session. digest: SHA-256 of all records and messages.

    reached: answers, by method, state and code. seen: transitions and faults.
    """

    session: ExploredSession
    violations: tuple[BrokenRule, ...]
    digest: str
    ticks: int
    reached: Counter[tuple[str, str, str]]
    seen: Counter[str]


def run_session(explored: Explored, session: ExploredSession, *, replays: bool = True) -> SessionResult:
    """Run a session up to its end, or to the first violation. replays: whether the log is replayed."""
    parent = SHARED if SHARED.is_dir() else None
    folder = Path(tempfile.mkdtemp(prefix="explore-", dir=parent))
    collects = gc.isenabled()
    gc.disable()  # looking for cycles under way takes an eighth of the time
    try:
        return _Run(explored, session, folder).run(replays=replays)
    finally:
        shutil.rmtree(folder, ignore_errors=True)
        if collects:
            gc.enable()


class _Run:
    """A session that runs."""

    def __init__(self, explored: Explored, session: ExploredSession, folder: Path) -> None:
        self._session = session
        line = _time_line(explored, session)
        self._world = world = World(
            explored.machine, Scenery(explored.plant_machine, session.seed, line), folder
        )
        self._auditor = Auditor(world, quiet=not session.disturbances())
        self._numbers: Counter[bytes] = Counter()
        self._killed = False
        self._peers: dict[str, bytes] = {}
        self._joined = 0

    def run(self, *, replays: bool) -> SessionResult:
        """Run it; call it once."""
        world, auditor, session = self._world, self._auditor, self._session
        world.start_plant()
        world.start_gateway()
        for step in session.steps:
            world.simulation.at(START_NS + round(1e9 * step.at_s), partial(self._step, step))
        try:
            begun = self._advance(WEIGHED_AT * session.duration_s)
            held = self._weigh()
            rest_s = (1.0 - WEIGHED_AT) * session.duration_s
            if (
                begun
                and self._advance(rest_s)
                and self._fits(held)
                and self._settle()
                and self._end()
                and replays
            ):
                self._replay()
        finally:
            world.close()
        return SessionResult(
            session,
            tuple(auditor.violations),
            auditor.digest.hexdigest(),
            auditor.ticks,
            auditor.reached,
            auditor.checks.seen,
        )

    def _advance(self, seconds: float) -> bool:
        """Let time pass; return whether all rules have held."""
        world, auditor = self._world, self._auditor
        end_ns = world.simulation.now_ns + round(1e9 * seconds)
        while world.simulation.now_ns < end_ns and not auditor.violations:
            world.simulation.run_until(min(end_ns, world.simulation.now_ns + WATCH_NS))
            auditor.look()
        return not auditor.violations

    def _weigh(self) -> dict[int, tuple[Any, int]]:
        """Return what the processes hold."""
        world = self._world
        return held_containers(world.service, world.loop, world.device)

    def _fits(self, before: dict[int, tuple[Any, int]]) -> bool:
        """Whether the processes hold about as much as before."""
        for text in grown(before, self._weigh()):
            self._auditor.fail("memory", text)
        return not self._auditor.violations

    def _settle(self) -> bool:
        """Wait for what is still to come."""
        auditor, waited_s = self._auditor, 0.0
        for process in self._world.processes.values():
            process.resume()
        while auditor.open and waited_s < ANSWERS_WITHIN_S:
            if not self._advance(0.25):
                return False
            waited_s += 0.25
        auditor.finish()
        return not auditor.violations

    def _end(self) -> bool:
        """Ask the controller to end; it brakes and leaves."""
        world, auditor = self._world, self._auditor
        if not world.alive("gateway"):
            return True
        gateway = world.processes["gateway"]
        world.interrupts.count += 1
        waited_s = 0.0
        while gateway.alive and waited_s < ENDS_WITHIN_S:
            if not self._advance(0.1):
                return False
            waited_s += 0.1
        if gateway.status != 0 or world.alive("loop"):
            auditor.fail("end", f"the controller has not ended with status 0: {gateway.status}")
        return not auditor.violations

    def _replay(self) -> None:
        """Read the log and replay it; look for the other files that a controller keeps."""
        world, auditor = self._world, self._auditor
        if self._killed or not auditor.ticks:
            return
        kept, logs = world.folder / "temperatures.json", sorted((world.folder / "logs").glob("*-0000.mcap"))
        heated = any(motor.thermal_time_s is not None for motor in world.machine.motors)
        if not logs or (heated and not kept.exists()):
            auditor.fail("log", "no log was written" if not logs else f"{kept.name} was not written")
            return
        try:
            recording = read_recording(logs[0])
        except NoRecording as error:
            auditor.fail("log", str(error))
            return
        written = np.concatenate([table["tick"] for table in auditor.records])
        if not np.array_equal(recording.table["tick"], written):
            auditor.fail("log", f"{len(recording.table)} ticks were logged of {len(written)}")
            return
        logged = [(e["event"], e["tick"]) for e in recording.events if e["event"] in LOGGED]
        if sorted(logged) != sorted(auditor.told):
            unlike = set(logged) ^ set(auditor.told)
            auditor.fail("log", f"of events and the log one alone has {sorted(unlike)[:1]}")
        faults = {tick for name, tick in auditor.told if name == "fault"}
        missing = [tick for tick in faults if not list(logs[0].parent.glob(f"*-flight-{tick}.mcap"))]
        if missing and len(faults) <= MOST_PENDING:
            auditor.fail("log", f"the fault at tick {missing[0]} has no flight record")
        found = replay(recording, world.machine)
        if found.difference is not None or found.ended:
            auditor.fail("replay", str(found.difference or found.ended))

    # Steps.

    def _step(self, step: Step) -> None:
        what, world = step.what, self._world
        match step.kind:
            case "ask":
                self._ask(what)
            case "bytes":
                peer = self._peer(what["client"])
                world.requests.ask(peer, bytes.fromhex(what["hex"]), CLIENT_NS, lambda: None)
            case "leave":
                peer = self._peers.pop(what["client"], b"")
                world.requests.leave(peer)
                self._auditor.forget(lambda one: one.client == peer)
            case "start":
                self._start(what["process"])
            case _:
                self._blow(step.kind, what["process"])

    def _peer(self, client: str) -> bytes:
        if client not in self._peers:
            self._joined += 1
            peer = self._peers[client] = f"{client}-{self._joined}".encode()
            self._world.requests.clients[peer] = partial(self._auditor.answered, peer)
        return self._peers[client]

    def _ask(self, what: Mapping[str, Any]) -> None:
        peer, method = self._peer(what["client"]), what["method"]
        params = self._resolved(what["params"])
        self._numbers[peer] += 1
        number = self._numbers[peer]
        with suppress(OverflowError, ValueError):  # of numbers that MessagePack does not have
            message = pack_request(number, method, params)
            delay_ns = CLIENT_NS + round(1e9 * what.get("late_s", 0.0))
            arrived = partial(self._auditor.asked, peer, number, method, params)
            self._world.requests.ask(peer, message, delay_ns, arrived)

    def _resolved(self, value: Any) -> Any:
        """Replace what depends on the present state of the machine."""
        match value:
            case {"near": [str() as name, offset]} if len(value) == 1:
                return self._position(name) + offset
            case {"ticks": int() as ahead} if len(value) == 1:
                latest = self._auditor.latest
                return max(0, ahead + (0 if latest is None else int(latest["tick"])))
            case {"goal": int() as back} if len(value) == 1:
                goals = self._auditor.goals.numbers
                return goals[-1 - back] if 0 <= back < len(goals) else 1
            case {"goal": {"goal": int() as back}, **others}:
                return {"goal": self._resolved({"goal": back}), **self._resolved(others)}
            case dict():
                return {key: self._resolved(each) for key, each in value.items()}
            case list() | tuple():
                return [self._resolved(each) for each in value]
        return value

    def _position(self, name: str) -> float:
        latest, names = self._auditor.latest, self._world.machine.mechanism.coordinate_names
        return 0.0 if latest is None else float(latest["coordinate"][names.index(name)])

    def _blow(self, kind: str, name: str) -> None:
        world = self._world
        if not world.alive(name):
            return
        process = world.processes[name]
        world.disturbed_ns = world.simulation.now_ns
        if kind == "kill":
            process.kill()
            if name == "gateway":
                self._killed = True
                world.processes["planner"].kill()  # its pipe has closed
                self._auditor.gateway_killed()
        elif kind == "suspend":
            process.suspend()
        else:
            process.resume()

    def _start(self, name: str) -> None:
        world = self._world
        world.disturbed_ns = world.simulation.now_ns
        if name == "plant":
            world.start_plant()
        elif name == "gateway":
            world.start_gateway()


def _time_line(explored: Explored, session: ExploredSession) -> TimeLine | None:
    """The faults of a session that its machine can have."""
    if not session.faults:
        return None
    data = {"seed": session.seed % 2**32, "faults": [dict(fault) for fault in session.faults]}
    try:
        return check_timeline(Document("faults", "", data, {}, {}), explored.plant_machine, hardware=False)
    except MachineError:
        return None
