"""Sessions of the simulated service: they repeat to the bit, hold all rules, and find what breaks one."""

from __future__ import annotations

import json
import math
import os
import subprocess
import sys
from collections import deque
from collections.abc import Iterator
from contextlib import suppress
from dataclasses import replace
from pathlib import Path
from random import Random
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from linkwork.arrays import Floats
from linkwork.controller.gateway.gateway import Gateway
from linkwork.controller.gateway.records.broadcast import Broadcast
from linkwork.controller.gateway.records.path_reports import PathReports
from linkwork.controller.gateway.requests import state_answers
from linkwork.controller.gateway.requests.call import Call
from linkwork.controller.gateway.requests.lease import Lease
from linkwork.controller.motion.motion_executor import MotionExecutor
from linkwork.controller.motion.references.reference import Follow
from linkwork.controller.motion.streams.jogging import Jog
from linkwork.controller.supervision import live_tuning
from linkwork.controller.supervision.brakes import BrakeSequence
from linkwork.controller.supervision.pending_orders import PendingOrders
from linkwork.controller.supervision.state_machine import State
from linkwork.explore.arguments import Arguments, schema_of
from linkwork.explore.auditor import RULES
from linkwork.explore.exploration import explore, keep_place, next_seed, shrink
from linkwork.explore.held_memory import grown, held_containers
from linkwork.explore.session_run import Explored, run_session
from linkwork.explore.simulated_links import DeviceNetwork, SimulatedControllerEnd
from linkwork.explore.simulated_time import Inlet, SimulatedClock, SimulatedProcess, SimulatedTime
from linkwork.explore.workload import LEAVING, TOURS, ExploredSession, Step, Workload
from linkwork.machine.yaml_document import Document
from linkwork.plant.device.watchdog import Watchdog
from linkwork.plant.faults.faulty_machinery import FaultyMachinery
from linkwork.plant.faults.timeline import check_timeline
from linkwork.protocol.errors import RequestError
from linkwork.protocol.request_table import REQUESTS
from linkwork.protocol.requests import check_params
from linkwork.timing.statistics import Histogram
from tests.command import linkwork

ROOT = Path(__file__).parents[2]
SESSIONS = Path(__file__).parent / "sessions"
MOVE = {
    "client": "anna",
    "method": "move",
    "params": {"as": "anna", "target": {"shoulder": {"near": ["shoulder", 0.2]}}},
}
ENABLE = {"client": "anna", "method": "enable", "params": {"as": "anna"}}
ANNA = {"client": "anna", "method": "acquire", "params": {"as": "anna"}}


@pytest.fixture(scope="module")
def scara() -> Explored:
    return Explored.of("scara")


def moving(*steps: Step, duration_s: float = 1.5) -> ExploredSession:
    """A session in which the machine is enabled and moved."""
    return ExploredSession(7, (Step(0.2, "ask", ENABLE), Step(0.5, "ask", MOVE), *steps), (), duration_s)


def test_a_process_waits_for_a_message_or_an_instant() -> None:
    time, told = SimulatedTime(), list[tuple[int, object]]()
    clock, inlet = SimulatedClock(time), Inlet(time)
    begin = time.now_ns

    def main() -> int:
        while len(told) < 3:
            inlet.await_until(clock.now_ns() + 1000)
            told.append((clock.now_ns() - begin, inlet.messages.popleft() if inlet.messages else None))
        clock.sleep_until_ns(begin + 10_000)
        return 5

    process = SimulatedProcess(time, 1, main, lambda: told.append((time.now_ns - begin, "ended")))
    time.at(begin + 400, lambda: inlet.put("a"))
    time.at(begin + 1500, lambda: inlet.put("while it sleeps"))
    time.at(begin + 3000, lambda: inlet.put("while it sleeps, too"))
    time.run_until(begin + 20_000)
    assert told == [(400, "a"), (1400, None), (1500, "while it sleeps"), (10_000, "ended")]
    assert (process.status, process.alive) == (5, False)


def test_a_controllers_end_waits_for_a_message_a_descriptor_or_an_instant() -> None:
    time, told = SimulatedTime(), list[tuple[int, bool]]()
    end, begin = SimulatedControllerEnd(DeviceNetwork(time)), time.now_ns
    reader, writer = os.pipe()

    def main() -> None:
        for timeout_ms in (2.5, 10.0, 10.0):
            found = end.wait_beside(reader, timeout_ms)
            told.append(((time.now_ns - begin) // 100_000, found))
            end.inlet.messages.clear()

    SimulatedProcess(time, 1, main, lambda: None)
    time.at(begin + 4_000_000, lambda: end.inlet.put(b"state"))
    time.at(begin + 6_900_000, lambda: os.write(writer, b"order"))
    try:
        time.run_until(begin + 20_000_000)
    finally:
        os.close(reader)
        os.close(writer)
    assert told == [(25, False), (40, False), (70, True)]


def test_a_suspended_process_runs_on_where_it_stood_and_a_killed_one_does_not() -> None:
    time, told = SimulatedTime(), list[int]()
    clock, begin = SimulatedClock(time), time.now_ns

    def main() -> Iterator[None] | None:
        while True:
            clock.sleep_until_ns(clock.now_ns() + 100)
            told.append(clock.now_ns() - begin)

    process = SimulatedProcess(time, 1, main, lambda: told.append(-1))
    time.at(begin + 150, process.suspend)
    time.at(begin + 450, process.resume)
    time.at(begin + 600, process.kill)
    time.run_until(begin + 2000)
    assert told == [100, 450, 550, -1]


def test_random_sessions_hold_all_rules_and_reach_states_and_refusals(scara: Explored) -> None:
    found = explore(scara, [2, 3])
    assert found.failures == {}
    assert found.sessions == 2
    assert {"inactive → active", "active → stopping"} <= set(found.seen)
    codes = {code for _, _, code in found.reached}
    assert {"OK", "WRONG_STATE", "INVALID_PARAMS"} <= codes
    told = json.loads(json.dumps(found.as_map()))
    coverage = told["coverage"]
    assert coverage["requests_in_states"] + len(coverage["never"]) == coverage["of"]


def test_a_tour_asks_its_requests_in_every_state_and_roles_refuse_some(scara: Explored) -> None:
    found = explore(scara, [1])
    assert found.failures == {}
    states = {state for _, state, _ in found.reached}
    assert states == {state.name.lower() for state in State}
    reached = {(method, state) for method, state, _ in found.reached}
    toured = {method for method, state in reached if state == "unconfigured"}
    assert toured >= set(sorted(REQUESTS, key=lambda method: (method in LEAVING, method))[::TOURS])
    watching = {"client": "dora", "method": "enable", "params": {"as": "dora"}}
    outcome = run_session(scara, ExploredSession(7, (Step(0.2, "ask", watching),), (), 0.4))
    assert outcome.violations == ()
    assert outcome.reached["enable", "inactive", "NOT_PERMITTED"] == 1


@pytest.mark.parametrize("machine", ["scara", "five_bar", "delta_gripper"])
def test_faults_of_sessions_are_faults_that_the_machine_can_have(machine: str) -> None:
    explored = Explored.of(machine)
    work = Workload(explored.machine)
    faults = [dict(fault) for seed in range(0, 60, 2) for fault in work.session(seed).faults]
    assert len(faults) > 50
    check_timeline(Document("faults", "", {"faults": faults}, {}, {}), explored.plant_machine, hardware=False)


@given(st.randoms(use_true_random=False), st.sampled_from(sorted(REQUESTS)))
def test_drawn_parameters_fit_the_schema_or_are_refused_as_such(random: Random, method: str) -> None:
    arguments = Arguments(random, ["shoulder", "tool", "x"])
    drawn, wrong = arguments.drawn(method), arguments.spoilt(arguments.drawn(method))
    for params in (drawn, wrong):
        with suppress(RequestError):
            check_params(method, params)
    assert set(drawn) <= set(schema_of(method)["properties"]) if drawn else True


def test_a_session_repeats_to_the_bit_in_other_processes(tmp_path: Path) -> None:
    blow = Step(0.8, "suspend", {"process": "loop"})
    noise = {"sensor": "noise", "of": "elbow", "std": 0.001, "at_s": 0.3, "for_ticks": 200}
    session = replace(moving(blow, duration_s=1.0), faults=(noise,))
    file = tmp_path / "session.json"
    file.write_text(json.dumps(session.as_map()))
    digests = []
    for seed in ("1", "2"):
        words = [sys.executable, "-m", "linkwork", "explore", "scara", "--session", str(file), "--json"]
        environment = {**os.environ, "PYTHONHASHSEED": seed}
        done = subprocess.run(words, cwd=ROOT, env=environment, capture_output=True, text=True, check=False)
        assert done.returncode == 0, done.stderr
        digests.append(json.loads(done.stdout)["digest"])
    assert digests[0] == digests[1]


@pytest.mark.parametrize("path", sorted(SESSIONS.glob("*.json")), ids=lambda path: path.stem)
def test_sessions_that_have_found_a_defect_break_no_rule(scara: Explored, path: Path) -> None:
    assert run_session(scara, ExploredSession.from_map(json.loads(path.read_text()))).violations == ()


@pytest.mark.parametrize("process", ["plant", "loop", "planner", "gateway"])
def test_a_killed_process_breaks_no_rule(scara: Explored, process: str) -> None:
    end = Step(0.7, "kill", {"process": process})
    again = Step(0.9, "start", {"process": process})
    steps = (end,) if process in ("loop", "planner") else (end, again)
    outcome = run_session(scara, moving(*steps))
    assert outcome.violations == ()
    assert outcome.ticks > 500


def test_a_planted_defect_is_found_and_its_session_is_shortened(
    scara: Explored, monkeypatch: pytest.MonkeyPatch
) -> None:
    late = lambda self, tick: not self.tripped and tick - self.last_fresh_tick > self._allowance  # noqa: E731
    monkeypatch.setattr(Watchdog, "due", late)
    suspended = Step(0.8, "suspend", {"process": "loop"})
    chatter = [Step(0.21 + 0.05 * count, "ask", ANNA) for count in range(6)]
    session = moving(suspended, *chatter)
    outcome = run_session(scara, session)
    assert [found.rule for found in outcome.violations][:1] == ["watchdog"]

    def fails(tried: ExploredSession) -> bool:
        return any(found.rule == "watchdog" for found in run_session(scara, tried).violations)

    short = shrink(session, fails)
    assert Step(0.8, "suspend", {"process": "loop"}) in short.steps
    assert len(short.steps) < len(session.steps)
    assert ExploredSession.from_map(json.loads(json.dumps(short.as_map()))).steps == short.steps


def test_an_exploration_resumes_where_its_file_says(scara: Explored, tmp_path: Path) -> None:
    file = tmp_path / "place.json"
    assert next_seed(file, scara, 5) == 5
    keep_place(file, scara, 41)
    assert next_seed(file, scara, 5) == 42
    file.write_text(json.dumps(json.loads(file.read_text()) | {"config": "another"}))
    assert next_seed(file, scara, 5) == 5
    outcome = linkwork("explore", "scara", "--resume", str(ROOT / "README.md"))
    assert (outcome.returncode, "README.md says not where to continue" in outcome.stderr) == (2, True)


def test_a_session_is_written_as_a_test_that_runs(tmp_path: Path) -> None:
    session, file = tmp_path / "session.json", tmp_path / "test_session.py"
    session.write_text(json.dumps(ExploredSession(7, (Step(0.2, "ask", ENABLE),), (), 0.3).as_map()))
    ran = linkwork("explore", "scara", "--session", str(session), "--out", str(file))
    assert ran.returncode == 0, ran.stderr
    names: dict[str, Any] = {}
    exec(compile(file.read_text(), file, "exec"), names)
    names["test_the_session_of_seed_7_breaks_no_rule"]()
    assert names["SESSION"]["steps"][0]["at_s"] == 0.2


@pytest.mark.slow
def test_workers_have_the_same_outcomes_in_the_same_order(scara: Explored) -> None:
    seen: dict[int, list[tuple[int, str]]] = {1: [], 2: []}
    for workers, into in seen.items():
        put = lambda one, into=into: into.append((one.session.seed, one.digest))  # noqa: E731
        explore(scara, [2, 4, 6], workers=workers, progress=put)
    assert seen[1] == seen[2]
    assert [seed for seed, _ in seen[1]] == [2, 4, 6]


def ask(at_s: float, client: str, method: str, **params: object) -> Step:
    return Step(at_s, "ask", {"client": client, "method": method, "params": {"as": client, **params}})


def rules_broken(explored: Explored, *steps: Step, duration_s: float) -> list[str]:
    session = ExploredSession(7, (Step(0.2, "ask", ENABLE), *steps), (), duration_s)
    return [found.rule for found in run_session(explored, session).violations][:1]


def test_a_jog_that_goes_on_breaks_a_rule(scara: Explored, monkeypatch: pytest.MonkeyPatch) -> None:
    want = Jog.want
    monkeypatch.setattr(Jog, "want", lambda self, velocity, _until_s: want(self, velocity, 1e9))
    jog = ask(0.5, "anna", "jog", velocity={"shoulder": 0.1})
    kept = [ask(0.6 + 0.3 * count, "anna", "acquire") for count in range(8)]
    assert rules_broken(scara, jog, *kept, duration_s=3.0) == ["jog"]


def test_a_request_beyond_the_role_of_its_key_breaks_a_rule(
    scara: Explored, monkeypatch: pytest.MonkeyPatch
) -> None:
    refused = ask(0.4, "carl", "set_gain", bandwidth_rad_s=10.0)
    assert rules_broken(scara, refused, duration_s=0.6) == []
    monkeypatch.setattr(Call, "check_role", lambda _self: None)
    assert rules_broken(scara, refused, duration_s=0.6) == ["role"]


def test_an_order_that_is_late_for_its_tick_breaks_a_rule(
    scara: Explored, monkeypatch: pytest.MonkeyPatch
) -> None:
    due = PendingOrders.due
    monkeypatch.setattr(PendingOrders, "due", lambda self, one, tick, to: due(self, one, tick - 1, to))
    braked = ask(0.5, "anna", "disable", at_tick={"ticks": 30})
    assert rules_broken(scara, braked, duration_s=0.9) == ["timed"]


class Planted:
    """Defects by name, each planted by one attribute."""

    advance, latch, held_by, state = (
        BrakeSequence.advance, FaultyMachinery.latch, Lease.held_by, state_answers.state
    )  # fmt: skip

    @staticmethod
    def speed_twice(goal: Follow) -> float:
        return goal.speed * goal.speed

    @staticmethod
    def late(brakes: BrakeSequence, time_s: float) -> None:
        Planted.advance(brakes, time_s - 0.0005)

    @staticmethod
    def less(machinery: FaultyMachinery, mode: int, effort: Floats) -> None:
        Planted.latch(machinery, mode, 0.99 * effort)

    @staticmethod
    def degrees(gateway: Gateway) -> dict[str, Any]:
        told = Planted.state(gateway)
        return told | {"q": {name: math.degrees(at) for name, at in told["q"].items()}}

    @staticmethod
    def by_name(lease: Lease, owner: str, _key: bytes = b"") -> bool:
        return owner == lease.owner


@pytest.mark.parametrize(
    ("where", "name", "defect", "rule"),
    [
        (BrakeSequence, "advance", Planted.late, "braked"),
        (FaultyMachinery, "latch", Planted.less, "plant"),
        (Follow, "_wanted", property(Planted.speed_twice), "speed"),
        (state_answers, "state", Planted.degrees, "told"),
        (Lease, "held_by", Planted.by_name, "owner"),
    ],
)
def test_defects_of_other_kinds_break_their_rules(
    scara: Explored, monkeypatch: pytest.MonkeyPatch, where: Any, name: str, defect: Any, rule: str
) -> None:
    steps = (
        ask(0.5, "anna", "move", target={"shoulder": {"near": ["shoulder", 0.2]}}, speed=0.2),
        ask(0.6, "anna", "speed", fraction=0.5),
        Step(0.7, "ask", {"client": "ben", "method": "disable", "params": {"as": "anna"}}),
        ask(0.8, "carl", "state"),
    )
    assert rules_broken(scara, *steps, duration_s=1.1) == []
    monkeypatch.setattr(where, name, defect)
    assert rules_broken(scara, *steps, duration_s=1.1) == [rule]


class Moved:
    """Defects that show while the machine moves and nothing disturbs it."""

    complete, event = PathReports.complete, Broadcast.event

    @staticmethod
    def at_once(goal: Follow) -> bool:
        return goal.stopping or goal.arrived

    @staticmethod
    def larger(reports: PathReports, content: dict[str, Any]) -> None:
        Moved.complete(reports, content)
        for told in content.get("largest_errors", ()):
            told["value"] *= 2.0

    @staticmethod
    def twice(broadcast: Broadcast, name: str, timestamp: float, content: dict[str, Any]) -> None:
        Moved.event(broadcast, name, timestamp, content)
        Moved.event(broadcast, name, timestamp, content)

    @staticmethod
    def violates(_goals: MotionExecutor, goal: Follow, *_: object, **__: object) -> bool:
        return goal.speed < 0.5


@pytest.mark.parametrize(
    ("where", "name", "defect", "rule"),
    [
        (live_tuning, "GAIN_RAMP_S", 1e-9, "effort"),
        (Follow, "resting", property(Moved.at_once), "reference"),
        (PathReports, "complete", Moved.larger, "result"),
        (Broadcast, "event", Moved.twice, "told"),
        (MotionExecutor, "_violates", Moved.violates, "result"),
    ],
)
def test_defects_of_a_machine_in_quiet_motion_break_their_rules(
    scara: Explored, monkeypatch: pytest.MonkeyPatch, where: Any, name: str, defect: Any, rule: str
) -> None:
    steps = (
        ask(0.5, "anna", "move", target={"shoulder": {"near": ["shoulder", 0.2]}}, speed=0.6),
        ask(0.58, "anna", "set_gain", bandwidth_rad_s=40.0),
        ask(0.6, "anna", "speed", fraction=0.4),
        ask(0.75, "anna", "stop"),
    )
    session = ExploredSession(7, (Step(0.2, "ask", ENABLE), *steps), (), 0.9)
    assert run_session(scara, session, replays=False).violations == ()
    monkeypatch.setattr(where, name, defect)
    assert run_session(scara, session, replays=False).violations[0].rule == rule


def test_containers_that_grow_are_found_and_bounded_ones_are_not() -> None:
    process = SimulatedTime()
    assert held_containers(process) == {}, "what the explorer itself holds does not count"
    end = Histogram()
    held: dict[str, list[object]] = {"requests": [], "recent": [deque(maxlen=50)]}
    before = held_containers(end, held)
    held["requests"].extend(range(1000))
    held["recent"][0].extend(range(1000))  # type: ignore[attr-defined]
    (text,) = grown(before, held_containers(end, held))
    assert "from 0 to 1000" in text


def test_every_seed_gives_a_session_that_is_plain_data(scara: Explored) -> None:
    work = Workload(scara.machine)
    for seed in range(50):
        session = work.session(seed)
        assert work.session(seed) == session
        assert ExploredSession.from_map(session.as_map()) == session
        times = [step.at_s for step in session.steps]
        assert times == sorted(times)


def test_states_page_lists_the_rules() -> None:
    page = (ROOT / "docs" / "states.md").read_text("utf-8")
    section = page.partition("## Rules of explored sessions")[2]
    rows = [row.strip("| ").split(" | ") for row in section.splitlines() if row.startswith("| ")]
    assert {row[0]: row[1] for row in rows[1:] if row[0] != "---"} == dict(RULES)


def test_a_goal_that_gives_coordinates_up_ends_with_another_reference(scara: Explored) -> None:
    near = {name: {"near": [name, by]} for name, by in (("x", -0.02), ("elbow", 0.1), ("y", 0.01))}
    params = {"as": "anna", "target": near, "conflict": "least_squares", "speed": 0.5}
    move = {"client": "anna", "method": "move", "params": params}
    steps = (Step(0.2, "ask", ENABLE), Step(0.5, "ask", move))
    result = run_session(scara, ExploredSession(16, steps, (), 2.0), replays=False)
    assert result.violations == ()
    assert result.reached["move", "active", "OK"]


def test_a_machine_that_was_pushed_may_hold_where_it_is(scara: Explored) -> None:
    push = {"mechanism": "push", "of": "lift_link", "force_N": [0.0, 0.0, 6.0], "at_s": 0.5, "for_ticks": 60}
    hold = {"client": "anna", "method": "law", "params": {"as": "anna", "name": "hold"}}
    steps = (Step(0.2, "ask", ENABLE), Step(0.55, "ask", hold))
    result = run_session(scara, ExploredSession(20, steps, (push,), 1.0), replays=False)
    assert result.violations == ()


def test_numbers_of_goals_that_are_none_are_resolved(scara: Explored) -> None:
    params = {"as": "anna", "goal": {"goal": -3}}
    steps = tuple(
        Step(0.2 + 0.1 * n, "ask", {"client": "anna", "method": "cancel", "params": params}) for n in (0, 1)
    )
    assert run_session(scara, ExploredSession(1, steps, (), 0.5), replays=False).violations == ()
