"""Surfaces that points touch, as kernels see them: a row of `surfaces`, a plane or a sphere of the world."""

import math

from linkwork.arrays import Matrix
from linkwork.multibody.kernels.compiling import part
from linkwork.multibody.linalg.vectors import Vector, dot, load, subtract, times


@part
def surface_at(surfaces: Matrix, i: int, place: Vector) -> tuple[float, Vector]:
    """Distance (m) of a place (3, m, world) from surface i, negative inside, and the nearest normal (3,
    world).

    `surfaces` (contacts × 7): place (3) and normal (3) of a plane, then 0; or centre (3) of a sphere, three
    zeros, radius (m). At the centre of a sphere the normal is the world's z.
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
