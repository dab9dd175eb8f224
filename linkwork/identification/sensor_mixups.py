"""Signals of a recording that may be swapped or reversed: the variants to try where a fit fails."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import replace
from itertools import combinations

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


def mixups(motion: MeasuredMotion, joints: Sequence[str]) -> Iterator[tuple[str, MeasuredMotion]]:
    """Yield what may be wrong, as text, with the motion in which it is mended.

    joints: the independent ones, whose positions are used.
    """
    positions, efforts = motion.positions, motion.efforts
    for name in joints:
        mended = {**positions, name: -positions[name]}
        reversed_joint = replace(motion, positions=mended, start=None)
        yield f"the position of {name} is reversed", reversed_joint
        if name in efforts:
            both = replace(reversed_joint, efforts={**efforts, name: -efforts[name]})
            yield f"position and effort of {name} are reversed", both
    for name in efforts:
        yield f"the effort of {name} is reversed", replace(motion, efforts={**efforts, name: -efforts[name]})
    for one, other in combinations(efforts, 2):
        exchanged = {**efforts, one: efforts[other], other: efforts[one]}
        yield f"the efforts of {one} and {other} are swapped", replace(motion, efforts=exchanged)
    for one, other in combinations(joints, 2):
        mended = {**positions, one: positions[other], other: positions[one]}
        swapped = replace(motion, positions=mended, start=None)
        yield f"the positions of {one} and {other} are swapped", swapped
        if one in efforts and other in efforts:
            exchanged = {**efforts, one: efforts[other], other: efforts[one]}
            yield f"{one} and {other} are exchanged", replace(swapped, efforts=exchanged)
