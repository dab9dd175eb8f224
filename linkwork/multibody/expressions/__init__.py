"""Formulas given as text: parsed, converted to flat programs, and evaluated with derivatives.

`text.py` parses characters into a tree and refuses all but arithmetic of known functions, `program.py`
turns the tree into instructions, `expression_fields.py` those of all constraints into arrays of a `Model`,
and `tape.py` is the kernel that runs them. No part of a text is ever passed to an interpreter.
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
