"""Kernels are warmed once, as in daemons."""

import pytest

# each import declares the kernels of its file
import multibody.acceleration
import multibody.assembly
import multibody.constrained_steps
import multibody.integrate
import multibody.taylor.stepper  # noqa: F401
from multibody.compiling import warm


@pytest.fixture(scope="session", autouse=True)
def _warm_kernels() -> None:
    warm()
