"""Steps of an offline run in Python: what all methods share, beside the compiled steps of run_kernels.py."""

from abc import ABC, abstractmethod

import numpy as np

from linkwork.arrays import Floats
from linkwork.multibody.reactions.reactions import Reaction
from linkwork.multibody.workspace import Workspace
from linkwork.offline.run_kernels import look


class OfflineSteps(ABC):
    """Steps of a workspace, one after the other.

    `switches`: changes of independent coordinates so far, None where there are none to choose. `stopped`: why
    fewer steps were made than asked for, if that is known. `reactions`: of each step, where it finds them.
    `conditions`: smallest and largest condition number of the inertia matrix, where the method has one.
    """

    stopped: str = ""
    reactions: list[tuple[Reaction, ...]] | None = None
    conditions: tuple[float, float] | None = None

    def __init__(self, work: Workspace) -> None:
        """Take state, formulation and corrections from `work`."""
        self._work = work

    @property
    def switches(self) -> int | None:
        """Changes of independent coordinates so far."""
        return None

    def restart(self) -> None:  # noqa: B027  most methods have nothing to choose again
        """Begin again at the present state: constraints have been switched."""

    @abstractmethod
    def __call__(self, method: int, dt: float, count: int, rows: Floats, figures: Floats) -> int:
        """Make `count` steps of dt, writing the state after each to a row; return those finite.

        method: of `step.METHODS`. figures: those of run_kernels.py.
        """


class SingleSteps(OfflineSteps):
    """Steps that are made one by one."""

    def __call__(self, method: int, dt: float, count: int, rows: Floats, figures: Floats) -> int:
        """Make the steps, see `OfflineSteps`."""
        for step in range(count):
            if not self._advance(method, dt) or not self._record(dt, rows[step], figures):
                return step
        return count

    @abstractmethod
    def _advance(self, method: int, dt: float) -> bool:
        """Make one step; return whether it could be made."""

    def _record(self, dt: float, row: Floats, figures: Floats) -> bool:
        """Write the state to a row and update the figures; return whether it is finite."""
        work = self._work
        row[:] = np.concatenate([work.q, work.v])
        if not np.isfinite(row).all():
            return False
        look(*work.arguments, dt, figures)
        return True
