"""One list of conditions: `check`, `model` and the controller agree on which machines can be controlled."""

import json
import math
import re
from collections.abc import Callable, Iterator
from pathlib import Path

import numpy as np
import pytest

from linkwork.controller.configuration import configured
from linkwork.machine import MachineError, check, load, shipped, shipped_path
from linkwork.machine.checks.assembly_modes import fitting_poses
from linkwork.machine.checks.controllability import LEAST_LEVERAGE, WEAK_LEVERAGE, leverage
from linkwork.machine.problems import REFUSES
from tests.command import linkwork

INERTIA = "inertia_kg_m2: {xx: 0.01, yy: 0.01, zz: 0.01}"
CART = f"""name: cart
bodies: {{base: {{mass_kg: 1, {INERTIA}}}, arm: {{mass_kg: 1, com_m: [0.2, 0, 0], {INERTIA}}}}}
joints:
  slide: {{type: prismatic, parent: world, child: base, axis: [1, 0, 0]}}
  lift: {{type: prismatic, parent: base, child: arm, axis: [0, 0, 1]}}
motors:
  slide: {{max_force_N: 50, max_speed_m_s: 1, brake_force_N: 50}}
  lift: {{max_force_N: 50, max_speed_m_s: 1, brake_force_N: 50}}
sensors: {{slide: {{velocity: true}}, lift: {{velocity: true}}}}
"""


def leg(apart_deg: float, elbow_deg: float | None = None) -> str:
    """A five-bar with both motors on one axis: at equal angles its tip may turn about the elbows.

    The tip is straight below the axis, unless an angle of both elbows is given.
    """
    half = math.radians(0.5 * apart_deg)
    straight = math.degrees(half + math.asin(0.5 * math.sin(half)))
    elbows = (straight, -straight) if elbow_deg is None else (elbow_deg, elbow_deg)

    def body(name: str, com: float, inertia: float) -> str:
        tensor = f"{{xx: 1.0e-6, yy: {inertia}, zz: {inertia}}}"
        return f"  {name}: {{mass_kg: 0.4, com_m: [{com}, 0, 0], inertia_kg_m2: {tensor}}}\n"

    def hinge(name: str, parent: str, child: str, at: float) -> str:
        where = f"parent: {parent}, child: {child}, at_m: [{at}, 0, 0], axis: [0, 0, 1]"
        return f"  {name}: {{type: revolute, {where}}}\n"

    motor = "{max_torque_N_m: 10, max_speed_rad_s: 15, brake_torque_N_m: 6}"
    return (
        "name: leg\nbodies:\n"
        + "".join(body(name, *size) for name, size in zip(("la", "ra", "lf", "rf"), SIZES, strict=True))
        + f"joints:\n{hinge('left', 'world', 'la', 0)}{hinge('right', 'world', 'ra', 0)}"
        + f"{hinge('left_elbow', 'la', 'lf', 0.09)}{hinge('right_elbow', 'ra', 'rf', 0.09)}"
        + "constraints: {tip: {type: pin, normal: [0, 0, 1], a: {body: lf, at_m: [0.18, 0, 0]},"
        + " b: {body: rf, at_m: [0.18, 0, 0]}}}\n"
        + f"motors: {{left: {motor}, right: {motor}}}\n"
        + "sensors: {left: {velocity: true}, right: {velocity: true}}\n"
        + f"initial: {{left_deg: {-90 - apart_deg / 2}, right_deg: {-90 + apart_deg / 2}}}\n"
        + f"initial_guess: {{left_elbow_deg: {elbows[0]}, right_elbow_deg: {elbows[1]}}}\n"
    )


SIZES = ((0.045, 2.7e-4), (0.045, 2.7e-4), (0.09, 1.35e-3), (0.09, 1.35e-3))


def text_of(name: str) -> str:
    return shipped_path(name).read_text(encoding="utf-8")


def without(text: str, section: str) -> str:
    """Leave out a section of a machine file."""
    lines, inside = list[str](), False
    for line in text.splitlines(keepends=True):
        inside = line.startswith(f"{section}:") or (inside and line[:1] in " #\n")
        lines += [] if inside else [line]
    return "".join(lines)


def constrained(constraint: str, initial: str = "") -> str:
    return f"{CART}constraints: {{extra: {constraint}}}\n{initial}"


def geared(share: float) -> str:
    """A cart whose one motor moves this share of what its lift moves."""
    coupling = f"{{type: coupling, factors: {{slide: 1, lift: {-share}}}, equals: 0}}"
    return constrained(coupling).replace("  lift: {max", "  #")


SWITCHED = "".join(
    f"  more{i}: {{type: coordinate, of: pin.z, equals_m: 0.{i}, on: false, switchable: true}}\n"
    for i in range(3)
)
DRIVE = "{type: coordinate, of: slide, equals_m: 0.1*sin(9*t)}"
LATER = "{type: coordinate, of: slide, equals_m: 0.1*(1 + tanh(1000*(t - 5)))}"
MOTION = "{type: motion, coordinates: {slide: 0.1*t}}"
VELOCITY = "{type: velocity, factors: {slide: 1, lift: 1}, equals: 0}"
VARIANTS: dict[str, tuple[Callable[[], str], tuple[str, ...]]] = {
    "cart": (lambda: CART, ()),
    "no motors": (lambda: without(text_of("scara"), "motors"), ("no motor drives shoulder",)),
    "no sensors": (lambda: without(text_of("scara"), "sensors"), ("sensors do not determine shoulder",)),
    "one motor": (lambda: CART.replace("  lift: {max", "  #"), ("no motor drives lift",)),
    "closed, no motors": (lambda: without(text_of("four_bar"), "motors"), ("the motors do not control",)),
    "closed, servo": (
        lambda: text_of("four_bar").replace("controller:\n", "controller:\n  law: servo\n"),
        ("the law servo",),
    ),
    "guide": (lambda: constrained("{type: coordinate, of: slide, equals_m: 0}"), ()),
    "moving guide": (lambda: constrained(DRIVE), ()),
    "guide that moves later": (lambda: constrained(LATER), ()),
    "motion": (lambda: constrained(MOTION), ()),
    "velocity": (lambda: constrained(VELOCITY), ()),
    "several": (
        lambda: without(text_of("slot_arm").replace("task:", f"{SWITCHED}task:"), "sensors"),
        ("5 constraints are switchable", "sensors do not determine"),
    ),
    "no freedom": (
        lambda: constrained("{type: motion, coordinates: {slide: 0, lift: 0}}"),
        ("no degree of freedom",),
    ),
    "five switches": (
        lambda: text_of("slot_arm").replace("task:", f"{SWITCHED}task:"),
        ("5 constraints are switchable",),
    ),
    "unstable force": (
        lambda: re.sub(r"  force: \{.*\}", "  force: {integral_per_s: 2000}", text_of("scara_polish")),
        ("is unstable",),
    ),
    "continuum": (lambda: leg(0, -30), ("sensors do not determine left_elbow, right_elbow",)),
    "hardly controlled": (lambda: geared(0.009), ("hardly control",)),
    "weakly controlled": (lambda: geared(0.02), ()),
}


def started(path: Path | str) -> tuple[str, ...]:
    """Return what the processes of the controller say against a machine as they load it."""
    try:
        configured(str(path))
    except MachineError as error:
        return tuple(problem.message for problem in error.problems)
    return ()


@pytest.mark.parametrize("name", [*shipped(), *VARIANTS])
def test_check_model_and_controller_agree(name: str, tmp_path: Path) -> None:
    path = tmp_path / "machine.yaml"
    text, reasons = VARIANTS[name] if name in VARIANTS else (lambda: text_of(name), None)
    path.write_text(text(), encoding="utf-8")
    ran = linkwork("check", str(path), "--json")
    checked, modelled = json.loads(ran.stdout), json.loads(linkwork("model", str(path), "--json").stdout)
    refused = started(path)
    assert tuple(f"{REFUSES}: {reason}" for reason in checked["refusals"]) == refused
    assert checked["controllable"] == modelled["controllable"] == (not refused)
    assert [reason.partition(". ")[0] for reason in modelled["refusals"]] == [
        reason.partition(". ")[0] for reason in checked["refusals"]
    ]
    assert checked["valid"], "the plant runs it all the same"
    for reason in reasons or ():
        assert any(reason in each for each in refused), refused
    if reasons is not None:
        assert bool(refused) == bool(reasons)
    errors = [each for each in checked["problems"] if each["severity"] == "error"]
    machine = load(path)
    for_simulation = not machine.motors and not machine.sensors
    assert [each["message"] for each in errors] == ([] if for_simulation else [*refused])
    assert ran.returncode == (2 if errors else 0)
    assert all(each["remedy"] and each["line"] for each in errors)


@pytest.mark.parametrize("name", ["double_pendulum", "thin_disk"])
def test_a_machine_for_simulation_is_valid_and_said_to_be_refused(name: str) -> None:
    ran = linkwork("check", name)
    assert (ran.returncode, check(name)) == (0, ())
    assert "valid for plant and simulation alone" in ran.stdout
    assert REFUSES in ran.stdout


@pytest.mark.parametrize("share", [1e-9, 1e-5, 0.005, 0.0099, 0.0101, 0.03, 0.049, 0.0505, 0.5])
def test_every_leverage_is_judged(share: float, tmp_path: Path) -> None:
    path = tmp_path / "cart.yaml"
    path.write_text(geared(share), encoding="utf-8")
    held = leverage(load(path))
    assert held == pytest.approx(share, rel=0.15)
    said = [each.message for each in check(path) if "control" in each.message]
    assert any("hardly" in each for each in said) == (held < LEAST_LEVERAGE)
    assert any("weakly" in each for each in said) == (LEAST_LEVERAGE <= held < WEAK_LEVERAGE)


def test_the_controller_process_refuses_with_the_words_of_check(tmp_path: Path) -> None:
    path = tmp_path / "leg.yaml"
    path.write_text(leg(0, -30), encoding="utf-8")
    ran = linkwork("controller", str(path), "--no-log", "--lockstep")
    (error,) = [each for each in check(path) if each.severity == "error"]
    assert (ran.returncode, ran.stderr.strip()) == (2, str(error))


def poses() -> Iterator[tuple[str, tuple[str, ...], int]]:
    yield leg(0, -30), ("left_elbow", "right_elbow"), 0
    yield leg(60), (), 1  # the knee up or down
    yield text_of("five_bar"), (), 1


@pytest.mark.parametrize(("text", "free", "isolated"), list(poses()))
def test_a_continuum_of_poses_is_told_from_isolated_modes(
    text: str, free: tuple[str, ...], isolated: int, tmp_path: Path
) -> None:
    path = tmp_path / "machine.yaml"
    path.write_text(text, encoding="utf-8")
    found = fitting_poses(load(path))
    assert (found.free, len(found.modes)) == (free, isolated)
    shown = linkwork("model", str(path)).stdout
    assert ("a continuum of poses" in shown) == bool(free)
    assert ("other assembly mode" in shown) == bool(isolated)


def test_modes_that_meet_are_no_continuum(tmp_path: Path) -> None:
    """Two links just stretched: a singular value is zero, and no finite motion with the motor at rest."""
    path = tmp_path / "crank.yaml"
    content = text_of("slider_crank")
    path.write_text(content.replace("{crank_deg: 30}", "{crank_deg: 0}"), encoding="utf-8")
    found = load(path)
    assert fitting_poses(found).free == ()
    assert np.isfinite(found.initial_q).all()
