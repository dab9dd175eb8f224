"""Stops and contacts of a file: their numbers where it gives none, and whether a step can follow them."""

import math
from collections.abc import Callable, Iterator

import numpy as np

from linkwork.arrays import Floats
from linkwork.machine.building.dof_names import joint_limits, owned
from linkwork.machine.building.initial_assembly import admitted_velocities
from linkwork.machine.checks.unknown_names import unknown
from linkwork.machine.description import Machine
from linkwork.machine.problems import MachineError, Problem, refuse
from linkwork.machine.sections.contacts import ContactSpec
from linkwork.machine.sections.file import MachineFile
from linkwork.machine.sections.force_elements import SpringSpec
from linkwork.machine.sections.limits import DofStop
from linkwork.machine.yaml_document import Document
from linkwork.multibody.contact.compliance import DAMPER, RUBBING, SPRING, JointStop
from linkwork.multibody.forces import OnJoint, Spring
from linkwork.multibody.functions import mass_matrix, point_jacobian, point_position
from linkwork.multibody.mechanism import Mechanism

SWING_RAD_S, STEPS_PER_RAD, DAMPING_RATIO = 200.0, 5.0, 0.7
"""Of stops whose stiffness and damping the file does not give."""
_LOCKED = 1e-14
"""Share of its mobility below which the constraints hold a degree of freedom fast."""
MOST_PARTS = 200
"""Most parts of a plant step for stops and contacts."""


def stop_of(file: MachineFile, name: str) -> DofStop | None:
    """Return the stop that the file gives a degree of freedom."""
    owner, _, dof = name.partition(".")
    stop: DofStop | None = file.joints[owner].dof_setting("stop", dof)
    return stop


def check_contacts(file: MachineFile, document: Document) -> Iterator[Problem]:
    """Return the problems of the section `contacts`."""
    for name, contact in file.contacts.items():
        if contact.point not in file.points:
            yield unknown(document, ("contacts", name, "point"), contact.point, "point", file.points)
        elif file.points[contact.point].body == "world":
            message, remedy = "this point is fixed in the world", "name a point of a moving body"
            place = ("contacts", name, "point")
            yield document.problem(place, message, found=contact.point, remedy=remedy)


def with_compliance(
    file: MachineFile, mechanism: Mechanism, q: Floats, like: Mechanism | None = None
) -> Mechanism:
    """Return the mechanism with the file's stops and contacts; itself where there are none.

    Defaults follow from the inertia at q (nq; rad or m): the mechanism's, or that of the mechanism `like`.
    """
    found = _stops(file, mechanism, q) if like is None else like.stops
    contacts = [
        spec.make(name, _weight_at(spec, like or mechanism, q)) for name, spec in file.contacts.items()
    ]
    if not found and not contacts:
        return mechanism
    return mechanism.changed(stops=found, contacts=contacts)


def _stops(file: MachineFile, mechanism: Mechanism, q: Floats) -> tuple[JointStop, ...]:
    made: list[JointStop] = []
    inverse: Floats | None = None
    for name in owned(file):
        spec, limits = stop_of(file, name), joint_limits(file, name)
        if spec is None or limits is None:
            continue
        stiffness, damping = spec.stiffness, spec.damping
        if stiffness is None or damping is None:
            if inverse is None:
                inverse = _mobility_of_dof(mechanism, q)
            inertia = 1.0 / float(inverse[mechanism.joint_index(name)])
            if stiffness is None:
                step = file.plant.period_s / file.plant.substeps
                stiffness = inertia * min(SWING_RAD_S, 1.0 / (STEPS_PER_RAD * step)) ** 2
            if damping is None:
                damping = 2.0 * DAMPING_RATIO * math.sqrt(stiffness * inertia)
        made.append(JointStop(name, *limits.position, stiffness, damping))
    return tuple(made)


def _weight_at(spec: ContactSpec, mechanism: Mechanism, q: Floats) -> float:
    """Return the mass (kg) that a contact's point moves along the normal; 1 where the file does not ask."""
    if spec.damping_ratio is None:
        return 1.0

    row = spec.normal_at(mechanism, q) @ point_jacobian(mechanism, spec.point, q)[3:]
    return 1.0 / max(float(row @ mobility(mechanism, q) @ row), 1e-300)


def _mobility_of_dof(mechanism: Mechanism, q: Floats) -> Floats:
    """Return the mobility (nv) of each degree of freedom, without constraints for those that these lock."""
    felt, alone = np.diag(mobility(mechanism, q)), np.diag(np.linalg.inv(mass_matrix(mechanism, q)))
    return np.where(felt > _LOCKED * alone, felt, alone)


def mobility(mechanism: Mechanism, q: Floats) -> Floats:
    """Return the accelerations at q (nv × nv) for unit efforts: M⁻¹, under constraints Λ (Λ' M Λ)⁻¹ Λ'.

    Λ is a basis of the velocities that the constraints admit; so coupled joints move with their whole load.
    """
    mass = mass_matrix(mechanism, q)
    if not mechanism.constraints:
        return np.asarray(np.linalg.inv(mass))

    basis = admitted_velocities(mechanism, q)
    return np.asarray(basis @ np.linalg.solve(basis.T @ mass @ basis, basis.T))


class ContactTooStiff(MachineError):
    """Springs, dampers or friction are too fast for the steps."""


def check_steps(
    file: MachineFile, mechanism: Mechanism, q: Floats, document: Document, *, offline: bool = False
) -> None:
    """Raise MachineError where a step of the plant at q (nq) would be divided into more than MOST_PARTS
    parts, unless `offline` runs choose a step of their own.

    Also where a spring is too fast for a step, which is not divided for it, and where the plant's integrator
    cannot handle contacts. Friction is judged under the machine's weight.
    """
    problems: list[Problem] = []
    if not offline:
        step = file.plant.period_s / file.plant.substeps
        problems += _too_quick(mechanism, q, step, document, file.plant.period_s)
    if file.plant.integrator == "gauss" and (mechanism.stops or mechanism.contacts):
        blind = document.problem(
            ("plant", "integrator"),
            "this integrator does not detect stops and contacts",
            found="gauss",
            allowed="adaptive_rk4, rk4, semi_implicit, where there are stops or contacts",
            remedy="write adaptive_rk4",
        )
        problems.append(blind)
    refuse(problems)


def refuse_long_steps(machine: Machine, step: float) -> None:
    """Raise TooStiffForStep where the plant of a machine needs shorter steps (s) at its initial pose."""
    mechanism = machine.plant_mechanism
    if mechanism.stops or mechanism.contacts or mechanism.elements:
        problems = list(_too_quick(mechanism, machine.initial_q, step, machine.document))
        if problems:
            raise ContactTooStiff(problems)


def _too_quick(
    mechanism: Mechanism, q: Floats, step: float, document: Document, period: float | None = None
) -> Iterator[Problem]:
    """Return the springs, dampers and friction that are too fast for a step (s).

    The remedy names the step that would do for all, and how many there are in the plant's `period`.
    """
    quick = [one for one in _rates(mechanism, q) if one[1] * step > one[2]]
    shorter = _digits(min((most / rate for _, rate, most, *_ in quick), default=1.0), math.floor)
    how = "offline --dt"
    if period is not None:
        how = f"plant.substeps: {math.ceil(period / float(shorter))}, or a shorter plant.period_s"
    for place, rate, most, value, power in quick:
        rubs, bound = power < 0, value * (most / (rate * step)) ** power
        why = "friction rises too steeply under the machine's weight"
        yield document.problem(
            place,
            f"{why if rubs else 'this is too large for the inertia there'}, for steps of {step:g} s",
            found=f"{value:.6g}",
            allowed=f"{_digits(bound, math.ceil)} or more"
            if rubs
            else f"{_digits(bound, math.floor)} or less",
            remedy=f"{'increase' if rubs else 'reduce'} it, or take steps of {shorter} s ({how})",
        )


Rate = tuple[tuple[str, ...], float, float, float, int]


def _rates(mechanism: Mechanism, q: Floats) -> Iterator[Rate]:
    """Yield for each number of a spring, stop or contact: place, rate (1/s), its bound times a step, value,
    and the power of the rate that is proportional to the value.
    """
    for found, bounds in (
        (sides(mechanism, q), (MOST_PARTS * SPRING, MOST_PARTS * DAMPER, MOST_PARTS * RUBBING)),
        (springs(mechanism, q), (1.0, 1.0, math.inf)),
    ):
        for place, moved, ((k, stiffness), (d, damping), (slip, speed)), rubbing in found:
            yield (*place, k), math.sqrt(max(0.0, stiffness * moved)), bounds[0], stiffness, 2
            yield (*place, d), damping * moved, bounds[1], damping, 1
            yield (*place, slip), rubbing * moved / speed, bounds[2], speed, -1


def _digits(value: float, towards: Callable[[float], int]) -> str:
    """Write a bound with three digits, rounded to the safe side."""
    unit = 10.0 ** (math.floor(math.log10(value)) - 2)
    return f"{towards(value / unit) * unit:.3g}"


Key = tuple[str, float]


Side = tuple[tuple[str, ...], float, tuple[Key, Key, Key], float]


def _keys(section: type[SpringSpec | DofStop], angle: bool) -> tuple[str, str]:
    """Return the keys of stiffness and damping."""
    return section.stiffness.keys(angle)[0], section.damping.keys(angle)[0]


def springs(mechanism: Mechanism, q: Floats) -> Iterator[Side]:
    """Yield the same for each spring; its stiffness is that at q (nq)."""
    inverse = mobility(mechanism, q) if mechanism.elements else np.zeros((0, 0))
    for spring in mechanism.elements:
        if not isinstance(spring, Spring):
            continue
        row = np.zeros(mechanism.nv)
        if isinstance(spring.line, OnJoint):
            k = mechanism.joint_index(spring.line.dof)
            row[k], x = 1.0, float(q[k])
            angle = bool(mechanism.joint_is_angle[k])
        else:
            ends = (spring.line.a, spring.line.b)
            a, b = (point_position(mechanism, point, q) for point in ends)
            x, angle = float(np.linalg.norm(b - a)), False
            first, second = (point_jacobian(mechanism, point, q)[3:] for point in ends)
            row = (b - a) / max(x, 1e-12) @ (second - first)
        now = spring.stiffness + 3.0 * spring.progressive * (x - spring.rest) ** 2
        stiffness, damping = _keys(SpringSpec, angle)
        keys = (stiffness, now), (damping, spring.damping), ("", 1.0)
        yield ("springs", spring.name), max(float(row @ inverse @ row), 1e-300), keys, 0.0


def sides(mechanism: Mechanism, q: Floats) -> Iterator[Side]:
    """Yield for each stop and contact: place in the file, mobility at q (nq), its numbers by key, friction in
    N.
    """
    inverse = mobility(mechanism, q)
    weight = float(np.linalg.norm(mechanism.gravity_m_s2)) * sum(body.mass_kg for body in mechanism.bodies)
    for stop in mechanism.stops:
        owner, _, dof = stop.dof.partition(".")
        place = ("joints", owner, "stop", *([dof] if dof else []))
        k = mechanism.joint_index(stop.dof)
        first, second = _keys(DofStop, bool(mechanism.joint_is_angle[k]))
        keys = (first, stop.stiffness), (second, stop.damping), ("", 1.0)
        yield place, max(float(inverse[k, k]), 1e-300), keys, 0.0
    for c in mechanism.contacts:
        turning, jacobian = np.split(point_jacobian(mechanism, c.point, q), 2)
        if c.ball_m:
            jacobian = (
                jacobian + np.cross(c.ball_m * c.normal(point_position(mechanism, c.point, q)), turning.T).T
            )
        most = max(float(np.linalg.eigvalsh(jacobian @ inverse @ jacobian.T)[-1]), 1e-300)
        yield (
            ("contacts", c.name),
            most,
            (
                ("stiffness_N_m", c.stiffness_N_m),
                ("damping_N_s_m", c.damping_N_s_m),
                ("slip_speed_m_s", c.slip_speed_m_s),
            ),
            c.friction * weight,
        )
