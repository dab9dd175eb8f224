"""Types of arrays, for annotations everywhere: their numbers, not their shapes, which docstrings give."""

from typing import TypeAlias

import numpy as np
from numpy.typing import NDArray

Floats: TypeAlias = NDArray[np.float64]
Integers: TypeAlias = NDArray[np.int64]
