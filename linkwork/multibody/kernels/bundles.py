"""Many arrays as one argument of a kernel.

A call from Python pays for each array that it hands over, which is more than a small kernel's work. Those
that a kernel gets each time are therefore named once: a bundle has their addresses and lengths, and inside
the kernel `reals`, `wholes` and `grid` are the arrays again.
"""

from typing import Any

import numpy as np
import numpy.typing as npt

from linkwork.arrays import Floats, Integers
from linkwork.multibody.kernels.compiling import INTEGERS, part
from linkwork.multibody.kernels.views import _array, _floats, _integers

BUNDLE = INTEGERS


class Bundle:
    """`words` is what a kernel gets; it serves as long as the bundle lives, which keeps the arrays.

    All are of float64 or int64 and contiguous; ValueError otherwise.
    """

    def __init__(self, *arrays: npt.NDArray[Any]) -> None:
        """Take the arrays, in the order in which the kernel knows them."""
        for i, array in enumerate(arrays):
            if array.dtype not in (np.float64, np.int64) or not array.flags.c_contiguous:
                raise ValueError(f"array {i} of a bundle is {array.dtype} or not contiguous")
        self._arrays = arrays
        self.words: Integers = np.array([(a.ctypes.data, a.size) for a in arrays], np.int64).ravel()


@part
def reals(bundle: Integers, i: int) -> Floats:
    """The i-th array, of float64, as a vector."""
    values: Floats = _array(_floats(bundle[2 * i]), (bundle[2 * i + 1],))
    return values


@part
def wholes(bundle: Integers, i: int) -> Integers:
    """The i-th array, of int64, as a vector."""
    values: Integers = _array(_integers(bundle[2 * i]), (bundle[2 * i + 1],))
    return values


@part
def grid(bundle: Integers, i: int, columns: int) -> Floats:
    """The i-th array, of float64, as a matrix with so many columns."""
    values: Floats = _array(_floats(bundle[2 * i]), (bundle[2 * i + 1] // columns, columns))
    return values
