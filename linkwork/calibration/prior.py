"""Standard deviations of a machine's geometry before it is measured."""

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field

import numpy as np

from linkwork.arrays import Floats
from linkwork.calibration.geometry import GeometricParameter, UnknownParameter

_LOOSE = 10.0
"""Prior standard deviation of a measuring frame: m, and rad."""


@dataclass(frozen=True)
class Prior:
    """Prior standard deviations: of lengths (m), of angles (rad), and of single parameters by name.

    counts: whether it enters the estimate; it always decides what is practically useless.
    """

    length: float = 5e-4
    angle: float = math.radians(0.5)
    own: Mapping[str, float] = field(default_factory=dict)
    counts: bool = True

    def of(self, parameters: Sequence[GeometricParameter]) -> Floats:
        """Return the standard deviations (n) of n parameters. Raises UnknownParameter for a name of none."""
        unknown = [name for name in self.own if name not in {each.name for each in parameters}]
        if unknown:
            names = ", ".join(each.name for each in parameters)
            raise UnknownParameter(f"{unknown[0]} is no parameter here; there are: {names}")
        return np.array([self._one(each) for each in parameters])

    def _one(self, parameter: GeometricParameter) -> float:
        if parameter.name in self.own:
            return self.own[parameter.name]
        if parameter.terms[0][0].startswith("frame."):
            return _LOOSE
        size = max(abs(factor) for _, factor in parameter.terms)
        return (self.length if parameter.unit == "m" else self.angle) / size
