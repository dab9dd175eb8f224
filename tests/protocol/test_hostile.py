"""Every decoder against frames of strangers: a refusal in words, or a message within its limits."""

import random
from collections.abc import Callable
from math import isfinite
from typing import Any

import msgpack
import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from linkwork.controller.planning.messages.planner_messages import BadFrame, read_body
from linkwork.plant.device.session import Greeting, PlantOwnership, SessionTerms
from linkwork.protocol.codes import NAME_LENGTH, Pace, RefuseCode
from linkwork.protocol.decoding import (
    LATEST_S,
    MOST_DEPTH,
    MOST_NUMBER,
    MOST_TEXT,
    NotDecodable,
    cut,
    decode,
    excerpt,
    too_deep,
)
from linkwork.protocol.errors import ProtocolError, RequestError
from linkwork.protocol.handshake import Bye, Hello, Refuse, peer_version, read_handshake
from linkwork.protocol.injection import inject_id, read_inject, read_lost
from linkwork.protocol.injection import read_answer as read_injected
from linkwork.protocol.link import CommandCodec, StateCodec, kind_of, read_map
from linkwork.protocol.request_messages import pack_request, read_answer
from linkwork.protocol.requests import read_params, read_request
from linkwork.protocol.telemetry import read_telemetry
from tests.hostile import changed, nested, nested_maps, shapes, with_value
from tests.state_bytes import state_bytes

STATES, LAX, COMMANDS = StateCodec(2, 2, 3), StateCodec(2, 2, unfit=True), CommandCodec(2)
STATE, LAX_STATE, COMMAND = STATES.message(), LAX.message(), COMMANDS.message()
REFUSALS = (ProtocolError, RequestError, BadFrame, NotDecodable)


def _request(data: bytes) -> None:
    request = read_request(data)
    read_params(request.method, request.params)


_NAMED = msgpack.packb([0, 7, "stop", None])[:-1]
"""A request up to its parameters."""
DECODERS: dict[str, Callable[[bytes], Any]] = {
    "state": lambda data: STATES.unpack(data, STATE),
    "unfit state": lambda data: LAX.unpack(data, LAX_STATE),
    "command": lambda data: COMMANDS.unpack(data, COMMAND),
    "kind": lambda data: kind_of(read_map(data)),
    "handshake": read_handshake,
    "version": peer_version,
    "inject": lambda data: read_inject(read_map(data)),
    "inject id": lambda data: inject_id(read_map(data)),
    "lost": lambda data: read_lost(read_map(data)),
    "injected": read_injected,
    "request": _request,
    "envelope": lambda data: read_request(_NAMED + data),
    "move": lambda data: read_params("move", data),
    "send": lambda data: read_params("send", data),
    "answer": read_answer,
    "telemetry": read_telemetry,
    "planner": read_body,
}


def meet(decoder: Callable[[bytes], Any], data: bytes) -> None:
    """Refused in words, or read."""
    said = "read"
    try:
        decoder(data)
    except REFUSALS as error:
        said = str(error)
    assert 0 < len(said) <= MOST_TEXT


@pytest.mark.parametrize("name", DECODERS)
def test_a_decoder_refuses_what_strangers_send_or_reads_it(name: str) -> None:
    for data in (*shapes(), *changed(seed=len(name), count=400)):
        meet(DECODERS[name], data)


@pytest.mark.parametrize("name", DECODERS)
@given(data=st.binary(max_size=400))
@settings(max_examples=40, deadline=None)
def test_a_decoder_meets_any_bytes(name: str, data: bytes) -> None:
    meet(DECODERS[name], data)


PLAIN = st.recursive(
    st.none() | st.booleans() | st.integers(-(2**63), 2**64 - 1) | st.floats() | st.text() | st.binary(),
    lambda inner: st.lists(inner) | st.dictionaries(st.text(), inner),
)
FIELDS = st.sampled_from(
    ["type", "session", "seq", "time_s", "mode", "status", "fault", "ack", "q", "v", "effort", "force",
     "temperature", "protocol", "owner", "interface", "period_s", "layout", "id", "faults", "text"]
)  # fmt: skip


@given(
    content=st.dictionaries(FIELDS, PLAIN),
    kind=st.sampled_from(["state", "command", "hello", "inject", "bye"]),
)
@settings(max_examples=100, deadline=None)
def test_a_message_of_any_fields_is_refused_or_within_its_limits(content: dict[str, Any], kind: str) -> None:
    data = msgpack.packb({"type": kind, **content})
    for decoder in DECODERS.values():
        meet(decoder, data)
    assert abs(STATE.time_s) <= LATEST_S
    assert np.all(np.abs(STATE.values) <= MOST_NUMBER)
    assert np.all(np.abs(COMMAND.effort) <= MOST_NUMBER)


def state(**fields: object) -> dict[str, object]:
    return {
        "type": "state", "session": 1, "seq": 1, "time_s": 1.0, "mode": 2, "status": 17, "fault": 0, "ack": 0,
        "q": [0.0, 0.0], "v": [0.0, 0.0], "effort": [0.0, 0.0], **fields,
    }  # fmt: skip


@pytest.mark.parametrize("depth", [MOST_DEPTH + 1, 500, 900, 1020])
@pytest.mark.parametrize("field", ["type", "seq", "mode", "q", "effort", "note"])
def test_a_deep_value_is_refused_in_words(depth: int, field: str) -> None:
    codec = StateCodec(2, 2)
    for value in (nested(depth), nested_maps(depth)):
        with pytest.raises(ProtocolError) as caught:
            codec.unpack(with_value(state(), field, value), codec.message())
        assert len(str(caught.value)) < 300


def test_the_depth_that_is_allowed_is_read() -> None:
    assert too_deep(decode(nested(MOST_DEPTH))) is False
    with pytest.raises(NotDecodable, match=f"more than {MOST_DEPTH} deep"):
        decode(nested(MOST_DEPTH + 1))


@pytest.mark.parametrize(
    ("fields", "where"),
    [
        ({"time_s": 1e300}, "time_s"),
        ({"time_s": -1e10}, "time_s"),
        ({"time_s": 2**64 - 1}, "time_s"),
        ({"q": [0.0, 1e16]}, "q[1]"),
        ({"v": [-1e300, 0.0]}, "v[0]"),
        ({"effort": [0.0, 1.7e308]}, "effort[1]"),
    ],
)
def test_a_number_beyond_its_range_is_refused_by_name(fields: dict[str, object], where: str) -> None:
    codec = StateCodec(2, 2)
    message = codec.message()
    with pytest.raises(ProtocolError) as caught:
        codec.unpack(msgpack.packb(state(**fields)), message)
    assert caught.value.field == where
    ours = {"time_s": 1.0, "q": [0.0, 0.0], "v": [0.0, 0.0], "effort": [0.0, 0.0]} | fields
    fast = state_bytes(codec, session=1, seq=1, mode=2, status=17, fault=0, ack=0, **ours)
    with pytest.raises(ProtocolError) as caught:
        codec.unpack(fast, message)
    assert caught.value.field == where
    assert message.seq == 0, "nothing was written"


def test_a_reader_that_judges_each_sensor_is_given_infinity_for_a_number_beyond_its_range() -> None:
    codec = StateCodec(2, 2, unfit=True)
    message = codec.message()
    codec.unpack(msgpack.packb(state(q=[1e300, 0.5], v=[-1e16, float("nan")])), message)
    assert message.q[0] == np.inf
    assert message.v[0] == -np.inf
    assert np.isnan(message.v[1])
    assert not isfinite(message.q[0])


def hello(**fields: object) -> Hello:
    known = {"session": 5, "owner": "ada@bench", "interface": "a" * 64, "period_s": 0.001}
    return Hello.model_validate(known | fields)


@pytest.mark.parametrize(
    "layout",
    [
        {"joints": [{"name": "n" * 100_000, "unit": "rad"}]},
        {"k" * 100_000: 1},
        {"joints": "j" * 500_000},
        {"joints": [["deep"] * 4000] * 20},
    ],
)
def test_a_refusal_of_any_hello_fits_into_its_own_limits(layout: dict[str, Any]) -> None:
    seat = PlantOwnership(
        SessionTerms("b" * 64, {"joints": [{"name": "a", "unit": "rad"}]}, 0.001, tuple(Pace))
    )
    greeting = hello(layout=layout, owner="o" * NAME_LENGTH)
    refusal = seat.judge_hello(Hello.model_validate(decode(greeting.pack())))
    assert not isinstance(refusal, Greeting)
    assert refusal.code is RefuseCode.INTERFACE
    back = read_handshake(refusal.pack())
    assert isinstance(back, Refuse)
    assert len(back.text) <= MOST_TEXT
    assert "interfaces differ at" in back.text


def test_a_text_for_people_is_cut_and_never_refused() -> None:
    text = read_handshake(msgpack.packb({"type": "bye", "session": 1, "text": "x" * 100_000}))
    assert isinstance(text, Bye)
    assert len(text.text) == MOST_TEXT
    assert text.text.endswith("...")
    assert len(RequestError(1, "m" * 10**6, ["p" * 10**6]).message) == MOST_TEXT
    assert cut("short", 10) == "short"


@given(value=PLAIN, most=st.integers(10, 60))
@settings(max_examples=100, deadline=None)
def test_an_excerpt_is_short_for_any_value(value: object, most: int) -> None:
    assert len(excerpt(value, most)) <= most


def test_an_excerpt_of_a_deep_value_does_not_recurse() -> None:
    deep: list[Any] = []
    for _ in range(100_000):
        deep = [deep]
    assert excerpt(deep).startswith("[[")
    assert too_deep(deep)
    while deep:  # freed level by level
        deep = deep.pop()


def test_a_request_with_a_long_name_is_refused_in_a_short_text() -> None:
    rng = random.Random(3)
    name = "".join(rng.choices("abc", k=500_000))
    with pytest.raises(RequestError) as caught:
        read_params("move", msgpack.packb({"target": {name: 1.0}}))
    assert len(msgpack.packb(caught.value.as_map())) < 3 * MOST_TEXT
    assert read_request(pack_request(1, "move", {"target": {name: 1.0}, "at_tick": 3})).at_tick == 3


@pytest.mark.parametrize("depth", [100, 900])
def test_a_deep_tick_or_name_of_a_request_is_refused_by_name(depth: int) -> None:
    for field in ("at_tick", "as"):
        with pytest.raises(RequestError) as caught:
            read_request(_NAMED + with_value({}, field, nested(depth)))
        assert caught.value.path == (field,)
