"""Friction that is asked for: Stribeck curves and friction by load are found and named."""

import json
from pathlib import Path

import numpy as np
import pytest

from linkwork.identification.friction_models import FrictionRegressor, StribeckCurve
from linkwork.identification.identification import identify, predict
from linkwork.identification.machine_update import updated_file
from linkwork.identification.measured_motion import MeasuredMotion
from linkwork.identification.regressor import Regressor
from linkwork.machine import load
from tests.command import linkwork
from tests.identification.excited import changed_truth, recorded, write_csv

PENDULUM = """
name: pendulum
gravity_m_s2: [0, 0, -9.81]
bodies:
  bar: {mass_kg: 2.0, com_m: [0.2, 0, 0], inertia_kg_m2: {xx: 0.001, yy: 0.03, zz: 0.03}}
joints:
  pivot: {type: revolute, parent: world, child: bar, axis: [0, -1, 0]}
motors:
  pivot: {max_torque_N_m: 40, max_speed_rad_s: 20}
points:
  tip: {body: bar, at_m: [0.4, 0, 0]}
task:
  x: {coordinate: tip.x}
initial: {pivot_deg: -60}
plant: {period_s: 0.002}
"""
COULOMB, VISCOUS, FORCE, SPEED, SHARE = 0.3, 0.05, 0.2, 0.15, 0.06


@pytest.fixture(scope="module")
def pendulum(tmp_path_factory: pytest.TempPathFactory):
    file = tmp_path_factory.mktemp("machine") / "pendulum.yaml"
    file.write_text(PENDULUM, encoding="utf-8")
    return load(str(file))


@pytest.fixture(scope="module")
def motions(pendulum):
    """Two recordings of a pendulum, in closed form, with both laws beside Coulomb and viscous friction."""
    sharp = float(pendulum.mechanism.model.coulomb_speed[0])
    times = np.arange(1500) / 250.0
    made = []
    for seed in (1, 2):
        rng = np.random.default_rng(seed)
        harmonics = np.arange(1, 6)
        rate = 2.0 * np.pi * 0.25 * harmonics
        size = 0.8 * rng.normal(size=5) / harmonics
        angle = times[:, None] * rate + rng.uniform(0.0, 2.0 * np.pi, size=5)
        q = np.sin(angle) @ size - np.pi / 3.0
        v, vdot = np.cos(angle) @ (size * rate), -np.sin(angle) @ (size * rate**2)
        load = 2.0 * 9.81 * 0.2 * np.cos(q) + (0.03 + 2.0 * 0.2**2) * vdot
        friction = COULOMB + FORCE * np.exp(-((v / SPEED) ** 2)) + SHARE * np.abs(load)
        effort = load + VISCOUS * v + friction * np.tanh(v / sharp)
        effort += 0.02 * effort.std() * rng.normal(size=len(effort))
        made.append(MeasuredMotion("run", "", times, {"pivot": q}, {"pivot": effort}))
    return made


def test_both_laws_are_found_and_predict_an_unseen_motion(pendulum, motions):
    run, unseen = motions
    without = identify(pendulum, [run])
    assert "Stribeck" in without.model_error
    assert "--friction stribeck" in without.hint
    assert "--friction load" in without.hint
    found = identify(pendulum, [run], friction=("stribeck", "load"))
    assert found.model_error == ""
    named = {each.base.first.name: each for each in found.found}
    for name, true in {
        "pivot.stribeck": FORCE, "pivot.stribeck_speed": SPEED, "pivot.load_friction": SHARE,
        "pivot.coulomb": COULOMB,
    }.items():  # fmt: skip
        assert named[name].value == pytest.approx(true, abs=4.0 * named[name].deviation), name
        assert named[name].deviation < 0.2 * true, name
    after = predict(pendulum, unseen, found.values, regressor=found.model.regressor).fits[0].unexplained
    before = predict(pendulum, unseen, without.values).fits[0].unexplained
    assert after < 0.02
    assert before > 2.0 * after
    text = updated_file(found)
    assert "pivot: stribeck × exp(−(v/v_s)²) sign v" in text
    assert "feed-forward leave it out" in text


def test_columns_of_friction_are_derivatives_of_its_effort():
    machine, rng = load("five_bar"), np.random.default_rng(0)
    own = Regressor(machine.mechanism)
    bearing = own.values.copy()
    q, v, vdot = machine.initial_q, rng.normal(size=4), rng.normal(size=4)
    gradient = np.vstack([np.eye(2), rng.normal(size=(2, 2))])

    def effort(speed: float, force: float, share: float) -> np.ndarray:
        curve = StribeckCurve("left", 0.8, 1, 0.5)
        with_friction = FrictionRegressor(machine, [curve, StribeckCurve("right", 0.8, 2)], bearing)
        values = np.concatenate([own.values, [force, speed, 0.1, share, share]])
        rows = with_friction.projected(q, v, vdot, gradient)
        return rows @ values + gradient.T @ with_friction.known(q, v)

    base = gradient.T @ own.rows(q, v, vdot) @ own.values + gradient.T @ own.known(q, v)
    sign = np.tanh(v[:2] / machine.mechanism.model.coulomb_speed[:2])
    loads = np.abs(base)
    curves = sign * np.exp([-abs(v[0]) / 0.8, -((v[1] / 0.8) ** 2)])
    assert effort(0.8, 0.5, 0.0) == pytest.approx(base + curves * [0.5, 0.1])
    assert effort(0.8, 0.7, 0.2) == pytest.approx(base + curves * [0.7, 0.1] + 0.2 * sign * loads)
    step = 1e-6
    slope = (np.exp(-abs(v[0]) / (0.8 + step)) - np.exp(-abs(v[0]) / (0.8 - step))) / (2.0 * step)
    moved = effort(1.8, 0.5, 0.0) - effort(0.8, 0.5, 0.0)
    assert moved == pytest.approx([0.5 * sign[0] * slope, 0.0], abs=1e-8)


def test_friction_by_load_needs_a_motor_for_each_degree_of_freedom_and_no_payload(tmp_path: Path):
    run = tmp_path / "run.csv"
    run.write_text("time_s,q/left_rad,effort/left_N_m\n0,0,0\n", encoding="utf-8")
    ran = linkwork("identify", "five_bar", str(run), str(run), "--payload", "tool", "--friction", "load")
    assert ran.returncode == 2
    assert "--friction" in ran.stderr
    assert linkwork("identify", "five_bar", str(run), "--friction", "other").returncode == 2


@pytest.mark.slow
def test_stribeck_friction_on_request_is_no_model_error(tmp_path: Path):
    five_bar = load("five_bar")
    truth = changed_truth(five_bar, np.random.default_rng(0))

    def stribeck(q, v):
        force = np.zeros(truth.nv)
        force[:2] = 0.08 * np.tanh(v[:2] / 1e-3) * np.exp(-((v[:2] / 0.1) ** 2))
        return force

    short = {"seconds": 6.0, "rate_hz": 250.0, "base_hz": 0.3, "size": 0.5, "added": stribeck}
    for name, seed in (("run", 1), ("unseen", 2)):
        write_csv(tmp_path / f"{name}.csv", recorded(five_bar, truth, seed=seed, **short))
    out, page = tmp_path / "five_bar.identified.yaml", tmp_path / "report.html"
    ran = linkwork(
        "identify", "five_bar", str(tmp_path / "run.csv"), "--friction", "stribeck", "--out", str(out),
        "--validate", str(tmp_path / "unseen.csv"), "--html", str(page), "--json",
    )  # fmt: skip
    assert ran.returncode == 0, ran.stderr
    content = json.loads(ran.stdout)
    values = {each["parameter"]: each for each in content["parameters"]}
    for joint in ("left", "right"):
        for name, true in ((f"{joint}.stribeck", 0.08), (f"{joint}.stribeck_speed", 0.1)):
            assert values[name]["value"] == pytest.approx(true, abs=4.0 * values[name]["sigma"])
            assert values[name]["file"] is None
    assert max(each["unexplained"] for each in content["validation"]["fits"]) < 0.03
    assert "left: stribeck × exp(" in page.read_text("utf-8")
    assert "left.stribeck_speed = " in out.read_text("utf-8")
    assert load(str(out)).name == "five_bar"
