"""Formulas given as text: read by a parser of our own, made into flat programs, run with derivatives.

`text.py` turns characters into a tree and refuses whatever is not arithmetic of known functions, `program.py`
turns the tree into instructions, `fields.py` those of all constraints into fields of p and tables of t, and
`tape.py` is the kernel that runs them. Nothing of a text is ever given to an interpreter.
"""

from linkwork.multibody.expressions.text import (
    ExpressionError,
    Node,
    names_in,
    parse,
    parse_equation,
    renamed,
)

__all__ = ["ExpressionError", "Node", "names_in", "parse", "parse_equation", "renamed"]
