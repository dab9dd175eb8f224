"""Small operations on arrays inside kernels, at no cost: no allocation, no reference counting."""

from linkwork.arrays import Floats, Matrix
from linkwork.multibody.kernels.compiling import part


@part
def fill(values: Floats, number: float) -> None:
    """Set a vector (n) to one number."""
    for i in range(len(values)):
        values[i] = number


@part
def fill_matrix(values: Matrix, number: float) -> None:
    """Set a matrix (rows × columns) to one number."""
    for i in range(values.shape[0]):
        for j in range(values.shape[1]):
            values[i, j] = number


@part
def copy(source: Floats, target: Floats) -> None:
    """Copy a vector (n) into another."""
    for i in range(len(source)):
        target[i] = source[i]
