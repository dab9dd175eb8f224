"""A rig that makes itself ready, and knows small motions that its machine can do."""

from __future__ import annotations

from functools import cached_property

from linkwork.rig.motions import Motions
from linkwork.rig.readiness import make_ready
from linkwork.rig.recorded import RecordedRig


class ReadyRig(RecordedRig):
    """A recorded rig that can be brought to where every test begins."""

    def ready(self) -> None:
        """Make the rig ready: no injected faults, no fault, at home, enabled. Starts missing daemons."""
        make_ready(self)

    @cached_property
    def motions(self) -> Motions:
        """Small feasible motions of this machine: `slow`, `fast`, `of(coordinate)`, `task`."""
        self.ready()
        return Motions(self.machine, self.positions | self.home, lambda motion: self.robot.check(motion))

    @cached_property
    def holds_effort(self) -> bool:
        """Whether it needs effort to rest at home."""
        self.ready()
        self.pass_time(0.01)
        return any(abs(effort) > 1e-6 for effort in self.state["effort"].values())
