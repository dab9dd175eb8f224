"""Goals planned and taken in one process, as gateway and planner do it: also from a goal under way."""

from __future__ import annotations

from typing import Any

import numpy as np

from linkwork.controller.exchange.orders import NOW, Retime
from linkwork.controller.motion.references.reference import Follow
from linkwork.controller.planning.goals.goal_in_motion import GoalInMotion
from linkwork.controller.planning.messages.planner_messages import GoalBefore
from linkwork.controller.planning.messages.planner_start import Start
from linkwork.controller.planning.process.planner import Plan, plan
from linkwork.machine.payloads import loaded
from tests.controller.loop.in_process import InProcess, Sample


class Planned:
    """The rig, its planned goals and their slots."""

    def __init__(self, rig: InProcess) -> None:
        self.rig = rig
        self.goal = 0
        self.lengths: dict[int, int] = {}
        self.slot_of: dict[int, int] = {}
        self.pose: dict[int, np.ndarray] = {}
        self.carried: dict[str, tuple[float, ...]] = {}

    def running(self, lead_s: float) -> GoalInMotion:
        """The goal under way, to be left so much later."""
        rig = self.rig
        goal = rig.supervisor.executor.motion
        assert isinstance(goal, Follow)
        s, rate, _ = goal.path.rate_at(0.0)
        slot, waits = self.slot_of[self.goal], self.goal != goal.goal_id
        if waits:  # the last of several that wait for each other
            q = tuple(self.pose[self.goal].tolist())
            before = GoalBefore(self.goal, slot, self.lengths[slot], 1.0, q, 0.0, 0.0, 1.0, begun=False)
        else:
            q = tuple(rig.estimated_q.tolist())
            words, s_then = self.lengths[slot], s + rate * lead_s
            before = GoalBefore(self.goal, slot, words, goal.own, q, s, s_then, rate)
        return GoalInMotion.from_message(
            rig.machine,
            before,
            lambda number, length: rig.slot_of(number)[:length].copy(),
            inputs=tuple(rig.inputs.input.tolist()),
        )

    def plan(self, method: str, lead_s: float | None = None, **params: Any) -> Plan:
        """A goal from where the machine holds, or from the goal under way so much later."""
        rig = self.rig
        now, names = rig.supervisor.executor.now, rig.machine.mechanism.coordinate_names
        held = {names[i]: float(x) for i, x in zip(now.index, now.theta, strict=True) if i < len(names)}
        start = Start.at_pose(rig.machine, rig.estimated_q, None, held)
        running = None if lead_s is None else self.running(lead_s)
        return plan(method, params, loaded(rig.machine, self.carried), start, running)

    def order(self, made: Plan, at_tick: int = NOW) -> Sample:
        """Hands a planned goal to the loop: one tick."""
        rig = self.rig
        if not isinstance(made.begin, Retime):
            self.goal += 1
        running = rig.supervisor.executor.goal_state.id
        waiting = {slot for goal, slot in self.slot_of.items() if goal > running}
        in_use = rig.supervisor.executor.goal_state.slots_in_use
        slot = next(n for n in range(4) if not in_use >> n & 1 and n not in waiting)
        if made.q is not None:
            self.pose[self.goal] = made.q
        self.lengths[slot], self.slot_of[self.goal] = len(made.words), slot
        return rig.start_goal(made.words, self.goal, made.begin, slot=slot, at_tick=at_tick)


def references(samples: list[Sample], names: list[int]) -> np.ndarray:
    """The references of some coordinates, tick by tick."""
    return np.array([sample["reference"][names] for sample in samples])
