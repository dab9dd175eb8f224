"""XML of robot descriptions, each element with its line; no entities, document types or networks."""

from __future__ import annotations

import re
from pathlib import Path
from xml.etree.ElementTree import Element, ParseError, TreeBuilder

import numpy as np

from linkwork.arrays import Floats
from linkwork.convert.robots.robot_model import FramePose, ImportProblem

LARGEST_BYTES = 50_000_000
DEEPEST, MOST_ELEMENTS = 200, 200_000
LARGEST = 1e12
UNLIMITED = 1e15
"""Limits of this size mean none: SDF writes 1e16."""
_DEFAULT_SPACE = re.compile(rb"""(<[A-Za-z_][^<>]*?\s)xmlns\s*=\s*("[^"<]*"|'[^'<]*')""")


class XmlFile:
    """An XML file: its root element, and the line of every element."""

    def __init__(self, path: Path, text: str | None = None) -> None:
        """Read a file, or the text that it stands for. Raises ImportProblem where it is none."""
        self.path, self.text_given = str(path), text or ""
        self._lines: dict[int, int] = {}
        self._kept: list[Element] = []  # keeps the identities of elements valid
        if text is not None:
            self.root = self._tree(text.encode("utf-8"))
            return
        try:
            if path.exists() and not path.is_file():
                raise ImportProblem(self.path, 0, "is not a file")
            size = path.stat().st_size
            data = path.read_bytes() if size <= LARGEST_BYTES else b""
        except OSError as error:
            raise ImportProblem(self.path, 0, f"cannot be read: {error.strerror}") from None
        if size > LARGEST_BYTES:
            text = f"the file has {size:,} bytes, more than {LARGEST_BYTES:,}"
            raise ImportProblem(self.path, 0, text, "keep meshes in separate files")
        self.root = self._tree(data)

    def _tree(self, data: bytes) -> Element:
        from defusedxml.common import DefusedXmlException
        from defusedxml.ElementTree import DefusedXMLParser

        outer = self

        class LineKeepingBuilder(TreeBuilder):
            """A tree builder that keeps the line at which each element begins."""

            depth = 0

            def start(self, tag: str, attrs: dict[str, str]) -> Element:
                element = super().start(tag, attrs)
                outer._lines[id(element)] = parser.parser.CurrentLineNumber
                outer._kept.append(element)
                self.depth += 1
                text = ""
                if self.depth > DEEPEST:
                    text = f"elements nest more than {DEEPEST} deep"
                elif len(outer._kept) > MOST_ELEMENTS:
                    text = f"there are more than {MOST_ELEMENTS:,} elements"
                if text:
                    raise ImportProblem(outer.path, parser.parser.CurrentLineNumber, text)
                return element

            def end(self, tag: str) -> Element:
                self.depth -= 1
                return super().end(tag)

        white = len(data) - len(data.lstrip())
        if white and data.startswith(b"<?xml", white) and b"?>" in data:
            end = data.index(b"?>") + 2  # XML wants nothing before its declaration; lines stay as they are
            data = data[white:end] + data[:white] + data[end:]
        data = _DEFAULT_SPACE.sub(rb"\1", data)  # of robots no format has one: their readers ignore it
        parser = DefusedXMLParser(target=LineKeepingBuilder(), forbid_dtd=True)
        try:
            parser.feed(data)
            root: Element = parser.close()
        except DefusedXmlException:
            text = "a document type or an entity is declared, which is not read"
            line = parser.parser.CurrentLineNumber
            raise ImportProblem(self.path, line, text, "remove the DOCTYPE declaration") from None
        except ParseError as error:
            line, _ = error.position
            raise ImportProblem(self.path, line, f"not well-formed XML: {str(error).split(':')[0]}") from None
        except (UnicodeError, LookupError, ValueError) as error:
            if isinstance(error, ImportProblem):
                raise
            raise ImportProblem(self.path, 0, f"not readable as text: {error}") from None
        return root

    def line(self, element: Element) -> int:
        """Return the line on which an element begins."""
        return self._lines.get(id(element), 0)

    def problem(self, element: Element, message: str, remedy: str = "") -> ImportProblem:
        """Make the problem of an element."""
        return ImportProblem(self.path, self.line(element), message, remedy)

    def text(self, element: Element, key: str) -> str:
        """Return an attribute that must be there."""
        value = element.get(key)
        if not value:
            raise self.problem(element, f"<{element.tag}> has no attribute `{key}`")
        return value

    def one(self, element: Element, tag: str) -> Element:
        """Return the child with a tag, which must be there."""
        found = element.find(tag)
        if found is None:
            name = element.get("name", "")
            raise self.problem(element, f"<{element.tag}> {name!r} has no <{tag}>")
        return found

    def number(self, element: Element, key: str, default: float | None = None) -> float:
        """Return an attribute as a finite number."""
        if default is not None and element.get(key) is None:
            return default
        return float(self.numbers(element, key, 1)[0])

    def numbers(self, element: Element, key: str, count: int, default: str | None = None) -> Floats:
        """Return an attribute as finite numbers (count)."""
        text = element.get(key, default) if default is not None else self.text(element, key)
        return self.parsed(element, f"`{key}` of <{element.tag}>", text, count)

    def parsed(self, element: Element, what: str, text: str, count: int) -> Floats:
        """Return a text of an element as finite numbers (count)."""
        try:
            values = np.array([float(part) for part in text.split()])
        except ValueError:
            values = np.array([])
        if len(values) != count:
            wanted = "a number" if count == 1 else f"{count} numbers"
            raise self.problem(element, f"{what} must be {wanted}, found {text[:80]!r}")
        if not np.all(np.isfinite(values)) or np.abs(values).max() > LARGEST:
            wrong = f"must be finite, from {-LARGEST:g} to {LARGEST:g}, found {text[:80]}"
            raise self.problem(element, f"{what} {wrong}")
        return values

    def limit(self, element: Element, what: str, text: str) -> float | None:
        """Return a text of an element as a limit; None for infinity, and for what stands for it."""
        try:
            unlimited = abs(float(text)) >= UNLIMITED
        except ValueError:
            unlimited = False
        return None if unlimited else float(self.parsed(element, what, text, 1)[0])

    def pose(self, element: Element | None) -> FramePose:
        """Return the frame of an <origin>: xyz (m) and rpy (rad), R = Rz Ry Rx; the identity without one."""
        if element is None:
            return FramePose()
        at = self.numbers(element, "xyz", 3, "0 0 0")
        return FramePose(at, rotation_of(*self.numbers(element, "rpy", 3, "0 0 0")))


def rotation_of(roll: float, pitch: float, yaw: float) -> Floats:
    """Return Rz(yaw) Ry(pitch) Rx(roll), 3 × 3."""
    (cr, cp, cy), (sr, sp, sy) = np.cos([roll, pitch, yaw]), np.sin([roll, pitch, yaw])
    return np.array(
        [
            [cy * cp, cy * sp * sr - sy * cr, cy * sp * cr + sy * sr],
            [sy * cp, sy * sp * sr + cy * cr, sy * sp * cr - cy * sr],
            [-sp, cp * sr, cp * cr],
        ]
    )
