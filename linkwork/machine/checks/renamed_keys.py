"""Keys of the machine file that were renamed: the old spelling is read as the new one, with a warning."""

from collections.abc import Iterator
from dataclasses import replace
from typing import Final

from linkwork.machine.problems import Problem
from linkwork.machine.yaml import Document

Positions = dict[tuple[str | int, ...], tuple[int, int]]
"""Line and column of each path."""

RENAMED: Final = {"shadow": "twin"}
"""New name of each top-level key that was renamed, by its old name."""


def with_new_keys(document: Document) -> Document:
    """Return the document with renamed keys under their new names.

    A file with both spellings of a key keeps both, so that the old one is reported as unknown.
    """
    data = document.data
    if not isinstance(data, dict):
        return document
    new = {old: name for old, name in RENAMED.items() if old in data and name not in data}
    if not new:
        return document

    def moved(places: Positions) -> Positions:
        added = {
            (new[str(place[0])], *place[1:]): position
            for place, position in places.items()
            if place and place[0] in new
        }
        return {**places, **added}

    return replace(
        document,
        data={new.get(key, key): value for key, value in data.items()},
        values=moved(document.values),
        keys=moved(document.keys),
    )


def renamed_key_warnings(document: Document) -> Iterator[Problem]:
    """Return a warning for each old key in a document of `with_new_keys`."""
    for old, new in RENAMED.items():
        if (old,) in document.keys and old not in document.data:
            yield document.problem(
                (old,),
                "this key was renamed",
                of_key=True,
                found=old,
                allowed=new,
                remedy=f"write {new}",
                severity="warning",
            )
