"""The coordinates in which motion is controlled, and whether they are as many as the machine has freedoms."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from machine.file import MachineFile
from machine.freedoms import owned
from machine.problems import MachineError
from machine.yaml import Document
from multibody.mechanism import Mechanism


def goal_coordinates(
    file: MachineFile, mechanism: Mechanism, document: Document, q: NDArray[np.float64], freedoms: int
) -> tuple[str, ...]:
    """Return those of the file or, where it names none, independent joints, those with motors first.

    Raises MachineError where a constrained machine's are too few or too many; of others, `references` tells.
    """
    given = file.controller.goal_coordinates
    if not mechanism.constraints:
        return tuple(given or owned(file))
    if given is None:
        return _default(file, mechanism, q)
    if len(given) != freedoms:
        problem = document.problem(
            ("controller", "goal_coordinates"),
            "these coordinates do not fix the motion",
            found=f"{len(given)} coordinates",
            allowed=f"{freedoms}, one for each freedom of the machine under its constraints",
        )
        raise MachineError([problem])
    return tuple(given)


def _default(file: MachineFile, mechanism: Mechanism, q: NDArray[np.float64]) -> tuple[str, ...]:
    from machine.assembly import admitted, independent  # the compiler is loaded under constraints alone

    return tuple(independent(mechanism, admitted(mechanism, q), [*file.motors, *owned(file)]))
