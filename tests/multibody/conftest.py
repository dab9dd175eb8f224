"""Counting the memory that kernels allocate."""

from collections.abc import Callable
from ctypes import c_int64

import pytest

from linkwork.multibody.kernels.library import load


@pytest.fixture
def allocations() -> Callable[..., int]:
    """Function that calls a kernel with arguments and says how many times it allocated memory."""
    counted = c_int64.in_dll(load(), "linkwork_allocations")

    def count(function: Callable[..., object], *arguments: object) -> int:
        before = counted.value
        function(*arguments)
        return counted.value - before

    return count
