"""HTML and SVG put together from elements: text is escaped unless it is markup already."""

from __future__ import annotations

from html import escape

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
