"""Goals planned and taken in one process, as gateway and planner do it: also from a goal under way."""

from __future__ import annotations

from typing import Any

import numpy as np

from linkwork.controller.motion.reference import Follow
from linkwork.controller.orders import NOW, Order, OrderKind
from linkwork.controller.planning.goal_in_motion import GoalInMotion
from linkwork.controller.planning.planner import Plan, plan
from linkwork.controller.planning.planner_start import Start
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
        goal = rig.supervisor.course.motion
        assert isinstance(goal, Follow)
        s, rate, _ = goal.path.at(0.0)
        slot, waits = self.slot_of[self.goal], self.goal != goal.goal_id
        if waits:  # the last of several that wait for each other
            content = {"q": self.pose[self.goal], "at_s": 0.0, "s": 0.0, "rate": 1.0, "own": 1.0}
            content |= {"slot": slot, "length": self.lengths[slot]}
            return GoalInMotion.from_map(
                rig.machine, content, lambda number, length: rig.slot_of(number)[:length].copy()
            )
        content = {
            "slot": slot, "length": self.lengths[slot], "q": rig.controller._now.q.copy(), "at_s": s,
            "s": s + rate * lead_s, "rate": rate, "own": goal.own,
        }  # fmt: skip
        return GoalInMotion.from_map(
            rig.machine, content, lambda number, length: rig.slot_of(number)[:length].copy()
        )

    def plan(self, method: str, lead_s: float | None = None, **params: Any) -> Plan:
        """A goal from where the machine holds, or from the goal under way so much later."""
        rig = self.rig
        now, names = rig.supervisor.course.now, rig.machine.mechanism.coordinate_names
        held = {names[i]: float(x) for i, x in zip(now.index, now.theta, strict=True)}
        start = Start.at(rig.machine, rig.controller._now.q, None, held)
        running = None if lead_s is None else self.running(lead_s)
        return plan(method, params, loaded(rig.machine, self.carried), start, running)

    def order(self, made: Plan, at_tick: int = NOW, method: str = "") -> Sample:
        """Hands a planned goal to the loop: one tick."""
        rig = self.rig
        before, retimed = self.goal, made.begin.kind == 3
        if not retimed:
            self.goal += 1
        running = rig.supervisor.course.goal_id
        waiting = {slot for goal, slot in self.slot_of.items() if goal > running}
        in_use = rig.supervisor.course.slots_in_use
        slot = next(n for n in range(4) if not in_use >> n & 1 and n not in waiting)
        if made.q is not None:
            self.pose[self.goal] = made.q
        rig.slot_of(slot)[: len(made.words)] = made.words
        self.lengths[slot], self.slot_of[self.goal] = len(made.words), slot
        rig._orders += 1
        rig.sound.add(rig._orders)
        begin = made.begin
        again = float(method == "rewalk")
        arguments = (1.0, float(begin.kind), float(before), begin.s, begin.rate, float(begin.code), again)
        return rig.tick(
            Order(
                rig._orders, OrderKind.GOAL, at_tick, slot, len(made.words), 1, made.checksum, self.goal,
                arguments,
            )
        )  # fmt: skip


def references(samples: list[Sample], names: list[int]) -> np.ndarray:
    """The references of some coordinates, tick by tick."""
    return np.array([sample["reference"][names] for sample in samples])
