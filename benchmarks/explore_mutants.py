# ruff: noqa: E501 - a defect is one line
"""Planted defects of many kinds: how many `linkwork explore` finds, by which rule, and how soon.

    python -m benchmarks.explore_mutants [NAME ...] [--machine scara] [--minutes 10] [--seeds 400] [--json]

Each defect is one replacement in one file of a copy of the checkout. The same seeds run against each. A
defect that no session finds within the time is listed as not found.
"""

from __future__ import annotations

import argparse
import json
import os
import shutil
import subprocess
import sys
import tempfile
import time
from dataclasses import asdict, dataclass
from pathlib import Path

ROOT = Path(__file__).resolve().parents[1]


@dataclass(frozen=True)
class Mutant:
    """A defect: the text that is replaced in a file."""

    name: str
    file: str
    text: str
    instead: str
    machine: str = ""
    """Machine whose sessions can show it, if not every one can."""


GATEWAY, LOOP, PLANT = "controller/gateway", "controller/loop", "plant/device"
REQUESTS, SUPERVISION = f"{GATEWAY}/requests", "controller/supervision"
MUTANTS = (
    Mutant("watchdog one period late", f"{PLANT}/watchdog.py", "tick - self.last_fresh_tick >= self._allowance", "tick - self.last_fresh_tick > self._allowance"),
    Mutant("watchdog does not act", f"{PLANT}/plant_device.py", "self.machinery.act(trip.action)", "pass"),
    Mutant("lease outlives its time", f"{REQUESTS}/lease.py", "if now_ns >= self._until_ns:", "if now_ns >= self._until_ns + 10**10:"),
    Mutant("lease is stolen from a live owner", f"{REQUESTS}/lease.py", "and not same and not force:", "and not same and force:"),
    Mutant("jog needs no lease", f"{REQUESTS}/handlers.py", 'pairs.append((names.index(name), rate))\n    gateway.borrow(call)', "pairs.append((names.index(name), rate))"),
    Mutant("lost lease stops nothing", f"{GATEWAY}/gateway.py", "if change.motion_lost or self.order_queue.bound:", "if False:"),
    Mutant("order without its effect", f"{GATEWAY}/order_queue.py", "placed.then(OrderEffect(outcome, record))", "pass") ,
    Mutant("result lost with the loop", f"{GATEWAY}/gateway.py", 'self._goal_lost(progress["goal"], reason)', "pass"),
    Mutant("result of a cancelled goal lost", f"{GATEWAY}/records/event_detection.py", "if status in ENDED and before != (goal, status):", "if status in ENDED and before != (goal, status) and int(record['goal_code']) == 0:"),
    Mutant("answered twice", f"{REQUESTS}/call.py", "        if not self.answered:\n            self.answered = True\n            self.server.send(self.peer, pack_response", "        if True:\n            self.answered = True\n            self.server.send(self.peer, pack_response"),
    Mutant("planner's end answers nothing", f"{GATEWAY}/goals/planner_jobs.py", "        self._fail_running(RequestError(RequestCode.INTERNAL, text))", "        self._running = None"),
    Mutant("stop leaves estop", f"{SUPERVISION}/state_machine.py", "(_S.ESTOP, _E.STOP): _S.ESTOP", "(_S.ESTOP, _E.STOP): _S.ACTIVE"),
    Mutant("estop does nothing", f"{SUPERVISION}/order_handlers.py", "self._machine.brake_now(Event.ESTOP)", "pass"),
    Mutant("fault recovers by itself", f"{SUPERVISION}/supervisor.py", "if self.handshake_wanted and inputs.connected:", "if inputs.connected:"),
    Mutant("stop request leaves a fault", f"{SUPERVISION}/state_machine.py", "(_S.FAULT, _E.STOP): _S.FAULT", "(_S.FAULT, _E.STOP): _S.INACTIVE"),
    Mutant("effort rate unlimited", f"{LOOP}/tick.py", "motor.max_effort_rate * period_s for motor", "100.0 * motor.max_effort_rate * period_s for motor"),
    Mutant("effort limit doubled", f"{LOOP}/tick.py", "most = np.array([motor.max_effort for motor", "most = np.array([2.0 * motor.max_effort for motor"),
    Mutant("overspeed allowed", "controller/estimation/limit_monitor.py", "OVERSPEED = 1.25", "OVERSPEED = 12.5"),
    Mutant("position limits ignored", "controller/estimation/limit_monitor.py", "LIMIT_SLACK = 1e-3", "LIMIT_SLACK = 10.0"),
    Mutant("losses counted one too far", "controller/estimation/limit_monitor.py", "inputs.lost_in_a_row >= self._loss_limit", "inputs.lost_in_a_row > self._loss_limit + 5"),
    Mutant("orphaned loop moves on", f"{LOOP}/loop.py", "            self._orphan_since_ns = now_ns\n            self._own_orders.append(LeaseLost())", "            self._orphan_since_ns = now_ns"),
    Mutant("shutdown is ignored", f"{LOOP}/loop.py", "return self.supervisor.leaving and", "return False and self.supervisor.leaving and"),
    Mutant("first record of a batch not logged", f"{GATEWAY}/records/intake.py", "gateway.log.write(words, [", "gateway.log.write(words[1:] if len(words) > 1 else words, ["),
    Mutant("orders logged for another tick", f"{GATEWAY}/records/logged_orders.py", "order_event(order, record))]", "order_event(replace(order, at_tick=-1 if order.at_tick < 0 else order.at_tick + 1), record))]"),
    Mutant("requests of clients that left fail", f"{REQUESTS}/handlers.py", "    call.answer(answers.state(gateway))", "    call.answer(answers.state(gateway) if gateway.latest['goal_id'] < 2 else {}['goal'])"),
    Mutant("jog continues without its request", "controller/motion/streams/jogging.py", "if time_s >= self._expires_s:", "if False:"),
    Mutant("roles are not checked", f"{GATEWAY}/server.py", "            call.check_role()\n", ""),
    Mutant("requests are kept", f"{GATEWAY}/server.py", "            call.check_role()\n", "            call.check_role()\n            gateway.__dict__.setdefault('kept', []).append(call)\n"),
    Mutant("orders for a tick are one tick late", f"{SUPERVISION}/pending_orders.py", "self.timed[0].at_tick <= tick", "self.timed[0].at_tick < tick"),
    Mutant("streams and jogs twice as fast", "controller/motion/streams/stream_limits.py", "SPEED_MARGIN = ", "SPEED_MARGIN = 2.5 * "),
    Mutant("brakes open one tick late", f"{SUPERVISION}/brakes.py", "time_s - self._since_s >= lasts:", "time_s - self._since_s >= lasts + 0.0005:"),
    Mutant("telemetry of other joints", "controller/exchange/records.py", "numbers[at : at + len(names)], strict=True", "numbers[at : at + len(names)][::-1], strict=True"),
    Mutant("velocities answered in degrees", f"{REQUESTS}/state_answers.py", '"v": table["v"],', '"v": {name: 57.3 * v for name, v in table["v"].items()},'),
    Mutant("lost lease reported as cancelled", f"{SUPERVISION}/order_handlers.py", "AuthorityEnd.LEASE_LOST, ResultCode.LEASE_LOST", "AuthorityEnd.LEASE_LOST, ResultCode.CANCELLED"),
    Mutant("keys do not separate owners", f"{REQUESTS}/lease.py", "return owner == self.owner and key == self.key", "return owner == self.owner"),
    Mutant("speed applied twice", "controller/motion/references/reference.py", "return self.speed * self._easing.told / self.own", "return self.speed * self.speed * self._easing.told / self.own"),
    Mutant("pause only slows", "controller/motion/references/reference.py", "self.paused = True\n        self._aim(0.0)", "self.paused = True\n        self._aim(0.02)"),
    Mutant("result before the motion ends", "controller/motion/motion_executor.py", "if goal.resting and self._free_motions_rest(goal):", "if self._free_motions_rest(goal):"),
    Mutant("path rate without its limits", "controller/motion/references/path_rate.py", "given.max_acceleration, given.max_jerk = [max(max_acceleration, abs(acceleration))], [max_jerk]", "given.max_acceleration, given.max_jerk = [max(10.0 * max_acceleration, abs(acceleration))], [100.0 * max_jerk]"),
    Mutant("estimate of a sensor frozen", "controller/estimation/sensor_estimate.py", "missing[i] = wanted[i] - q[joint[i]]", "missing[i] = 0.0 if i == 1 else wanted[i] - q[joint[i]]"),
    Mutant("stream needs no lease", f"{GATEWAY}/goals/stream_requests.py", "    gateway.borrow(call)\n    goal, interval_s", "    goal, interval_s"),
    Mutant("log misses some orders", f"{GATEWAY}/records/intake.py", "for event in arrival_events(order, record, words)]", "for event in arrival_events(order, record, words) if order.id % 5]"),
    Mutant("plant applies less effort", f"{PLANT}/plant_device.py", "machinery.latch(command.mode, command.effort)", "machinery.latch(command.mode, 0.99 * command.effort)"),
    Mutant("fault without a cause", "controller/estimation/limit_monitor.py", "if inputs.loss_ratio > self._loss_ratio:", "if inputs.loss_ratio > 0.1 * self._loss_ratio:"),
    Mutant("event of an estop lost", f"{GATEWAY}/records/event_detection.py", "if state != self._state:", "if state != self._state and state != State.ESTOP:"),
    Mutant("flight record not written", f"{GATEWAY}/records/flight_record.py", "        self._work = self._write(tick, words, cause)", "        self._work = None"),
    Mutant("switch reported closed while open", f"{GATEWAY}/requests/state_answers.py", "bool(on) for name, on in", "True for name, on in", "slot_arm"),
)  # fmt: skip


@dataclass(frozen=True)
class Found:
    """Result of one defect: the rule that was broken ("" for none), the seed, and the time (s)."""

    name: str
    rule: str
    seed: int
    seconds: float


def run(mutant: Mutant, copy: Path, machine: str, seeds: int, minutes: float) -> Found:
    """Plant a defect in the copy, and run sessions until one fails."""
    path = copy / mutant.file
    sound = path.read_text("utf-8")
    if sound.count(mutant.text) != 1:
        raise SystemExit(f"{mutant.name}: {mutant.file} has this text {sound.count(mutant.text)} times")
    path.write_text(sound.replace(mutant.text, mutant.instead), "utf-8")
    words = [sys.executable, "-m", "linkwork", "explore", mutant.machine or machine]
    words += ["--json", "--until-failure"]
    words += ["--workers", "2", "--seeds", str(seeds), "--minutes", str(minutes)]
    begun = time.monotonic()
    try:
        environment = {**os.environ, "PYTHONPATH": str(copy), "PYTHONDONTWRITEBYTECODE": "1"}
        done = subprocess.run(words, cwd=copy, env=environment, capture_output=True, text=True, check=False)
    finally:
        path.write_text(sound, "utf-8")
    seconds = time.monotonic() - begun
    if not done.stdout.strip():
        return Found(mutant.name, "no start", 0, seconds)
    failures = json.loads(done.stdout)["failures"]
    first = failures[0] if failures else {"rule": "", "seed": 0}
    return Found(mutant.name, first["rule"], first["seed"], seconds)


def main() -> None:
    """Run the defects, and print which were found."""
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("names", nargs="*", help="defects, by the beginnings of their names")
    parser.add_argument("--machine", default="scara")
    parser.add_argument("--minutes", type=float, default=10.0)
    parser.add_argument("--seeds", type=int, default=400)
    parser.add_argument("--json", action="store_true")
    options = parser.parse_args()
    chosen = [each for each in MUTANTS if each.name.startswith(tuple(options.names) or "")]
    found = []
    with tempfile.TemporaryDirectory() as folder:
        copy = Path(folder) / "checkout"
        shutil.copytree(
            ROOT, copy, symlinks=True, ignore=shutil.ignore_patterns(".git", ".venv", "tests", "docs")
        )
        for mutant in chosen:
            found.append(run(mutant, copy, options.machine, options.seeds, options.minutes))
            if not options.json:
                last = found[-1]
                told = f"{last.rule}, seed {last.seed}" if last.rule else "NOT FOUND"
                print(f"{last.name:38} {told:28} {last.seconds:6.1f} s", flush=True)
    count = sum(bool(each.rule) for each in found)
    if options.json:
        print(json.dumps({"found": count, "of": len(found), "mutants": [asdict(each) for each in found]}))
    else:
        print(f"{count} of {len(found)} found")


if __name__ == "__main__":
    main()
