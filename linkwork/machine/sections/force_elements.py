"""The sections `springs` and `forces`: springs with dampers, applied forces and torques."""

from typing import Literal, Self

from pydantic import model_validator

from linkwork.machine.sections.constraint_base import CoordinateName
from linkwork.machine.sections.fields import Direction, Name, Section, Switch, entry, one_of, wrong
from linkwork.machine.sections.formulas import ForceFormula
from linkwork.machine.sections.quantity import (
    DAMPING,
    EFFORT,
    POSITION,
    STIFFNESS,
    Dimension,
    Quantity,
    Unit,
    given_keys,
    keys_of,
)
from linkwork.multibody.expressions import renamed
from linkwork.multibody.forces import AboutAxis, AlongDirection, AppliedForce, BetweenPoints, OnJoint, Spring

_JOINT = "The joint on which it acts, or its degree of freedom: JOINT.DOF"
_PROGRESSIVE = Dimension((Unit("N_m_rad3", "N m/rad³"),), (Unit("N_m3", "N/m³"),))


class SpringSpec(Section):
    """A spring with a damper, on a joint or between two points.

    With the stretch d, the angle or length less its rest value, it pulls back with
    preload + stiffness d + progressive d³ + damping times the rate.
    """

    about: str = entry("Description of the spring", default="")
    joint: CoordinateName | None = entry(_JOINT, default=None)
    between: list[Name] | None = entry(
        "Instead of a joint: two points, of two bodies or of a body and the world",
        default=None,
        min_length=2,
        max_length=2,
    )
    stiffness = Quantity("stiffness", STIFFNESS, "Stiffness. Default: 0", 0.0, ge=0)
    damping = Quantity("damping", DAMPING, "Damping. Default: 0", 0.0, ge=0)
    rest = Quantity("rest", POSITION, "The {position} at which it is not stretched. Default: 0", 0.0)
    preload = Quantity("preload", EFFORT, "At rest, its {effort} towards smaller values. Default: 0", 0.0)
    progressive = Quantity("progressive", _PROGRESSIVE, "Factor of the stretch cubed. Default: 0", 0.0, ge=0)

    @model_validator(mode="after")
    def _one_line(self) -> Self:
        one_of(self, "joint", "between", needed=True)
        angles, lengths = given_keys(self, True), given_keys(self, False)
        if self.between is not None and angles:
            allowed = ", ".join(keys_of(SpringSpec, False))
            raise wrong(
                "a spring between two points is linear", angles[0], allowed,
                "use a key with the right unit", (angles[0],),
            )  # fmt: skip
        if angles and lengths:
            message = f"{angles[0]} and {lengths[0]} are of different springs"
            raise wrong(message, lengths[0], "an angle's keys or a length's", "keep one kind", (lengths[0],))
        if set(angles + lengths) <= set(type(self).rest.keys(None)):
            raise wrong(
                "the spring exerts no force", "nothing", "stiffness_N_m or stiffness_N_m_rad", "add one"
            )
        if self.between is not None and self.rest < 0.0:
            raise wrong("a length cannot be negative", f"{self.rest:g}", "0 or more", at=("rest_m",))
        return self

    def make(self, name: str) -> Spring:
        """Return the spring of `multibody`."""
        line = OnJoint(self.joint) if self.joint is not None else BetweenPoints(*(self.between or ()))
        return Spring(
            name,
            line,
            stiffness=self.stiffness,
            damping=self.damping,
            rest=self.rest,
            preload=self.preload,
            progressive=self.progressive,
        )


class AppliedForceSpec(Section):
    """A force at a point, a torque on a body, or either on a joint: a number or an expression."""

    about: str = entry("Description of the force", default="")
    joint: CoordinateName | None = entry(_JOINT, default=None)
    point: Name | None = entry("Instead of a joint: the point at which a force acts", default=None)
    body: Name | None = entry("Instead of a joint: the body on which a torque acts", default=None)
    direction: Direction | None = entry(
        "Direction of the force at a point; its length does not matter", default=None
    )
    axis: Direction | None = entry("Axis of the torque on a body; its length does not matter", default=None)
    axes: Literal["world", "body"] = entry(
        "In which axes direction and axis are given: the world's, or those of the body, which they follow",
        default="world",
    )
    force_N: ForceFormula | None = entry(
        "The force: a number, or an expression of coordinates, rate(COORDINATE) and t (s)", "N", None
    )
    torque_N_m: ForceFormula | None = entry("The torque, in the same way", "N m", None)
    plant_only: Switch = entry(
        "Whether only the simulated plant has it, as a disturbance that the controller does not know",
        default=False,
    )

    @model_validator(mode="after")
    def _one_line(self) -> Self:
        one_of(self, "joint", "point", "body", needed=True)
        one_of(self, "force_N", "torque_N_m", needed=True)
        for owner, key, quantity, other in (
            ("point", "direction", "force_N", "torque_N_m"),
            ("body", "axis", "torque_N_m", "force_N"),
        ):
            if getattr(self, owner) is None:
                if getattr(self, key) is not None:
                    raise wrong(
                        f"{key} belongs to a {owner}",
                        key,
                        f"with {owner}",
                        f"remove it, or add {owner}",
                        (key,),
                    )
                continue
            if getattr(self, key) is None:
                raise wrong(f"{key} is missing", "nothing", "three numbers", f"add {key}: [0, 0, 1]")
            if getattr(self, other) is not None:
                raise wrong(f"on a {owner} acts {quantity}", other, quantity, f"write {quantity}", (other,))
        if self.joint is not None and self.axes == "body":
            raise wrong("a joint has its own axis", "body", "nothing", "remove axes", ("axes",))
        return self

    @property
    def value(self) -> float | str:
        """The force or torque: a number, or the text of an expression."""
        value = self.force_N if self.force_N is not None else self.torque_N_m
        assert value is not None
        return value

    @property
    def quantity(self) -> str:
        """The key that gives it."""
        return "force_N" if self.force_N is not None else "torque_N_m"

    def make(self, name: str, called: dict[str, str]) -> AppliedForce:
        """Return the force of `multibody`; `called` are the mechanism's names of coordinates of points."""
        line: OnJoint | AlongDirection | AboutAxis
        if self.joint is not None:
            line = OnJoint(self.joint)
        elif self.point is not None:
            line = AlongDirection(self.point, self.direction or (), self.axes)
        else:
            line = AboutAxis(self.body or "", self.axis or (), self.axes)
        value = renamed(self.value, called) if isinstance(self.value, str) else self.value
        return AppliedForce(name, line, value)
