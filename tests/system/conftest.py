"""Real daemons over real sockets, in a runtime folder of their own."""

from __future__ import annotations

import tempfile
from collections.abc import Iterator
from pathlib import Path

import pytest

from linkwork.launch.daemons import Rig
from tests.system.running import patient_machine


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """A loaded computer may take its time over whole daemons."""
    here = Path(__file__).parent
    for item in items:
        if here in item.path.parents:
            item.add_marker(pytest.mark.timeout(600))


@pytest.fixture(scope="module")
def folder() -> Iterator[Path]:
    """A short path: sockets lie in it."""
    with tempfile.TemporaryDirectory(prefix="lw-", dir="/tmp") as made:
        yield Path(made)


@pytest.fixture(scope="module")
def lockstep(folder: Path) -> Iterator[Rig]:
    """Plant and controller in lockstep, ready, with a log; enabling is left to the tests."""
    arguments = ["scara", "--pace", "lockstep", "--realtime", "ignore"]
    with Rig("scara", arguments, [*arguments, "--log", str(folder / "log")], folder) as rig:
        rig.wait_ready(lambda _: None)
        yield rig


@pytest.fixture
def patient(tmp_path: Path) -> Iterator[Rig]:
    """Plant and controller in real time, device-clocked, that bear a busy computer."""
    with tempfile.TemporaryDirectory(prefix="lw-", dir="/tmp") as made:
        path = str(patient_machine(tmp_path))
        arguments = [path, "--realtime", "ignore"]
        with Rig("scara", arguments, [*arguments, "--log", str(tmp_path / "log")], Path(made)) as rig:
            rig.wait_ready(lambda _: None)
            yield rig
