"""Start state of a goal that begins while another one is under way.

The gateway names a point of the running path that still lies ahead, and the pose of the machine somewhere
before it. From that pose the machine is carried along the path to the point, so that the inverse kinematics
stays on the present branch; the machine's motion there follows from the path and its rate.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np

from linkwork.arrays import Floats
from linkwork.controller.exchange.goal_block import BlockError
from linkwork.controller.planning.goals.force_goals import with_gaps
from linkwork.controller.planning.goals.frame_goals import expected
from linkwork.controller.planning.messages.planner_messages import GoalBefore
from linkwork.controller.planning.messages.planner_start import Start
from linkwork.controller.planning.paths.path import Path
from linkwork.controller.planning.walk.walk import walk
from linkwork.machine import Machine
from linkwork.multibody.tree.coordinates import coordinates
from linkwork.multibody.tree.kinematics import kinematics
from linkwork.protocol.codes import RequestCode
from linkwork.protocol.errors import RequestError

Words = Callable[[int, int], Floats]
"""(slot, length) → the words of a goal's block."""

_LEAST_WAY_S = 1e-3
_LEAST_RATE = 1e-3


@dataclass(frozen=True)
class GoalInMotion:
    """The goal before a new one: its number, path (with the gaps of pressed contacts), the joints `q` at
    its parameter `at_s`, and the junction at `s` with the rate `rate`; `own`: the speed, as a fraction of the
    goal's own, that the block is for; `time_s`: machine time at `at_s`; `inputs`: the input signals then.
    `begun`: whether it is under way. `framed`: it is in a moving frame, and `path` is for its expected
    motion.
    """

    goal: int
    words: Floats
    path: Path
    q: Floats
    at_s: float
    s: float
    rate: float
    own: float
    time_s: float = 0.0
    inputs: tuple[float, ...] = ()
    begun: bool = True
    framed: bool = False

    @classmethod
    def from_message(
        cls,
        machine: Machine,
        before: GoalBefore,
        words: Words,
        time_s: float = 0.0,
        inputs: tuple[float, ...] = (),
    ) -> GoalInMotion:
        """The goal that the gateway names, with its block read. Raises RequestError (INTERNAL)."""
        q = np.array(before.q, dtype=np.float64)
        try:
            block = words(before.slot, before.words)
            path = with_gaps(machine, Path.of_block(block), q)
        except (BlockError, ValueError) as error:
            text = f"the active goal cannot be read: {type(error).__name__} {error}"
            raise RequestError(RequestCode.INTERNAL, text) from None
        framed = path.frame is not None
        if path.frame is not None:
            path = expected(machine, path, path.frame, before.at_s, inputs if before.begun else ())
        s = min(before.s, path.duration_s)
        return cls(
            before.goal, block, path, q, before.at_s, s, before.rate, before.own, time_s, inputs,
            before.begun, framed,
        )  # fmt: skip

    def start(self, machine: Machine, s: float | None = None, rate: float | None = None) -> Start:
        """The state at the junction, or at another point of the path ahead, at this rate or another one.

        Raises RequestError (INTERNAL) when the path cannot be followed from the pose given.
        """
        s = self.s if s is None else s
        rate = self.rate if rate is None else rate
        q, q1, q2 = self._joints(machine, s)
        workspace = machine.workspace()
        workspace.q[:], workspace.v[:] = q, q1 * rate
        kinematics(*workspace.arguments)
        coordinates(*workspace.arguments)
        theta, first, second = self.path.evaluate(s)
        if s >= self.path.duration_s:  # the end is at rest
            rate = 0.0
            workspace.v[:] = 0.0
        motion = len(self.path.coordinates) - self.path.gaps
        return Start(
            q,
            workspace.v.copy(),
            workspace.theta.copy(),
            workspace.J @ workspace.v,
            self.path.coordinates[:motion],
            tuple(theta[:motion].tolist()),
            moving=rate > 0.0,
            acceleration=workspace.J @ (q2 * rate**2) + workspace.Jdv if rate > 0.0 else None,
            reference_rate=tuple((first[:motion] * rate).tolist()),
            reference_acceleration=tuple((second[:motion] * rate**2).tolist()),
            time_s=self.time_s + s - self.at_s,
            inputs=self.inputs,
            ahead_s=(s - self.at_s) / max(self.rate, _LEAST_RATE),
        )

    def _joints(self, machine: Machine, s: float) -> tuple[Floats, Floats, Floats]:
        """q, q' and q'' at s."""
        first, last, row = self.at_s, s, -1
        if last - first < _LEAST_WAY_S:
            first, last = (s - _LEAST_WAY_S, s) if s > _LEAST_WAY_S else (0.0, _LEAST_WAY_S)
            row = -1 if s > _LEAST_WAY_S else 0
        found = walk(machine, self.path.part(first, last), self.q)
        if found.reached < len(found.s):
            text = "the active goal cannot be followed from the machine's position; try again"
            raise RequestError(RequestCode.INTERNAL, text)
        return found.q[row], found.q1[row], found.q2[row]
