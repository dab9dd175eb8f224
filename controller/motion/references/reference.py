"""References: where the goal coordinates should be, now and a little ahead.

All kinds have the same two methods: `advance(time_s)` moves to the device time of this tick,
and `evaluate(ahead_s, …)` gives position, velocity and acceleration that much later. A goal is a path over
its parameter s; time enters only through the rate ds/dt, so every stop, pause and change of speed keeps the
machine on its path.
"""

from dataclasses import dataclass, replace
from enum import IntEnum
from typing import Protocol

import numpy as np
from numpy.typing import NDArray

from linkwork.arrays import Floats
from linkwork.controller.exchange.goal_action_part import ActionPart
from linkwork.controller.exchange.goal_block import GoalBlock, evaluate
from linkwork.controller.exchange.goal_task_part import DAMP, HOLD, ONE_LEVEL, TaskPart
from linkwork.controller.motion.references.path_rate import PathRate, TimeScaling
from linkwork.multibody.expressions.condition_program import ConditionProgram
from linkwork.multibody.kernels.compiling import kernel


class GoalStatus(IntEnum):
    """Status of a goal."""

    NONE = 0
    RUNNING = 1
    SETTLING = 2
    """The reference has arrived; the machine has the goal time to be within the goal tolerance."""
    PAUSED = 3
    STOPPING = 4
    """The reference comes to rest on the path; then the goal ends with the code already decided."""
    SUCCEEDED = 5
    ENDED = 6
    """Ended otherwise; the result code says why."""


class ReferenceMotion(Protocol):
    """A reference for the coordinates `index` (indices into the mechanism's coordinates).

    follows: whether it is that of a goal or a stream, for which the machine must be homed. task: how
    these coordinates share the motion.
    """

    index: NDArray[np.int64]
    follows: bool
    task: TaskPart

    def advance(self, time_s: float) -> None:
        """Move to the device time of this tick."""
        ...

    def evaluate(self, ahead_s: float, theta: Floats, velocity: Floats, acceleration: Floats) -> None:
        """Write the reference `ahead_s` after this tick: theta, velocity, acceleration (k; rad or m) of
        `index`.
        """
        ...

    @property
    def rest(self) -> int:
        """Treatment of motions that the coordinates leave free: a code of `goal_task_part`."""
        ...

    @property
    def resting(self) -> bool:
        """Whether the reference stands still from here on."""
        ...


class Hold:
    """A reference at rest."""

    resting, follows = True, False
    task, rest = ONE_LEVEL, HOLD

    def __init__(self, index: NDArray[np.int64], theta: Floats) -> None:
        self.index = index
        self._theta = theta.copy()

    def advance(self, time_s: float) -> None:
        """Do nothing: the reference is at rest."""

    def evaluate(self, _ahead_s: float, theta: Floats, velocity: Floats, acceleration: Floats) -> None:
        """Write the held position (k; rad or m), with zero rates (k each)."""
        theta[:] = self._theta
        velocity[:] = 0.0
        acceleration[:] = 0.0


@kernel
def along_path(
    words: Floats, s: float, rate: float, change: float, theta: Floats, velocity: Floats, acceleration: Floats
) -> None:
    """Write θ(s), θ' ds/dt and θ'' (ds/dt)² + θ' d²s/dt² (k each), with ds/dt = rate and d²s/dt² = change.

    words: the goal block, a flat array.
    """
    evaluate(words, s, theta, velocity, acceleration)
    for i in range(len(theta)):
        acceleration[i] = acceleration[i] * rate * rate + velocity[i] * change
        velocity[i] *= rate


@dataclass(frozen=True, slots=True)
class Following:
    """A goal that is to take over at this path parameter, if the rate still is this one then."""

    block: GoalBlock
    s: float
    rate: float


def newly_fixed(
    known: NDArray[np.int64] | None, before: NDArray[np.bool_], fixed: NDArray[np.bool_], held: int
) -> NDArray[np.int64]:
    """Return which of a goal's coordinates (k) stay where they are when constraints open or close.

    known: those that did until now. before, fixed (k): which ones constraints fixed, and fix now. What they
    have fixed from the start follows its path. held: how many, the last ones, hold what the others leave
    free: they do so where the machine is.
    """
    still = fixed & ~before
    if known is not None:
        still[known] = fixed[known]
    still[len(still) - held :] = True
    return np.flatnonzero(still)


class Follow:
    """A goal under way: the block's path, walked at the path rate.

    `speed` is the fraction of the goal's own speed that is asked for, `own` the fraction that the block is
    for: above 1 after the goal was sped up.
    """

    follows = True

    def __init__(self, goal_id: int, block: GoalBlock, time_s: float, speed: float) -> None:
        self.goal_id, self.block = goal_id, block
        self.index = block.coordinates
        self.task = block.task
        self.rests_since_s: float | None = None
        """Device time since when its rows rest and the motions that they leave free are damped."""
        self.speed, self.own = speed, 1.0
        self.path = PathRate(time_s, 0.0)
        self.path.start(time_s, speed)
        self.stopping = False
        self.paused = False
        self._easing = TimeScaling()
        self._until: Hold | None = None
        self._kept: NDArray[np.int64] | None = None
        self.following: Following | None = None
        self.leaves_s = np.inf
        """Path parameter at which a goal that waits takes over."""
        self.crossed = False
        """Whether other constraints hold than those under which the goal has begun."""
        self._fixed: NDArray[np.int64] | None = None
        self._fixed_at: Floats = np.zeros(0)
        """Those of its coordinates that constraints have come to fix under way, and where."""

    def advance(self, time_s: float) -> None:
        """Move to the device time of this tick."""
        self.path.advance(time_s)

    def evaluate(self, ahead_s: float, theta: Floats, velocity: Floats, acceleration: Floats) -> None:
        """Write the motion (k each) `ahead_s` later, along the path and that of the goal that follows."""
        if self._until is not None:
            self._until.evaluate(ahead_s, theta, velocity, acceleration)
            return
        path = self.path
        s, rate, change = path.rate_at(ahead_s) if ahead_s else path.here()
        then = self.following
        if then is not None and s > then.s and rate == then.rate and change == 0.0:
            along_path(then.block.words, (s - then.s) / rate, 1.0, 0.0, theta, velocity, acceleration)
            return
        if self._kept is None:
            along_path(self.block.words, s, rate, change, theta, velocity, acceleration)
            if self._fixed is not None:
                theta[self._fixed] = self._fixed_at
                velocity[self._fixed] = acceleration[self._fixed] = 0.0
            return
        whole = np.zeros((3, len(self.block.coordinates)))
        along_path(self.block.words, s, rate, change, *whole)
        theta[:], velocity[:], acceleration[:] = whole[:, self._kept]

    def wait_in(self, hold: Hold) -> None:
        """Keep the reference that was held before, until `begin`."""
        self._until, self.index, self.task = hold, hold.index, hold.task
        self.path.start(self.path.time_s, 0.0)

    @property
    def waiting(self) -> bool:
        """Whether the goal still keeps the reference held before it."""
        return self._until is not None

    @property
    def held(self) -> Hold | None:
        """The reference that is kept while the goal waits."""
        return self._until

    def cross(self, before: NDArray[np.bool_], fixed: NDArray[np.bool_], theta: Floats, free: int) -> None:
        """Continue under other constraints, which leave the machine `free` degrees of freedom.

        before, fixed, theta (nc): which coordinates of the machine constraints fixed, and which ones they fix
        now; their positions (rad or m). Motions that the goal does not determine any more are damped.
        """
        own = newly_fixed(self._fixed, before[self.index], fixed[self.index], self.task.held)
        self._fixed, self.crossed = own if len(own) else None, True
        self._fixed_at = theta[self.index[own]]
        undriven = np.count_nonzero(~fixed[self.index]) < free
        rest = DAMP if self.task.rest == HOLD and undriven else self.task.rest
        self.task = replace(self.task, rest=rest)
        self.following, self.leaves_s = None, np.inf

    def opening_ahead(self, ahead_s: float) -> tuple[int, float]:
        """Return what its next event opens (a bit for each constraint), and the time (s) from then to it."""
        s, rate, _ = self.path.rate_at(ahead_s)
        places, sets = self.task.switches.T
        at = int(np.searchsorted(places, self.path.rate_at(0.0)[0], "right"))
        if at == len(places) or rate <= 0.0:
            return 0, np.inf
        before, after = int(sets[at - 1]), int(sets[at])
        return before & ~after, float(places[at] - s) / rate

    def begin(self, time_s: float) -> None:
        """Set out after `wait_in`."""
        self._until, self.index, self.task = None, self.block.coordinates, self.block.task
        self.path.start(time_s, 0.0 if self.paused else self.speed)

    def touch(self, kept: NDArray[np.int64]) -> None:
        """Stop on the path. Only these of the path's coordinates remain in use: `kept` (k), their indices."""
        self._kept, self.index = kept, self.block.coordinates[kept]
        self._aim(0.0)

    @property
    def touched(self) -> bool:
        """Whether `touch` was called."""
        return self._kept is not None

    def stop(self) -> None:
        """Slow the path parameter to rest, within what the goal was admitted for."""
        self.stopping = True
        self._aim(0.0)

    def pause(self) -> None:
        """Stop on the path as `stop` does; the goal may continue later."""
        self.paused = True
        self._aim(0.0)

    def resume(self) -> None:
        """Return to the requested speed."""
        self.paused = False
        self._aim(self._wanted)

    def set_speed(self, fraction: float) -> None:
        """Another fraction of the goal's own speed, up to `own`; while paused it is remembered."""
        self.speed = fraction
        if not (self.paused or self.stopping):
            self._aim(self._wanted)

    @property
    def _wanted(self) -> float:
        """The rate to aim at: the speed asked for, eased, in the block's own seconds."""
        return self.speed * self._easing.told / self.own

    def ease(self, dt: float, *, limited: bool) -> bool:
        """Slow the goal down while something limits its motion; return whether it is slower than asked
        for."""
        if not limited and self._easing.idle:
            return False
        if self._easing.update(dt, limited=limited) and not (self.paused or self.stopping or self.arrived):
            self._aim(self._wanted)
        return self._easing.active and not self.stopping

    @property
    def eased(self) -> bool:
        """Whether the goal has not been limited for a while."""
        return self._easing.idle

    def retime(self, block: GoalBlock, own: float, speed: float) -> None:
        """Continue with another block of the same path, whose own speed is the fraction `own` of the goal's.

        Position, velocity and acceleration are continuous; then the goal changes to `speed`, at most
        `own`.
        """
        ratio = self.own / own
        s, rate, _ = self.path.here()
        self.block, self.own, self.speed = block, own, min(speed, own)
        wanted = 0.0 if self.paused else self._wanted
        slower = wanted < rate * ratio
        limits = block.stop_limits(s * ratio) if slower else block.go_limits(s * ratio)
        self.path.restate(1.0 / ratio, wanted, *limits)

    def _aim(self, rate: float) -> None:
        if self.waiting:
            return
        rate = 0.0 if self.touched else rate
        s, now, _ = self.path.here()
        limits = self.block.stop_limits(s) if rate < now else self.block.go_limits(s)
        self.path.aim(rate, *limits)

    @property
    def rest(self) -> int:
        """Treatment of motions that the rows leave free: they are damped where the rows come to rest."""
        stands = self.stopping or self.paused or self.arrived
        return DAMP if stands and self.task.rest != HOLD else self.task.rest

    @property
    def on_its_way(self) -> bool:
        """Whether its path tolerances are minded: not while it waits, stops or presses."""
        return not self.stopping and self._until is None and self._kept is None

    @property
    def path_tolerance(self) -> Floats:
        """Path tolerances (k; rad or m) of the coordinates `index`, unless it waits."""
        whole = self.block.path_tolerance
        return whole if self._kept is None else whole[self._kept]

    @property
    def arrived(self) -> bool:
        """Whether the path's end has been reached."""
        return self.path.here()[0] >= self.block.duration_s

    @property
    def resting(self) -> bool:
        """Whether the reference stands still from here on."""
        return self.arrived or (self.path.steady and self.path.target == 0.0)


class GoalCondition:
    """The condition of one goal. `pauses`: it pauses the goal each time it begins to hold, else it ends it.

    Raises ValueError when the part has no valid program.
    """

    def __init__(self, part: ActionPart) -> None:
        self.pauses = part.pauses
        self._program = ConditionProgram(part.condition)
        self._held = False

    def begins(self, words: Floats) -> bool:
        """Whether the condition holds for a record (its words: flat array), and not for the one before."""
        before, self._held = self._held, self._program.holds(words)
        return self._held and not before
