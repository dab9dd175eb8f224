"""The rare messages of the device link."""

import msgpack
import pytest
from hypothesis import given
from hypothesis import strategies as st

from linkwork.protocol.codes import Pace, RefuseCode
from linkwork.protocol.errors import ProtocolError
from linkwork.protocol.handshake import Bye, Hello, Refuse, Welcome, new_session, peer_version, read_handshake

MESSAGES = [
    Hello(session=7, owner="a@b", interface="ff", model="00", pace=Pace.LOCKSTEP,
          period_s=0.001, layout={"a": [1]}),
    Welcome(
        session=7, name="arm", interface="ff", pace=Pace.HOST, period_s=0.001,
        tick=3, command_timeout_periods=20,
        watchdog={"tick": 2, "travel": {"a": 0.5}},
    ),
    Refuse(session=7, code=RefuseCode.TAKEN, text="no", owner="c@d"),
    Bye(session=7, text="done"),
]  # fmt: skip


@pytest.mark.parametrize("message", MESSAGES, ids=lambda message: message.type)
def test_messages_come_back_as_they_went(message):
    assert read_handshake(message.pack()).model_dump() == message.model_dump()


@pytest.mark.parametrize("message", MESSAGES, ids=lambda message: message.type)
def test_fields_of_a_later_version_are_ignored(message):
    later = {**msgpack.unpackb(message.pack()), "mood": "good"}
    assert read_handshake(msgpack.packb(later)).model_dump() == message.model_dump()


@pytest.mark.parametrize(
    ("change", "field"),
    [
        ({"session": -1}, "session"), ({"session": True}, "session"), ({"session": 2**53}, "session"),
        ({"period_s": 0.0}, "period_s"), ({"period_s": float("nan")}, "period_s"), ({"pace": "asap"}, "pace"),
        ({"owner": "x" * 65}, "owner"), ({"owner": 3}, "owner"), ({"layout": [1]}, "layout"),
        ({"type": "state"}, "type"),
        ({"type": ["hello"]}, "type"), ({"protocol": "1"}, "protocol"),
    ],
)  # fmt: skip
def test_a_wrong_field_is_named(change, field):
    with pytest.raises(ProtocolError) as caught:
        read_handshake(msgpack.packb({**msgpack.unpackb(MESSAGES[0].pack()), **change}))
    assert caught.value.field == field


def test_a_hello_of_another_version_still_tells_its_version_and_session():
    assert peer_version(msgpack.packb({"type": "hello", "protocol": 9, "session": 5, "greeting": None})) == (
        9,
        5,
    )
    assert peer_version(msgpack.packb({"type": "hello", "protocol": "nine", "session": -5})) == (0, 0)


@given(st.binary(max_size=200))
def test_random_bytes_raise_nothing_but_protocol_errors(data):
    for read in (read_handshake, peer_version):
        try:
            read(data)
        except ProtocolError:
            continue


def test_sessions_are_exact_in_a_double_and_differ():
    sessions = {new_session() for _ in range(100)}
    assert len(sessions) == 100
    assert all(0 < session < 2**53 and int(float(session)) == session for session in sessions)
