"""The coordinates in which motion is controlled, checked to be one per degree of freedom."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from itertools import pairwise

import numpy as np
from numpy.typing import NDArray

from linkwork.machine.building.dof_names import owned
from linkwork.machine.nearest_name import listed
from linkwork.machine.problems import MachineError, Problem
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


def dependent_warnings(
    file: MachineFile, mechanism: Mechanism, document: Document, q: NDArray[np.float64], dof: int
) -> Iterator[Problem]:
    """Return a warning where the file's coordinates depend on each other at the initial pose q (nq) alone.

    A branch pose, in which they always do, has another warning.
    """
    given = file.controller.goal_coordinates
    if given is None or not mechanism.constraints:
        return
    rates = _rates(mechanism, q, given)
    if rates.shape[1] != dof:
        return
    ranks = [np.linalg.matrix_rank(rates[:count], tol=_SMALL) for count in range(len(given) + 1)]
    dependent = [name for name, (before, rank) in zip(given, pairwise(ranks), strict=True) if rank == before]
    if dependent:
        yield document.problem(
            ("controller", "goal_coordinates"),
            "these coordinates do not determine the motion in the initial pose: there, `enable` is refused",
            found=f"{listed(dependent)} among them, determined by the others",
            remedy=f"start in another pose, or write for example {', '.join(_default(file, mechanism, q))}",
            severity="warning",
        )


def _independent(mechanism: Mechanism, q: NDArray[np.float64], names: Sequence[str], dof: int) -> bool:
    """Return whether coordinates have independent rates at the pose, or at some pose near it."""
    from linkwork.machine.building.initial_assembly import neighbours

    poses = neighbours(mechanism, q)
    return any(np.linalg.matrix_rank(_rates(mechanism, pose, names), tol=_SMALL) >= dof for pose in poses)


def _rates(mechanism: Mechanism, q: NDArray[np.float64], names: Sequence[str]) -> NDArray[np.float64]:
    """Return the rates of coordinates in the admitted motions, each row with length 1."""
    from linkwork.machine.building.initial_assembly import admitted_velocities
    from linkwork.multibody.functions import coordinate_jacobian

    rows = [mechanism.coordinate_index(name) for name in names]
    rates = coordinate_jacobian(mechanism, q)[rows] @ admitted_velocities(mechanism, q)
    found: NDArray[np.float64] = rates / np.maximum(np.linalg.norm(rates, axis=1, keepdims=True), _SMALL)
    return found


def _default(file: MachineFile, mechanism: Mechanism, q: NDArray[np.float64]) -> tuple[str, ...]:
    from linkwork.machine.building.initial_assembly import (  # the compiler is loaded under constraints alone
        admitted,
        independent,
    )

    return tuple(independent(mechanism, admitted(mechanism, q), [*file.motors, *owned(file)]))
