"""Warming: what is compiled once is loaded afterwards, by every process, until a source changes."""

import os
import shutil
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest

import linkwork.multibody
from linkwork.multibody.kernels.compiling import VECTOR, float64, int64, kernel, warm
from linkwork.multibody.kernels.numba_backend import PLAIN_VARIABLE
from linkwork.multibody.tree.dynamics import dynamics
from tests.multibody.machines import pendulum

ROOT = Path(__file__).parents[2]
_SCRIPT = """
import linkwork.multibody.linalg.linear
from linkwork.multibody.kernels.compiling import CACHE_FOLDER, warm
report = warm()
print(report.compiled, report.from_cache, CACHE_FOLDER)
"""


_LONG = "".join(f"        y = math.cos(y + {i}.0) * x + factor * math.sin(x * y)\n" for i in range(60))
"""A part this long is not inlined."""
_TWINS = f"""
import math
from linkwork.multibody.kernels.compiling import VECTOR, float64, kernel, part

def made(factor):
    @part
    def amount(x):
        y = factor
{_LONG}        return y
    return amount

one, other = made(1.0), made(2.0)

@kernel(float64(VECTOR))
def first(x):
    return one(x[0]) + one(x[1]) * one(x[2])

@kernel(float64(VECTOR))
def second(x):
    return other(x[0]) + other(x[1]) * other(x[2])
"""


@kernel(float64(VECTOR, int64))
def _at(values, i):
    return values[i]


def test_no_index_of_a_kernel_counts_from_the_end():
    numbers = np.array([1.0, 2.0, 3.0])
    assert _at(numbers[1:], -1) == 1.0


def _copy_of_the_room(folder: Path) -> Path:
    """The compiling machinery and one small file of kernels, apart from the project's own."""
    room = folder / "linkwork" / "multibody"
    source = Path(linkwork.multibody.__file__).parent
    for name in (
        "kernels/compiling.py",
        "kernels/fingerprints.py",
        "kernels/numba_backend.py",
        "kernels/views.py",
        "linalg/linear.py",
        "linalg/vectors.py",
        "model.py",
    ):
        copy = room / name
        copy.parent.mkdir(parents=True, exist_ok=True)
        shutil.copy(source / name, copy)
    shutil.copy(source.parent / "arrays.py", room.parent)
    for package in (room.parent, room, room / "kernels", room / "linalg"):
        (package / "__init__.py").write_text("")
    return room


def _start(folder: Path) -> "subprocess.Popen[str]":
    environment = {key: value for key, value in os.environ.items() if not key.startswith("NUMBA_")}
    environment["PYTHONPATH"] = str(folder)
    environment["XDG_CACHE_HOME"] = str(folder / "cache")
    return subprocess.Popen(
        [sys.executable, "-c", _SCRIPT], cwd=folder, env=environment, stdout=subprocess.PIPE, text=True
    )


def _finish(process: "subprocess.Popen[str]") -> tuple[int, bool, str]:
    output, _ = process.communicate(timeout=100)
    assert process.returncode == 0
    compiled, from_cache, folder = output.split()
    return int(compiled), from_cache == "True", folder


@pytest.mark.slow
def test_a_kernel_loaded_without_warming_brings_what_it_calls(tmp_path):
    """The second process finds the caller in the cache, and the callee's file gone."""
    _copy_of_the_room(tmp_path)
    script = """
import numpy as np
from linkwork.multibody.linalg.linear import cholesky_solve
x = np.array([4.0])
cholesky_solve(np.array([[2.0]]), x)
print(x[0], cholesky_solve.stats.cache_hits.total())
"""
    environment = {key: value for key, value in os.environ.items() if not key.startswith("NUMBA_")}
    environment |= {"PYTHONPATH": str(tmp_path), "XDG_CACHE_HOME": str(tmp_path / "cache")}
    for hits in (0, 1):
        run = subprocess.run(
            [sys.executable, "-c", script], cwd=tmp_path, env=environment, capture_output=True, text=True
        )
        assert run.stdout.split() == ["1.0", str(hits)], run.stderr
        for path in (tmp_path / "cache").rglob("*lower_solve*"):
            path.unlink()


@pytest.mark.slow
def test_two_processes_share_the_compiling(tmp_path):
    _copy_of_the_room(tmp_path)
    with _start(tmp_path) as one, _start(tmp_path) as other:
        reports = sorted(_finish(process) for process in (one, other))
    assert reports[0][0] + reports[1][0] > 3
    assert reports[0][2] == reports[1][2]
    assert _finish(_start(tmp_path)) == (0, True, reports[0][2])


def test_only_what_depends_on_a_change_is_compiled_again(tmp_path):
    room = _copy_of_the_room(tmp_path)
    kernels, _, folder = _finish(_start(tmp_path))

    def compiled_after(path: Path, old: str, new: str) -> int:
        text = path.read_text()
        assert old in text
        path.write_text(text.replace(old, new, 1))
        return _finish(_start(tmp_path))[0]

    linear, views = room / "linalg" / "linear.py", room / "kernels" / "views.py"
    assert compiled_after(linear, '"""', '"""More words.\n\n') == 0
    assert compiled_after(linear, "for k in range(i):", "for k in range(0, i):") == 1
    assert (
        0 < compiled_after(views, "for i in range(len(values)):", "for i in range(0, len(values)):") < kernels
    )
    assert _finish(_start(tmp_path)) == (0, True, folder)


@pytest.mark.slow
def test_a_moved_checkout_finds_its_kernels(tmp_path):
    room = _copy_of_the_room(tmp_path / "here")
    kernels, _, folder = _finish(_start(tmp_path / "here"))
    moved = tmp_path / "there"
    shutil.copytree(room.parent, moved / "linkwork")
    shutil.copytree(tmp_path / "here" / "cache", moved / "cache")
    assert kernels > 3
    assert _finish(_start(moved)) == (0, True, folder.replace("here", "there"))


@pytest.mark.parametrize("plain", ["0", "1"])
def test_closures_of_one_line_stay_apart_in_the_cache(tmp_path, plain):
    """Two processes compile one of them each, with equal counters of numba; a third process loads both."""
    (tmp_path / "twins.py").write_text(_TWINS)
    environment = {key: value for key, value in os.environ.items() if not key.startswith("NUMBA_")}
    environment |= {"XDG_CACHE_HOME": str(tmp_path / "cache"), PLAIN_VARIABLE: plain}
    environment["PYTHONPATH"] = f"{tmp_path}{os.pathsep}{ROOT}"

    def results(*names: str) -> list[float]:
        called = ", ".join(f"twins.{name}(x)" for name in names)
        script = f"import numpy as np, twins; x = np.array([0.3, 0.5, 0.7]); print({called})"
        output = subprocess.run(
            [sys.executable, "-c", script], env=environment, stdout=subprocess.PIPE, text=True, check=True
        )
        return [float(word) for word in output.stdout.split()]

    (first,), (second,) = results("first"), results("second")
    assert first != second
    assert results("first", "second") == [first, second]
    assert results("second", "first") == [second, first]


_THREADS = """
import math, threading
import numba, numpy as np
from linkwork.multibody.kernels.compiling import VECTOR, float64, kernel

def declared(length):
    lines = "".join(f"    y = math.cos(y + {i}) * x[0]\\n" for i in range(length))
    exec(f"def sums_{length}(x):\\n    y = x[0]\\n{lines}    return y\\n", globals())
    return kernel(float64(VECTOR))(globals()[f"sums_{length}"])

kernels = [declared(length) for length in (40, 120, 80, 160)]
threads = [threading.Thread(target=each, args=(np.ones(1),)) for each in kernels]
for thread in threads:
    thread.start()
for thread in threads:
    thread.join()
print(numba.njit(lambda x: x + 1)(1))
"""


def test_threads_that_compile_at_once_leave_the_compiler_as_it_was(tmp_path):
    environment = {key: value for key, value in os.environ.items() if not key.startswith("NUMBA_")}
    environment |= {"XDG_CACHE_HOME": str(tmp_path), "PYTHONPATH": str(ROOT)}
    ran = subprocess.run([sys.executable, "-c", _THREADS], env=environment, capture_output=True, text=True)
    assert (ran.stdout.strip(), ran.returncode) == ("2", 0), ran.stderr


@pytest.mark.parametrize(
    ("plain", "damage"), [("0", "empty"), ("0", "half"), ("0", "a flipped bit"), ("1", "half")]
)
def test_a_damaged_entry_is_compiled_again(tmp_path, plain, damage):
    script = tmp_path / "one.py"
    script.write_text(
        "from linkwork.multibody.kernels.compiling import VECTOR, float64, kernel, warm\n"
        "import numpy as np\n"
        "@kernel(float64(VECTOR))\n"
        "def total(x):\n"
        "    return x[0] + x[1]\n"
        "print(total(np.array([1.0, 2.0])))\n"
    )
    environment = {key: value for key, value in os.environ.items() if key != "NUMBA_CACHE_DIR"}
    environment |= {
        "XDG_CACHE_HOME": str(tmp_path / "cache"),
        PLAIN_VARIABLE: plain,
        "PYTHONPATH": str(ROOT),
    }

    def run() -> str:
        done = subprocess.run(
            [sys.executable, script], env=environment, capture_output=True, text=True, timeout=240
        )
        assert done.returncode == 0, done.stderr
        return done.stdout

    assert run() == "3.0\n"
    entries = [path for path in (tmp_path / "cache").rglob("*total*.nb?") if path.is_file()]
    assert {path.suffix for path in entries} == {".nbi", ".nbc"}
    for path in entries:
        sound = path.read_bytes()
        half = len(sound) // 2
        flipped = sound[:half] + bytes([sound[half] ^ 4]) + sound[half + 1 :]
        path.write_bytes({"empty": b"", "half": sound[:half], "a flipped bit": flipped}[damage])
        assert run() == "3.0\n"


def test_after_warming_wrong_types_raise_and_nothing_compiles():
    warm()
    w = pendulum().workspace()
    with pytest.raises(TypeError, match="No matching definition"):
        dynamics(w.parameters, w.topology, w.buffer.astype(np.float32))
    again = warm()
    assert again.compiled == 0
    assert again.from_cache


def test_progress_is_told_only_of_what_is_still_to_do():
    warm()
    told: list[tuple[int, int, str]] = []
    warm(progress=lambda done, total, name: told.append((done, total, name)))
    assert told == []
