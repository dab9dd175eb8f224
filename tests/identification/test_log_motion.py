"""Recordings of linkwork as a source: the time at which efforts act, and what is refused."""

from pathlib import Path

import numpy as np
import pytest

from linkwork.controller.exchange.orders import Disable
from linkwork.identification.identification import identify, predict
from linkwork.identification.log_motion import read_motion
from linkwork.identification.measured_motion import RefusedData
from linkwork.machine import load
from tests.command import linkwork
from tests.recordings.recorded import InProcessRecorder

SCARA = load("scara")


@pytest.fixture(scope="module")
def swung(tmp_path_factory: pytest.TempPathFactory) -> Path:
    run = InProcessRecorder(SCARA, tmp_path_factory.mktemp("log"))
    run.enable()
    run.run(0.3)
    run.send(*run.swing(seconds=1.0))
    run.run(1.2)
    run.order(Disable())
    run.run(0.1)
    return run.close()


def test_efforts_act_when_the_page_says(swung: Path) -> None:
    motion = read_motion(swung, SCARA)
    assert len(motion.digest) == 64
    found = predict(SCARA, motion)
    assert max(each.unexplained for each in found.fits[:2]) < 0.02
    assert np.abs([found.delays[name] for name in ("shoulder", "elbow")]).max() < 1e-4


@pytest.mark.slow
def test_rest_before_and_after_the_motion_is_neither_a_load_nor_play(tmp_path: Path) -> None:
    """At rest the efforts are the noise of the encoders, which the law feeds back."""
    five_bar = load("five_bar")
    run = InProcessRecorder(five_bar, tmp_path)
    run.enable()
    run.run(3.0)
    fine = np.linspace(0.0, 6.0, 60001)[:, None]
    slow, fast = 2.0 * np.pi * np.array([0.5, 0.33]), 2.0 * np.pi * np.array([1.5, 1.2])
    window = (4.0 * fine / 6.0 * (1.0 - fine / 6.0)) ** 3
    q = run.simulator.q[:2] + window * (0.35 * np.sin(slow * fine + [0.0, 1.0]) + 0.1 * np.sin(fast * fine))
    v = np.gradient(q, fine[:, 0], axis=0)
    values = np.stack([q, v, np.gradient(v, fine[:, 0], axis=0)], axis=1)[::100]
    run.send(np.array([0, 1]), fine[::100, 0], values, path=0.05, goal=0.05)
    run.run(6.0 + 3.0)
    found = identify(five_bar, [read_motion(run.close(), five_bar)])
    assert not found.model_error
    errors = [(each.value - each.base.value) / each.deviation for each in found.found]
    assert np.abs(errors).max() < 3.0


def test_a_motor_that_never_moved_is_refused(swung: Path) -> None:
    with pytest.raises(RefusedData) as refused:
        identify(SCARA, [read_motion(swung, SCARA)])
    assert refused.value.reason in ("never moved", "constant sensor")


def test_a_recording_of_another_machine_is_refused(swung: Path) -> None:
    ran = linkwork("identify", "five_bar", str(swung))
    assert ran.returncode == 3
    assert "is a recording of scara, not of five_bar" in ran.stderr.replace("\n", " ")


def test_faults_inside_are_refused(tmp_path: Path) -> None:
    run = InProcessRecorder(SCARA, tmp_path)
    run.enable()
    run.run(0.3)
    run.inputs.fresh, run.inputs.lost_in_a_row = False, 1000
    run.tick()
    with pytest.raises(RefusedData, match="a fault inside, "):
        read_motion(run.close(), SCARA)
