"""Kernels are warmed once, so that tests run them as daemons do: fixed types, nothing compiled on the way."""

from collections.abc import Callable

import numba
import numpy as np
import numpy.typing as npt
import pytest
from numba.core.runtime import _nrt_python, rtsys

# each import declares the kernels of its file
import linkwork.multibody.formulations.acceleration
import linkwork.multibody.formulations.assembly
import linkwork.multibody.formulations.udwadia_kalaba
import linkwork.multibody.functions
import linkwork.multibody.steps.constrained_steps
import linkwork.multibody.steps.integrate  # noqa: F401
from linkwork.multibody.kernels.compiling import warm


@pytest.fixture(scope="session", autouse=True)
def _warm_kernels() -> None:
    warm()


@numba.njit
def _allocate(a: npt.NDArray[np.float64]) -> float:
    return float(np.zeros_like(a)[0])


@pytest.fixture
def allocations() -> Callable[..., int]:
    """Function that calls a kernel with arguments and says how many times it allocated memory.

    That the count counts at all is checked first.
    """
    _nrt_python.memsys_enable_stats()

    def total() -> int:
        stats = rtsys.get_allocation_stats()
        return int(stats.alloc + stats.mi_alloc)

    def count(function: Callable[..., object], *arguments: object) -> int:
        before = total()
        function(*arguments)
        return total() - before

    assert count(_allocate, np.zeros(3)) > 0
    return count
