"""Arrays that reach a kernel as one argument."""

import numpy as np
import pytest

from linkwork.arrays import Integers
from linkwork.multibody.kernels.bundles import BUNDLE, Bundle, grid, reals, wholes
from linkwork.multibody.kernels.compiling import kernel, void


@kernel(void(BUNDLE))
def scatter(bundle: Integers) -> None:
    """The first array goes to the second row of the third, at the places in the second."""
    values, places = reals(bundle, 0), wholes(bundle, 1)
    table = grid(bundle, 2, len(values))
    for i in range(len(values)):
        table[1, places[i]] = values[i]


def test_a_kernel_finds_the_arrays_where_they_lie():
    table = np.zeros((2, 3))
    bundle = Bundle(np.array([1.0, 2.0, 3.0]), np.array([2, 0, 1]), table)
    scatter(bundle.words)
    np.testing.assert_array_equal(table, [[0.0, 0.0, 0.0], [2.0, 3.0, 1.0]])


@pytest.mark.parametrize("array", [np.zeros(3, np.float32), np.zeros((4, 4))[:, :2], np.zeros(2, np.bool_)])
def test_arrays_that_a_kernel_would_misread_are_refused(array: np.ndarray):
    with pytest.raises(ValueError, match="array 1 of a bundle"):
        Bundle(np.zeros(3), array)
