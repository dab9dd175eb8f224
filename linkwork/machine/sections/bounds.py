"""Bounds of values that may change while the machine runs, and regions of its points."""

from __future__ import annotations

import math

import numpy as np
from pydantic import model_validator

from linkwork.machine.sections.bodies import Inertia
from linkwork.machine.sections.constraint_base import CoordinateName
from linkwork.machine.sections.fields import NamedSection, Number, Range, Section, Vector3, entry, wrong
from linkwork.machine.sections.quantity import Quantity, one_unit


class GainBounds(Section):
    """Bounds of the gains of the error dynamics while the controller runs."""

    bandwidth_rad_s: Range | None = entry("Smallest and largest bandwidth", "rad/s", None)
    damping_ratio: Range | None = entry("Smallest and largest damping ratio", "1", None)

    @model_validator(mode="after")
    def _ordered(self) -> GainBounds:
        for name in ("bandwidth_rad_s", "damping_ratio"):
            _in_order(self, name)
            values = getattr(self, name)
            if values is not None and values[0] <= 0.0:
                raise wrong("a gain is above 0", f"{values[0]:g}", "above 0", at=(name, 0))
        return self


class CoordinateGains(Section):
    """Gains of one goal coordinate: its bandwidth and damping ratio, or its rows of G_P and G_D."""

    bandwidth_rad_s: Number | None = entry(
        "Bandwidth. Default: that of all coordinates", "rad/s", None, gt=0, le=10_000
    )
    damping_ratio: Number | None = entry(
        "Damping ratio. Default: that of all coordinates", "1", None, gt=0, le=100
    )
    position_per_s2: dict[CoordinateName, Number] = entry(
        "Row of G_P by coordinate, symmetric; what is not given is 0, and as without rows on the diagonal",
        "1/s²",
        default={},
    )
    rate_per_s: dict[CoordinateName, Number] = entry("Row of G_D, likewise", "1/s", default={})

    @model_validator(mode="after")
    def _one_way(self) -> CoordinateGains:
        alone = self.bandwidth_rad_s is not None or self.damping_ratio is not None
        if alone and (self.position_per_s2 or self.rate_per_s):
            found, allowed = "both", "bandwidth_rad_s and damping_ratio, or position_per_s2 and rate_per_s"
            raise wrong("a coordinate's gains are given in one way", found, allowed)
        return self


class CarriedLoad(Section):
    """A load that the machine carries while a condition of signals holds: a gripped part."""

    when: str = entry("Condition of signals under which the machine carries the load", max_length=1000)
    mass_kg: Number = entry("Mass", "kg", gt=0)
    com_m: Vector3 = entry("Centre of mass from the point, in the body's axes", "m", [0.0, 0.0, 0.0])
    inertia_kg_m2: Inertia | None = entry(
        "Inertia about the centre of mass, in the body's axes. Default: that of a point mass", "kg m²", None
    )

    @property
    def moments(self) -> tuple[float, ...]:
        """Moments of inertia about the centre of mass: xx, xy, xz, yy, yz, zz."""
        if self.inertia_kg_m2 is None:
            return (0.0,) * 6
        return tuple(self.inertia_kg_m2.matrix()[np.triu_indices(3)].tolist())


class PayloadBounds(NamedSection):
    """The largest payload at the point `name`, the `index`-th of the mechanism's."""

    max_mass_kg: Number = entry("Largest mass", "kg", gt=0)
    max_com_m: Number = entry("Largest distance of its centre of mass from the point", "m", 0.0, ge=0)
    max_inertia_kg_m2: Number = entry("Largest moment of inertia about its centre", "kg m²", 0.0, ge=0)
    carried: CarriedLoad | None = entry(
        "Load that comes and goes with signals, in addition to the payload", default=None
    )


class Region(NamedSection):
    """Region of a point, in the world's frame, and its largest speed. Keys that are not given are not
    limited.
    """

    x_m: Range | None = entry("Lowest and highest x", "m", None)
    y_m: Range | None = entry("Lowest and highest y", "m", None)
    z_m: Range | None = entry("Lowest and highest z", "m", None)
    speed = Quantity("speed", one_unit("m_s", "m/s"), "Largest speed", None, absent=math.inf, gt=0)

    @model_validator(mode="after")
    def _ordered(self) -> Region:
        for name in ("x_m", "y_m", "z_m"):
            _in_order(self, name)
        return self

    @property
    def low(self) -> tuple[float, ...]:
        """Lowest x, y, z of the point, m."""
        return tuple(-math.inf if each is None else each[0] for each in (self.x_m, self.y_m, self.z_m))

    @property
    def high(self) -> tuple[float, ...]:
        """Highest x, y, z of the point, m."""
        return tuple(math.inf if each is None else each[1] for each in (self.x_m, self.y_m, self.z_m))


def _in_order(section: Section, name: str) -> None:
    values = getattr(section, name)
    if values is not None and not values[0] <= values[1]:
        found = f"{values[0]:g}, {values[1]:g}"
        raise wrong("the first of a range is the lower one", found, "[lowest, highest]", at=(name,))
