"""The section `controller.force`: settings of force control, and the forces that can be controlled."""

from dataclasses import dataclass
from typing import Literal

from linkwork.machine.sections.fields import Number, Section, entry
from linkwork.multibody.constraints import Closure, Constraint, CoordinateConstraint
from linkwork.multibody.constraints.constraint import Row
from linkwork.multibody.mechanism import Mechanism


class ForceSettings(Section):
    """Force control: settings for pressed contacts and controlled constraint forces."""

    proportional: Number = entry("Gain on the error of force", "1", 0.0, ge=0, le=100)
    integral_per_s: Number = entry("Gain on the integral of the error of force", "1/s", 20.0, ge=0, le=10_000)
    added_damping_ratio: Number = entry(
        "Damping ratio added by the motors along the normal, for the point on the contact's spring",
        "1",
        0.5,
        ge=0,
        le=10,
    )
    most_correction_N: Number = entry(
        "Largest correction of a commanded force (of an angular constraint: N m)",
        "N",
        50.0,
        gt=0,
    )
    rate_N_s: Number = entry("Largest rate of a commanded force; steps become ramps", "N/s", 100.0, gt=0)
    tolerance_N: Number = entry("Default force tolerance of goals", "N", 5.0, gt=0)
    settle_s: Number = entry(
        "Time after the start of a goal or a touch in which force tolerances are not checked",
        "s",
        0.5,
        ge=0,
        le=60,
    )
    touch_N: Number = entry(
        "Force above which a contact counts as made, and below which as lost", "N", 1.0, gt=0
    )
    lost_s: Number = entry("Time without force after which contact counts as lost", "s", 0.02, gt=0, le=10)
    source: Literal["sensor", "model"] = entry(
        "Source of contact and constraint forces: force sensors where present, or always the model",
        default="sensor",
    )
    estimate_Hz: Number = entry(
        "Cut-off of the low-pass filter on forces that are estimated, where no sensor measures them",
        "Hz",
        50.0,
        gt=0,
    )


@dataclass(frozen=True)
class ForceRow:
    """A force that goals may name: of a contact, or of a constraint's row.

    A row of several is named with its component, `tip.x`; `whole`: it is the constraint's only one. `index`
    counts the mechanism's contacts, or its constraints; `row` is the constraint's row, -1 for a
    contact, and `gap` the coordinate of a contact's gap, -1 for a constraint. `unit` is N or N m.
    """

    name: str
    kind: Literal["contact", "constraint"]
    index: int
    row: int
    gap: int
    unit: Literal["N", "N m"]
    whole: bool = True


def force_rows(mechanism: Mechanism, *, components: bool = False) -> tuple[ForceRow, ...]:
    """Return the forces that goals may name: contacts first, then constraints, in their order.

    components: those of constraints of several rows too, which take a motor more than the machine has
    degrees of freedom.
    """
    rows: list[ForceRow] = []
    for index, contact in enumerate(mechanism.contacts):
        gap = mechanism.coordinate_index(f"{contact.name}.gap")
        rows.append(ForceRow(contact.name, "contact", index, -1, gap, "N"))
    at = 0
    for index, constraint in enumerate(mechanism.constraints):
        if len(constraint.rows) == 1:
            unit = row_unit(mechanism, constraint, constraint.rows[0])
            rows.append(ForceRow(constraint.name, "constraint", index, at, -1, unit))
        elif components:
            for place, row in enumerate(constraint.rows):
                name, unit = f"{constraint.name}.{row.name}", row_unit(mechanism, constraint, row)
                rows.append(ForceRow(name, "constraint", index, at + place, -1, unit, whole=False))
        at += len(constraint.rows)
    return tuple(rows)


def row_unit(mechanism: Mechanism, constraint: Constraint, row: Row) -> Literal["N", "N m"]:
    """Return the unit of the multiplier of a constraint's row."""
    turns = not row.is_length
    if isinstance(constraint, CoordinateConstraint):
        turns = mechanism.coordinate_is_angle[mechanism.coordinate_index(constraint.of)]
    return "N m" if turns else "N"


def bears(constraint: Constraint) -> bool:
    """Return whether a constraint's multipliers are forces or torques at a point, as of a bearing."""
    return isinstance(constraint, Closure | CoordinateConstraint)


def rows_with_unit(mechanism: Mechanism, name: str, unit: str) -> dict[str, int]:
    """Return the rows of a constraint that `bears` whose multipliers have this unit, by name.

    Their places are those among the rows of all constraints.
    """
    first = 0
    for constraint in mechanism.constraints:
        if constraint.name == name and bears(constraint):
            places = enumerate(constraint.rows, first)
            return {row.name: at for at, row in places if row_unit(mechanism, constraint, row) == unit}
        first += len(constraint.rows)
    return {}
