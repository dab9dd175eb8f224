"""From the text of an expression to its tree.

    sum      = product  (("+" | "-") product)*
    product  = signed   (("*" | "/") signed)*
    signed   = ("+" | "-") signed | power
    power    = atom ("**" signed)?
    atom     = number | name | function "(" sum ("," sum)* ")" | "(" sum ")"

Names are coordinates ("crank", "sleeve.turn", "tool.x"), `t` (time, s), `pi`, `deg` (rad/degree).
All functions are smooth where they are defined: a constraint has the derivatives that the motion needs.
"""

from __future__ import annotations

import difflib
import math
import re
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from types import MappingProxyType

LONGEST = 1000
MOST_PARTS = 300
DEEPEST = 40
"""Characters, numbers and names and signs, and brackets within brackets of one expression."""

FUNCTIONS = {
    "sin": 1, "cos": 1, "tan": 1, "asin": 1, "acos": 1, "atan": 1, "atan2": 2, "sqrt": 1, "exp": 1, "log": 1,
    "tanh": 1,
}  # fmt: skip
CONSTANTS = {"pi": math.pi, "deg": math.pi / 180.0}
TIME = "t"
RATE_OF = "rate"
"""Function of a coordinate's name, in forces: its rate (rad/s or m/s)."""
RESERVED = (TIME, *CONSTANTS, *FUNCTIONS)
_NOT_SMOOTH = {
    "abs": "write sqrt(x**2 + small**2)",
    **dict.fromkeys(("sign", "sgn"), "write tanh(x / small)"),
    **dict.fromkeys(("min", "max", "floor", "ceil", "round", "mod", "fmod"), "use smooth functions"),
}
_MEANT = {"^": "**", "−": "-", "–": "-", "×": "*", "·": "*", "÷": "/"}
_TOKEN = re.compile(
    r"(?P<number>(?:\d+\.?\d*|\.\d+)(?:[eE][+-]?\d+)?)"
    r"|(?P<name>[A-Za-z][A-Za-z0-9_]*(?:\.[A-Za-z0-9_]+)?)"
    r"|(?P<sign>\*\*|[-+*/(),=])"
)


class ExpressionError(ValueError):
    """A text that is no expression. `at` counts characters from 0; the other fields are for the message."""

    def __init__(self, message: str, at: int, found: str = "", allowed: str = "", remedy: str = "") -> None:
        """Keep the parts, and say them in one line."""
        parts = [f"{message} (character {at + 1}"]
        parts += [f", {found!r})" if found else ")"]
        parts += [f"; allowed: {allowed}" if allowed else "", f"; {remedy}" if remedy else ""]
        super().__init__("".join(parts))
        self.message, self.at, self.found, self.allowed, self.remedy = message, at, found, allowed, remedy


@dataclass(frozen=True)
class Node:
    """A number (`head` is its value), a name, or a function or operator with arguments; and its place."""

    head: float | str
    arguments: tuple[Node, ...] = ()
    at: int = 0


@dataclass(frozen=True)
class _Token:
    kind: str
    text: str
    at: int


def parse(text: str, more: Mapping[str, int] = MappingProxyType({})) -> Node:
    """The tree of an expression. Raises ExpressionError.

    `more`: functions allowed beside FUNCTIONS, with their numbers of arguments; for expressions of which no
    derivatives are wanted.
    """
    return _Parser(text, more).expression()


def parse_equation(text: str) -> Node:
    """The tree of left - right, for a text "left = right". Raises ExpressionError."""
    sides = _Parser(text)
    left = sides.sum()
    if sides.now.text != "=":
        remedy = "write what the expression equals, for example = 0" if sides.now.kind == "end" else ""
        raise sides.unexpected("an equation needs one =", remedy)
    at = sides.now.at
    sides.advance()
    return Node("-", (left, sides.expression()), at)


def names_in(node: Node) -> dict[str, int]:
    """The coordinates that a tree names, each with the place of its first mention."""
    if isinstance(node.head, str) and not node.arguments:
        return {node.head: node.at} if node.head != TIME else {}
    found: dict[str, int] = {}
    for argument in node.arguments:
        for name, at in names_in(argument).items():
            found.setdefault(name, at)
    return found


def words_in(text: str) -> dict[str, int]:
    """All names in a text, of coordinates, functions and constants, each with its first place."""
    found: dict[str, int] = {}
    for match in _TOKEN.finditer(text):
        if match["name"]:
            found.setdefault(match[0], match.start())
    return found


def renamed(text: str, names: Mapping[str, str]) -> str:
    """The text with some names in place of others."""

    def other(match: re.Match[str]) -> str:
        return names.get(match[0], match[0]) if match["name"] else match[0]

    return _TOKEN.sub(other, text)


def _tokens(text: str) -> list[_Token]:
    if len(text) > LONGEST:
        raise ExpressionError(
            "the expression is too long", LONGEST, f"{len(text)} characters", f"at most {LONGEST}"
        )
    tokens: list[_Token] = []
    at = 0
    while at < len(text):
        if text[at].isspace():
            at += 1
            continue
        match = _TOKEN.match(text, at)
        if match is None:
            meant = _MEANT.get(text[at])
            remedy = f"write {meant}" if meant else ""
            raise ExpressionError(
                "this character is not allowed here", at, text[at], "+ - * / ** ( ) , and names", remedy
            )
        if len(tokens) == MOST_PARTS:
            raise ExpressionError(
                "the expression is too long", at, "", f"at most {MOST_PARTS} numbers, names and signs"
            )
        tokens.append(_Token(str(match.lastgroup), match[0], at))
        at = match.end()
    return [*tokens, _Token("end", "", len(text))]


class _Parser:
    """Recursive descent over the tokens of one text."""

    def __init__(self, text: str, more: Mapping[str, int] = MappingProxyType({})) -> None:
        self._tokens = _tokens(text)
        self._functions = {**FUNCTIONS, **more}
        self._place = 0
        self._depth = 0
        if len(self._tokens) == 1:
            raise ExpressionError("the expression is empty", 0)

    @property
    def now(self) -> _Token:
        return self._tokens[self._place]

    def advance(self) -> _Token:
        token = self.now
        self._place += 1
        return token

    def unexpected(self, message: str, remedy: str = "") -> ExpressionError:
        return ExpressionError(message, self.now.at, self.now.text or "the end", "", remedy)

    def expression(self) -> Node:
        """A sum that ends where the text does."""
        tree = self.sum()
        if self.now.kind == "end":
            return tree
        if self.now.text == "=":
            raise self.unexpected("there is one = too many")
        if self.now.text == ")":
            raise self.unexpected(
                "this bracket has no opening bracket", "remove it, or add an opening bracket"
            )
        raise self.unexpected(
            "an operator is missing before this", "write * for a product" if self.now.text != "," else ""
        )

    def sum(self) -> Node:
        return self._chain(("+", "-"), self._product)

    def _product(self) -> Node:
        return self._chain(("*", "/"), self._signed)

    def _chain(self, signs: tuple[str, ...], part: Callable[[], Node]) -> Node:
        tree = part()
        while self.now.text in signs:
            sign = self.advance()
            tree = Node(sign.text, (tree, part()), sign.at)
        return tree

    def _signed(self) -> Node:
        self._depth += 1
        if self._depth > DEEPEST:
            raise self.unexpected("the expression is nested too deeply", f"at most {DEEPEST} levels")
        if self.now.text in ("+", "-"):
            sign = self.advance()
            inner = self._signed()
            tree = inner if sign.text == "+" else Node("negative", (inner,), sign.at)
        else:
            tree = self._power()
        self._depth -= 1
        return tree

    def _power(self) -> Node:
        base = self._atom()
        if self.now.text != "**":
            return base
        sign = self.advance()
        return Node("**", (base, self._signed()), sign.at)

    def _atom(self) -> Node:
        if self.now.kind == "number":
            return self._number()
        if self.now.kind == "name":
            return self._name()
        if self.now.text == "(":
            opened = self.advance()
            inner = self.sum()
            self._close(opened)
            return inner
        raise self.unexpected("a number, a name or a bracket is missing here")

    def _number(self) -> Node:
        token = self.advance()
        value = float(token.text)
        if not math.isfinite(value):
            raise ExpressionError("this number is too large", token.at, token.text)
        return Node(value, (), token.at)

    def _name(self) -> Node:
        token = self.advance()
        if self.now.text == "(":
            return self._call(token)
        if token.text in self._functions:
            remedy = f"write {token.text}(…)"
            raise ExpressionError("a function needs its arguments", token.at, token.text, "", remedy)
        return Node(CONSTANTS.get(token.text, token.text), (), token.at)

    def _call(self, token: _Token) -> Node:
        if token.text not in self._functions:
            raise _unknown_function(token)
        opened = self.advance()
        arguments = [self.sum()]
        while self.now.text == ",":
            self.advance()
            arguments.append(self.sum())
        self._close(opened)
        wanted = self._functions[token.text]
        if len(arguments) != wanted:
            found, allowed = f"{token.text} of {len(arguments)}", f"{token.text} of {wanted}"
            raise ExpressionError("this is the wrong number of arguments", token.at, found, allowed)
        return Node(token.text, tuple(arguments), token.at)

    def _close(self, opened: _Token) -> None:
        if self.now.text == ")":
            self.advance()
            return
        if self.now.kind == "end":
            raise ExpressionError("this bracket is not closed", opened.at, "(", "", "add )")
        raise self.unexpected("an operator or a closing bracket is missing before this")


def _unknown_function(token: _Token) -> ExpressionError:
    allowed = ", ".join(FUNCTIONS)
    if token.text in _NOT_SMOOTH:
        message = "this function is not smooth: the motion would be discontinuous"
        return ExpressionError(message, token.at, token.text, allowed, _NOT_SMOOTH[token.text])
    aliases = {"arcsin": "asin", "arccos": "acos", "arctan": "atan", "arctan2": "atan2", "ln": "log"}
    close = difflib.get_close_matches(token.text.lower(), [*FUNCTIONS], n=1, cutoff=0.6)
    meant = aliases.get(token.text.lower()) or (close[0] if close else "")
    remedy = f"write {meant}" if meant else "a product of a coordinate and a bracket needs *"
    return ExpressionError("unknown function", token.at, token.text, allowed, remedy)
