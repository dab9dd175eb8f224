"""Real sockets: what comes through, what is dropped, what is refused, and that nobody is stolen from."""

import os
import re
import socket
import subprocess
import sys
import threading
import time
from pathlib import Path

import msgpack
import pytest
import zmq

from linkwork import protocol
from linkwork.protocol.errors import EndpointError, Taken
from linkwork.protocol.sockets import DeviceClient, DeviceServer, Poller, Publisher, RequestServer, Subscriber
from linkwork.protocol.telemetry import TELEMETRY_TOPIC, pack_telemetry, read_telemetry

WAIT_MS = 20_000

BIND = """
import sys
from linkwork.protocol.sockets import DeviceServer
server = DeviceServer(sys.argv[1])
print("bound", flush=True)
while True:
    got = server.receive(-1)
    if got is not None:
        server.send(got[0], b"from the child: " + got[1])
"""


@pytest.fixture
def endpoint(tmp_path):
    return f"ipc://{tmp_path}/device.ipc"


@pytest.fixture
def pair(endpoint):
    with DeviceServer(endpoint) as server, DeviceClient(endpoint) as client:
        assert client.writable(WAIT_MS)
        yield server, client


@pytest.fixture
def child(endpoint):
    def start():
        process = subprocess.Popen(
            [sys.executable, "-c", BIND, endpoint],
            stdout=subprocess.PIPE, text=True, cwd=Path(protocol.__file__).parents[1],
        )  # fmt: skip
        started.append(process)
        assert process.stdout.readline() == "bound\n"
        return process

    started = []
    yield start
    for process in started:
        process.kill()
        process.communicate()


def test_messages_go_both_ways(pair):
    server, client = pair
    assert client.send(b"hello")
    peer, message = server.receive(WAIT_MS)
    assert message == b"hello"
    assert server.send(peer, b"welcome")
    assert client.receive(WAIT_MS) == b"welcome"


def test_nothing_there_is_none(pair):
    server, client = pair
    assert server.receive() is None
    assert server.receive(1) is None
    assert client.receive() is None
    assert client.receive(1) is None
    assert client.receive_latest() == (None, 0)
    assert client.receive_until(time.monotonic_ns() + 300_000) is None
    assert server.receive_until(time.monotonic_ns() - 1) is None
    assert not server.ready()


def test_the_end_of_the_plant_s_process_ends_the_connection(endpoint, child):
    with DeviceClient(endpoint) as client:
        for _ in range(2):
            process = child()
            assert client.writable(WAIT_MS)
            client.forget_connection()
            assert not client.connection_ended()
            process.kill()
            process.wait()
            never, silent = os.pipe()
            assert not client.wait_beside(never, WAIT_MS)
            assert client.connection_ended()
            os.write(silent, b"now")
            assert client.wait_beside(never, WAIT_MS)
            os.close(never)
            os.close(silent)


def test_waiting_until_a_deadline_ends_with_the_message(pair):
    server, client = pair
    client.send(b"x")
    peer, _ = server.receive_until(time.monotonic_ns() + WAIT_MS * 1_000_000)
    threading.Timer(0.02, lambda: server.send(peer, b"late")).start()
    assert client.receive_until(time.monotonic_ns() + WAIT_MS * 1_000_000) == b"late"


def test_draining_keeps_the_newest_and_counts_the_rest(pair):
    server, client = pair
    client.send(b"x")
    peer, _ = server.receive(WAIT_MS)
    for number in range(70):
        assert server.send(peer, str(number).encode())
    newest, dropped, deadline = None, 0, time.monotonic() + 20
    while newest != b"69" and time.monotonic() < deadline:
        got, older = client.receive_latest()
        assert older < 64
        newest, dropped = got or newest, dropped + older + (got is not None)
    assert (newest, dropped) == (b"69", 70)


def test_sending_to_nobody_says_so(endpoint):
    with DeviceClient(endpoint) as client:
        assert not client.send(b"x")
        assert not client.writable(1)
        with DeviceServer(endpoint) as server:
            assert not server.send(b"nobody", b"x")
            assert client.writable(WAIT_MS)
            assert client.send(b"x")


def test_a_message_of_several_frames_is_dropped_and_the_next_one_is_read(pair, endpoint):
    server, client = pair
    with zmq.Context() as context, context.socket(zmq.DEALER) as stranger:
        stranger.linger = 0
        stranger.connect(endpoint)
        stranger.send_multipart([b"", b"a", b"b"])
        assert server.ready(WAIT_MS)
        assert server.receive(WAIT_MS) is None
        assert server.malformed == 1
        stranger.send(b"whole")
        assert server.receive(WAIT_MS)[1] == b"whole"
    client.send(b"mine")
    assert server.receive(WAIT_MS)[1] == b"mine"


def test_a_frame_above_the_last_bound_disconnects_its_sender_only(pair, endpoint):
    server, client = pair
    with DeviceClient(endpoint) as flood:
        assert flood.writable(WAIT_MS)
        flood.send(bytes(2 * 1024 * 1024))
        assert server.receive(200) is None
    client.send(b"mine")
    assert server.receive(WAIT_MS)[1] == b"mine"


def test_a_bound_path_is_not_stolen_by_this_process(pair, endpoint):
    with pytest.raises(Taken, match=str(os.getpid())):
        DeviceServer(endpoint)
    server, client = pair
    client.send(b"still mine")
    assert server.receive(WAIT_MS)[1] == b"still mine"


def test_a_bound_path_is_not_stolen_from_another_process(child, endpoint):
    holder = child()
    with pytest.raises(Taken) as caught:
        DeviceServer(endpoint)
    assert caught.value.pid == holder.pid
    with DeviceClient(endpoint) as client:
        assert client.writable(WAIT_MS)
        client.send(b"x")
        assert client.receive(WAIT_MS) == b"from the child: x"


def test_a_killed_server_s_path_is_free_and_its_client_finds_the_next(child, endpoint):
    first = child()
    with DeviceClient(endpoint) as client:
        assert client.writable(WAIT_MS)
        first.kill()
        first.wait()
        second = child()
        deadline, answer = time.monotonic() + 20, None
        while answer is None and time.monotonic() < deadline:
            client.send(b"again")
            answer = client.receive(100)
        assert answer == b"from the child: again"
        assert second.poll() is None


def test_a_closed_server_leaves_its_path_free(endpoint):
    path = Path(endpoint.removeprefix("ipc://"))
    for _ in range(3):
        with DeviceServer(endpoint):
            assert path.stat().st_mode & 0o777 == 0o600
        assert not path.exists()


def test_the_poller_watches_sockets_and_descriptors(pair):
    server, client = pair
    reading, writing = os.pipe()
    poller = Poller()
    for source in (server, client, reading):
        poller.add(source)
    try:
        assert poller.wait(0) == []
        client.send(b"x")
        assert poller.wait(WAIT_MS) == [server]
        os.write(writing, b"!")
        ready = poller.wait(WAIT_MS)
        assert ready == [server, reading]
        os.read(reading, 1)
        peer, _ = server.receive()
        server.send(peer, b"y")
        assert poller.wait(WAIT_MS) == [client]
        poller.remove(client)
        poller.remove(client)
        assert poller.wait(0.2) == []
        os.close(writing)
        writing = -1
        assert poller.wait(WAIT_MS) == [reading]
    finally:
        for descriptor in (reading, writing):
            if descriptor >= 0:
                os.close(descriptor)


def test_telemetry_reaches_its_subscribers_by_topic():
    with (
        Publisher("tcp://127.0.0.1:*") as publisher,
        Subscriber(publisher.endpoint) as everything,
        Subscriber(publisher.endpoint, [b"goal."]) as goals,
    ):
        got, deadline = {}, time.monotonic() + 20
        while len(got) < 3 and time.monotonic() < deadline:
            publisher.send(TELEMETRY_TOPIC, pack_telemetry(1.5, {"q": {"a": 0.25}}))
            publisher.send(b"goal.result", pack_telemetry(1.5, {"code": 0}))
            for name, subscriber in (("all", everything), ("goals", goals)):
                while (message := subscriber.receive(20)) is not None:
                    got[name, message[0]] = read_telemetry(message[1])
    assert got == {
        ("all", b"telemetry"): {"timestamp": 1.5, "q": {"a": 0.25}},
        ("all", b"goal.result"): {"timestamp": 1.5, "code": 0},
        ("goals", b"goal.result"): {"timestamp": 1.5, "code": 0},
    }


def test_a_publisher_knows_whether_anybody_listens():
    with Publisher("tcp://127.0.0.1:*") as publisher:
        assert not publisher.wanted(TELEMETRY_TOPIC)
        with Subscriber(publisher.endpoint, [b"goal.", b"tele"]) as subscriber:
            deadline = time.monotonic() + 20
            while not (publisher.wanted(TELEMETRY_TOPIC) and publisher.wanted(b"goal.result")):
                subscriber.receive(1)
                assert time.monotonic() < deadline
            assert not publisher.wanted(b"state")
        while publisher.wanted(TELEMETRY_TOPIC) or publisher.wanted(b"goal.result"):
            publisher.ready(20)
            assert time.monotonic() < deadline


def test_telemetry_is_two_frames_that_any_reader_decodes():
    with (
        Publisher("tcp://127.0.0.1:*") as publisher,
        zmq.Context() as context,
        context.socket(zmq.SUB) as plain,
    ):
        plain.linger = 0
        plain.subscribe(b"")
        plain.connect(publisher.endpoint)
        deadline = time.monotonic() + 20
        while not plain.poll(20) and time.monotonic() < deadline:
            publisher.send(b"telemetry", pack_telemetry(2.0, {"tick": 7}))
        frames = plain.recv_multipart()
    assert frames[0] == b"telemetry"
    assert len(frames) == 2
    assert msgpack.unpackb(frames[1]) == {"timestamp": 2.0, "tick": 7}


@pytest.mark.parametrize(
    "endpoint",
    ["tcp://*:0", "tcp://0.0.0.0:0", "tcp://[::]:0", "tcp://192.168.1.5:5555", "tcp://127.0.0.1.example.org:1",
     "tcp://eth0:1", "ipc://@linkwork", "pgm://x", "nonsense"],
)  # fmt: skip
def test_a_bind_that_strangers_reach_is_refused_without_keys(endpoint):
    for kind in (DeviceServer, RequestServer, Publisher):
        with pytest.raises(EndpointError, match="linkwork keys"):
            kind(endpoint)


def test_loopback_needs_no_keys_and_a_taken_port_says_so():
    with RequestServer("tcp://127.0.0.1:*") as server:
        assert server.endpoint.startswith("tcp://127.0.0.1:")
        with pytest.raises(Taken, match="another port"):
            RequestServer(server.endpoint)


def test_an_endpoint_that_is_none_is_refused():
    with pytest.raises(EndpointError, match="tcp://HOST:PORT"):
        DeviceClient("nowhere")
    with pytest.raises(EndpointError, match="107"):
        DeviceClient("ipc:///" + "x" * 110)
    with pytest.raises(EndpointError, match="cannot open the lock"):
        DeviceServer("ipc:///nowhere/at/all.ipc")


@pytest.mark.skipif(not socket.has_ipv6, reason="this Python has no IPv6")
def test_loopback_of_ip_version_6():
    try:
        with socket.create_server(("::1", 0), family=socket.AF_INET6):
            pass
    except OSError:
        pytest.skip("this machine has no ::1")
    with DeviceServer("tcp://[::1]:*") as server, DeviceClient(server.endpoint) as client:
        assert client.writable(WAIT_MS)


def test_one_file_of_the_room_imports_zmq():
    room = Path(protocol.__file__).parent
    speaking = [
        path.name for path in room.rglob("*.py") if re.search(r"^(import|from) zmq", path.read_text(), re.M)
    ]
    assert speaking == ["sockets.py"]


def test_a_subscription_beyond_any_topic_ends_its_connection(endpoint):
    context = zmq.Context()
    stranger = context.socket(zmq.XSUB)
    ended = stranger.get_monitor_socket(zmq.EVENT_DISCONNECTED)
    try:
        with Publisher(endpoint) as publisher:
            stranger.connect(endpoint)
            stranger.send(b"\1" + bytes(100_000))
            assert ended.poll(WAIT_MS)
            with Subscriber(endpoint) as subscriber:
                deadline = time.monotonic() + 20.0
                while subscriber.receive(10) is None:
                    assert time.monotonic() < deadline
                    publisher.send(b"state", b"")
    finally:
        stranger.disable_monitor()
        context.destroy(linger=0)
