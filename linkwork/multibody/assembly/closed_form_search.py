"""Closed forms, and their detection in a mechanism by its geometry, independent of its frames.

A four-bar is an open chain of three revolute joints with parallel axes, whose end a closure holds at a fixed
place. With e along the first axis, γ the direction of the line from the first pivot to the fixed place, and
β_i(q) that of link i, all about e, the angles of four_bar.py are

    a1 = β1 - γ + π/2,   a2 = β2 - β1,   a3 = β3 - β2,   each a_i = offset + sign q_i
"""

import math
from collections.abc import Callable
from dataclasses import dataclass

import numpy as np

from linkwork.arrays import Floats, Integers
from linkwork.multibody.assembly.four_bar_closed_form import FourBar
from linkwork.multibody.constraints import PinClosure, PointClosure, RevoluteClosure
from linkwork.multibody.constraints.constraint import Frame
from linkwork.multibody.functions import point_position
from linkwork.multibody.mechanism import Mechanism
from linkwork.multibody.model import WORLD, Joint, ModelError, Point

_SMALL = 1e-9
_WHERE = ("closed_form",)
_REMEDY = "remove closed_form: `minimal` then solves the closures by Newton's method"


@dataclass(frozen=True, eq=False)
class ClosedFormFourBar:
    """Closed forms of a four-bar in a mechanism's coordinates: a[i] = offsets[i] + signs[i] q[places[i]].

    They are explicit solutions of the mechanism's closures, with one independent set for each variant.
    q (3), v (3): the mechanism's coordinates, rad, and their rates; `places` (3), `signs` (3), `offsets` (3,
    rad).
    """

    linkage: FourBar
    places: Integers
    signs: Floats
    offsets: Floats

    def angles(self, q: Floats) -> Floats:
        """Return the linkage's own angles a (3, rad) at q (3)."""
        angles: Floats = self.offsets + self.signs * q[self.places]
        return angles

    @property
    def independent(self) -> tuple[tuple[int, ...], ...]:
        """Places of the independent coordinates: of the first joint, or of the last."""
        return tuple((int(self.places[own]),) for (own,) in self.linkage.independent)

    def measure(self, variant: int, q: Floats) -> float:
        """Return the distance of a variant from its singular poses at q (3): 0 there, about 1 far away."""
        return self.linkage.measure(variant, self.angles(q))

    def complete(self, variant: int, near: Floats) -> Floats:
        """Return the q (3) with the independent coordinate of `near` (3), on its branch and whole turns."""
        q = np.empty(3)
        q[self.places] = self.signs * (self.linkage.complete(variant, self.angles(near)) - self.offsets)
        return q

    def ratios(self, variant: int, q: Floats) -> Floats:
        """Return A_x = dG/dq_I (2 × 1) at q (3), rows and columns in the order of q."""
        own = self.linkage.independent[variant][0]
        rates = self.linkage.ratios(variant, self.angles(q))[:, 0]
        return self._dependent(variant, self.signs[own] * rates)[:, None]

    def bias(self, variant: int, q: Floats, v: Floats) -> Floats:
        """Return ξ (2; rad/s²) at q (3) and v (3): accelerations of the dependent angles for q¨_I = 0."""
        return self._dependent(
            variant, self.linkage.bias(variant, self.angles(q), self.signs * v[self.places])
        )

    def _dependent(self, variant: int, values: Floats) -> Floats:
        """Two values of the linkage's dependent angles, as those of the mechanism in the order of q."""
        own = self.linkage.independent[variant][0]
        whole = np.empty(3)
        rest = [k for k in range(3) if k != own]
        whole[self.places[rest]] = self.signs[rest] * values
        return np.delete(whole, self.places[own])


def four_bar_of(mechanism: Mechanism) -> ClosedFormFourBar:
    """Find the four-bar that a mechanism is. Raises ModelError where it is none, with what does not fit."""
    joints = _chain(mechanism)
    fixed, moving = _ends(mechanism, joints)
    points = [
        *(Point(f"O{k}", joint.child) for k, joint in enumerate(joints)),
        *(Point(f"E{k}", joint.child, joint.axis) for k, joint in enumerate(joints)),
        Point("fixed", fixed.body, fixed.at_m),
        Point("moving", moving.body, moving.at_m),
        *(Point(f"{frame.body} axis", frame.body, _tip(frame)) for frame in (fixed, moving)),
    ]
    open_tree = mechanism.bare(points)
    at = {point.name: point_position(open_tree, point.name, np.zeros(3)) for point in points}
    axes = [at[f"E{k}"] - at[f"O{k}"] for k in range(3)]
    normal = axes[0]
    for joint, axis in zip(joints[1:], axes[1:], strict=True):
        if np.linalg.norm(np.cross(normal, axis)) > _SMALL:
            raise _refusal(f"the axes of {joints[0].name} and {joint.name} are not parallel")
    closure = mechanism.constraints[0]
    if isinstance(closure, (PinClosure, RevoluteClosure)):
        directed = [(fixed, "fixed"), (moving, "moving")]
        if isinstance(closure, PinClosure):  # whose frame b has no direction
            directed = [each for each in directed if each[0] is closure.a]
        for frame, origin in directed:
            if np.linalg.norm(np.cross(normal, at[f"{frame.body} axis"] - at[origin])) > _SMALL:
                raise _refusal(f"the closure's axis on {frame.body} is not parallel to those of the joints")
    ground = at["fixed"] - at["O0"]
    links = [at["O1"] - at["O0"], at["O2"] - at["O1"], at["moving"] - at["O2"]]
    flat = [vector - (vector @ normal) * normal for vector in (ground, *links)]
    lengths = [float(np.linalg.norm(vector)) for vector in flat]
    if abs((sum(links) - ground) @ normal) > _SMALL * sum(lengths):
        raise _refusal("the closure's two points do not lie in one plane across the axes")
    linkage = _linkage(lengths)
    one = flat[0] / lengths[0]
    two = np.cross(normal, one)
    directions = np.array([math.atan2(vector @ two, vector @ one) for vector in flat[1:]])
    return ClosedFormFourBar(
        linkage,
        np.array([mechanism.joint_index(joint.name) for joint in joints]),
        np.array([math.copysign(1.0, normal @ axis) for axis in axes]),
        np.diff(directions, prepend=-0.5 * math.pi),
    )


CLOSED_FORMS: dict[str, Callable[[Mechanism], ClosedFormFourBar]] = {"four_bar": four_bar_of}
"""By the names that files use: what finds the closed forms in a mechanism."""


def _refusal(text: str) -> ModelError:
    return ModelError(f"this machine is not a four-bar: {text}", _WHERE, _REMEDY)


def _chain(mechanism: Mechanism) -> list[Joint]:
    """Three revolute joints, each on the body that the one before moves."""
    moving = [joint for joint in mechanism.joints if joint.kind != "fixed"]
    kinds = ", ".join(f"{joint.name} ({joint.kind})" for joint in moving)
    if len(moving) != 3 or any(joint.kind != "revolute" for joint in moving):
        raise _refusal(f"it needs three revolute joints and no other, found {kinds}")
    above = {joint.name: _above(mechanism, joint.parent) for joint in moving}
    ordered = sorted(moving, key=lambda joint: len(above[joint.name]))
    for k, joint in enumerate(ordered):
        if above[joint.name] != [each.name for each in ordered[:k]]:
            raise _refusal(f"its joints must follow each other in one chain, found {kinds}")
    return ordered


def _above(mechanism: Mechanism, body: str) -> list[str]:
    """The movable joints between the world and a body, from the world on."""
    joints = {joint.child: joint for joint in mechanism.joints}
    found: list[str] = []
    while body != WORLD:
        joint = joints[body]
        if joint.kind != "fixed":
            found.insert(0, joint.name)
        body = joint.parent
    return found


def _ends(mechanism: Mechanism, chain: list[Joint]) -> tuple[Frame, Frame]:
    """The frames of the closure: the fixed one, and the one on the last link."""
    there = ", ".join(mechanism.constraint_names) or "none"
    if len(mechanism.constraints) != 1:
        raise _refusal(f"it needs one constraint, the closure of its loop, found {there}")
    closure = mechanism.constraints[0]
    if not isinstance(closure, (PinClosure, PointClosure, RevoluteClosure)) or not closure.on:
        raise _refusal(f"{closure.name} must be a point, pin or revolute closure that is on")
    for fixed, moving in ((closure.a, closure.b), (closure.b, closure.a)):
        last = _above(mechanism, moving.body)
        if not _above(mechanism, fixed.body) and last == [joint.name for joint in chain]:
            return fixed, moving
    raise _refusal(f"{closure.name} must hold the link of {chain[-1].name} at the world")


def _tip(frame: Frame) -> Floats:
    """The end of a frame's z axis, in its body's axes."""
    tip: Floats = np.asarray(frame.at_m) + np.asarray(frame.rotation)[:, 2]
    return tip


def _linkage(lengths: list[float]) -> FourBar:
    try:
        linkage = FourBar(*lengths)
    except ValueError as error:
        raise _refusal(str(error)) from None
    ground, *links = lengths
    for signs in np.ndindex(2, 2, 2):
        reach = sum((1 - 2 * sign) * link for sign, link in zip(signs, links, strict=True))
        if abs(abs(reach) - ground) < 1e-6 * sum(lengths):
            shown = ", ".join(f"{length:.6g}" for length in lengths)
            raise _refusal(
                f"with ground and links of {shown} m it can lie flat, where no angle is independent"
            )
    return linkage
