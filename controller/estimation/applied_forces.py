"""Forces on a machine between two ticks: the efforts sent, and the measured contact forces."""

from __future__ import annotations

from linkwork.arrays import Floats, Integers
from linkwork.multibody.kernels.compiling import part
from linkwork.multibody.kernels.layout import EFFORT
from linkwork.multibody.kernels.views import copy, vector


@part
def act(t: Integers, w: Floats, motor: Integers, sent: Floats, felt: Floats) -> None:
    """`EFFORT` := the forces felt (nv) and the efforts sent to the joints `motor`."""
    effort = vector(t, w, EFFORT)
    copy(felt, effort)
    for i in range(len(motor)):
        effort[motor[i]] += sent[i]
