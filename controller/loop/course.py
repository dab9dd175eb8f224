"""The course: which motion is under way, by which law, and how its goal is doing."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
from numpy.typing import NDArray

from controller.laws import LawKind
from controller.loop.goals import Follow, GoalStatus, Hold, Jog, Motion
from controller.loop.limits import Limited
from controller.loop.watch import Watch
from controller.orders import Order, OrderKind, OrderOutcome
from controller.trajectories.block import BlockError, GoalBlock
from machine import Machine
from protocol.codes import ResultCode

Floats = NDArray[np.float64]
JOG_DEAD_MAN_S = 0.25
AT_REST_VELOCITY = 1e-3
"""rad/s or m/s below which damping has brought the machine to rest."""


class Course:
    """The motion under way and its goal.

    `slot` gives a goal slot's words; `theta` (all coordinates), `q` and `v` are the estimate, kept current by the
    tick.
    """

    def __init__(
        self,
        machine: Machine,
        watch: Watch,
        theta: Floats,
        q: Floats,
        v: Floats,
        slot: Callable[[int], Floats],
    ) -> None:
        settings = machine.controller
        names = list(machine.mechanism.coordinate_names)
        self._home = np.array([names.index(name) for name in settings.goal_coordinates], np.int64)
        self._motion_law = LawKind.SERVO if settings.law == "servo" else LawKind.PIDC
        self._start_tolerance = np.array([tolerance.start for tolerance in settings.tolerances])
        self._watch, self._theta, self._q, self._v, self._slot = watch, theta, q, v, slot
        self._scratch = np.zeros((4, len(names)))
        self._time_s = 0.0
        self._settling_since_s = 0.0
        self.law = LawKind.HOLD
        self.motion: Motion = Hold(self._home, theta[self._home])
        self.limited = Limited.NOTHING
        self.goal_id, self.goal_status, self.goal_code = 0, GoalStatus.NONE, 0
        self.goal_coordinate, self.goal_value, self.goal_limit = -1, 0.0, 0.0
        self.slots_in_use = 0

    @property
    def under_way(self) -> bool:
        """Whether a goal, a jog, or a law without a reference moves the machine."""
        return isinstance(self.motion, Follow | Jog) or self.law in (LawKind.FLOAT, LawKind.DAMP)

    @property
    def busy(self) -> bool:
        """Whether lockstep time must run for it; a goal that is paused and at rest needs none."""
        if isinstance(self.motion, Follow):
            return self.goal_status is not GoalStatus.PAUSED or not self.motion.resting
        return isinstance(self.motion, Jog)

    # One tick.

    def advance(self, time_s: float) -> None:
        """Moves to the device time of this tick."""
        self._time_s = time_s
        self.limited = Limited.NOTHING
        self.motion.advance(time_s)

    def check(self) -> bool:
        """Looks at the motion under way; False when its path tolerance was just violated and it began to stop."""
        motion = self.motion
        if isinstance(motion, Jog):
            if self._watch.near_limit(self._q, self._v):
                self.limited |= Limited.JOG_POSITION
                motion.stop()
            if motion.resting:
                self._hold()
        elif isinstance(motion, Follow):
            return self._check_goal(motion)
        return True

    def _check_goal(self, goal: Follow) -> bool:
        if goal.stopping:
            if goal.resting:
                self._end(GoalStatus.ENDED, self.goal_code)
            return True
        reference, velocity, acceleration, error = (row[: len(goal.index)] for row in self._scratch)
        goal.at(0.0, reference, velocity, acceleration)
        self._watch.deviation(goal.index, reference, self._theta, error)
        if self._violates(goal, error, goal.block.path_tolerance):
            self._stop_goal(goal, ResultCode.PATH_TOLERANCE_VIOLATED)
            return False
        if not goal.arrived:
            return True
        if self.goal_status is not GoalStatus.SETTLING:
            self.goal_status, self._settling_since_s = GoalStatus.SETTLING, self._time_s
        worst = int(np.argmax(error - goal.block.goal_tolerance))
        if error[worst] <= goal.block.goal_tolerance[worst]:
            self._end(GoalStatus.SUCCEEDED, ResultCode.SUCCESSFUL)
        elif self._time_s - self._settling_since_s > goal.block.goal_time_s:
            self._violates(goal, error, goal.block.goal_tolerance)
            self._end(GoalStatus.ENDED, ResultCode.GOAL_TOLERANCE_VIOLATED)
        return True

    def _violates(self, goal: Follow, error: Floats, tolerance: Floats) -> bool:
        worst = int(np.argmax(error - tolerance))
        if error[worst] <= tolerance[worst]:
            return False
        self.goal_coordinate = int(goal.index[worst])
        self.goal_value, self.goal_limit = float(error[worst]), float(tolerance[worst])
        return True

    def settled(self) -> bool:
        """While stopping: whether the machine is at rest. Damping ends in a hold."""
        if isinstance(self.motion, Follow | Jog):
            return False
        if self.law in (LawKind.FLOAT, LawKind.DAMP):
            if float(np.max(np.abs(self._v))) > AT_REST_VELOCITY:
                return False
            self.hold_here()
        return True

    # Ways to rest.

    def stop(self, code: ResultCode) -> None:
        """Brings whatever is under way to rest: a goal on its path (it ends with `code`), the rest by damping."""
        if isinstance(self.motion, Follow):
            self._stop_goal(self.motion, code)
        elif isinstance(self.motion, Jog):
            self.motion.stop()
        elif self.law is LawKind.FLOAT:
            self.law = LawKind.DAMP

    def _stop_goal(self, goal: Follow, code: ResultCode) -> None:
        if not goal.stopping:
            goal.stop()
            self.goal_status, self.goal_code = GoalStatus.STOPPING, int(code)

    def abort(self) -> None:
        """The brakes take over: a goal ends at once, with the code already decided or FAULT."""
        if isinstance(self.motion, Follow):
            stopping = self.goal_status is GoalStatus.STOPPING
            self.goal_status, self.slots_in_use = GoalStatus.ENDED, 0
            self.goal_code = self.goal_code if stopping else int(ResultCode.FAULT)
        self.hold_here()

    def _end(self, status: GoalStatus, code: int) -> None:
        self.goal_status, self.goal_code, self.slots_in_use = status, int(code), 0
        self._hold()

    def _hold(self) -> None:
        """Holds where the reference stands, in the coordinates it is in."""
        reference, velocity, acceleration, _ = (row[: len(self.motion.index)] for row in self._scratch)
        self.motion.at(0.0, reference, velocity, acceleration)
        self.motion, self.law = Hold(self.motion.index, reference), LawKind.HOLD

    def hold_here(self) -> None:
        """Holds where the machine is, in the file's goal coordinates."""
        self.motion, self.law = Hold(self._home, self._theta[self._home]), LawKind.HOLD

    # Orders.

    def accept(self, order: Order, *, sound: bool) -> OrderOutcome:
        """Begins a goal, if its block is sound and begins where the machine is."""
        if isinstance(self.motion, Follow | Jog):
            return OrderOutcome.REFUSED_BUSY
        if not sound:
            return OrderOutcome.REFUSED_BLOCK
        try:
            block = GoalBlock(self._slot(order.slot)[: order.length])
        except BlockError:
            return OrderOutcome.REFUSED_BLOCK
        if not self._begins_here(block):
            return OrderOutcome.REFUSED_START
        if not 0.0 < order.arguments[0] <= 1.0:
            return OrderOutcome.REFUSED_VALUE
        self.motion = Follow(order.goal_id, block, self._time_s, order.arguments[0])
        self.law = self._motion_law
        self.goal_id, self.goal_status, self.goal_code = order.goal_id, GoalStatus.RUNNING, 0
        self.goal_coordinate, self.goal_value, self.goal_limit = -1, 0.0, 0.0
        self.slots_in_use = 1 << order.slot
        return OrderOutcome.DONE

    def _begins_here(self, block: GoalBlock) -> bool:
        index = block.coordinates
        start, rate, change, here = (row[: len(index)] for row in self._scratch)
        block.evaluate(0.0, start, rate, change)
        allowed = self._start_tolerance[index]
        if np.any(np.abs(rate) > allowed):
            return False
        if self.law is LawKind.HOLD and np.array_equal(self.motion.index, index):
            self.motion.at(0.0, here, rate, change)
        else:
            here[:] = self._theta[index]
        return bool(np.all(np.abs(start - here) <= allowed))

    def jog(self, order: Order) -> OrderOutcome:
        """Begins a jog, or says again that it should go on."""
        if isinstance(self.motion, Follow):
            return OrderOutcome.REFUSED_BUSY
        pairs = order.arguments[: 2 * order.length]
        index = self._watch.jog_set([int(number) for number in pairs[::2]])
        if index is None:
            return OrderOutcome.REFUSED_VALUE
        velocity = np.zeros(len(index))
        for number, rate in zip(pairs[::2], pairs[1::2], strict=True):
            velocity[int(np.flatnonzero(index == int(number))[0])] = rate
        if not isinstance(self.motion, Jog):
            limits = self._watch.jog_limits(index)
            self.motion = Jog(index, self._theta[index], limits, self._time_s)
            self.law = self._motion_law
        elif not np.array_equal(self.motion.index, index):
            return OrderOutcome.REFUSED_BUSY
        if self.motion.want(velocity, self._time_s + JOG_DEAD_MAN_S):
            self.limited |= Limited.JOG_VELOCITY
        return OrderOutcome.DONE

    def steer(self, order: Order) -> OrderOutcome:
        """Pauses, resumes or changes the speed of the goal under way."""
        goal = self.motion
        named = order.goal_id in (0, self.goal_id)
        if not isinstance(goal, Follow) or goal.stopping or not named:
            return OrderOutcome.NOTHING_TO_DO
        if order.kind is OrderKind.PAUSE:
            goal.pause()
            self.goal_status = GoalStatus.PAUSED
        elif order.kind is OrderKind.RESUME:
            goal.resume()
            self.goal_status = GoalStatus.RUNNING
        elif not 0.0 <= order.arguments[0] <= 1.0:
            return OrderOutcome.REFUSED_VALUE
        else:
            goal.set_speed(order.arguments[0])
        return OrderOutcome.DONE

    def choose(self, order: Order) -> OrderOutcome:
        """Holds, floats or damps instead of what the machine does at rest."""
        if order.length not in (LawKind.HOLD, LawKind.FLOAT, LawKind.DAMP):
            return OrderOutcome.REFUSED_VALUE
        if isinstance(self.motion, Follow | Jog):
            return OrderOutcome.REFUSED_BUSY
        self.hold_here()
        self.law = LawKind(order.length)
        return OrderOutcome.DONE
