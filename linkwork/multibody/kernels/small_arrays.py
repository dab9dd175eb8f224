"""How kernels are compiled, that no array of theirs is long and none is counted from its end.

numba puts a test into each index for Python's a[-1], the last one. No kernel has such indices: an index below
0 would be a mistake in any of them. And loops of three, six or nine turns only lose by code for long ones.
Together that is a quarter of a kernel's time. A numba that has its inner parts elsewhere compiles the same
kernels slower, and as right. NUMBA_BOUNDSCHECK=1 finds a mistake.
"""

import contextlib
from collections.abc import Iterator
from typing import Any

from numba.core import config
from numba.cpython import slicing

_config: Any = config
_slicing: Any = slicing


def _as_it_is(_builder: Any, index: Any, _size: Any) -> Any:
    """The index that is looked up for an index that is written."""
    return index


@contextlib.contextmanager
def for_small_arrays() -> Iterator[None]:
    """What numba compiles meanwhile does not wrap indices and does not vectorise loops."""
    wrapping, vectorising = getattr(_slicing, "fix_index", None), _config.LOOP_VECTORIZE
    _config.LOOP_VECTORIZE = 0
    if wrapping is not None:
        _slicing.fix_index = _as_it_is
    try:
        yield
    finally:
        _config.LOOP_VECTORIZE = vectorising
        if wrapping is not None:
            _slicing.fix_index = wrapping
