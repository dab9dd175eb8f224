"""The runtime folder and its locks, with real processes on the other side."""

import os
import subprocess
import sys
from pathlib import Path

import pytest

from linkwork.protocol import endpoints
from linkwork.protocol.endpoints import MachineEndpoints, check_path, claim, running, runtime_dir
from linkwork.protocol.errors import EndpointError, Taken
from linkwork.protocol.sockets import DeviceServer, Publisher, RequestDealer, RequestServer, Subscriber

HOLD = """
import sys
from pathlib import Path
from linkwork.protocol.endpoints import claim
held = claim(Path(sys.argv[1]), "plant", "simulating scara")
print("held", flush=True)
sys.stdin.read()
"""


@pytest.fixture
def folder(tmp_path, monkeypatch):
    monkeypatch.setenv("LINKWORK_RUNTIME_DIR", str(tmp_path / "run"))
    return runtime_dir()


@pytest.fixture
def holder(folder):
    seat = MachineEndpoints.named("arm")
    process = subprocess.Popen(
        [sys.executable, "-c", HOLD, str(seat.folder)],
        stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True, cwd=Path(endpoints.__file__).parents[1],
    )  # fmt: skip
    assert process.stdout.readline() == "held\n"
    yield process
    process.kill()
    process.communicate()


def test_the_runtime_folder_is_private(folder):
    assert folder.stat().st_mode & 0o777 == 0o700
    folder.chmod(0o755)
    assert runtime_dir().stat().st_mode & 0o777 == 0o755


@pytest.mark.parametrize("mode", [0o1777, 0o770, 0o702])
def test_a_folder_that_others_may_write_to_is_refused_and_left_as_it_is(folder, mode):
    folder.chmod(mode)
    with pytest.raises(EndpointError, match=rf"others may write to .*mode {mode:o}"):
        runtime_dir()
    assert folder.stat().st_mode & 0o7777 == mode


def test_the_order_of_runtime_folders(tmp_path, monkeypatch):
    monkeypatch.delenv("LINKWORK_RUNTIME_DIR", raising=False)
    monkeypatch.setenv("XDG_RUNTIME_DIR", str(tmp_path))
    assert runtime_dir() == tmp_path / "linkwork"
    monkeypatch.setenv("XDG_RUNTIME_DIR", str(tmp_path / "missing"))
    assert runtime_dir().name == f"linkwork-{os.getuid()}"


@pytest.mark.skipif(os.getuid() != 0, reason="only root can give a folder away")
def test_a_folder_of_somebody_else_is_refused(folder):
    os.chown(folder, 12345, -1)
    with pytest.raises(EndpointError, match="belongs to user 12345"):
        runtime_dir()


def test_a_link_or_file_in_the_folder_s_place_is_refused(tmp_path, monkeypatch):
    (tmp_path / "elsewhere").mkdir()
    (tmp_path / "link").symlink_to(tmp_path / "elsewhere")
    monkeypatch.setenv("LINKWORK_RUNTIME_DIR", str(tmp_path / "link"))
    with pytest.raises(EndpointError, match="LINKWORK_RUNTIME_DIR"):
        runtime_dir()
    (tmp_path / "file").write_text("")
    monkeypatch.setenv("LINKWORK_RUNTIME_DIR", str(tmp_path / "file"))
    with pytest.raises(EndpointError, match="LINKWORK_RUNTIME_DIR"):
        runtime_dir()


def test_a_seat_names_its_sockets(folder):
    seat = MachineEndpoints.named("arm")
    assert seat.folder == folder / "arm"
    assert seat.plant == f"ipc://{folder}/arm/plant.ipc"
    assert len({seat.plant, seat.requests, seat.telemetry, str(seat.orders_path), str(seat.shared_path)}) == 5


@pytest.mark.parametrize("name", ["", "..", ".hidden", "a/b", "a b", "x" * 65, "ä"])
def test_a_seat_s_name_is_a_plain_word(folder, name):
    with pytest.raises(EndpointError, match="is not a machine name"):
        MachineEndpoints.named(name)


def test_a_path_too_long_for_a_socket_is_refused_with_the_remedy(tmp_path, monkeypatch):
    assert check_path(Path("/" + "x" * 106))
    with pytest.raises(EndpointError, match=r"107.*LINKWORK_RUNTIME_DIR"):
        check_path(Path("/" + "x" * 107))
    monkeypatch.setenv("LINKWORK_RUNTIME_DIR", str(tmp_path / ("d" * 90)))
    with pytest.raises(EndpointError, match="107"):
        MachineEndpoints.named("arm")


def test_a_role_is_held_by_one_process_and_the_other_is_named(holder, folder):
    with pytest.raises(Taken, match="simulating scara") as caught:
        claim(MachineEndpoints.named("arm").folder, "plant")
    assert caught.value.pid == holder.pid
    assert "held = claim" in caught.value.command or "python" in caught.value.command
    assert str(holder.pid) in str(caught.value)
    with (
        claim(MachineEndpoints.named("arm").folder, "gateway"),
        claim(MachineEndpoints.named("leg").folder, "plant"),
    ):
        assert [found.name for found in running("plant")] == ["arm", "leg"]
    assert [(found.name, found.pid, found.text) for found in running("plant")] == [
        ("arm", holder.pid, "simulating scara")
    ]


def test_a_dead_holder_s_lock_is_free_again(holder, folder):
    holder.kill()
    holder.wait()
    assert running("plant") == []
    with claim(MachineEndpoints.named("arm").folder, "plant", "me") as mine:
        assert [found.pid for found in running("plant")] == [os.getpid()]
        mine.describe("something shorter")
        assert running("plant")[0].text == "something shorter"
    assert running("plant") == []


def test_a_lock_can_be_released_twice_and_taken_again(folder):
    seat = MachineEndpoints.named("arm")
    held = claim(seat.folder, "plant")
    with pytest.raises(Taken):
        claim(seat.folder, "plant")
    held.release()
    held.release()
    claim(seat.folder, "plant").release()


def test_a_child_process_does_not_inherit_a_lock(folder):
    seat = MachineEndpoints.named("arm")
    held = claim(seat.folder, "plant")
    child = subprocess.Popen(["sleep", "30"], close_fds=False)
    try:
        held.release()
        claim(seat.folder, "plant").release()
    finally:
        child.kill()
        child.wait()


@pytest.mark.parametrize(
    "endpoint",
    [
        "ipc://", "ipc:///", "ipc://@", "tcp://127.0.0.1:99999", "tcp://127.0.0.1:65536", "tcp://127.0.0.1",
        "tcp://127.0.0.1:-1", "tcp://:1", "udp://127.0.0.1:1", "127.0.0.1:5", "", "ipc://" + "a" * 200,
        "ipc://@" + "a" * 200, "ipc://a\0b", "tcp://127.0.0.1:0x50",
    ],
)  # fmt: skip
def test_what_is_no_endpoint_is_neither_bound_nor_connected(endpoint):
    for opened in (RequestServer, RequestDealer, Publisher, Subscriber, DeviceServer):
        with pytest.raises(EndpointError):
            opened(endpoint).close()


def test_a_runtime_folder_that_cannot_be_written_is_named(folder):
    (folder / "arm").write_text("a file in the place of a folder")
    with pytest.raises(EndpointError, match="LINKWORK_RUNTIME_DIR"):
        MachineEndpoints.named("arm")
