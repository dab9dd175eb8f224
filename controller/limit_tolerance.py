"""The tolerance with which references of the controller are compared with limits.

A reference that the controller planned keeps its limits up to rounding, so that all comparisons with a limit
allow for rounding alike. Measurements are compared in `controller.estimation.limit_monitor`.
"""

from typing import Any

from linkwork.multibody.kernels.compiling import part

RELATIVE, ABSOLUTE = 1e-6, 1e-9
"""Share of a limit, and what is added to it (rad, m, N, N m or their rates), that count as rounding; of a
limit of position the latter alone.
"""


def with_rounding(limit: Any) -> Any:
    """Return the largest rate or effort, a number or an array, that counts as within an upper limit."""
    return limit + RELATIVE * abs(limit) + ABSOLUTE


def exceeds(value: Any, limit: Any) -> Any:
    """Return whether a rate or an effort is above an upper limit by more than rounding, each of an array."""
    return value > limit + RELATIVE * abs(limit) + ABSOLUTE


def passes(position: Any, limit: Any) -> Any:
    """Return whether a position is above an upper limit by more than rounding, each of an array.

    For a lower limit give both with the opposite sign.
    """
    return position > limit + ABSOLUTE


@part
def exceeds_in_kernel(value: float, limit: float) -> bool:
    """`exceeds` of one rate or effort, for kernels."""
    return value > limit + RELATIVE * abs(limit) + ABSOLUTE


@part
def passes_in_kernel(position: float, limit: float) -> bool:
    """`passes` of one position, for kernels."""
    return position > limit + ABSOLUTE
