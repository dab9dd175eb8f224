"""Owner and tick read from encoded parameters, whatever else is in them."""

from typing import Any

import msgpack
import pytest
from hypothesis import given
from hypothesis import strategies as st

from linkwork.protocol.codes import RequestCode
from linkwork.protocol.errors import RequestError
from linkwork.protocol.requests import RequestFrame, UnreadableRequest, read_request

PLAIN = st.recursive(
    st.none() | st.booleans() | st.integers(-(2**63), 2**64 - 1) | st.floats() | st.text() | st.binary(),
    lambda inner: st.lists(inner, max_size=4) | st.dictionaries(st.text(), inner, max_size=4),
    max_leaves=12,
)
OTHERS = st.dictionaries(
    st.text().filter(lambda key: key not in ("as", "at_tick")) | st.integers(-(2**63), 2**63), PLAIN
)
OWNERS = st.text(st.characters(codec="ascii", min_codepoint=32, max_codepoint=126), max_size=64)


def read(params: bytes) -> RequestFrame:
    """A request of `stop` with these bytes as its parameters."""
    return read_request(msgpack.packb([0, 7, "stop", None])[:-1] + params)


@given(OTHERS, OWNERS, st.none() | st.integers(0, 2**53 - 1))
def test_owner_and_tick_are_found_among_anything(
    others: dict[Any, Any], owner: str, tick: int | None
) -> None:
    params = {**others, "as": owner, "at_tick": tick}
    found = read(msgpack.packb(params))
    assert (found.owner, found.at_tick, found.replace) == (owner, tick, others.get("replace") is True)


@given(st.binary(max_size=60))
def test_any_bytes_are_read_or_refused_with_a_code(data: bytes) -> None:
    try:
        read(data)
    except UnreadableRequest as error:
        codes = (RequestCode.MALFORMED, RequestCode.INVALID_PARAMS)
        assert error.msgid == 7 and error.code in codes  # noqa: PT017, PT018 - both are right


@given(PLAIN.filter(lambda value: value is not None and not isinstance(value, str)))
def test_an_owner_that_is_no_text_is_refused_with_its_path(value: Any) -> None:
    with pytest.raises(RequestError) as caught:
        read(msgpack.packb({"as": value}))
    assert caught.value.path == ("as",)


@pytest.mark.parametrize("tick", [-1, 2**53, 1.5, "7", True, [1]])
def test_a_tick_that_is_none_is_refused_with_its_path(tick: Any) -> None:
    with pytest.raises(RequestError) as caught:
        read(msgpack.packb({"at_tick": tick}))
    assert caught.value.path == ("at_tick",)


@pytest.mark.parametrize("owner", ["a" * 65, "two\nlines", "\x1b[31mred"])
def test_a_name_that_cannot_be_shown_is_refused(owner: str) -> None:
    with pytest.raises(RequestError) as caught:
        read(msgpack.packb({"as": owner}))
    assert caught.value.code == RequestCode.INVALID_PARAMS


@pytest.mark.parametrize("nothing", [b"", b"\xc0", b"\x80"])
def test_no_parameters_are_an_empty_envelope(nothing: bytes) -> None:
    found = read(nothing)
    assert (found.owner, found.at_tick, found.replace) == ("", None, False)
