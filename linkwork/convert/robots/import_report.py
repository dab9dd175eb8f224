"""The report of an import, as plain rows for the terminal and for a page."""

from dataclasses import dataclass
from typing import Any, Literal

import numpy as np

from linkwork.convert.assembly_search import FRUITLESS, FoundModes, assembly_modes
from linkwork.convert.robots.examination import massless, missing_limits
from linkwork.convert.robots.importing import Imported
from linkwork.convert.robots.proof import Proof, digits
from linkwork.convert.robots.robot_model import RobotModel
from linkwork.convert.robots.same_motion import STATES
from linkwork.machine import Machine
from linkwork.machine.checks.controllability import refusals
from linkwork.machine.checks.holding import held_efforts, unheld_joints
from linkwork.machine.nearest_name import listed
from linkwork.machine.problems import counted

Verdict = Literal["", "good", "bad"]
_NO_LOAD = 1e-9
_MOST_NAMES = 6
_WORK = 60_000
"""Random starts of the search for assembly modes, times the square of the number of velocities."""


@dataclass(frozen=True)
class ImportFinding:
    """A property of the machine: its title, the text, and whether it is as it should be."""

    title: str
    text: str
    verdict: Verdict = ""


def report_rows(
    found: Imported,
    model: dict[str, Any],
    proof: Proof,
    moved: float | None,
    modes: FoundModes | None = None,
) -> list[ImportFinding]:
    """Return the properties of an imported machine.

    model: its report (convert/model_report.py); moved: the difference between the accelerations of the
    simplified robot and those of the one that was read (same_motion.py), None if they were not compared;
    modes: its assembly modes, None without loops or in a singular pose.
    """
    robot = found.robot
    idle = [motion["joint"] for motion in model["idle"]]
    rows = [
        ImportFinding(
            "degrees of freedom",
            f"{model['degrees_of_freedom']}{f', of them {len(idle)} idle' if idle else ''}: "
            f"{model['velocities']} velocities less rank {model['rank']} of "
            f"{model['rows']} rows, {model['redundancy']} of them redundant",
        ),
        ImportFinding("free ends", _free_ends(robot)),
        *(ImportFinding("left out", text, "bad") for text in robot.left_out),
        ImportFinding(
            "parts",
            ", ".join(
                counted(len(model[key]), one)
                for key, one in (("bodies", "body"), ("joints", "joint"), ("closures", "closure"))
            ),
        ),
    ]
    if model["mobility"] != model["degrees_of_freedom"]:
        text = f"singular: {model['mobility']} instantaneous degrees of freedom"
        rows.append(ImportFinding("initial pose", text, "bad"))
    if model["rank_decision"]["narrow"]:
        rows.append(ImportFinding("rank", "not clear: a singular value is close to the limit", "bad"))
    if model["closures"]:
        residual = model["assembly"]["residual"]
        rows.append(ImportFinding("assembled", f"to {residual:.2g} (typical lengths, rad)", "good"))
        rows.append(ImportFinding("assembly modes", _modes(found.machine, modes)))
    rows += [_motors(found.machine), *_holding(found.machine)]
    if idle:
        rows.append(ImportFinding("idle degrees of freedom", f"{listed(idle)}: the controller ignores them"))
    light = massless(robot)
    if light:
        rows.append(ImportFinding("links without mass", listed(light)))
    for kind, names in missing_limits(robot).items():
        rows.append(ImportFinding(f"no {kind} limit", listed(names), "bad"))
    refused = refusals(found.machine)
    rows += [ImportFinding("controller", f"cannot run it: {why}. {how}", "bad") for _, why, how in refused]
    if not refused:
        rows.append(ImportFinding("controller", "can run it", "good"))
    verdicts: dict[bool | None, Verdict] = {True: "good" if proof.of_source else "", False: "bad", None: ""}
    rows += [ImportFinding("agreement", line, verdicts[proof.agrees]) for line in proof.lines()]
    if not proof.complete:
        reason = "because of what is left out" if robot.left_out else "though nothing is left out"
        text = f"masses and forces agree with the whole file to {digits(proof.whole)} digits only, {reason}"
        if not robot.left_out:
            text += ": an error of the import; do not use this machine, and report the file"
        rows.append(ImportFinding("agreement", text, "bad"))
    return [*rows, *_simplified(moved)]


def searched_modes(machine: Machine) -> FoundModes | None:
    """Return the assembly modes that a search of bounded length finds, where the initial pose has one.

    The number of starts falls with the square of the velocities, so that the search stays below about a
    second.
    """
    if not machine.is_constrained or machine.assembly.rank < machine.assembly.ordinary_rank:
        return None
    return assembly_modes(machine, {}, most=max(1, _WORK // machine.mechanism.nv**2))


def _modes(machine: Machine, modes: FoundModes | None) -> str:
    if modes is None:
        return "not counted: several meet in the initial pose, which is singular"
    motors = {motor.joint for motor in machine.motors}
    held = "the motors" if motors.issuperset(modes.held) else listed(modes.held)
    count, within = len(modes.modes), sum(mode.within for mode in modes.modes)
    text = f"{count}{' or more' if modes.cut_short else ''} with {held} as in the initial pose"
    if within < count:
        text += f", {within} of them within the joint limits"
    if modes.cut_short:
        return f"{text}; the search was cut short after {modes.starts} random starts"
    return f"{text}; found in {modes.starts} random starts, the last {FRUITLESS} of which found no other"


def _simplified(moved: float | None) -> list[ImportFinding]:
    """Return whether the simplified robot moves as the one that was read."""
    if moved is None:
        return []
    if np.isnan(moved):
        text = "its motion was not compared with the literal one: no common pose was found"
        return [ImportFinding("simplified", text)]
    text = f"accelerations are those of the literal one, to {digits(moved)} digits on {STATES} random states"
    return [ImportFinding("simplified", text, "good" if moved <= 1e-8 else "bad")]


def _free_ends(robot: RobotModel) -> str:
    """Return the links that carry nothing and have no closure."""
    held = {link for closure in robot.closures for link in (closure.a, closure.b)}
    held |= {link for spring in robot.springs for link in (spring.a, spring.b)}
    held |= {joint.parent for joint in robot.joints.values()}
    ends = [joint.child for joint in robot.joints.values() if joint.child not in held]
    if len(ends) < 2:
        return f"link {ends[0]} ends free" if ends else "none"
    more = [f"{len(ends) - _MOST_NAMES} more"] if len(ends) > _MOST_NAMES else []
    *names, last = [*ends[:_MOST_NAMES], *more]
    return f"links {listed(names)} and {last} end free: a loop may be missing"


def _motors(machine: Machine) -> ImportFinding:
    names = [motor.joint for motor in machine.motors]
    return ImportFinding("motors", listed(names) if names else "none", "" if names else "bad")


def _holding(machine: Machine) -> list[ImportFinding]:
    """Return whether the motors can hold the machine against gravity where it starts."""
    if not machine.motors or machine.dof == 0:
        return []
    falling = unheld_joints(machine)
    if falling:
        text = f"no motor holds {listed(falling)}: gravity or springs move them where the machine starts"
        return [ImportFinding("against gravity", text, "bad")]
    efforts = held_efforts(machine)
    weak = [
        f"{motor.joint} needs {needed:.3g} {'N m' if motor.is_angle else 'N'}, has {motor.max_effort:.3g}"
        for motor, needed in efforts
        if not needed <= motor.max_effort
    ]
    if weak:
        return [ImportFinding("against gravity", f"the motors do not hold it: {listed(weak)}", "bad")]
    share = max((needed / motor.max_effort for motor, needed in efforts), default=0.0)
    if share < _NO_LOAD:
        return [ImportFinding("against gravity", "the motors hold it without effort", "good")]
    return [
        ImportFinding(
            "against gravity", f"the motors hold it, with at most {100 * share:.2g} % of their effort", "good"
        )
    ]


def body_rows(machine: Machine) -> list[tuple[str, str, str, str]]:
    """Return name, mass (kg), principal moments (kg m²) and a note of each body."""
    rows = []
    for body in machine.mechanism.bodies:
        moments = np.linalg.eigvalsh(np.asarray(body.inertia_kg_m2))
        note = "no body has this inertia" if body.unphysical else ("no mass" if body.mass_kg == 0.0 else "")
        rows.append((body.name, f"{body.mass_kg:.4g}", ", ".join(f"{each:.4g}" for each in moments), note))
    return rows


def joint_rows(machine: Machine, model: dict[str, Any]) -> list[tuple[str, str, str, str, str]]:
    """Return name, type, bodies, limits of position and motor of each joint."""
    limits = {each.name: each for each in machine.joints}
    motors = {each.joint: each for each in machine.motors}
    rows = []
    for joint in model["joints"]:
        name = joint["name"]
        limit = limits.get(name)
        unit = "rad" if limit is not None and limit.is_angle else "m"
        shown = ""
        if limit is not None and np.all(np.isfinite(limit.position)):
            shown = f"{limit.position[0]:.4g} to {limit.position[1]:.4g} {unit}"
        motor = motors.get(name)
        drive = "" if motor is None else f"{motor.max_effort:.4g} {'N m' if motor.is_angle else 'N'}"
        rows.append((name, joint["type"], f"{joint['parent']} → {joint['child']}", shown, drive))
    return rows
