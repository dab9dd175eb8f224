"""The fixtures of machines on a slide."""

from tests.plant.conftest import slider

__all__ = ["slider"]
