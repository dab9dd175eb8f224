"""Answers, events and telemetry compared with the records: what they say was so, and becomes so.

What a message says of a tick is compared when the record of that tick has been read.
"""

import math
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from functools import partial
from typing import Any, Final

import msgpack
import numpy as np
from numpy.typing import NDArray

from linkwork.controller.exchange.records import layout_for
from linkwork.controller.gateway.records.messages import ENDED, UNDER_WAY
from linkwork.controller.supervision.state_machine import State
from linkwork.explore.record_checks import ENABLED, RecordChecks
from linkwork.explore.simulated_links import CLIENTS
from linkwork.machine import Machine
from linkwork.protocol.codes import Mode, RequestCode, ResultCode, Role
from linkwork.protocol.errors import RequestError
from linkwork.protocol.laws import FREE_LAWS, LawKind
from linkwork.protocol.request_table import REQUESTS

ARRIVAL_SLACK: Final = 2e-3
"""Distance from a target (rad or m) beyond twice the goal tolerance at which a move has not arrived."""
TUNED_S: Final = 0.25
"""Time in which new gains are reached."""
REST: Final = 1e-6
"""Speed of a reference (rad/s or m/s) below which it rests."""
ROUND_OFF: Final = 1e-12
MISSED: Final = (ResultCode.PATH_TOLERANCE_VIOLATED, ResultCode.GOAL_TOLERANCE_VIOLATED)
AFTER: Final = {
    "enable": "active", "disable": "inactive fault estop unconfigured", "estop": "estop", "jog": "active",
    "reset": "inactive active stopping fault unconfigured", "law": "active", "stream": "active",
    "recover": "inactive active stopping estop unconfigured",
}  # fmt: skip
"""States of the tick in which a request has taken effect, by method."""
_CONNECTED: Final = "inactive active stopping fault estop"
ALLOWED: Final = {
    "enable": "inactive active", "disable": _CONNECTED, "stop": _CONNECTED, "reset": "estop",
    "estop": f"unconfigured {_CONNECTED}", "recover": "fault",
    **dict.fromkeys(("move", "send", "jog", "law", "stream"), "active"),
}  # fmt: skip
"""States in which a request is not refused for the state, by method."""
_OBSERVED: Final = ("state", "describe", "status", "faults", "edges", "path", "wait", "stop", "estop")
_SERVICED: Final = ("confirm_branch", "preload", "switch", "set_gain", "payload")
_UNLEASED: Final = ("acquire", "release", "check")
"""Requests by the role that they need, and those of operators without a lease."""
_PLAIN_MOVE: Final = {"until_force", "conflict", "at_tick", "rows"}
_PLAIN_PATH: Final = {
    "conflict", "rows", "curve", "force", "guard", "until", "frame", "entry", "keep",
}  # fmt: skip
"""Fields with which a goal may end elsewhere than at the positions that it names."""


@dataclass
class Question:
    """A request under way. `state`: the machine's when it was sent."""

    method: str
    owner: str
    client: bytes
    at_ns: int
    state: str
    params: Mapping[str, Any]

    @property
    def timed(self) -> bool:
        """Whether it is for a tick."""
        return self.params.get("at_tick") is not None

    @property
    def key(self) -> bytes:
        """Key of the client: its name."""
        return self.client.partition(b"-")[0]

    @property
    def role(self) -> Role | None:
        """Role of the client's key."""
        return CLIENTS.get(self.key.decode(), Role.SERVICE)

    @property
    def needs_lease(self) -> bool:
        """Whether it is only for the owner of the lease."""
        return role_for(self.method) > Role.OBSERVE and self.method not in _UNLEASED


def role_for(method: str) -> Role:
    """Return the least role that a request needs; the numbers are those of the protocol's page."""
    if method in _OBSERVED:
        return Role.OBSERVE
    return Role.SERVICE if method in _SERVICED else Role.OPERATE


class Promises:
    """Promises of the answers of a session. `targets`: of goals under way, by their numbers.

    jogged_ns: instant of the latest request to jog. fail: called with the rule and what was seen. quiet:
    whether nothing disturbs the machine.
    """

    def __init__(
        self, machine: Machine, checks: RecordChecks, fail: Callable[[str, str], None], *, quiet: bool
    ) -> None:
        self._machine, self._checks, self._fail, self._quiet = machine, checks, fail, quiet
        self._latest: dict[str, bytes] = {}
        """The latest event of each name."""
        self.targets: dict[int, Mapping[str, float]] = {}
        self.jogged_ns = 0
        self._names = layout_for(machine).names
        self._later: list[tuple[int, Callable[[np.void], None]]] = []
        self._begun: dict[int, float] = {}
        self._errors: dict[int, NDArray[np.float64]] = {}
        """Largest deviations from the references of goals under way, by coordinate."""
        self._angles = np.array([each.is_angle for each in machine.coordinates])
        self._gained: Question | None = None
        self._retuned = False
        """Whether gains change at a tick that is not known."""

    def begin(self) -> None:
        """The records of another loop come next."""
        self.targets.clear()
        self._later.clear()
        self._begun.clear()
        self._errors.clear()

    def follow(self, whole: NDArray[Any]) -> None:
        """Note how far goals are from their references in records; the first one is known."""
        runs = np.isin(whole["goal_status"], UNDER_WAY)
        for goal in set(whole["goal_id"][runs].tolist()):
            rows = whole[runs & (whole["goal_id"] == goal)]
            off = np.abs(rows["reference"] - rows["coordinate"])
            off[:, self._angles] = np.minimum(off, np.abs(2.0 * np.pi - off))[:, self._angles]
            most = np.nan_to_num(off).max(axis=0)
            self._errors[goal] = np.maximum(most, self._errors.get(goal, most))

    def settle(self, newest: int, record_of: Callable[[int], np.void | None]) -> None:
        """Compare what was said of the ticks up to the newest one that has been read."""
        due = [one for one in self._later if one[0] <= newest]
        if not due:
            return
        self._later = [one for one in self._later if one[0] > newest]
        for tick, compare in due:
            record = record_of(tick)
            if record is not None:
                compare(record)

    def accepted(self, question: Question, result: Any) -> None:
        """Note what an answer promises, and what it says of the records."""
        method, params = question.method, question.params
        if not isinstance(result, dict):
            return
        tick = result.get("tick")
        if isinstance(result.get("goal"), int) and method in ("move", "send", "append"):
            self._note_target(method, params, result["goal"])
            if question.timed and tick != params["at_tick"] and method != "append":
                self._fail("timed", f"`{method}` for tick {params['at_tick']} is to begin at tick {tick}")
        if "order" in result and question.timed:
            self._checks.due[result["order"]] = params["at_tick"]
            self._retuned |= method == "set_gain"
        elif isinstance(tick, int) and not question.timed:
            self._later.append((tick, partial(self._compare_answer, question, result)))

    def _note_target(self, method: str, params: Mapping[str, Any], goal: int) -> None:
        if method == "move" and not _PLAIN_MOVE & set(params):
            self.targets[goal] = params["target"]
        path = params.get("trajectory")
        if isinstance(path, dict) and path.get("points") and not _PLAIN_PATH & set(path):
            last = path["points"][-1]
            if "in" not in last and not any("in" in point for point in path["points"]):
                self.targets[goal] = dict(zip(path["coordinates"], last["positions"], strict=False))

    def _compare_answer(self, question: Question, result: Mapping[str, Any], record: np.void) -> None:
        method, name = question.method, State(int(record["state"])).name.lower()
        if "state" in result and result["state"] != name:
            self._told(question, f"state {result['state']}", record, name)
        elif name not in AFTER.get(method, name) and "handed to the loop" not in result.get("text", ""):
            self._fail("told", f"`{method}` was carried out, and the machine is {name}")
        if method == "state":
            self._compare_state(question, result, record)
        elif method == "speed":
            fraction = result.get("fraction", question.params["fraction"])
            self._checks.speeds[int(record["goal_id"])] = fraction if fraction <= 1.0 else None
        elif method == "set_gain" and record["connected"]:
            self._gained = question
            after = int(record["tick"]) + math.ceil(TUNED_S / self._machine.period_s)
            self._later.append((after, partial(self._compare_gains, question)))
        elif method == "law" and ENABLED[record["state"]] and int(record["goal_status"]) not in UNDER_WAY:
            law = LawKind(int(record["law"])).label
            if law != question.params["name"]:
                self._told(question, f"law {question.params['name']}", record, law)

    def _told(self, question: Question, said: str, record: np.void, was: object) -> None:
        self._fail("told", f"`{question.method}` answered {said} for tick {int(record['tick'])}: {was}")

    def _compare_state(self, question: Question, result: Mapping[str, Any], record: np.void) -> None:
        names = self._names
        for key, per in (("q", "position"), ("v", "joint"), ("effort", "motor"), ("closed", "switch")):
            if result[key] != dict(zip(names[per], record[key].tolist(), strict=True)):
                self._told(question, f"{key} {result[key]}", record, record[key])
        values = dict(zip(names["coordinate"], record["coordinate"].tolist(), strict=True))
        for put in ("input", "output"):
            values |= dict(zip(names[put], record[put].tolist(), strict=True))
        for name, value in (*result["coordinates"].items(), *result["signals"].items()):
            if value != values[name] and values[name] == values[name]:
                self._told(question, f"{name} {value}", record, values[name])
        goal = int(record["goal_id"]) if int(record["goal_status"]) in UNDER_WAY else None
        fault, told = int(record["fault"]), result["fault"]
        for said, was in (
            (result["mode"], Mode(int(record["mode"])).name.lower()),
            (result["device_tick"], int(record["device_tick"])),
            (result["time_s"], float(record["time_s"])),
            (result["goal"] and result["goal"]["goal"], goal),
            (told["code"] if told else 0, fault),
        ):
            if said != was:
                self._told(question, repr(said), record, was)

    def _compare_gains(self, question: Question, record: np.void) -> None:
        for key, channel in (("bandwidth_rad_s", "bandwidth"), ("damping_ratio", "damping_ratio")):
            asked = question.params.get(key)
            unlike = asked is not None and not math.isclose(record[channel], asked)
            known = question is self._gained and not self._retuned
            if unlike and known and record["connected"]:
                self._fail("told", f"{channel} is {record[channel]:g} {TUNED_S} s after {asked:g} was set")

    def telemetry(self, content: Mapping[str, Any]) -> None:
        """Compare a message of telemetry, when its tick has been read."""
        self._later.append((content["tick"], partial(self._compare_telemetry, content)))

    def _compare_telemetry(self, content: Mapping[str, Any], record: np.void) -> None:
        for name in record.dtype.names or ():
            said = content.get(name)
            said = list(said.values()) if isinstance(said, dict) else said
            if not np.array_equal(np.asarray(said, float), record[name].astype(float), equal_nan=True):
                self._fail(
                    "told", f"telemetry of tick {content['tick']} has {name} {said}, not {record[name]}"
                )
                return

    def refused(self, question: Question, error: RequestError, held: list[str | None]) -> None:
        """Check that a refusal has its reason. held: owners of the lease while it was under way."""
        method, data = question.method, error.data or {}
        if error.code == RequestCode.NOT_OWNER and data.get("owner") not in (None, *held):
            self._fail("told", f"`{method}` was refused for {data['owner']}, who does not hold the lease")
        known = error.message.startswith(f"`{method}` is not allowed in state")
        if (
            error.code == RequestCode.WRONG_STATE
            and known
            and data.get("state") in ALLOWED.get(method, "").split()
        ):
            self._fail("told", f"`{method}` was refused in state {data['state']}")
        if error.code == RequestCode.NOT_PERMITTED and (question.role or 0) >= role_for(method):
            self._fail("told", f"`{method}` was refused to {question.client.decode()}, who has the role")
        for one in data.get("violations", ()):
            value, limit = one.get("value"), one.get("limit")
            if one["quantity"] == "position" and value is not None and limit is not None:
                at = self._machine.mechanism.coordinate_names.index(one["coordinate"])
                if (
                    limit not in self._machine.coordinates[at].position
                    or one["coordinate"] not in one["text"]
                ):
                    self._fail("told", f"`{method}` was refused for a limit that is none: {one['text']}")
        if error.code == RequestCode.UNKNOWN_METHOD and method in REQUESTS:
            self._fail("told", f"`{method}` is unknown")

    def heard(self, name: str, payload: bytes) -> None:
        """Check that an event comes once, and that nothing fails that nothing disturbs."""
        if self._latest.get(name) == payload:
            self._fail("told", f"`{name}` came twice: {msgpack.unpackb(payload)}")
        self._latest[name] = payload
        if self._quiet and name in ("fault", "goal.result"):
            content = msgpack.unpackb(payload)
            if name == "fault" or content["code"] in MISSED:
                rule = "cause" if name == "fault" else "result"
                self._fail(rule, f"nothing disturbs the machine: {content['text']}")

    def begun(self, content: Mapping[str, Any]) -> None:
        """Note when a goal began. content: of the event `goal.accepted`."""
        self._begun[content["goal"]] = content["time_s"]

    def ended(self, content: Mapping[str, Any]) -> None:
        """Note how a goal ended. content: of the event `goal.result`."""
        begun_s, took_s = self._begun.pop(content["goal"], None), content.get("took_s")
        if begun_s is not None and took_s is not None:
            passed_s = content["time_s"] - begun_s
            if abs(passed_s - took_s) > 2.0 * self._machine.period_s:
                self._fail("result", f"goal {content['goal']} took {took_s:g} s, not {passed_s:g}")
        if content["name"] != ResultCode(content["code"]).name:
            self._fail(
                "result", f"goal {content['goal']} has code {content['code']} and name {content['name']}"
            )
        self._later.append((content["tick"], partial(self._compare_result, content)))

    def _compare_result(self, content: Mapping[str, Any], record: np.void) -> None:
        """Compare a result with the record of its tick. content: of the event `goal.result`."""
        goal, code = content["goal"], content["code"]
        target = self.targets.pop(goal, None)
        errors = dict(zip(self._names["coordinate"], self._errors.pop(goal, []), strict=False))
        for told in content.get("largest_errors", ()):
            value, was = told["value"], errors.get(told["coordinate"], 0.0)
            if not math.isclose(value, was, abs_tol=ROUND_OFF):
                self._fail("result", f"goal {goal}: {told['coordinate']} was {value} off, not {was}")
        if int(record["replaced_goal"]) == goal and int(record["goal_id"]) != goal:
            if int(record["replaced_code"]) != code:
                self._fail("result", f"goal {goal} ended with {code}, not {int(record['replaced_code'])}")
            return
        if int(record["goal_id"]) != goal or int(record["goal_status"]) not in ENDED:
            return  # it has never begun, or its loop has ended
        if int(record["goal_code"]) != code:
            self._fail("result", f"goal {goal} ended with {code}, not {int(record['goal_code'])}")
        braked = int(record["state"]) in (State.FAULT, State.ESTOP)
        if code == ResultCode.FAULT and not braked:
            self._fail("result", f"goal {goal} ended with FAULT, and the machine is not braked")
        speed = np.nan_to_num(np.abs(record["reference_velocity"])).max()
        if ENABLED[record["state"]] and int(record["law"]) not in FREE_LAWS and speed > REST:
            self._fail("result", f"goal {goal} ended while its reference moves at {speed:.3g}")
        value, limit = content["value"], content["limit"]
        if (
            code in (ResultCode.PATH_TOLERANCE_VIOLATED, ResultCode.GOAL_TOLERANCE_VIOLATED)
            and not value > limit
        ):
            self._fail("result", f"goal {goal} ended with {content['name']}: {value} of {limit}")
        if code == ResultCode.SUCCESSFUL and not int(record["until_met"]):
            self._compare_target(goal, target or {}, record)

    def _compare_target(self, goal: int, target: Mapping[str, float], record: np.void) -> None:
        machine = self._machine
        names = machine.mechanism.coordinate_names
        for name, wanted in target.items():
            if name not in names:
                continue  # an alias
            at = names.index(name)
            off = abs(float(record["coordinate"][at]) - wanted)
            if machine.coordinates[at].is_angle:
                off = abs(math.remainder(off, 2.0 * math.pi))
            if off > 2.0 * machine.tolerances[at].goal + ARRIVAL_SLACK:
                self._fail("arrival", f"goal {goal} ended {off:.3g} from the target of {name}")
