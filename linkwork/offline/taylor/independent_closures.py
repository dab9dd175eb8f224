"""Closures without redundant rows: in planar loops of hinges, rows that the joints already impose are left
out.

Each closure in turn is replaced by the first of its weaker kinds that, with those before it, imposes the same
conditions as the whole closure, without a redundant row. For a point that is a pin across the direction in
which it is redundant; for a hinge a cylindrical one, a point or a pin. A closure without a new condition is
dropped.
"""

from collections.abc import Iterator, Sequence
from contextlib import suppress

import numpy as np
import numpy.typing as npt

from linkwork.arrays import Floats
from linkwork.multibody.assembly.assembly import AssemblyError, assemble
from linkwork.multibody.constraints import (
    Closure,
    Constraint,
    CylindricalClosure,
    Frame,
    PinClosure,
    PointClosure,
    RevoluteClosure,
)
from linkwork.multibody.constraints.rows import constraint_rows
from linkwork.multibody.mechanism import Mechanism
from linkwork.multibody.model import ModelError
from linkwork.multibody.tree.joint_dof import onto_z
from linkwork.multibody.tree.kinematics import kinematics
from linkwork.multibody.tree.rotations import move_by

_DEPENDENT = 1e-6
"""Singular value of the scaled rows below which they depend on each other."""
_POSES, _APART = 3, 0.05


class RedundantClosure(ModelError):
    """Rows repeat others and no closure of fewer rows replaces them; `rows` are their names."""

    def __init__(self, rows: Sequence[str], where: tuple[str, ...]) -> None:
        """Make the message with the rows to leave out."""
        self.rows = tuple(rows)
        verb = "repeats" if len(self.rows) == 1 else "repeat"
        super().__init__(
            f"{', '.join(self.rows)} {verb} what the joints and the rows before demand: leave these rows out "
            "by a closure that does not have them",
            where,
        )


def without_redundancy(mechanism: Mechanism, q: npt.ArrayLike) -> list[Constraint]:
    """The constraints that are on, without redundant rows, near an assembled pose q (nq).

    The same motions are admitted. Rows that are left out carry no load, where redundant ones share it. Raises
    RedundantRows where no weaker closure omits the redundant rows.
    """
    poses = list(_poses(mechanism, np.asarray(q, dtype=np.float64)))
    found: list[Constraint] = []
    rank = 0
    for constraint in mechanism.constraints:
        if not constraint.on:
            continue
        whole = max(_rank(mechanism, [*found, constraint], pose) for pose in poses)
        for candidate in _weaker(mechanism, found, constraint, poses):
            ranks = [_rank(mechanism, [*found, candidate], pose) for pose in poses]
            if rank + len(candidate.rows) == whole == max(ranks):
                found.append(candidate)
                break
        else:
            if whole > rank:
                names = _repeated(mechanism, found, constraint, poses)
                raise RedundantClosure(names, ("constraints", constraint.name))
        rank = whole
    return found


def _poses(mechanism: Mechanism, q: Floats) -> Iterator[Floats]:
    """The pose and a few assembled ones near it, where a rank that q alone has does not mislead."""
    yield q
    rng = np.random.default_rng(0)
    columns = mechanism.model.column_scale
    for _ in range(_POSES):
        near = q.copy()
        move_by(mechanism.model, near, columns * rng.normal(size=mechanism.nv), _APART)
        with suppress(AssemblyError):
            yield assemble(mechanism, near, tolerance=1e-10).q


def _weaker(
    mechanism: Mechanism, before: Sequence[Constraint], constraint: Constraint, poses: Sequence[Floats]
) -> Iterator[Constraint]:
    """The closure itself, then those of fewer rows that it contains."""
    yield constraint
    if not isinstance(constraint, Closure):
        return
    name, a, b = constraint.name, constraint.a, constraint.b
    if isinstance(constraint, RevoluteClosure):
        yield CylindricalClosure(name, a=a, b=b, baumgarte=constraint.baumgarte)
        yield PointClosure(name, a=a, b=b, baumgarte=constraint.baumgarte)
    if isinstance(constraint, (RevoluteClosure, CylindricalClosure)):
        yield PinClosure(name, a=a, b=b, baumgarte=constraint.baumgarte)
    if isinstance(constraint, (RevoluteClosure, PointClosure)):
        direction = _redundant(mechanism, before, PointClosure(name, a=a, b=b), poses)
        turned = np.asarray(a.rotation) @ onto_z(direction)
        yield PinClosure(name, a=Frame(a.body, a.at_m, turned), b=b, baumgarte=constraint.baumgarte)


def _redundant(
    mechanism: Mechanism, before: Sequence[Constraint], point: PointClosure, poses: Sequence[Floats]
) -> Floats:
    """The direction (3, frame a) along which a point closure demands least beyond the constraints before."""
    least, direction = np.inf, np.array([0.0, 0.0, 1.0])
    for pose in poses:
        rows = _rows(mechanism, [*before, point], pose)
        others, own = rows[:-3], rows[-3:]
        if len(others):
            own = own - own @ np.linalg.pinv(others, rcond=_DEPENDENT) @ others
        left, sizes, _ = np.linalg.svd(own)
        size = sizes[-1] if len(sizes) == 3 else 0.0
        if size < least:
            least, direction = size, left[:, -1]
    return np.asarray(direction / np.linalg.norm(direction))


def _repeated(
    mechanism: Mechanism, before: Sequence[Constraint], constraint: Constraint, poses: Sequence[Floats]
) -> list[str]:
    """Names of the rows of a constraint that depend on those before them."""
    pose = max(poses, key=lambda each: _rank(mechanism, [*before, constraint], each))
    rows = _rows(mechanism, [*before, constraint], pose)
    first = len(rows) - len(constraint.rows)
    ranks = [int(np.linalg.matrix_rank(rows[:k], tol=_DEPENDENT)) for k in range(first, len(rows) + 1)]
    return [
        f"{constraint.name}.{row.name}"
        for row, low, high in zip(constraint.rows, ranks[:-1], ranks[1:], strict=True)
        if low == high
    ]


def _rank(mechanism: Mechanism, constraints: Sequence[Constraint], q: Floats) -> int:
    return int(np.linalg.matrix_rank(_rows(mechanism, constraints, q), tol=_DEPENDENT))


def _rows(mechanism: Mechanism, constraints: Sequence[Constraint], q: Floats) -> Floats:
    """The scaled rows of these constraints at q."""
    own = mechanism.changed(constraints=constraints)
    w = own.workspace(q)
    kinematics(*w.arguments)
    constraint_rows(*w.arguments)
    rows = own.model.row_scale
    columns = own.model.column_scale
    return np.asarray(rows[:, None] * w.A * columns)
