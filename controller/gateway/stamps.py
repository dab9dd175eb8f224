"""Time stamps of logs and telemetry."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from linkwork.protocol.decoding import LATEST_S


def nanoseconds(seconds: NDArray[np.float64]) -> list[int]:
    """Times (s) as stamps (ns) from 0 to what 64 bits hold; values that are not finite become 0."""
    bounded = np.clip(np.nan_to_num(seconds, posinf=0.0, neginf=0.0), 0.0, LATEST_S)
    return [round(1e9 * second) for second in bounded.tolist()]
