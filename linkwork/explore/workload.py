"""Random sessions: what clients ask, which faults the plant has, and which processes are killed, from a seed.

A session is plain data, complete before it runs, so that it can be repeated, shortened and kept in a file.
Three values depend on the machine at the moment of the request: `{"near": [coordinate, offset]}` is a
position beside the present one, `{"ticks": n}` a tick ahead of the newest, and `{"goal": n}` the number of
the n-th newest goal.
"""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from dataclasses import asdict, dataclass, field, replace
from random import Random
from typing import Any, Final

from linkwork.controller.supervision.state_machine import State
from linkwork.explore.arguments import Arguments, names_of
from linkwork.explore.simulated_links import CLIENTS
from linkwork.machine import Machine
from linkwork.protocol.laws import REST_LAW_NAMES
from linkwork.protocol.request_table import REQUESTS

DURATION_S: Final = 5.0
"""Time of a session's steps."""
WATCHES_S: Final = 0.17
"""Time between two requests of a client that watches the machine."""
READY_S: Final = 0.15
"""The processes have started by then."""
OWNERS: Final = ("anna", "ben", "carl")
"""Clients with the rights to move the machine; `CLIENTS` has others."""
TOURS: Final = 5
"""Sessions that together ask each request in each state."""
FLOOD_EVERY: Final = 22
"""Of so many sessions one has many requests in a row: what is kept of each shows as growing memory."""
LEAVING: Final = ("stop", "recover", "reset", "disable", "enable", "estop")
"""Requests that leave a state, asked after the others."""
KINDS: Final = 4
"""Sessions of these many seeds in a row are of as many kinds."""
SHAKES: Final = 10
"""Disturbances of a session that shakes the machine."""
FAULTY: Final = 0.7
"""Share of the sessions with faults of the plant."""
LASTING: Final = (1, 5, 19, 20, 25, 60, 200)
"""Ticks that a fault of the plant lasts: about the limits of losses, and well beyond."""
LONGEST: Final = 1000
"""Ticks that a fault lasts at most where it does not last one of these."""
JOGS: Final = (0.05, 0.5, 1.0, 1.1, 3.0)
"""Speeds of jogs, of the coordinates' velocity limits."""
STREAMED: Final = (0.05, 0.3, 2.0)
"""Sizes of the motion of a stream, rad or m."""
BLOWS: Final = (0, 0, 0, 1, 1, 2)
"""Processes that are killed or suspended in a session."""
MOTIONS: Final = ("move", "send", "jog", "stream", "hold", "stop", "law", "goal", "goal at a tick")
GUIDED: Final = ("goal", "goal", "goal", "goal", "jog", "stream", "law", "gain", "stop")
"""Motions of a machine that nothing disturbs, whose goals run to their ends or are stopped on their ways."""
ON_THE_WAY: Final = (
    "pause",
    "resume",
    "resume",
    "speed",
    "speed",
    "append",
    "move",
    "send",
    "cancel",
    "stop",
)
"""Requests while a goal runs."""
KILLED: Final = ("plant", "loop", "planner", "gateway")
FAULT_KINDS: Final = ("wire", "sensor", "actuator", "mechanism", "signal")
Params = dict[str, Any]


@dataclass(frozen=True)
class Step:
    """One step of a session.

    kind: `ask`, `bytes`, `leave`, `kill`, `start`, `suspend` or `resume`; what: its content.
    """

    at_s: float
    kind: str
    what: Mapping[str, Any]


@dataclass(frozen=True)
class ExploredSession:
    """A session: its steps in time, and the plant's faults (entries of a fault timeline)."""

    seed: int
    steps: tuple[Step, ...]
    faults: tuple[Mapping[str, Any], ...] = ()
    duration_s: float = DURATION_S

    def as_map(self) -> dict[str, Any]:
        """Return plain data."""
        return asdict(self)

    def without(self, places: range) -> ExploredSession:
        """Return the session without some of its steps."""
        return replace(self, steps=tuple(step for at, step in enumerate(self.steps) if at not in places))

    def without_fault(self, fault: Mapping[str, Any]) -> ExploredSession:
        """Return the session without a fault of the plant."""
        return replace(self, faults=tuple(each for each in self.faults if each is not fault))

    def disturbances(self) -> Counter[str]:
        """Count the kinds of faults of the plant, and of what happens to processes."""
        found = Counter(
            f"{step.kind} {step.what['process']}" for step in self.steps if "process" in step.what
        )
        for fault in self.faults:
            found.update(f"{kind} {fault[kind]}" for kind in FAULT_KINDS if kind in fault)
        found += Counter("late request" for step in self.steps if "late_s" in step.what)
        return found

    @classmethod
    def from_map(cls, content: Mapping[str, Any]) -> ExploredSession:
        """Return the session of plain data."""
        steps = tuple(Step(**step) for step in content["steps"])
        return cls(content["seed"], steps, tuple(content["faults"]), content["duration_s"])


@dataclass
class Workload:
    """Makes the sessions of a machine. kills: processes may be killed and suspended. faults: of the plant."""

    machine: Machine
    faults: bool = True
    kills: bool = True
    _random: Random = field(init=False)
    _arguments: Arguments = field(init=False)
    _at_limits: float = field(init=False, default=0.05)
    """Share of the targets that are at a limit, or beyond."""
    _reach: float = field(init=False, default=1.0)
    """Distance of other targets, in those of usual sessions."""

    def session(self, seed: int) -> ExploredSession:
        """Return the session of a seed: a tour through states and requests, one of four kinds."""
        self._random = Random(seed)
        self._at_limits, self._reach = 0.05, 1.0
        self._arguments = Arguments(self._random, names_of(self.machine))
        kind = seed % KINDS
        if kind == 1:
            steps = self._tour(seed // KINDS % TOURS) if (seed + 1) % FLOOD_EVERY else self._flood()
            return ExploredSession(seed, tuple(steps), (), steps[-1].at_s + 0.3)
        if kind == 3:
            return self._guided(seed)
        if self.faults and kind == 0:
            return self._shaken(seed)
        steps = self._operator(OWNERS[0])
        if self._random.random() < 0.6:
            steps += self._operator(self._random.choice(OWNERS))
        for _ in range(self._random.randint(0, 25)):
            steps.append(self._anything(self._random.choice(sorted(CLIENTS))))
        steps += self._watcher()
        for _ in range(self._random.choice(BLOWS) if self.kills else 0):
            steps += self._blow(steps)
        if self._random.random() < 0.1:
            steps.append(Step(self._time(), "leave", {"client": self._random.choice(OWNERS)}))
        faults: tuple[Mapping[str, Any], ...] = ()
        if self.faults and self._random.random() < FAULTY:
            faults = tuple(self._fault(steps) for _ in range(self._random.randint(1, 5)))
        steps = [replace(step, at_s=round(step.at_s, 4)) for step in steps]
        return ExploredSession(seed, tuple(sorted(steps, key=lambda step: step.at_s)), faults)

    def _time(self) -> float:
        return self._random.uniform(READY_S, DURATION_S)

    def _watcher(self) -> list[Step]:
        """A client that shows the state of the machine."""
        times = [READY_S + WATCHES_S * count for count in range(int((DURATION_S - READY_S) / WATCHES_S))]
        return [Step(at_s, "ask", {"client": "dora", "method": "state", "params": {}}) for at_s in times]

    def _guided(self, seed: int) -> ExploredSession:
        """Return a session of one owner that nothing disturbs: what it shows is the machine's own motion."""
        self._reach, self._at_limits = 2.0, self._random.choice((0.0, 0.0, 0.2))
        steps = self._operator(OWNERS[0], 0.0, GUIDED) + self._watcher()
        steps = [replace(step, at_s=round(step.at_s, 4)) for step in steps]
        return ExploredSession(seed, tuple(sorted(steps, key=lambda step: step.at_s)))

    def _shaken(self, seed: int) -> ExploredSession:
        """Return a session of a machine that is kept in motion, while pushes and sensor errors act on it."""
        self._at_limits = self._random.choice((0.05, 0.5))
        loose = self._random.random() < 0.4  # without a reference it is not held where it is pushed from
        steps = self._operator(OWNERS[0], 1.0, ("law", "float", "jog") if loose else MOTIONS)
        steps += self._watcher()
        if self._random.random() < 0.5:
            stiffest = self.machine.controller.bounds_of("bandwidth_rad_s")[1]
            stiff = {"as": OWNERS[0], "bandwidth_rad_s": stiffest}
            steps.insert(
                0, Step(READY_S, "ask", {"client": OWNERS[0], "method": "set_gain", "params": stiff})
            )
        kinds = ("mechanism",) if loose else ("mechanism", "mechanism", "sensor")
        faults = (self._fault(steps, kinds) for _ in range(SHAKES))
        steps = [replace(step, at_s=round(step.at_s, 4)) for step in steps]
        return ExploredSession(seed, tuple(sorted(steps, key=lambda step: step.at_s)), tuple(faults))

    def _operator(self, owner: str, recovers: float = 0.3, motions: Sequence[str] = MOTIONS) -> list[Step]:
        """A client that enables the machine, moves it in several ways, and disables it or forgets to.

        recovers: how often it recovers and enables the machine before a motion, after a fault perhaps.
        """
        random, now = self._random, self._random.uniform(READY_S, 1.0)
        steps = []

        def ask(method: str, params: Params | None = None, pause_s: float = 0.0) -> None:
            nonlocal now
            asked = {"client": owner, "method": method, "params": {"as": owner, **(params or {})}}
            steps.append(Step(now, "ask", asked))
            now += pause_s

        if random.random() < 0.5:
            ask("acquire", {}, 0.01)
        ask("enable", {}, random.uniform(0.05, 0.4))
        while now < DURATION_S - 0.6:
            motion = random.choice(motions)
            if random.random() < recovers:
                ask("recover", {}, 0.05)
                ask("enable", {}, 0.2)
            if motion in ("move", "send"):
                params = self._params(motion)
                if random.random() < 0.2:
                    params = self._arguments.varied(motion, params)
                ask(motion, params, random.uniform(0.05, 1.2))
            elif motion == "jog":
                params = self._params("jog")
                for _ in range(random.randint(1, 12)):
                    ask("jog", params, 0.05)
            elif motion == "stream":
                for params in self._stream():
                    method = "stream" if "coordinates" in params else "set_points"
                    ask(method, params, 0.02)
                ask("finish", {}, 0.1)
            elif motion == "stop":
                ask(random.choice(("stop", "estop", "disable", "cancel")), {}, random.uniform(0.02, 0.6))
                ask(random.choice(("reset", "recover", "enable")), {}, 0.1)
                ask("enable", {}, 0.2)
            elif motion == "goal":
                slow = {"speed": random.choice((0.03, 0.1, 0.5))}
                goal = self._params("move") | slow if random.random() < 0.7 else self._params("send")
                ask("move" if "target" in goal else "send", goal, random.uniform(0.05, 0.4))
                for _ in range(random.randint(1, 3)):
                    method = random.choice(ON_THE_WAY)
                    longest = 0.9 if method in ("pause", "speed") else 0.3  # until the rate is steady
                    over = {"replace": True} if method in ("move", "send") else {}
                    ask(method, self._params(method) | over, random.uniform(0.01, longest))
                if random.random() < 0.3:
                    ask("speed", {"fraction": 1.0}, 1.0)
            elif motion == "goal at a tick":
                ask("move", self._params("move"), 0.05)
                ticks = {"ticks": random.choice((0, 1, 30, 200))}
                ask(random.choice(("stop", "cancel", "pause", "disable")), {"at_tick": ticks}, 0.3)
            elif motion == "float":
                ask("law", {"name": "float"})
                for _ in range(random.randint(1, 6)):
                    ask("acquire", {}, 0.2)
            elif motion in ("law", "gain"):
                method = "law" if motion == "law" else "set_gain"
                ask(method, self._params(method), 0.3)
            else:
                ask("acquire", {}, random.uniform(0.1, 0.5))
        if random.random() < 0.6:
            ask("disable", {})
        return steps

    def _flood(self) -> list[Step]:
        """Some requests of a client, each hundreds of times, while the machine is enabled."""
        random = self._random
        steps = self._operator(OWNERS[0])[:12]
        methods = random.sample(sorted(set(REQUESTS) - set(LEAVING) - {"wait"}), 2)
        for number in range(1800):
            method = methods[number % 2]
            given = self._params(method) if number % 4 < 2 else {}
            what = {"client": OWNERS[1], "method": method, "params": {"as": OWNERS[1], **given}}
            steps.append(Step(round(READY_S + 0.0025 * number, 4), "ask", what))
        return sorted(steps, key=lambda step: step.at_s)

    def _tour(self, number: int) -> list[Step]:
        """One of `TOURS` clients that bring the machine to each state, and ask some requests there."""
        random, now = self._random, READY_S
        steps: list[Step] = []
        every = sorted(REQUESTS, key=lambda method: (method in LEAVING, method))[number::TOURS]

        def ask(method: str, pause_s: float, params: Params | None = None) -> None:
            nonlocal now
            asked = {"client": OWNERS[0], "method": method, "params": {"as": OWNERS[0], **(params or {})}}
            steps.append(Step(round(now, 4), "ask", asked))
            now += pause_s

        def bring(state: State) -> None:
            nonlocal now
            ask("acquire", 0.01, {"force": True})
            ask("reset", 0.02)
            ask("recover", 0.15 if state is State.FAULT else 0.03)
            if state is State.INACTIVE:
                ask("disable", 0.5)
            if state in (State.ACTIVE, State.STOPPING):
                ask("enable", 0.25)
            if state is State.STOPPING:
                jog = self._params("jog")
                for _ in range(4):
                    ask("jog", 0.05, jog)
                ask("disable", 0.008)
            if state is State.ESTOP:
                ask("estop", 0.02)
            if state is State.FAULT:
                ask("enable", 0.25)
                process = {"process": random.choice(("loop", "plant"))}
                steps.append(Step(round(now, 4), "suspend", process))
                limits = self.machine.plant.command_timeout_periods, self.machine.controller.loss_limit
                now += 0.02 + self.machine.period_s * max(limits)
                steps.append(Step(round(now, 4), "resume", process))
                now += 0.02

        if self.kills:
            steps.append(Step(0.01, "kill", {"process": "plant"}))
        states = random.sample([State.INACTIVE, State.ACTIVE, State.STOPPING, State.ESTOP], 4)
        for state in [State.UNCONFIGURED, *states, State.FAULT]:
            if state in (State.UNCONFIGURED, State.FAULT) and not self.kills:
                continue
            for place, method in enumerate(every):
                if state is not State.UNCONFIGURED and (
                    place % 3 == 0 or method in LEAVING or state is State.STOPPING
                ):
                    bring(state)
                params = self._params(method) if random.random() < 0.7 else self._arguments.drawn(method)
                ask(method, 0.005, params)
            if state is State.UNCONFIGURED:
                steps.append(Step(round(now, 4), "start", {"process": "plant"}))
                now += 0.2
        return steps

    def _stream(self) -> list[Params]:
        """A stream and its set-points, near the present position."""
        random = self._random
        names = self.some_names()
        size = random.choice(STREAMED)
        offsets = {name: random.uniform(-size, size) for name in names}
        told: list[Params] = [{"coordinates": names, "rate_hz": random.choice((20.0, 50.0, 100.0))}]
        for number in range(random.randint(1, 30)):
            share = math.sin(0.1 * number)
            near = [{"near": [name, round(offsets[name] * share, 6)]} for name in names]
            told.append({"goal": {"goal": 0}, "points": [[0.02 * number, *near]]})
        return told

    def _anything(self, owner: str) -> Step:
        """Any request with any parameters, or bytes that are none."""
        random, draw = self._random, self._random.random()
        if draw < 0.05:
            data = random.randbytes(random.randint(0, 40))
            return Step(self._time(), "bytes", {"client": owner, "hex": data.hex()})
        method = random.choice(sorted(REQUESTS))
        params: Params = {"as": owner, **self._params(method)}
        if random.random() < 0.3:
            params = self._arguments.varied(method, params)
        elif random.random() < 0.2:
            params |= self._arguments.drawn(method)
        if random.random() < 0.15:
            params["at_tick"] = {"ticks": random.choice((-10, 0, 1, 20, 500, 60_000_000))}
        if random.random() < 0.2:
            params = self._arguments.spoilt(params)
        what: Params = {"client": owner, "method": method, "params": params}
        if random.random() < 0.1:
            what["client"] = random.choice(sorted(CLIENTS))  # with the key of another client
        if random.random() < 0.1:
            what["late_s"] = round(random.uniform(0.0, 0.4), 4)
        return Step(self._time(), "ask", what)

    def some_names(self) -> list[str]:
        """Return names of coordinates."""
        random, machine = self._random, self.machine
        every = machine.mechanism.coordinate_names
        names = [every[index] for index in machine.home_coordinates]
        draw = random.random()
        if draw < 0.3:  # coordinates of points, or any
            joints = set(machine.mechanism.joint_names)
            names = [name for name in every if name not in joints or draw < 0.1] or names
        return random.sample(names, random.randint(1, min(len(names), 3)))

    def _position(self, name: str) -> Any:
        """A position: mostly near the present one, sometimes at a limit or beyond."""
        random = self._random
        limits = self.machine.coordinates[self.machine.mechanism.coordinate_names.index(name)]
        lowest, highest = limits.position
        draw = random.random()
        if draw < self._at_limits and math.isfinite(highest):
            return random.choice((lowest, highest, highest + 0.1))
        scale = self._reach * (0.3 if limits.is_angle else 0.05)
        return {"near": [name, round(random.uniform(-scale, scale), 6)]}

    def trajectory(self) -> Params:
        """Return a trajectory of way-points."""
        random, names = self._random, self.some_names()
        begin_s, points = 0.0, []
        for _ in range(random.randint(1, 4)):
            begin_s += self._reach * random.uniform(0.2, 1.0)
            positions = [self._position(name) for name in names]
            points.append({"time_from_start_s": round(begin_s, 3), "positions": positions})
        return {"coordinates": names, "points": points}

    def _params(self, method: str) -> Params:
        """Parameters of a request that are valid, or nearly."""
        make = _PARAMS.get(method)
        return {} if make is None else make(self)

    @property
    def random(self) -> Random:
        """Source of the random numbers of the session that is being made."""
        return self._random

    def move(self) -> Params:
        """Return the parameters of a move."""
        random = self._random
        params: Params = {"target": {name: self._position(name) for name in self.some_names()}}
        if random.random() < 0.5:
            params["speed"] = round(random.uniform(0.05, 1.0), 3)
        if random.random() < 0.2:
            params["replace"] = True
        return params

    def _blow(self, steps: Sequence[Step]) -> list[Step]:
        """A process is killed, and started again after a while, or suspended for a while.

        Half of the time it happens while a motion is planned or under way.
        """
        random, now = self._random, self._time()
        motions = [step.at_s for step in steps if step.what.get("method") in ("move", "send")]
        if motions and random.random() < 0.5:
            now = random.choice(motions) + random.choice((0.002, 0.01, 0.1, 0.3))
        process, pause_s = random.choice(KILLED), random.choice((0.005, 0.05, 0.3, 1.0))
        ends = random.random() < 0.6
        first = Step(now, "kill" if ends else "suspend", {"process": process})
        if ends and process in ("loop", "planner"):
            return [first]  # the gateway starts another
        return [first, Step(now + pause_s, "start" if ends else "resume", {"process": process})]

    def _size(self, lowest: float, highest: float) -> float:
        """A size between these, of any order of magnitude."""
        return float(f"{math.exp(self._random.uniform(math.log(lowest), math.log(highest))):.4g}")

    def _fault(self, steps: Sequence[Step], chosen: Sequence[str] = ()) -> Params:
        """An entry of a fault timeline, of one of these kinds; half of them begin soon after a step."""
        random, machine = self._random, self.machine
        at_s = random.uniform(0.3, DURATION_S)
        if random.random() < 0.5:
            at_s = random.choice(steps).at_s + self._size(0.005, 1.0)
        lasts = random.choice(LASTING) if random.random() < 0.5 else round(self._size(1.0, LONGEST))
        begins = {"at_s": round(at_s, 3), "for_ticks": lasts}
        sensor, motor = random.choice(machine.sensors), random.choice(machine.motors)
        length = "rad" if machine.joints[sensor.index].is_angle else "m"
        drives = "N_m" if machine.joints[motor.index].is_angle else "N"
        body = random.choice(machine.mechanism.body_names)
        way = {"direction": random.choice(("states", "commands", "both"))}
        by, share = self._size(1e-4, 1.0), random.choice((0.1, 0.5, 1.0))
        force = self._size(5.0, 1000.0)
        push = [round(random.uniform(-force, force), 2) for _ in range(3)]
        choices: dict[str, Sequence[Params]] = {
            "wire": (
                {"wire": "drop", **way, "probability": share},
                {"wire": "delay", **way, "by_ticks": random.randint(1, 5)},
                {"wire": "jitter", **way, "up_to_ticks": random.randint(1, 5)},
                {"wire": "duplicate", **way, "probability": share},
                {"wire": "reorder", **way, "probability": share},
                {"wire": "corrupt", **way, "probability": share},
                {"wire": "disconnect"},
            ),
            "sensor": (
                {"sensor": "bias", f"by_{length}": by},
                {"sensor": "drift", f"rate_{length}_s": by},
                {"sensor": "noise", f"std_{length}": by},
                {"sensor": "quantise", f"step_{length}": by},
                {"sensor": "scale", "factor": random.choice((0.9, 1.001, -1.0))},
                {"sensor": "freeze"},
                {"sensor": "nan"},
            ),
            "actuator": (
                *({"actuator": kind} for kind in ("lose", "reverse", "freeze", "stick")),
                {"actuator": "saturate", f"at_{drives}": round(share * motor.max_effort, 3)},
                {"actuator": "lag", "time_constant_s": by},
                {"actuator": "friction", f"coulomb_{drives}": round(0.2 * share * motor.max_effort, 3)},
            ),
            "mechanism": (
                {"mechanism": "push", "of": body, "force_N": push},
                {
                    "mechanism": "payload",
                    "of": body,
                    "mass_kg": self._size(0.1, 30.0),
                    "at_m": [0.0, 0.0, 0.0],
                },
            ),
        }
        signals = [*machine.inputs, *machine.outputs]
        if signals:
            signal = random.choice(signals)
            kinds = ["stuck", "delay", *(["flicker"] if signal.is_digital else [])]
            more: dict[str, Params] = {"delay": {"by_ticks": 5}, "flicker": {"probability": share}}
            choices["signal"] = [{"signal": kind, "of": signal.name, **more.get(kind, {})} for kind in kinds]
        where = random.choice(chosen or sorted(choices))
        of = {"sensor": {"of": sensor.joint}, "actuator": {"of": motor.joint}}.get(where, {})
        entry: Params = {**random.choice(choices[where]), **of}
        return {**entry, **begins}


def _jog(work: Workload) -> Params:
    velocity = {}
    for name in work.some_names():
        limits = work.machine.coordinates[work.machine.mechanism.coordinate_names.index(name)]
        most = limits.velocity if math.isfinite(limits.velocity) else 0.1
        velocity[name] = round(work.random.choice((-1.0, 1.0)) * work.random.choice(JOGS) * most, 4)
    return {"velocity": velocity}


def _check(work: Workload) -> Params:
    if work.random.random() < 0.5:
        return {"trajectory": work.trajectory()}
    return {"target": work.move()["target"]}


def _signals(work: Workload) -> Params:
    outputs = work.machine.outputs
    if not outputs:
        return {"signals": {"lamp": True}}
    chosen = work.random.choice(outputs)
    return {"signals": {chosen.name: work.random.random() < 0.5 if chosen.is_digital else 0.1}}


_PARAMS: Final[Mapping[str, Callable[[Workload], Params]]] = {
    "move": lambda work: work.move(),
    "send": lambda work: {"trajectory": work.trajectory(), "replace": work.random.random() < 0.3},
    "append": lambda work: {"trajectory": work.trajectory()},
    "check": _check,
    "jog": _jog,
    "speed": lambda work: {"fraction": work.random.choice((0.0, 0.3, 1.0, 1.5, 2.0))},
    "stream": lambda work: {"coordinates": work.some_names(), "rate_hz": 50.0},
    "set_points": lambda _: {"goal": {"goal": 0}, "points": [[0.0, 0.1]]},
    "law": lambda work: {"name": work.random.choice((*REST_LAW_NAMES, "unknown"))},
    "set": _signals,
    "wait": lambda work: {
        "condition": work.random.choice(("moving", "not moving", "nonsense <", "speed > 0.1")),
        "within_s": work.random.choice((0.1, 1.0)),
    },
    "set_gain": lambda work: {"bandwidth_rad_s": work.random.uniform(1.0, 100.0)},
    "preload": lambda work: {"effort": {work.machine.motors[0].joint: 0.1}},
    "payload": lambda _: {"point": "tool", "mass_kg": 0.1},
    "switch": lambda work: {"constraint": (*work.machine.switchable, "nothing")[0], "on": True},
    "acquire": lambda work: {"force": work.random.random() < 0.2},
    "cancel": lambda work: {"goal": {"goal": 0}} if work.random.random() < 0.5 else {},
    "advance": lambda _: {"ticks": 5},
    "edges": lambda work: {"signal": (*(each.name for each in work.machine.inputs), "nothing")[0]},
}
