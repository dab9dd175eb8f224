"""The nearest known name to a misspelt one."""

import difflib
from collections.abc import Iterable

_SIMILAR = 0.72


def nearest(word: str, known: Iterable[str]) -> str | None:
    """Return the known name that was probably meant, or None when no name is close.

    A name that was given without its unit, or with another spelling of it ("mass", "max_torque_Nm"), is
    closest to the name that begins the same.
    """
    names = list(known)
    folded = {name.casefold(): name for name in reversed(names)}
    wanted = word.casefold()
    if wanted in folded:
        return folded[wanted]
    if len(wanted) >= 3:
        longer = [name for name in names if name.casefold().startswith((wanted + "_", wanted))]
        if longer:
            return min(longer, key=len)
    close = difflib.get_close_matches(wanted, folded, n=1, cutoff=_SIMILAR)
    if close:
        return folded[close[0]]
    stem = wanted.split("_")[0]
    same_stem = [name for name in names if len(stem) >= 4 and name.casefold().split("_")[0] == stem]
    return same_stem[0] if len(same_stem) == 1 else None


MOST_LISTED = 20
"""Names that a message lists of those that are allowed."""


def listed(names: Iterable[str], most: int = 6) -> str:
    """Return the first of these names as a text, and the number of the others."""
    names = list(names)
    return ", ".join(names[:most]) + (f" and {len(names) - most} more" if len(names) > most else "")


def meant(word: str, known: Iterable[str]) -> str:
    """Return the remedy for an unknown name: the nearest known one, or an empty text."""
    name = nearest(word, known)
    return f"write {name}" if name else ""


def suggested(word: str, known: Iterable[str]) -> str:
    """Return ", did you mean 'NAME'?" with the nearest known name, or an empty text."""
    name = nearest(word, known)
    return f", did you mean {name!r}?" if name else ""


def no_such(kind: str, word: str, known: Iterable[str], most: int | None = None) -> str:
    """Return a message: there is no `kind` of this name; the nearest known one; which there are.

    most: names that are listed, None: all.
    """
    names = list(known)
    there = listed(names, len(names) if most is None else most) or "none"
    return f"there is no {kind} {word!r}{suggested(word, names)}; there are {there}"


def with_remedy(text: str, word: str, known: Iterable[str]) -> str:
    """Return a message about an unknown name; it ends with the nearest known one, if there is one."""
    remedy = meant(word, known)
    return f"{text}; {remedy}" if remedy else text
