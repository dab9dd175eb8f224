from collections.abc import Callable
from pathlib import Path

import pytest

from linkwork import machine


@pytest.fixture(scope="session")
def scara_text() -> str:
    return machine.shipped_path("scara").read_text(encoding="utf-8")


@pytest.fixture
def write(tmp_path: Path) -> Callable[[str | bytes], Path]:
    def write_file(content: str | bytes, name: str = "machine.yaml") -> Path:
        path = tmp_path / name
        path.write_bytes(content.encode() if isinstance(content, str) else content)
        return path

    return write_file


@pytest.fixture
def problems_of(write) -> Callable[..., tuple[machine.Problem, ...]]:
    """Load a text, demand that it is refused, and return why."""

    def refused(content: str | bytes, plant_set: tuple[str, ...] = ()) -> tuple[machine.Problem, ...]:
        with pytest.raises(machine.MachineError) as caught:
            machine.load(write(content), plant_set)
        return caught.value.problems

    return refused
