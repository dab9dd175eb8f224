"""Build the kernels' shared library and load it.

`build` translates all kernels to C, compiles the files that have changed and links one library. It runs
when linkwork is installed. In a checkout, `load` compares the sources with those of the library and builds it
again before its first use, so that a changed kernel never runs old code. A library without a record of its
sources is that of an installed package. Nothing is compiled after that.
"""

import ctypes
import fcntl
import hashlib
import json
import os
import re
import shutil
import subprocess
import sys
from collections.abc import Mapping
from concurrent.futures import ThreadPoolExecutor
from importlib.util import find_spec
from pathlib import Path
from typing import Any

from linkwork.multibody.kernels.symbols import entry_name

FOLDER = Path(__file__).parent / "_library"
"""Holds the library, and in a checkout the record of its sources, the C files and their objects."""
PACKAGE = Path(__file__).parents[2]
_RECORD = "sources.json"
FLAGS = (
    "-std=gnu11 -O2 -fPIC -fvisibility=hidden -ffp-contract=off -fno-math-errno -fno-builtin-pow "
    "-Wall -Wno-unused-variable -Wno-unused-but-set-variable -Wno-unused-function"
)
FLAGS_VARIABLE = "LINKWORK_CFLAGS"
"""Further flags for the compiler, as for sanitizers."""
_OWN = ("sources.py", "translator.py", "library.py", "kernels.h", "border.h", "kernels.c")


class NoCompiler(RuntimeError):
    """There is no C compiler."""


def compiler() -> list[str]:
    """Return the command of the C compiler: `CC`, `cc`, `gcc`, `clang`, or that of the package ziglang."""
    chosen = os.environ.get("CC")
    if chosen:
        return chosen.split()
    for name in ("cc", "gcc", "clang"):
        found = shutil.which(name)
        if found:
            return [found]
    if find_spec("ziglang") is not None:
        return [sys.executable, "-m", "ziglang", "cc"]
    raise NoCompiler(
        "the kernels have changed and there is no C compiler to build them: install gcc or clang, or run "
        "`pip install ziglang`"
    )


def modules_with_kernels(root: Path = PACKAGE, package: str = "linkwork") -> list[str]:
    """Return the names of the modules that declare kernels."""
    alone = root.with_suffix(".py")
    paths = [alone] if alone.is_file() else []
    for folder, _, files in os.walk(root, followlinks=True):
        paths += [Path(folder) / name for name in files if name.endswith(".py")]
    found = []
    for path in paths:
        if re.search(r"^@kernel\b", path.read_text(), re.MULTILINE):
            parts = path.relative_to(root).with_suffix("").parts if path != alone else ()
            found.append(".".join((package, *(part for part in parts if part != "__init__"))))
    return sorted(found)


def build(
    folder: Path = FOLDER,
    roots: Mapping[str, Path] | None = None,
    *,
    keep: bool = True,
    only: str | None = None,
) -> Path:
    """Build the library in a folder; return its file. keep: keep the record of sources, and the objects.

    roots: packages and their folders; only: the package whose kernels are wanted. Raises `KernelError` for
    what the translator does not know, `NoCompiler`, and RuntimeError with the compiler's message.
    """
    from linkwork.multibody.kernels.sources import Sources
    from linkwork.multibody.kernels.translator import Translator

    roots = {"linkwork": PACKAGE} if roots is None else roots
    named = roots if only is None else {only: roots[only]}
    names = [name for package, root in named.items() for name in modules_with_kernels(root, package)]
    sources = Sources(roots)
    translator = Translator(sources, names)
    files = {"kernels": Path(__file__).with_name("kernels.c").read_text()}
    modules = [sources.module(name) for name in names]
    files |= {each.name: translator.file(each) for each in modules if each is not None}
    command = compiler()
    folder_of_headers = Path(__file__).parent
    headers = "".join(folder_of_headers.joinpath(name).read_text() for name in ("kernels.h", "border.h"))
    flags = [*FLAGS.split(), *_more_flags()]
    version = subprocess.run([*command, "--version"], capture_output=True, text=True, check=False).stdout
    key = _digest(repr((version, flags, headers)))
    objects = folder / "objects"
    objects.mkdir(parents=True, exist_ok=True)

    def compiled(item: tuple[str, str]) -> Path:
        name, text = item
        found = objects / f"{name}-{_digest(key + text)}.o"
        if not found.exists():
            source = objects / f"{name}.c"
            source.write_text(text)
            made = found.with_suffix(f".{os.getpid()}")
            _run([*command, *flags, f"-I{folder_of_headers}", "-c", str(source), "-o", str(made)])
            made.replace(found)
        return found

    with ThreadPoolExecutor(os.cpu_count()) as pool:
        made = list(pool.map(compiled, files.items()))
    library = folder / f"kernels-{_digest(''.join(path.name for path in made))}.so"
    if not library.exists():
        new = library.with_suffix(f".{os.getpid()}")
        _run([*command, *_more_flags(), "-shared", "-o", str(new), *map(str, made), "-lm"])
        new.replace(library)
    for path in {*folder.glob("*.so"), *objects.glob("*.o")} - {library, *made}:
        path.unlink(missing_ok=True)
    if keep:
        read = [Path(__file__).with_name(name) for name in _OWN]
        read += [module.path for module in sources.modules.values()]
        record = {os.path.relpath(path, folder): _stamp(path) for path in read}
        (folder / _RECORD).write_text(json.dumps({"flags": _more_flags(), "sources": record}))
    else:
        shutil.rmtree(objects)
    return library


def _more_flags() -> list[str]:
    return os.environ.get(FLAGS_VARIABLE, "").split()


def _digest(text: str) -> str:
    return hashlib.sha256(text.encode()).hexdigest()[:16]


def _run(command: list[str]) -> None:
    ran = subprocess.run(command, capture_output=True, text=True, check=False)
    if ran.returncode:
        raise RuntimeError(f"building the kernels failed: {' '.join(command)}\n{ran.stderr}")


def _stamp(path: Path) -> list[int]:
    found = path.stat()
    return [found.st_mtime_ns, found.st_size]


def current(folder: Path = FOLDER) -> Path | None:
    """Return the library of the sources or of an installed package; None where it must be built."""
    found = sorted(folder.glob("*.so"))
    if len(found) != 1:
        return None
    try:
        record = json.loads((folder / _RECORD).read_text())
        sources = record["sources"].items()
        same = record["flags"] == _more_flags() and all(_stamp(folder / path) == at for path, at in sources)
        return found[0] if same else None
    except (FileNotFoundError, KeyError):
        return None if (folder / _RECORD).exists() else found[0]


class _Method(ctypes.Structure):
    """Python's PyMethodDef."""

    _fields_ = (
        ("name", ctypes.c_char_p),
        ("function", ctypes.c_void_p),
        ("flags", ctypes.c_int),
        ("text", ctypes.c_char_p),
    )


_FASTCALL = 0x80
_loaded: dict[Path, ctypes.PyDLL] = {}
_methods: list[_Method] = []


def load(
    folder: Path = FOLDER,
    *,
    build_again: bool = False,
    roots: Mapping[str, Path] | None = None,
    only: str | None = None,
) -> ctypes.PyDLL:
    """Return the library, built before if its sources have changed; build_again: also if they have not.

    roots and only: as of `build`, for the kernels of another package.
    """
    if folder in _loaded and not build_again:
        return _loaded[folder]
    path = None if build_again else current(folder)
    if path is None:
        folder.mkdir(parents=True, exist_ok=True)
        with (folder / "lock").open("w") as lock:
            fcntl.flock(lock, fcntl.LOCK_EX)  # of several processes, one builds
            path = None if build_again else current(folder)
            if path is None:
                whose = "the kernels" if only is None else f"the kernels of {only}"
                sys.stderr.write(f"linkwork: building {whose}, whose sources have changed\n")
                path = build(folder, roots, only=only)
    _loaded[folder] = _open(path)
    return _loaded[folder]


def place_of(package: str) -> tuple[Path, Path]:
    """Return the root of another package (a folder, or a file without its suffix), and its library's folder.

    Raises ModuleNotFoundError where there is none, with Python source.
    """
    spec = find_spec(package)
    if spec is not None and spec.submodule_search_locations:
        root = Path(next(iter(spec.submodule_search_locations)))
        return root, root / "_kernels"
    if spec is None or not (spec.origin or "").endswith(".py"):
        raise ModuleNotFoundError(f"there is no package or module {package} with Python source")
    root = Path(str(spec.origin)).with_suffix("")
    return root, root.with_name(f"{package}_kernels")


def build_package(package: str) -> tuple[Path, list[str]]:
    """Build the library of another package's kernels beside its source; return it and the modules' names.

    Raises as `build`, ModuleNotFoundError, and ValueError where the package declares no kernel.
    """
    root, folder = place_of(package)
    modules = modules_with_kernels(root, package)
    if not modules:
        raise ValueError(f"{package} declares no kernels: decorate functions with linkwork.kernels.kernel")
    return build(folder, {package: root, "linkwork": PACKAGE}, only=package), modules


def load_package(package: str, *, build_again: bool = False) -> ctypes.PyDLL | None:
    """Return the library of another package's kernels, built again if they have changed.

    None where it was never built, or must be built again without a compiler: its kernels then run as Python.
    """
    try:
        root, folder = place_of(package)
    except (ModuleNotFoundError, ValueError):
        return None
    if not folder.is_dir():
        return None
    try:
        roots = {package: root, "linkwork": PACKAGE}
        return load(folder, build_again=build_again, roots=roots, only=package)
    except NoCompiler as error:
        sys.stderr.write(f"linkwork: {error}; the kernels of {package} run as Python, slowly\n")
        return None


def _open(path: Path) -> ctypes.PyDLL:
    import numpy as np

    from linkwork.multibody.kernels.structs import Struct

    library = ctypes.PyDLL(str(path))
    matrix, struct = np.arange(6.0).reshape(2, 3), Struct.__new__(Struct)
    struct.words = np.zeros(1, np.int64)
    numbers = [np.dtype(kind).num for kind in (np.float64, np.int64, np.bool_)]
    begin, given, place = library.linkwork_begin, ctypes.py_object, ctypes.c_void_p
    begin.argtypes = [given, given, given, *[ctypes.c_int32] * 3, given, place, given, place]
    places = matrix, matrix.ctypes.data, struct, id(struct.words)
    if not begin(np.ndarray, TypeError, Struct, *numbers, *places):
        raise ImportError("linkwork does not run on this build of Python: arrays are laid out in another way")
    return library


def function_in(library: ctypes.PyDLL, name: str, text: str | None) -> Any:
    """Return the kernel `module.name` as a function of Python; None where the library has no such kernel."""
    try:
        address = ctypes.cast(getattr(library, entry_name(name)), ctypes.c_void_p).value
    except AttributeError:
        return None
    short = name.rpartition(".")[2].encode()
    method = _Method(short, address, _FASTCALL, text.encode() if text else None)
    _methods.append(method)  # Python keeps its address
    make = ctypes.pythonapi.PyCFunction_NewEx
    make.argtypes = [ctypes.POINTER(_Method), ctypes.c_void_p, ctypes.py_object]
    make.restype = ctypes.py_object
    return make(ctypes.byref(method), None, name.rpartition(".")[0])


if __name__ == "__main__":
    sys.stdout.write(f"{build()}\n")
