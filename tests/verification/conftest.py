"""Kernels are warmed once, as in daemons."""

import pytest

# each import declares the kernels of its file
import linkwork.multibody.formulations.acceleration
import linkwork.multibody.formulations.assembly
import linkwork.multibody.steps.constrained_steps
import linkwork.multibody.steps.integrate
import linkwork.multibody.taylor.stepper  # noqa: F401
from linkwork.multibody.kernels.compiling import warm


@pytest.fixture(scope="session", autouse=True)
def _warm_kernels() -> None:
    warm()
