"""The problem of an undefined name."""

from __future__ import annotations

from collections.abc import Iterable

from linkwork.machine.nearest_name import MOST_LISTED, listed, nearest
from linkwork.machine.problems import Problem
from linkwork.machine.yaml_document import Document


def unknown(
    document: Document,
    path: tuple[str | int, ...],
    name: str,
    what: str,
    known: Iterable[str],
    *,
    of_key: bool = False,
) -> Problem:
    """Make the problem: what there is, and which was probably meant."""
    names = list(known)
    meant = nearest(name, names)
    remedy = f"write {meant}" if meant else ""
    allowed = listed(names, MOST_LISTED) or "none: the file has none"
    return document.problem(
        path, f"no {what} has this name", of_key=of_key, found=name, allowed=allowed, remedy=remedy
    )
