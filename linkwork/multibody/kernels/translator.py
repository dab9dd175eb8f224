"""Translate kernels from their Python source to C.

A kernel is plain typed Python in a closed subset: numbers, one- and two-dimensional arrays, tuples, `if`,
`while`, `for … in range(…)`, calls of other kernels and of `math`. `Translator` infers the type of each local
variable and writes one C function for each function and combination of argument types. The order of
operations is that of the source, so both give the same bits. What is not in the subset raises `KernelError`
with file, line and column; nothing is guessed.

Types: int is int64_t, float is double, bool is bool; arrays are views, of a pointer and lengths; structs
(structs.py) are pointers to structs of these.
"""

from __future__ import annotations

import ast
import re
from collections.abc import Collection, Sequence
from dataclasses import dataclass, field
from typing import Any

from linkwork.multibody.kernels.library import entry_name, fingerprint
from linkwork.multibody.kernels.sources import (
    Builtin,
    KernelError,
    KernelFunction,
    Module,
    Sources,
    StructType,
)

__all__ = ["Instance", "Translator", "Type"]


@dataclass(frozen=True)
class Type:
    """A type of the subset. c: its name in C; items: types of a tuple's items."""

    c: str
    items: tuple[Type, ...] = ()
    struct: Any = None

    @property
    def dimensions(self) -> int:
        """Number of dimensions of an array, 0 of other types."""
        return int(self.c[1]) if re.fullmatch(r"[fib]\d", self.c) else 0

    @property
    def element(self) -> Type:
        """The type of an array's elements."""
        return {"f": FLOAT, "i": INT, "b": BOOL}[self.c[0]]

    def __str__(self) -> str:
        """Name it as Python does."""
        names = {"double": "float", "int64_t": "int", "void": "None"}
        if self.struct is not None:
            return str(self.struct.name)
        if self.items:
            return f"tuple[{', '.join(map(str, self.items))}]"
        if self.dimensions:
            return f"array of {self.element}, {self.dimensions} dimension(s)"
        return names.get(self.c, self.c)


FLOAT, INT, BOOL, NOTHING, NONE = Type("double"), Type("int64_t"), Type("bool"), Type("void"), Type("none")
_NUMBERS = (BOOL, INT, FLOAT)


def array(kind: str, dimensions: int) -> Type:
    """Return the type of an array: kind f, i or b."""
    return Type(f"{kind}{dimensions}")


def pointer(struct: StructType) -> Type:
    """Return the type of a struct."""
    return Type(f"const s_{struct.name} *", (), struct)


def tuple_of(items: Sequence[Type]) -> Type:
    """Return the type of a tuple."""
    letters = "".join(each.c if each.items or each.dimensions else each.c[0] for each in items)
    return Type(f"t_{letters}", tuple(items))


@dataclass
class Value:
    """An expression in C and its type; constant: where Python knows it, too."""

    c: str
    type: Type
    constant: Any = None
    writes: bool = False
    """Whether it contains a call that may write to arrays."""


@dataclass(eq=False)
class Instance:
    """One function for one combination of argument types."""

    function: KernelFunction
    arguments: tuple[Any, ...]
    name: str
    result: Type = NOTHING
    parameters: list[tuple[str, Type]] = field(default_factory=list)
    body: list[str] = field(default_factory=list)
    calls: dict[Instance, None] = field(default_factory=dict)
    tuples: dict[str, Type] = field(default_factory=dict)
    structs: dict[str, StructType] = field(default_factory=dict)
    writes: bool = False

    @property
    def prototype(self) -> str:
        """The head of the function in C."""
        words = ", ".join(f"{kind.c} {name}" for name, kind in self.parameters if kind != NONE) or "void"
        return f"{self.result.c} {self.name}({words})"


class Translator:
    """Translates the kernels of modules. Instances are made once for all modules.

    modules: those whose kernels one library will have; kernels of others are copied where they are called.
    """

    def __init__(self, sources: Sources, modules: Collection[str]) -> None:
        """Begin with nothing translated."""
        self.sources, self.modules = sources, modules
        self._instances: dict[tuple[Any, ...], Instance] = {}
        self._names: set[str] = set()
        self._under_way: list[KernelFunction] = []

    def kernel(self, function: KernelFunction) -> Instance:
        """Return the instance of a kernel for the types that its annotations declare."""
        return self.instance(function, signature_of(function))

    def instance(self, function: KernelFunction, arguments: tuple[Any, ...]) -> Instance:
        """Return a function for arguments: a `Type`, or the value of a function that is given."""
        key = (*_key(function), *map(_key, arguments))
        found = self._instances.get(key)
        if found is None:
            if function in self._under_way:
                raise function.module.error(
                    function.node, f"`{function.node.name}` calls itself: write a loop"
                )
            stem = f"{function.module.name}.{function.name}".replace(".", "_")
            name, count = stem, 1
            while name in self._names:
                count += 1
                name = f"{stem}_{count}"
            self._names.add(name)
            found = Instance(function, arguments, name)
            self._under_way.append(function)
            try:
                _Body(self, found).translate()
            finally:
                self._under_way.pop()
            self._instances[key] = found
        return found

    def file(self, module: Module) -> str:
        """Return the C source of a module's kernels; kernels of other modules are declared, parts copied."""
        own = [self.kernel(each) for each in module.kernels]
        order: dict[Instance, None] = {}
        outside: dict[Instance, None] = {}

        def visit(each: Instance) -> None:
            for called in each.calls:
                if called in order or called in outside:
                    continue
                if (
                    called.function.is_kernel
                    and called not in own
                    and called.function.module.name in self.modules
                ):
                    outside[called] = None
                else:
                    visit(called)
            order.setdefault(each)

        for each in own:
            visit(each)
        tuples: dict[str, Type] = {}
        structs: dict[str, StructType] = {}
        for each in (*outside, *order):
            tuples |= each.tuples
            for struct in each.structs.values():
                _with_its_structs(struct, structs)
        lines = [f"/* Generated from {module.name}. */", '#include "kernels.h"']
        lines += [_struct_declaration(each) for each in structs.values()]
        lines += [_tuple_declaration(each) for each in sorted(tuples.values(), key=lambda each: len(each.c))]
        lines += [f"{each.prototype};" for each in outside]
        lines += [f"{each.prototype};" for each in own]
        for each in order:
            head = "" if each in own else "INLINE " if _is_short(each) else "static "
            lines += ["", f"{head}{each.prototype} {{", *each.body, "}"]
        for each in own:
            lines += ["", *_entry(each)]
        return "\n".join(lines) + "\n"


def _entry(kernel: Instance) -> list[str]:
    """The function that Python calls: it checks that arrays are what the kernel takes."""
    if any(kind.items for _, kind in kernel.parameters) or kernel.result.items:
        return []  # only kernels call it
    function, count = kernel.function, len(kernel.parameters)
    name = entry_name(f"{function.module.name}.{function.name}")
    lines = [
        f"EXPORT object *{name}(object *self, object *const *given, int64_t count) {{",
        "    (void)self, (void)given;",
    ]
    text = f"{function.name}: takes {count} arguments"
    lines += [f"    {kind.c} v{i};" for i, (_, kind) in enumerate(kernel.parameters)]
    lines.append(f'    if (count != {count}) return linkwork_refuse("{text}");')
    for i, (argument, (_, kind)) in enumerate(zip(function.node.args.args, kernel.parameters, strict=True)):
        words = f"a contiguous {kind}" if kind.dimensions else f"a {kind}"
        text = f"{function.name}: `{argument.arg}` must be {words}"
        refused = f'linkwork_refuse("{text}")' if kind.dimensions or kind.struct else "0"
        take = f"take_{kind.c}(given[{i}], "
        if kind.struct is not None:
            take = f"take_struct(given[{i}], INT64_C({_fingerprint(kind.struct)}), (const void **)"
        lines.append(f"    if (!{take}&v{i})) return {refused};")
    call = f"{kernel.name}({', '.join(f'v{i}' for i in range(count))})"
    before: list[str] = []
    after: list[str] = []
    if function.concurrent:
        before, after = ["    void *thread = PyEval_SaveThread();"], ["    PyEval_RestoreThread(thread);"]
    if kernel.result == NOTHING:
        return [*lines, *before, f"    {call};", *after, "    return linkwork_none();", "}"]
    made = {FLOAT: "PyFloat_FromDouble", INT: "PyLong_FromLongLong", BOOL: "PyBool_FromLong"}[kernel.result]
    lines += [*before, f"    const {kernel.result.c} result = {call};", *after]
    return [*lines, f"    return {made}(result);", "}"]


def _is_short(instance: Instance) -> bool:
    """Whether a part is inlined by force: it has no loop and few statements."""
    return len(instance.body) <= 12 and not any(
        "for (" in line or "while (" in line for line in instance.body
    )


def _tuple_declaration(kind: Type) -> str:
    return (
        f"typedef struct {{ {' '.join(f'{each.c} a{i};' for i, each in enumerate(kind.items))} }} {kind.c};"
    )


def _with_its_structs(struct: StructType, found: dict[str, StructType]) -> None:
    """Add a struct, after those that it contains."""
    for each in struct.fields.values():
        if isinstance(each, StructType):
            _with_its_structs(each, found)
    found.setdefault(struct.name, struct)


def _struct_declaration(struct: StructType) -> str:
    fields = " ".join(f"{_field_type(each).c} {name};" for name, each in struct.fields.items())
    return f"typedef struct {{ int64_t fingerprint; {fields} }} s_{struct.name};"


def _fingerprint(struct: StructType) -> int:
    kinds = {
        name: each.name if isinstance(each, StructType) else each for name, each in struct.fields.items()
    }
    return fingerprint(struct.name, kinds)


def _field_type(kind: str | StructType) -> Type:
    return pointer(kind) if isinstance(kind, StructType) else Type(kind)


def _key(value: Any) -> Any:
    return (value.node, id(value.closed)) if isinstance(value, KernelFunction) else value


_TYPES: dict[str, Type] = {
    "float": FLOAT,
    "int": INT,
    "bool": BOOL,
    "Floats": array("f", 1),
    "Integers": array("i", 1),
    "Flags": array("b", 1),
    "Matrix": array("f", 2),
    "Table": array("i", 2),
    "Vector": tuple_of((FLOAT,) * 3),
}


def signature_of(function: KernelFunction) -> tuple[Type, ...]:
    """Return the types of a kernel's arguments, as its annotations declare them."""
    found, module = [], function.module
    for each in function.node.args.args:
        name = ast.unparse(each.annotation) if each.annotation is not None else ""
        kind = _TYPES.get(name)
        if kind is None:
            if each.annotation is None:
                raise module.error(each, f"`{each.arg}` has no type")
            struct = module.static(each.annotation, {})
            if not isinstance(struct, StructType):
                allowed = f"{', '.join(_TYPES)} or a struct"
                raise module.error(each, f"`{name}` is not a type of an argument; allowed: {allowed}")
            kind = pointer(struct)
        found.append(kind)
    return tuple(found)


_MATH = frozenset(
    (
        *("sin", "cos", "tan", "asin", "acos", "atan", "atan2", "exp", "log", "tanh", "sinh", "cosh", "sqrt"),
        *("hypot", "copysign", "fabs", "cbrt"),
    )
)


@dataclass(frozen=True)
class _Part:
    """A part of an expression: whether it may write to arrays, and whether it reads them."""

    writes: bool
    reads: bool


class _Body:
    """The translation of one function: types first, repeated until they no longer change, then the text."""

    def __init__(self, translator: Translator, instance: Instance) -> None:
        self.translator, self.instance = translator, instance
        self.module = instance.function.module
        self.closed = instance.function.closed
        self.types: dict[str, Type] = {}
        self.statics: dict[str, Any] = {}
        self.local: set[str] = set()
        self.lines: list[str] = []
        self.depth = 1
        self.count = 0
        self.returned: Type | None = None
        self.allocates = False
        self.writing_calls = 0
        self.parts: list[list[_Part]] = []

    # the function

    def translate(self) -> None:
        """Fill the instance."""
        node, given = self.instance.function.node, self.instance.arguments
        names = [each.arg for each in node.args.args]
        if node.args.vararg or node.args.kwarg or node.args.kwonlyargs or node.args.defaults:
            raise self.error(node, "arguments of kernels are plain: no defaults, no `*`, no keywords")
        if len(names) != len(given):
            raise self.error(
                node, f"`{node.name}` has {len(names)} arguments, its declaration has {len(given)}"
            )
        for each, kind in zip(node.args.args, given, strict=True):
            if isinstance(kind, Type):
                annotated = ast.unparse(each.annotation) if each.annotation is not None else ""
                kind = FLOAT if annotated == "float" and kind in (INT, BOOL) else kind
                self.types[each.arg] = kind
                self.instance.parameters.append((_name(each.arg), kind))
            else:
                self.statics[each.arg] = kind
            self.local.add(each.arg)
        self.local |= _assigned(node)
        parameters = set(names)
        for _ in range(20):
            before = (dict(self.types), self.returned)
            self._once(node)
            if (self.types, self.returned) == before:
                break
        else:
            raise self.error(node, "the types of its variables do not settle")
        self._once(node)
        kind = self.returned or NOTHING
        declared = [
            f"    {kind.c} {_name(name)}{' = {0}' if kind.dimensions or kind.items else ' = 0'};"
            for name, kind in self.types.items()
            if name not in parameters and kind != NONE
        ]
        if self.allocates:
            declared.append("    arena *taken __attribute__((cleanup(arena_end))) = 0;")
        self.instance.result = kind
        self._noted(kind)
        self.instance.body = declared + self.lines

    def _once(self, node: ast.FunctionDef) -> None:
        self.lines, self.count, self.depth = [], 0, 1
        self.instance.calls, self.instance.tuples, self.instance.structs = {}, {}, {}
        for kind in self.types.values():
            self._noted(kind)
        annotated = ast.unparse(node.returns) if node.returns is not None else ""
        self.annotated = FLOAT if annotated == "float" else BOOL if annotated == "bool" else None
        self._block(node.body)

    def _noted(self, kind: Type) -> Type:
        for each in kind.items:
            self._noted(each)
        if kind.items:
            self.instance.tuples[kind.c] = kind
        if kind.struct is not None:
            self.instance.structs[kind.c] = kind.struct
        return kind

    def error(self, at: ast.AST, text: str) -> KernelError:
        """Return the error at a node."""
        return self.module.error(at, text)

    def _emit(self, text: str) -> None:
        self.lines.append("    " * self.depth + text)

    def _fresh(self) -> str:
        self.count += 1
        return f"x{self.count}"

    # statements

    def _block(self, body: Sequence[ast.stmt]) -> None:
        for statement in body:
            self._statement(statement)

    def _statement(self, node: ast.stmt) -> None:
        if isinstance(node, ast.Break | ast.Continue):
            self._emit(f"{type(node).__name__.lower()};")
            return
        method = getattr(self, f"_do_{type(node).__name__.lower()}", None)
        if method is None:
            raise self.error(node, f"`{type(node).__name__}` statements are not allowed in kernels")
        method(node)

    def _do_expr(self, node: ast.Expr) -> None:
        if isinstance(node.value, ast.Constant):
            return
        if not isinstance(node.value, ast.Call):
            raise self.error(node, "this statement has no effect")
        self._emit(f"{self._expression(node.value).c};")

    def _do_pass(self, node: ast.Pass) -> None:
        pass

    def _do_return(self, node: ast.Return) -> None:
        if node.value is None or (isinstance(node.value, ast.Constant) and node.value.value is None):
            self._result(NOTHING, node)
            self._emit("return;")
            return
        value = self._expression(node.value)
        if self.annotated is not None and value.type in _NUMBERS:
            value = self._as(value, self.annotated, node)
        kind = self._result(value.type, node)
        self._emit(f"return {self._as(value, kind, node).c};")

    def _result(self, kind: Type, node: ast.AST) -> Type:
        self.returned = kind if self.returned is None else self._unified(self.returned, kind, node, "returns")
        return self._noted(self.returned)

    def _do_if(self, node: ast.If) -> None:
        test = self._condition(node.test)
        if test.constant is not None:
            self._block(node.body if test.constant else node.orelse)
            return
        self._emit(f"if ({test.c}) {{")
        self._indented(node.body)
        if node.orelse:
            self._emit("} else {")
            self._indented(node.orelse)
        self._emit("}")

    def _do_while(self, node: ast.While) -> None:
        if node.orelse:
            raise self.error(node, "`else` of a loop is not allowed in kernels")
        self._emit(f"while ({self._condition(node.test).c}) {{")
        self._indented(node.body)
        self._emit("}")

    def _do_for(self, node: ast.For) -> None:
        if node.orelse:
            raise self.error(node, "`else` of a loop is not allowed in kernels")
        if not isinstance(node.target, ast.Name):
            raise self.error(node.target, "the variable of a loop is one name")
        if isinstance(node.iter, ast.Tuple):
            # one turn for each item
            name = self._fresh()
            values = [self._expression(each) for each in node.iter.elts]
            kind = values[0].type
            for each in values[1:]:
                kind = self._unified(kind, each.type, node, "items")
            self._typed(node.target.id, kind, node)
            self._emit(
                f"const {kind.c} {name}v[] = {{{', '.join(self._as(v, kind, node).c for v in values)}}};"
            )
            self._emit(f"for (int64_t {name} = 0; {name} < {len(values)}; {name}++) {{")
            self.depth += 1
            self._emit(f"{_name(node.target.id)} = {name}v[{name}];")
        elif isinstance(node.iter, ast.Call) and self._called_builtin(node.iter) == "range":
            bounds = [self._integer(each) for each in node.iter.args]
            start, stop = (Value("0", INT), bounds[0]) if len(bounds) == 1 else bounds[:2]
            step = self._step(node.iter.args[2]) if len(bounds) == 3 else 1
            self._typed(node.target.id, INT, node)
            at, end = self._fresh(), self._fresh()
            compared, moved = ("<", f"+= {step}") if step > 0 else (">", f"-= {-step}")
            self._emit(
                f"for (int64_t {at} = {start.c}, {end} = {stop.c}; {at} {compared} {end}; {at} {moved}) {{"
            )
            self.depth += 1
            self._emit(f"{_name(node.target.id)} = {at};")
        else:
            raise self.error(node.iter, "loops go over `range(…)` or a tuple")
        self._block(node.body)
        self.depth -= 1
        self._emit("}")

    def _step(self, node: ast.expr) -> int:
        value = self.module.static(node, self.closed)
        if not isinstance(value, int) or value == 0:
            raise self.error(node, "the step of a range is a number that is not 0")
        return value

    def _indented(self, body: Sequence[ast.stmt]) -> None:
        self.depth += 1
        self._block(body)
        self.depth -= 1

    def _do_annassign(self, node: ast.AnnAssign) -> None:
        if node.value is None:
            raise self.error(node, "a variable begins with a value")
        value = self._expression(node.value)
        if ast.unparse(node.annotation) == "float" and value.type in _NUMBERS:
            value = self._as(value, FLOAT, node)
        self._store(node.target, value)

    def _do_assign(self, node: ast.Assign) -> None:
        if len(node.targets) == 1:
            target = node.targets[0]
            if isinstance(target, ast.Tuple) and isinstance(node.value, ast.Tuple):
                self._several(target, node.value)
                return
            self._store(target, self._expression(node.value))
            return
        value = self._kept(self._expression(node.value))
        for target in node.targets:
            self._store(target, value)

    def _several(self, target: ast.Tuple, value: ast.Tuple) -> None:
        if len(target.elts) != len(value.elts):
            raise self.error(target, f"{len(target.elts)} names for {len(value.elts)} values")
        names = {each.id for each in target.elts if isinstance(each, ast.Name)}
        plain = len(names) == len(target.elts)
        values: list[Value | None] = []
        for i, each in enumerate(value.elts):
            item = self._expression(each)
            read = {x.id for later in value.elts[i + 1 :] for x in ast.walk(later) if isinstance(x, ast.Name)}
            if plain and target.elts[i].id not in read:  # type: ignore[attr-defined]
                self._store(target.elts[i], item)
                values.append(None)
            else:
                values.append(self._kept(item))
        for each, kept in zip(target.elts, values, strict=True):
            if kept is not None:
                self._store(each, kept)

    def _kept(self, value: Value) -> Value:
        """A value in a variable of its own, where it is more than a name or number."""
        if value.constant is not None or value.type == NONE or not isinstance(value.type, Type):
            return value
        name = self._fresh()
        self._emit(f"{value.type.c} {name} = {value.c};")
        return Value(name, value.type)

    def _store(self, target: ast.expr, value: Value) -> None:
        if isinstance(target, ast.Name) and target.id == "_":
            self._emit(f"(void)({value.c});")
        elif isinstance(target, ast.Name):
            kind = self._typed(target.id, value.type, target)
            if kind != NONE:
                self._emit(f"{_name(target.id)} = {self._as(value, kind, target).c};")
        elif isinstance(target, ast.Subscript):
            self.instance.writes = True
            value = self._kept(value) if value.writes else value
            place = self._place(target)
            if place.type.dimensions:
                raise self.error(target, "only single entries are assigned: use `copy` or `fill`")
            self._emit(f"{place.c} = {self._as(value, place.type, target).c};")
        elif isinstance(target, ast.Tuple):
            if len(value.type.items) != len(target.elts):
                raise self.error(target, f"{len(target.elts)} names for {value.type}")
            value = self._kept(value)
            for i, each in enumerate(target.elts):
                self._store(each, Value(f"{value.c}.a{i}", value.type.items[i]))
        else:
            raise self.error(target, "values are assigned to names and to entries of arrays")

    def _typed(self, name: str, kind: Type, node: ast.AST) -> Type:
        if kind == NOTHING:
            raise self.error(node, f"`{name}` gets no value")
        if name in self.statics:
            raise self.error(node, f"`{name}` is a function")
        before = self.types.get(name)
        self.types[name] = kind if before is None else self._unified(before, kind, node, f"`{name}`")
        return self._noted(self.types[name])

    def _unified(self, a: Type, b: Type, node: ast.AST, what: str) -> Type:
        if a == b:
            return a
        if a in _NUMBERS and b in _NUMBERS:
            return max(a, b, key=_NUMBERS.index)
        if a.items and len(a.items) == len(b.items):
            return tuple_of([self._unified(x, y, node, what) for x, y in zip(a.items, b.items, strict=True)])
        raise self.error(node, f"{what}: {a} in one place, {b} in another")

    def _do_augassign(self, node: ast.AugAssign) -> None:
        if isinstance(node.target, ast.Name):
            place = self._expression(ast.Name(node.target.id, ast.Load(), lineno=node.lineno, col_offset=0))
            value = self._binary(node.op, place, self._expression(node.value), node)
            self._store(node.target, value)
            return
        if not isinstance(node.target, ast.Subscript):
            raise self.error(node, "values are assigned to names and to entries of arrays")
        place = self._place(node.target)
        self.instance.writes = True
        pointer = self._fresh()
        self._emit(f"{place.type.c} *{pointer} = &{place.c};")
        left, right = Value(f"*{pointer}", place.type), self._expression(node.value)
        value = self._binary(node.op, self._kept(left) if right.writes else left, right, node)
        self._emit(f"*{pointer} = {self._as(value, place.type, node).c};")

    # expressions

    def _as(self, value: Value, kind: Type, node: ast.AST) -> Value:
        if value.type == kind:
            return value
        if value.type in _NUMBERS and kind in _NUMBERS:
            if kind == FLOAT and isinstance(value.constant, int):
                return Value(_number(float(value.constant)), FLOAT, float(value.constant))
            return Value(f"({kind.c})({value.c})", kind)
        if value.type.items and len(value.type.items) == len(kind.items):
            name = self._fresh()
            items = [
                self._as(Value(f"{name}.a{i}", each), kind.items[i], node).c
                for i, each in enumerate(value.type.items)
            ]
            return Value(
                f"({{ {value.type.c} {name} = {value.c}; ({kind.c}){{{', '.join(items)}}}; }})", kind
            )
        raise self.error(node, f"{value.type} where {kind} is needed")

    def _expression(self, node: ast.expr) -> Value:
        method = getattr(self, f"_of_{type(node).__name__.lower()}", None)
        if method is None:
            raise self.error(node, f"`{ast.unparse(node)}` is not allowed in kernels")
        self.parts.append([])
        before = self.writing_calls
        value: Value = method(node)
        parts, writes = self.parts.pop(), self.writing_calls > before
        unordered = isinstance(node, ast.BinOp | ast.Compare | ast.Call | ast.Tuple)
        if unordered and any(part.writes for part in parts) and sum(part.reads for part in parts) > 1:
            raise self.error(
                node, "C does not say which part is computed first: use a variable for each call"
            )
        if self.parts:
            reads = writes or isinstance(node, ast.Subscript | ast.Call) or any(part.reads for part in parts)
            self.parts[-1].append(_Part(writes, reads))
        value.writes = writes
        return value

    def _integer(self, node: ast.expr) -> Value:
        value = self._expression(node)
        if value.type not in (INT, BOOL):
            raise self.error(node, f"`{ast.unparse(node)}` is {value.type}, must be int")
        return self._as(value, INT, node)

    def _condition(self, node: ast.expr) -> Value:
        value = self._expression(node)
        if value.type in (INT, FLOAT):
            return Value(f"({value.c}) != 0", BOOL, None if value.constant is None else bool(value.constant))
        if value.type != BOOL:
            raise self.error(node, f"`{ast.unparse(node)}` is {value.type}, must be bool")
        return value

    def _of_constant(self, node: ast.Constant) -> Value:
        return self._constant(node.value, node)

    def _constant(self, value: Any, node: ast.AST) -> Value:
        if isinstance(value, bool):
            return Value("true" if value else "false", BOOL, value)
        if isinstance(value, int):
            return Value(f"INT64_C({value})" if abs(value) >= 2**31 else f"{value}", INT, value)
        if isinstance(value, float):
            return Value(_number(value), FLOAT, value)
        if value is None:
            return Value("", NONE, None)
        if isinstance(value, tuple) and value:
            items = [self._constant(each, node) for each in value]
            kind = self._noted(tuple_of([each.type for each in items]))
            text = ", ".join(each.c for each in items)
            return Value(f"({kind.c}){{{text}}}", kind, value)
        what = repr(value) if isinstance(value, str | complex) else f"`{ast.unparse(node)}`"
        raise self.error(node, f"{what} is not allowed in kernels")

    def _of_name(self, node: ast.Name) -> Value:
        if node.id in self.types and node.id not in self.statics:
            return Value(_name(node.id), self.types[node.id])
        if node.id in self.local and node.id not in self.statics:
            raise self.error(node, f"`{node.id}` is used before it has a value")
        return self._constant(self._static(node), node)

    def _static(self, node: ast.expr) -> Any:
        names = {**self.closed, **self.statics}
        return self.module.static(node, names)

    def _of_attribute(self, node: ast.Attribute) -> Value:
        root = node.value
        while isinstance(root, ast.Attribute):
            root = root.value
        if isinstance(root, ast.Name) and root.id not in self.types and root.id not in self.local:
            return self._constant(self._static(node), node)
        owner = self._expression(node.value)
        struct = owner.type.struct
        if struct is not None:
            if node.attr not in struct.fields:
                raise self.error(
                    node, f"`{struct.name}` has no `{node.attr}`; it has {', '.join(struct.fields)}"
                )
            return Value(f"{owner.c}->{node.attr}", self._noted(_field_type(struct.fields[node.attr])))
        if node.attr == "size" and owner.type.dimensions == 1:
            return Value(f"({owner.c}).n", INT)
        if node.attr == "shape" and owner.type.dimensions:
            kind = self._noted(tuple_of([INT] * owner.type.dimensions))
            lengths = ", ".join(f"({owner.c}).{each}" for each in "nml"[: owner.type.dimensions])
            return Value(f"(({kind.c}){{{lengths}}})", kind)
        raise self.error(node, f"`{ast.unparse(node.value)}` is {owner.type} and has no `{node.attr}`")

    def _of_tuple(self, node: ast.Tuple) -> Value:
        items = [self._expression(each) for each in node.elts]
        kind = self._noted(tuple_of([each.type for each in items]))
        return Value(f"(({kind.c}){{{', '.join(each.c for each in items)}}})", kind)

    def _of_unaryop(self, node: ast.UnaryOp) -> Value:
        if isinstance(node.op, ast.Not):
            value = self._condition(node.operand)
            return Value(f"!({value.c})", BOOL, None if value.constant is None else not value.constant)
        value = self._expression(node.operand)
        if not isinstance(node.op, ast.USub) or value.type not in (INT, FLOAT):
            raise self.error(node, f"`{ast.unparse(node)}` is not allowed in kernels")
        if value.constant is not None:
            return self._constant(-value.constant, node)
        return Value(f"(-{value.c})", value.type)

    def _of_binop(self, node: ast.BinOp) -> Value:
        return self._binary(node.op, self._expression(node.left), self._expression(node.right), node)

    def _binary(self, op: ast.operator, left: Value, right: Value, node: ast.AST) -> Value:
        if left.type not in _NUMBERS or right.type not in _NUMBERS:
            raise self.error(node, f"no such operation between {left.type} and {right.type}")
        kind = FLOAT if FLOAT in (left.type, right.type) else INT
        signs = {ast.Add: "+", ast.Sub: "-", ast.Mult: "*"}
        if type(op) in signs:
            a, b = self._as(left, kind, node), self._as(right, kind, node)
            return Value(f"({a.c} {signs[type(op)]} {b.c})", kind)
        if isinstance(op, ast.Div):
            a, b = self._as(left, FLOAT, node), self._as(right, FLOAT, node)
            return Value(f"({a.c} / {b.c})", FLOAT)
        letter = "f" if kind == FLOAT else "i"
        a, b = self._as(left, kind, node), self._as(right, kind, node)
        if isinstance(op, ast.FloorDiv):
            return Value(f"floordiv_{letter}({a.c}, {b.c})", kind)
        if isinstance(op, ast.Mod):
            return Value(f"mod_{letter}({a.c}, {b.c})", kind)
        if isinstance(op, ast.BitOr) and left.type == right.type != FLOAT:
            return Value(f"({left.c} | {right.c})", left.type)
        if isinstance(op, ast.Pow) and isinstance(right.constant, int) and 1 < right.constant < 5:
            name = self._fresh()
            product = " * ".join([name] * right.constant)
            return Value(f"({{ {left.type.c} {name} = {left.c}; {product}; }})", left.type)
        if isinstance(op, ast.Pow) and kind == FLOAT:
            return Value(f"pow({a.c}, {b.c})", FLOAT)
        raise self.error(node, f"`{type(op).__name__}` between {left.type} and {right.type} is not allowed")

    def _of_compare(self, node: ast.Compare) -> Value:
        signs = {ast.Lt: "<", ast.LtE: "<=", ast.Gt: ">", ast.GtE: ">=", ast.Eq: "==", ast.NotEq: "!="}
        if isinstance(node.ops[0], ast.In | ast.NotIn) and isinstance(node.comparators[0], ast.Tuple):
            left, name = self._expression(node.left), self._fresh()
            tests = " || ".join(f"{name} == {self._expression(each).c}" for each in node.comparators[0].elts)
            negated = "!" if isinstance(node.ops[0], ast.NotIn) else ""
            return Value(f"({{ {left.type.c} {name} = {left.c}; {negated}({tests}); }})", BOOL)
        values = [self._expression(each) for each in (node.left, *node.comparators)]
        if isinstance(node.ops[0], ast.Is | ast.IsNot) and len(values) == 2 and values[1].type == NONE:
            same = (values[0].type == NONE) == isinstance(node.ops[0], ast.Is)
            return self._constant(same, node)
        if (
            len(values) == 2
            and values[0].type.items
            and len(values[0].type.items) == len(values[1].type.items)
        ):
            return self._tuples_compared(node, *values)
        if any(each.type not in _NUMBERS for each in values):
            raise self.error(
                node, f"`{ast.unparse(node)}` compares {' and '.join(str(v.type) for v in values)}"
            )
        head, compared = "", list[str]()
        for i in range(1, len(values) - 1):  # evaluated once
            middle = self._fresh()
            head += f"{values[i].type.c} {middle} = {values[i].c}; "
            values[i] = Value(middle, values[i].type)
        for i, op in enumerate(node.ops):
            if type(op) not in signs:
                raise self.error(node, f"`{ast.unparse(node)}` is not allowed in kernels")
            compared.append(f"({values[i].c} {signs[type(op)]} {values[i + 1].c})")
        text = " && ".join(compared)
        return Value(f"({{ {head}{text}; }})" if head else f"({text})", BOOL)

    def _tuples_compared(self, node: ast.Compare, left: Value, right: Value) -> Value:
        if not isinstance(node.ops[0], ast.Eq | ast.NotEq):
            raise self.error(node, "tuples are compared by `==` and `!=`")
        a, b = self._fresh(), self._fresh()
        tests = " && ".join(f"{a}.a{i} == {b}.a{i}" for i in range(len(left.type.items)))
        negated = "!" if isinstance(node.ops[0], ast.NotEq) else ""
        head = f"{left.type.c} {a} = {left.c}; {right.type.c} {b} = {right.c};"
        return Value(f"({{ {head} {negated}({tests}); }})", BOOL)

    def _of_boolop(self, node: ast.BoolOp) -> Value:
        values = [self._condition(each) for each in node.values]
        constants = [each.constant for each in values]
        both = isinstance(node.op, ast.And)
        if None not in constants:
            return self._constant(all(constants) if both else any(constants), node)
        return Value("(" + (" && " if both else " || ").join(f"({each.c})" for each in values) + ")", BOOL)

    def _of_ifexp(self, node: ast.IfExp) -> Value:
        test, a, b = self._condition(node.test), self._expression(node.body), self._expression(node.orelse)
        if test.constant is not None:
            return a if test.constant else b
        kind = self._unified(a.type, b.type, node, "both values")
        return Value(f"({test.c} ? {self._as(a, kind, node).c} : {self._as(b, kind, node).c})", kind)

    def _of_subscript(self, node: ast.Subscript) -> Value:
        return self._place(node)

    def _place(self, node: ast.Subscript) -> Value:
        """An entry, a row or a slice of an array; an item of a tuple."""
        if isinstance(node.value, ast.Attribute) and node.value.attr == "shape":
            owner = self._expression(node.value.value)
            which = self.module.static(node.slice, self.closed)
            if which not in range(owner.type.dimensions):
                raise self.error(node, f"the array has {owner.type.dimensions} dimension(s)")
            return Value(f"({owner.c}).{'nml'[which]}", INT)
        owner = self._expression(node.value)
        indices = node.slice.elts if isinstance(node.slice, ast.Tuple) else [node.slice]
        if owner.type.items:
            return self._item(owner, node)
        if not owner.type.dimensions:
            raise self.error(node, f"`{ast.unparse(node.value)}` is {owner.type} and has no entries")
        if len(indices) > owner.type.dimensions:
            raise self.error(node, f"{len(indices)} indices of {owner.type}")
        *fixed, last = indices
        if any(isinstance(each, ast.Slice) for each in fixed):
            raise self.error(node, "only the last index may be a slice: other parts are not contiguous")
        if isinstance(last, ast.Slice):
            whole = owner
            if fixed:
                whole = self._entry(owner, [self._integer(each) for each in fixed], node)
            return self._slice(whole, last, node)
        return self._entry(owner, [self._integer(each) for each in indices], node)

    def _entry(self, owner: Value, indices: list[Value], node: ast.AST) -> Value:
        kind, dimensions = owner.type, owner.type.dimensions
        text = ", ".join(each.c for each in indices)
        if any(isinstance(each.constant, int) and each.constant < 0 for each in indices):
            raise self.error(node, "indices of kernels are not counted from the end: use `len(…)`")
        if len(indices) == dimensions:
            entry = f"({owner.c}).p[{text}]" if dimensions == 1 else f"(*at_{kind.c}({owner.c}, {text}))"
            return Value(entry, kind.element)
        name = "row" if len(indices) == 1 else "row2"
        return Value(f"{name}_{kind.c}({owner.c}, {text})", array(kind.c[0], dimensions - len(indices)))

    def _slice(self, owner: Value, part: ast.Slice, node: ast.AST) -> Value:
        if part.step is not None:
            raise self.error(node, "slices of kernels have no step")
        start = self._integer(part.lower) if part.lower is not None else Value("0", INT)
        name = self._fresh()
        length = f"{name}.n"
        stop = f"within({self._integer(part.upper).c}, {length})" if part.upper is not None else length
        text = f"({{ {owner.type.c} {name} = {owner.c}; part_{owner.type.c}({name}, {start.c}, {stop}); }})"
        return Value(text, owner.type)

    def _item(self, owner: Value, node: ast.Subscript) -> Value:
        if isinstance(owner.constant, tuple):
            index = self._integer(node.slice)
            if isinstance(index.constant, int):
                return self._constant(owner.constant[index.constant], node)
            values = [self._constant(each, node) for each in owner.constant]
            kind = values[0].type
            for each in values[1:]:
                kind = self._unified(kind, each.type, node, "items")
            text = ", ".join(self._as(each, kind, node).c for each in values)
            return Value(f"((const {kind.c}[]){{{text}}})[{index.c}]", kind)
        index, items = self._integer(node.slice), owner.type.items
        if isinstance(index.constant, int) and 0 <= index.constant < len(items):
            return Value(f"({owner.c}).a{index.constant}", items[index.constant])
        if index.constant is not None or len(set(items)) != 1:
            raise self.error(node, f"no such item of {owner.type}")
        name = self._fresh()
        listed = ", ".join(f"{name}.a{i}" for i in range(len(items)))
        return Value(
            f"({{ {owner.type.c} {name} = {owner.c}; (({items[0].c}[]){{{listed}}})[{index.c}]; }})", items[0]
        )

    # calls

    def _called_builtin(self, node: ast.Call) -> str | None:
        if isinstance(node.func, ast.Name) and node.func.id in self.types:
            return None
        called = self._static(node.func)
        return called.name if isinstance(called, Builtin) else None

    def _of_call(self, node: ast.Call) -> Value:
        if node.keywords:
            raise self.error(node, "arguments of kernels have no keywords")
        called = self._static(node.func)
        if isinstance(called, KernelFunction):
            return self._call(called, node)
        if isinstance(called, Builtin):
            return self._builtin(called.name, node)
        raise self.error(node, f"`{ast.unparse(node.func)}` is not a function of kernels")

    def _call(self, called: KernelFunction, node: ast.Call) -> Value:
        if called.decorator is None and not called.marked:
            raise self.error(node, f"`{called.node.name}` is not a kernel: decorate it with `part`")
        values: list[Value | None] = []
        for each in node.args:
            static = None
            if isinstance(each, ast.Name) and each.id not in self.types:
                static = self._static(each)
            values.append(None if isinstance(static, KernelFunction) else self._expression(each))
        if called.is_kernel:
            wanted: tuple[Any, ...] = signature_of(called)
            if len(wanted) != len(values):
                raise self.error(node, f"`{called.node.name}` takes {len(wanted)} arguments")
        else:
            wanted = tuple(
                self._static(each) if value is None else value.type
                for each, value in zip(node.args, values, strict=True)
            )
        instance = self.translator.instance(called, wanted)
        self.instance.calls[instance] = None
        if instance.writes:
            self.writing_calls += 1
            self.instance.writes = True
        given = []
        kinds = iter(instance.parameters)
        for value in values:
            if value is None:
                continue
            _, kind = next(kinds)
            if kind != NONE:
                given.append(self._as(value, kind, node).c)
        self._noted(instance.result)
        return Value(f"{instance.name}({', '.join(given)})", instance.result)

    def _builtin(self, name: str, node: ast.Call) -> Value:
        if name in ("block", "flat"):
            source = self._expression(node.args[0])
            if not source.type.dimensions:
                raise self.error(node, f"`{ast.unparse(node.args[0])}` is {source.type}, must be an array")
            letter, start, lengths = source.type.c[0], "0", f"size_{source.type.c}({source.c})"
            if name == "block":
                start, *sizes = (self._integer(each).c for each in node.args[1:])
                lengths = ", ".join(sizes)
            found = array(letter, 2 if name == "block" else 1)
            return Value(f"(({found.c}){{({source.c}).p + {start}, {lengths}}})", found)
        if name == "np.empty":
            return self._allocated(node)
        values = [self._expression(each) for each in node.args]
        base = name.removeprefix("math.").removeprefix("np.")
        if name == "len" and len(values) == 1 and values[0].type.dimensions:
            return Value(f"({values[0].c}).n", INT)
        if name in ("min", "max") and len(values) > 1:
            kind = FLOAT if any(each.type == FLOAT for each in values) else INT
            text = self._as(values[0], kind, node).c
            for each in values[1:]:
                text = f"{name}_{'f' if kind == FLOAT else 'i'}({text}, {self._as(each, kind, node).c})"
            return Value(text, kind)
        if len(values) == 1 and values[0].type in _NUMBERS:
            (value,) = values
            if name == "abs":
                integer = value.type != FLOAT
                return Value(f"{'abs_i' if integer else 'fabs'}({value.c})", INT if integer else FLOAT)
            if name == "int":
                return self._as(value, INT, node)
            if name == "float":
                return self._as(value, FLOAT, node)
            if name == "bool":
                return value if value.type == BOOL else Value(f"({value.c} != 0)", BOOL)
            floating = self._as(value, FLOAT, node)
            if name in ("math.floor", "math.ceil"):
                return Value(f"(int64_t){base}({floating.c})", INT)
            if name in ("np.floor", "np.ceil"):
                return Value(f"{base}({floating.c})", FLOAT)
            if base in ("isfinite", "isnan", "isinf"):
                return Value(f"(bool){base}({floating.c})", BOOL)
            if name == "np.sign":
                return Value(f"sign_f({floating.c})", FLOAT)
        if base in _MATH and name != base:
            return Value(f"{base}({', '.join(self._as(each, FLOAT, node).c for each in values)})", FLOAT)
        raise self.error(node, f"`{ast.unparse(node.func)}` is not a function of kernels")

    def _allocated(self, node: ast.Call) -> Value:
        self.allocates = True
        shape = node.args[0].elts if isinstance(node.args[0], ast.Tuple) else [node.args[0]]
        lengths = [self._integer(each).c for each in shape]
        kind = "i" if len(node.args) > 1 and ast.unparse(node.args[1]) == "np.int64" else "f"
        found = array(kind, len(lengths))
        size = " * ".join(f"({each})" for each in lengths)
        return Value(f"(({found.c}){{arena_take(&taken, {size}), {', '.join(lengths)}}})", found)


def _number(value: float) -> str:
    """A double in C, exactly."""
    if value != value:
        return "NAN"
    if value in (float("inf"), float("-inf")):
        return "INFINITY" if value > 0 else "(-INFINITY)"
    text = value.hex() if value != int(value) or abs(value) >= 1e15 else f"{value:.1f}"
    return text if value >= 0 and not text.startswith("-") else f"({text})"


def _name(python: str) -> str:
    """Return a variable's name in C, where no keyword and no function ends in an underscore."""
    return f"{python}_"


def _assigned(node: ast.FunctionDef) -> set[str]:
    return {x.id for x in ast.walk(node) if isinstance(x, ast.Name) and isinstance(x.ctx, ast.Store)}
