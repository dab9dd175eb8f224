"""Roles of keys: the folder of allowed clients, and what a socket says of the sender of a message."""

from pathlib import Path

import pytest

from linkwork.protocol.codes import Role
from linkwork.protocol.errors import EndpointError
from linkwork.protocol.keys import (
    AllowedKeys,
    allow,
    allowed_clients,
    client_keys,
    read_public,
    revoke,
    server_keys,
)
from linkwork.protocol.sockets import RequestDealer, RequestServer, generate_keys

WAIT_MS = 20_000
OWN = b"own"


@pytest.fixture
def ann(tmp_path: Path) -> Path:
    return generate_keys(tmp_path / "ann", "ann")[0]


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    return tmp_path / "allowed"


def test_a_role_is_that_of_the_file_at_this_moment(ann: Path, folder: Path) -> None:
    key, known = read_public(ann), AllowedKeys(folder, OWN)
    assert known.role_of(key) is None
    for role in (*Role, Role.OBSERVE):
        allow(folder, ann, role)
        assert known.role_of(key) is role
        assert [(one.name, one.role, one.stated) for one in allowed_clients(folder)] == [("ann", role, True)]
    revoke(folder, "ann")
    assert known.role_of(key) is None


def test_a_file_without_a_role_may_operate_and_the_daemon_says_so(
    ann: Path, folder: Path, tmp_path: Path
) -> None:
    _, secret = generate_keys(tmp_path / "own", "daemon")
    folder.mkdir()
    (folder / "ann.public").write_bytes(ann.read_bytes())
    keys = server_keys(secret, folder)
    assert keys.allowed.role_of(read_public(ann)) is Role.OPERATE
    assert "no role is stated for ann" in keys.notice
    assert "--role" in keys.notice
    allow(folder, ann, Role.SERVICE)
    assert server_keys(secret, folder).notice == ""


def test_the_role_in_a_file_that_a_client_hands_over_counts_for_nothing(ann: Path, folder: Path) -> None:
    ann.write_text(ann.read_text().replace("metadata\n", 'metadata\n    role = "service"\n'))
    allow(folder, ann, Role.OBSERVE)
    assert AllowedKeys(folder, OWN).role_of(read_public(ann)) is Role.OBSERVE


def test_a_key_in_two_files_has_the_lesser_role_and_is_revoked_in_both(ann: Path, folder: Path) -> None:
    path = allow(folder, ann, Role.SERVICE)
    (folder / "copy.public").write_text(path.read_text().replace("service", "observe"))
    assert AllowedKeys(folder, OWN).role_of(read_public(ann)) is Role.OBSERVE
    assert {one.name for one in revoke(folder, "ann")} == {"ann.public", "copy.public"}
    assert AllowedKeys(folder, OWN).role_of(read_public(ann)) is None


def test_a_damaged_file_allows_no_client(ann: Path, folder: Path, tmp_path: Path) -> None:
    path = allow(folder, ann, Role.SERVICE)
    known = AllowedKeys(folder, OWN)
    assert known.role_of(read_public(ann)) is Role.SERVICE
    path.write_text(path.read_text().replace('"service"', '"root"'))
    assert known.role_of(read_public(ann)) is None
    with pytest.raises(EndpointError, match="observe, operate, service"):
        allowed_clients(folder)
    bob, _ = generate_keys(tmp_path / "bob", "bob")
    path.write_bytes(b"\xff\x00")
    (folder / "bob.public").write_bytes(bob.read_bytes())
    assert known.role_of(read_public(bob)) is Role.OPERATE
    revoke(folder, "ann")
    assert [one.name for one in allowed_clients(folder)] == ["bob"]


def test_mistakes_are_refused_with_the_remedy(ann: Path, folder: Path, tmp_path: Path) -> None:
    _, secret = generate_keys(tmp_path / "own", "daemon")
    allow(folder, ann, Role.OPERATE)
    with pytest.raises(EndpointError, match="it allows ann"):
        revoke(folder, "bob")
    with pytest.raises(EndpointError, match=r"does not end in \.public"):
        allow(folder, ann.with_suffix(".secret"), Role.OPERATE)
    other, _ = generate_keys(tmp_path / "other", "ann")
    with pytest.raises(EndpointError, match="another key; run: linkwork keys revoke ann"):
        allow(folder, other, Role.OPERATE)
    renamed = tmp_path / "anna.public"
    renamed.write_bytes(ann.read_bytes())
    with pytest.raises(EndpointError, match="this key as ann; run: linkwork keys revoke ann"):
        allow(folder, renamed, Role.OPERATE)
    folder.chmod(0o777)
    with pytest.raises(EndpointError, match="chmod o-w"):
        server_keys(secret, folder)


def test_a_socket_names_the_key_behind_each_message(ann: Path, folder: Path, tmp_path: Path) -> None:
    daemon, secret = generate_keys(tmp_path / "own", "daemon")
    bob, _ = generate_keys(tmp_path / "bob", "bob")
    allow(folder, ann, Role.OBSERVE)
    allow(folder, bob, Role.SERVICE)
    roles = {b"ann": Role.OBSERVE, b"bob": Role.SERVICE}
    with RequestServer("tcp://127.0.0.1:*", server_keys(secret, folder)) as server:
        clients = {
            name: RequestDealer(
                server.endpoint, client_keys(tmp_path / name.decode() / f"{name.decode()}.secret", daemon)
            )
            for name in roles
        }
        try:
            for name in (b"ann", b"bob", b"bob", b"ann"):
                assert clients[name].writable(WAIT_MS)
                clients[name].send(name)
                received = server.receive(WAIT_MS)
                assert received is not None
                assert (received[1], server.role) == (name, roles[name])
            revoke(folder, "bob")
            clients[b"bob"].send(b"again")
            assert server.receive(WAIT_MS) is not None
            assert server.role is None
        finally:
            for client in clients.values():
                client.close()


def test_without_keys_the_socket_is_open_to_every_role(tmp_path: Path) -> None:
    with RequestServer(f"ipc://{tmp_path}/a.ipc") as server:
        assert server.role is Role.SERVICE
