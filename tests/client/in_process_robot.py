"""What a demo's steps ask of a robot, answered by planner, tick and simulator in one process."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np

from linkwork.arrays import Floats
from linkwork.controller.exchange.orders import Order, SetOutputs, SetPreload, StartGoal
from linkwork.controller.exchange.records import CHANNELS
from linkwork.controller.gateway.history import Memory
from linkwork.controller.gateway.records.messages import Messages
from linkwork.controller.gateway.requests.describe import describe
from linkwork.controller.motion.references.reference import GoalStatus
from linkwork.controller.planning.messages.planner_messages import MachineState
from linkwork.controller.planning.messages.planner_start import Start
from linkwork.controller.planning.process.planner import plan
from linkwork.demos.demo import Demo, Stage
from linkwork.demos.demo_figures import DemoRun, recorded
from linkwork.demos.demo_options import DemoOptions
from linkwork.demos.demo_run import with_truth
from linkwork.machine import Machine
from linkwork.protocol.codes import Pace, ResultCode
from linkwork.protocol.results import InputEdge
from linkwork.recordings.log_file import Ticks
from linkwork.recordings.recording import Truth
from tests.controller.loop.in_process import InProcess, Sample


@dataclass
class GoalInProcess:
    """Runs to its end when it is waited for."""

    robot: RobotInProcess
    number: int
    duration_s: float
    accepted: dict[str, Any]

    def wait(self, on_progress: object = None) -> dict[str, Any]:
        ended = (GoalStatus.SUCCEEDED, GoalStatus.ENDED)
        last = self.robot.until(
            lambda sample: sample["goal_id"] == self.number and sample["goal_status"] in ended,
            most_s=self.duration_s + 5.0,
        )
        code = ResultCode(int(last["goal_code"]))
        assert code is ResultCode.SUCCESSFUL, f"goal {self.number} ended with {code.name}"
        return {"code": code}


class RobotInProcess:
    """A machine under control, without sockets; time runs while a goal is waited for."""

    def __init__(self, machine: Machine, seed: int = 0) -> None:
        self.machine = machine
        self.rig = InProcess(machine, seed)
        self.rig.slot = np.zeros(1 << 20)
        self.samples: list[Sample] = []
        self._q: list[Floats] = []
        self._applied: list[Floats] = []
        self._goals = self._seen = 0
        self._memory, self._wording = Memory(), Messages(machine)
        self._before: np.void | None = None
        self._tick()

    @property
    def state(self) -> dict[str, Any]:
        names = self.machine.mechanism.position_names
        q = self.samples[-1]["q"]
        coordinates = zip(
            self.machine.mechanism.coordinate_names, self.samples[-1]["coordinate"].tolist(), strict=True
        )
        return {
            "q": {name: float(q[at]) for at, name in enumerate(names)},
            "coordinates": dict(coordinates),
            "time_s": float(self.samples[-1]["time_s"]),
            "signals": dict(
                zip(
                    [signal.name for signal in self.machine.inputs],
                    self.samples[-1]["input"].tolist(),
                    strict=True,
                )
            ),
        }

    def pass_time(self, seconds: float) -> None:
        for _ in range(round(seconds / self.rig.period_s)):
            self._tick()

    def edges(self, signal: str, after: int = 0) -> list[InputEdge]:
        for sample in self.samples[self._seen :]:
            for change in self._wording.changes(sample.record, self._before):
                if "signals" in change:
                    self._memory.note_edge(change)
            self._before = sample.record
        self._seen = len(self.samples)
        return self._memory.edges(signal, after)

    def describe(self) -> Any:
        return describe(self.machine, Pace.LOCKSTEP)

    def enable(self) -> None:
        self.rig.enable()

    def move(
        self,
        target: Mapping[str, float],
        /,
        *,
        wait: bool = True,
        speed: float = 1.0,
        until_force: Mapping[str, float] | None = None,
    ) -> GoalInProcess:
        guard = dict(until_force or {})
        goal = self._goal("move", {"target": dict(target), "speed": speed, "until_force": guard})
        if wait:
            goal.wait()
        return goal

    def set(self, **outputs: bool | float) -> None:
        names = [signal.name for signal in self.machine.outputs]
        self._tick(SetOutputs(tuple((names.index(name), float(value)) for name, value in outputs.items())))
        self._tick()

    def preload(self, **efforts: float) -> None:
        joints = [motor.joint for motor in self.machine.motors]
        self._tick(SetPreload(tuple((joints.index(name), effort) for name, effort in efforts.items())))

    def send(self, trajectory: Mapping[str, Any]) -> GoalInProcess:
        return self._goal("send", {"trajectory": dict(trajectory)})

    def until(self, condition: Any, most_s: float) -> Sample:
        for _ in range(round(most_s / self.rig.period_s)):
            if condition(self._tick()):
                return self.samples[-1]
        raise AssertionError("the condition never came true")

    def _goal(self, method: str, params: dict[str, Any]) -> GoalInProcess:
        last = self._tick()
        names = self.machine.mechanism.coordinate_names
        held = {name: float(at) for name, at in zip(names, last["reference"], strict=True) if np.isfinite(at)}
        state = MachineState(
            tuple(last["q"].tolist()),
            tuple(last["v"].tolist()),
            tuple(held),
            tuple(held.values()),
            time_s=float(last["time_s"]),
            inputs=tuple(last["input"].tolist()),
        )
        made = plan(method, params, self.machine, Start.from_message(self.machine, state))
        self._goals = number = self._goals + 1
        self.rig.slot[: len(made.words)] = made.words
        order = 1_000_000 + number
        self._tick(StartGoal(0, len(made.words), made.checksum, number, verified=True, id=order))
        return GoalInProcess(self, number, made.duration_s, {"report": made.report})

    def _tick(self, order: Order | None = None) -> Sample:
        plant = self.rig.simulator
        self._q.append(plant.q.copy())
        sample = self.rig.tick(order)
        self._applied.append(plant.joint_effort.copy())
        self.samples.append(sample)
        return sample

    def ticks(self) -> Ticks:
        """All ticks so far, as a log has them."""
        names = {each.name: self.rig.layout.names[each.per] for each in CHANNELS if each.per}
        return Ticks(np.array([sample.record for sample in self.samples]), names)

    def truth(self) -> Truth:
        """What the plant did, as its own record has it."""
        tick = np.array([float(sample["device_tick"]) for sample in self.samples])
        parts = {part.part.name: part.centre[None].copy() for part in self.rig.simulator.parts}
        return Truth(self.rig.period_s, tick, np.array(self._q), np.array(self._applied), parts)


def perform(demo: Demo, machine: Machine, seconds: float, speed: float = 1.0) -> DemoRun:
    """Every step of a demo, without daemons."""
    robot = RobotInProcess(machine)
    there = robot.state["q"] | robot.state["coordinates"]
    stage = Stage(robot, {name: there[name] for name in machine.goal_coordinates})  # type: ignore[arg-type]
    robot.enable()
    reached = []
    for step in demo.steps(seconds, speed):
        goal = step.begin(stage)
        if goal is None:
            continue
        goal.wait()
        if step.measured is not None:
            reached.append((step, goal))
    units = {each["name"]: each["unit"] for each in robot.describe()["coordinates"]}
    recording = recorded(DemoOptions(lockstep=True), seconds, units, robot.ticks(), reached)
    return with_truth(recording, robot.truth(), machine)
