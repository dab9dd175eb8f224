"""The coordinates in which motion is controlled, checked to be one per degree of freedom."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray

from linkwork.machine.building.dof_names import owned
from linkwork.machine.problems import MachineError
from linkwork.machine.sections.file import MachineFile
from linkwork.machine.yaml import Document
from linkwork.multibody.mechanism import Mechanism

_SMALL = 1e-6


def goal_coordinates(
    file: MachineFile, mechanism: Mechanism, document: Document, q: NDArray[np.float64], dof: int
) -> tuple[str, ...]:
    """Return those of the file or, where it names none, independent joints, those with motors first.

    q (nq): the initial pose. Raises MachineError where a constrained machine's are too few or too many; for
    others, see `references`.
    """
    given = file.controller.goal_coordinates
    if not mechanism.constraints:
        return tuple(given or owned(file))
    if given is None:
        return _default(file, mechanism, q)
    if len(given) != dof:
        problem = document.problem(
            ("controller", "goal_coordinates"),
            "these coordinates do not determine the motion",
            found=f"{len(given)} coordinates",
            allowed=f"{dof}, one for each degree of freedom of the machine under its constraints",
        )
        raise MachineError([problem])
    if not _independent(mechanism, q, given, dof):
        problem = document.problem(
            ("controller", "goal_coordinates"),
            "these coordinates depend on each other under the constraints",
            found=", ".join(given),
            allowed=f"independent ones, for example {', '.join(_default(file, mechanism, q))}",
        )
        raise MachineError([problem])
    return tuple(given)


def _independent(mechanism: Mechanism, q: NDArray[np.float64], names: Sequence[str], dof: int) -> bool:
    """Return whether coordinates have independent rates at the pose, or at some pose near it."""
    from linkwork.machine.building.initial_assembly import admitted_velocities, neighbours
    from linkwork.multibody.functions import coordinate_jacobian

    rows = [mechanism.coordinate_index(name) for name in names]
    for pose in neighbours(mechanism, q):
        rates = coordinate_jacobian(mechanism, pose)[rows] @ admitted_velocities(mechanism, pose)
        sizes = np.linalg.norm(rates, axis=1, keepdims=True)
        if np.linalg.matrix_rank(rates / np.maximum(sizes, _SMALL), tol=_SMALL) >= dof:
            return True
    return False


def _default(file: MachineFile, mechanism: Mechanism, q: NDArray[np.float64]) -> tuple[str, ...]:
    from linkwork.machine.building.initial_assembly import (  # the compiler is loaded under constraints alone
        admitted,
        independent,
    )

    return tuple(independent(mechanism, admitted(mechanism, q), [*file.motors, *owned(file)]))
