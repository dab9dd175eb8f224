"""Convert the tree of an expression to a program: instructions in the order of execution.

Instruction k writes entry k of a tape, from entries before it: (operation, a, b) and a constant. Constant
subexpressions are folded here; repeated ones are evaluated once.
"""

import math
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field

from linkwork.multibody.expressions.text import RATE_OF, TIME, ExpressionError, Node

MOST = 400
"""Instructions of one expression."""

(
    CONSTANT, CLOCK_TIME, COORDINATE, ADD, SUBTRACT, MULTIPLY, DIVIDE, ATAN2, NEGATIVE, POWER, SIN, COS, TAN,
    ASIN, ACOS, ATAN, SQRT, EXP, LOG, TANH, RATE,
) = range(21)  # fmt: skip

_BINARY: Mapping[str, tuple[int, Callable[[float, float], float]]] = {
    "+": (ADD, lambda a, b: a + b),
    "-": (SUBTRACT, lambda a, b: a - b),
    "*": (MULTIPLY, lambda a, b: a * b),
    "/": (DIVIDE, lambda a, b: a / b),
    "atan2": (ATAN2, math.atan2),
}
_UNARY: Mapping[str, tuple[int, Callable[[float], float]]] = {
    "negative": (NEGATIVE, lambda a: -a),
    **{
        name: (code, getattr(math, name))
        for name, code in {
            "sin": SIN, "cos": COS, "tan": TAN, "asin": ASIN, "acos": ACOS, "atan": ATAN, "sqrt": SQRT,
            "exp": EXP, "log": LOG, "tanh": TANH,
        }.items()
    },
}  # fmt: skip
_PLAIN: Mapping[int, Callable[..., float]] = {
    **dict(_BINARY.values()),
    **dict(_UNARY.values()),
}

Instruction = tuple[int, int, int, float]


@dataclass
class Program:
    """Instructions (operation, a, b, constant); of a coordinate a is its index. The last is the result."""

    instructions: list[Instruction] = field(default_factory=list)

    def value(self, theta: Sequence[float], time: float = 0.0, rates: Sequence[float] = ()) -> float:
        """The result for given coordinates and their rates; not a number where it is not defined."""
        tape: list[float] = []
        for operation, a, b, constant in self.instructions:
            if operation == CONSTANT:
                tape.append(constant)
            elif operation == CLOCK_TIME:
                tape.append(time)
            elif operation == COORDINATE:
                tape.append(theta[a])
            elif operation == RATE:
                tape.append(rates[a])
            else:
                second = [] if b < 0 else [tape[b]]
                tape.append(_plainly(operation, [tape[a], *second], constant))
        return tape[-1]

    @property
    def coordinates(self) -> set[int]:
        """Indices of the coordinates that it reads."""
        return {a for operation, a, _, _ in self.instructions if operation == COORDINATE}

    @property
    def reads_motion(self) -> bool:
        """Whether the program reads coordinates or their rates."""
        return any(operation in (COORDINATE, RATE) for operation, *_ in self.instructions)


def _plainly(operation: int, values: list[float], constant: float) -> float:
    try:
        result = values[0] ** constant if operation == POWER else _PLAIN[operation](*values)
    except (ValueError, ZeroDivisionError, OverflowError):
        return math.nan
    return result if isinstance(result, float) else math.nan  # a root of a negative number is complex


def program_of(tree: Node, index_of: Mapping[str, int]) -> Program:
    """The program of a tree; `index_of` gives the index of each coordinate by name.

    Raises ExpressionError for unknown names, for constants that are not numbers, and for too long a program.
    """
    return _Compiler(index_of).program(tree)


class _Compiler:
    def __init__(self, index_of: Mapping[str, int]) -> None:
        self._index_of = index_of
        self._entries: dict[Instruction, int] = {}

    def program(self, tree: Node) -> Program:
        last = self._entry(tree)
        made = list(self._entries)[: last + 1]
        return Program(made)

    def _entry(self, node: Node) -> int:
        if isinstance(node.head, float):
            return self._put((CONSTANT, -1, -1, node.head), node)
        if not node.arguments:
            return self._named(node)
        if node.head == RATE_OF:
            return self._rate(node)
        entries = [self._entry(argument) for argument in node.arguments]
        constants = [self._constant(entry) for entry in entries]
        if node.head == "**":
            return self._power(node, entries, constants)
        code = (_BINARY.get(node.head) or _UNARY[node.head])[0]
        known = [c for c in constants if c is not None]
        if len(known) == len(constants):
            return self._put((CONSTANT, -1, -1, self._folded(node, code, known, 0.0)), node)
        return self._put((code, entries[0], entries[1] if len(entries) > 1 else -1, 0.0), node)

    def _rate(self, node: Node) -> int:
        """The rate of a coordinate; only in programs of forces, which need no derivatives."""
        (of,) = node.arguments
        if of.arguments or not isinstance(of.head, str) or of.head == TIME:
            remedy = f"write {RATE_OF}(NAME) with the name of a coordinate"
            raise ExpressionError("only a coordinate has a rate here", of.at, str(of.head), "", remedy)
        return self._put((RATE, self._index(of), -1, 0.0), node)

    def _named(self, node: Node) -> int:
        name = str(node.head)
        if name == TIME:
            return self._put((CLOCK_TIME, -1, -1, 0.0), node)
        return self._put((COORDINATE, self._index(node), -1, 0.0), node)

    def _index(self, node: Node) -> int:
        name = str(node.head)
        if name not in self._index_of:
            allowed = ", ".join([*self._index_of, TIME, "pi", "deg"])
            raise ExpressionError("no coordinate has this name", node.at, name, allowed)
        return self._index_of[name]

    def _power(self, node: Node, entries: list[int], constants: list[float | None]) -> int:
        base, exponent = constants
        if exponent is None:  # x**y = exp(y log x)
            logarithm = self._put((LOG, entries[0], -1, 0.0), node)
            return self._put((EXP, self._put((MULTIPLY, entries[1], logarithm, 0.0), node), -1, 0.0), node)
        if base is not None:
            return self._put((CONSTANT, -1, -1, self._folded(node, POWER, [base], exponent)), node)
        if exponent == 0.0:
            return self._put((CONSTANT, -1, -1, 1.0), node)
        if exponent == 1.0:
            return entries[0]
        if exponent == 2.0:
            return self._put((MULTIPLY, entries[0], entries[0], 0.0), node)
        return self._put((POWER, entries[0], -1, exponent), node)

    def _constant(self, entry: int) -> float | None:
        operation, _, _, constant = list(self._entries)[entry]
        return constant if operation == CONSTANT else None

    def _folded(self, node: Node, code: int, values: list[float], constant: float) -> float:
        result = _plainly(code, values, constant)
        if not math.isfinite(result):
            raise ExpressionError("this is not a finite number in any pose", node.at, str(node.head))
        return result

    def _put(self, instruction: Instruction, node: Node) -> int:
        if instruction in self._entries:
            return self._entries[instruction]
        if len(self._entries) == MOST:
            raise ExpressionError("the expression has too many parts", node.at, "", f"at most {MOST}")
        self._entries[instruction] = len(self._entries)
        return len(self._entries) - 1
