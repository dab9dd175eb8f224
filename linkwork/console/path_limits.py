"""Colours of a path by its limits, and their table: of a goal with `timing: fastest`."""

from collections.abc import Mapping, Sequence
from typing import Any, Final

import numpy as np

_HUES: Final = (0, 1, 2, 3, 4, 5, 7)
"""Numbers of the page's colours for the first limits."""
_OTHERS: Final = 6
"""Number of the page's grey, for limits beyond these."""


def path_limits(timing: Mapping[str, Any] | None, times: Sequence[float]) -> dict[str, Any]:
    """Return what the page needs for a path with poses at these times (n; s); nothing without limits.

    timing: that of a goal's report; a goal whose speed was changed has other times. `limits`: rows of the
    table, each with the number of a colour; `hues` (n): that of each pose; `more`: by how many percent a
    limit is larger that saves what stands in the rows.
    """
    if timing is None or not times:
        return {}
    scale = timing["duration_s"] / times[-1] if times[-1] > 0.0 else 1.0
    saved = {_name(each): each["saves_s"] for each in timing.get("savings", ())}
    rows = [
        {
            "text": _name(each),
            "hue": _HUES[k] if k < len(_HUES) else _OTHERS,
            "time": f"{each['time_s'] / scale:.3f} s",
            "share": each["share"],
            "saves": f"{1e3 * saved[_name(each)]:.1f} ms" if _name(each) in saved else "",
        }
        for k, each in enumerate(timing["limits"])
    ]
    hue_of = {row["text"]: row["hue"] for row in rows}
    stretches = timing["stretches"]
    ends = [each["to_s"] for each in stretches]
    places = np.searchsorted(ends, scale * np.asarray(times)).clip(0, len(stretches) - 1)
    return {
        "limits": rows,
        "hues": [hue_of[_name(stretches[place])] for place in places.tolist()],
        "more": round(100.0 * (timing["factor"] - 1.0)) if "factor" in timing else None,
    }


def _name(limit: Mapping[str, Any]) -> str:
    return f"{limit['quantity']} of {limit['name']}"
