"""Bounds of gains, payloads and the workspace in a machine file."""

import math

import pytest

from linkwork import machine
from linkwork.machine import shipped_path

GAINS = "gain_bounds: {bandwidth_rad_s: [5, 60], damping_ratio: [0.5, 2]}"


@pytest.fixture
def write(tmp_path):
    def writes(*changes):
        text = shipped_path("scara").read_text()
        for old, new in changes:
            assert old in text
            text = text.replace(old, new)
        path = tmp_path / "scara.yaml"
        path.write_text(text)
        return path

    return writes


def test_bounds_are_read(write):
    box = "workspace:\n  tool: {z_m: [-0.1, 0.15], speed_m_s: 0.5}\n\nmotors:"
    found = machine.load(write(("motors:", box)))
    (region,) = found.regions
    assert (region.name, region.low, region.high) == (
        "tool", (-math.inf, -math.inf, -0.1), (math.inf, math.inf, 0.15)
    )  # fmt: skip
    assert region.speed == 0.5
    assert found.controller.bounds_of("bandwidth_rad_s") == (5, 60)
    assert found.payloads[0].max_mass_kg == 2
    bare = machine.load("four_bar").controller
    assert bare.bounds_of("damping_ratio") == (bare.damping_ratio, bare.damping_ratio)
    assert machine.load("four_bar").regions == ()


@pytest.mark.parametrize(
    ("old", "new", "key", "text"),
    [
        ("motors:", "workspace: {tol: {x_m: [0, 1]}}\nmotors:", "workspace.tol", "tool"),
        ("motors:", "workspace: {tool: {x_m: [1, 0]}}\nmotors:", "workspace.tool.x_m", "lower"),
        ("motors:", "workspace: {tool: {speed_m_s: 0}}\nmotors:", "workspace.tool.speed_m_s", "0"),
        (
            GAINS,
            "gain_bounds: {bandwidth_rad_s: [30, 60]}",
            "controller.gain_bounds.bandwidth_rad_s",
            "its bounds",
        ),
        (GAINS, "gain_bounds: {damping_ratio: [0, 2]}", "controller.gain_bounds.damping_ratio", "above 0"),
        ("{tool: {max_mass_kg: 2", "{hand: {max_mass_kg: 2", "controller.payloads.hand", "point"),
    ],
)
def test_what_does_not_fit_is_told(write, old, new, key, text):
    (problem,) = machine.check(write((old, new)))
    assert problem.key.startswith(key)
    assert text in str(problem)
    assert problem.line


@pytest.mark.parametrize(
    ("gains", "key", "text"),
    [
        ("{shoulder: {bandwidth_rad_s: 80}}", "controller.gain_bounds.bandwidth_rad_s", "its bounds"),
        ("{x: {damping_ratio: 0.2}}", "controller.gain_bounds.damping_ratio", "its bounds"),
        ("{sholder: {bandwidth_rad_s: 30}}", "controller.gains.sholder", "shoulder"),
        ("{x: {position_per_s2: {x: 400, yy: 1}}}", "controller.gains.x.position_per_s2.yy", "coordinate"),
        ("{x: {bandwidth_rad_s: 9, rate_per_s: {x: 9}}}", "controller.gains.x", "one way"),
        ("{x: {position_per_s2: {y: 9}}, y: {position_per_s2: {x: 8}}}", "controller.gains.x", "symmetric"),
        ("{x: {position_per_s2: {x: 400, y: 400}}}", "controller.gains", "positive definite"),
        ("{x: {rate_per_s: {y: -41}}}", "controller.gains", "rate_per_s"),
    ],
)
def test_gains_that_do_not_fit_are_told(write, gains, key, text):
    problem, *_ = machine.check(write((GAINS, f"{GAINS}\n  gains: {gains}")))
    assert problem.key.startswith(key)
    assert text in str(problem)
    assert problem.line


def test_gains_that_the_period_cannot_hold_are_warned_of(write):
    gains = "{x: {position_per_s2: {x: 4.0e6}, rate_per_s: {x: 4.0e3}}}"
    problem, *_ = machine.check(write((GAINS, f"gains: {gains}")))
    assert (problem.severity, problem.key) == ("warning", "controller.gains")
