"""The executor of motions: which one is under way, by which law, and how its goal is doing."""

from collections.abc import Callable
from dataclasses import dataclass, replace
from typing import Self

import numpy as np
from numpy.typing import NDArray

from linkwork.arrays import Floats
from linkwork.controller.estimation.frame_tracker import FrameTrackers
from linkwork.controller.estimation.limit_monitor import LimitMonitor
from linkwork.controller.exchange.goal_block import BlockError, GoalBlock
from linkwork.controller.exchange.goal_force_part import ForcePart
from linkwork.controller.exchange.goal_task_part import HOLD, ONE_LEVEL
from linkwork.controller.exchange.orders import (
    ChooseLaw,
    Finish,
    Fresh,
    JogCoordinates,
    OrderOutcome,
    Pause,
    Resume,
    Retime,
    SetSpeed,
    Splice,
    StartGoal,
    StartStream,
)
from linkwork.controller.exchange.set_points import SetPoint, StreamState
from linkwork.controller.laws import Reference
from linkwork.controller.motion.forces.pressing import Pressing
from linkwork.controller.motion.limits.effort_limits import HeldBack, Limited
from linkwork.controller.motion.references.frame_reference import FollowInFrame
from linkwork.controller.motion.references.goal_splices import junction_outcome
from linkwork.controller.motion.references.reference import (
    Follow,
    Following,
    GoalCondition,
    GoalStatus,
    Hold,
    ReferenceMotion,
)
from linkwork.controller.motion.streams.jogging import Jog
from linkwork.controller.motion.streams.planned_reference import PlannedReference
from linkwork.controller.motion.streams.stream_limiter import StreamLimiter
from linkwork.controller.motion.streams.streaming import StreamedReference
from linkwork.machine import Machine
from linkwork.multibody import Workspace
from linkwork.protocol.codes import ResultCode
from linkwork.protocol.laws import FREE_LAWS, REST_LAWS, LawKind, law_named

JOG_DEAD_MAN_S = 0.2
_MOVING = Follow | Jog | StreamedReference
LONGEST_DAMPING_S = 2.0
"""Time after which a machine that is still moved, by a hand for example, is held instead of damped."""


@dataclass(slots=True)
class GoalState:
    """Status of the active goal, or the result of the last one, as the record publishes it.

    status: GoalStatus. code: the ResultCode it ended with. coordinate, value, limit: which coordinate
    violated a tolerance, by how much (rad or m, N or N m), and the tolerance; -1 and 0 where none did.
    slots_in_use: bit mask of the shared goal slots. until_met: how often the goal's condition has begun to
    hold. settling_since_s: device time of its end, or of the begin of damping. replaced,
    replaced_code: the goal that it took over from or followed, and how that one ended.
    """

    id: int = 0
    status: GoalStatus = GoalStatus.NONE
    code: int = 0
    coordinate: int = -1
    value: float = 0.0
    limit: float = 0.0
    slots_in_use: int = 0
    settling_since_s: float = 0.0
    replaced: int = 0
    replaced_code: int = 0
    until_met: int = 0


class MotionExecutor:
    """The motion under way and its goal.

    `estimate` is the workspace that the tick keeps current; `slot` gives a goal slot's words.
    """

    def __init__(
        self, machine: Machine, watch: LimitMonitor, estimate: Workspace, slot: Callable[[int], Floats]
    ) -> None:
        names = list(machine.mechanism.coordinate_names)
        self._home = np.array([names.index(name) for name in machine.goal_coordinates], np.int64)
        self._motion_law = law_named(machine.controller.law)
        self._start_tolerance = np.array([tolerance.start for tolerance in machine.tolerances])
        self._watch, self._slot = watch, slot
        self._theta, self._v = estimate.theta, estimate.v
        self._combination = machine.mechanism.model.combination
        self._period_s = machine.period_s
        limiter = StreamLimiter(machine, estimate)
        self._jog, self._stream = Jog(machine, limiter, estimate), StreamedReference(machine, limiter)
        self.frames = FrameTrackers(machine) if machine.frames else None
        """The moving frames, where the machine has some; the tick moves them on."""
        self._error = np.zeros(len(names))
        self._time_s = 0.0
        self.law = LawKind.HOLD
        self.motion: ReferenceMotion = Hold(self._home, estimate.theta[self._home])
        self.now = Reference.sized(len(self._home))
        """The reference at this tick."""
        self.limited = 0
        """Limited bits."""
        self.on_path = False
        """Whether the goal was within its path tolerances in this tick and continues."""
        self.slowed = False
        """Whether the goal under way has been slowed down on its path, so that `limit` has to be asked."""
        self.goal_state = GoalState()
        self.recorded: Floats = np.zeros(0)
        """Words of the tick record; until the tick is noted, those of the tick before. The tick sets it."""
        self._until: GoalCondition | None = None
        self.pressing = Pressing(machine, estimate)

    @property
    def goal(self) -> Follow | None:
        """The goal under way."""
        return self.motion if isinstance(self.motion, Follow) else None

    @property
    def stream(self) -> StreamedReference | None:
        """The stream under way."""
        return self._stream if self.motion is self._stream else None

    @property
    def under_way(self) -> bool:
        """Whether a goal, a jog, a stream, or a law without a reference moves the machine."""
        return isinstance(self.motion, _MOVING) or self.law in FREE_LAWS

    @property
    def crosses(self) -> bool:
        """Whether a goal is under way that can be continued when constraints open or close."""
        goal = self.goal
        if goal is None or goal.waiting or self.law is not LawKind.PIDC:
            return False
        return goal.block.forces is None and goal.block.frame is None

    @property
    def busy(self) -> bool:
        """Whether lockstep time must run for it.

        A goal that is paused and at rest needs none, nor does a stream, which waits for set-points.
        """
        if self.motion is self._stream:
            return self._stream.state in (StreamState.ENDING, StreamState.STOPPING)
        if isinstance(self.motion, Follow):
            return self.goal_state.status is not GoalStatus.PAUSED or not self.motion.resting
        return isinstance(self.motion, Jog)

    # One tick.

    def advance(self, time_s: float, set_point: SetPoint | None = None) -> None:
        """Move to the device time of this tick, in which a set-point may have arrived."""
        self._time_s = time_s
        if set_point is not None and self.motion is self._stream:
            self._stream.offer(set_point, time_s)
        self.motion.advance(time_s)
        pressing = self.pressing
        if pressing.possible and pressing.advance(self.motion, time_s, limited=bool(self.limited)):
            self._let_go()
        self.limited = 0
        self._evaluate()

    def _let_go(self) -> None:
        """Continue with motion control alone, or hold, after all forces have been released."""
        if isinstance(self.motion, Follow) and self.motion.waiting:
            self.pressing.control.reset()
            self.motion.begin(self._time_s)
            self.law = self._motion_law
        else:
            self.hold_here()

    def _evaluate(self) -> None:
        now, motion = self.now, self.motion
        if now.index is not motion.index:
            now.fit(motion.index)
        motion.evaluate(0.0, now.theta, now.velocity, now.acceleration)

    def check(self) -> bool:
        """Check the motion under way; False when its path tolerance was just violated: it stops then."""
        motion = self.motion
        self.on_path = False
        if isinstance(motion, Jog):
            self.limited |= motion.limited
            self.slowed = not motion.eased
            if motion.resting:
                self._hold()
        elif isinstance(motion, Follow):
            return self._check_goal(motion)
        elif motion is self._stream:
            self._check_stream(self._stream)
        elif self.pressing.control.lost >= 0:
            self.hold_here()
        return True

    def _check_stream(self, stream: StreamedReference) -> None:
        if stream.limiter.held_back is not HeldBack.NOTHING:
            self.limited |= int(Limited.STREAM)
        self.slowed = not stream.eased
        if stream.gives_up:
            self._end(GoalStatus.ENDED, ResultCode.STREAM_STALE)
        elif stream.state is StreamState.STOPPING and stream.resting:
            stopped = self.goal_state.status is GoalStatus.STOPPING
            if stopped:
                self._end(GoalStatus.ENDED, self.goal_state.code)
            else:
                self._end(GoalStatus.SUCCEEDED, ResultCode.SUCCESSFUL)

    def limit(self, bits: int, *, slow: bool) -> None:
        """Note the limits on this tick's command; with `slow` a goal is slowed down on its path."""
        motion = self.motion
        self.slowed = False
        if isinstance(motion, PlannedReference):
            motion.ease(limited=slow)
        if isinstance(motion, Follow):
            if motion.ease(self._period_s, limited=slow):
                bits |= int(Limited.PATH_RATE)
            self.slowed = not motion.eased
        self.limited |= bits

    def _check_goal(self, goal: Follow) -> bool:
        if goal.stopping:
            self.pressing.keep_from_falling()
            if goal.resting and self._free_motions_rest(goal):
                met = self.goal_state.code == ResultCode.SUCCESSFUL
                self._end(GoalStatus.SUCCEEDED if met else GoalStatus.ENDED, self.goal_state.code)
            return True
        if goal.waiting:
            return True
        if self._until is not None and self._until.begins(self.recorded) and self._meet(goal, self._until):
            return True
        block = goal.block
        if isinstance(goal, FollowInFrame) and (left := goal.left(self.now.theta)) is not None:
            self.goal_state.value, self.goal_state.limit = left
            self._stop_goal(goal, ResultCode.FRAME_LEFT)
            return False
        if block.forces is not None:
            if not self._check_forces(goal, block.forces):
                return False
            if goal.touched or not isinstance(self.motion, Follow):
                return True
        if self._violates(goal, block.path_tolerance):
            self._stop_goal(goal, ResultCode.PATH_TOLERANCE_VIOLATED)
            return False
        if goal.arrived:
            self._settle(goal)
        else:
            self.on_path = True
        return True

    def _meet(self, goal: Follow, until: GoalCondition) -> bool:
        """Its condition begins to hold: pause the goal or end it. Return whether it ends."""
        self.goal_state.until_met += 1
        if not until.pauses:
            self._stop_goal(goal, ResultCode.SUCCESSFUL)
            return True
        if not goal.paused:
            goal.pause()
            self.goal_state.status = GoalStatus.PAUSED
        return False

    def _check_forces(self, goal: Follow, part: ForcePart) -> bool:
        """Check the forces of the goal under way; False when it has to stop."""
        verdict = self.pressing.check(goal, part, self._time_s)
        if verdict is None:
            return True
        self.goal_state.coordinate, self.goal_state.value, self.goal_state.limit = (
            verdict.row,
            verdict.value,
            verdict.limit,
        )
        if verdict.stops:
            self._stop_goal(goal, verdict.code)
            return False
        if verdict.code is ResultCode.SUCCESSFUL and verdict.row < 0:
            self._end(GoalStatus.SUCCEEDED, verdict.code)
        elif verdict.code is ResultCode.SUCCESSFUL:
            self.law, self.goal_state.status = LawKind.HYBRID, GoalStatus.SETTLING
        else:
            self._end(GoalStatus.ENDED, verdict.code)
        return True

    def _settle(self, goal: Follow) -> None:
        if self.goal_state.status is not GoalStatus.SETTLING:
            self.goal_state.status, self.goal_state.settling_since_s = GoalStatus.SETTLING, self._time_s
        late = self._time_s - self.goal_state.settling_since_s > goal.block.goal_time_s
        if not self._free_motions_rest(goal):
            return
        moved = not self._violates(goal, goal.block.goal_tolerance, tell=late)
        off = self.pressing.off_at_end(goal)
        if moved and off is None:
            self._end(GoalStatus.SUCCEEDED, ResultCode.SUCCESSFUL)
        elif late and moved and off is not None:
            self.goal_state.coordinate, self.goal_state.value, self.goal_state.limit = off
            self._end(GoalStatus.ENDED, ResultCode.FORCE_TOLERANCE_VIOLATED)
        elif late:
            self._end(GoalStatus.ENDED, ResultCode.GOAL_TOLERANCE_VIOLATED)

    def _free_motions_rest(self, goal: Follow) -> bool:
        """Whether motions that a resting goal leaves free have come to rest, or have been damped for long."""
        if goal.task.rest == HOLD:
            return True
        if goal.rests_since_s is None:
            goal.rests_since_s = self._time_s
        return self._watch.at_rest(self._v) or self._time_s - goal.rests_since_s > LONGEST_DAMPING_S

    def _violates(self, goal: Follow, tolerance: Floats, *, tell: bool = True) -> bool:
        error = self._error
        worst = self._watch.violation(goal.index, self.now.theta, self._theta, tolerance, error)
        if worst >= 0 and tell:
            self.goal_state.coordinate = int(goal.index[worst])
            self.goal_state.value, self.goal_state.limit = float(error[worst]), float(tolerance[worst])
        return worst >= 0

    def settled(self) -> bool:
        """While stopping: whether the machine is at rest. Damping ends in a hold, at last after a while."""
        if isinstance(self.motion, _MOVING):
            return False
        if self.law in FREE_LAWS:
            damped_s = self._time_s - self.goal_state.settling_since_s
            if damped_s < LONGEST_DAMPING_S and not self._watch.at_rest(self._v):
                return False
            self.hold_here()
        return True

    # Ways to rest.

    def stop(self, code: ResultCode) -> None:
        """Bring the present motion to rest: a goal on its path (it ends with `code`), others by damping."""
        if isinstance(self.motion, Follow):
            self._stop_goal(self.motion, code)
        elif isinstance(self.motion, Jog):
            self.motion.stop()
        elif self.motion is self._stream:
            if self.goal_state.status is not GoalStatus.STOPPING:
                self._stream.stop()
                self.goal_state.status, self.goal_state.code = GoalStatus.STOPPING, int(code)
        elif self.law in FREE_LAWS:
            self.law, self.goal_state.settling_since_s = LawKind.DAMP, self._time_s

    def _stop_goal(self, goal: Follow, code: ResultCode) -> None:
        if not goal.stopping:
            goal.stop()
            self.goal_state.status, self.goal_state.code = GoalStatus.STOPPING, int(code)

    def abort(self) -> None:
        """End the goal because the brakes engage, with the code already decided or FAULT."""
        if isinstance(self.motion, Follow | StreamedReference):
            stopping = self.goal_state.status is GoalStatus.STOPPING
            self.goal_state.status, self.goal_state.slots_in_use = GoalStatus.ENDED, 0
            self.goal_state.code = self.goal_state.code if stopping else int(ResultCode.FAULT)
        self.hold_here()

    def _end(self, status: GoalStatus, code: int) -> None:
        self.goal_state.status, self.goal_state.code, self.goal_state.slots_in_use = status, int(code), 0
        self._hold()

    def _hold(self) -> None:
        """Hold the reference's position in its coordinates; pressed contacts stay pressed."""
        if self.pressing.gone or self.motion.task is not ONE_LEVEL:
            self.hold_here()
            return
        self._evaluate()
        self.pressing.control.keep()
        self.motion, self.law = Hold(self.motion.index, self.now.theta), self.pressing.resting_law
        self._evaluate()

    def hold_here(self) -> None:
        """Hold the machine's position in the file's goal coordinates, without pressing."""
        self.pressing.control.reset()
        self.motion, self.law = Hold(self._home, self._theta[self._home]), LawKind.HOLD
        self._evaluate()

    def adopt(self, other: Self) -> None:
        """Copy the goal state of the executor of another constraint set; call `hold_here` next."""
        self._time_s, self.limited, self.goal_state = other._time_s, other.limited, replace(other.goal_state)
        if self.frames is not None and other.frames is not None:
            self.frames.adopt(other.frames)

    def carry_on(self, other: Self, before: NDArray[np.bool_], fixed: NDArray[np.bool_]) -> None:
        """Continue the goal under way of the executor of another constraint set, after `adopt`.

        before, fixed (nc): which coordinates its constraints fix, and which ones these fix, at the positions
        of the estimate.
        """
        goal = other.goal
        assert goal is not None, "only a goal is carried on"
        self._combine(goal.block.task.combinations)
        self.motion, self.law, self._until = goal, other.law, other._until
        goal.cross(before, fixed, self._theta, len(self._home))
        self._evaluate()

    # Orders.

    def accept(self, order: StartGoal) -> OrderOutcome:
        """Begin a goal, if its block is verified and begins where the machine is, or where the reference of
        the goal before it is in this very tick.
        """
        outcome = self._accept(order)
        if outcome is not OrderOutcome.DONE:
            self.forget_following()  # its slot may be written again; goals that still wait are expected again
        return outcome

    def _accept(self, order: StartGoal) -> OrderOutcome:
        if not order.verified:
            return OrderOutcome.REFUSED_BLOCK
        try:
            block = GoalBlock(self._slot(order.slot)[: order.words])
            part = block.actions
            until = GoalCondition(part) if part is not None and len(part.condition) else None
        except ValueError:  # BlockError among them
            return OrderOutcome.REFUSED_BLOCK
        begin = order.begin
        if isinstance(begin, Retime):
            return self._retime(order.slot, block, begin)
        if not 0.0 < order.speed <= 1.0:
            return OrderOutcome.REFUSED_VALUE
        late_s, before = 0.0, self.goal
        if not isinstance(begin, Fresh):
            found = junction_outcome(
                begin, before, self.goal_state.id, self.goal_state.status, self._period_s
            )
            if found is not OrderOutcome.DONE:
                return OrderOutcome.REFUSED_SPLICE
        elif isinstance(self.motion, _MOVING):
            return OrderOutcome.REFUSED_BUSY
        self._combine(block.task.combinations)
        if before is None:
            if not self._begins_here(block):
                return OrderOutcome.REFUSED_START
        elif before.touched or before.crossed:
            return OrderOutcome.REFUSED_SPLICE
        elif isinstance(begin, Splice) and begin.rate > 0.0:
            late_s = max(0.0, before.path.here()[0] - begin.s) / begin.rate  # no rounding before its begin
        goal = self._follow(order, block, self._time_s - late_s)
        if goal is None:
            return OrderOutcome.REFUSED_FRAME
        goal.advance(self._time_s)
        law = self.pressing.begin(goal, self.motion, self._time_s)
        if law is None:
            return OrderOutcome.REFUSED_CONTACT
        if isinstance(begin, Fresh):
            self.goal_state.replaced = self.goal_state.replaced_code = 0
        else:
            self.goal_state.replaced, self.goal_state.replaced_code = begin.before, self.goal_state.code
            if isinstance(begin, Splice) and before is not None:
                self.goal_state.replaced_code = int(begin.result)
        self.motion, self.law = goal, self._motion_law if law is LawKind.PIDC else law
        self._evaluate()
        self.goal_state.id, self.goal_state.status, self.goal_state.code = order.goal, GoalStatus.RUNNING, 0
        self.goal_state.coordinate, self.goal_state.value, self.goal_state.limit = -1, 0.0, 0.0
        self.goal_state.slots_in_use = 1 << order.slot
        self.goal_state.until_met, self._until = 0, until
        return OrderOutcome.DONE

    def _follow(self, order: StartGoal, block: GoalBlock, time_s: float) -> Follow | None:
        """The goal of a block, from this device time on; None where its moving frame is elsewhere."""
        part = block.frame
        if part is None:
            return Follow(order.goal, block, time_s, order.speed)
        trackers = () if self.frames is None else self.frames.all
        if not 0 <= part.frame < len(trackers) or not FollowInFrame.may_begin(part, trackers[part.frame]):
            return None
        return FollowInFrame(order.goal, block, time_s, order.speed, part, trackers[part.frame])

    def expect(self, order: StartGoal) -> None:
        """Look ahead to a goal that waits for the one under way, if it takes over in the same coordinates."""
        begin, goal = order.begin, self.goal
        if goal is None or not isinstance(begin, Splice) or begin.before != goal.goal_id:
            return
        if goal.leaves_s == begin.s:
            return  # it is expected already
        try:
            block = GoalBlock(self._slot(order.slot)[: order.words])
        except BlockError:
            return  # refused when its time comes
        goal.leaves_s = begin.s
        if np.array_equal(block.coordinates, goal.index) and block.task is goal.task is ONE_LEVEL:
            goal.following = Following(block, begin.s, begin.rate)

    def forget_following(self) -> None:
        """No goal takes over from the one under way any more."""
        if isinstance(self.motion, Follow):
            self.motion.following, self.motion.leaves_s = None, np.inf

    def _retime(self, slot: int, block: GoalBlock, begin: Retime) -> OrderOutcome:
        """Continue the goal under way with a block for another speed."""
        goal = self.goal
        same = goal is not None and goal.goal_id == begin.before and not (goal.stopping or goal.crossed)
        if goal is None or not same or not np.array_equal(goal.index, block.coordinates):
            return OrderOutcome.REFUSED_SPLICE
        if goal.touched:
            return OrderOutcome.NOTHING_TO_DO
        if begin.keep_speed or begin.speed > goal.own:
            goal.retime(block, begin.speed, goal.speed if begin.keep_speed else begin.speed)
            self._evaluate()
            self.goal_state.slots_in_use = 1 << slot
        else:
            goal.set_speed(begin.speed)
        return OrderOutcome.DONE

    def _combine(self, given: Floats) -> None:
        """Give the last coordinates the coefficients (r × coordinates) of a goal's combinations."""
        count, known = given.shape
        first = len(self._theta) - len(self._combination)
        self._combination[:count, :known] = given
        self._combination[:, first:] = np.diag(np.arange(len(self._combination)) < count)
        self._theta[first:] = self._combination[:, :first] @ self._theta[:first]

    def _begins_here(self, block: GoalBlock) -> bool:
        index, count = block.coordinates, len(block.coordinates)
        start, rate, change = np.zeros((3, count))
        block.evaluate(0.0, start, rate, change)
        allowed, off = self._start_tolerance[index], start - self._here(index)
        return bool(np.all(np.abs(rate) <= allowed) and np.all(np.abs(off) <= allowed))

    def _here(self, index: NDArray[np.int64]) -> Floats:
        """The reference of the coordinates `index` (k), where they are held; else their positions."""
        held = self.law not in FREE_LAWS and np.array_equal(self.now.index, index)
        return self.now.theta if held else self._theta[index]

    def jog(self, order: JogCoordinates) -> OrderOutcome:
        """Begin a jog, or renew the present one."""
        if isinstance(self.motion, Follow | StreamedReference):
            return OrderOutcome.REFUSED_BUSY
        index = self._watch.jog_set([coordinate for coordinate, _ in order.pairs])
        if index is None:
            return OrderOutcome.REFUSED_VALUE
        velocity = np.zeros(len(index))
        for coordinate, rate in order.pairs:
            velocity[int(np.flatnonzero(index == coordinate)[0])] = rate
        if self.pressing.control.pressing:  # the jog begins when the force has gone and the key is still held
            self.pressing.control.release()
            return OrderOutcome.DONE
        if not isinstance(self.motion, Jog):
            if not self._jog.begin(index, self._here(index), self._time_s):
                return OrderOutcome.REFUSED_SINGULAR
            self.motion, self.law = self._jog, self._motion_law
        elif not np.array_equal(self.motion.index, index):
            return OrderOutcome.REFUSED_BUSY
        if self._jog.want(velocity, self._time_s + JOG_DEAD_MAN_S):
            self.limited |= int(Limited.JOG_VELOCITY)
        return OrderOutcome.DONE

    def begin_stream(self, order: StartStream) -> OrderOutcome:
        """Begin a stream where the machine holds."""
        if isinstance(self.motion, _MOVING) or self.pressing.control.pressing:
            return OrderOutcome.REFUSED_BUSY
        index = np.array(order.coordinates, np.int64)
        known = len(index) == len(self._home) and bool(np.all((index >= 0) & (index < len(self._error))))
        if not known or not 0 < order.streamed <= len(index):
            return OrderOutcome.REFUSED_VALUE
        if not self._stream.begin(order, self._here(index), self._time_s):
            return OrderOutcome.REFUSED_SINGULAR
        self.motion, self.law = self._stream, self._motion_law
        self._evaluate()
        self.goal_state = GoalState(id=order.goal, status=GoalStatus.RUNNING)
        return OrderOutcome.DONE

    def finish(self, _: Finish) -> OrderOutcome:
        """End the stream after its last set-point."""
        if self.motion is not self._stream or self.goal_state.status is not GoalStatus.RUNNING:
            return OrderOutcome.NOTHING_TO_DO
        self._stream.finish()
        return OrderOutcome.DONE

    def steer(self, order: Pause | Resume | SetSpeed) -> OrderOutcome:
        """Pauses, resumes or changes the speed of the goal under way."""
        goal = self.motion
        if not isinstance(goal, Follow) or goal.stopping or goal.touched:
            return OrderOutcome.NOTHING_TO_DO
        if isinstance(order, Pause):
            goal.pause()
            self.goal_state.status = GoalStatus.PAUSED
        elif isinstance(order, Resume):
            goal.resume()
            self.goal_state.status = GoalStatus.RUNNING
        elif not 0.0 <= order.fraction <= goal.own:
            return OrderOutcome.REFUSED_VALUE
        else:
            goal.set_speed(order.fraction)
        return OrderOutcome.DONE

    def choose(self, order: ChooseLaw) -> OrderOutcome:
        """Select another law at rest (`REST_LAWS`)."""
        if order.law not in REST_LAWS:
            return OrderOutcome.REFUSED_VALUE
        if isinstance(self.motion, _MOVING):
            return OrderOutcome.REFUSED_BUSY
        self.hold_here()
        self.law = LawKind(order.law)
        return OrderOutcome.DONE
