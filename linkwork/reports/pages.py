"""HTML pages of reports from Jinja2 templates: self-contained files of one style, all text escaped."""

import re
from functools import cache
from pathlib import Path
from typing import Any

from jinja2 import Environment, PackageLoader, StrictUndefined
from markupsafe import Markup, escape

from linkwork.reports.quantities import amount


def render(template: str, **values: Any) -> str:
    """Return a whole file from this template of the folder `templates`."""
    return _environment().get_template(template).render(**values)


@cache
def _environment() -> Environment:
    loader = PackageLoader("linkwork.reports")
    made = Environment(autoescape=True, loader=loader, undefined=StrictUndefined, trim_blocks=True,
                       lstrip_blocks=True, keep_trailing_newline=True)  # fmt: skip
    made.filters["prose"] = prose
    made.globals["amount"] = amount
    return made


def prose(text: str) -> Markup:
    """A sentence in which `this` is code."""
    return Markup(re.sub("`([^`]*)`", r"<code>\1</code>", str(escape(text))))


_NO_XML = re.compile("[^\t\n\r\u0020-\ud7ff\ue000-\ufffd\U00010000-\U0010ffff]")


def xml_text(text: str) -> str:
    """The text with characters that XML cannot hold replaced by U+FFFD."""
    return _NO_XML.sub("\ufffd", text)


def write_whole(path: Path, text: str) -> Path:
    """Write a file whole or not at all; return its path. Raises OSError."""
    beside = path.with_name(f"{path.name}.part")
    try:
        beside.write_text(text, encoding="utf-8")
    except OSError as error:  # the system leaves out the name of the file
        beside.unlink(missing_ok=True)
        raise OSError(error.errno, error.strerror, str(path)) from None
    return beside.replace(path)
