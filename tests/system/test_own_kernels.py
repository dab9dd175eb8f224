"""A law in a package outside linkwork: built by one command, used by a running controller; and as Python."""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
import tempfile
from collections.abc import Iterator
from pathlib import Path

import pytest

from linkwork import Robot
from linkwork.launch.daemons import Rig
from linkwork.machine import shipped_path

ROOT = Path(__file__).parents[2]
LAW = ROOT / "docs" / "examples" / "own_law" / "own_law.py"
_SHOW = """
import numpy as np, own_law
from linkwork.machine import load
machine = load("scara")
work, force = machine.workspace(), np.zeros(4)
work.q[:], work.v[:] = [0.3, -0.8, 0.2, 0.1], [1.0, -2.0, 0.5, 0.1]
from linkwork.multibody.dynamics.tree_dynamics import dynamics
from linkwork.multibody.tree.coordinates import coordinates
dynamics(*work.arguments)
coordinates(*work.arguments)
wanted = np.zeros(4)
own_law.wanted_acceleration(work, np.arange(4), np.ones(4), np.zeros(4), 20.0, wanted)
own_law.computed_torque(*work.arguments, wanted, force)
print(type(own_law.computed_torque).__name__, wanted.tobytes().hex(), force.tobytes().hex())
"""


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    """A folder with the law and a machine that uses it."""
    shutil.copy(LAW, tmp_path)
    text = shipped_path("scara").read_text()
    text = text.replace("  law: pidc\n", "  law: custom\n  law_class: own_law:ComputedTorque\n")
    (tmp_path / "own_scara.yaml").write_text(text)
    return tmp_path


@pytest.fixture
def runtime() -> Iterator[Path]:
    """A short path: sockets lie in it."""
    with tempfile.TemporaryDirectory(prefix="lw-", dir="/tmp") as made:
        yield Path(made)


def run(folder: Path, *words: str, **environment: str) -> subprocess.CompletedProcess[str]:
    given = {**os.environ, "PYTHONPATH": str(ROOT), **environment}
    return subprocess.run(
        [sys.executable, *words], cwd=folder, env=given, capture_output=True, text=True, timeout=300
    )


def moved(folder: Path, runtime: Path) -> list[float]:
    """Where a goal ends under the law, in lockstep."""
    arguments = [str(folder / "own_scara.yaml"), "--pace", "lockstep", "--realtime", "ignore"]
    with Rig("scara", arguments, arguments, runtime) as rig:
        rig.wait_ready(lambda _: None)
        with Robot(endpoint=rig.requests) as robot:
            robot.enable()
            robot.move(shoulder=0.3, elbow=-0.5)  # raises unless the goal is reached
            state = robot.state
            return [float(state["q"][name]) for name in ("shoulder", "elbow")]


def test_a_law_of_another_package_is_built_by_one_command_and_controls(
    folder: Path, runtime: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    as_python = run(folder, "-c", _SHOW).stdout.split()
    built = run(folder, "-m", "linkwork", "build-kernels", "own_law")
    assert built.returncode == 0, built.stderr
    compiled = run(folder, "-c", _SHOW).stdout.split()
    assert [as_python[0], compiled[0]] == ["function", "builtin_function_or_method"]
    assert as_python[1:] == compiled[1:]  # to the bit
    monkeypatch.setenv("PYTHONPATH", f"{folder}:{ROOT}")
    assert moved(folder, runtime) == pytest.approx([0.3, -0.5], abs=1e-3)


@pytest.mark.slow
def test_without_a_compiler_a_changed_law_runs_as_python_and_controls(
    folder: Path, runtime: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    assert run(folder, "-m", "linkwork", "build-kernels", "own_law").returncode == 0
    law = folder / "own_law.py"
    law.write_text(law.read_text().replace("2.0 * omega", "3.0 * omega"))
    bare = {"PATH": str(folder), "CC": ""}
    shown = run(folder, "-c", _SHOW, **bare)
    assert shown.stdout.startswith("function "), shown.stderr
    assert "the kernels of own_law run as Python, slowly" in shown.stderr
    for name, value in {**bare, "PYTHONPATH": f"{folder}:{ROOT}"}.items():
        monkeypatch.setenv(name, value)
    assert moved(folder, runtime) == pytest.approx([0.3, -0.5], abs=1e-3)


_PACKAGE = {
    "__init__.py": "",
    "structs.py": """
from typing import Annotated
from linkwork.kernels import Floats, Struct, Workspace

class Gains(Struct):
    n: int
    k: Annotated[Floats, "n"]
    work: Workspace
""",
    "parts.py": """
from linkwork.kernels import part
HALF = 0.5

@part
def half(x: float) -> float:
    return HALF * x
""",
    "kernels.py": """
from __future__ import annotations
import math
from linkwork.kernels import Floats, Model, kernel
from linkwork.multibody.dynamics.tree_dynamics import forward_dynamics
from .parts import half
from .structs import Gains

@kernel
def scaled(g: Gains, m: Model, out: Floats) -> float:
    forward_dynamics(m, g.work)
    total = 0.0
    for i in range(g.n):
        out[i] = half(g.k[i]) * g.work.vdot[i] + math.sin(out[i])
        total += out[i]
    return total
""",
}
_CALL = """
import numpy as np
from linkwork.machine import load
from other.kernels import scaled
from other.structs import Gains
work = load("scara").workspace()
work.q[:] = [0.3, 0.4, 0.1, 0.1]
gains = Gains(n=4, k=np.arange(4.0), work=work)
print(type(scaled).__name__, scaled(gains, work.model, np.ones(4)).hex())
"""


@pytest.mark.slow
def test_a_package_with_structs_parts_and_relative_imports(tmp_path: Path) -> None:
    package = tmp_path / "other"
    package.mkdir()
    for name, text in _PACKAGE.items():
        (package / name).write_text(text)
    _, as_python = run(tmp_path, "-c", _CALL).stdout.split()
    assert run(tmp_path, "-m", "linkwork", "build-kernels", "other").returncode == 0
    assert run(tmp_path, "-c", _CALL).stdout.split() == ["builtin_function_or_method", as_python]
    (package / "parts.py").write_text(_PACKAGE["parts.py"].replace("0.5", "0.25"))
    _, changed = run(tmp_path, "-c", _CALL).stdout.split()
    assert changed != as_python  # never old code, also where a part changed


@pytest.mark.parametrize(
    ("change", "text"),
    [
        (("wanted[i] = square", "wanted[i] = [1.0] and square"), "own_law.py:24:21: `[1.0]` is not allowed"),
        (("@kernel", "@part"), "own_law declares no kernels"),
        (None, "there is no package or module"),
    ],
)
def test_what_cannot_be_built_is_said_with_its_place(
    folder: Path, change: tuple[str, str] | None, text: str
) -> None:
    law = folder / "own_law.py"
    law.write_text(law.read_text().replace(*(change or ("", ""))))
    ran = run(folder, "-m", "linkwork", "build-kernels", "own_law" if change else "no_law")
    assert ran.returncode == 2
    assert text in " ".join(ran.stderr.split()), ran.stderr
