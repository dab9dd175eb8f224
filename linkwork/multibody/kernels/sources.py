"""Read kernel modules without importing them: functions, constants, enumerations, structs.

The translator needs of a module what its kernels name: functions, numbers, and the declarations of structs.
`Sources` finds each name by the module's syntax tree and follows imports to other modules, so that a build
needs neither numpy nor the package itself. What cannot be found this way is a `KernelError`.
"""

from __future__ import annotations

import ast
import math
import operator
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any

__all__ = [
    "Bound",
    "Builtin",
    "Enumeration",
    "KernelFunction",
    "KernelError",
    "Module",
    "Sources",
    "StructType",
]

_OPERATIONS: dict[type[ast.AST], Callable[..., Any]] = {
    ast.Add: operator.add,
    ast.Sub: operator.sub,
    ast.Mult: operator.mul,
    ast.Div: operator.truediv,
    ast.FloorDiv: operator.floordiv,
    ast.Mod: operator.mod,
    ast.Pow: operator.pow,
    ast.USub: operator.neg,
    ast.UAdd: operator.pos,
    ast.Not: operator.not_,
}
_CALLS: dict[str, Callable[..., Any]] = {"range": range, "len": len, "float": float, "int": int}


_KNOWN = (
    "linkwork.arrays",
    "linkwork.multibody.kernels.compiling",
    "linkwork.multibody.kernels.structs",
)
"""Modules whose names the translator knows itself."""


class KernelError(RuntimeError):
    """A kernel contains what cannot be translated: file, line, column, and what to write instead."""

    def __init__(self, path: Path, node: ast.AST | None, text: str) -> None:
        """Name the place."""
        place = (
            f":{node.lineno}:{node.col_offset + 1}" if isinstance(node, ast.stmt | ast.expr | ast.arg) else ""
        )
        super().__init__(f"{path}{place}: {text}")
        self.text = text


@dataclass(frozen=True)
class Builtin:
    """A function that the translator knows itself, as `math.sqrt`, or a module of such."""

    name: str


@dataclass(frozen=True, eq=False)
class KernelFunction:
    """A function in a kernel module; `closed`: values of the names of the function that encloses it."""

    module: Module
    node: ast.FunctionDef
    closed: Mapping[str, Any] = field(default_factory=dict)
    bound: str = ""
    """The name under which the module has a function that another one made."""
    marked: bool = False
    """Whether it was given to `part(…)`, which then stands for the decorator."""

    @property
    def name(self) -> str:
        """Its name in the module."""
        return self.bound or self.node.name

    @property
    def decorator(self) -> ast.expr | None:
        """The decorator `kernel(…)` or `part`, None where there is neither."""
        for each in self.node.decorator_list:
            name = each.func if isinstance(each, ast.Call) else each
            if isinstance(name, ast.Name) and name.id in ("kernel", "part"):
                return each
        return None

    @property
    def is_kernel(self) -> bool:
        """Whether Python calls it: it is then a symbol of the library."""
        found = self.decorator.func if isinstance(self.decorator, ast.Call) else self.decorator
        return isinstance(found, ast.Name) and found.id == "kernel"

    @property
    def concurrent(self) -> bool:
        """Whether other threads of Python run while it runs."""
        found = self.decorator
        return isinstance(found, ast.Call) and any(each.arg == "concurrent" for each in found.keywords)


@dataclass(frozen=True, eq=False)
class StructType:
    """A declared struct (structs.py). fields: for each name its type in C, such as f2, or another struct."""

    name: str
    fields: dict[str, str | StructType]


@dataclass(frozen=True, eq=False)
class Enumeration:
    """An IntEnum: its members."""

    members: dict[str, int]


@dataclass(frozen=True, eq=False)
class Bound:
    """A name's value."""

    value: Any


class Module:
    """One source file; names are looked up on demand."""

    def __init__(self, sources: Sources, name: str, path: Path) -> None:
        """Parse the file."""
        self.sources, self.name, self.path = sources, name, path
        self.text = path.read_text()
        self.tree = ast.parse(self.text, str(path))
        self._statements: dict[str, ast.stmt] = {}
        for statement in self.tree.body:
            for bound in _names_bound(statement):
                self._statements[bound] = statement
        self._values: dict[str, Bound] = {}
        self._evaluated: dict[ast.stmt, Any] = {}

    @property
    def kernels(self) -> list[KernelFunction]:
        """The kernels that Python can call, in the order of the file."""
        found: list[KernelFunction] = []
        for statement in self.tree.body:
            if isinstance(statement, ast.FunctionDef):
                found.append(self.value(statement.name, statement))
            elif isinstance(statement, ast.Assign) and isinstance(statement.value, ast.Call):
                values = [self._made_by_call(each, statement) for each in _names_bound(statement)]
                found += [each for each in values if each is not None]
        return [each for each in found if each.is_kernel]

    def _made_by_call(self, name: str, statement: ast.Assign) -> KernelFunction | None:
        """Return the function that this statement binds to a name, None where it binds something else."""
        try:
            value = self.value(name, statement)
        except KernelError:
            return None
        return value if isinstance(value, KernelFunction) and value.module is self else None

    def value(self, name: str, at: ast.AST) -> Any:
        """Return what a name of the module stands for."""
        found = self._values.get(name)
        if found is None:
            statement = self._statements.get(name)
            if statement is None:
                raise self.error(at, f"`{name}` is not a name of this module")
            found = self._values[name] = Bound(self._bind(name, statement))
        return found.value

    def error(self, at: ast.AST | None, text: str) -> KernelError:
        """Return the error with this module's place of `at`."""
        return KernelError(self.path, at, text)

    def _bind(self, name: str, statement: ast.stmt) -> Any:
        if isinstance(statement, ast.FunctionDef):
            return KernelFunction(self, statement)
        if isinstance(statement, ast.ImportFrom):
            origin = next(each.name for each in statement.names if (each.asname or each.name) == name)
            return self.sources.imported(self, statement, origin)
        if isinstance(statement, ast.Import):
            origin = next(each.name for each in statement.names if (each.asname or each.name) == name)
            return Builtin({"numpy": "np"}.get(origin, origin))
        if isinstance(statement, ast.ClassDef):
            return self._class(statement)
        if isinstance(statement, ast.AnnAssign) and statement.value is not None:
            return self.static(statement.value, {})
        if isinstance(statement, ast.Assign):
            return self._assigned(name, statement)
        raise self.error(statement, f"`{name}` is not a constant, function or struct")

    def _assigned(self, name: str, statement: ast.Assign) -> Any:
        if statement not in self._evaluated:
            self._evaluated[statement] = self.static(statement.value, {})
        value = self._evaluated[statement]
        for target in statement.targets:
            if isinstance(target, ast.Name) and target.id == name:
                return _named(value, name)
            if isinstance(target, ast.Tuple):
                for each, item in zip(target.elts, value, strict=True):
                    if isinstance(each, ast.Name) and each.id == name:
                        return _named(item, name)
        raise self.error(statement, f"`{name}` is bound in a way that is not understood")

    def _class(self, statement: ast.ClassDef) -> Any:
        bases = {ast.unparse(each) for each in statement.bases}
        if "Struct" in bases:
            fields: dict[str, str | StructType] = {}
            for each in statement.body:
                if isinstance(each, ast.AnnAssign) and isinstance(each.target, ast.Name):
                    fields[each.target.id] = self._field(each.annotation)
            return StructType(statement.name, fields)
        if bases & {"IntEnum", "IntFlag"}:
            members = {
                target.id: int(self.static(each.value, {}))
                for each in statement.body
                if isinstance(each, ast.Assign)
                for target in each.targets
                if isinstance(target, ast.Name)
            }
            return Enumeration(members)
        raise self.error(statement, f"class `{statement.name}` is neither a struct nor an IntEnum")

    def _field(self, annotation: ast.expr) -> str | StructType:
        """Return the type of a struct's field."""
        shape = "*"
        if isinstance(annotation, ast.Subscript) and isinstance(annotation.slice, ast.Tuple):
            annotation, *words = annotation.slice.elts
            shape = str(self.static(words[0], {}))
        kind = ast.unparse(annotation)
        if kind in ("Floats", "Integers", "Flags"):
            return f"{kind[0].lower() if kind != 'Flags' else 'b'}{shape.count(', ') + 1}"
        if kind == "int":
            return "int64_t"
        found = self.static(annotation, {})
        if not isinstance(found, StructType):
            raise self.error(annotation, f"`{kind}` is not a type of a struct's field")
        return found

    def static(self, node: ast.expr, names: Mapping[str, Any]) -> Any:
        """Evaluate an expression of constants. Raises KernelError for any other."""
        if isinstance(node, ast.Constant):
            return node.value
        if isinstance(node, ast.Name):
            return names[node.id] if node.id in names else self._global(node)
        if isinstance(node, ast.Tuple):
            return tuple(self.static(each, names) for each in node.elts)
        if isinstance(node, ast.BinOp) and type(node.op) in _OPERATIONS:
            left, right = self.static(node.left, names), self.static(node.right, names)
            if isinstance(left, int | float | tuple) and isinstance(right, int | float | tuple):
                return _OPERATIONS[type(node.op)](left, right)
        if isinstance(node, ast.UnaryOp) and type(node.op) in _OPERATIONS:
            value = self.static(node.operand, names)
            if isinstance(value, int | float):
                return _OPERATIONS[type(node.op)](value)
        if isinstance(node, ast.Attribute):
            owner = self.static(node.value, names)
            if isinstance(owner, Builtin):
                constant = getattr(math, node.attr, None) if owner.name in ("math", "np") else None
                return constant if isinstance(constant, float) else Builtin(f"{owner.name}.{node.attr}")
            if isinstance(owner, Enumeration) and node.attr in owner.members:
                return owner.members[node.attr]
        if isinstance(node, ast.Subscript):
            owner, index = self.static(node.value, names), self.static(node.slice, names)
            if isinstance(owner, tuple | dict):
                return owner[index]
        if isinstance(node, ast.Call):
            return self._called(node, names)
        raise self.error(node, f"`{ast.unparse(node)}` is not a constant")

    def _global(self, node: ast.Name) -> Any:
        if node.id in self._statements:
            return self.value(node.id, node)
        return Builtin(node.id)

    def _called(self, node: ast.Call, names: Mapping[str, Any]) -> Any:
        called = self.static(node.func, names)
        arguments = [self.static(each, names) for each in node.args]
        if isinstance(called, Builtin) and called.name == "part" and isinstance(arguments[0], KernelFunction):
            return replace(arguments[0], marked=True)
        if isinstance(called, Builtin) and called.name in _CALLS:
            return _CALLS[called.name](*arguments)
        if isinstance(called, Builtin) and called.name == "math.sqrt":
            return math.sqrt(*arguments)
        if isinstance(called, KernelFunction) and called.decorator is None:
            return called.module._made(called, arguments, node)
        raise self.error(node, f"`{ast.unparse(node)}` is not a constant")

    def _made(self, factory: KernelFunction, arguments: list[Any], at: ast.AST) -> Any:
        """Return what a function makes that only defines functions and returns them."""
        names: dict[str, Any] = dict(
            zip((each.arg for each in factory.node.args.args), arguments, strict=True)
        )
        for statement in factory.node.body:
            if isinstance(statement, ast.FunctionDef):
                names[statement.name] = KernelFunction(self, statement, names)
            elif isinstance(statement, ast.Return) and statement.value is not None:
                return self.static(statement.value, names)
            elif not (isinstance(statement, ast.Expr) and isinstance(statement.value, ast.Constant)):
                break
        raise self.error(at, f"`{factory.node.name}` does not only define functions and return them")


class Sources:
    """The modules of some packages. roots: package name → folder that holds its modules."""

    def __init__(self, roots: Mapping[str, Path]) -> None:
        """Read nothing yet."""
        self.roots = dict(roots)
        self._modules: dict[str, Module] = {}

    def module(self, name: str) -> Module | None:
        """Return a module by its dotted name; None if it is not in one of the packages."""
        found = self._modules.get(name)
        if found is None:
            path = self._path(name)
            if path is None:
                return None
            found = self._modules[name] = Module(self, name, path)
        return found

    @property
    def modules(self) -> list[Module]:
        """The modules that were read."""
        return list(self._modules.values())

    def _path(self, name: str) -> Path | None:
        owner = name
        while owner:
            if owner in self.roots:
                below = name[len(owner) + 1 :].split(".") if name != owner else []
                place = self.roots[owner].joinpath(*below)
                for path in (place.with_suffix(".py"), place / "__init__.py"):
                    if path.is_file():
                        return path
                return None
            owner = owner.rpartition(".")[0]
        return None

    def imported(self, importer: Module, statement: ast.ImportFrom, name: str) -> Any:
        """Return what `from … import name` gives."""
        where = statement.module or ""
        if statement.level:
            up = statement.level - (importer.path.stem == "__init__")
            where = ".".join([*importer.name.split(".")[: -up or None], *filter(None, [where])])
        module = self.module(where)
        if module is None or module.name in _KNOWN:
            return Builtin(name)
        return module.value(name, statement)


def _named(value: Any, name: str) -> Any:
    made = isinstance(value, KernelFunction) and (value.closed or value.marked)
    return replace(value, bound=name) if made else value


def _names_bound(statement: ast.stmt) -> list[str]:
    if isinstance(statement, ast.FunctionDef | ast.ClassDef):
        return [statement.name]
    if isinstance(statement, ast.Import | ast.ImportFrom):
        return [each.asname or each.name for each in statement.names]
    if isinstance(statement, ast.AnnAssign) and isinstance(statement.target, ast.Name):
        return [statement.target.id]
    if isinstance(statement, ast.Assign):
        targets = [each for target in statement.targets for each in ast.walk(target)]
        return [each.id for each in targets if isinstance(each, ast.Name)]
    return []
