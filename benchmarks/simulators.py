"""Simulated motion beside Exudyn and Drake, each at the step that reaches the same error at the end.

    python benchmarks/simulators.py [--machine NAME ...] [--error 1e-4] [--rounds 5] [--json]

The machine falls from its initial pose for 0.5 s without motors. The error is the largest of a joint angle
at the end, against linkwork with steps of 31 µs. A peer takes the longest of its steps with which its error
is at most `--error`, or that of its least error where none is; linkwork takes the longest step with which
its own error is not larger than the peer's. Times are of the whole motion, one call from Python; the systems
are built before.

Exudyn gets planar bodies, its constraints and generalized-alpha integration (second order, exact closures).
Drake gets its discrete solver (SAP, first order, nearly rigid closures).
"""

from __future__ import annotations

import argparse
import json
import time
from collections.abc import Callable, Iterator
from statistics import median, quantiles
from typing import Any

import numpy as np

from linkwork import Machine, load
from linkwork.arrays import Floats
from linkwork.multibody.constraints import CoordinateConstraint, PointClosure
from linkwork.multibody.mechanism import Mechanism
from linkwork.plant.offline.batch_kernels import sampled_steps
from linkwork.plant.offline.start_state import StartState, begin
from linkwork.plant.plant_layout import METHODS

MACHINES = ("slider_crank", "four_bar")
SECONDS = 0.5
EXACT_S = 2.0**-15
STEPS_S = tuple(2.0**-k for k in range(4, 17))
"""Longest first."""
Run = Callable[[], Floats]


def frames(mechanism: Mechanism, q: Floats) -> dict[str, tuple[float, Floats]]:
    """Angle (rad) and origin (m; 2) of each body of a planar machine with revolute joints at this pose."""
    found: dict[str, tuple[float, Floats]] = {"world": (0.0, np.zeros(2))}
    for joint, angle in zip(mechanism.joints, q, strict=True):
        before, origin = found[joint.parent]
        place = origin + _turned(before, joint.at_m)
        rotation = np.asarray(joint.rotation)
        found[joint.child] = before + float(np.arctan2(rotation[1, 0], rotation[0, 0])) + float(angle), place
    return found


def _turned(angle: float, point: Any) -> Floats:
    c, s = np.cos(angle), np.sin(angle)
    return np.array([c * point[0] - s * point[1], s * point[0] + c * point[1]])


def closed_points(mechanism: Mechanism) -> Iterator[tuple[str, Floats, Floats, bool]]:
    """Yield body, its point (m; 3), the point of the world it is held at (m; 3), and whether in y alone."""
    for closure in mechanism.constraints:
        if isinstance(closure, PointClosure) and closure.a.body == "world":
            yield closure.b.body, np.asarray(closure.b.at_m), np.asarray(closure.a.at_m), False
        elif isinstance(closure, CoordinateConstraint) and closure.of.endswith(".y"):
            point = next(each for each in mechanism.points if each.name == closure.of[:-2])
            yield point.body, np.asarray(point.at_m), np.array([0.0, float(closure.value), 0.0]), True
        else:
            raise ValueError(f"{closure.name}: this benchmark has no such closure")


def in_exudyn(machine: Machine, step_s: float) -> Run:
    """Return a call that simulates the machine with Exudyn and returns its joint angles."""
    import exudyn as exu
    from exudyn import utilities as parts

    mechanism = machine.plant_mechanism
    system = exu.SystemContainer().AddSystem()
    at = frames(mechanism, machine.initial_q)
    gravity = np.asarray(mechanism.gravity_m_s2)
    ground = system.AddObject(parts.ObjectGround())
    bodies = {"world": (ground, np.zeros(3))}
    for body in mechanism.bodies:
        angle, origin = at[body.name]
        centre = np.asarray(body.com_m)
        place = origin + _turned(angle, centre)
        node = system.AddNode(parts.NodeRigidBody2D(referenceCoordinates=[*place, angle]))
        inertia = float(np.asarray(body.inertia_kg_m2)[2, 2])
        number = system.AddObject(
            parts.ObjectRigidBody2D(mass=body.mass_kg, inertia=inertia, nodeNumber=node)
        )
        mass = system.AddMarker(parts.MarkerBodyMass(bodyNumber=number))
        system.AddLoad(parts.LoadMassProportional(markerNumber=mass, loadVector=list(gravity)))
        bodies[body.name] = number, centre

    def marker(body: str, point: Any) -> int:
        number, centre = bodies[body]
        local = list(np.asarray(point, dtype=float) - centre)
        made: int = system.AddMarker(parts.MarkerBodyPosition(bodyNumber=number, localPosition=local))
        return made

    for joint in mechanism.joints:
        ends = [marker(joint.parent, joint.at_m), marker(joint.child, np.zeros(3))]
        system.AddObject(parts.ObjectJointRevolute2D(markerNumbers=ends))
    for body, point, held, in_y in closed_points(mechanism):
        ends = [marker("world", held), marker(body, point)]
        if in_y:
            axes = {"constrainedAxes": [0, 1, 0]}
            system.AddObject(parts.ObjectJointSpherical(markerNumbers=ends, **axes))
        else:
            system.AddObject(parts.ObjectJointRevolute2D(markerNumbers=ends))
    system.Assemble()
    settings = exu.SimulationSettings()
    settings.timeIntegration.numberOfSteps = round(SECONDS / step_s)
    settings.timeIntegration.endTime = SECONDS
    settings.timeIntegration.verboseMode = 0
    settings.timeIntegration.newton.useModifiedNewton = True
    settings.timeIntegration.generalizedAlpha.spectralRadius = 0.9
    settings.solution.file.write = False
    settings.solution.sensors.writePeriod = SECONDS
    settings.linearSolver.solverType = exu.LinearSolverType.EXUdense

    def run() -> Floats:
        system.SolveDynamic(settings, solverType=exu.DynamicSolverType.GeneralizedAlpha)
        turned = system.systemData.GetODE2Coordinates()[2::3]
        start = np.array([at[body.name][0] for body in mechanism.bodies])
        names = [body.name for body in mechanism.bodies]
        absolute = dict(zip(names, start + turned, strict=True)) | {"world": 0.0}
        fixed = [float(np.arctan2(j.rotation[1, 0], j.rotation[0, 0])) for j in mechanism.joints]
        ends = zip(mechanism.joints, fixed, strict=True)
        return np.array([absolute[j.child] - absolute[j.parent] - offset for j, offset in ends])

    return run


def in_drake(machine: Machine, step_s: float) -> Run:
    """Return a call that simulates the machine with Drake and returns its joint angles."""
    from pydrake.math import RigidTransform, RotationMatrix
    from pydrake.multibody.plant import DiscreteContactApproximation, MultibodyPlant
    from pydrake.multibody.tree import (
        FixedOffsetFrame,
        PrismaticJoint,
        RevoluteJoint,
        SpatialInertia,
        UnitInertia,
    )
    from pydrake.systems.analysis import Simulator

    mechanism = machine.plant_mechanism
    plant = MultibodyPlant(step_s)
    plant.set_discrete_contact_approximation(DiscreteContactApproximation.kSap)
    plant.mutable_gravity_field().set_gravity_vector(np.asarray(mechanism.gravity_m_s2))
    closures = list(closed_points(mechanism))
    halved = {body: point for body, point, _, in_y in closures if in_y}
    known: dict[str, Any] = {"world": plant.world_body()}
    for body in mechanism.bodies:
        mass, centre = body.mass_kg, np.asarray(body.com_m)
        if body.name in halved:  # a point mass at the guided point: half of it is on the slide
            assert np.array_equal(centre, halved[body.name])
            assert not np.any(body.inertia_kg_m2)
            mass = 0.5 * mass
        about_origin = np.asarray(body.inertia_kg_m2) / mass + float(centre @ centre) * np.eye(3)
        unit = about_origin - np.outer(centre, centre)
        inertia = SpatialInertia(
            mass,
            centre,
            UnitInertia(*(float(unit[i, i]) for i in range(3)), *(float(unit[i, j]) for i, j in _OFF)),
        )
        known[body.name] = plant.AddRigidBody(body.name, inertia)

    def before(joint: Any) -> Any:
        place = RigidTransform(RotationMatrix(np.asarray(joint.rotation)), np.asarray(joint.at_m))
        return FixedOffsetFrame(f"before_{joint.name}", known[joint.parent].body_frame(), place)

    joints = [
        plant.AddJoint(
            RevoluteJoint(
                joint.name,
                plant.AddFrame(before(joint)),
                known[joint.child].body_frame(),
                joint.axis,
            )
        )
        for joint in mechanism.joints
    ]
    slides = []
    at = frames(mechanism, machine.initial_q)
    for body, point, held, in_y in closures:
        if in_y:
            mass = next(each.mass_kg for each in mechanism.bodies if each.name == body)
            inertia = SpatialInertia(0.5 * mass, np.zeros(3), UnitInertia.SolidSphere(1e-3))
            other = plant.AddRigidBody(f"slide_{body}", inertia)
            slide = PrismaticJoint(f"slide_{body}", plant.world_frame(), other.body_frame(), [1.0, 0.0, 0.0])
            angle, origin = at[body]
            slides.append((plant.AddJoint(slide), float((origin + _turned(angle, point))[0])))
            plant.AddBallConstraint(other, np.zeros(3), known[body], point)
        else:
            ground = plant.AddRigidBody(f"ground_{body}", SpatialInertia.SolidSphereWithMass(1.0, 0.1))
            plant.WeldFrames(plant.world_frame(), ground.body_frame())
            plant.AddBallConstraint(ground, held, known[body], point)
    plant.Finalize()

    def run() -> Floats:
        simulator = Simulator(plant)
        context = simulator.get_mutable_context()
        for joint, angle in zip(joints, machine.initial_q, strict=True):
            joint.set_angle(context, float(angle))
        for slide, place in slides:
            slide.set_translation(context, place)
        simulator.AdvanceTo(SECONDS)
        return np.array([joint.get_angle(context) for joint in joints])

    return run


_OFF = ((0, 1), (0, 2), (1, 2))


def in_linkwork(machine: Machine, step_s: float) -> Run:
    """Return a call that simulates the machine with linkwork and returns its joint angles."""
    work = begin(machine, StartState())
    start, found = work.buffer.copy(), np.zeros((1, len(work.q) + len(work.v)))

    def run() -> Floats:
        work.buffer[:] = start
        sampled_steps(*work.arguments, METHODS["rk4"], step_s, round(SECONDS / step_s), found)
        return found[0, : len(work.q)].copy()

    return run


PEERS: dict[str, Callable[[Machine, float], Run]] = {"exudyn": in_exudyn, "drake": in_drake}


def measure(name: str, error: float, rounds: int) -> Iterator[dict[str, Any]]:
    """Yield seconds, steps and errors of linkwork and of each installed peer, and the ratio of the times."""
    machine = load(name)
    exact = in_linkwork(machine, EXACT_S)()
    for peer, make in PEERS.items():
        try:
            theirs = _tuned(machine, make, exact, error)
        except ImportError:
            continue
        ours = _tuned(machine, in_linkwork, exact, theirs[2])
        times: dict[str, list[float]] = {"linkwork": [], peer: []}
        for _ in range(rounds):
            for who, (run, _, _) in (("linkwork", ours), (peer, theirs)):
                began = time.perf_counter()
                run()
                times[who].append(time.perf_counter() - began)
        yield {
            "machine": name,
            "peer": peer,
            "seconds": {who: median(values) for who, values in times.items()},
            "step_ms": {"linkwork": 1e3 * ours[1], peer: 1e3 * theirs[1]},
            "error_rad": {"linkwork": ours[2], peer: theirs[2]},
            "ratio": quantiles([a / b for a, b in zip(times["linkwork"], times[peer], strict=True)], n=4),
        }


def _tuned(
    machine: Machine, make: Callable[[Machine, float], Run], exact: Floats, error: float
) -> tuple[Run, float, float]:
    """Return a run, its step (s) and its error: the longest step with at most this error, or the best."""
    best: tuple[Run, float, float] | None = None
    for step_s in STEPS_S:
        run = make(machine, step_s)
        try:
            found = float(np.abs(run() - exact).max())
        except (RuntimeError, ValueError):  # a solver that does not converge at so long a step
            continue
        if np.isfinite(found) and (best is None or found < best[2]):
            best = run, step_s, found
        if found <= error:
            break
    assert best is not None, "no step succeeds"
    return best


def main() -> None:
    """The command line."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    parser.add_argument("--machine", action="append", help="repeatable; default: " + ", ".join(MACHINES))
    parser.add_argument("--error", type=float, default=1e-4, help="rad")
    parser.add_argument("--rounds", type=int, default=5)
    parser.add_argument("--json", action="store_true")
    options = parser.parse_args()
    found = [
        one for name in options.machine or MACHINES for one in measure(name, options.error, options.rounds)
    ]
    if not found:
        raise SystemExit("neither Exudyn nor Drake is installed: pip install linkwork[bench]")
    if options.json:
        print(json.dumps(found, indent=1))
        return
    for one in found:
        seconds, steps, errors, peer = one["seconds"], one["step_ms"], one["error_rad"], one["peer"]
        print(
            f"{one['machine']:<14}linkwork {1e3 * seconds['linkwork']:.3f} ms "
            f"(step {steps['linkwork']:.3g} ms, error {errors['linkwork']:.0e} rad), "
            f"{peer} {1e3 * seconds[peer]:.1f} ms (step "
            f"{steps[peer]:.3g} ms, error {errors[peer]:.0e} rad): {one['ratio'][1]:.3f}"
        )


if __name__ == "__main__":
    main()
