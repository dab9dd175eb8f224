"""Translate kernels from their Python source to C.

A kernel is plain typed Python in a closed subset: numbers, one- and two-dimensional arrays, tuples, `if`,
`while`, `for … in range(…)`, calls of other kernels and of `math`. Annotations give the types of arguments
and results, its first value that of a local variable. `Translator` writes one C function for each function.
The order of operations is that of the source, so both give the same bits. Anything outside the subset raises
`KernelError` with file, line and column; nothing is guessed.

Types: int is int64_t, float is double, bool is bool; arrays are views, of a pointer and lengths; structs
(structs.py) are pointers to structs of these. Variables end in an underscore, as no keyword of C does.
"""

from __future__ import annotations

import ast
import re
from collections.abc import Collection, Sequence
from dataclasses import dataclass
from functools import reduce
from typing import Any

from linkwork.multibody.kernels.sources import Builtin, KernelFunction, Module, Sources, StructType
from linkwork.multibody.kernels.symbols import entry_name, fingerprint

__all__ = ["Translator", "Type"]


@dataclass(frozen=True)
class Type:
    """A type of the subset. c: its name in C; items: types of a tuple's items."""

    c: str
    items: tuple[Type, ...] = ()
    struct: StructType | None = None

    @property
    def dimensions(self) -> int:
        """Number of dimensions of an array, 0 of other types."""
        return int(self.c[1]) if re.fullmatch(r"[fib]\d", self.c) else 0

    @property
    def element(self) -> Type:
        """The type of an array's elements."""
        return {"f": FLOAT, "i": INT, "b": BOOL}[self.c[0]]

    def takes(self, other: Type) -> bool:
        """Whether values of another type become this one without loss."""
        return self == other or other in _NUMBERS[: _NUMBERS.index(self) if self in _NUMBERS else 0]

    def __str__(self) -> str:
        """Name it as Python does."""
        if self.struct is not None:
            return self.struct.name
        if self.items:
            return f"tuple[{', '.join(map(str, self.items))}]"
        if self.dimensions:
            return f"array of {self.element}, {self.dimensions} dimension(s)"
        return next(name for name, kind in _TYPES.items() if kind == self)


FLOAT, INT, BOOL, NOTHING = Type("double"), Type("int64_t"), Type("bool"), Type("void")
_NUMBERS = (BOOL, INT, FLOAT)
_TYPES: dict[str, Type] = {
    "float": FLOAT,
    "int": INT,
    "bool": BOOL,
    "None": NOTHING,
    "Floats": Type("f1"),
    "Integers": Type("i1"),
    "Flags": Type("b1"),
    "Matrix": Type("f2"),
    "Table": Type("i2"),
}
_ARITHMETIC: dict[type[ast.AST], str] = {ast.Add: "+", ast.Sub: "-", ast.Mult: "*"}
_COMPARED = (ast.Lt, ast.LtE, ast.Gt, ast.GtE, ast.Eq, ast.NotEq)
_COMPARISONS: dict[type[ast.AST], str] = dict(zip(_COMPARED, ["<", "<=", ">", ">=", "==", "!="], strict=True))
_OF_ONE: dict[str, tuple[Type, str]] = {
    "float": (FLOAT, "(double)"),
    "int": (INT, "(int64_t)"),
    "bool": (BOOL, "(bool)"),
    **{f"math.{name}": (INT, f"(int64_t){name}") for name in ("floor", "ceil")},
    **{f"math.{name}": (BOOL, f"(bool){name}") for name in ("isfinite", "isnan", "isinf")},
    **{f"math.{name}": (FLOAT, name) for name in ("sin", "cos", "tan", "asin", "acos", "atan", "exp", "log")},
    **{f"math.{name}": (FLOAT, name) for name in ("expm1", "sinh", "cosh", "tanh", "sqrt", "cbrt", "fabs")},
    "np.floor": (FLOAT, "floor"),
    "np.ceil": (FLOAT, "ceil"),
    "np.sign": (FLOAT, "sign_f"),
}
_OF_TWO: dict[str, tuple[Type, str]] = {
    f"math.{name}": (FLOAT, name) for name in ("atan2", "hypot", "copysign")
}


@dataclass
class Value:
    """An expression in C and its type; constant: where Python knows it, too."""

    c: str
    type: Type
    constant: Any = None


@dataclass(eq=False)
class Translated:
    """A function in C. writes: whether it may write to arrays."""

    source: KernelFunction
    name: str
    parameters: list[tuple[str, Type]]
    result: Type
    writes: bool
    body: list[str]

    @property
    def prototype(self) -> str:
        """The head of the function in C."""
        words = ", ".join(f"{kind.c} {name}_" for name, kind in self.parameters) or "void"
        return f"{self.result.c} {self.name}({words})"

    @property
    def text(self) -> str:
        """The function in C; a part without loops and with few statements is inlined by force."""
        short = len(self.body) <= 12 and not re.search(r"(for|while) \(", "".join(self.body))
        head = "" if self.source.is_kernel else "INLINE " if short else "static "
        return "\n".join(["", f"{head}{self.prototype} {{", *self.body, "}"])


class Translator:
    """Translates the kernels of modules; each function is translated once for all modules.

    modules: those whose kernels one library will have; kernels of others are copied where they are called.
    """

    def __init__(self, sources: Sources, modules: Collection[str]) -> None:
        """Begin with nothing translated."""
        self.sources, self.modules = sources, modules
        self._functions: dict[KernelFunction, Translated | None] = {}
        self._needs: dict[str, str] = {}
        """What a file may need, by its name in C, each after those that it needs itself: types, functions."""

    def function(self, source: KernelFunction) -> Translated:
        """Return the C function of a kernel or a part."""
        if source not in self._functions:
            self._functions[source] = None
            self._functions[source] = made = _Body(self, source).translated()
            shared = source.is_kernel and source.module.name in self.modules
            alone = made.text if not source.is_kernel else f"\nstatic {made.text.lstrip()}"
            self._needs[made.name] = f"{made.prototype};" if shared else alone
        found = self._functions[source]
        if found is None:
            raise source.module.error(source.node, f"`{source.node.name}` calls itself: write a loop")
        return found

    def file(self, module: Module, *, for_python: bool = True) -> str:
        """Return the C source of a module's kernels; kernels of other modules are declared, parts copied.

        for_python: with the functions that Python calls.
        """
        own = [self.function(each) for each in module.kernels]
        lines = [each.text for each in own]
        if for_python:
            lines += [line for each in own for line in _entry(each)]
        words = set(re.findall(r"\w+", "\n".join(lines)))
        for name, text in reversed(self._needs.items()):
            if name in words:
                lines.insert(0, text)
                words.update(re.findall(r"\w+", text))
        header = "border.h" if for_python else "kernels.h"
        return "\n".join([f"/* Generated from {module.name}. */", f'#include "{header}"', *lines, ""])

    def annotated(self, module: Module, node: ast.expr | None, at: ast.AST, name: str) -> Type:
        """Return the type that an annotation declares."""
        text = "None" if node is None else ast.unparse(node)
        if node is None and isinstance(at, ast.arg):
            raise module.error(at, f"`{name}` has no type")
        if text == "Vector":
            return self.tuple_of([FLOAT] * 3)
        if node is None or text in _TYPES:
            return _TYPES[text]
        if isinstance(node, ast.Subscript) and ast.unparse(node.value) == "tuple":
            items = node.slice.elts if isinstance(node.slice, ast.Tuple) else [node.slice]
            return self.tuple_of([self.annotated(module, each, at, name) for each in items])
        struct = module.value(node)
        if not isinstance(struct, StructType):
            allowed = f"{', '.join(_TYPES)}, Vector, tuple[…] or a struct"
            raise module.error(at, f"`{name}`: `{text}` is not a type of kernels; allowed: {allowed}")
        return self.struct(struct)

    def tuple_of(self, items: Sequence[Type]) -> Type:
        """Return the type of a tuple."""
        letters = "".join(each.c if each.items or each.dimensions else each.c[0] for each in items)
        fields = " ".join(f"{each.c} a{i};" for i, each in enumerate(items))
        self._needs.setdefault(f"t_{letters}", f"typedef struct {{ {fields} }} t_{letters};")
        return Type(f"t_{letters}", tuple(items))

    def struct(self, struct: StructType) -> Type:
        """Return the type of a struct."""
        fields = {name: self.field(each) for name, each in struct.fields.items()}
        text = " ".join(f"{kind.c} {name};" for name, kind in fields.items())
        name = f"s_{struct.name}"
        self._needs.setdefault(name, f"typedef struct {{ int64_t fingerprint; {text} }} {name};")
        return Type(f"const {name} *", (), struct)

    def field(self, kind: str | StructType) -> Type:
        """Return the type of a struct's field."""
        return self.struct(kind) if isinstance(kind, StructType) else Type(kind)


def _entry(kernel: Translated) -> list[str]:
    """The function that Python calls: it checks that arrays are what the kernel takes."""
    if kernel.result.items or any(kind.items for _, kind in kernel.parameters):
        return []  # only kernels call it
    source, count = kernel.source, len(kernel.parameters)
    name = entry_name(f"{source.module.name}.{source.node.name}")
    lines = [f"\nEXPORT object *{name}(object *self, object *const *given, int64_t count) {{"]
    lines += ["    (void)self, (void)given;"]
    lines += [f"    {kind.c} v{i};" for i, (_, kind) in enumerate(kernel.parameters)]
    text = f'linkwork_refuse("{source.node.name}: takes {count} arguments")'
    lines.append(f"    if (count != {count}) return {text};")
    for i, (argument, kind) in enumerate(kernel.parameters):
        take = f"take_{kind.c}(given[{i}], &v{i})"
        if kind.struct is not None:
            number = f"INT64_C({_fingerprint(kind.struct)})"
            take = f"take_struct(given[{i}], {number}, (const void **)&v{i})"
        words = f"a contiguous {kind}" if kind.dimensions else f"a {kind}"
        text = f'linkwork_refuse("{source.node.name}: `{argument}` must be {words}")'
        lines.append(f"    if (!{take}) return {text};")
    call = f"{kernel.name}({', '.join(f'v{i}' for i in range(count))});"
    if kernel.result != NOTHING:
        call = f"const {kernel.result.c} result = {call}"
    made = {FLOAT: "PyFloat_FromDouble", INT: "PyLong_FromLongLong", BOOL: "PyBool_FromLong"}
    result = f"{made[kernel.result]}(result)" if kernel.result != NOTHING else "linkwork_none()"
    if "concurrent" in source.decorator:
        call = f"void *thread = PyEval_SaveThread(); {call} PyEval_RestoreThread(thread);"
    return [*lines, f"    {call}", f"    return {result};", "}"]


def _fingerprint(struct: StructType) -> int:
    kinds = {
        name: each.name if isinstance(each, StructType) else each for name, each in struct.fields.items()
    }
    return fingerprint(struct.name, kinds)


class _Expressions:
    """The translation of the expressions of one function; statements that they need come before them."""

    def __init__(self, translator: Translator, function: KernelFunction) -> None:
        self.translator, self.function, self.module = translator, function, function.module
        self.error = self.module.error
        self.types: dict[str, Type] = {}
        self.local: set[str] = set()
        self.lines: list[str] = []
        self.depth = 1
        self.count = 0
        self.allocates = self.writes = False
        self.writers: set[ast.AST] = set()
        """The calls that may write to arrays."""

    def _emit(self, text: str) -> None:
        self.lines.append("    " * self.depth + text)

    def _fresh(self) -> str:
        self.count += 1
        return f"x{self.count}"

    def _kept(self, value: Value) -> Value:
        """Store a value in a new variable."""
        name = self._fresh()
        self._emit(f"{value.type.c} {name} = {value.c};")
        return Value(name, value.type)

    def _as(self, value: Value, kind: Type, node: ast.AST) -> str:
        """The text of a value where a type is needed; C converts as Python does, to a larger type."""
        if not kind.takes(value.type):
            raise self.error(node, f"{value.type} where {kind} is needed")
        return value.c

    def _expression(self, node: ast.expr) -> Value:
        method = getattr(self, f"_of_{type(node).__name__.lower()}", None)
        if method is None:
            raise self.error(node, f"`{ast.unparse(node)}` is not allowed in kernels")
        value: Value = method(node)
        if isinstance(node, ast.BinOp | ast.Compare | ast.Call | ast.Tuple):
            self._ordered(node)
        return value

    def _ordered(self, node: ast.AST) -> None:
        """Refuse a call that writes beside a part that reads."""
        if not self.writers:
            return
        parts = [list(ast.walk(each)) for each in ast.iter_child_nodes(node)]
        reading = [any(isinstance(x, ast.Subscript | ast.Call) for x in part) for part in parts]
        twice = isinstance(node, ast.Compare) and len(node.ops) > 1
        if sum(reading) + twice > 1 and any(x in self.writers for part in parts for x in part):
            raise self.error(
                node, "C does not say which part is computed first: use a variable for each call"
            )

    def _integer(self, node: ast.expr) -> Value:
        value = self._expression(node)
        if value.type not in (INT, BOOL):
            raise self.error(node, f"`{ast.unparse(node)}` is {value.type}, must be int")
        return value

    def _condition(self, node: ast.expr) -> str:
        value = self._expression(node)
        if value.type not in _NUMBERS:
            raise self.error(node, f"`{ast.unparse(node)}` is {value.type}, must be bool")
        return value.c if value.type == BOOL else f"({value.c} != 0)"

    def _of_constant(self, node: ast.Constant) -> Value:
        return self._constant(node.value, node)

    def _constant(self, value: Any, node: ast.AST) -> Value:
        if isinstance(value, bool):
            return Value("true" if value else "false", BOOL, value)
        if isinstance(value, int):
            return Value(f"{value}L" if value >= 0 else f"({value}L)", INT, value)
        if isinstance(value, float):
            return Value(_number(value), FLOAT, value)
        if value is None:
            return Value("", NOTHING)
        if isinstance(value, tuple) and value:
            return self._tuple([self._constant(each, node) for each in value])
        what = repr(value) if isinstance(value, str | complex) else f"`{ast.unparse(node)}`"
        raise self.error(node, f"{what} is not allowed in kernels")

    def _of_name(self, node: ast.Name) -> Value:
        if node.id in self.types:
            return Value(f"{node.id}_", self.types[node.id])
        if node.id in self.local:
            raise self.error(node, f"`{node.id}` is used before it has a value")
        return self._constant(self.module.value(node), node)

    def _of_attribute(self, node: ast.Attribute) -> Value:
        root: ast.expr = node
        while isinstance(root, ast.Attribute):
            root = root.value
        if isinstance(root, ast.Name) and root.id not in self.local:
            return self._constant(self.module.value(node), node)
        owner = self._expression(node.value)
        struct = owner.type.struct
        if struct is not None:
            if node.attr not in struct.fields:
                known = ", ".join(struct.fields)
                raise self.error(node, f"`{struct.name}` has no `{node.attr}`; it has {known}")
            return Value(f"{owner.c}->{node.attr}", self.translator.field(struct.fields[node.attr]))
        if node.attr == "shape" and owner.type.dimensions:
            lengths = "nml"[: owner.type.dimensions]
            return self._tuple([Value(f"({owner.c}).{each}", INT) for each in lengths])
        raise self.error(node, f"`{ast.unparse(node.value)}` is {owner.type} and has no `{node.attr}`")

    def _of_tuple(self, node: ast.Tuple) -> Value:
        return self._tuple([self._expression(each) for each in node.elts])

    def _tuple(self, items: Sequence[Value]) -> Value:
        kind = self.translator.tuple_of([each.type for each in items])
        return Value(f"(({kind.c}){{{', '.join(each.c for each in items)}}})", kind)

    def _of_unaryop(self, node: ast.UnaryOp) -> Value:
        if isinstance(node.op, ast.Not):
            return Value(f"!({self._condition(node.operand)})", BOOL)
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
        letter = "f" if kind == FLOAT else "i"
        if type(op) in _ARITHMETIC:
            return Value(f"({left.c} {_ARITHMETIC[type(op)]} {right.c})", kind)
        if isinstance(op, ast.Div):
            return Value(f"((double){left.c} / (double){right.c})", FLOAT)
        if isinstance(op, ast.FloorDiv | ast.Mod):
            name = "mod" if isinstance(op, ast.Mod) else "floordiv"
            return Value(f"{name}_{letter}({left.c}, {right.c})", kind)
        if isinstance(op, ast.BitOr) and kind == INT:
            return Value(f"({left.c} | {right.c})", left.type if left.type == right.type else INT)
        if isinstance(op, ast.Pow) and kind == FLOAT:
            return Value(f"pow({left.c}, {right.c})", FLOAT)
        raise self.error(node, f"`{type(op).__name__}` between {left.type} and {right.type} is not allowed")

    def _of_compare(self, node: ast.Compare) -> Value:
        op, right = node.ops[0], node.comparators[0]
        if isinstance(op, ast.In | ast.NotIn) and isinstance(right, ast.Tuple):
            left, name = self._expression(node.left), self._fresh()
            tests = " || ".join(f"{name} == {self._expression(each).c}" for each in right.elts)
            negated = "!" if isinstance(op, ast.NotIn) else ""
            return Value(f"({{ {left.type.c} {name} = {left.c}; {negated}({tests}); }})", BOOL)
        values = [self._expression(each) for each in (node.left, *node.comparators)]
        if any(each.type not in _NUMBERS for each in values):
            kinds = " and ".join(str(each.type) for each in values)
            raise self.error(node, f"`{ast.unparse(node)}` compares {kinds}")
        if any(type(each) not in _COMPARISONS for each in node.ops):
            raise self.error(node, f"`{ast.unparse(node)}` is not allowed in kernels")
        triples = zip(values, node.ops, values[1:], strict=False)
        tests = " && ".join(f"({a.c} {_COMPARISONS[type(op)]} {b.c})" for a, op, b in triples)
        return Value(f"({tests})", BOOL)

    def _of_boolop(self, node: ast.BoolOp) -> Value:
        sign = " && " if isinstance(node.op, ast.And) else " || "
        return Value(f"({sign.join(self._condition(each) for each in node.values)})", BOOL)

    def _of_ifexp(self, node: ast.IfExp) -> Value:
        test, a, b = self._condition(node.test), self._expression(node.body), self._expression(node.orelse)
        kind = a.type if a.type.takes(b.type) else b.type
        return Value(f"({test} ? {self._as(a, kind, node)} : {self._as(b, kind, node)})", kind)

    def _of_subscript(self, node: ast.Subscript) -> Value:
        """An entry, a row or a slice of an array; an item of a tuple."""
        owner = self._expression(node.value)
        indices = node.slice.elts if isinstance(node.slice, ast.Tuple) else [node.slice]
        if owner.type.items:
            return self._item(owner, self._integer(node.slice), node)
        if not owner.type.dimensions:
            raise self.error(node, f"`{ast.unparse(node.value)}` is {owner.type} and has no entries")
        if len(indices) > owner.type.dimensions:
            raise self.error(node, f"{len(indices)} indices of {owner.type}")
        *fixed, last = indices
        if any(isinstance(each, ast.Slice) for each in fixed):
            raise self.error(node, "only the last index may be a slice: other parts are not contiguous")
        if not isinstance(last, ast.Slice):
            return self._entry(owner, indices, node)
        if last.step is not None:
            raise self.error(node, "slices of kernels have no step")
        owner = self._entry(owner, fixed, node) if fixed else owner
        start, stop = (each and self._integer(each).c for each in (last.lower, last.upper))
        return Value(f"part_{owner.type.c}({owner.c}, {start or 0}, {stop or 'INT64_MAX'})", owner.type)

    def _entry(self, owner: Value, indices: Sequence[ast.expr], node: ast.AST) -> Value:
        given = [self._integer(each) for each in indices]
        if any(each.constant is not None and each.constant < 0 for each in given):
            raise self.error(node, "indices of kernels are not counted from the end: use `len(…)`")
        kind, text = owner.type, ", ".join(each.c for each in given)
        if left := kind.dimensions - len(given):
            name = "row" if len(given) == 1 else "row2"
            return Value(f"{name}_{kind.c}({owner.c}, {text})", Type(f"{kind.c[0]}{left}"))
        return Value(f"(*at_{kind.c}({owner.c}, {text}))", kind.element)

    def _item(self, owner: Value, index: Value, node: ast.AST) -> Value:
        items = owner.type.items
        if index.constant is not None and 0 <= index.constant < len(items):
            return Value(f"({owner.c}).a{index.constant}", items[index.constant])
        if index.constant is not None or len(set(items)) != 1:
            raise self.error(node, f"no such item of {owner.type}")
        name = self._fresh()
        listed = ", ".join(f"{name}.a{i}" for i in range(len(items)))
        whole = f"({items[0].c}[]){{{listed}}}"
        return Value(f"({{ {owner.type.c} {name} = {owner.c}; ({whole})[{index.c}]; }})", items[0])

    # calls

    def _builtin_name(self, node: ast.Call) -> str:
        """The name of a function that the translator knows; empty for others."""
        called = self._called(node)
        return called.name if isinstance(called, Builtin) else ""

    def _called(self, node: ast.Call) -> Any:
        local = isinstance(node.func, ast.Name) and node.func.id in self.local
        return None if local else self.module.value(node.func)

    def _of_call(self, node: ast.Call) -> Value:
        if node.keywords:
            raise self.error(node, "arguments of kernels have no keywords")
        called = self._called(node)
        if isinstance(called, KernelFunction):
            return self._call(self.translator.function(called), node)
        value = self._builtin(self._builtin_name(node), node)
        if value is None:
            raise self.error(node, f"`{ast.unparse(node.func)}` is not a function of kernels")
        return value

    def _call(self, called: Translated, node: ast.Call) -> Value:
        values = [self._expression(each) for each in node.args]
        if len(values) != len(called.parameters):
            count = len(called.parameters)
            raise self.error(node, f"`{called.source.node.name}` has {count} arguments, not {len(values)}")
        if called.writes:
            self.writers.add(node)
            self.writes = True
        kinds = [kind for _, kind in called.parameters]
        given = [self._as(*each) for each in zip(values, kinds, node.args, strict=True)]
        return Value(f"{called.name}({', '.join(given)})", called.result)

    def _builtin(self, name: str, node: ast.Call) -> Value | None:
        """The value of a function that the translator knows; None for others and for wrong arguments."""
        if name == "np.empty":
            return self._allocated(node)
        values = [self._expression(each) for each in node.args]
        texts = [each.c for each in values]
        if values and (of := values[0].type).dimensions:
            if name == "len" and len(values) == 1:
                return Value(f"({texts[0]}).n", INT)
            if name == "flat" and len(values) == 1:
                return Value(f"flat_{of.c}({texts[0]})", Type(f"{of.c[0]}1"))
            if name == "block" and [each.type for each in values[1:]] == [INT] * 3:
                start, rows, columns = texts[1:]
                kind = f"{of.c[0]}2"
                return Value(f"(({kind}){{({texts[0]}).p + {start}, {rows}, {columns}}})", Type(kind))
        if not values or any(each.type not in _NUMBERS for each in values):
            return None
        floating = any(each.type == FLOAT for each in values)
        if name in ("min", "max") and len(values) > 1:
            text = reduce(lambda a, b: f"{name}_{'f' if floating else 'i'}({a}, {b})", texts)
            return Value(text, FLOAT if floating else INT)
        if name == "abs" and len(values) == 1:
            return Value(f"{'fabs' if floating else 'abs_i'}({texts[0]})", FLOAT if floating else INT)
        table = {1: _OF_ONE, 2: _OF_TWO}.get(len(values), {})
        found = table.get(name) or table.get(name.replace("np.", "math."))
        return found and Value(f"{found[1]}({', '.join(texts)})", found[0])

    def _allocated(self, node: ast.Call) -> Value:
        self.allocates = True
        shape = node.args[0].elts if isinstance(node.args[0], ast.Tuple) else [node.args[0]]
        lengths = [self._integer(each).c for each in shape]
        kind = "i" if len(node.args) > 1 and ast.unparse(node.args[1]) == "np.int64" else "f"
        found = Type(f"{kind}{len(lengths)}")
        size = " * ".join(f"({each})" for each in lengths)
        return Value(f"(({found.c}){{arena_take(&taken, {size}), {', '.join(lengths)}}})", found)


class _Body(_Expressions):
    """The translation of one function."""

    def translated(self) -> Translated:
        """Translate the function."""
        node, given = self.function.node, self.function.node.args
        if not self.function.decorator:
            raise self.error(node, f"`{node.name}` is not a kernel: decorate it with `part`")
        if given.vararg or given.kwarg or given.kwonlyargs or given.defaults:
            raise self.error(node, "arguments of kernels are plain: no defaults, no `*`, no keywords")
        for each in given.args:
            self.types[each.arg] = self._annotated(each.annotation, each, each.arg)
        parameters = list(self.types.items())
        self.result = self._annotated(node.returns, node, "return")
        stored = [x for x in ast.walk(node) if isinstance(x, ast.Name) and isinstance(x.ctx, ast.Store)]
        self.local = {*self.types, *(each.id for each in stored)}
        self._block(node.body)
        variables = [
            f"    {kind.c} {name}_{' = {0}' if kind.dimensions or kind.items else ' = 0'};"
            for name, kind in [*self.types.items()][len(parameters) :]
        ]
        if self.allocates:
            variables.append("    arena *taken __attribute__((cleanup(arena_end))) = 0;")
        name = f"{self.module.name}.{node.name}".replace(".", "_")
        return Translated(
            self.function, name, parameters, self.result, self.writes, [*variables, *self.lines]
        )

    def _annotated(self, node: ast.expr | None, at: ast.AST, name: str) -> Type:
        return self.translator.annotated(self.module, node, at, name)

    def _block(self, body: Sequence[ast.stmt]) -> None:
        for node in body:
            method = getattr(self, f"_do_{type(node).__name__.lower()}", None)
            if method is None:
                raise self.error(node, f"`{type(node).__name__}` statements are not allowed in kernels")
            if isinstance(node, ast.While | ast.For) and node.orelse:
                raise self.error(node, "`else` of a loop is not allowed in kernels")
            method(node)

    def _indented(self, head: str, body: Sequence[ast.stmt], *first: tuple[ast.expr, Value]) -> None:
        self._emit(head)
        self.depth += 1
        for target, value in first:
            self._store(target, value)
        self._block(body)
        self.depth -= 1

    def _do_pass(self, node: ast.Pass) -> None:
        pass

    def _do_break(self, node: ast.Break | ast.Continue) -> None:
        self._emit(f"{type(node).__name__.lower()};")

    _do_continue = _do_break

    def _do_expr(self, node: ast.Expr) -> None:
        if isinstance(node.value, ast.Call):
            self._emit(f"{self._expression(node.value).c};")
        elif not isinstance(node.value, ast.Constant):
            raise self.error(node, "this statement has no effect")

    def _do_return(self, node: ast.Return) -> None:
        value = Value("", NOTHING) if node.value is None else self._expression(node.value)
        self._emit(f"return {self._as(value, self.result, node)};")

    def _do_if(self, node: ast.If) -> None:
        self._indented(f"if ({self._condition(node.test)}) {{", node.body)
        if node.orelse:
            self._indented("} else {", node.orelse)
        self._emit("}")

    def _do_while(self, node: ast.While) -> None:
        self._indented(f"while ({self._condition(node.test)}) {{", node.body)
        self._emit("}")

    def _do_for(self, node: ast.For) -> None:
        if not isinstance(node.target, ast.Name):
            raise self.error(node.target, "the variable of a loop is one name")
        at, end, start, step = self._fresh(), self._fresh(), "0", 1
        item = Value(at, INT)
        if isinstance(node.iter, ast.Call) and self._builtin_name(node.iter) == "range":
            bounds = [self._integer(each) for each in node.iter.args[:3]] or [Value("0", INT)]
            stop = bounds[min(len(bounds), 2) - 1].c
            start = bounds[0].c if len(bounds) > 1 else start
            step = bounds[2].constant if len(bounds) > 2 else step
            if not isinstance(step, int) or step == 0:
                raise self.error(node.iter, f"the step `{bounds[2].c}` is not a constant other than 0")
        else:
            given = self._kept(self._expression(node.iter))
            if not given.type.items:
                raise self.error(node.iter, "loops go over `range(…)` or a tuple")
            stop, item = f"{len(given.type.items)}", self._item(given, item, node.iter)
        compared = "<" if step > 0 else ">"
        head = f"for (int64_t {at} = {start}, {end} = {stop}; {at} {compared} {end}; {at} += {step}) {{"
        self._indented(head, node.body, (node.target, item))
        self._emit("}")

    def _do_annassign(self, node: ast.AnnAssign) -> None:
        if node.value is None or not isinstance(node.target, ast.Name):
            raise self.error(node, "a variable begins with a value")
        value, name = self._expression(node.value), node.target.id
        self.types.setdefault(name, self._annotated(node.annotation, node, name))
        self._store(node.target, value)

    def _do_assign(self, node: ast.Assign) -> None:
        value = self._expression(node.value)
        if value.type == NOTHING:
            raise self.error(node, f"`{ast.unparse(node.targets[0])}` gets no value")
        value = self._kept(value) if len(node.targets) > 1 else value
        for target in node.targets:
            self._store(target, value)

    def _do_augassign(self, node: ast.AugAssign) -> None:
        left = self._kept(self._expression(node.target))  # read before the right side, which may write
        self._store(node.target, self._binary(node.op, left, self._expression(node.value), node))

    def _store(self, target: ast.expr, value: Value) -> None:
        if isinstance(target, ast.Name) and target.id == "_":
            self._emit(f"(void)({value.c});")
        elif isinstance(target, ast.Name):
            kind = self.types.setdefault(target.id, value.type)
            if not kind.takes(value.type):
                text = f"`{target.id}`: {kind} in one place, {value.type} in another"
                raise self.error(target, f"{text}; a variable has one type, that of its first value")
            self._emit(f"{target.id}_ = {value.c};")
        elif isinstance(target, ast.Subscript):
            self.writes = True
            place, name = self._expression(target), self._fresh()
            if not place.c.startswith("(*at_"):
                raise self.error(target, "only single entries are assigned: use `copy` or `fill`")
            value_c = self._as(value, place.type, target)
            self._emit(f"{{ const {place.type.c} {name} = {value_c}; {place.c} = {name}; }}")
        elif isinstance(target, ast.Tuple):
            items = value.type.items
            if len(items) != len(target.elts):
                raise self.error(target, f"{len(target.elts)} names for {len(items)} values of {value.type}")
            value = self._kept(value)
            for i, each in enumerate(target.elts):
                self._store(each, Value(f"{value.c}.a{i}", items[i]))
        else:
            raise self.error(target, "values are assigned to names and to entries of arrays")


def _number(value: float) -> str:
    """A double in C, exactly."""
    if value != value:
        return "NAN"
    if value in (float("inf"), float("-inf")):
        return "INFINITY" if value > 0 else "(-INFINITY)"
    text = value.hex() if value != int(value) or abs(value) >= 1e15 else f"{value:.1f}"
    return text if value >= 0 and not text.startswith("-") else f"({text})"
