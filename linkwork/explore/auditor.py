"""Audit of a session: what must hold at every tick and message, checked beside the daemons' own checks.

`RULES` lists the invariants; `docs/states.md` shows them. The auditor reads each record of the loop, each
message to a client and each event. It uses the machine's limits, not the monitors of the controller.
"""

import hashlib
from collections import Counter, deque
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any, Final

import msgpack
import numpy as np
from numpy.typing import NDArray

from linkwork.controller.exchange.shared_memory import Shared
from linkwork.controller.gateway.records.messages import UNDER_WAY, in_motion
from linkwork.controller.supervision.state_machine import State
from linkwork.explore.goal_checks import GoalChecks
from linkwork.explore.lease_checks import LEASE_MARGIN_NS, LeaseChecks
from linkwork.explore.plant_checks import PlantChecks
from linkwork.explore.promises import Promises, Question, role_for
from linkwork.explore.record_checks import RecordChecks
from linkwork.explore.simulated_links import FAR_NS
from linkwork.explore.simulated_time import START_NS
from linkwork.explore.world import World
from linkwork.protocol.codes import RequestCode
from linkwork.protocol.laws import MOTION_LAWS
from linkwork.protocol.request_messages import Notification, Response, read_answer

RULES: Final[Mapping[str, str]] = {
    "process": "no process ends by an exception, and no request finds a defect (INTERNAL)",
    "answer": "each request has one answer while its gateway and its client live",
    "result": "each accepted goal has one result, at rest, as the records say; undisturbed it succeeds",
    "transition": "states change only as the table of transitions says",
    "asked": "a machine is enabled, recovered or reset only after such a request",
    "latched": "a fault stays the first cause until it is cleared",
    "braked": "every tick outside of active and stopping sends `brake`; brakes open and close in their times",
    "effort": "no effort exceeds its motor's limit, hot or not, nor its rate while released; gains ramp",
    "position": "no joint or reference of an enabled machine is beyond its limit, or where it was enabled",
    "velocity": "no joint of an enabled machine exceeds the overspeed allowed, or undisturbed its limit",
    "finite": "estimates, efforts and temperatures are finite",
    "closure": "the residual of the closures stays small while the machine is enabled",
    "loss": "an enabled machine has lost fewer than `loss_limit` states in a row",
    "watchdog": "the plant's watchdog trips after exactly `command_timeout_periods`, and its brakes act",
    "lease": "nothing moves without a lease, or longer than `lease_s` after its owner's last request",
    "owner": "only the owner of the lease has a request carried out that needs it",
    "timed": "a request for a tick takes effect in that tick",
    "reference": "no reference moves faster than its limit, jumps, or moves otherwise than its velocity says",
    "cause": "what must brake the machine does so in its tick; undisturbed, nothing does; faults have causes",
    "arrival": "a move that succeeded has reached its target",
    "told": "answers, events and telemetry say what new records have, each change once, and become true",
    "plant": "estimates, constraints and signals are the plant's, and each command acts after one tick",
    "speed": "a goal that nothing limits has the speed asked for, and none while it is paused",
    "jog": "a jog that is not repeated ends",
    "memory": "nothing that a process holds grows with time or with requests",
    "role": "no request is carried out whose client's key lacks the role, and none refused that has it",
    "reaction": "`estop` brakes, and `stop` ends motion, within 25 ms",
    "end": "a controller that is asked to end brakes, and ends with status 0",
    "log": "the log has every tick and event, once and in order; each fault has its flight record",
    "replay": "the session's records, replayed, are equal to the last bit",
}
"""Invariants by name."""
REACTION_NS: Final = 25_000_000
BATCH: Final = 64
"""Records that are checked at once."""
WATCH_NS: Final = 10_000_000
"""Time between two looks of the auditor at records and processes."""
CAUSE_NS: Final = 13_000_000_000
"""Longest time from a request to the transition that it causes."""
ANSWERED_NS: Final = 150_000_000
"""Longest time from an answer to the check of the record with the transition."""
JOG_NS: Final = 2_000_000_000
"""Longest time from the last request of a jog to rest."""
KEPT_BATCHES: Final = 8
"""Batches of records in which that of an event is sought."""
CALM_NS: Final = 50_000_000
"""Time after which a process that was killed, suspended or started no longer disturbs the others."""
LOGGED: Final = ("state", "fault", "goal.accepted")
"""Events that a log has, each once."""
_ENABLED: Final = (State.ACTIVE, State.STOPPING)


@dataclass(frozen=True)
class BrokenRule:
    """A rule that did not hold: when (s since the begin of the session), and what was seen."""

    rule: str
    at_s: float
    text: str


class Auditor:
    """Watches one world. `violations`: what was found; the first one ends the session.

    quiet: whether nothing disturbs the machine in this session.
    """

    def __init__(self, world: World, *, quiet: bool) -> None:
        self.world = world
        self.checks = RecordChecks(world.machine, self.fail)
        self.violations: list[BrokenRule] = []
        self.reached: Counter[tuple[str, str, str]] = Counter()
        """Answers, by method, state and code."""
        self.latest: np.void | None = None
        self.goals = GoalChecks(self.fail)
        self.lease = LeaseChecks(world, self.fail)
        self.told: list[tuple[str, int]] = []
        """Events of `LOGGED`, each with its tick."""
        self.digest = hashlib.sha256()
        self._shared: Shared | None = None
        self._since = 0
        self._questions: dict[tuple[bytes, int], Question] = {}
        self._answered: set[tuple[bytes, int]] = set()
        self._promises = Promises(world.machine, self.checks, self.fail, quiet=quiet)
        self._plant = PlantChecks(world.machine, self.checks.limits.speed_uncertainty, self.fail)
        self._changes: set[tuple[bytes, int]] = set()
        """Requests under way that change the speed of goals."""
        self._happened: deque[tuple[str, int, int]] = deque()
        """Transitions and faults of the records whose events have not been heard."""
        self._heard: deque[tuple[str, int, int]] = deque()
        """Events, each with its tick and state or fault, whose records have not been read."""
        self._disordered = False
        """Whether a gateway was killed, whose events are lost."""
        self._reactions: list[tuple[int, str, int]] = []
        self._gateway_killed = False
        self._gateway_away_ns = self._moved_ns = 0
        self.records: list[NDArray[Any]] = []
        """Records of each loop, by batches."""
        self.loops = 0
        world.loop_made, world.loop_gone, world.heard = self._loop_made, self._loop_gone, self._event
        world.devices.sent = self._sent

    # What happens.

    @property
    def now_s(self) -> float:
        """Time of the session."""
        return 1e-9 * (self.world.simulation.now_ns - START_NS)

    def fail(self, rule: str, text: str) -> None:
        """Note a violation."""
        self.violations.append(BrokenRule(rule, round(self.now_s, 6), text))

    @property
    def ticks(self) -> int:
        """Number of records read."""
        return sum(map(len, self.records))

    @property
    def state_name(self) -> str:
        """The machine's newest state."""
        self._peek()
        return "unconfigured" if self.latest is None else State(int(self.latest["state"])).name.lower()

    def asked(self, client: bytes, msgid: int, method: str, params: Any) -> None:
        """A request of a client has arrived at the gateway."""
        owner = params.get("as") if isinstance(params, dict) else ""
        owner = owner if isinstance(owner, str) else ""
        now, given = self.world.simulation.now_ns, params if isinstance(params, dict) else {}
        question = Question(method, owner, client, now, self.state_name, given)
        self._questions[client, msgid] = question
        self.checks.asked[method] += 1
        until_ns = FAR_NS if question.timed else now + CAUSE_NS
        self.checks.asked_until_ns[method] = max(until_ns, self.checks.asked_until_ns.get(method, 0))
        if method == "jog":
            self._promises.jogged_ns = now
        self.goals.asked(question)
        self.lease.asked(question)
        if method == "speed":
            self._changes.add((client, msgid))
            self.checks.unsettled |= question.timed
        if question.needs_lease:
            self._moved_ns = now

    def answered(self, client: bytes, data: bytes) -> None:
        """A client has received a message."""
        self._note(client, data)
        message = read_answer(data)
        if isinstance(message, Notification):
            return
        if message.msgid is None:
            return
        key = (client, message.msgid)
        question = self._questions.pop(key, None)
        if question is None:
            what = "twice" if key in self._answered else "without having been asked"
            self.fail("answer", f"request {message.msgid} of {client.decode()} was answered {what}")
            return
        self._answered.add(key)
        alike = any(one.method == question.method for one in self._questions.values())
        if not alike and self.checks.asked_until_ns.get(question.method, 0) < FAR_NS:
            self.checks.asked_until_ns[question.method] = self.world.simulation.now_ns + ANSWERED_NS
        self._changes.discard(key)
        self._judge(question, message)

    def _judge(self, question: Question, message: Response) -> None:
        code = "OK" if message.error is None else message.error.name
        self.reached[question.method, question.state, code] += 1
        if message.error is not None:
            if message.error.code == RequestCode.INTERNAL and "planner ended" not in message.error.message:
                self.fail("process", f"`{question.method}`: {message.error.message}")
            self._promises.refused(question, message.error, self.lease.held(question))
            return
        if question.needs_lease and not self.lease.owned(question):
            self.fail("owner", f"`{question.method}` of {question.owner} was carried out without its lease")
        self._promises.accepted(question, message.result)
        if question.method == "state":
            self._check_age("state", message.result["tick"], question.at_ns)
        self.lease.answered(question, message.result)
        if (question.role or 0) < role_for(question.method):
            self.fail("role", f"`{question.method}` of {question.client.decode()} was carried out")
        if question.method in ("stop", "estop") and not question.timed:
            late_ns = self.world.simulation.now_ns - question.at_ns
            if late_ns > REACTION_NS and self._undisturbed(question.at_ns):
                self.fail("reaction", f"`{question.method}` was answered after {1e-6 * late_ns:.1f} ms")
            self._reactions.append((question.at_ns + REACTION_NS, question.method, self.loops))

    def _check_age(self, what: str, tick: int, since_ns: int) -> None:
        """Check that a message is about a tick of just now."""
        self._peek()
        age_s = (
            0.0 if self.latest is None else (int(self.latest["tick"]) - tick) * self.world.machine.period_s
        )
        if 1e9 * age_s > REACTION_NS and self._undisturbed(since_ns - REACTION_NS):
            self.fail("told", f"`{what}` is of tick {tick}, {1e3 * age_s:.0f} ms ago")

    def _record_of(self, tick: int) -> np.void | None:
        """Return the record of a tick of this loop, if it is among the newest."""
        for table in self.records[: -KEPT_BATCHES - 1 : -1]:
            row = tick - int(table["tick"][0])
            if 0 <= row < len(table):
                found: np.void = table[row]
                return found
        return None

    def _event(self, topic: bytes, payload: bytes) -> None:
        self._note(topic, payload)
        name = topic.decode()
        self._promises.heard(name, payload)
        if name in LOGGED:
            self.told.append((name, msgpack.unpackb(payload)["tick"]))
        if name == "telemetry":
            content = msgpack.unpackb(payload)
            self._check_age(name, content["tick"], self.world.simulation.now_ns)
            self._promises.telemetry(content)
        elif name in ("state", "fault"):
            content = msgpack.unpackb(payload)
            what = int(State[content["state"].upper()]) if name == "state" else content["code"]
            self._heard.append((name, content["tick"], what))
        elif name == "lease":
            self.lease.changed(msgpack.unpackb(payload))
        elif name == "goal.accepted":
            content = msgpack.unpackb(payload)
            self.goals.accepted(content["goal"])
            self._promises.begun(content)
        elif name == "goal.result":
            content = msgpack.unpackb(payload)
            self._promises.ended(content)
            excused = self._disordered or self.world.interrupts.count > 0
            excused_ns = FAR_NS if excused else self._gateway_away_ns
            changed_ns = [at_ns for at_ns, _, _ in self.lease.owners]
            now_ns = self.world.simulation.now_ns
            self.goals.ended(content["goal"], content["code"], now_ns, changed_ns, excused_ns)

    def _note(self, who: bytes, data: bytes) -> None:
        folder = str(self.world.folder).encode()
        self.digest.update(b"%d %s " % (self.world.simulation.now_ns, who) + data.replace(folder, b"."))

    def _sent(self) -> None:
        if self.world.device is not None:
            calm = self.world.simulation.now_ns - self.world.disturbed_ns > CALM_NS
            self._plant.observe(self.world.device, calm=calm)

    # Loops and their records.

    def _loop_made(self, shared: Shared) -> None:
        self._shared, self._since, self.latest = shared, 0, None
        self._promises.begin()
        self.checks.begin()
        self.loops += 1
        if self._gateway_killed:  # one that has adopted no loop counts its goals from 1 again
            self.goals.restart()
            self._gateway_killed = False

    def _loop_gone(self) -> None:
        self.read()
        self._shared = None

    def read(self, least: int = 1) -> None:
        """Check the records that have been written since the last call, from a number of them on."""
        shared = self._shared
        if shared is None:
            return
        if shared.head - self._since < least:
            self._peek()
            return
        words, first, lost = shared.read_records(self._since)
        self._since = first + len(words)
        if lost:
            self.fail("log", f"{lost} records were overwritten before the auditor read them")
        if not len(words):
            return
        self.digest.update(words.tobytes())
        table = words.view(self.world.layout.dtype)[:, 0]
        self.records.append(table)
        self.latest = table[-1]
        self.checks.now_ns = self.world.simulation.now_ns
        self.checks.changing = bool(self._changes)
        whole = self.checks.check(words)
        self.goals.recorded(whole, self.checks.now_ns, self.world.machine.period_s)
        self._plant.check(whole)
        self._promises.follow(whole)
        self._promises.settle(int(self.latest["tick"]), self._record_of)
        self._happened += self.checks.take_happened()
        while self._happened and self._heard and not self._disordered:
            happened, heard = self._happened.popleft(), self._heard.popleft()
            if happened != heard:
                self.fail("told", f"an event says {heard}, where the records have {happened}")

    def _peek(self) -> None:
        """Take the newest record."""
        shared = self._shared
        if shared is not None and shared.head:
            newest, _, _ = shared.read_records(shared.head - 1)
            self.latest = newest.view(self.world.layout.dtype)[0, 0]

    # Looks at the processes.

    def look(self) -> None:
        """Check records and processes; called every `WATCH_NS`."""
        self.read(BATCH)
        world, now = self.world, self.world.simulation.now_ns
        for error in world.failures:
            self.fail("process", f"{type(error).__name__}: {error}")
        world.failures.clear()
        if world.running("gateway") is None:
            self._gateway_away_ns = now
        self.lease.check(self.latest, self._gateway_away_ns)
        self._check_jog(now)
        self._plant.check_watchdog(self.world)
        due = [one for one in self._reactions if one[0] <= now]
        self._reactions = [one for one in self._reactions if one[0] > now]
        for at_ns, method, loops in due:
            self._check_reaction(at_ns, method, loops)

    def _undisturbed(self, since_ns: int) -> bool:
        """Whether gateway, loop and plant have run since an instant."""
        return self.world.disturbed_ns < since_ns and self._gateway_away_ns < since_ns

    def _check_reaction(self, at_ns: int, method: str, loops: int) -> None:
        if loops != self.loops or self.latest is None or not self._undisturbed(at_ns - REACTION_NS):
            return
        state = int(self.latest["state"])
        if method == "estop" and state in _ENABLED and not self._enabled_since(at_ns - REACTION_NS):
            self.fail("reaction", f"{self.state_name} {1e-6 * REACTION_NS:g} ms after `estop`")
        moves = state == State.ACTIVE and in_motion(self.latest)
        if method == "stop" and moves and self._moved_ns < at_ns - REACTION_NS - LEASE_MARGIN_NS:
            self.fail("reaction", f"motion continues {1e-6 * REACTION_NS:g} ms after `stop`")

    def _enabled_since(self, at_ns: int) -> bool:
        later = [one for one in self._questions.values() if one.at_ns >= at_ns]
        return any(one.method == "enable" for one in later)

    def _check_jog(self, now: int) -> None:
        latest = self.latest
        if latest is None or int(latest["law"]) not in MOTION_LAWS or not self._undisturbed(now - JOG_NS):
            return
        moves = int(latest["state"]) == State.ACTIVE and int(latest["goal_status"]) not in UNDER_WAY
        if moves and now - self._promises.jogged_ns > JOG_NS:
            self.fail(
                "jog", f"it continues {1e-9 * (now - self._promises.jogged_ns):.1f} s after the last request"
            )

    # The end.

    @property
    def open(self) -> bool:
        """Whether answers or results are still to come."""
        return bool(self._questions) or bool(self.goals.missing())

    def forget(self, lost: Callable[[Question], bool]) -> None:
        """Forget requests whose gateway or client is gone."""
        self._questions = {key: one for key, one in self._questions.items() if not lost(one)}

    def gateway_killed(self) -> None:
        """Forget what a killed gateway owes: answers and results."""
        self._questions.clear()
        self.goals.forget()
        self.lease.owners.clear()
        self._gateway_killed = self._disordered = True

    def finish(self) -> None:
        """Check what must have come by the end of the session."""
        self.read()
        for question in self._questions.values():
            self.fail("answer", f"`{question.method}` of {question.client.decode()} has no answer")
        for goal in self.goals.missing():
            self.fail("result", f"goal {goal} has no result")
        if self._happened and not self._disordered:
            self.fail("told", f"no event says {self._happened[0]}")
