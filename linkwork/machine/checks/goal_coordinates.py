"""Coordinates in which motion is controlled, one per degree of freedom, and warnings about a machine."""

from collections.abc import Iterator, Sequence
from itertools import pairwise
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from linkwork.machine.building.dof_names import coordinates, owned
from linkwork.machine.building.initial_assembly import admitted, admitted_velocities, independent, neighbours
from linkwork.machine.gains import gain_matrices, sampled_radius
from linkwork.machine.nearest_name import listed
from linkwork.machine.problems import MachineError, Problem
from linkwork.machine.sections.file import MachineFile
from linkwork.machine.sections.visual_shapes import MeshVisual
from linkwork.machine.yaml_document import Document
from linkwork.multibody.functions import coordinate_jacobian
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
    poses = neighbours(mechanism, q)
    return any(np.linalg.matrix_rank(_rates(mechanism, pose, names), tol=_SMALL) >= dof for pose in poses)


def _rates(mechanism: Mechanism, q: NDArray[np.float64], names: Sequence[str]) -> NDArray[np.float64]:
    """Return the rates of coordinates in the admitted motions, each row with length 1."""
    rows = [mechanism.coordinate_index(name) for name in names]
    rates = coordinate_jacobian(mechanism, q)[rows] @ admitted_velocities(mechanism, q)
    found: NDArray[np.float64] = rates / np.maximum(np.linalg.norm(rates, axis=1, keepdims=True), _SMALL)
    return found


def _default(file: MachineFile, mechanism: Mechanism, q: NDArray[np.float64]) -> tuple[str, ...]:
    return tuple(independent(mechanism, admitted(mechanism, q), [*file.motors, *owned(file)]))


def warnings_of(file: MachineFile, document: Document) -> Iterator[Problem]:
    """Return warnings that follow from the sections of the file."""
    for name, body in file.bodies.items():
        if body.inertia_kg_m2.unphysical:
            message = "this inertia may be one that no rigid body has, and is used as it is"
            remedy = "correct the inertia, and remove unphysical"
            place = ("bodies", name, "inertia_kg_m2")
            yield document.problem(place, message, of_key=True, remedy=remedy, severity="warning")
    yield from _mesh_warnings(file, document)
    if file.motors or file.sensors:
        yield from _period_warning(file, document)


def _period_warning(file: MachineFile, document: Document) -> Iterator[Problem]:
    """Return a warning where the ticks are too rare for the bandwidth.

    Error dynamics e'' + 2 d b e' + b² e = 0, whose acceleration is held for a period T, are stable for
    b T < min(1/d, 4 d) (Jury's criterion), without any delay of the device.
    """
    settings = file.controller
    period_s, damping = settings.period_s or file.plant.period_s, settings.damping_ratio
    largest = min(1.0 / damping, 4.0 * damping) / period_s
    stable = settings.bandwidth_rad_s < largest
    radius = sampled_radius(*gain_matrices(settings, list(coordinates(file))), period_s) if stable else 0.0
    if radius >= 1.0:
        yield document.problem(
            ("controller", "gains"),
            f"control is unstable with these gains at a period of {period_s:g} s",
            found=f"errors grow to {radius:.3g} of their size in a period",
            allowed="less than 1",
            remedy="lower the gains, or the period",
            severity="warning",
        )
    if stable:
        return
    yield document.problem(
        ("controller", "bandwidth_rad_s"),
        f"control is unstable with this bandwidth at a period of {period_s:g} s",
        found=f"{settings.bandwidth_rad_s:g} rad/s",
        allowed=f"less than {largest:.3g} rad/s, better a tenth of it",
        remedy="lower bandwidth_rad_s, or the period",
        severity="warning",
    )


def _mesh_warnings(file: MachineFile, document: Document) -> Iterator[Problem]:
    """Return a warning for each mesh whose file is missing, or leads out of the machine file's folder."""
    folder = Path(document.file).parent
    for name, body in file.bodies.items():
        for index, shape in enumerate(body.visual):
            if not isinstance(shape, MeshVisual):
                continue
            path = folder / shape.file
            if not path.is_file():
                message, remedy = (
                    "there is no such file",
                    "give the path of a file that exists",
                )
            elif not shape.outside and not path.resolve().is_relative_to(folder.resolve()):
                message, remedy = (
                    "a link leads out of the machine file's folder",
                    "add outside: true",
                )
            else:
                continue
            place = ("bodies", name, "visual", index, "file")
            yield document.problem(place, message, found=str(path), remedy=remedy, severity="warning")
