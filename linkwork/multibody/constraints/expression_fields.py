"""The programs of all constraints as fields of p and tables of t, and the size of their rows."""

import math
from collections.abc import Mapping, Sequence

import numpy as np

from linkwork.arrays import Floats, Integers
from linkwork.multibody.constraints import Constraint, ExpressionConstraint, VelocityConstraint
from linkwork.multibody.expressions.program import Program, program_of
from linkwork.multibody.expressions.text import RATE_OF, ExpressionError, parse
from linkwork.multibody.model import ModelError

_SAMPLES = 64
_NEAR = 1e-6


def subtracted_from(text: str) -> str:
    """The coordinate from which an expression subtracts all the rest; empty where there is none."""
    tree = parse(text)
    if tree.head != "-" or tree.arguments[0].arguments or isinstance(tree.arguments[0].head, float):
        return ""
    return tree.arguments[0].head


class ExpressionPrograms:
    """Collect programs one after the other; `longest` is the tape that they need."""

    def __init__(self, coordinate_names: Sequence[str]) -> None:
        """Begin with none; names are looked up among the coordinates of interest."""
        self._index_of = {name: index for index, name in enumerate(coordinate_names)}
        self._made: list[Program] = []
        self._factors: list[tuple[int, int, int]] = []
        self._of_row: dict[tuple[str, str], list[tuple[int, Program]]] = {}
        self._length = 0

    def span(self, constraint: Constraint, row: str) -> tuple[int, int]:
        """Return the first instruction or factor of a constraint's row, and their number."""
        if isinstance(constraint, ExpressionConstraint):
            program = self._program(constraint.expressions[row], (constraint.name, "expressions", row))
            if not program.coordinates:
                raise ModelError(
                    "the expression names no coordinate, so that nothing is constrained",
                    ("constraints", constraint.name, "expressions", row),
                )
            self._of_row[constraint.name, row] = [(-1, program)]
            return self._take(program), len(program.instructions)
        if isinstance(constraint, VelocityConstraint):
            return self._velocity(constraint)
        return 0, 0

    def _velocity(self, constraint: VelocityConstraint) -> tuple[int, int]:
        first, terms = len(self._factors), []
        for name, text in constraint.factors.items():
            where = (constraint.name, "factors", name)
            if name not in self._index_of:
                known = ", ".join(self._index_of)
                raise ModelError(f"there is no coordinate {name!r}; known: {known}", ("constraints", *where))
            terms.append((self._index_of[name], self._program(text, where)))
        drift = self._program(f"-({constraint.value})", (constraint.name, "value"))
        for coordinate, program in [*terms, (-1, drift)]:
            self._factors.append((coordinate, self._take(program), len(program.instructions)))
        self._of_row[constraint.name, constraint.rows[0].name] = terms
        return first, len(self._factors) - first

    def force(self, text: str, where: tuple[str, ...]) -> tuple[int, int, int]:
        """Take up a force: its first instruction, how many, and 1 if it reads coordinates or their rates."""
        try:
            program = program_of(parse(text, {RATE_OF: 1}), self._index_of)
        except ExpressionError as error:
            raise ModelError(str(error), where) from None
        return self._take(program), len(program.instructions), int(program.reads_motion)

    def _program(self, text: str, where: tuple[str, ...]) -> Program:
        try:
            return program_of(parse(text), self._index_of)
        except ExpressionError as error:
            raise ModelError(str(error), ("constraints", *where)) from None

    def _take(self, program: Program) -> int:
        first, self._length = self._length, self._length + len(program.instructions)
        self._made.append(program)
        return first

    @property
    def longest(self) -> int:
        """Instructions of the longest program."""
        return max((len(program.instructions) for program in self._made), default=0)

    def counts(self) -> dict[str, int]:
        """The numbers of instructions and of factors."""
        return {"n_instructions": self._length, "n_factors": len(self._factors)}

    def parameters(self) -> dict[str, Floats]:
        """The constants."""
        constants = [constant for program in self._made for *_, constant in program.instructions]
        return {"program_constant": np.array(constants, dtype=np.float64)}

    def tables(self) -> dict[str, Integers]:
        """The instructions, and the factors of velocity rows."""
        entries = [entry[:3] for program in self._made for entry in program.instructions]
        return {
            "program": np.array(entries, dtype=np.int64).reshape(-1, 3),
            "factors": np.array(self._factors, dtype=np.int64).reshape(-1, 3),
        }

    def size(self, constraint: str, row: str, is_angle: Mapping[str, bool], length: float) -> float | None:
        """Return the size of a row of A in ordinary poses, in scaled velocities; None for rows without one.

        The middle of what random poses give: angles anywhere, lengths within the typical one, in the first
        ten seconds.
        """
        terms = self._of_row.get((constraint, row))
        if terms is None:
            return None
        angles = [is_angle[name] for name in self._index_of]
        scale = np.where(angles, 1.0, length)
        rng, found = np.random.default_rng(0), []
        for _ in range(_SAMPLES):
            theta = rng.uniform(-1.0, 1.0, len(scale)) * np.where(angles, math.pi, length)
            time = float(rng.uniform(0.0, 10.0))
            sizes = [self._sensitivity(k, program, theta, time, scale) for k, program in terms]
            if math.isfinite(sum(sizes)) and sum(sizes) > 0.0:
                found.append(sum(sizes))
        return float(np.median(found)) if found else 1.0

    @staticmethod
    def _sensitivity(coordinate: int, program: Program, theta: Floats, time: float, scale: Floats) -> float:
        if coordinate >= 0:
            return abs(program.value(theta.tolist(), time)) * float(scale[coordinate])
        total = 0.0
        for k in program.coordinates:
            low, high = theta.copy(), theta.copy()
            low[k] -= _NEAR * scale[k]
            high[k] += _NEAR * scale[k]
            change = program.value(high.tolist(), time) - program.value(low.tolist(), time)
            total += abs(change) / (2.0 * _NEAR)
        return total
