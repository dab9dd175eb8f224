"""Types of arrays, for annotations everywhere. Shapes stand in docstrings.

`Matrix` and `Table` are arrays of two dimensions, where a kernel must know: an argument `Floats` of a kernel
has one.
"""

from typing import Annotated, TypeAlias

import numpy as np
from numpy.typing import NDArray

Floats: TypeAlias = NDArray[np.float64]
Integers: TypeAlias = NDArray[np.int64]
Flags: TypeAlias = NDArray[np.bool_]
Matrix: TypeAlias = Annotated[Floats, "rows, columns"]
Table: TypeAlias = Annotated[Integers, "rows, columns"]
