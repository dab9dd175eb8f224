"""The linear regressor of a machine's inverse dynamics, with names, units and values of its parameters."""

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Literal, get_args

import numpy as np
import numpy.typing as npt

from linkwork.arrays import Floats
from linkwork.identification.regressor_kernels import PER_BODY, RegressorFrames, regressor
from linkwork.multibody.dynamics.tree_dynamics import dynamics
from linkwork.multibody.forces import AppliedForce, OnJoint, Spring
from linkwork.multibody.mechanism import Mechanism
from linkwork.multibody.model import Body
from linkwork.multibody.tree.link_tree import links_of

__all__ = ["PER_BODY", "DynamicParameter", "Regressor", "body_parameters"]

Kind = Literal[
    "inertial", "armature", "viscous", "coulomb", "offset", "spring", "stribeck", "stribeck_speed", "load"
]  # fmt: skip

_INERTIAL = (
    ("mass", "kg", 0),
    *((f"first_moment_{axis}", "kg m", 1) for axis in "xyz"),
    *((f"inertia_{axes}", "kg m²", 2) for axes in ("xx", "xy", "xz", "yy", "yz", "zz")),
)
_UPPER = np.triu_indices(3)


@dataclass(frozen=True)
class DynamicParameter:
    """One parameter in which inverse dynamics are linear.

    owner: its body, degree of freedom or spring; `quantity`: "mass", "first_moment_x" (m c), "inertia_xy"
    (about the origin of the body's frame, in body axes), "armature", "viscous", "coulomb", "offset",
    "stiffness", "damping", "preload", "progressive", and those of `FrictionRegressor`. power: that of a
    length in its unit, for inertial ones.
    """

    kind: Kind
    owner: str
    quantity: str
    unit: str
    value: float
    power: int = 0

    @property
    def name(self) -> str:
        """Owner and quantity, as `left_arm.mass`."""
        return f"{self.owner}.{self.quantity}"


def body_parameters(body: Body) -> Floats:
    """Return mass, m c and inertia about the origin (xx, xy, xz, yy, yz, zz) of a body (10; SI units)."""
    c, mass = np.asarray(body.com_m), body.mass_kg
    inertia = np.asarray(body.inertia_kg_m2) + mass * (float(c @ c) * np.eye(3) - np.outer(c, c))
    return np.concatenate([[mass], mass * c, inertia[_UPPER]])


def _parameters(mechanism: Mechanism) -> Iterator[DynamicParameter]:
    for body in mechanism.bodies:
        for (quantity, unit, power), value in zip(_INERTIAL, body_parameters(body), strict=True):
            yield DynamicParameter("inertial", body.name, quantity, unit, float(value), power)
    m = mechanism.model
    for k, (name, angle) in enumerate(zip(mechanism.joint_names, mechanism.joint_is_angle, strict=True)):
        turns = ("kg m²", "N m s/rad", "N m") if angle else ("kg", "N s/m", "N")
        yield DynamicParameter("armature", name, "armature", turns[0], float(m.armature[k]))
        yield DynamicParameter("viscous", name, "viscous", turns[1], float(m.viscous[k]))
        yield DynamicParameter("coulomb", name, "coulomb", turns[2], float(m.coulomb[k]))
        yield DynamicParameter("offset", name, "offset", turns[2], 0.0)
    is_angle = dict(zip(mechanism.joint_names, mechanism.joint_is_angle, strict=True))
    for spring in mechanism.elements:
        if isinstance(spring, Spring):
            angle = isinstance(spring.line, OnJoint) and is_angle[spring.line.dof]
            force, way = ("N m", "rad") if angle else ("N", "m")
            yield DynamicParameter("spring", spring.name, "stiffness", f"{force}/{way}", spring.stiffness)
            yield DynamicParameter("spring", spring.name, "damping", f"{force} s/{way}", spring.damping)
            yield DynamicParameter("spring", spring.name, "preload", force, spring.preload)
            yield DynamicParameter(
                "spring", spring.name, "progressive", f"{force}/{way}³", spring.progressive
            )


class Regressor:
    """Y(q, v, v̇) with Y θ + known(q, v) = M v̇ + h - friction - compliant, for the tree of a mechanism.

    `parameters` describes the columns: those of bodies, then of degrees of freedom, then of springs. `values`
    (columns) are the θ of the mechanism. SI units, rad.
    """

    def __init__(self, mechanism: Mechanism) -> None:
        """Take the mechanism's frames; nothing is evaluated."""
        self.mechanism = mechanism
        self.parameters = tuple(_parameters(mechanism))
        self.values: Floats = np.array([each.value for each in self.parameters])
        self._work = mechanism.workspace()
        seats = links_of(mechanism.bodies, mechanism.joints)[1]
        placed = [seats[body.name] for body in mechanism.bodies]
        self._frames = RegressorFrames(
            {"n_links": mechanism.model.n_links},
            n_bodies=len(placed),
            link=np.array([seat.link for seat in placed], dtype=np.int64),
            axes=np.ascontiguousarray(np.vstack([seat.axes.T for seat in placed])),
            origin=np.array([seat.origin for seat in placed], dtype=np.float64),
        )
        m = mechanism.model
        self._nothing = m.changed(
            {
                **{name: 0.0 * getattr(m, name) for name in ("mass", "com", "inertia")},
                **{name: np.zeros(m.nv) for name in ("armature", "viscous", "coulomb")},
                "element_law": _without_springs(mechanism),
            }
        )
        forces = any(isinstance(each, AppliedForce) for each in mechanism.elements)
        self._has_known = bool(forces or mechanism.stops or mechanism.contacts)

    def columns(self, *kinds: Kind) -> np.ndarray[tuple[int], np.dtype[np.int64]]:
        """Return the places of the parameters of these kinds; of all without any."""
        wanted = kinds or get_args(Kind)
        return np.array([k for k, each in enumerate(self.parameters) if each.kind in wanted], dtype=np.int64)

    def rows(
        self, q: npt.ArrayLike, v: npt.ArrayLike, vdot: npt.ArrayLike, out: Floats | None = None
    ) -> Floats:
        """Return Y (nv × columns; into `out`, C-contiguous, where given) at q (nq), v and v̇ (nv).

        Raises ValueError for wrong lengths.
        """
        w = self._work
        w.q[:], w.v[:], w.vdot[:] = q, v, vdot
        found = np.empty((self.mechanism.nv, len(self.parameters))) if out is None else out
        regressor(w.model, w, self._frames, found)
        return found

    def projected(self, q: Floats, v: Floats, vdot: Floats, gradient: Floats) -> Floats:
        """Return G'Y (k × columns) at q, v and v̇ for the gradient G (nv × k) of a closed pose."""
        return np.asarray(gradient.T @ self.rows(q, v, vdot))

    def known(self, q: npt.ArrayLike, v: npt.ArrayLike, time_s: float = 0.0) -> Floats:
        """Return the effort (nv; N m or N) that balances applied forces, stops and contacts."""
        w = self._work
        if not self._has_known:
            return np.zeros(self.mechanism.nv)
        w.q[:], w.v[:] = q, v
        w.clock[:] = time_s
        dynamics(self._nothing, w)
        return np.asarray(w.h - w.compliant)


def _without_springs(mechanism: Mechanism) -> Floats:
    law = np.array(mechanism.model.element_law)
    for row, element in zip(law, mechanism.elements, strict=True):
        if isinstance(element, Spring):
            row[[0, 1, 3, 4]] = 0.0
    return law
