"""The frame of a report: one self-contained HTML file, without scripts, external fonts or pictures."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from importlib.resources import files

from linkwork.reports.markup import Content, Markup, element


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
