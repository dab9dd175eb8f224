"""Forces on a machine between two ticks: the efforts sent, and the measured contact forces."""

from __future__ import annotations

from linkwork.arrays import Floats, Integers
from linkwork.multibody.kernels.compiling import part
from linkwork.multibody.kernels.views import copy
from linkwork.multibody.workspace import Workspace


@part
def act(w: Workspace, motor: Integers, sent: Floats, felt: Floats) -> None:
    """`effort` := the forces felt (nv) and the efforts sent to the joints `motor`."""
    copy(felt, w.effort)
    for i in range(len(motor)):
        w.effort[motor[i]] += sent[i]
