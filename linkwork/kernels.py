"""Names for compiled kernels in other packages, as for a control law or a driver.

See docs/own_kernels.md. `linkwork build-kernels PACKAGE` compiles them; until then they run as Python.
"""

from linkwork.arrays import Flags, Floats, Integers, Matrix, Table
from linkwork.multibody.kernels.compiling import block, flat, kernel, part
from linkwork.multibody.kernels.structs import Struct
from linkwork.multibody.workspace import Model, Workspace

__all__ = [
    "Flags",
    "Floats",
    "Integers",
    "Matrix",
    "Model",
    "Struct",
    "Table",
    "Workspace",
    "block",
    "flat",
    "kernel",
    "part",
]
