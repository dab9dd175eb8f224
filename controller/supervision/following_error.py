"""Limit of the following error in every state.

Path tolerances monitor a running goal and stop it on its path. This monitor covers all other states: a
machine that holds, jogs, waits or comes to rest while its motors, sensors or joints deviate from the model.
It is braked when its following error is larger than the machine file allows.
"""

from __future__ import annotations

import numpy as np

from linkwork.arrays import Floats
from linkwork.controller.estimation.limit_monitor import Found, LimitMonitor
from linkwork.controller.exchange.faults import FaultCode
from linkwork.controller.laws import Reference
from linkwork.controller.motion.references.reference import Follow, ReferenceMotion
from linkwork.machine import Machine
from linkwork.protocol.laws import FREE_LAWS, LawKind


class FollowingError:
    """Monitor of the distance between reference and machine; `theta` are the coordinates of the estimate."""

    def __init__(self, machine: Machine, watch: LimitMonitor, theta: Floats) -> None:
        self._most = np.array([tolerance.following_limit for tolerance in machine.tolerances])
        self._watch, self._theta = watch, theta
        self._error = np.zeros(len(theta))
        self._motion: ReferenceMotion | None = None
        self._index = np.zeros(0, np.int64)
        self._allowed = np.zeros(0)

    def check(self, motion: ReferenceMotion, reference: Reference, law: LawKind) -> Found | None:
        """The coordinate that is further from its reference than allowed, if any: (code, index, error,
        limit).

        A goal that was begun with path tolerances wider than that comes to rest within them.
        """
        if law in FREE_LAWS or (isinstance(motion, Follow) and motion.on_its_way):
            return None
        if motion is not self._motion or motion.index is not self._index:
            self._motion, self._index = motion, motion.index
            self._allowed = self._most[motion.index]
            if isinstance(motion, Follow) and not motion.waiting:
                self._allowed = np.maximum(self._allowed, motion.path_tolerance)
        worst = self._watch.violation(self._index, reference.theta, self._theta, self._allowed, self._error)
        if worst < 0:
            return None
        where, off, allowed = self._index[worst], self._error[worst], self._allowed[worst]
        return FaultCode.FOLLOWING_ERROR, int(where), float(off), float(allowed)
