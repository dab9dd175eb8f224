"""Signals of a recording that may be swapped or reversed: the variants to try where a fit fails."""

from collections.abc import Iterator, Sequence
from dataclasses import replace
from itertools import combinations

import numpy as np

from linkwork.identification.measured_motion import MeasuredMotion

_SECONDS = 6.0


def shortened(motion: MeasuredMotion) -> MeasuredMotion:
    """Return the first seconds of a motion."""
    kept = motion.time_s <= motion.time_s[0] + _SECONDS
    return replace(
        motion,
        time_s=motion.time_s[kept],
        positions={name: values[kept] for name, values in motion.positions.items()},
        efforts={name: values[kept] for name, values in motion.efforts.items()},
    )


def mixups(
    motion: MeasuredMotion, joints: Sequence[str], without_limits: Sequence[str] = ()
) -> Iterator[tuple[str, MeasuredMotion]]:
    """Yield what may be wrong, as text, with the motion in which it is mended.

    joints: the independent ones, whose positions are used. without_limits: angles that no limit shows to be
    in degrees.
    """
    positions, efforts = motion.positions, motion.efforts
    for name in joints:
        if name in without_limits:
            in_radians = {**positions, name: np.radians(positions[name])}
            yield f"the position of {name} is in degrees", replace(motion, positions=in_radians, start=None)
        mended = {**positions, name: -positions[name]}
        reversed_joint = replace(motion, positions=mended, start=None)
        yield f"the position of {name} is reversed", reversed_joint
        if name in efforts:
            both = replace(reversed_joint, efforts={**efforts, name: -efforts[name]})
            yield f"position and effort of {name} are reversed", both
    for name in efforts:
        yield f"the effort of {name} is reversed", replace(motion, efforts={**efforts, name: -efforts[name]})
    if len(efforts) > 1:
        turned = {name: -values for name, values in efforts.items()}
        turned_joints = replace(
            motion, positions={name: -values for name, values in positions.items()}, start=None
        )
        yield "the efforts of all motors are reversed", replace(motion, efforts=turned)
        yield "the positions of all joints are reversed", turned_joints
        yield "positions and efforts of all motors are reversed", replace(turned_joints, efforts=turned)
    for text, order in _orders(list(efforts)):
        exchanged = {name: efforts[source] for name, source in order.items()}
        yield f"the efforts of {text}", replace(motion, efforts={**efforts, **exchanged})
    for text, order in _orders(list(joints)):
        mended = {name: positions[source] for name, source in order.items()}
        swapped = replace(motion, positions={**positions, **mended}, start=None)
        yield f"the positions of {text}", swapped
        if all(name in efforts for name in order):
            exchanged = {name: efforts[source] for name, source in order.items()}
            yield f"positions and efforts of {text}", replace(swapped, efforts={**efforts, **exchanged})


def _orders(names: list[str]) -> Iterator[tuple[str, dict[str, str]]]:
    """Yield pairs that are swapped, and the two other orders of three, as text and name by name."""
    for one, other in combinations(names, 2):
        yield f"{one} and {other} are swapped", {one: other, other: one}
    if len(names) == 3:
        for sources in (names[1:] + names[:1], names[2:] + names[:2]):
            order = dict(zip(names, sources, strict=True))
            yield f"{', '.join(names)} stand in the order {', '.join(order.values())}", order
