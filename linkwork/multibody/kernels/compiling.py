"""How kernels are compiled: declared lazily, compiled or loaded together by `warm`, then frozen.

A *kernel* is a function that numba compiles for one signature. Declaring it compiles nothing. `warm` compiles
every kernel declared so far, or loads it from the cache, and then forbids further compilation, so that a call
with wrong types raises a TypeError instead of compiling in the middle of a tick.

The cache lies in a folder of the user's own, named after a hash of the sources of all rooms with kernels,
because numba itself does not notice when a function called from another file has changed.

No index of a kernel counts from the end (small_arrays.py).

Types for signatures: `PARAMETERS` and `TOPOLOGY` are the read-only arrays of a `Mechanism`, `BUFFER` is the
flat buffer of a `Workspace`, `VECTOR` and `MATRIX` are any contiguous float64 arrays. `ON_MECHANISM` is the
signature of most kernels: nothing returned, arguments (p, t, w).
"""

import contextlib
import copy
import fcntl
import gc
import hashlib
import os
import re
import shutil
import sys
import tempfile
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from importlib.metadata import version
from pathlib import Path
from types import CodeType
from typing import Any, TextIO, TypeVar, cast

import numba
from llvmlite import binding
from numba import boolean, float64, int64, types, void
from numba.core import config

from linkwork.multibody.kernels.small_arrays import for_small_arrays

__all__ = [
    "BUFFER",
    "COMPILING",
    "FLAGS",
    "INTEGERS",
    "MATRIX",
    "ON_MECHANISM",
    "PARAMETERS",
    "TOPOLOGY",
    "VECTOR",
    "WarmReport",
    "boolean",
    "cached",
    "float64",
    "int64",
    "kernel",
    "part",
    "void",
    "warm",
    "when_compiling",
]

COMPILING = "once on this computer; it takes up to a minute"
"""What people are told while kernels are compiled."""
_ROOMS = ("linkwork/multibody", "linkwork/controller", "linkwork/plant")
_KEPT = 8
_DECLARES = re.compile(r"^\s*@(kernel|part)\b", re.MULTILINE)
_IMPORTS = re.compile(r"^(?:from|import)\s+([\w.]+)(?:\s+import\s+(\([^)]*\)|[^\n]*))?", re.MULTILINE)


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


def _sources(beside: Path) -> list[Path]:
    """The files that declare kernels, and all files they import: those whose change may change a kernel."""
    texts = {path: path.read_text("utf-8") for room in _ROOMS for path in (beside / room).rglob("*.py")}
    waiting = [path for path, text in texts.items() if _DECLARES.search(text)]
    reached: set[Path] = set()
    while waiting:
        path = waiting.pop()
        if path in reached:
            continue
        reached.add(path)
        text = texts.get(path) or path.read_text("utf-8")
        for module, names in _IMPORTS.findall(text):
            folder = beside.joinpath(*module.split("."))
            inside = (folder / f"{name.strip()}.py" for name in re.split(r"[,\s()]+", names))
            found = [folder.with_suffix(".py"), folder / "__init__.py", *inside]
            waiting.extend(path for path in found if path.is_file())
    return sorted(reached)


def _source_hash() -> str:
    """Hash of every source that a kernel depends on, and of what compiles them."""
    digest = hashlib.sha256(f"numba {version('numba')} python {sys.version}".encode())
    beside = Path(__file__).resolve().parents[3]
    for path in _sources(beside):
        digest.update(f"\0{path.relative_to(beside)}\0".encode())
        digest.update(path.read_bytes())
    return digest.hexdigest()[:16]


def _prune(root: Path, current: Path) -> None:
    """Remove the cache folders of older sources, except the newest few."""
    try:
        others = [path for path in root.glob("kernels-*") if path.is_dir() and path != current]
        others.sort(key=lambda path: path.stat().st_mtime, reverse=True)
    except OSError:
        return
    for path in others[_KEPT - 1 :]:
        shutil.rmtree(path, ignore_errors=True)


CACHE_ROOT = _cache_root()
CACHE_FOLDER = CACHE_ROOT / f"kernels-{_source_hash()}"
_config: Any = config
_njit: Any = numba.njit

PARAMETERS = types.Array(float64, 1, "C", readonly=True)
TOPOLOGY = types.Array(int64, 1, "C", readonly=True)
BUFFER = float64[::1]
VECTOR = float64[::1]
MATRIX = float64[:, ::1]
INTEGERS = int64[::1]
FLAGS = boolean[::1]
ON_MECHANISM = void(PARAMETERS, TOPOLOGY, BUFFER)

Function = TypeVar("Function", bound=Callable[..., Any])


@dataclass(frozen=True)
class WarmReport:
    """What `warm` did: kernels compiled, wall time (s), and whether all of them came from the cache."""

    compiled: int
    seconds: float
    from_cache: bool


_declared: list[tuple[Any, Any]] = []
_placing: dict[Any, Callable[[], None]] = {}
_listeners: list[Callable[[], None]] = []


def kernel(signature: Any, *, allocates: bool = False) -> Callable[[Function], Function]:
    """Declare a kernel for one numba signature, such as `ON_MECHANISM` or `float64(MATRIX, VECTOR)`.

    The kernel may be called from Python and from other kernels, in any room. Until `warm` has run, the first
    call compiles it. Unless it `allocates` arrays of its own, it counts no references to those it is given.
    """

    def declare(function: Function) -> Function:
        previous = _config.CACHE_DIR
        _config.CACHE_DIR = str(CACHE_FOLDER)
        try:
            dispatcher = _njit(cache=True, error_model="numpy", _nrt=allocates)(function)
        finally:
            _config.CACHE_DIR = previous
        if hasattr(dispatcher, "disable_compile"):  # not where numba is switched off
            _apart(dispatcher, signature)
        _declared.append((dispatcher, signature))
        return cast(Function, dispatcher)

    return declare


def _apart(dispatcher: Any, signature: Any) -> None:
    """Let other kernels call this one through a symbol of its own, so that they do not contain its code.

    numba links whatever a function calls into it and compiles all of it again, level by level, which makes
    the uppermost kernels the dearest although they are the shortest. Symbols must exist before a kernel
    that names them is loaded, so what a kernel calls is fetched before it.
    """
    function, fetch, template = dispatcher.py_func, dispatcher.compile, dispatcher.get_call_template
    name = f"linkwork.{function.__module__}.{function.__qualname__}"

    def fetch_after_called(wanted: Any) -> Any:
        """One cache entry a kernel: numba would keep one for the signature and one for its arguments."""
        for called in _called(function.__code__, function.__globals__):
            called()
        with _compiling_alone(dispatcher), for_small_arrays():
            return fetch(signature if wanted == signature.args else wanted)

    def call_from_kernel(types_given: Any, names_given: Any) -> Any:
        """Only the declared signature is called from kernels; numbers are converted to its types."""
        place()
        may_compile, dispatcher._can_compile = dispatcher._can_compile, False
        try:
            return template(types_given, names_given)
        finally:
            dispatcher._can_compile = may_compile

    def place() -> None:
        result = dispatcher.overloads.get(signature.args)
        if result is None:
            dispatcher.compile(signature)
            result = dispatcher.overloads[signature.args]
        elif name in placed:
            return
        binding.add_symbol(name, result.library.get_pointer_to_function(result.fndesc.mangled_name))
        outside = copy.copy(result.fndesc)
        outside.mangled_name = name
        dispatcher.targetctx.remove_user_function(result.entry_point)
        dispatcher.targetctx.insert_user_function(result.entry_point, outside)
        placed.add(name)

    placed: set[str] = set()
    _tell_of_misses(dispatcher._cache)
    dispatcher.compile, dispatcher.get_call_template = fetch_after_called, call_from_kernel
    _placing[dispatcher] = place


def _called(code: CodeType, names: dict[str, Any]) -> list[Callable[[], None]]:
    """What fetches the kernels that a function calls itself or through its parts."""
    found: list[Callable[[], None]] = []
    for name in code.co_names:
        value: Any = names.get(name)
        if not hasattr(value, "py_func"):
            continue
        if value in _placing:
            found.append(_placing[value])
        else:
            found.extend(_called(value.py_func.__code__, value.py_func.__globals__))
    return found


def when_compiling(listener: Callable[[], None]) -> None:
    """`listener` is called once, before the first kernel that this process has to compile, warming or not.

    A machine with closures is put together while its file is read, by kernels; so register it before that.
    """
    _listeners.append(listener)


def _tell_of_misses(cache: Any) -> None:
    load = cache.load_overload

    def load_or_tell(signature: Any, context: Any) -> Any:
        found = load(signature, context)
        while found is None and _listeners:
            _listeners.pop()()
        return found

    cache.load_overload = load_or_tell


def _name(dispatcher: Any) -> str:
    """The kernel's name, as numba's cache files begin."""
    return f"{dispatcher.py_func.__module__.rpartition('.')[2]}.{dispatcher.py_func.__qualname__}"


@contextlib.contextmanager
def _compiling_alone(dispatcher: Any) -> Iterator[None]:
    """While no other process compiles this kernel: what it has compiled is then found in the cache."""
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
    return (folder / _name(dispatcher)).open("w")


def part(function: Function) -> Function:
    """Declare a small function that is only called inside kernels, where the compiler inlines it.

    It is compiled for types of arguments, not anew for each constant that is given as one.
    """
    dispatcher: Any = _njit(error_model="numpy", _nrt=True)(function)
    if hasattr(dispatcher, "get_call_template"):
        template, general = dispatcher.get_call_template, cast(Any, types).unliteral
        dispatcher.get_call_template = lambda given, names: template(tuple(map(general, given)), names)
    return cast(Function, dispatcher)


def cached() -> bool:
    """Whether every kernel declared so far has been compiled on this computer before."""
    kept = {path.name.split("-")[0] for path in CACHE_FOLDER.rglob("*.nbi")}
    return all(_name(dispatcher) in kept for dispatcher, _ in _declared)


def warm(progress: Callable[[int, int, str], None] | None = None) -> WarmReport:
    """Compile, or load from the cache, every kernel declared so far; afterwards none of them compiles again.

    `progress(done, total, name)` is called before each kernel that is about to be fetched. Of processes that
    warm at the same time each compiles what no other one is compiling, and then loads what the others did.
    """
    waiting = [(d, s) for d, s in _declared if hasattr(d, "disable_compile") and d._can_compile]
    began = os.times().elapsed
    total, done, compiled = len(waiting), 0, 0
    CACHE_FOLDER.mkdir(parents=True, exist_ok=True, mode=0o700)
    thresholds = gc.get_threshold()
    gc.set_threshold(100_000, 20, 50)  # looking for garbage among the compiler's objects takes long
    for patient in (False, True):
        left = []
        for dispatcher, signature in waiting:
            if not patient and _compiled_elsewhere(dispatcher):
                left.append((dispatcher, signature))
                continue
            if progress is not None:
                progress(done, total, dispatcher.py_func.__name__)
            misses = sum(dispatcher.stats.cache_misses.values())
            dispatcher.compile(signature)
            compiled += sum(dispatcher.stats.cache_misses.values()) - misses
            dispatcher.disable_compile()
            done += 1
        waiting = left
    gc.set_threshold(*thresholds)
    os.utime(CACHE_FOLDER)
    _prune(CACHE_ROOT, CACHE_FOLDER)
    return WarmReport(compiled, os.times().elapsed - began, compiled == 0)
