"""Base class of all constraints in the machine file, and the names of their coordinates."""

from abc import abstractmethod
from typing import Annotated, Any, Literal

from pydantic import Field

from linkwork.machine.problems import Place
from linkwork.machine.sections.fields import Alias, Interval, Number, Section, Switch, alias, entry
from linkwork.multibody.constraints import Constraint
from linkwork.multibody.expressions import names_in, parse

COORDINATE_PATTERN = r"^[A-Za-z][A-Za-z0-9_]*(\.[A-Za-z0-9]+)?$"
CoordinateName = Annotated[str, Field(pattern=COORDINATE_PATTERN, max_length=60)]
OF = "A coordinate: a joint, JOINT.DOF, a task coordinate, or POINT.x, .y, .z, .roll, .pitch, .yaw"


class ConstraintSpec(Section):
    """Base class of all constraints."""

    on: Switch = entry("Whether it is on from the start", default=True)
    switchable: Switch = entry(
        "Whether it may be switched on and off in operation: a grasp, a guide that ends",
        default=False,
    )
    closed_when: str = entry(
        "Condition on digital signals, such as `clamp`, by which a simulated plant switches the constraint",
        default="",
        max_length=1000,
    )
    about: str = entry("Description of the constraint", default="")
    alias: Alias | None = alias()
    alpha_1_s: Number = entry("Baumgarte: damping of the residual", "1/s", 0.0, ge=0)
    beta_1_s2: Number = entry("Baumgarte: stiffness of the residual", "1/s²", 0.0, ge=0)

    max_force_N: Number | None = entry(
        "Largest force. Default: no limit. Of closures, and of coordinates that are lengths",
        "N",
        None,
        gt=0,
    )
    max_torque_N_m: Number | None = entry(
        "Largest torque. Default: no limit. Of closures, and of coordinates that are angles",
        "N m",
        None,
        gt=0,
    )
    load_limits: dict[str, Interval] = entry(
        "Bounds of single rows' forces or torques, by row, such as x: [-50, 50] or y: '> 2' (N, or N m)",
        default_factory=dict,
    )
    on_exceed: Literal["fault", "limited"] = entry(
        "In motion, above a limit: stop with a fault, or slow down and report it", default="fault"
    )

    @abstractmethod
    def make(self, name: str) -> Constraint:
        """Return what multibody calls it."""

    def named(self) -> list[tuple[Place, str]]:
        """Return the coordinates that it names, each with its place within the constraint.

        Those in formulas are not among them, see `coordinates_in_formulas`.
        """
        return []

    def formulas(self) -> list[tuple[Place, Any]]:
        """Return values that may be expressions, each with its place within the constraint."""
        return []

    def texts_of_formulas(self) -> list[tuple[Place, str]]:
        """Return those of them that are expressions."""
        return [(place, value) for place, value in self.formulas() if isinstance(value, str)]

    def coordinates_in_formulas(self) -> list[tuple[Place, str, int]]:
        """Return the coordinates in formulas: place of the formula, name, and character within it."""
        return [
            (place, name, at)
            for place, text in self.texts_of_formulas()
            for side, start in _sides(text)
            for name, at in ((name, start + at) for name, at in names_in(parse(side)).items())
        ]

    def baumgarte(self) -> tuple[float, float]:
        """Return α and β."""
        return self.alpha_1_s, self.beta_1_s2


def _sides(text: str) -> list[tuple[str, int]]:
    left, equals, right = text.partition("=")
    return [(left, 0), (right, len(left) + 1)] if equals else [(left, 0)]
