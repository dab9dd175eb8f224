"""How the daemon begins and ends: command line, locks, signals, lifeline; nothing is left behind."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest

from linkwork.client.injector import InjectionRefused, Injector
from linkwork.protocol.codes import Mode, Pace, RefuseCode, Role
from linkwork.protocol.endpoints import running
from linkwork.protocol.handshake import Bye, Refuse
from linkwork.protocol.injection import InjectRefusal
from linkwork.protocol.keys import allow, client_keys, revoke
from linkwork.protocol.sockets import generate_keys
from linkwork.recordings.recording import read_truth
from tests.plant.conftest import PATIENCE_S
from tests.waiting import wait_for


@pytest.mark.parametrize("number", [signal.SIGTERM, pytest.param(signal.SIGINT, marks=pytest.mark.slow)])
@pytest.mark.parametrize("pace", [Pace.DEVICE, Pace.LOCKSTEP])
def test_a_signal_ends_it_with_a_bye(
    number: int, pace: Pace, scara, start_plant, controller, runtime: Path
) -> None:
    plant = start_plant(scara())
    me = controller(plant)
    state = me.connect(pace)
    me.command(state.seq, Mode.EFFORT, [10.0])
    me.state()
    assert plant.end(number) == 0
    said = me.answer()
    assert isinstance(said, Bye)
    assert said.session == me.session
    assert plant.wait_for("end")
    assert not (runtime / "scara" / "plant.ipc").exists()


def test_it_names_closures_whose_loads_are_not_determined(start_plant, tmp_path: Path) -> None:
    """A rod of just the distance between two parallel slides."""
    inertia = "{xx: 0.01, yy: 0.01, zz: 0.01}"
    bodies = ", ".join(f"{name}: {{mass_kg: 1, inertia_kg_m2: {inertia}}}" for name in "ab")
    slides = ", ".join(
        f"{name}: {{type: prismatic, parent: world, child: {name}, at_m: [{at}, 0, 0], axis: [0, 0, 1]}}"
        for name, at in (("a", 0), ("b", 1))
    )
    path = tmp_path / "rods.yaml"
    path.write_text(
        f"name: rods\nbodies: {{{bodies}}}\njoints: {{{slides}}}\n"
        "constraints: {rod: {type: distance, a: {body: a}, b: {body: b}, distance_m: 1}}\n"
    )
    plant = start_plant(path)
    (warning,) = [one["text"] for one in plant.events if one["event"] == "warning" and "rod" in one["text"]]
    assert "constraints.rod: this constraint holds to second order only" in warning


@pytest.mark.slow
def test_while_it_waits_a_signal_ends_it_too(scara, start_plant, monkeypatch, runtime: Path) -> None:
    monkeypatch.setenv("LINKWORK_RUNTIME_DIR", str(runtime))
    plant = start_plant(scara())
    assert [one.pid for one in running("plant")] == [plant.process.pid]
    assert plant.end(signal.SIGINT) == 0
    assert running("plant") == []


def test_it_ends_when_its_parent_lets_go(scara, start_plant) -> None:
    plant = start_plant(scara(), "--lifeline", stdin=subprocess.PIPE)
    plant.process.send_signal(signal.SIGINT)
    with pytest.raises(subprocess.TimeoutExpired):
        plant.process.wait(0.3)
    plant.process.stdin.close()
    assert plant.process.wait(60) == 0


@pytest.mark.slow
def test_killed_it_leaves_a_seat_that_the_next_one_takes(scara, start_plant, controller) -> None:
    config = scara()
    killed = start_plant(config)
    os.kill(killed.process.pid, signal.SIGKILL)
    killed.process.wait(60)
    me = controller(start_plant(config))
    assert me.connect(Pace.LOCKSTEP).seq == 0


def test_a_second_plant_of_the_same_machine_is_refused_by_name(scara, start_plant) -> None:
    config = scara()
    first = start_plant(config)
    second = start_plant(config, ready=False)
    assert second.process.wait(60) == 3
    error = second.process.stderr.read().decode()
    assert str(first.process.pid) in error
    assert "Traceback" not in error


def test_an_endpoint_of_ones_own(scara, start_plant, controller, runtime: Path) -> None:
    config = scara()
    start_plant(config)
    elsewhere = f"ipc://{runtime}/elsewhere.ipc"
    plant = start_plant(config, "--endpoint", elsewhere)
    plant.endpoint = elsewhere
    assert controller(plant).connect(Pace.LOCKSTEP).seq == 0


def test_with_keys_only_the_controllers_that_are_allowed_get_in(
    scara, start_plant, controller, tmp_path: Path
) -> None:
    files = {}
    for name in ("plant", "ann", "bob"):
        generate_keys(tmp_path / name, name)
        files[name] = tmp_path / name
    secret = files["plant"] / "plant.secret"
    arguments = ("--endpoint", "tcp://127.0.0.1:*", "--keys", str(secret), "--allowed", str(files["ann"]))
    plant = start_plant(scara(), *arguments)
    plant.endpoint = plant.wait_for("ready")["endpoint"]
    public = files["plant"] / "plant.public"
    bob = controller(plant, keys=client_keys(files["bob"] / "bob.secret", public))
    assert not bob.client.writable(500)
    ann = controller(plant, keys=client_keys(files["ann"] / "ann.secret", public))
    assert ann.connect(Pace.LOCKSTEP).seq == 0
    assert ann.exchange(0).seq == 1


def test_the_role_of_a_key_decides_who_owns_the_plant_and_who_injects(
    scara, start_plant, controller, tmp_path: Path
) -> None:
    allowed = tmp_path / "allowed"
    public, secret = generate_keys(tmp_path / "plant", "plant")
    keys = {}
    for role in Role:
        theirs, own = generate_keys(tmp_path / role.word, role.word)
        allow(allowed, theirs, role)
        keys[role] = client_keys(own, public)
    arguments = ("--endpoint", "tcp://127.0.0.1:*", "--keys", str(secret), "--allowed", str(allowed))
    plant = start_plant(scara(), *arguments, "--inject")
    plant.endpoint = plant.wait_for("ready")["endpoint"]
    bias = {"sensor": "bias", "of": "lift", "by_m": 0.001}
    for role in Role:
        with Injector(plant.endpoint, keys[role], PATIENCE_S) as injector:
            assert injector.history().faults == []
            if role is not Role.SERVICE:
                with pytest.raises(InjectionRefused) as refused:
                    injector.inject(bias)
                assert refused.value.code == InjectRefusal.NOT_PERMITTED
    spectator = controller(plant, keys=keys[Role.OBSERVE])
    spectator.hello(Pace.LOCKSTEP)
    answer = spectator.answer()
    assert isinstance(answer, Refuse)
    assert answer.code == RefuseCode.NOT_PERMITTED
    operator = controller(plant, keys=keys[Role.OPERATE])
    assert operator.connect(Pace.LOCKSTEP).seq == 0
    revoke(allowed, "operate")  # the session stays; another hello is refused
    assert operator.exchange(0).seq == 1
    operator.session += 1
    operator.hello(Pace.LOCKSTEP)
    answer = operator.answer()
    assert isinstance(answer, Refuse)
    assert answer.code == RefuseCode.NOT_PERMITTED
    with Injector(plant.endpoint, keys[Role.SERVICE], PATIENCE_S) as injector:
        assert len(injector.inject(bias).names) == 1


def run(*arguments: str, runtime: Path) -> subprocess.CompletedProcess[str]:
    return subprocess.run(
        [sys.executable, "-m", "linkwork.plant", *arguments],
        capture_output=True,
        text=True,
        timeout=100,
        env={**os.environ, "LINKWORK_RUNTIME_DIR": str(runtime)},
        check=False,
    )


@pytest.mark.parametrize(
    ("arguments", "status", "words"),
    [
        (["no_such_machine"], 2, ["no_such_machine"]),
        (["scara", "--pace", "sideways"], 2, ["sideways", "lockstep"]),
        (["scara", "--plant-set", "elbow_link.mass=3"], 2, ["mass"]),
        (["scara", "--keys", "me.secret"], 2, ["--allowed"]),
        (["scara", "--endpoint", "tcp://0.0.0.0:5999"], 3, ["keys"]),
        (["scara", "--endpoint", "nowhere"], 3, ["nowhere"]),
    ],
)
def test_mistakes_are_answered_with_words(
    arguments: list[str], status: int, words: list[str], runtime: Path
) -> None:
    ended = run(*arguments, runtime=runtime)
    assert ended.returncode == status, ended.stderr
    assert "Traceback" not in ended.stderr
    for word in words:
        assert word in ended.stderr


def test_a_wrong_file_is_answered_with_the_line(tmp_path: Path, runtime: Path) -> None:
    path = tmp_path / "bad.yaml"
    path.write_text("name: bad\nbodies: {a: {mass_kg: -1}}\n")
    ended = run(str(path), runtime=runtime)
    assert ended.returncode == 2
    assert "bad.yaml" in ended.stderr
    assert "Traceback" not in ended.stderr


_BODY = "{mass_kg: 1, com_m: [0, 0, -0.2], inertia_kg_m2: {xx: 0.01, yy: 0.01, zz: 0.01}}"
_PENDULUM = (
    f"name: alone\nbodies: {{upper: {_BODY}, lower: {_BODY}}}\njoints:\n"
    "  first: {type: revolute, parent: world, child: upper, axis: [0, 1, 0]}\n"
    "  second: {type: revolute, parent: upper, child: lower, at_m: [0, 0, -0.4], axis: [0, 1, 0]}\n"
    "motors: {first: {max_torque_N_m: 10, max_speed_rad_s: 5, brake_torque_N_m: 50}}\n"
)


@pytest.mark.parametrize(
    "rest",
    [
        "initial: {second_deg: 60}\n",
        "constraints: {guide: {type: expression, equation: second = 0.3*sin(2*t)}}\n",
        "constraints: {led: {type: velocity, factors: {second: 1}, equals: sin(2*t)}}\n",
    ],
    ids=["passive joint", "guide over time", "velocity"],
)
def test_a_machine_that_the_controller_refuses_moves_alone(tmp_path: Path, start_plant, rest: str) -> None:
    """Time runs from tick 0, and the second joint moves while a brake holds the first."""
    file, truth = tmp_path / "alone.yaml", tmp_path / "truth.bin"
    file.write_text(_PENDULUM + rest)
    plant = start_plant(file, "--truth", str(truth))
    wait_for(lambda: truth.exists() and truth.stat().st_size > 40_000, "ticks of the plant alone")
    assert plant.end() == 0
    found = read_truth(truth)
    assert found.tick[0] == 0
    assert np.abs(found.q[:, 0]).max() < 1e-9
    assert np.ptp(found.q[:, 1]) > 1e-3
