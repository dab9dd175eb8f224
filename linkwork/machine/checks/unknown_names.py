"""The problems of undefined names."""

from collections.abc import Iterable, Iterator

from linkwork.machine.nearest_name import MOST_LISTED, listed, nearest
from linkwork.machine.problems import Place, Problem
from linkwork.machine.yaml_document import Document


def unknown(
    document: Document,
    path: Place,
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


def unknown_keys(
    document: Document, path: Place, names: Iterable[str], what: str, known: Iterable[str]
) -> Iterator[Problem]:
    """Yield the problem of each key of a mapping at this path that is not among the known names."""
    there = list(known)
    for name in names:
        if name not in there:
            yield unknown(document, (*path, name), name, what, there, of_key=True)
