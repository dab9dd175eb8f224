"""Decode untrusted MessagePack: limits on the contents of messages, and bounded excerpts for errors.

Sizes of frames are limited by the transport (`protocol.codes`). Within a frame, depth, length of lists and
maps, and the range of numbers are limited here, so that code behind a decoder never gets a value that it
cannot format, add or convert.
"""

import reprlib
from typing import Any, Final

import msgpack

MOST_DEPTH: Final = 32
"""Deepest nesting of lists and maps; a message of the protocol nests about eight deep."""
MOST_ITEMS: Final = 4096
"""Most items of one list or map, where a message does not allow more."""
LATEST_S: Final = 9.2e9
"""Latest time, in s, and with a minus sign the earliest: nanoseconds of it fit into 64 bits."""
MOST_NUMBER: Final = 1.0e15
"""Largest magnitude of a position, velocity, effort, force or temperature (SI units)."""
MOST_TEXT: Final = 4096
"""Most characters of a text for people; a longer one is cut, never refused."""
MOST_PATH: Final = 200
"""Most characters of a field's name in an error."""

_CONTAINERS = (dict, list, tuple)
_SHORT = reprlib.Repr()
_SHORT.maxlevel, _SHORT.maxdict, _SHORT.maxlist, _SHORT.maxtuple = 3, 4, 8, 8
_SHORT.maxstring = _SHORT.maxother = 40


class NotDecodable(ValueError):
    """The bytes are no MessagePack value within the limits; the text says why."""


def decode(data: bytes | memoryview, *, most_list: int = MOST_ITEMS, most_map: int = MOST_ITEMS) -> Any:
    """Return the one value in these bytes: plain data, with text as keys of maps. Raises NotDecodable."""
    try:
        # Lists, not tuples: a hostile header that claims a long list then costs address space, not memory.
        content = msgpack.unpackb(data, max_array_len=most_list, max_map_len=most_map, max_ext_len=0)
    except Exception as error:
        raise NotDecodable(cut(str(error), 200) or type(error).__name__) from None
    if too_deep(content):
        raise NotDecodable(f"lists and maps are nested more than {MOST_DEPTH} deep")
    return content


def too_deep(content: object) -> bool:
    """Whether lists and maps are nested deeper than MOST_DEPTH. Does not recurse."""
    level: list[Any] = [content] if isinstance(content, _CONTAINERS) else []
    for _ in range(MOST_DEPTH):
        if not level:
            return False
        level = [
            item
            for one in level
            for item in (one.values() if type(one) is dict else one)
            if type(item) in _CONTAINERS
        ]
    return bool(level)


def excerpt(value: object, most: int = 40) -> str:
    """The beginning of a value as it would be written, at most `most` characters; cheap for any value."""
    if isinstance(value, (bytes, bytearray, memoryview)):
        return cut(repr(bytes(value[:most])), most)
    try:
        return cut(_SHORT.repr(value), most)
    except Exception:
        return f"a {type(value).__name__}"


def cut(text: str, most: int) -> str:
    """The text, with dots in place of its end where it is longer than `most` characters."""
    return text if len(text) <= most else text[: most - 3] + "..."
