"""XML of robot descriptions, each element with its file and line; no entities, document types or networks."""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any
from xml.etree.ElementTree import ParseError

import numpy as np
import numpy.typing as npt

from linkwork.arrays import Floats
from linkwork.convert.robots.robot_model import FramePose, ImportProblem
from linkwork.machine.sections.orientation import rotation_of
from linkwork.multibody.tree.quaternions import to_matrix

LARGEST_BYTES = 50_000_000
DEEPEST, MOST_ELEMENTS = 200, 200_000
LARGEST = 1e12
UNLIMITED = 1e15
"""Limits of this size mean none: SDF writes 1e16."""
_DEFAULT_SPACE = re.compile(rb"""(<[A-Za-z_][^<>]*?\s)xmlns\s*=\s*("[^"<]*"|'[^'<]*')""")


@dataclass(eq=False)
class XmlElement:
    """An element, with its place in the source.

    tag: `drake:NAME` for elements of Drake, with the namespace in braces for others that have one.

    Formats differ in where a value stands. `number`, `words` and their like find it by its key: in an
    attribute (URDF), in a child (SDF), or in a child with Drake's long name (`<drake:KIND_KEY value="…">`).
    """

    tag: str
    attributes: dict[str, str]
    file: str
    line: int
    text: str = ""
    children: list[XmlElement] = field(default_factory=list)

    def __iter__(self) -> Iterator[XmlElement]:
        return iter(self.children)

    def walk(self) -> Iterator[XmlElement]:
        """This element and all below it, in the order of the file."""
        yield self
        for child in self.children:
            yield from child.walk()

    def all(self, path: str) -> list[XmlElement]:
        """Return the elements on a path of tags below this one: "gazebo/joint"."""
        found = [self]
        for tag in path.split("/"):
            found = [child for each in found for child in each.children if child.tag == tag]
        return found

    def child(self, path: str) -> XmlElement | None:
        """Return the first element on a path of tags below this one."""
        return next(iter(self.all(path)), None)

    def one(self, tag: str) -> XmlElement:
        """Return the child with a tag, which must be there."""
        child = self.child(tag)
        if child is None:
            raise self._missing(f"<{tag}>")
        return child

    @property
    def label(self) -> str:
        """The tag without a namespace; Drake's with `drake:`."""
        return self.tag.rpartition("}")[2]

    @property
    def local(self) -> str:
        """The tag without any namespace."""
        return self.label.removeprefix("drake:")

    @property
    def is_drakes(self) -> bool:
        """Whether it is an element of Drake."""
        return self.tag.startswith("drake:")

    def problem(self, message: str, remedy: str = "") -> ImportProblem:
        """Make the problem of this element."""
        return ImportProblem(self.file, self.line, message, remedy)

    def _missing(self, what: str) -> ImportProblem:
        name = self.get("name")
        return self.problem(f"<{self.tag}>{f' {name!r}' if name else ''} has no {what}")

    def _places(self, key: str) -> str:
        """Name the places in which a value may stand."""
        return f"<drake:{key}> or attribute `{key}`" if self.is_drakes else f"attribute `{key}` or <{key}>"

    # -- values

    def get(self, key: str, default: str = "") -> str:
        """Return an attribute."""
        return self.attributes.get(key, default)

    @property
    def content(self) -> str:
        """The value of an element with only one: its attribute `name` or `value`, or its text."""
        return self.get("name") or self.get("value") or self.text.strip()

    def _value(self, key: str) -> tuple[XmlElement, str, str] | None:
        """Find a value; return its element, a description, and the text."""
        if key in self.attributes:
            return self, f"`{key}` of <{self.tag}>", self.attributes[key]
        for child in self.children:
            if child.tag in (key, f"drake:{key}", f"{self.tag}_{key}"):
                return child, f"<{child.tag}>", child.content
        return None

    def words(self, key: str, default: str | None = None) -> str:
        """Return a value as text, which must be there without a default."""
        value = self._value(key)
        if value is not None and value[2]:
            return value[2]
        if default is None:
            raise self._missing(self._places(key))
        return default

    def number(self, key: str, default: float | None = None) -> float:
        """Return a value as a finite number."""
        return float(self.numbers(key, 1, None if default is None else [default])[0])

    def numbers(self, key: str, count: int, default: npt.ArrayLike | None = None) -> Floats:
        """Return a value as finite numbers (count)."""
        value = self._value(key)
        if value is None:
            if default is None:
                raise self._missing(self._places(key))
            return np.array(default, np.float64)
        element, what, text = value
        return element.parsed(what, text, count)

    def limit(self, key: str) -> float | None:
        """Return a value as a limit; None without one, for infinity, and for what stands for it."""
        value = self._value(key)
        if value is None:
            return None
        element, what, text = value
        try:
            if abs(float(text)) >= UNLIMITED:
                return None
        except ValueError:
            pass
        return float(element.parsed(what, text, 1)[0])

    def own_numbers(self, count: int) -> Floats:
        """Return the element's text as finite numbers (count)."""
        return self.parsed(f"<{self.tag}>", self.text, count)

    def parsed(self, what: str, text: str, count: int) -> Floats:
        """Return a text of this element as finite numbers (count)."""
        try:
            values = np.array([float(part) for part in text.split()])
        except ValueError:
            values = np.array([])
        if len(values) != count:
            wanted = "a number" if count == 1 else f"{count} numbers"
            raise self.problem(f"{what} must be {wanted}, found {text[:80]!r}")
        if not np.all(np.isfinite(values)) or np.abs(values).max() > LARGEST:
            wrong = f"must be finite, from {-LARGEST:g} to {LARGEST:g}, found {text[:80]}"
            raise self.problem(f"{what} {wrong}")
        return values


NOTHING = XmlElement("", {}, "", 0)
"""An element that says nothing, for one that is not there."""


def read_xml(path: Path, text: str | None = None) -> XmlElement:
    """Return the root of a file, or of the text that it stands for. Raises ImportProblem where it is none."""
    if text is not None:
        return _parsed(str(path), text.encode("utf-8"))
    try:
        if path.exists() and not path.is_file():
            raise ImportProblem(str(path), 0, "is not a file")
        size = path.stat().st_size
        data = path.read_bytes() if size <= LARGEST_BYTES else b""
    except OSError as error:
        raise ImportProblem(str(path), 0, f"cannot be read: {error.strerror}") from None
    if size > LARGEST_BYTES:
        text = f"the file has {size:,} bytes, more than {LARGEST_BYTES:,}"
        raise ImportProblem(str(path), 0, text, "keep meshes in separate files")
    return _parsed(str(path), data)


def _parsed(file: str, data: bytes) -> XmlElement:
    from defusedxml.common import DefusedXmlException
    from defusedxml.ElementTree import DefusedXMLParser

    white = len(data) - len(data.lstrip())
    if white and data.startswith(b"<?xml", white) and b"?>" in data:
        end = data.index(b"?>") + 2  # XML wants nothing before its declaration; lines stay as they are
        data = data[white:end] + data[:white] + data[end:]
    data = _DEFAULT_SPACE.sub(rb"\1", data)  # of robots no format has one: their readers ignore it
    builder = _Builder(file)
    builder.parser = parser = DefusedXMLParser(target=builder, forbid_dtd=True)
    try:
        parser.feed(data)
        root: XmlElement = parser.close()
    except DefusedXmlException:
        text = "a document type or an entity is declared, which is not read"
        line = parser.parser.CurrentLineNumber
        raise ImportProblem(file, line, text, "remove the DOCTYPE declaration") from None
    except ParseError as error:
        line, _ = error.position
        raise ImportProblem(file, line, f"not well-formed XML: {str(error).split(':')[0]}") from None
    except (UnicodeError, LookupError, ValueError) as error:
        if isinstance(error, ImportProblem):
            raise
        raise ImportProblem(file, 0, f"not readable as text: {error}") from None
    return root


class _Builder:
    """Makes the tree from the events of a parser."""

    parser: Any

    def __init__(self, file: str) -> None:
        self._top = XmlElement("", {}, file, 0)
        self._open, self._count = [self._top], 0

    def start(self, tag: str, attributes: dict[str, str]) -> None:
        """An element begins."""
        space, braced, name = tag.rpartition("}")
        if braced and "drake" in space:
            tag = f"drake:{name}"
        element = XmlElement(tag, attributes, self._top.file, self.parser.parser.CurrentLineNumber)
        self._open[-1].children.append(element)
        self._open.append(element)
        self._count += 1
        if len(self._open) > DEEPEST + 1:
            raise element.problem(f"elements nest more than {DEEPEST} deep")
        if self._count > MOST_ELEMENTS:
            raise element.problem(f"there are more than {MOST_ELEMENTS:,} elements")

    def data(self, text: str) -> None:
        """Text, of which that before the first child counts."""
        if not self._open[-1].children:
            self._open[-1].text += text

    def end(self, _: str) -> None:
        """An element ends."""
        self._open.pop()

    def close(self) -> XmlElement:
        """Return the root."""
        return self._top.children[0]


# -- frames


def frame_pose(element: XmlElement | None) -> FramePose:
    """Return the frame of an <origin> of URDF or a <pose> of SDF; the identity without one.

    <origin>: xyz (m) and rpy (rad). <pose>: x y z (m) and roll pitch yaw (rad or, with `degrees`, degrees),
    or a quaternion.
    """
    if element is None:
        return FramePose()
    if element.tag != "pose":
        at = element.numbers("xyz", 3, np.zeros(3))
        return FramePose(at, rotation_of(*element.numbers("rpy", 3, np.zeros(3))))
    if not element.text.strip():
        return FramePose()
    if element.get("rotation_format") == "quat_xyzw":
        x, y, z, *turn = element.own_numbers(7)
        if np.linalg.norm(turn) < 1e-6:
            raise element.problem("the quaternion of <pose> is zero")
        return FramePose(np.array([x, y, z]), to_matrix([turn[3], *turn[:3]]))
    values = element.own_numbers(6)
    angles = np.radians(values[3:]) if element.get("degrees") == "true" else values[3:]
    return FramePose(values[:3], rotation_of(*angles))
