"""Keys: who is on the list gets in, nobody else does, whatever else goes wrong."""

import stat

import pytest
import zmq
import zmq.auth

from linkwork.protocol.errors import EndpointError
from linkwork.protocol.keys import ClientKeys, client_keys, read_public, server_keys
from linkwork.protocol.sockets import (
    DeviceClient,
    DeviceServer,
    Publisher,
    RequestDealer,
    RequestServer,
    Subscriber,
    generate_keys,
)

WAIT_MS = 20_000
REFUSED_MS = 400


@pytest.fixture
def keys(tmp_path):
    allowed = tmp_path / "allowed"
    allowed.mkdir()
    daemon, secret = generate_keys(tmp_path / "own", "daemon")
    friend, friend_secret = generate_keys(tmp_path / "friend", "friend")
    _, stranger_secret = generate_keys(tmp_path / "stranger", "stranger")
    (allowed / friend.name).write_bytes(friend.read_bytes())
    return (
        server_keys(secret, allowed),
        client_keys(friend_secret, daemon),
        client_keys(stranger_secret, daemon),
    )


@pytest.mark.parametrize(
    ("server_kind", "client_kind"), [(DeviceServer, DeviceClient), (RequestServer, RequestDealer)]
)
def test_a_known_key_gets_in_and_an_unknown_one_does_not(keys, server_kind, client_kind):
    server_keys_, friend, stranger = keys
    with server_kind("tcp://0.0.0.0:*", server_keys_) as server:
        where = server.endpoint.replace("0.0.0.0", "127.0.0.1")
        with (
            client_kind(where, friend) as known,
            client_kind(where, stranger) as unknown,
            client_kind(where) as bare,
        ):
            assert known.writable(WAIT_MS)
            known.send(b"friend")
            assert server.receive(WAIT_MS)[1] == b"friend"
            for other in (unknown, bare):
                assert not other.writable(REFUSED_MS)
                assert not other.send(b"let me in")
            assert server.receive(REFUSED_MS) is None


def test_a_client_that_expects_another_daemon_does_not_talk_to_this_one(keys, tmp_path):
    server_keys_, friend, _ = keys
    other, _ = generate_keys(tmp_path / "other", "other")
    misled = ClientKeys(friend.public, friend.secret, read_public(other))
    with (
        DeviceServer("tcp://127.0.0.1:*", server_keys_) as server,
        DeviceClient(server.endpoint, misled) as client,
    ):
        assert not client.writable(REFUSED_MS)


def test_telemetry_is_for_known_keys_only(keys):
    server_keys_, friend, stranger = keys
    with (
        Publisher("tcp://127.0.0.1:*", server_keys_) as publisher,
        Subscriber(publisher.endpoint, keys=friend) as known,
        Subscriber(publisher.endpoint, keys=stranger) as unknown,
    ):
        got = None
        for _ in range(WAIT_MS // 20):
            publisher.send(b"telemetry", b"1")
            got = known.receive(20)
            if got is not None:
                break
        assert got == (b"telemetry", b"1")
        assert unknown.receive(REFUSED_MS) is None


def test_without_an_authenticator_nobody_gets_in(keys):
    server_keys_, friend, _ = keys
    with DeviceServer("tcp://127.0.0.1:*", server_keys_) as server:
        server._authenticator.stop()
        with DeviceClient(server.endpoint, friend) as client:
            assert not client.writable(REFUSED_MS)


def test_keys_hold_for_unix_paths_too(keys, tmp_path):
    server_keys_, friend, stranger = keys
    endpoint = f"ipc://{tmp_path}/a.ipc"
    with DeviceServer(endpoint, server_keys_), DeviceClient(endpoint, friend) as known:
        assert known.writable(WAIT_MS)
        with DeviceClient(endpoint, stranger) as unknown:
            assert not unknown.writable(REFUSED_MS)


def test_the_files_are_private_and_other_programs_read_them(tmp_path):
    public, secret = generate_keys(tmp_path / "keys", "ada@bench")
    assert stat.S_IMODE(secret.stat().st_mode) == 0o600
    assert stat.S_IMODE(secret.parent.stat().st_mode) == 0o700
    assert "secret-key" not in public.read_text()
    found, nothing = zmq.auth.load_certificate(public)
    assert (found, nothing) == (read_public(public), None)
    pair = zmq.auth.load_certificate(secret)
    assert zmq.curve_public(pair[1]) == pair[0] == found


def test_files_of_other_programs_are_read(tmp_path):
    public, secret = zmq.auth.create_certificates(tmp_path, "other")
    (tmp_path / "other.key_secret").chmod(0o600)
    assert client_keys(tmp_path / "other.key_secret", tmp_path / "other.key").server == read_public(
        tmp_path / "other.key"
    )
    assert public != secret


def test_secrets_stay_out_of_texts(keys):
    for one in keys:
        assert one.secret.decode() not in repr(one)


def test_keys_are_never_overwritten(tmp_path):
    public, _ = generate_keys(tmp_path, "a")
    before = public.read_text()
    with pytest.raises(EndpointError, match="never overwritten"):
        generate_keys(tmp_path, "a")
    assert public.read_text() == before


def test_wrong_files_are_refused_with_the_remedy(tmp_path):
    public, secret = generate_keys(tmp_path, "a")
    empty = tmp_path / "empty"
    empty.mkdir()
    with pytest.raises(EndpointError, match="no client could connect"):
        server_keys(secret, empty)
    with pytest.raises(EndpointError, match=r"must hold the \*.public files"):
        server_keys(secret, tmp_path / "missing")
    with pytest.raises(EndpointError, match="no client could connect"):
        server_keys(secret, tmp_path)  # its own key is no client
    with pytest.raises(EndpointError, match=r"ends in \.secret"):
        client_keys(public, public)
    with pytest.raises(EndpointError, match="cannot be read"):
        client_keys(tmp_path / "b.secret", public)
    secret.chmod(0o644)
    with pytest.raises(EndpointError, match="chmod 600"):
        client_keys(secret, public)
    (tmp_path / "c.public").write_text('public-key = "short"\n')
    with pytest.raises(EndpointError, match="not a key file"):
        read_public(tmp_path / "c.public")
    with pytest.raises(EndpointError, match="is not a key name"):
        generate_keys(tmp_path, "../a")
