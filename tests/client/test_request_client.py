"""The request client against real servers that answer, stay silent, come late, die and come back."""

import threading
from contextlib import contextmanager

import msgpack
import pytest

from linkwork.client.request_client import RequestClient
from linkwork.protocol.codes import REQUEST_BYTES, RequestCode
from linkwork.protocol.errors import NobodyThere, RequestError
from linkwork.protocol.request_messages import Notification, pack_error, pack_notification, pack_response
from linkwork.protocol.requests import read_params, read_request
from linkwork.protocol.sockets import RequestServer


@contextmanager
def serving(endpoint, answer):
    """A server in a thread; `answer(server, peer, data)` does as it likes with each request."""
    ended = threading.Event()
    errors = []

    def serve():
        with RequestServer(endpoint) as server:
            where.append(server.endpoint)
            ready.set()
            while not ended.is_set():
                got = server.receive(20)
                if got is not None:
                    try:
                        answer(server, *got)
                    except Exception as error:
                        errors.append(error)

    where, ready = [], threading.Event()
    thread = threading.Thread(target=serve)
    thread.start()
    try:
        assert ready.wait(20)
        yield where[0]
    finally:
        ended.set()
        thread.join()
    assert not errors


def echo(server, peer, data):
    try:
        request = read_request(data)
    except RequestError as error:
        server.send(peer, pack_error(error.msgid, error))
        return
    try:
        params = read_params(request.method, request.params)
    except RequestError as error:
        server.send(peer, pack_error(request.msgid, error))
        return
    server.send(
        peer, pack_response(request.msgid, {"method": request.method, "owner": getattr(params, "owner", "")})
    )


@pytest.fixture
def endpoint(tmp_path):
    return f"ipc://{tmp_path}/requests.ipc"


def test_a_result_and_a_refusal(endpoint):
    with serving(endpoint, echo), RequestClient(endpoint) as client:
        assert client.request("stop", {"as": "ada"}) == {"method": "stop", "owner": "ada"}
        with pytest.raises(RequestError) as caught:
            client.request("move", {"target": {"a": float("nan")}})
        assert (caught.value.code, caught.value.path) == (RequestCode.INVALID_PARAMS, ("target", "a"))
        with pytest.raises(RequestError, match="unknown method 'levitate'"):
            client.request("levitate")
        assert client.request("state")["method"] == "state"


def test_an_oversized_request_is_refused_politely_and_the_connection_lives(endpoint):
    with serving(endpoint, echo), RequestClient(endpoint) as client:
        with pytest.raises(RequestError) as caught:
            client.request("send", {"trajectory": bytes(REQUEST_BYTES)}, timeout_s=20)
        assert caught.value.code == RequestCode.TOO_LARGE
        assert str(REQUEST_BYTES) in caught.value.message
        assert client.request("state")["method"] == "state"


def test_nobody_there_says_so(endpoint):
    with RequestClient(endpoint) as client:
        assert not client.connected()
        with pytest.raises(NobodyThere, match="no answer from"):
            client.request("state", timeout_s=0.05)


def test_silence_says_so(endpoint):
    with serving(endpoint, lambda *_: None), RequestClient(endpoint) as client:
        assert client.connected(20)
        with pytest.raises(NobodyThere, match="no answer to `state`"):
            client.request("state", timeout_s=0.1)


def test_an_answer_after_its_time_is_not_taken_for_the_next_one(endpoint):
    held = []

    def late(server, peer, data):
        held.append(read_request(data).msgid)
        if len(held) == 2:
            for msgid in held:
                server.send(peer, pack_response(msgid, {"msgid": msgid}))

    with serving(endpoint, late), RequestClient(endpoint) as client:
        assert client.connected(20)
        with pytest.raises(NobodyThere):
            client.request("state", timeout_s=0.2)
        assert client.request("state", timeout_s=20) == {"msgid": 2}
        assert client.stale == 1


def test_notifications_are_kept_in_order_and_garbage_is_counted(endpoint):
    def chatty(server, peer, data):
        server.send(peer, pack_notification("goal.accepted", {"goal": 1}))
        server.send(peer, b"\xc1")
        server.send(peer, msgpack.packb([7, 7]))
        server.send(peer, pack_response(read_request(data).msgid, {}))
        server.send(peer, pack_notification("goal.result", {"goal": 1}))

    with serving(endpoint, chatty), RequestClient(endpoint) as client:
        assert client.request("state", timeout_s=20) == {}
        assert client.next_notification() == Notification("goal.accepted", {"goal": 1})
        assert client.next_notification(20) == Notification("goal.result", {"goal": 1})
        assert client.next_notification() is None
        assert client.stale == 2


def test_the_queue_of_notifications_is_bounded(endpoint):
    def flood(server, peer, data):
        for number in range(500):
            server.send(peer, pack_notification("goal.progress", {"number": number}))
        server.send(peer, pack_response(read_request(data).msgid, {}))

    with serving(endpoint, flood), RequestClient(endpoint) as client:
        received = 0
        while client.dropped == 0 and received < 100:
            client.request("state", timeout_s=20)
            received += 1
        assert client.dropped > 0
        kept = 0
        while client.next_notification() is not None:
            kept += 1
        assert kept == 4096


def test_a_server_that_comes_back_is_found_again(endpoint):
    with RequestClient(endpoint) as client:
        with serving(endpoint, echo):
            assert client.request("state", timeout_s=20)["method"] == "state"
        with pytest.raises(NobodyThere):
            client.request("state", timeout_s=0.2)
        with serving(endpoint, echo):
            assert client.request("stop", timeout_s=20)["method"] == "stop"


def test_a_client_may_be_opened_before_its_server(endpoint):
    with RequestClient(endpoint) as client, serving(endpoint, echo):
        assert client.request("state", timeout_s=20)["method"] == "state"
