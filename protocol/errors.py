"""The errors of this room, split by who must act."""

from collections.abc import Mapping, Sequence
from typing import Any, Self

from linkwork.protocol.codes import RequestCode, ResultCode, Role
from linkwork.protocol.decoding import MOST_DEPTH, MOST_PATH, MOST_TEXT, cut, excerpt


class ProtocolError(Exception):
    """The other end sent bytes that are not the message they should be: a defect over there.

    `field` names the offending field ("" when the whole message is unreadable).
    `content` is the message as a map where it is one of another kind.
    """

    def __init__(self, message: str, field: str = "", content: dict[str, Any] | None = None) -> None:
        super().__init__(cut(message, MOST_TEXT))
        self.field, self.content = cut(field, MOST_PATH), content


class RequestError(Exception):
    """A request was refused. Travels as `{code, name, message, path, data}`.

    `code` is a RequestCode (positive: the request itself) or a ResultCode (negative: the goal), or a plain
    number this version does not know. `path` leads to the offending parameter, e.g. `["trajectory",
    "points", 3]`.
    """

    def __init__(
        self,
        code: int,
        message: str,
        path: Sequence[str | int] = (),
        data: Mapping[str, Any] | None = None,
        name: str | None = None,
    ) -> None:
        self.message = cut(message, MOST_TEXT)
        super().__init__(self.message)
        self.code = code
        self.path = tuple(cut(part, MOST_PATH) if isinstance(part, str) else part for part in path)[
            :MOST_DEPTH
        ]
        self.data = dict(data or {})
        self.name = name or code_name(code)

    def as_map(self) -> dict[str, Any]:
        """The map that travels."""
        return {
            "code": int(self.code),
            "name": self.name,
            "message": self.message,
            "path": list(self.path),
            "data": self.data,
        }

    @classmethod
    def from_map(cls, content: object) -> Self:
        """The error in a response; unreadable fields become plain text."""
        if not isinstance(content, Mapping):
            return cls(RequestCode.INTERNAL, _text(content))
        code, path, data = content.get("code"), content.get("path"), content.get("data")
        return cls(
            code if isinstance(code, int) else RequestCode.INTERNAL,
            _text(content.get("message")),
            [part for part in path if isinstance(part, (str, int))]
            if isinstance(path, (list, tuple))
            else (),
            data if isinstance(data, Mapping) else None,
            cut(_text(content.get("name")), MOST_PATH) or None,
        )


def _text(value: object) -> str:
    if value is None:
        return ""
    return value if isinstance(value, str) else excerpt(value, MOST_TEXT)


class NobodyThere(Exception):
    """No answer: no process listens at the endpoint, or it does not respond."""


class EndpointError(Exception):
    """An endpoint, folder or key file cannot be used as asked; the text says why and what to do."""


class Taken(EndpointError):
    """Another live process holds the endpoint or the role.

    `pid` and `command` name it, `text` is its own description.
    """

    def __init__(self, message: str, pid: int = 0, command: str = "", text: str = "") -> None:
        super().__init__(message)
        self.pid = pid
        self.command = command
        self.text = text


def role_refusal(what: str, held: Role | None, needed: Role) -> str:
    """Return the refusal of `what` for a key without the needed role, and how to get the role.

    held: the key's role, None of an unknown key.
    """
    has = (
        "the key of this client is not allowed any longer" if held is None else f"this key has `{held.word}`"
    )
    return (
        f"{what} needs the role `{needed.word}`; {has}. The daemon's owner can change that: "
        f"linkwork keys allow NAME.public --role {needed.word} --folder ALLOWED"
    )


def code_name(code: int) -> str:
    """The name of a RequestCode (positive) or ResultCode (zero, negative); "CODE_n" for an unknown number."""
    for kind in (RequestCode, ResultCode):
        if code in set(kind):
            return kind(code).name
    return f"CODE_{code}"


def spelled(path: Sequence[str | int]) -> str:
    """Return the path of a parameter as text: `trajectory.points[3].positions`."""
    text = "".join(f"[{part}]" if isinstance(part, int) else f".{part}" for part in path)
    return text.removeprefix(".") or "params"
