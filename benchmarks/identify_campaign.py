"""Identification of simulated machines whose truth is known: how well values, deviations and verdicts hold.

    python -m benchmarks.identify_campaign [--machines scara five_bar platform_3rrs delta] [--seeds 50]
        [--first 0] [--stribeck] [--state FILE] [--json]

A seed draws masses (± 30 %), centres of mass (± 20 mm), friction and two motions of 10 s at 500 Hz: one
to identify from, one to predict. Coulomb and viscous friction of motors are 5 to 15 % of each motor's own
rms, those of passive joints a twentieth of that. Positions are encoder counts. The efforts, one tick late,
have noise of 2 % of each motor's rms, white for even seeds and correlated over 30 ms for odd ones. With
--stribeck the motors' friction also rises at low speed, by half to all of the Coulomb friction, which the
model does not describe.

Efforts are inverse dynamics along the motion, at poses that close the loops to 1e-11: what the plant's motors
have to give. A seed that is in the state file is not repeated. On two processors a machine needs some five
minutes for 50 seeds, the delta 20.
"""

from __future__ import annotations

import argparse
import json
import sys
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np

from linkwork.arrays import Floats
from linkwork.identification.consistent_samples import ClosedPoses, independent_joints
from linkwork.identification.identification import identify, predict
from linkwork.identification.measured_motion import MeasuredMotion, RefusedData
from linkwork.identification.regressor import Regressor
from linkwork.machine import Machine, load
from linkwork.multibody import Mechanism

MACHINES = ("scara", "five_bar", "platform_3rrs", "delta")
SECONDS, RATE_HZ, NOISE, CORRELATED_S, DELAY_S = 10.0, 500.0, 0.02, 0.03, 0.002
BASE_HZ, SIZE, COUNTS = 0.2, 0.35, 1048576
MASSES, CENTRES_M, FRICTION, PASSIVE = 0.3, 0.02, (0.05, 0.15), 0.05

Force = Callable[[Floats, Floats], Floats]


@dataclass(frozen=True, eq=False)
class TrueMotion:
    """A motion (n samples) that the closures admit: q (n × nq), v, v̇ (n × nv), G (n × nv × independent)."""

    time_s: Floats
    joints: list[str]
    q: Floats
    v: Floats
    vdot: Floats
    gradient: Floats


def true_motion(
    machine: Machine, rng: np.random.Generator, *, seconds: float = SECONDS, rate_hz: float = RATE_HZ
) -> TrueMotion:
    """Return a random Fourier motion of the motors around the initial pose; it is made smaller until the
    loops close."""
    mechanism = machine.mechanism
    joints = independent_joints(machine, [motor.joint for motor in machine.motors])
    places = [mechanism.joint_index(name) for name in joints]
    harmonics = np.arange(1, 6)
    sine = rng.normal(size=(len(joints), 5)) / harmonics
    sine *= (SIZE * mechanism.model.column_scale[places] / np.abs(sine).sum(axis=1))[:, None]
    rate = 2.0 * np.pi * BASE_HZ * harmonics
    time_s = np.arange(round(seconds * rate_hz)) / rate_hz
    angle = rate * time_s[:, None, None] + rng.uniform(0.0, 2.0 * np.pi, size=(len(joints), 5))
    shapes = np.sin(angle), rate * np.cos(angle), -(rate**2) * np.sin(angle)
    for shrink in 0.8 ** np.arange(10):
        y, speed, acceleration = (shrink * (sine * each).sum(axis=2) for each in shapes)
        poses = ClosedPoses(mechanism, machine.initial_q, joints)
        if not poses.go_to(y[0] + machine.initial_q[places]):
            continue
        states = poses.samples(y + machine.initial_q[places], speed, acceleration, 1.0 / rate_hz)
        if states.usable.all():
            return TrueMotion(time_s, joints, states.q, states.v, states.vdot, states.gradient)
    raise ValueError(f"no random motion of {machine.name} was found")


def needed_efforts(
    machine: Machine, truth: Mechanism, motion: TrueMotion, added: Force | None = None
) -> Floats:
    """Return the efforts (n × motors) with which a mechanism follows a motion, least where several can.

    added: a further generalized force (nv) of q and v that the motors have to overcome.
    """
    motors = [motor.index for motor in machine.motors]
    regressor = Regressor(truth)
    found = np.empty((len(motion.q), len(motors)))
    for k, (q, v, vdot, gradient) in enumerate(
        zip(motion.q, motion.v, motion.vdot, motion.gradient, strict=True)
    ):
        force = regressor.rows(q, v, vdot) @ regressor.values + regressor.known(q, v)
        if added is not None:
            force = force + added(q, v)
        found[k] = np.linalg.lstsq(gradient[motors].T, gradient.T @ force, rcond=None)[0]
    return found


def changed_truth(machine: Machine, motion: TrueMotion, rng: np.random.Generator) -> Mechanism:
    """Return the machine with other masses, centres of mass and friction than its file says."""
    mechanism = machine.mechanism
    bodies = []
    for body in mechanism.bodies:
        if not body.mass_kg:
            bodies.append(body)
            continue
        mass = body.mass_kg * (1.0 + rng.uniform(-MASSES, MASSES))
        com = np.asarray(body.com_m) + rng.uniform(-CENTRES_M, CENTRES_M, size=3)
        inertia = np.asarray(body.inertia_kg_m2) * mass / body.mass_kg
        bodies.append(type(body)(body.name, mass, com, inertia, unphysical=True))
    moved = mechanism.changed(bodies=bodies)
    efforts = needed_efforts(machine, moved, motion)
    size = np.sqrt((efforts**2).mean(axis=0))
    places = {motor.joint: k for k, motor in enumerate(machine.motors)}
    speed = np.sqrt((motion.v**2).mean(axis=0))
    single, joints = set(mechanism.joint_names), []
    for joint in mechanism.joints:
        own = dict(vars(joint))
        if joint.name in places:
            k, index = places[joint.name], mechanism.joint_index(joint.name)
            own["coulomb"] = size[k] * rng.uniform(*FRICTION)
            own["viscous"] = size[k] * rng.uniform(*FRICTION) / speed[index]
        elif joint.name in single:
            small = PASSIVE * float(size.mean()) * rng.uniform(*FRICTION, size=2)
            index = mechanism.joint_index(joint.name)
            own["coulomb"], own["viscous"] = small[0], small[1] / max(1e-3, speed[index])
        joints.append(type(joint)(**own))
    return moved.changed(joints=joints)


def stribeck(machine: Machine, truth: Mechanism, motion: TrueMotion, rng: np.random.Generator) -> Force:
    """Return friction of the motors that rises at low speed, as a force to overcome."""
    motors = [motor.index for motor in machine.motors]
    own = {joint.name: joint for joint in truth.joints}
    rise = np.array([own[motor.joint].coulomb for motor in machine.motors])
    rise *= rng.uniform(0.5, 1.0, size=len(motors))
    slow = rng.uniform(0.05, 0.15, size=len(motors)) * np.abs(motion.v[:, motors]).max(axis=0)
    sharp = truth.model.coulomb_speed[motors]

    def force(_: Floats, v: Floats) -> Floats:
        found = np.zeros(truth.nv)
        found[motors] = rise * np.tanh(v[motors] / sharp) * np.exp(-((v[motors] / slow) ** 2))
        return found

    return force


def recorded(
    machine: Machine, motion: TrueMotion, efforts: Floats, rng: np.random.Generator, *,
    correlated_s: float = 0.0, noise: float = NOISE, delay_s: float = DELAY_S,
) -> MeasuredMotion:  # fmt: skip
    """Return what encoders and drives would record of a motion."""
    mechanism, time_s = machine.mechanism, motion.time_s
    period = float(time_s[1] - time_s[0])
    late = np.column_stack([np.interp(time_s + delay_s, time_s, column) for column in efforts.T])
    disturbance = rng.normal(size=late.shape)
    if correlated_s:
        keep = np.exp(-period / correlated_s)
        for k in range(1, len(disturbance)):
            disturbance[k] = keep * disturbance[k - 1] + np.sqrt(1.0 - keep**2) * disturbance[k]
    late += noise * np.sqrt((efforts**2).mean(axis=0)) * disturbance
    positions = {}
    for name in motion.joints:
        k = mechanism.joint_index(name)
        count = 2.0 * np.pi / COUNTS * mechanism.model.column_scale[k]
        positions[name] = np.round(motion.q[:, k] / count) * count
    motors = [motor.joint for motor in machine.motors]
    return MeasuredMotion("simulated", "", time_s, positions, dict(zip(motors, late.T, strict=True)))


def trial(name: str, seed: int, *, with_stribeck: bool, seconds: float = SECONDS) -> dict[str, Any]:
    """Return the figures of one seed."""
    machine, rng = load(name), np.random.default_rng(seed)
    motions = [true_motion(machine, rng, seconds=seconds) for _ in range(2)]
    truth = changed_truth(machine, motions[0], rng)
    added = stribeck(machine, truth, motions[0], rng) if with_stribeck else None
    correlated = CORRELATED_S * (seed % 2)
    run, unseen = (
        recorded(machine, each, needed_efforts(machine, truth, each, added), rng, correlated_s=correlated)
        for each in motions
    )
    content: dict[str, Any] = {"machine": name, "seed": seed, "stribeck": with_stribeck}
    try:
        found = identify(machine, [run])
    except RefusedData as refused:
        return {**content, "model_error": f"refused: {refused}", "deviations": [], "ratio": None}
    regressor = Regressor(truth)
    own = dict(zip((each.name for each in regressor.parameters), regressor.values, strict=True))
    true = found.base.matrix @ np.array([own[each.name] for each in found.base.parameters])
    deviations = {
        each.base.first.name: (each.value - value) / each.deviation
        for each, value in zip(found.found, true, strict=True)
        if each.status != "not excited"
    }
    ratio = None
    if not with_stribeck:
        left, least = (
            np.array([fit.residual_rms for fit in predict(machine, unseen, values).fits])
            for values in (found.values, regressor.values)
        )
        ratio = float((left / least).max())
    return {
        **content, "model_error": found.model_error, "deviations": deviations, "ratio": ratio,
        "misfit": found.physical.misfit, "tests": {each.kind: each.statistic for each in found.missing},
    }  # fmt: skip


def results(
    machines: list[str], seeds: range, *, with_stribeck: bool, state: Path | None
) -> Iterator[dict[str, Any]]:
    """Yield the figures of all seeds; those in the state file are not repeated."""
    lines = state.read_text("utf-8").splitlines() if state is not None and state.exists() else []
    known = {(each["machine"], each["seed"], each["stribeck"]): each for each in map(json.loads, lines)}
    for name in machines:
        for seed in seeds:
            key = name, seed, with_stribeck
            if key not in known:
                known[key] = trial(name, seed, with_stribeck=with_stribeck)
                if state is not None:
                    with state.open("a", encoding="utf-8") as file:
                        file.write(json.dumps(known[key]) + "\n")
            yield known[key]


def summary(found: list[dict[str, Any]]) -> dict[str, Any]:
    """Return the shares of one machine's seeds."""
    answered = [each for each in found if not each["model_error"]]
    sizes = np.abs([size for each in answered for size in each["deviations"].values()])
    ratios = [each["ratio"] for each in found if each["ratio"] is not None]
    return {
        "seeds": len(found),
        "known": len(sizes),
        "within_2_sigma": float((sizes < 2.0).mean()) if len(sizes) else None,
        "within_3_sigma": float((sizes < 3.0).mean()) if len(sizes) else None,
        "model_errors": sum(bool(each["model_error"]) for each in found) / max(1, len(found)),
        "ratio_median": float(np.median(ratios)) if ratios else None,
        "ratio_worst": max(ratios, default=None),
    }


def main() -> int:
    """Run the seeds and print a line for each machine."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawTextHelpFormatter)
    parser.add_argument("--machines", nargs="+", default=list(MACHINES))
    parser.add_argument("--seeds", type=int, default=50)
    parser.add_argument("--first", type=int, default=0)
    parser.add_argument("--stribeck", action="store_true")
    parser.add_argument("--state", type=Path, help="file of finished seeds: the next call continues there")
    parser.add_argument("--json", action="store_true")
    options = parser.parse_args()
    seeds = range(options.first, options.first + options.seeds)
    shown = {}
    for name in options.machines:
        found = []
        for each in results([name], seeds, with_stribeck=options.stribeck, state=options.state):
            found.append(each)
            print(f"{name} {each['seed']}: {each['model_error'] or 'found'}", file=sys.stderr, flush=True)
        shown[name] = summary(found)
        if not options.json:
            print(name, *(f"{key}: {value}" for key, value in shown[name].items()), sep="\n  ", flush=True)
    if options.json:
        print(json.dumps(shown))
    return 0


if __name__ == "__main__":
    sys.exit(main())
