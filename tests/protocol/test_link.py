"""The hot messages: what is packed is read back, what is wrong is refused by name and changes nothing."""

import math
from contextlib import suppress

import msgpack
import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from linkwork.protocol.decoding import LATEST_S, MOST_NUMBER
from linkwork.protocol.errors import ProtocolError
from linkwork.protocol.link import CommandCodec, Measurements, StateCodec, StateHeader, kind_of, read_map
from tests.state_bytes import state_bytes

finite = st.floats(-MOST_NUMBER, MOST_NUMBER)
times = st.floats(-LATEST_S, LATEST_S)
counter = st.integers(0, 2**53 - 1)
HEAD = StateHeader(5, 1, 0.001, 2, 17, 0, -1)
STATES = StateCodec(2, 3)
COMMANDS = CommandCodec(3)
STATE = {
    "type": "state", "session": 5, "seq": 1, "time_s": 0.001, "q": [1.0, 2.0], "v": [3.0, 4.0],
    "effort": [5.0, 6.0, 7.0], "mode": 2, "status": 17, "fault": 0, "ack": -1,
}  # fmt: skip
COMMAND = {"type": "command", "session": 5, "seq": 1, "mode": 2, "effort": [1.0, 2.0, 3.0]}


def measurements(q, v, effort, temperature=None):
    """Measurements of a machine without force sensors."""
    return Measurements(q, v, effort, np.zeros(0), temperature)


@given(
    st.lists(finite, min_size=7, max_size=7), counter, counter, times, st.integers(0, 2), counter, counter,
    st.integers(-1, 2**53 - 1),
)  # fmt: skip
def test_states_come_back_as_they_went(values, session, seq, time_s, mode, status, fault, ack):
    row = np.array(values)
    head = StateHeader(session, seq, time_s, mode, status, fault, ack)
    data = STATES.pack(head, measurements(row[:2], row[2:4], row[4:]))
    out = STATES.message()
    STATES.unpack(data, out)
    assert out.values.tobytes() == row.tobytes()
    assert out.q.tolist() == values[:2]
    assert out.v.tolist() == values[2:4]
    assert out.effort.tolist() == values[4:]
    assert (out.session, out.seq, out.time_s, out.mode) == (session, seq, time_s, mode)
    assert (out.status, out.fault, out.ack) == (status, fault, ack)
    assert kind_of(read_map(data)) == "state"


@given(st.lists(finite, min_size=3, max_size=3), counter, st.integers(-1, 2**53 - 1), st.integers(0, 2))
def test_commands_come_back_as_they_went(efforts, session, seq, mode):
    data = COMMANDS.pack(session, seq, mode, np.array(efforts))
    out = COMMANDS.message()
    COMMANDS.unpack(data, out)
    assert out.effort.tolist() == efforts
    assert (out.session, out.seq, out.mode) == (session, seq, mode)


def test_integers_unknown_fields_and_any_order_are_fine():
    shuffled = {"colour": [{"deep": None}], **dict(reversed(STATE.items())), "q": [1, -2], "time_s": 3}
    out = STATES.message()
    STATES.unpack(msgpack.packb(shuffled), out)
    assert out.q.tolist() == [1.0, -2.0]
    assert out.time_s == 3.0


def test_numbers_at_the_end_of_their_range_are_read_though_their_sum_is_beyond_it():
    out = STATES.message()
    row = np.array([MOST_NUMBER, -MOST_NUMBER, 0.0, 0.0, 0.0, 0.0, 0.0])
    for data in (
        msgpack.packb({**STATE, "q": row[:2].tolist()}),
        STATES.pack(HEAD, measurements(row[:2], row[2:4], row[4:])),
    ):
        STATES.unpack(data, out)
        assert out.q.tolist() == [MOST_NUMBER, -MOST_NUMBER]


nan, inf = math.nan, math.inf
WRONG_STATES = [
    ({"type": "command"}, "type"), ({"type": None}, "type"), ({"session": -1}, "session"),
    ({"session": 1.0}, "session"), ({"seq": True}, "seq"), ({"seq": "1"}, "seq"), ({"seq": 2**53}, "seq"),
    ({"time_s": nan}, "time_s"), ({"time_s": -inf}, "time_s"), ({"time_s": None}, "time_s"),
    ({"time_s": False}, "time_s"), ({"q": [1.0]}, "q"), ({"q": [1.0, 2.0, 3.0]}, "q"), ({"q": None}, "q"),
    ({"q": "ab"}, "q"), ({"q": {"a": 1.0, "b": 2.0}}, "q"), ({"q": [1.0, "2"]}, "q[1]"),
    ({"q": [nan, 2.0]}, "q[0]"), ({"v": [3.0, inf]}, "v[1]"), ({"v": [3.0, [4.0]]}, "v[1]"),
    ({"effort": [5.0, True, 7.0]}, "effort[1]"), ({"effort": [5.0, None, 7.0]}, "effort[1]"),
    ({"effort": [inf, -inf, 0.0]}, "effort[0]"), ({"mode": 3}, "mode"), ({"mode": -1}, "mode"),
    ({"mode": 2.0}, "mode"), ({"status": -1}, "status"), ({"fault": 2**60}, "fault"), ({"ack": -2}, "ack"),
    ({"ack": b"1"}, "ack"),
]  # fmt: skip


@pytest.mark.parametrize(("change", "field"), WRONG_STATES)
def test_a_wrong_state_is_refused_by_field_and_changes_nothing(change, field):
    out = STATES.message()
    STATES.unpack(msgpack.packb(STATE), out)
    before = (
        out.values.tobytes(),
        out.session,
        out.seq,
        out.time_s,
        out.mode,
        out.status,
        out.fault,
        out.ack,
    )
    with pytest.raises(ProtocolError) as caught:
        STATES.unpack(msgpack.packb({**STATE, **change}), out)
    assert caught.value.field == field
    after = (out.values.tobytes(), out.session, out.seq, out.time_s, out.mode, out.status, out.fault, out.ack)
    assert after == before


@pytest.mark.parametrize("field", list(STATE))
def test_a_missing_field_of_a_state_is_named(field):
    with pytest.raises(ProtocolError, match=field) as caught:
        STATES.unpack(msgpack.packb({k: v for k, v in STATE.items() if k != field}), STATES.message())
    assert caught.value.field == field


@pytest.mark.parametrize("field", list(COMMAND))
def test_a_missing_field_of_a_command_is_named(field):
    with pytest.raises(ProtocolError, match=field) as caught:
        COMMANDS.unpack(msgpack.packb({k: v for k, v in COMMAND.items() if k != field}), COMMANDS.message())
    assert caught.value.field == field


@pytest.mark.parametrize(
    ("change", "field"),
    [({"mode": 7}, "mode"), ({"seq": -2}, "seq"), ({"effort": [1.0, 2.0]}, "effort"),
    ({"session": "a"}, "session"),
     ({"effort": [1.0, nan, 2.0]}, "effort[1]"), ({"effort": [True, 0.0, 0.0]}, "effort[0]"),
     ({"effort": 3}, "effort")],
)  # fmt: skip
def test_a_wrong_command_is_refused_by_field(change, field):
    with pytest.raises(ProtocolError) as caught:
        COMMANDS.unpack(msgpack.packb({**COMMAND, **change}), COMMANDS.message())
    assert caught.value.field == field


def test_a_flood_of_bytes_is_refused_before_it_is_decoded():
    with pytest.raises(ProtocolError, match="bytes exceed"):
        STATES.unpack(msgpack.packb({**STATE, "extra": bytes(100_000)}), STATES.message())


@given(st.binary(max_size=300))
def test_random_bytes_raise_nothing_but_protocol_errors(data):
    for read in (
        lambda: STATES.unpack(data, STATES.message()),
        lambda: COMMANDS.unpack(data, COMMANDS.message()),
        lambda: read_map(data),
        lambda: kind_of(read_map(data)),
    ):
        try:
            read()
        except ProtocolError:
            continue


values = st.recursive(
    st.none() | st.booleans() | st.integers(-(2**63), 2**64 - 1) | st.floats() | st.text(max_size=5)
    | st.binary(max_size=5),
    lambda inner: st.lists(inner, max_size=4) | st.dictionaries(st.text(max_size=5), inner, max_size=4),
    max_leaves=8,
)  # fmt: skip


@given(st.sampled_from(list(STATE)), values)
def test_any_value_in_any_field_is_read_or_refused(field, value):
    out = STATES.message()
    with suppress(ProtocolError):
        STATES.unpack(msgpack.packb({**STATE, field: value}), out)
    assert np.isfinite(out.values).all()
    assert 0 <= out.mode <= 2


OURS = STATES.pack(HEAD, measurements(np.ones(2), np.ones(2), np.ones(3)))


@given(st.data(), st.sampled_from([msgpack.packb(STATE), OURS]))
def test_a_damaged_frame_is_read_or_refused(data, whole):
    frame = bytearray(whole)
    at = data.draw(st.integers(0, len(frame) - 1))
    frame[at] = data.draw(st.integers(0, 255))
    out = STATES.message()
    with suppress(ProtocolError):
        STATES.unpack(bytes(frame[: data.draw(st.integers(at, len(frame)))]), out)
    assert np.isfinite(out.values).all()


@pytest.mark.parametrize(
    ("change", "field"),
    [({"q": np.array([1.0, nan])}, "q[1]"), ({"effort": np.array([inf, -inf, 0])}, "effort[0]"),
     ({"mode": 3}, "mode"),
     ({"time_s": nan}, "time_s"), ({"seq": -1}, "seq"), ({"ack": -2}, "ack"), ({"session": 2**53}, "session"),
     ({"status": -1}, "status"), ({"fault": -1}, "fault")],
)  # fmt: skip
def test_a_wrong_state_in_our_own_layout_is_refused_by_field(change, field):
    fields = {"q": np.ones(2), "v": np.ones(2), "effort": np.ones(3), **change}
    scalars = {
        name: change.get(name, value) for name, value in STATE.items() if isinstance(value, (int, float))
    }
    out = STATES.message()
    with pytest.raises(ProtocolError) as caught:
        STATES.unpack(state_bytes(STATES, **{**scalars, **fields}), out)
    assert caught.value.field == field
    assert not out.values.any()


def test_our_layout_and_the_general_encoder_say_the_same():
    for sensors, motors in ((2, 3), (0, 0), (1, 0), (0, 2), (40, 17)):
        codec = StateCodec(sensors, motors)
        q, v, effort = np.arange(sensors) + 0.5, np.arange(sensors) - 0.5, np.arange(motors) + 0.25
        packed = codec.pack(HEAD, measurements(q, v, effort))
        lists = {"q": q.tolist(), "v": v.tolist(), "effort": effort.tolist()}
        assert msgpack.unpackb(packed) == {**STATE, **lists}
        one, other = codec.message(), codec.message()
        codec.unpack(packed, one)
        codec.unpack(msgpack.packb({**STATE, **lists}), other)
        assert one.values.tobytes() == other.values.tobytes() == np.concatenate([q, v, effort]).tobytes()
        commands = CommandCodec(motors)
        command = commands.pack(5, -1, 2, effort)
        assert msgpack.unpackb(command) == {**COMMAND, "seq": -1, "effort": effort.tolist()}
        commands.unpack(command, into := commands.message())
        assert (into.seq, into.effort.tolist()) == (-1, effort.tolist())


def test_packing_the_wrong_length_is_an_error_here_and_not_over_there():
    with pytest.raises(ValueError, match="size"):
        COMMANDS.pack(5, 1, 2, np.zeros(2))
    COMMANDS.unpack(COMMANDS.pack(5, 1, 2, np.ones(3)), out := COMMANDS.message())
    assert out.effort.tolist() == [1.0, 1.0, 1.0]


def test_a_machine_without_motors_has_empty_lists():
    codec = StateCodec(0, 0)
    empty = np.zeros(0)
    out = codec.message()
    codec.unpack(codec.pack(StateHeader(1, 2, 0.5, 0, 0, 0, -1), measurements(empty, empty, empty)), out)
    assert out.seq == 2
    assert out.values.size == 0


def test_temperatures_come_with_some_states_and_stand_until_the_next():
    codec = StateCodec(1, 2)
    message, one, two = codec.message(), np.zeros(1), np.zeros(2)
    assert np.isnan(message.temperature).all()

    def state(seq, hot=None):
        head = StateHeader(1, seq, 0.0, 0, 1, 0, -1)
        return codec.pack(head, measurements(one, one, two, hot), temperatures=True)

    codec.unpack(state(0, np.array([40.5, np.nan])), message)
    codec.unpack(state(1), message)
    assert (message.seq, message.temperature[0]) == (1, 40.5)
    assert np.isnan(message.temperature[1])
    content = msgpack.unpackb(state(2, np.array([1.0, 2.0])))
    for wrong in ([1.0], "hot", [1.0, "hot"], [float("inf"), 1.0], [True, 1.0]):
        with pytest.raises(ProtocolError, match="temperature"):
            codec.unpack(msgpack.packb({**content, "temperature": wrong}), message)
    assert message.seq == 1, "nothing was taken"


SWITCHING, ORDERS = StateCodec(2, 3, switches=2), CommandCodec(3, 2)


def test_switches_travel_with_states_and_commands():
    out, command = SWITCHING.message(), ORDERS.message()
    assert (out.closed, command.closed) == (-1, -1)
    numbers = (np.zeros(2), np.zeros(2), np.zeros(3))
    SWITCHING.unpack(SWITCHING.pack(StateHeader(5, 1, 0.0, 2, 0, 0, -1, 2), measurements(*numbers)), out)
    assert (out.closed, out.switched, out.ack) == (2, None, -1)
    told = [{"name": "grip", "on": True, "impulse": [1.5]}]
    hot = np.array([40.0, math.nan, 41.0])
    later, measured = StateHeader(5, 2, 0.0, 2, 0, 0, 1, 3), measurements(*numbers, hot)
    SWITCHING.unpack(SWITCHING.pack(later, measured, temperatures=True, switched=told), out)
    assert (out.closed, out.switched, out.temperature[0]) == (3, told, 40.0)
    SWITCHING.unpack(SWITCHING.pack(StateHeader(5, 3, 0.0, 2, 0, 0, 1, 3), measured), out)
    assert out.switched is None
    ORDERS.unpack(ORDERS.pack(5, 1, 2, np.ones(3), 3), command)
    assert (command.closed, command.effort.tolist()) == (3, [1.0, 1.0, 1.0])
    ORDERS.unpack(ORDERS.pack(5, 2, 2, np.ones(3)), command)
    assert command.closed == -1


def test_a_reader_without_switches_does_not_mind_them():
    out, command = STATES.message(), COMMANDS.message()
    STATES.unpack(msgpack.packb({**STATE, "closed": 3, "switched": []}), out)
    COMMANDS.unpack(msgpack.packb({**COMMAND, "closed": 3}), command)
    assert (out.closed, command.closed) == (-1, -1)


@pytest.mark.parametrize(
    ("change", "field"),
    [
        ({"closed": 4}, "closed"), ({"closed": -1}, "closed"), ({"closed": 1.0}, "closed"),
        ({"closed": True}, "closed"), ({"closed": None}, "closed"),
        ({"switched": 1}, "switched"), ({"switched": [1]}, "switched[0]"),
        ({"switched": [{"name": 1}]}, "switched[0]"), ({"switched": [{"name": "a"}] * 3}, "switched"),
    ],
)  # fmt: skip
def test_wrong_switches_are_refused_by_name(change, field):
    out = SWITCHING.message()
    with pytest.raises(ProtocolError) as refused:
        SWITCHING.unpack(msgpack.packb({**STATE, "closed": 1, **change}), out)
    assert refused.value.field == field
    assert out.closed == -1
    if "closed" in change and change["closed"] is not None:
        with pytest.raises(ProtocolError):
            ORDERS.unpack(msgpack.packb({**COMMAND, **change}), ORDERS.message())
