"""Everything that linkwork uses of numba: types, compiled functions, and the parts of it that are not public.

Kernels are compiled in one of three modes (`MODE`):

- `tuned`: with numba's internals, for the versions in `TESTED`. Kernels call each other through symbols, so
  that each is compiled once; indices are not wrapped; loops are not vectorized; references are not counted.
- `plain`: `numba.njit(cache=True)`, public interface only, for every other version of numba. The numbers are
  the same; compiling and a tick take longer. `LINKWORK_PLAIN_KERNELS=1` chooses it.
- `debug`: kernels are ordinary Python functions, and each index is checked, those below 0 too
  (`CheckedArray`). `LINKWORK_DEBUG_KERNELS=1` chooses it. There is no compilation.

No other file imports numba or llvmlite; `lint-imports` enforces it.
"""

import contextlib
import copy
import ctypes
import functools
import hashlib
import os
import pickle
import re
import shutil
import sys
import threading
from collections.abc import Callable, Iterator
from importlib.metadata import version
from pathlib import Path
from typing import Any, Final, Literal

import llvmlite
import numba
import numpy as np
from numba import boolean, float64, int64, types, void
from numba.extending import intrinsic

from linkwork.multibody.kernels.fingerprints import fingerprint

__all__ = [
    "DEBUG_VARIABLE",
    "MODE",
    "PLAIN_VARIABLE",
    "TESTED",
    "VERSION",
    "arrays_of",
    "array_at",
    "floats_at",
    "floats_from",
    "integers_at",
    "integers_from",
    "boolean",
    "cache_entry",
    "cache_misses",
    "compiled_kernel",
    "compiled_part",
    "float64",
    "freeze",
    "int64",
    "is_cached",
    "is_compiled",
    "is_dispatcher",
    "kernels_called",
    "mode_for",
    "name_in_cache",
    "types",
    "void",
]

Mode = Literal["tuned", "plain", "debug"]
TESTED: Final = ((0, 68), (0, 68))
"""First and last tested version of numba (major, minor)."""
VERSION: Final = version("numba")
PLAIN_VARIABLE: Final = "LINKWORK_PLAIN_KERNELS"
DEBUG_VARIABLE: Final = "LINKWORK_DEBUG_KERNELS"

_numba: Any = numba
_llvmlite: Any = llvmlite
_types: Any = types
_public: dict[str, Any] = {"error_model": "numpy"}
_called_only: dict[str, Any] = {"no_cpython_wrapper": True, "no_cfunc_wrapper": True}


def mode_for(numba_version: str, environment: Any) -> Mode:
    """Return how kernels are compiled with this version of numba under these environment variables."""
    if environment.get(DEBUG_VARIABLE, "0") not in ("", "0") or _numba.config.DISABLE_JIT:
        return "debug"
    found = re.match(r"(\d+)\.(\d+)", numba_version)
    known = found is not None and TESTED[0] <= (int(found[1]), int(found[2])) <= TESTED[1]
    return "tuned" if known and environment.get(PLAIN_VARIABLE, "0") in ("", "0") else "plain"


MODE: Mode = mode_for(VERSION, os.environ)
if MODE == "plain":
    first, last = (".".join(map(str, each)) for each in TESTED)
    reason = (
        f"numba {VERSION} is not a tested version ({first} to {last})"
        if mode_for(VERSION, {}) == "plain"
        else f"{PLAIN_VARIABLE} is set"
    )
    sys.stderr.write(f"linkwork: kernels are compiled plainly, {reason}; start and ticks take longer\n")
if MODE == "tuned":
    import llvmlite.binding
    import llvmlite.ir
    import numba.core.caching
    import numba.core.cgutils
    import numba.core.codegen
    import numba.core.compiler
    import numba.core.compiler_lock
    import numba.core.compiler_machinery
    import numba.core.registry
    import numba.core.runtime.nrt
    import numba.core.typed_passes
    import numba.core.types.functions
    import numba.core.typing.templates
    import numba.cpython.slicing
    import numba.extending
    import numba.np.arrayobj

    binding, ir, core = _llvmlite.binding, _llvmlite.ir, _numba.core
    cgutils, arrayobj = core.cgutils, _numba.np.arrayobj
    caching: Any = core.caching
    codegen: Any = core.codegen
    extending: Any = _numba.extending
    templates: Any = core.typing.templates
    _config, _slicing = core.config, _numba.cpython.slicing
    _inference, _functions = core.typed_passes.NopythonTypeInference, core.types.functions.BaseFunction
else:
    _config = _numba.config


# Compiling


def compiled_part(function: Callable[..., Any]) -> Any:
    """Return a function that kernels inline, compiled for types of arguments and not for each constant.

    Python may call it too: it is then compiled for that call, under the rules of kernels.
    """
    if MODE == "debug":
        return function
    _name_apart(function)
    if MODE == "plain":
        return _numba.njit(**_public)(function)
    dispatcher: Any = _numba.njit(**_public)(function)
    inside: Any = _numba.njit(_nrt=False, pipeline_class=_KernelPipeline, **_called_only, **_public)(function)
    template, general = inside.get_call_template, _types.unliteral
    dispatcher.get_call_template = lambda given, names: template(tuple(map(general, given)), names)
    dispatcher.get_overload = inside.get_overload
    fetch = dispatcher.compile

    def fetch_for_python(wanted: Any) -> Any:
        with core.compiler_lock.global_compiler_lock, _for_small_arrays():
            return fetch(wanted)

    dispatcher.compile = fetch_for_python
    return dispatcher


def compiled_kernel(
    function: Callable[..., Any],
    signature: Any,
    folder: Path,
    fetching: Callable[[Any], contextlib.AbstractContextManager[None]],
    missed: Callable[[], None],
    *,
    allocates: bool,
    concurrent: bool,
) -> Any:
    """Return the kernel of a function, not compiled yet.

    `folder` holds the cache. `fetching` encloses each compilation or loading of the kernel, `missed` is
    called when the cache does not hold it. Unless it `allocates`, no references are counted. A `concurrent`
    kernel releases Python's global interpreter lock while it runs.
    """
    if MODE == "debug":
        return _checked(function, signature)
    _name_apart(function)
    options = _public if MODE == "plain" else {**_public, "_nrt": allocates, "no_cfunc_wrapper": True}
    if concurrent:
        options = {**options, "nogil": True}
    pipeline = {"pipeline_class": _KernelPipeline} if MODE == "tuned" else {}
    dispatcher: Any = _numba.njit(**pipeline, **options)(function)
    _declared[dispatcher] = f"{function.__module__}.{function.__qualname__}{signature}{options}"
    if MODE == "plain":
        _compile_plainly(dispatcher, folder, fetching, missed)
    else:
        _separate(dispatcher, signature, folder, fetching, missed, allocates=allocates)
    return dispatcher


def _name_apart(function: Any) -> None:
    """Add to a closure's name a hash of the values that it closes over.

    numba names machine code after the function, the types of its arguments and a counter that starts at 1 in
    each process. Two closures of one line, compiled in two processes, could therefore have the same name in
    the cache, and a process that loads both would run one of them in place of the other.
    """
    if not function.__closure__:
        return
    closed = tuple(cell.cell_contents for cell in function.__closure__)

    def named(value: Any) -> str | None:
        return f"{value.__module__}.{value.__qualname__}" if callable(value) else None

    function.__qualname__ += f"_{fingerprint(closed, named)}"


def is_dispatcher(function: Any) -> bool:
    """Return whether numba compiles this function."""
    return hasattr(function, "disable_compile") and hasattr(function, "py_func")


def is_compiled(dispatcher: Any) -> bool:
    """Return whether the kernel is there, compiled or loaded from the cache."""
    return bool(dispatcher.signatures)


def freeze(dispatcher: Any) -> None:
    """Forbid further compilation: a call with other types raises TypeError."""
    dispatcher.disable_compile()


def cache_misses(dispatcher: Any) -> int:
    """Return how often the cache did not hold this kernel."""
    return sum(dispatcher.stats.cache_misses.values())


def name_in_cache(dispatcher: Any) -> str:
    """Return the kernel's name, as numba's cache files begin."""
    return f"{dispatcher.py_func.__module__.rpartition('.')[2]}.{dispatcher.py_func.__qualname__}"


@functools.cache
def cache_entry(dispatcher: Any) -> str:
    """Return the name of the kernel's cache entry: its own, and a hash of what its machine code depends on.

    It is right once the modules of the kernel and of all that it calls have been imported.
    """
    interface = _declared[dispatcher]

    def outside(value: Any) -> str | None:
        called = MODE == "tuned" and value is not dispatcher and is_dispatcher(value)
        return _declared.get(value) if called else None

    return f"{name_in_cache(dispatcher)}-{fingerprint(dispatcher, outside)}{_short_hash(interface)}"


def is_cached(dispatcher: Any, folder: Path) -> bool:
    """Return whether the cache holds the kernel."""
    entry = folder / cache_entry(dispatcher)
    return entry.is_dir() if MODE == "plain" else entry.with_name(f"{entry.name}.nbi").exists()


def _short_hash(text: str) -> str:
    return hashlib.sha256(text.encode()).hexdigest()[:4]


_declared: dict[Any, str] = {}
"""The interface of each kernel: its name, the types of its arguments, how it is compiled."""


# With public means

_choosing_folder = threading.Lock()
"""Held while numba's folder is another one: it is one setting of the whole process."""


def _compile_plainly(
    dispatcher: Any, folder: Path, fetching: Callable[[Any], Any], missed: Callable[[], None]
) -> None:
    """Enclose the compilation of a kernel, and report a miss before it."""
    fetch = dispatcher.compile

    def fetch_and_report(wanted: Any) -> Any:
        with fetching(dispatcher):
            if not is_cached(dispatcher, folder):
                missed()
            with _choosing_folder:
                previous, _config.CACHE_DIR = _config.CACHE_DIR, str(folder / cache_entry(dispatcher))
                try:
                    dispatcher.enable_caching()
                finally:
                    _config.CACHE_DIR = previous
            try:
                return fetch(wanted)
            except Exception:  # a damaged entry, or an error in the kernel, which is raised again
                shutil.rmtree(folder / cache_entry(dispatcher), ignore_errors=True)
                return fetch(wanted)

    dispatcher.compile = fetch_and_report


# With numba's internals

_LEFT_OUT = frozenset(
    {
        "WithLifting", "InlineClosureLikes", "RewriteDynamicRaises", "MakeFunctionToJitFunction",
        "InlineInlinables", "FindLiterallyCalls", "LiteralUnroll", "LiteralPropagationSubPipelinePass",
        "InlineOverloads", "NopythonRewrites", "NoPythonSupportedFeatureValidation",
        "DumpParforDiagnostics",
    }
)  # fmt: skip
"""Passes for closures, `with`, generated loops over tuples, array expressions and parallel loops."""
_placing: dict[Any, Callable[[], None]] = {}


def _separate(
    dispatcher: Any, signature: Any, folder: Path, fetching: Callable[[Any], Any],
    missed: Callable[[], None], *, allocates: bool,
) -> None:  # fmt: skip
    """Let other kernels call this one through a symbol, so that they do not contain its code.

    numba links every function that a function calls into it and compiles all of it again, level by level,
    which makes the uppermost kernels the slowest to compile although they are the shortest. Symbols must
    exist before a kernel that names them is loaded, so the kernels that a kernel calls are fetched before it.
    """
    function, fetch, template = dispatcher.py_func, dispatcher.compile, dispatcher.get_call_template
    name = f"linkwork.{function.__module__}.{function.__qualname__}"

    def fetch_after_called(wanted: Any) -> Any:
        """Use one cache entry: numba would keep one for the signature and one for the arguments."""
        with core.compiler_lock.global_compiler_lock:  # what encloses a compilation is of the whole process
            for called in kernels_called(dispatcher)[0]:
                _placing[called]()
            if dispatcher not in _opened:
                _opened.add(dispatcher)
                dispatcher._cache = KernelCache(
                    function, folder, cache_entry(dispatcher), missed, allocates=allocates
                )
            with fetching(dispatcher), _for_small_arrays(), _linked_only_beside(function.__qualname__):
                return fetch(signature if wanted == signature.args else wanted)

    def call_from_kernel(types_given: Any, names_given: Any) -> Any:
        """Allow only the declared signature from kernels; numbers are converted to its types."""
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
    dispatcher.compile, dispatcher.get_call_template = fetch_after_called, call_from_kernel
    _placing[dispatcher] = place


def kernels_called(dispatcher: Any) -> tuple[list[Any], int]:
    """Return the kernels that a kernel calls itself or through its parts, and the bytes of their Python code.

    In plain mode, kernels contain those that they call: there are none.
    """
    found: list[Any] = []
    parts = [dispatcher]
    for part in parts:  # grows meanwhile
        for value in _values_named(part.py_func):
            if not hasattr(value, "py_func") or value in found or value in parts:
                continue
            if value in _placing:
                found.append(value)
            elif MODE == "tuned":
                parts.append(value)
    return found, sum(len(each.py_func.__code__.co_code) for each in parts)


def _values_named(function: Any) -> Iterator[Any]:
    """Yield the values of the globals and of the enclosing function's variables that a function names."""
    for name in function.__code__.co_names:
        yield function.__globals__.get(name)
    for cell in function.__closure__ or ():
        yield cell.cell_contents


if MODE == "tuned":

    class _KernelPipeline(core.compiler.CompilerBase):  # type: ignore[misc,name-defined]
        """numba's passes, without those for what no kernel contains, and those that only repeat another."""

        def define_pipelines(self) -> list[Any]:
            """Return the passes."""
            passes = core.compiler_machinery.PassManager("kernel")
            for each, text in core.compiler.DefaultPassBuilder.define_nopython_pipeline(self.state).passes:
                known = [found for found, _ in passes.passes]
                if each.__name__ not in _LEFT_OUT and each not in known:
                    passes.add_pass(each, text)
            passes.finalize()
            return [passes]

    class _KernelFolder(caching._CacheLocator):  # type: ignore[misc]
        """The place of a kernel's entry: a folder that does not depend on where the source is."""

        def get_cache_path(self) -> str:
            """Return no folder: `KernelCache` knows it."""
            return ""

        def get_source_stamp(self) -> str:
            """Return nothing: an entry's name changes with the source."""
            return ""

        def get_disambiguator(self) -> str:
            """Return nothing, for the same reason."""
            return ""

        def ensure_cache_path(self) -> None:
            """Do nothing: the folder exists."""

        @classmethod
        def from_function(cls, _function: Any, _path: str) -> Any:
            """Return the place of any function."""
            return cls()

    class _KernelEntry(caching.CompileResultCacheImpl):  # type: ignore[misc]
        """Form of a kernel in the cache."""

        _locator_classes: Any = (_KernelFolder,)

    class _CheckedFile(caching.IndexDataCacheFile):  # type: ignore[misc]
        """The files of a cache entry. A damaged file counts as missing, so the kernel is compiled again."""

        def _load_index(self) -> Any:
            try:
                return super()._load_index()
            except Exception:  # unpickling damaged bytes may raise anything
                return {}

        def _save_data(self, name: str, content: Any) -> None:
            pickled = self._dump(content)
            with self._open_for_write(self._data_path(name)) as file:
                file.write(hashlib.sha256(pickled).digest() + pickled)

        def _load_data(self, name: str) -> Any:
            """Unpickle a file whose checksum is right; raise OSError, as for a file that is gone, if not."""
            stored = Path(self._data_path(name)).read_bytes()
            if hashlib.sha256(stored[32:]).digest() != stored[:32]:
                raise OSError(f"damaged: {name}")
            return pickle.loads(stored[32:])

    class KernelCache(caching.FunctionCache):  # type: ignore[misc]
        """The cache of one kernel, at `folder`/`entry`; `missed` is called when it is empty."""

        _impl_class: Any = _KernelEntry

        def __init__(
            self, function: Any, folder: Path, entry: str, missed: Callable[[], None], *, allocates: bool
        ) -> None:
            """Make the folder."""
            super().__init__(function)
            folder.mkdir(parents=True, exist_ok=True, mode=0o700)
            self._missed, self._cache_path, self._allocates = missed, str(folder), allocates
            self._cache_file = _CheckedFile(str(folder), entry, "")
            self._index = folder / f"{entry}.nbi"

        def load_overload(self, signature: Any, context: Any) -> Any:
            """Load the machine code, and note its use for the tidying of the cache.

            numba prepares its compiler before it loads. That takes longer than to load all kernels of a
            process, and happens in time where a kernel is missing.
            """
            if self._allocates:
                core.runtime.nrt.rtsys.initialize(context)
            with self._guard_against_spurious_io_errors():
                found = self._load_overload(signature, context)
            if found is None:
                self._missed()
            else:
                with contextlib.suppress(OSError):
                    os.utime(self._index)
            return found


_opened: set[Any] = set()


@contextlib.contextmanager
def _for_small_arrays() -> Iterator[None]:
    """Compile without index wraparound and without loop vectorization meanwhile.

    numba tests each index for Python's a[-1]. No kernel has such indices, and loops of three, six or nine
    turns lose by code for long ones. Together that is a quarter of a kernel's time. Functions that count no
    references may return views, which numba forbids; operators are resolved once (`_resolved`).
    """
    wrapping, vectorizing = _slicing.fix_index, _config.LOOP_VECTORIZE
    _config.LOOP_VECTORIZE = 0
    _slicing.fix_index = lambda _builder, index, _size: index
    infer, resolve = _inference.run_pass, _functions.get_call_type

    def infer_with_views(self: Any, state: Any) -> Any:
        given, state.targetctx = state.targetctx, state.targetctx.subtarget(enable_nrt=True)
        try:
            return infer(self, state)
        finally:
            state.targetctx = given

    def resolve_once(self: Any, context: Any, given: Any, names: Any) -> Any:
        if names or not all(isinstance(each, _PLAIN_TYPES) for each in given):
            return resolve(self, context, given, names)
        found = _resolved.get((self, given))
        if found is None:
            found = _resolved[self, given] = resolve(self, context, given, names)
        return found

    _inference.run_pass, _functions.get_call_type = infer_with_views, resolve_once
    try:
        yield
    finally:
        _functions.get_call_type = resolve
        _inference.run_pass = infer
        _config.LOOP_VECTORIZE = vectorizing
        _slicing.fix_index = wrapping


if MODE == "tuned":

    class _KernelLibrary(codegen.JITCodeLibrary):  # type: ignore[misc]
        """Code of one function; machine code is made of kernels only.

        What a kernel calls is linked into its module, and optimized and translated there.
        """

        def finalize(self) -> None:
            """Link what this function calls; then optimize it and make machine code if it is the kernel."""
            if self.name == _in_compilation[-1]:
                super().finalize()
                return
            self._raise_if_finalized()
            for library in dict.fromkeys(self._linking_libraries):
                self._final_module.link_in(library._get_module_for_linking(), preserve=True)
            self._final_module.verify()
            self._finalized = True

        def _optimize_functions(self, module: Any) -> None:
            module.data_layout = self._codegen._data_layout
            manager, builder = self._codegen._function_pass_manager()
            for function in module.functions:
                if not function.is_declaration:
                    manager.run(function, builder)

        def _optimize_final_module(self) -> None:
            """Keep what is linked in to this kernel: no other kernel's code of the same name replaces it."""
            for function in self._final_module.functions:
                if function.linkage is binding.Linkage.linkonce_odr:
                    function.linkage = binding.Linkage.internal
            manager, builder = self._codegen._module_pass_manager()
            manager.run(self._final_module, builder)


_in_compilation: list[str] = []
_resolved: dict[Any, Any] = {}
"""Signatures of numba's functions for numbers and arrays: numba tries some dozen candidates an operator."""
_PLAIN_TYPES = (_types.Number, _types.Boolean, _types.Array, _types.BaseTuple, _types.SliceType)


@contextlib.contextmanager
def _linked_only_beside(kernel: str) -> Iterator[None]:
    """Make no machine code of other functions than the kernel meanwhile."""
    compiler = core.registry.cpu_target.target_context.codegen()
    library, set_environment = compiler._library_class, compiler.set_env

    def set_known(name: str, environment: Any) -> None:
        if compiler._engine.is_symbol_defined(name):
            set_environment(name, environment)

    compiler._library_class, compiler.set_env = _KernelLibrary, set_known
    _in_compilation.append(kernel)
    try:
        yield
    finally:
        _in_compilation.pop()
        compiler._library_class = library
        if _in_compilation:
            compiler.set_env = set_environment
        else:
            del compiler.set_env


# Arrays at an address


def _array_from(context: Any, builder: Any, kind: Any, pointer: Any, lengths: list[Any]) -> Any:
    """Generate code for an array of this type at a pointer, row-major, without an owner."""
    array = arrayobj.make_array(kind)(context, builder)
    itemsize = context.get_abi_sizeof(context.get_data_type(kind.dtype))
    strides = [cgutils.intp_t(itemsize)]
    for length in reversed(lengths[1:]):
        strides.insert(0, builder.mul(strides[0], length))
    arrayobj.populate_array(
        array, data=pointer, shape=lengths, strides=strides, itemsize=cgutils.intp_t(itemsize), meminfo=None
    )
    return array._getvalue()


def _view_as(element: Any) -> Any:
    """Return a compiler intrinsic: the array of this shape that begins at an entry of a flat array."""

    def view(typing_context: Any, flat: Any, start: Any, shape: Any) -> Any:  # noqa: ARG001
        kind = _types.Array(element, len(shape), "C")
        integers = _types.UniTuple(_types.intp, len(shape))

        def code(context: Any, builder: Any, signature: Any, arguments: Any) -> Any:
            data = arrayobj.make_array(signature.args[0])(context, builder, arguments[0]).data
            pointer = builder.gep(data, [arguments[1]])
            return _array_from(context, builder, kind, pointer, cgutils.unpack_tuple(builder, arguments[2]))

        return kind(flat, _types.intp, integers), code

    return intrinsic(view)


def _pointer_to(element: Any) -> Any:
    """Return a compiler intrinsic: from an address (integer) to a pointer to such elements."""

    def pointer(typing_context: Any, address: Any) -> Any:  # noqa: ARG001  numba gives both
        def code(context: Any, builder: Any, signature: Any, arguments: Any) -> Any:
            return builder.inttoptr(arguments[0], context.get_value_type(signature.return_type))

        return _types.CPointer(element)(_types.uintp), code

    return intrinsic(pointer)


class CheckedArray(np.ndarray[Any, Any]):
    """An array in debug mode: numpy refuses indices beyond its end, this class those below 0 too."""

    def __getitem__(self, index: Any) -> Any:
        """Read entries. Raises IndexError for an index below 0."""
        _refuse_negative(index)
        return super().__getitem__(index)

    def __setitem__(self, index: Any, value: Any) -> None:
        """Write entries. Raises IndexError for an index below 0."""
        _refuse_negative(index)
        super().__setitem__(index, value)


def _refuse_negative(index: Any) -> None:
    for each in index if isinstance(index, tuple) else (index,):
        if isinstance(each, (int, np.integer)) and each < 0:
            raise IndexError(f"index {each} is below 0: no kernel counts from an array's end")


def _address(element: type[Any], address: int) -> Any:
    return ctypes.cast(int(address), ctypes.POINTER(element))


def _checked_array(pointer: Any, shape: tuple[int, ...]) -> Any:
    size = tuple(map(int, shape))
    if min(size) < 0:
        raise IndexError(f"an array of shape {size}")
    if not all(size):
        return np.empty(size, np.dtype(pointer._type_)).view(CheckedArray)
    return np.ctypeslib.as_array(pointer, size).view(CheckedArray)


def _checked(function: Callable[..., Any], signature: Any) -> Any:
    """Return the function with its array arguments checked: number type, dimensions, then every index."""
    expected = signature.args

    @functools.wraps(function)
    def call(*arguments: Any) -> Any:
        if len(arguments) != len(expected):
            raise TypeError(f"{function.__qualname__}: {len(arguments)} arguments, needs {len(expected)}")
        return function(*map(_checked_argument, arguments, expected))

    return call


def _checked_argument(given: Any, expected: Any) -> Any:
    if not isinstance(expected, _types.Array):
        return given
    if not (isinstance(given, np.ndarray) and given.ndim == expected.ndim):
        raise TypeError(f"No matching definition: {type(given).__name__} given for {expected}")
    if given.dtype != np.dtype(str(expected.dtype)) or not given.flags.c_contiguous:
        raise TypeError(f"No matching definition: {given.dtype} array given for {expected}")
    return given.view(CheckedArray)


if MODE == "debug":
    floats_at: Any = functools.partial(_address, ctypes.c_double)
    integers_at: Any = functools.partial(_address, ctypes.c_int64)
    array_at: Any = _checked_array
    floats_from: Any = None
    integers_from: Any = None
    arrays_of: Any = None
elif MODE == "plain":
    floats_at = _pointer_to(_types.float64)
    integers_at = _pointer_to(_types.int64)
    array_at = _numba.carray
    arrays_of = None

    def _floats_from(flat: Any, start: int, shape: Any) -> Any:
        """Return the float64 array of this shape that begins at flat[start]."""
        return array_at(floats_at(flat.ctypes.data + 8 * start), shape)

    def _integers_from(flat: Any, start: int, shape: Any) -> Any:
        """Return the int64 array of this shape that begins at flat[start]."""
        return array_at(integers_at(flat.ctypes.data + 8 * start), shape)

    floats_from, integers_from = _numba.njit(_floats_from), _numba.njit(_integers_from)
else:
    floats_at = integers_at = array_at = None
    floats_from, integers_from = _view_as(_types.float64), _view_as(_types.int64)

    class ArraysType(_types.Type):  # type: ignore[misc]
        """The arrays of a bundle in kernels: a pointer to its words; an array is read where it is named.

        layout: for each array its name, `f` or `i` and the number of dimensions.
        """

        def __init__(self, layout: str) -> None:
            self.places: dict[str, tuple[Any, int]] = {}
            at = 0
            for field in layout.split():
                name, kind, dimensions = field.split(":")
                element = _types.float64 if kind == "f" else _types.int64
                self.places[name] = _types.Array(element, int(dimensions), "C"), at
                at += 1 + int(dimensions)
            super().__init__(f"Arrays({layout})")

    @extending.register_model(ArraysType)
    class ArraysModel(extending.models.PrimitiveModel):  # type: ignore[misc]
        """A pointer to 64-bit integers."""

        def __init__(self, manager: Any, kind: Any) -> None:
            super().__init__(manager, kind, ir.IntType(64).as_pointer())

    @templates.infer_getattr
    class ArraysAttributes(templates.AttributeTemplate):  # type: ignore[misc]
        """Types of a bundle's arrays."""

        key = ArraysType

        def generic_resolve(self, arrays: Any, name: str) -> Any:
            """Return the type of the array of this name, None if there is none."""
            return arrays.places[name][0] if name in arrays.places else None

    def _named_array(context: Any, builder: Any, arrays: Any, words: Any, name: str) -> Any:
        kind, at = arrays.places[name]
        constant = builder.module.add_metadata([])
        found = []
        for place in range(at, at + 1 + kind.ndim):
            word = builder.load(builder.gep(words, [ir.Constant(ir.IntType(32), place)]))
            word.set_metadata("invariant.load", constant)
            found.append(word)
        pointer = builder.inttoptr(found[0], context.get_data_type(kind.dtype).as_pointer())
        return _array_from(context, builder, kind, pointer, found[1:])

    extending.lower_getattr_generic(ArraysType)(_named_array)

    def _arrays_of(typing_context: Any, bundle: Any, layout: Any) -> Any:  # noqa: ARG001
        """Return the arrays of a bundle with this layout (`ArraysType`)."""

        def code(context: Any, builder: Any, signature: Any, arguments: Any) -> Any:
            return arrayobj.make_array(signature.args[0])(context, builder, arguments[0]).data

        return ArraysType(layout.literal_value)(bundle, layout), code

    arrays_of = intrinsic(prefer_literal=True)(_arrays_of)
