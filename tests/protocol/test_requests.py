"""Requests: read only as far as needed, bounded before decoding, refused by code and path."""

from contextlib import suppress

import msgpack
import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from linkwork.protocol.codes import REQUEST_BYTES, RequestCode, ResultCode
from linkwork.protocol.errors import ProtocolError, RequestError, code_name
from linkwork.protocol.request_messages import (
    Notification,
    pack_error,
    pack_notification,
    pack_request,
    pack_response,
    read_answer,
)
from linkwork.protocol.request_table import REQUESTS
from linkwork.protocol.requests import UnreadableRequest, check_params, params_of, read_params, read_request

nan, inf = float("nan"), float("inf")
POINTS = {"coordinates": ["a"], "points": [{"time_from_start_s": 1.0, "positions": [0.5]}]}
SMALLEST = {
    "move": {"target": {"a": 1}},
    "send": {"trajectory": POINTS},
    "append": {"trajectory": POINTS},
    "check": {"trajectory": POINTS},
    "speed": {"fraction": 0.5},
    "jog": {"velocity": {"a": 0.1}},
    "stream": {"coordinates": ["a"]},
    "set_points": {"goal": 1, "points": [[0.0, 0.1]]},
    "payload": {"point": "tool", "mass_kg": 1.0},
    "advance": {"ticks": 1},
    "law": {"name": "servo"},
    "preload": {"effort": {"left_elbow": 1.5}},
    "switch": {"constraint": "slot", "on": True},
    "set": {"signals": {"gripper": True}},
    "wait": {"condition": "part_present"},
    "edges": {"signal": "part_present"},
}


@pytest.mark.parametrize("method", REQUESTS)
def test_every_method_takes_its_smallest_parameters(method):
    request = read_request(pack_request(9, method, SMALLEST.get(method, {})))
    assert (request.msgid, request.method) == (9, method)
    params = read_params(request.method, request.params)
    assert isinstance(params, params_of(method))


def test_the_owner_travels_as_as():
    params = check_params("move", {"target": {"a": 1}, "as": "ada@bench", "at_tick": 7, "later": "field"})
    assert (params.owner, params.at_tick, params.target, params.speed) == ("ada@bench", 7, {"a": 1.0}, 1.0)


def test_whoever_may_not_move_may_still_stop_and_look():
    free = {name for name, request in REQUESTS.items() if not request.needs_lease}
    assert free == {
        "state", "describe", "status", "faults", "edges", "acquire", "release", "check", "path", "wait",
        "stop", "estop",
    }  # fmt: skip


@pytest.mark.parametrize(
    ("method", "params", "path"),
    [
        ("move", {}, ("target",)), ("move", {"target": {}}, ("target",)),
        ("move", {"target": [1]}, ("target",)),
        ("move", {"target": {"a": nan}}, ("target", "a")), ("move", {"target": {"a": inf}}, ("target", "a")),
        ("move", {"target": {"a": "1"}}, ("target", "a")), ("move", {"target": {"a": True}}, ("target", "a")),
        ("move", {"target": {"x" * 129: 1}}, ("target", "x" * 129)),
        ("move", {"target": {"a": 1}, "speed": 0}, ("speed",)),
        ("move", {"target": {"a": 1}, "speed": 1.5}, ("speed",)),
        ("move", {"target": {"a": 1}, "at_tick": -1}, ("at_tick",)),
        ("move", {"target": {"a": 1}, "at_tick": 1.5}, ("at_tick",)),
        ("move", {"target": {"a": 1}, "as": 5}, ("as",)),
        ("enable", {"as": "x" * 65}, ("as",)), ("speed", {"fraction": -0.1}, ("fraction",)),
        ("speed", {"fraction": nan}, ("fraction",)),
        ("speed", {"fraction": 2.01}, ("fraction",)),
        ("speed", {"fraction": 0.5, "limit": 1}, ("limit",)), ("append", {}, ("trajectory",)),
        ("set_gain", {"bandwidth_rad_s": 0}, ("bandwidth_rad_s",)),
        ("switch", {"constraint": "slot", "on": 1}, ("on",)),
        ("set", {}, ("signals",)), ("set", {"signals": {}}, ("signals",)),
        ("wait", {"condition": ""}, ("condition",)),
        ("wait", {"condition": "a", "within_s": 0}, ("within_s",)),
        ("wait", {"condition": "a", "within_s": inf}, ("within_s",)),
        ("payload", {"point": "tool"}, ("mass_kg",)),
        ("payload", {"point": "tool", "mass_kg": 1.0, "com_m": [0.0]}, ("com_m",)),
        ("move", {"target": {"a": 1}, "replace": "yes"}, ("replace",)),
        ("jog", {"velocity": {str(k): 0.1 for k in range(13)}}, ("velocity",)),
        ("jog", {"velocity": {"a": None}}, ("velocity", "a")), ("advance", {"ticks": 0}, ("ticks",)),
        ("advance", {"ticks": 10**10}, ("ticks",)), ("cancel", {"goal": "last"}, ("goal",)),
        ("law", {"name": ""}, ("name",)),
        ("faults", {"limit": 0}, ("limit",)), ("send", {}, ("trajectory",)),
        ("check", {"trajectory": 5}, ("trajectory",)),
        ("state", [1, 2], ()), ("stop", "now", ()),
    ],
)  # fmt: skip
def test_a_wrong_parameter_is_refused_with_its_path(method, params, path):
    with pytest.raises(RequestError) as caught:
        read_params(method, msgpack.packb(params))
    assert (caught.value.code, caught.value.path) == (RequestCode.INVALID_PARAMS, path)
    assert caught.value.message


@pytest.mark.parametrize(
    ("content", "code", "msgid"),
    [
        ([0, 1, "levitate", {}], RequestCode.UNKNOWN_METHOD, 1),
        ([0, 1, "state"], RequestCode.MALFORMED, None),
        ([1, 1, "state", {}], RequestCode.MALFORMED, None),
        ([False, 1, "state", {}], RequestCode.MALFORMED, None),
        ([0, "1", "state", {}], RequestCode.MALFORMED, None),
        ([0, -1, "state", {}], RequestCode.MALFORMED, None),
        ([0, 2**32, "state", {}], RequestCode.MALFORMED, None),
        ([0, 5, b"state", {}], RequestCode.MALFORMED, 5),
        ([0, 5, {"a": 1}, {}], RequestCode.MALFORMED, 5), ([0, 5, "x" * 1000, {}], RequestCode.MALFORMED, 5),
        ({"method": "state"}, RequestCode.MALFORMED, None), (7, RequestCode.MALFORMED, None),
        ([2, "state", {}], RequestCode.MALFORMED, None), (None, RequestCode.MALFORMED, None),
    ],
)  # fmt: skip
def test_what_is_no_request_is_refused_and_can_be_answered(content, code, msgid):
    with pytest.raises(UnreadableRequest) as caught:
        read_request(msgpack.packb(content))
    assert (caught.value.code, caught.value.msgid) == (code, msgid)
    answer = read_answer(pack_error(caught.value.msgid, caught.value))
    assert (answer.msgid, answer.error.code, answer.error.message) == (msgid, code, caught.value.message)


def test_a_request_over_the_bound_is_refused_by_size_before_it_is_decoded():
    frame = pack_request(3, "send", {"trajectory": bytes(REQUEST_BYTES)})
    with pytest.raises(UnreadableRequest) as caught:
        read_request(frame)
    assert (caught.value.code, caught.value.msgid) == (RequestCode.TOO_LARGE, 3)
    assert str(REQUEST_BYTES) in caught.value.message
    assert str(len(frame)) in caught.value.message


def test_parameters_beside_the_envelope_stay_encoded():
    request = read_request(pack_request(1, "send", {"at_tick": 3, "trajectory": {"points": 5}}))
    assert (request.at_tick, request.owner) == (3, "")
    with pytest.raises(RequestError) as caught:
        read_params("send", request.params)
    assert caught.value.path[0] == "trajectory"


def test_unreadable_parameters_are_answered_by_number():
    with pytest.raises(UnreadableRequest) as caught:
        read_request(pack_request(1, "send", {})[:-1] + b"\xc1garbage")
    assert (caught.value.code, caught.value.msgid) == (RequestCode.MALFORMED, 1)


def test_a_small_request_may_not_carry_long_lists():
    with pytest.raises(RequestError) as caught:
        read_params("stop", msgpack.packb({"extra": [0] * 100_000}))
    assert caught.value.code == RequestCode.MALFORMED


def test_headers_that_promise_far_too_much_are_refused():
    nested = b"\x81\xaatrajectory" + b"\xdd\x00\x02\xff\xff" * 400
    with pytest.raises(RequestError) as caught:
        read_params("send", nested)
    assert caught.value.code == RequestCode.MALFORMED


@given(st.binary(max_size=200))
def test_random_bytes_raise_nothing_but_request_errors(data):
    try:
        request = read_request(data)
        read_params(request.method, request.params)
    except RequestError:
        return


junk = st.recursive(
    st.none() | st.booleans() | st.integers(-(2**63), 2**64 - 1) | st.floats() | st.text(max_size=4)
    | st.binary(max_size=4),
    lambda inner: st.lists(inner, max_size=4) | st.dictionaries(st.text(max_size=4), inner, max_size=4),
    max_leaves=10,
)  # fmt: skip
KEYS = [
    "trajectory",
    "coordinates",
    "points",
    "positions",
    "time_from_start_s",
    "curve",
    "helix",
    "hold",
    "target",
    "as",
]


@given(
    st.sampled_from(list(REQUESTS)),
    st.dictionaries(st.sampled_from(KEYS), junk | st.just(POINTS), max_size=4),
)
def test_junk_in_any_parameter_raises_nothing_but_request_errors(method, params):
    if isinstance(params.get("trajectory"), dict):
        params["trajectory"] = {
            **params["trajectory"],
            **{key: params[key] for key in params if key != "trajectory"},
        }
    with suppress(RequestError):
        read_params(method, msgpack.packb(params))


@given(st.binary(max_size=100))
def test_random_answers_raise_nothing_but_protocol_errors(data):
    try:
        read_answer(data)
    except ProtocolError:
        return


def test_an_error_travels_whole():
    sent = RequestError(ResultCode.INFEASIBLE, "too fast", ["trajectory", "points", 3], {"stretch": 1.5})
    back = read_answer(pack_error(4, sent)).error
    assert back.as_map() == sent.as_map()
    assert back.name == "INFEASIBLE"


def test_an_error_of_a_later_version_keeps_its_number_and_name():
    later = {"code": 99, "name": "TOO_HOT", "message": "hot", "path": None, "data": 5, "cause": "sun"}
    back = RequestError.from_map(later)
    assert (back.code, back.name, back.message, back.path, back.data) == (99, "TOO_HOT", "hot", (), {})
    assert code_name(99) == "CODE_99"
    assert RequestError.from_map("plain text").message == "plain text"


def test_results_may_hold_numpy_numbers():
    answer = read_answer(pack_response(1, {"q": np.arange(3.0), "n": np.int64(3), "b": np.bool_(True)}))
    assert answer.result == {"q": [0.0, 1.0, 2.0], "n": 3, "b": True}
    note = read_answer(pack_notification("state", {"tick": np.int64(5)}))
    assert note == Notification("state", {"tick": 5})
