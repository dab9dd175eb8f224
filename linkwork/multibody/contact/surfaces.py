"""Surfaces that points touch, as kernels see them: a row of `SURFACES`, a plane or a sphere of the world."""

import math

from linkwork.arrays import Floats
from linkwork.multibody.kernels.compiling import part
from linkwork.multibody.linalg.vectors import (
    Vector,
    dot,
    load,
    subtract,
    times,
)


@part
def surface_at(surfaces: Floats, i: int, place: Vector) -> tuple[float, Vector]:
    """Distance (m) of a place from a surface, negative inside, and the surface's normal nearest to it.

    A row has a place and a normal of a plane and 0, or the centre of a sphere, three zeros and its radius.
    At the centre of a sphere the normal is taken to be the world's z.
    """
    r = subtract(place, load(surfaces, i))
    radius = surfaces[i, 6]
    if radius == 0.0:
        normal = (surfaces[i, 3], surfaces[i, 4], surfaces[i, 5])
        return dot(normal, r), normal
    distance = math.sqrt(dot(r, r))
    if distance == 0.0:
        return -radius, (0.0, 0.0, 1.0)
    return distance - radius, times(1.0 / distance, r)
