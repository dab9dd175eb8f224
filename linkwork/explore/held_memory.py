"""Containers that a simulated process holds: one that grows with time or requests is a leak."""

import gc
from collections import deque
from typing import Any, Final

MOST_GROWTH: Final = 400
"""Elements by which a container may grow between two looks, some seconds apart."""
_CONTAINERS: Final = (list, dict, set, deque)
_OURS: Final = "linkwork."
_NOT_OURS: Final = "linkwork.explore"


def held_containers(*roots: object) -> dict[int, tuple[Any, int]]:
    """Return containers that are reached from objects of linkwork, each with its length, by identity."""
    found: dict[int, tuple[Any, int]] = {}
    seen: set[int] = set()
    waiting = [root for root in roots if root is not None]
    while waiting:
        thing = waiting.pop()
        if id(thing) in seen:
            continue
        seen.add(id(thing))
        if isinstance(thing, _CONTAINERS):
            if not (isinstance(thing, deque) and thing.maxlen is not None):
                found[id(thing)] = thing, len(thing)
        elif not isinstance(thing, tuple) and not _ours(type(thing)):
            continue
        waiting += [each for each in gc.get_referents(thing) if not isinstance(each, type)]
    return found


def grown(before: dict[int, tuple[Any, int]], now: dict[int, tuple[Any, int]]) -> list[str]:
    """Return what has grown beyond `MOST_GROWTH`, as text."""
    found = []
    for key, (thing, size) in now.items():
        was = before.get(key, (thing, 0))[1]
        if size - was > MOST_GROWTH and key in before:
            example = next(iter(thing))
            found.append(f"a {type(thing).__name__} grew from {was} to {size}, with {str(example)[:60]}")
    return found


def _ours(kind: type) -> bool:
    return kind.__module__.startswith(_OURS) and not kind.__module__.startswith(_NOT_OURS)
