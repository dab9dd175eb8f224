"""The test vectors beside the page, read by a reader of MessagePack written here from its specification."""

import json
import struct
from pathlib import Path

import msgpack
import numpy as np
import pytest
from pydantic import BaseModel

from linkwork import protocol
from linkwork.protocol.errors import ProtocolError, RequestError
from linkwork.protocol.handshake import read_handshake
from linkwork.protocol.injection import LostMessage, read_inject, read_lost
from linkwork.protocol.injection import read_answer as read_injected
from linkwork.protocol.link import CommandCodec, StateCodec, read_map
from linkwork.protocol.request_messages import Notification, Response, read_answer
from linkwork.protocol.requests import read_params, read_request
from linkwork.protocol.telemetry import read_telemetry
from tests.state_bytes import state_bytes

FOLDER = Path(protocol.__file__).parent / "vectors"
ROWS = json.loads((FOLDER / "vectors.json").read_text())
GOOD = [row for row in ROWS if "content" in row]
REFUSED = [row for row in ROWS if "refused" in row]
_NUMBERS = {
    0xCA: ">f", 0xCB: ">d", 0xCC: ">B", 0xCD: ">H", 0xCE: ">I", 0xCF: ">Q", 0xD0: ">b", 0xD1: ">h",
    0xD2: ">i", 0xD3: ">q",
}  # fmt: skip


def independent(data, at=0):
    """(value, next offset) of the MessagePack value at an offset."""
    first, at = data[at], at + 1
    if first <= 0x7F or first >= 0xE0:
        return (first if first <= 0x7F else first - 256), at
    if first in _NUMBERS:
        size = struct.calcsize(_NUMBERS[first])
        return struct.unpack_from(_NUMBERS[first], data, at)[0], at + size
    if first in (0xC0, 0xC2, 0xC3):
        return {0xC0: None, 0xC2: False, 0xC3: True}[first], at
    if 0xA0 <= first <= 0xBF or first in (0xD9, 0xDA):
        width = {0xD9: 1, 0xDA: 2}.get(first, 0)
        length = int.from_bytes(data[at : at + width], "big") if width else first & 0x1F
        return data[at + width : at + width + length].decode(), at + width + length
    length, items = first & 0x0F, []
    if first in (0xDC, 0xDE):
        length, at = int.from_bytes(data[at : at + 2], "big"), at + 2
    is_map = 0x80 <= first <= 0x8F or first == 0xDE
    assert is_map or 0x90 <= first <= 0x9F or first == 0xDC, hex(first)
    for _ in range(length * (2 if is_map else 1)):
        item, at = independent(data, at)
        items.append(item)
    return (dict(zip(items[::2], items[1::2], strict=True)) if is_map else items), at


@pytest.mark.parametrize("row", GOOD, ids=lambda row: row["file"])
def test_the_bytes_are_what_the_table_says(row):
    data = (FOLDER / row["file"]).read_bytes()
    content, end = independent(data)
    assert end == len(data)
    assert content == row["content"]


def test_every_file_is_in_the_table():
    files = {path.relative_to(FOLDER).as_posix() for path in FOLDER.rglob("*.bin")}
    assert files == {row["file"] for row in ROWS}


def read(kind, data):
    """What our own reader makes of a frame."""
    if kind == "state":
        forces = len(independent(data)[0].get("force", ())) if b"\xa5force" in data else 0
        inputs = len(independent(data)[0].get("inputs", ())) if b"\xa6inputs" in data else 0
        switches = 2 if b"\xa6closed" in data else 0
        codec = StateCodec(2, 2, forces, switches=switches, inputs=inputs, outputs=2 * inputs)
        codec.unpack(data, message := codec.message())
        return message
    if kind == "command":
        outputs = 2 if b"\xa7outputs" in data else 0
        referred = b"\xa8position" in data
        commands = CommandCodec(2, 2 if b"\xa6closed" in data else 0, outputs, references=referred)
        commands.unpack(data, command := commands.message())
        return command
    if kind == "handshake":
        return read_handshake(data)
    if kind == "inject":
        return read_inject(read_map(data))
    if kind == "injected":
        return read_injected(data)
    if kind == "lost":
        return read_lost(read_map(data))
    request = read_request(data)
    return read_params(request.method, request.params)


def kind_of_content(content):
    if isinstance(content, list):
        return "request" if content[0] == 0 else "answer"
    kind = content.get("type", "")
    if kind == "refuse" and "problems" in content:
        return "injected"
    return kind if kind in ("state", "command", "inject", "injected", "lost") else "handshake"


@pytest.mark.parametrize(
    "row", [row for row in GOOD if row["file"] != "telemetry.bin"], ids=lambda row: row["file"]
)
def test_our_readers_take_the_good_ones(row):
    data, content = (FOLDER / row["file"]).read_bytes(), row["content"]
    kind = kind_of_content(content)
    if kind == "answer":
        answer = read_answer(data)
        assert isinstance(answer, Response if content[0] == 1 else Notification)
        return
    message = read(kind, data)
    for name, value in content.items() if isinstance(content, dict) else ():
        if hasattr(message, name):
            found = getattr(message, name)
            if isinstance(found, np.ndarray):
                found = found.tolist()
            elif isinstance(found, BaseModel):
                found = found.model_dump()
            elif isinstance(found, list):
                found = [each.model_dump() if isinstance(each, BaseModel) else each for each in found]
            assert found == value


def test_our_writers_give_the_same_bytes():
    for name, forces in (("state", 0), ("state_first", 0), ("state_force", 3), ("state_load_cell", 4)):
        row = next(row["content"] for row in GOOD if row["file"] == f"{name}.bin")
        arrays = {key: np.array(value) for key, value in row.items() if isinstance(value, list)}
        fields = {key: arrays.get(key, value) for key, value in row.items() if key != "type"}
        assert state_bytes(StateCodec(2, 2, forces), **fields) == (FOLDER / f"{name}.bin").read_bytes()
    for name in ("command", "command_brake"):
        row = next(row["content"] for row in GOOD if row["file"] == f"{name}.bin")
        packed = CommandCodec(2).pack(row["session"], row["seq"], row["mode"], np.array(row["effort"]))
        assert packed == (FOLDER / f"{name}.bin").read_bytes()
    row = next(row["content"] for row in GOOD if row["file"] == "command_positions.bin")
    references = np.array([row["position"], row["feedforward"]])
    packed = CommandCodec(2, references=True).pack(
        row["session"], row["seq"], row["mode"], np.array(row["effort"]), references=references
    )
    assert packed == (FOLDER / "command_positions.bin").read_bytes()
    for name in ("hello", "hello_features", "welcome", "welcome_signals", "refuse", "bye"):
        data = (FOLDER / f"{name}.bin").read_bytes()
        assert msgpack.unpackb(read_handshake(data).pack()) == independent(data)[0]
    for name, reader in (
        ("inject", lambda data: read_inject(read_map(data))),
        ("injected", read_injected),
        ("inject_refuse", read_injected),
    ):
        data = (FOLDER / f"{name}.bin").read_bytes()
        assert reader(data).pack() == data
    assert LostMessage(session=1234567890123456, seq=1000).pack() == (FOLDER / "lost.bin").read_bytes()


def test_the_telemetry_vector_has_its_time():
    assert read_telemetry((FOLDER / "telemetry.bin").read_bytes())["timestamp"] == 1.0


@pytest.mark.parametrize("row", REFUSED, ids=lambda row: row["file"])
def test_our_readers_refuse_the_bad_ones_as_the_table_says(row):
    why, data = row["refused"], (FOLDER / row["file"]).read_bytes()
    with pytest.raises((ProtocolError, RequestError)) as caught:
        read(why["as"], data)
    if isinstance(caught.value, ProtocolError):
        assert caught.value.field == why["field"]
    else:
        assert (caught.value.code, list(caught.value.path)) == (why["code"], why["path"])
