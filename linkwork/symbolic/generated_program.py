"""Contents of a generated program: functions of q, v and time, and the numbers of its control law.

The specification is the same for every language; c_source.py and python_source.py write it down.
"""

from dataclasses import dataclass

import sympy as sp

from linkwork.multibody.mechanism import Mechanism
from linkwork.symbolic.operation_tape import Definition, Expression, exact
from linkwork.symbolic.symbolic_model import NamedResult, SymbolicModel
from linkwork.symbolic.sympy_formulas import TIME


@dataclass(frozen=True)
class Drive:
    """The control law of one machine: projected inverse dynamics in `goals`, on motors only.

    goals: indices of the goal coordinates, as many as the machine has degrees of freedom; motors: indices
    into v, and the weight of each (its largest effort, squared); `dof` of the machine; gains of the feedback.
    """

    goals: tuple[int, ...]
    motors: tuple[int, ...]
    weights: tuple[float, ...]
    dof: int
    bandwidth_rad_s: float
    damping_ratio: float


@dataclass(frozen=True)
class Function:
    """A function of the inputs it reads, in this order; it writes each part into an array."""

    name: str
    about: str
    inputs: tuple[str, ...]
    definitions: list[Definition]
    parts: tuple[NamedResult, ...]


@dataclass(frozen=True)
class GeneratedProgram:
    """Everything about a mechanism that a generated program needs; sizes are those of its arrays."""

    name: str
    about: str
    model: SymbolicModel
    functions: tuple[Function, ...]
    terms: Function | None
    drive: Drive | None

    @property
    def sizes(self) -> dict[str, int]:
        """Counts by name: NQ, NV, rows, coordinates of interest, points."""
        m = self.model.mechanism
        counts = {
            "NQ": m.nq,
            "NV": m.nv,
            "ROWS": len(m.row_names),
            "COORDINATES": len(m.coordinate_names),
            "POINTS": len(m.point_names),
        }
        if self.drive is not None:
            counts |= {
                "GOALS": len(self.drive.goals),
                "MOTORS": len(self.drive.motors),
                "RANK": m.nv - self.drive.dof,
            }
        return counts

    def scales(self) -> tuple[list[float], list[float]]:
        """Scale factors of the rows and columns of A (`linkwork/multibody/parameters.py`)."""
        model = self.model.mechanism.model
        return model.row_scale.tolist(), model.column_scale.tolist()


_ABOUT = {
    "mass_matrix": (("M",), "The mass matrix M, armature included."),
    "bias": (
        ("h",),
        (
            "Coriolis, centrifugal and gravity terms less springs and applied forces, h: "
            "M vdot + h = effort + friction + A' lambda."
        ),
    ),
    "constraints": (
        ("phi", "A", "Adot_v"),
        "Rows of the constraints: residual phi, A, and Adot_v with A vdot = -Adot_v.",
    ),
    "coordinates": (
        ("theta", "J", "Jdot_v"),
        "Coordinates of interest theta, their Jacobian J, and Jdot_v with thetaddot = J vdot + Jdot_v.",
    ),
    "forward_kinematics": (
        ("positions", "axes"),
        "Of every point: its place in the world, and the axes of its body (columns, one after the other).",
    ),
    "dynamics": (
        ("M", "h", "A", "Adot_v"),
        "All of the dynamics together, which costs less than one by one.",
    ),
}


def program_of(model: SymbolicModel, name: str, about: str, drive: Drive | None = None) -> GeneratedProgram:
    """The program of a model; `name` begins the names of its functions."""
    parts = _parts(model)
    functions = [
        function(model, title, text, [parts[key] for key in keys if parts[key].entries])
        for title, (keys, text) in _ABOUT.items()
        if parts[keys[0]].entries
    ]
    terms = None
    if drive is not None:
        terms = function(model, "terms", "What the control law needs.", _terms(model, parts, drive))
    return GeneratedProgram(name, about, model, tuple(functions), terms, drive)


def function(model: SymbolicModel, name: str, about: str, parts: list[NamedResult]) -> Function:
    """Return a function that computes some results, with the definitions that they rest on.

    name, about: of the function in the generated file. parts: the results, in the order of its outputs.
    """
    results = [entry for part in parts for entry in part.entries]
    definitions = model.tape.needed(results)
    seen: set[Expression] = set()
    for expression in [*results, *(each.value for each in definitions)]:
        seen |= expression.free_symbols
    inputs = ["q"]
    if any(symbol in seen for symbol in model.v) or name in (
        "bias",
        "constraints",
        "coordinates",
        "dynamics",
    ):
        inputs.append("v")
    if TIME in seen or (name in ("constraints", "dynamics", "terms") and moves_with_time(model)):
        inputs.append("t")
    if name == "terms" and "v" not in inputs:
        inputs.insert(1, "v")
    return Function(name, about, tuple(inputs), definitions, tuple(parts))


def moves_with_time(model: SymbolicModel) -> bool:
    """Whether some constraint or applied force depends on time."""
    return any(
        TIME in each.value.free_symbols
        for each in model.tape.needed([*model.rows.phi, *model.rows.Adv, *model.h])
    )


def friction(mechanism: Mechanism, model: SymbolicModel) -> list[Expression]:
    """Generalized force of friction, nv: -viscous v - coulomb tanh(v / coulomb_speed)."""
    m, found = mechanism.model, []
    for speed, viscous, coulomb, scale in zip(model.v, m.viscous, m.coulomb, m.coulomb_speed, strict=True):
        force = -exact(float(viscous)) * speed
        if coulomb != 0.0:
            force -= exact(float(coulomb)) * sp.tanh(speed / exact(float(scale)))
        found.append(model.tape.put(force))
    return found


def _parts(model: SymbolicModel) -> dict[str, NamedResult]:
    parts = model.parts()
    names = model.mechanism.point_names
    axes = [x for name in names for column in model.point(name)[0] for x in column]
    parts["positions"] = NamedResult("positions", (len(names), 3), parts.pop("points").entries)
    parts["axes"] = NamedResult("axes", (len(names), 3, 3), axes)
    return parts


def _terms(model: SymbolicModel, parts: dict[str, NamedResult], drive: Drive) -> list[NamedResult]:
    nv, goals = model.mechanism.nv, drive.goals
    load = [
        model.tape.put(h - force) for h, force in zip(model.h, friction(model.mechanism, model), strict=True)
    ]
    interest = model.interest
    found = [parts["M"], NamedResult("load", (nv,), load)]
    if drive.dof < nv:
        found += [parts["A"], NamedResult("Adot_v", parts["Adot_v"].shape, _stabilised(model))]
    found += [
        NamedResult("theta", (len(goals),), [interest.theta[k] for k in goals]),
        NamedResult("J", (len(goals), nv), [entry for k in goals for entry in interest.J[k]]),
        NamedResult("Jdot_v", (len(goals),), [interest.Jdv[k] for k in goals]),
    ]
    return found


def _stabilised(model: SymbolicModel) -> list[Expression]:
    """Ȧ v with Baumgarte's terms, alpha (A v + Φ_t) + beta Φ, where the machine asks for them."""
    rows, found = model.rows, []
    settings = [each.baumgarte for each in model.mechanism.constraints for _ in each.rows]
    for k, (alpha, beta) in enumerate(settings):
        speed = sum((a * v for a, v in zip(rows.A[k], model.v, strict=True)), rows.drift[k])
        found.append(model.tape.put(rows.Adv[k] + exact(alpha) * speed + exact(beta) * rows.phi[k]))
    return found
