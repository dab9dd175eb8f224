"""The kernels' library: built when a source has changed, never old code, with errors that say what to do."""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest

from linkwork.multibody.dynamics.tree_dynamics import dynamics
from linkwork.multibody.kernels.compiling import kernel
from linkwork.multibody.kernels.library import FOLDER
from linkwork.multibody.linalg.linear import cholesky
from tests.multibody.machines import pendulum

ROOT = Path(__file__).parents[2]
_ROOMS = ("multibody/kernels", "multibody/linalg")


@pytest.fixture
def checkout(tmp_path: Path) -> Path:
    """A checkout with a few kernels of its own, and an empty folder for the library."""
    package = tmp_path / "linkwork"
    for room in _ROOMS:
        shutil.copytree(
            ROOT / "linkwork" / room, package / room, ignore=shutil.ignore_patterns("_library", "*cache*")
        )
    for each in (package, package / "multibody"):
        (each / "__init__.py").write_text("")
    shutil.copy(ROOT / "linkwork" / "arrays.py", package)
    shutil.copy(ROOT / "linkwork" / "multibody" / "model.py", package / "multibody")
    (package / "mine.py").write_text(
        "from linkwork.arrays import Floats\n"
        "from linkwork.multibody.kernels.compiling import kernel\n"
        "from linkwork.multibody.linalg.vectors import dot\n\n\n"
        "@kernel\n"
        "def total(x: Floats) -> float:\n"
        "    return 1.0 * dot((x[0], x[1], x[2]), (1.0, 1.0, 1.0))\n"
    )
    return tmp_path


def run(checkout: Path, script: str, **environment: str) -> subprocess.CompletedProcess[str]:
    given = {**os.environ, "PYTHONPATH": str(checkout), **environment}
    return subprocess.run(
        [sys.executable, "-c", script], cwd=checkout, env=given, capture_output=True, text=True, timeout=200
    )


_TOTAL = "import numpy as np; from linkwork.mine import total; print(total(np.array([1.0, 2.0, 3.0])), total)"


def test_a_changed_kernel_never_runs_old_code(checkout: Path) -> None:
    first = run(checkout, _TOTAL)
    assert first.stdout.startswith("6.0 <built-in function total>"), first.stderr
    assert "building the kernels" in first.stderr
    assert run(checkout, _TOTAL).stderr == ""
    source = checkout / "linkwork" / "mine.py"
    source.write_text(source.read_text().replace("1.0 * dot", "2.0 * dot"))
    assert run(checkout, _TOTAL).stdout.startswith("12.0 ")
    vectors = checkout / "linkwork" / "multibody" / "linalg" / "vectors.py"
    vectors.write_text(vectors.read_text().replace("return a[0] * b[0] + a[1]", "return a[0] * b[0] - a[1]"))
    assert run(checkout, _TOTAL).stdout.startswith("4.0 "), "a part in another file"
    source.write_text(source.read_text() + "\n\n@kernel\ndef new(x: Floats) -> float:\n    return x[1]\n")
    assert run(checkout, _TOTAL.replace("total", "new")).stdout.startswith("2.0 <built-in")


def test_other_compiler_flags_build_again(checkout: Path) -> None:
    flags = {"LINKWORK_CFLAGS": "-g"}
    assert [run(checkout, _TOTAL, **flags).stderr.count("building") for _ in range(2)] == [1, 0]
    assert "building the kernels" in run(checkout, _TOTAL).stderr


def test_a_new_file_of_kernels_is_built(checkout: Path) -> None:
    assert run(checkout, _TOTAL).returncode == 0
    mine = checkout / "linkwork" / "mine.py"
    (checkout / "linkwork" / "more.py").write_text(mine.read_text().replace("total", "other"))
    found = run(checkout, _TOTAL.replace("total", "other").replace("mine", "more"))
    assert found.stdout.startswith("6.0 <built-in function other>"), found.stderr


def test_a_moved_checkout_compiles_nothing(checkout: Path, tmp_path: Path) -> None:
    assert run(checkout, _TOTAL).returncode == 0
    moved = tmp_path / "moved"
    moved.mkdir()
    (checkout / "linkwork").rename(moved / "linkwork")
    found = run(moved, _TOTAL)
    assert (found.stdout[:4], found.stderr) == ("6.0 ", "")
    objects = moved / "linkwork" / "multibody" / "kernels" / "_library" / "objects"
    before = {path.name for path in objects.glob("*.o")}
    for path in (moved / "linkwork").rglob("*.py"):
        os.utime(path)
    assert run(moved, _TOTAL).stdout.startswith("6.0 ")
    assert {path.name for path in objects.glob("*.o")} == before


def test_an_error_in_a_kernel_names_its_place(checkout: Path) -> None:
    source = checkout / "linkwork" / "mine.py"
    source.write_text(source.read_text().replace("    return 1.0", "    y = x[-1]\n    return 1.0"))
    found = run(checkout, _TOTAL)
    assert found.returncode == 1
    assert f"{source}:8:9: indices of kernels are not counted from the end" in found.stderr


def test_without_a_compiler_the_error_says_what_to_install(checkout: Path) -> None:
    script = f"import importlib.util as u\nu.find_spec = lambda *_: None\n{_TOTAL}"
    found = run(checkout, script, PATH="/nowhere")
    assert found.returncode == 1
    assert "no C compiler to build them: install gcc or clang, or run `pip install ziglang`" in found.stderr


def test_an_installed_library_is_used_as_it_is(checkout: Path) -> None:
    assert run(checkout, _TOTAL).returncode == 0
    library = checkout / "linkwork" / "multibody" / "kernels" / "_library"
    (library / "sources.json").unlink()
    shutil.rmtree(library / "objects")
    found = run(checkout, _TOTAL, PATH="/nowhere")
    assert found.stdout.startswith("6.0 "), found.stderr


def test_two_processes_build_once(checkout: Path) -> None:
    command = [sys.executable, "-c", _TOTAL]
    environment = {**os.environ, "PYTHONPATH": str(checkout)}
    pipes = {"stdout": subprocess.PIPE, "stderr": subprocess.PIPE, "text": True}
    both = [subprocess.Popen(command, cwd=checkout, env=environment, **pipes) for _ in range(2)]
    ended = [each.communicate(timeout=200) for each in both]
    assert all(out.startswith("6.0 ") for out, _ in ended)
    assert sum("building the kernels" in error for _, error in ended) == 1


def test_wrong_arguments_raise_and_name_the_argument() -> None:
    m, w = pendulum().workspace().arguments
    for given in ((m,), (m, w, w)):
        with pytest.raises(TypeError, match="dynamics: takes 2 arguments"):
            dynamics(*given)
    for wrong in (m, None, w.q, w.words):
        with pytest.raises(TypeError, match="dynamics: `w` must be a Workspace"):
            dynamics(m, wrong)
    with pytest.raises(TypeError, match="`m` must be a Model"):
        dynamics(w, w)
    good = np.eye(2)
    for wrong in (
        good.astype(np.float32),
        good[0],
        np.eye(4)[::2],
        list(good),
        None,
        good.view(np.int64),
        good.astype(">f8"),
    ):
        with pytest.raises(TypeError, match=r"cholesky: `.*` must be a contiguous array of float"):
            cholesky(good, wrong)
    with pytest.raises(TypeError):
        cholesky(np.eye(2), np.eye(2), 1)


def test_a_kernel_of_another_package_runs_as_python() -> None:
    @kernel
    def norm(x: np.ndarray) -> float:
        """Length of a vector."""
        return float(np.sqrt(x @ x))

    assert norm(np.array([3.0, 4.0])) == 5.0


def test_the_library_is_small_and_needs_the_c_library_alone() -> None:
    (library,) = FOLDER.glob("*.so")
    assert library.stat().st_size < 1_000_000
    needed = subprocess.run(["ldd", library], capture_output=True, text=True, check=True).stdout
    names = {line.split()[0].partition(".")[0] for line in needed.splitlines()}
    assert {name.rpartition("/")[2] for name in names} <= {
        "linux-vdso",
        "libm",
        "libc",
        "ld-linux-x86-64",
        "",
        "ld-linux-aarch64",
    }
