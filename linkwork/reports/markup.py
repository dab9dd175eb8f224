"""HTML and SVG from elements, whose text is escaped unless it is markup; tables; the frame of a report."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from html import escape
from importlib.resources import files
from pathlib import Path

VOID = frozenset({"meta", "br", "hr", "path", "line", "rect", "circle"})
"""Elements without content."""


class Markup(str):
    """Text that is markup."""

    __slots__ = ()


Content = str | Markup | None


def element(tag: str, /, *content: Content, **attributes: str | int | float | bool | None) -> Markup:
    """One element. In attributes' names `_` is `-` and a last one is dropped: `class_`, `stroke_width`.

    An attribute that is None or False is left out, as is content that is None.
    """
    told = "".join(
        f' {key.rstrip("_").replace("_", "-")}="{escape(str(value))}"'
        for key, value in attributes.items()
        if value is not None and value is not False
    )
    if tag in VOID:
        return Markup(f"<{tag}{told}/>")
    return Markup(f"<{tag}{told}>{join(*content)}</{tag}>")


def join(*content: Content) -> Markup:
    """Pieces one after another."""
    return Markup(
        "".join(
            each if isinstance(each, Markup) else escape(each, quote=False)
            for each in content
            if each is not None
        )
    )


def prose(text: str) -> Markup:
    """A sentence in which `this` is code."""
    words, opened, rest = text.partition("`")
    code, closed, after = rest.partition("`")
    if not (opened and closed):
        return join(text)
    return join(words, element("code", code), prose(after))


def document(title: str, *body: Content) -> str:
    """Return the whole file."""
    style = files("linkwork.reports").joinpath("style.css").read_text(encoding="utf-8")
    head = element(
        "head",
        element("meta", charset="utf-8"),
        element("meta", name="viewport", content="width=device-width, initial-scale=1"),
        element("meta", name="generator", content="linkwork"),
        element("title", title),
        element("style", Markup(style)),
    )
    return f"<!DOCTYPE html>\n{element('html', head, element('body', *body), lang='en')}\n"


def definitions(rows: Iterable[tuple[str, Content]]) -> Markup:
    """Return names with their values."""
    return element(
        "dl", *(part for name, value in rows for part in (element("dt", name), element("dd", value)))
    )


def plain_table(
    titles: Sequence[str], rows: Iterable[Sequence[Content]], numbers: Sequence[int] = ()
) -> Markup:
    """Return a table; columns of these `numbers` are aligned to the right."""
    kinds = ["n" if column in numbers else None for column in range(len(titles))]
    head = element(
        "tr", *(element("th", title, class_=kind) for title, kind in zip(titles, kinds, strict=True))
    )
    lines = [
        element("tr", *(element("td", cell, class_=kind) for cell, kind in zip(row, kinds, strict=True)))
        for row in rows
    ]
    return element("div", element("table", element("thead", head), element("tbody", *lines)), class_="wide")


def write_whole(path: Path, text: str) -> Path:
    """Write a file whole or not at all; return its path. Raises OSError."""
    beside = path.with_name(f"{path.name}.part")
    try:
        beside.write_text(text, encoding="utf-8")
    except OSError as error:  # the system leaves out the name of the file
        beside.unlink(missing_ok=True)
        raise OSError(error.errno, error.strerror, str(path)) from None
    return beside.replace(path)
