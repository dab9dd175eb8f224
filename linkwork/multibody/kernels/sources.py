"""Read kernel modules without importing them: functions, constants, enumerations, structs.

The translator needs of a module what its kernels name: functions, numbers, and the declarations of structs.
`Sources` finds each name by the module's syntax tree and follows imports to other modules, so that a build
needs neither numpy nor the package itself. What cannot be found this way is a `KernelError`.
"""

from __future__ import annotations

import ast
import builtins
import math
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from types import SimpleNamespace
from typing import Any

__all__ = ["Builtin", "KernelError", "KernelFunction", "Module", "Sources", "StructType"]

_KNOWN = (
    "linkwork.arrays",
    "linkwork.multibody.kernels.compiling",
    "linkwork.multibody.kernels.structs",
)
"""Modules whose names the translator knows itself."""
_CONSTANT_CALLS = ("range", "len", "float", "int", "min", "max", "abs")


class KernelError(RuntimeError):
    """A kernel contains what cannot be translated: file, line, column, and what to write instead."""

    def __init__(self, path: Path, node: ast.AST | None, text: str) -> None:
        """Name the place."""
        place = (
            f":{node.lineno}:{node.col_offset + 1}" if isinstance(node, ast.stmt | ast.expr | ast.arg) else ""
        )
        super().__init__(f"{path}{place}: {text}")


@dataclass(frozen=True)
class Builtin:
    """A function that the translator knows itself, as `math.sqrt`, or a module of such."""

    name: str

    def __getattr__(self, name: str) -> Any:
        """Return a constant of `math` or numpy, or the function of this name."""
        if name.startswith("__"):  # Python asks every object for some of these
            raise AttributeError(name)
        constant = getattr(math, name, None) if self.name in ("math", "np") else None
        return constant if isinstance(constant, float) else Builtin(f"{self.name}.{name}")

    def __call__(self, *arguments: Any) -> Any:
        """Return the value for constants. Raises TypeError for a function that gives none."""
        if self.name not in (*_CONSTANT_CALLS, "math.sqrt"):
            raise TypeError(self.name)
        owner = math if self.name == "math.sqrt" else builtins
        return getattr(owner, self.name.removeprefix("math."))(*arguments)


@dataclass(frozen=True, eq=False)
class KernelFunction:
    """A function in a kernel module."""

    module: Module
    node: ast.FunctionDef

    @property
    def decorator(self) -> str:
        """`kernel` or `part` as it is written, with arguments; empty where there is neither."""
        found = [ast.unparse(each) for each in self.node.decorator_list]
        return next((each for each in found if each.partition("(")[0] in ("kernel", "part")), "")

    @property
    def is_kernel(self) -> bool:
        """Whether Python calls it: it is then a symbol of the library."""
        return self.decorator.startswith("kernel")


@dataclass(frozen=True, eq=False)
class StructType:
    """A declared struct (structs.py). fields: for each name its type in C, such as f2, or another struct."""

    name: str
    fields: dict[str, str | StructType]


class Module(dict[str, Any]):
    """The names of one source file; each is evaluated when it is first looked up."""

    def __init__(self, sources: Sources, name: str, path: Path) -> None:
        """Parse the file."""
        super().__init__()
        self.sources, self.name, self.path = sources, name, path
        self._tree = ast.parse(path.read_text(), str(path))
        self._statements = {
            bound: statement for statement in self._tree.body for bound in _names_bound(statement)
        }

    @property
    def kernels(self) -> list[KernelFunction]:
        """The kernels that Python can call, in the order of the file."""
        found = [self[each.name] for each in self._tree.body if isinstance(each, ast.FunctionDef)]
        return [each for each in found if each.is_kernel]

    def error(self, at: ast.AST | None, text: str) -> KernelError:
        """Return the error with this module's place of `at`."""
        return KernelError(self.path, at, text)

    def value(self, node: ast.expr) -> Any:
        """Evaluate an expression of constants and names. Raises KernelError for any other."""
        try:
            code = compile(ast.Expression(node), str(self.path), "eval")
            return eval(code, {"__builtins__": {}}, self)
        except KernelError:
            raise
        except Exception:
            raise self.error(node, f"`{ast.unparse(node)}` is not a constant") from None

    def __missing__(self, name: str) -> Any:
        """Return what a name stands for: a name that the file does not bind is one of Python's."""
        statement = self._statements.get(name)
        if isinstance(statement, ast.FunctionDef):
            self[name] = KernelFunction(self, statement)
        elif isinstance(statement, ast.ClassDef):
            self[name] = self._class(statement)
        elif isinstance(statement, ast.Import | ast.ImportFrom):
            origin = next(each.name for each in statement.names if (each.asname or each.name) == name)
            if isinstance(statement, ast.ImportFrom):
                self[name] = self.sources.imported(self, statement, origin)
            else:
                self[name] = Builtin({"numpy": "np"}.get(origin, origin))
        elif isinstance(statement, ast.Assign | ast.AnnAssign) and statement.value is not None:
            value = self.value(statement.value)
            targets = statement.targets if isinstance(statement, ast.Assign) else [statement.target]
            for target in targets:
                names = target.elts if isinstance(target, ast.Tuple) else [target]
                values = value if isinstance(target, ast.Tuple) else [value]
                self.update({ast.unparse(each): item for each, item in zip(names, values, strict=True)})
        return self[name] if name in self else Builtin(name)

    def _class(self, statement: ast.ClassDef) -> Any:
        bases = {ast.unparse(each) for each in statement.bases}
        if "Struct" in bases:
            annotated = [each for each in statement.body if isinstance(each, ast.AnnAssign)]
            return StructType(
                statement.name,
                {ast.unparse(each.target): self._field(each.annotation) for each in annotated},
            )
        if bases & {"IntEnum", "IntFlag"}:
            members = [each for each in statement.body if isinstance(each, ast.Assign)]
            return SimpleNamespace(
                **{ast.unparse(each.targets[0]): self.value(each.value) for each in members}
            )
        raise self.error(statement, f"class `{statement.name}` is neither a struct nor an IntEnum")

    def _field(self, annotation: ast.expr) -> str | StructType:
        """Return the type of a struct's field."""
        shape = "*"
        if isinstance(annotation, ast.Subscript) and isinstance(annotation.slice, ast.Tuple):
            annotation, *words = annotation.slice.elts
            shape = str(self.value(words[0]))
        kind = ast.unparse(annotation)
        if kind in ("Floats", "Integers", "Flags"):
            return f"{kind[0].lower() if kind != 'Flags' else 'b'}{shape.count(', ') + 1}"
        if kind == "int":
            return "int64_t"
        found = self.value(annotation)
        if not isinstance(found, StructType):
            raise self.error(annotation, f"`{kind}` is not a type of a struct's field")
        return found


class Sources:
    """The modules of some packages. roots: package name → folder that holds its modules."""

    def __init__(self, roots: Mapping[str, Path]) -> None:
        """Read nothing yet."""
        self.roots = dict(roots)
        self.modules: dict[str, Module] = {}

    def module(self, name: str) -> Module | None:
        """Return a module by its dotted name; None if it is not in one of the packages."""
        if name not in self.modules:
            for owner, root in self.roots.items():
                if f"{name}.".startswith(f"{owner}."):
                    place = root.joinpath(*name[len(owner) + 1 :].split("."))
                    for path in (place.with_suffix(".py"), place / "__init__.py"):
                        if path.is_file():
                            return self.modules.setdefault(name, Module(self, name, path))
        return self.modules.get(name)

    def imported(self, importer: Module, statement: ast.ImportFrom, name: str) -> Any:
        """Return what `from … import name` gives."""
        where = statement.module or ""
        if statement.level:
            up = statement.level - (importer.path.stem == "__init__")
            where = ".".join([*importer.name.split(".")[: -up or None], *filter(None, [where])])
        module = self.module(where)
        return Builtin(name) if module is None or module.name in _KNOWN else module[name]


def _names_bound(statement: ast.stmt) -> list[str]:
    if isinstance(statement, ast.FunctionDef | ast.ClassDef):
        return [statement.name]
    if isinstance(statement, ast.Import | ast.ImportFrom):
        return [each.asname or each.name for each in statement.names]
    targets = statement.targets if isinstance(statement, ast.Assign) else []
    if isinstance(statement, ast.AnnAssign):
        targets = [statement.target]
    return [each.id for target in targets for each in ast.walk(target) if isinstance(each, ast.Name)]
