"""Arrays that reach a kernel as one argument."""

from typing import Annotated, NamedTuple

import numpy as np
import pytest

from linkwork.arrays import Floats, Integers
from linkwork.multibody.kernels.bundles import BUNDLE, Bundle, reader
from linkwork.multibody.kernels.compiling import kernel, void


class Scattered(NamedTuple):
    values: Annotated[Floats, "values"]
    places: Annotated[Integers, "values"]
    table: Annotated[Floats, "rows", "values"]


read_scattered = reader(Scattered)


@kernel(void(BUNDLE))
def scatter(bundle: Integers) -> None:
    """values go to the second row of the table, at the places."""
    given = read_scattered(bundle)
    for i in range(len(given.values)):
        given.table[1, given.places[i]] = given.values[i]


def test_a_kernel_finds_the_arrays_by_name():
    table = np.zeros((2, 3))
    bundle = Bundle(Scattered(np.array([1.0, 2.0, 3.0]), np.array([2, 0, 1]), table))
    scatter(bundle.words)
    np.testing.assert_array_equal(table, [[0.0, 0.0, 0.0], [2.0, 3.0, 1.0]])


def test_reading_a_bundle_allocates_nothing(allocations):
    bundle = Bundle(Scattered(np.ones(3), np.arange(3), np.zeros((2, 3))))
    assert allocations(scatter, bundle.words) == 0


@pytest.mark.parametrize(
    ("changed", "text"),
    [
        (
            {"values": np.zeros(3, np.float32)},
            r"Scattered\.values is of float32, must be an array of float64",
        ),
        ({"places": np.zeros(3)}, r"Scattered\.places is of float64, must be an array of int64"),
        ({"table": [[0.0] * 3] * 2}, r"Scattered\.table is list, must be an array of float64"),
        ({"table": np.zeros(6)}, r"Scattered\.table has shape \(6,\), needs 2 dimension"),
        ({"table": np.zeros((2, 6))[:, ::2]}, r"Scattered\.table is not contiguous"),
        ({"places": np.arange(2)}, r"Scattered\.places has 2 values, but Scattered\.values has 3"),
    ],
)
def test_arrays_that_a_kernel_would_misread_are_refused(changed: dict[str, object], text: str):
    given = Scattered(np.zeros(3), np.arange(3), np.zeros((2, 3)))._replace(**changed)
    with pytest.raises(ValueError, match=text):
        Bundle(given)


def test_a_declaration_has_numbers_of_known_types_only():
    class Flagged(NamedTuple):
        flags: list[bool]

    with pytest.raises(TypeError, match=r"Flagged\.flags is .*must be Floats or Integers"):
        reader(Flagged)
