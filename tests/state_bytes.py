"""The bytes of a state from its fields, for tests of the device link."""

from __future__ import annotations

from typing import Any

import numpy as np

from linkwork.protocol.link import Measurements, StateCodec, StateHeader


def state_bytes(
    codec: StateCodec,
    *,
    q: Any,
    v: Any,
    effort: Any,
    temperature: Any = None,
    force: Any = (),
    switched: list[dict[str, Any]] | None = None,
    **header: Any,
) -> bytes:
    """One state packed by this codec; `header`: the fields of StateHeader."""
    lists = (np.asarray(each, np.float64) for each in (q, v, effort, force))
    measured = Measurements(*lists, None if temperature is None else np.asarray(temperature, np.float64))
    return codec.pack(StateHeader(**header), measured, temperatures=True, switched=switched)
