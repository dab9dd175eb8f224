"""Declare kernels; compile or load them together by `warm`; then forbid further compilation.

A *kernel* is a function that numba compiles for one signature. Declaring it does not compile it. `warm`
compiles the kernels of given modules and those they call, or loads them from the cache, and then forbids
further compilation, so that a call with wrong types raises a TypeError instead of compiling in the middle of
a tick. `linkwork.machine.kernel_registry` lists the modules that a process needs. numba_backend.py contains
all use of numba.

The cache is in a folder of the user. An entry is named after a hash of what its machine code depends on
(fingerprints.py). A change elsewhere, of a docstring or of a checkout's place compiles nothing; a change in a
function called from another file is noticed, which numba itself does not do.

No index of a kernel counts from the end of an array (numba_backend.py).

Types for signatures: `PARAMETERS` and `TOPOLOGY` are the read-only arrays of a `Mechanism`, `BUFFER` is the
flat buffer of a `Workspace`, `VECTOR` and `MATRIX` are any contiguous float64 arrays. `ON_MECHANISM` is the
signature of most kernels: no return value, arguments (p, t, w).
"""

import contextlib
import fcntl
import gc
import hashlib
import os
import shutil
import sys
import tempfile
from collections.abc import Callable, Collection, Iterator
from dataclasses import dataclass
from importlib import import_module
from pathlib import Path
from typing import Any, TextIO, TypeVar, cast

from linkwork.multibody.kernels.numba_backend import (
    MODE,
    VERSION,
    boolean,
    cache_entry,
    cache_misses,
    compiled_kernel,
    compiled_part,
    float64,
    freeze,
    int64,
    is_cached,
    is_compiled,
    is_dispatcher,
    kernels_called,
    types,
    void,
)

__all__ = [
    "BUFFER",
    "COMPILING",
    "FLAGS",
    "INTEGERS",
    "MATRIX",
    "ON_MECHANISM",
    "PARAMETERS",
    "THREE",
    "TOPOLOGY",
    "VECTOR",
    "MissingKernel",
    "WarmReport",
    "boolean",
    "compile_named",
    "fetched",
    "float64",
    "int64",
    "kernel",
    "missing",
    "part",
    "report_compiling",
    "void",
    "warm",
    "when_compiling",
    "when_late",
]

COMPILING = "once on this computer; it takes up to a minute"
"""Message to the user while kernels are compiled."""
_KEPT = 6
"""Entries of a kernel in the cache: one for each version of its source."""


def _cache_root() -> Path:
    """The folder that holds the cache folders: the user's choice, the user's cache, or a temporary one."""
    chosen = os.environ.get("NUMBA_CACHE_DIR")
    if chosen:
        return Path(chosen)
    xdg = os.environ.get("XDG_CACHE_HOME")
    candidates = [Path(xdg) / "linkwork"] if xdg else []
    with contextlib.suppress(RuntimeError):  # a user without a home folder
        candidates.append(Path.home() / ".cache" / "linkwork")
    candidates.append(Path(tempfile.gettempdir()) / f"linkwork-{os.getuid()}")
    for folder in candidates:
        try:
            folder.mkdir(parents=True, exist_ok=True, mode=0o700)
        except OSError:
            continue
        if os.access(folder, os.W_OK) and folder.stat().st_uid == os.getuid():
            return folder
    return Path(tempfile.mkdtemp(prefix="linkwork-"))


def _environment_hash() -> str:
    """Hash of what compiles kernels: numba, Python, and the two files that use them."""
    digest = hashlib.sha256(f"numba {VERSION} {MODE} python {sys.version}".encode())
    for name in ("numba_backend.py", "fingerprints.py"):
        digest.update(Path(__file__).with_name(name).read_bytes())
    return digest.hexdigest()[:16]


def _prune(folder: Path) -> None:
    """Remove older cache folders and, of each kernel, older entries: all but the newest few."""
    with contextlib.suppress(OSError):
        _keep_newest([path for path in folder.parent.glob("kernels-*") if path != folder])
        entries: dict[str, list[Path]] = {}
        for path in folder.glob("*-*"):
            entries.setdefault(path.name.partition("-")[0], []).append(path)
        for found in entries.values():
            _keep_newest([path for path in found if path.is_dir() or path.suffix == ".nbi"])


def _keep_newest(paths: list[Path]) -> None:
    for path in sorted(paths, key=lambda path: path.stat().st_mtime, reverse=True)[_KEPT:]:
        if path.is_dir():
            shutil.rmtree(path, ignore_errors=True)
        else:
            for part_of_it in path.parent.glob(f"{path.stem}.*"):
                part_of_it.unlink(missing_ok=True)


CACHE_ROOT = _cache_root()
CACHE_FOLDER = CACHE_ROOT / f"kernels-{_environment_hash()}"

PARAMETERS = types.Array(float64, 1, "C", readonly=True)
TOPOLOGY = types.Array(int64, 1, "C", readonly=True)
BUFFER = float64[::1]
VECTOR = float64[::1]
MATRIX = float64[:, ::1]
INTEGERS = int64[::1]
FLAGS = boolean[::1]
THREE = cast(Any, types).UniTuple(float64, 3)
ON_MECHANISM = void(PARAMETERS, TOPOLOGY, BUFFER)

Function = TypeVar("Function", bound=Callable[..., Any])


@dataclass(frozen=True)
class WarmReport:
    """Result of `warm`: kernels compiled, wall time (s), and whether all of them came from the cache."""

    compiled: int
    seconds: float
    from_cache: bool


_declared: list[tuple[Any, Any]] = []
_frozen: set[Any] = set()
_listeners: list[Callable[[], None]] = []
_report_late: Callable[[str], None] | None = None
_ready = False
"""Whether `warm` has run."""


def kernel(
    signature: Any, *, allocates: bool = False, concurrent: bool = False
) -> Callable[[Function], Function]:
    """Declare a kernel for one numba signature, such as `ON_MECHANISM` or `float64(MATRIX, VECTOR)`.

    The kernel may be called from Python and from other kernels, in any package. Until `warm` has run, the
    first call compiles it. Unless it `allocates` arrays, it counts no references to those it is
    given. A `concurrent` kernel runs beside others in threads: it releases the global interpreter lock.
    """

    def declare(function: Function) -> Function:
        dispatcher = compiled_kernel(
            function,
            signature,
            CACHE_FOLDER,
            _compiling_alone,
            report_compiling,
            allocates=allocates,
            concurrent=concurrent,
        )
        _declared.append((dispatcher, signature))
        return cast(Function, dispatcher)

    return declare


def when_compiling(listener: Callable[[], None]) -> None:
    """`listener` is called once, before the first kernel that this process has to compile, warming or not.

    A machine with closures is put together while its file is read, by kernels; so register it before that.
    """
    _listeners.append(listener)


def when_late(listener: Callable[[str], None]) -> None:
    """`listener(module:name)` is called for each kernel that this process fetches after `warm`."""
    global _report_late
    _report_late = listener


def report_compiling() -> None:
    """Call the listeners of `when_compiling`: this process or one that it starts compiles kernels."""
    while _listeners:
        _listeners.pop()()


@contextlib.contextmanager
def _compiling_alone(dispatcher: Any) -> Iterator[None]:
    """Hold the lock of this kernel's compilation; the result of another process is then in the cache."""
    if _ready and _report_late is not None:
        _report_late(_full_name(dispatcher))
    with _lock(dispatcher) as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)
        yield


def _compiled_elsewhere(dispatcher: Any) -> bool:
    """Whether another process compiles this kernel at the moment."""
    with _lock(dispatcher) as lock:
        try:
            fcntl.flock(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            return True
    return False


def _lock(dispatcher: Any) -> TextIO:
    folder = CACHE_FOLDER / "locks"
    folder.mkdir(parents=True, exist_ok=True, mode=0o700)
    return (folder / cache_entry(dispatcher)).open("w")


def part(function: Function) -> Function:
    """Declare a small function that is only called inside kernels, where the compiler inlines it.

    It is compiled for types of arguments, not again for each constant that is given as one.
    """
    return cast(Function, compiled_part(function))


def _kernels_in(modules: Collection[str] | None) -> list[tuple[Any, Any]]:
    """The declared kernels of these modules, those that numba compiles."""
    return [
        (dispatcher, signature)
        for dispatcher, signature in _declared
        if is_dispatcher(dispatcher) and (modules is None or dispatcher.py_func.__module__ in modules)
    ]


def warm(
    modules: Collection[str] | None = None, progress: Callable[[int, int, str], None] | None = None
) -> WarmReport:
    """Compile, or load from the cache, the kernels of these imported modules and the kernels that they call.

    modules: names as in `linkwork.machine.kernel_registry`; None: all kernels declared so far. Afterwards
    none of them compiles again. `progress(done, total, name)` is called before each kernel that is about to
    be fetched. Of processes that warm at the same time each compiles a kernel that no other one is compiling,
    and then loads the kernels of the others.
    """
    global _ready
    _ready = False
    waiting = [(d, s) for d, s in _kernels_in(modules) if d not in _frozen]
    began = os.times().elapsed
    total, done, compiled = len(waiting), 0, 0
    CACHE_FOLDER.mkdir(parents=True, exist_ok=True, mode=0o700)
    thresholds = gc.get_threshold()
    gc.set_threshold(100_000, 20, 50)  # collecting garbage among the compiler's objects takes long
    for patient in (False, True):
        left = []
        for dispatcher, signature in waiting:
            if not patient and _compiled_elsewhere(dispatcher):
                left.append((dispatcher, signature))
                continue
            if progress is not None:
                progress(done, total, dispatcher.py_func.__name__)
            misses = cache_misses(dispatcher)
            dispatcher.compile(signature)
            compiled += cache_misses(dispatcher) - misses
            done += 1
        waiting = left
    for dispatcher, _ in _kernels_in(None):  # those that the modules' kernels call, too
        if is_compiled(dispatcher) and dispatcher not in _frozen:
            freeze(dispatcher)
            _frozen.add(dispatcher)
    gc.set_threshold(*thresholds)
    os.utime(CACHE_FOLDER)
    if compiled:
        _prune(CACHE_FOLDER)
    _ready = True
    return WarmReport(compiled, os.times().elapsed - began, compiled == 0)


def fetched() -> set[str]:
    """Return the kernels that this process has compiled or loaded, as `module:name`."""
    return {_full_name(dispatcher) for dispatcher, _ in _kernels_in(None) if is_compiled(dispatcher)}


@dataclass(frozen=True)
class MissingKernel:
    """A kernel that is not in the cache. calls: kernels as `module:name`; size: bytes of its Python code."""

    calls: frozenset[str]
    size: int


def missing(modules: Collection[str]) -> dict[str, MissingKernel]:
    """Return the kernels of these modules, and those that they call, which the cache lacks, by name."""
    found: dict[str, MissingKernel] = {}
    seen = [dispatcher for dispatcher, _ in _kernels_in(modules)]
    for dispatcher in seen:  # grows meanwhile
        called, size = kernels_called(dispatcher)
        seen += [each for each in called if each not in seen]
        if not is_compiled(dispatcher) and not is_cached(dispatcher, CACHE_FOLDER):
            found[_full_name(dispatcher)] = MissingKernel(frozenset(map(_full_name, called)), size)
    return found


def compile_named(name: str) -> None:
    """Compile, or load from the cache, the kernel `module:name`, whose module is imported first."""
    module, _, function = name.partition(":")
    import_module(module)
    for dispatcher, signature in _kernels_in((module,)):
        if dispatcher.py_func.__qualname__ == function:
            dispatcher.compile(signature)


def _full_name(dispatcher: Any) -> str:
    return f"{dispatcher.py_func.__module__}:{dispatcher.py_func.__qualname__}"
