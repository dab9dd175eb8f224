"""Bodies that exist: parameters with positive mass density, nearest to those of the file.

The pseudo-inertia P = [[Σ, l], [l', m]] of a body (Σ = ∫ x x' dm, l = m c) is positive definite for every
distribution of mass. P = R exp(S) R', with R R' = P of the file, keeps it so for every symmetric S. Among the
parameters that explain the efforts, the sum of the log-det divergences to the file's bodies is least.
"""

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from scipy.optimize import least_squares

from linkwork.arrays import Floats
from linkwork.identification.regressor import DynamicParameter
from linkwork.multibody.constraints import Frame
from linkwork.multibody.coordinate_scales import reach_m
from linkwork.multibody.mechanism import Mechanism

FILE_UNCERTAINTY = 1.0
"""Standard deviation of ln P of the file's bodies: thin ones with another mass centre are that far away.

A smaller one spoils what a badly excited motion shows.
"""
_FLOOR = 3e-3
"""Least ∫ x² dm of a body along any axis, as a share of m r², r its size."""
_LEAST_SIZE = 0.5
"""Least radius of the size limit, as a share of the machine's usual length."""
_OF_BALL = np.sqrt(5.0 / 3.0)
"""Radius of a solid ball over the root mean square distance of its mass from the centre."""
_PLACES = [(0, 0), (0, 1), (0, 2), (1, 1), (1, 2), (2, 2)]
_SYMMETRIC = np.triu_indices(4)
_WEIGHTS = np.where(_SYMMETRIC[0] == _SYMMETRIC[1], 1.0, np.sqrt(2.0))
_TIGHT = 20.0
"""Weight of the size limit: by how many deviations a body may exceed it by its whole size."""


_STEPS, _MOST_DAMPED = 400, 1e9
_FREE = 0.01
"""Weight of the file's friction and armature, in their usual sizes."""
_EVALUATIONS, _TOLERANCE = 2000, 1e-12
"""Most evaluations of the second search, and share of the cost below which a step is its last."""


@dataclass(frozen=True, eq=False)
class PhysicalFit:
    """Parameters (all of the list) that bodies can have; misfit: squared deviations of β per parameter."""

    values: Floats
    misfit: float


def pseudo_inertia(ten: Floats) -> Floats:
    """Return P (4 × 4) of a body from its ten parameters (10)."""
    inertia = np.zeros((3, 3))
    for (i, j), value in zip(_PLACES, ten[4:], strict=True):
        inertia[i, j] = inertia[j, i] = value
    found = np.zeros((4, 4))
    found[:3, :3] = 0.5 * np.trace(inertia) * np.eye(3) - inertia
    found[:3, 3] = found[3, :3] = ten[1:4]
    found[3, 3] = ten[0]
    return found


def ten_parameters(pseudo: Floats) -> Floats:
    """Return mass, m c and inertia (n × 10) of pseudo-inertias (n × 4 × 4)."""
    second = pseudo[:, :3, :3]
    trace = np.trace(second, axis1=1, axis2=2)
    inertia = trace[:, None, None] * np.eye(3) - second
    return np.column_stack([pseudo[:, 3, 3], pseudo[:, :3, 3], *(inertia[:, i, j] for i, j in _PLACES)])


def body_size(mechanism: Mechanism, body: str) -> tuple[Floats, float]:
    """Return centre (3) and radius (m) of a ball around what the file places on a body: its size limit.

    Its mass, as the file has it, lies inside too: a body may have a single joint and point at one place.
    """
    places = [np.zeros(3)]
    places += [np.asarray(each.at_m) for each in mechanism.joints if each.parent == body]
    places += [np.asarray(each.at_m) for each in mechanism.points if each.body == body]
    for constraint in mechanism.constraints:
        frames = [getattr(constraint, side, None) for side in ("a", "b")]
        places += [np.asarray(each.at_m) for each in frames if isinstance(each, Frame) and each.body == body]
    own = next(each for each in mechanism.bodies if each.name == body)
    com = np.asarray(own.com_m)
    points = np.array([*places, com])
    centre = 0.5 * (points.min(axis=0) + points.max(axis=0))
    radius = float(np.linalg.norm(points - centre, axis=1).max())
    about_com = 0.5 * float(np.trace(np.asarray(own.inertia_kg_m2))) / own.mass_kg if own.mass_kg else 0.0
    mass_radius = np.sqrt(about_com + float((com - centre) @ (com - centre)))
    least = _LEAST_SIZE * reach_m(mechanism) / max(1, len(mechanism.bodies))
    return centre, 1.5 * max(radius, _OF_BALL * float(mass_radius), least)


def _divergence_root(s: Floats) -> Floats:
    """Return the root of 2 (exp(s) - s - 1) with the sign of s: s near 0."""
    near = np.abs(s) < 1e-2
    small = np.where(near, s, 0.0)
    large = np.clip(np.where(near, 1.0, s), -30.0, 30.0)
    return np.where(
        near,
        small * np.sqrt(1.0 + small / 3.0 + small**2 / 12.0),
        np.sign(large) * np.sqrt(2.0 * (np.exp(large) - large - 1.0)),
    )


def _differences(s: Floats, values: Floats, slopes: Floats) -> Floats:
    """Return the divided differences (n × 4 × 4) of a function of eigenvalues s (n × 4)."""
    apart = s[:, :, None] - s[:, None, :]
    equal = np.abs(apart) < 1e-6
    mean = 0.5 * (slopes[:, :, None] + slopes[:, None, :])
    return np.where(equal, mean, (values[:, :, None] - values[:, None, :]) / np.where(equal, 1.0, apart))


def _turned(matrices: Floats) -> Floats:
    """Return the transposes (n × 4 × 4)."""
    return np.transpose(matrices, (0, 2, 1))


class _Bodies:
    """Residuals of a physical fit and their Jacobian, as functions of S of each body and other parameters.

    x: the upper triangle of S (10) of each body that has mass, then the other parameters over their scales.
    """

    def __init__(
        self, mechanism: Mechanism, parameters: Sequence[DynamicParameter], matrix: Floats, values: Floats,
        information: Floats, scales: Floats,
    ) -> None:  # fmt: skip
        self.matrix, self.wanted = matrix, values
        self.whiten = information
        self.file = np.array([each.value for each in parameters])
        names = [each.owner for each in parameters if each.kind == "inertial"][::10]
        masses = self.file[: 10 * len(names) : 10]
        moving = [k for k in range(len(names)) if masses[k] > 0.0]
        self.tens = np.array([10 * k + np.arange(10) for k in moving], dtype=np.int64).reshape(-1, 10)
        others = [k for k, each in enumerate(parameters) if each.kind != "inertial"]
        self.others = np.array(others, dtype=np.int64)
        signed = [parameters[k].kind in ("offset", "spring") for k in others]
        self.least = np.where(signed, -np.inf, 0.0)
        self.scales = scales[self.others]
        sizes = [body_size(mechanism, names[k]) for k in moving]
        self.centre = np.array([centre for centre, _ in sizes]).reshape(-1, 3)
        self.radius = np.array([radius for _, radius in sizes])
        roots = []
        for k, radius in zip(moving, self.radius, strict=True):
            pseudo = pseudo_inertia(self.file[10 * k : 10 * k + 10])
            pseudo[:3, :3] += _FLOOR * masses[k] * radius**2 * np.eye(3)
            roots.append(np.linalg.cholesky(pseudo))
        self.roots = np.array(roots).reshape(-1, 4, 4)
        self.unit = np.zeros((10, 4, 4))
        for k, (i, j) in enumerate(zip(*_SYMMETRIC, strict=True)):
            self.unit[k, i, j] = self.unit[k, j, i] = 1.0

    def parameters(self, x: Floats) -> Floats:
        """Return all parameters."""
        return self._evaluated(x)[0]

    def _evaluated(self, x: Floats) -> tuple[Floats, Floats, Floats, Floats]:
        """Return all parameters, eigenvalues (n × 4) and eigenvectors of S, and exp of the eigenvalues."""
        count = len(self.tens)
        small = np.tensordot(x[: 10 * count].reshape(count, 10), self.unit, axes=1)
        own, vectors = np.linalg.eigh(small)
        grown = np.exp(np.clip(own, -30.0, 30.0))
        middle = (vectors * grown[:, None, :]) @ _turned(vectors)
        found = self.file.copy()
        found[self.tens] = ten_parameters(self.roots @ middle @ _turned(self.roots))
        found[self.others] = x[10 * count :] * self.scales
        return found, own, vectors, grown

    def residuals(self, x: Floats) -> Floats:
        """Return the deviations of β, the divergences from the file, and the excess of the bodies' sizes."""
        found, own, vectors, _ = self._evaluated(x)
        prior = (vectors * _divergence_root(own)[:, None, :]) @ _turned(vectors)
        rest = x[10 * len(self.tens) :]
        return np.concatenate(
            [
                self.whiten @ (self.matrix @ found - self.wanted),
                (prior[:, _SYMMETRIC[0], _SYMMETRIC[1]] * _WEIGHTS).ravel() / FILE_UNCERTAINTY,
                _TIGHT * np.maximum(0.0, self._excess(found)),
                _FREE * (rest - self.file[self.others] / self.scales),
                _TIGHT * np.minimum(0.0, rest - self.least),
            ]
        )

    def jacobian(self, x: Floats) -> Floats:
        """Return the derivative of `residuals`."""
        found, own, vectors, grown = self._evaluated(x)
        count, others = len(self.tens), len(self.others)
        root = _divergence_root(own)
        rise = np.where(np.abs(own) < 1e-2, 1.0 + own / 3.0, (grown - 1.0) / np.where(root == 0.0, 1.0, root))
        growth, divergence = _differences(own, grown, grown), _differences(own, root, rise)
        slopes = np.zeros((len(self.file), 10 * count + others))
        prior = np.zeros((10 * count, 10 * count + others))
        size = np.zeros((count, 10 * count + others))
        excess = self._excess(found)
        for k in range(count):
            place, turn = slice(10 * k, 10 * k + 10), vectors[k]
            inner = turn.T @ self.unit @ turn
            moved = ten_parameters(self.roots[k] @ turn @ (growth[k] * inner) @ turn.T @ self.roots[k].T)
            slopes[self.tens[k], place] = moved.T
            far = turn @ (divergence[k] * inner) @ turn.T
            prior[place, place] = (far[:, _SYMMETRIC[0], _SYMMETRIC[1]] * _WEIGHTS).T
            if excess[k] > 0.0:
                mass = found[self.tens[k, 0]]
                allowed = mass * self.radius[k] ** 2
                size[k, place] = moved @ self._about(k) / allowed - moved[:, 0] / mass * (excess[k] + 1.0)
        slopes[self.others, 10 * count + np.arange(others)] = self.scales
        last = np.zeros((others, 10 * count + others))
        last[:, 10 * count :] = np.eye(others)
        below = x[10 * count :] < self.least
        return np.vstack(
            [
                self.whiten @ (self.matrix @ slopes),
                prior / FILE_UNCERTAINTY,
                _TIGHT * size,
                _FREE * last,
                _TIGHT * last * below[:, None],
            ]
        )

    def _about(self, k: int) -> Floats:
        """Return the weights (10) of a body's parameters in its ∫ |x - centre|² dm."""
        c = self.centre[k]
        return np.array([c @ c, *(-2.0 * c), 0.5, 0.0, 0.0, 0.5, 0.0, 0.5])

    def _excess(self, found: Floats) -> Floats:
        """Return by how much each body is larger than allowed: ∫ |x - centre|² dm / (m r²) - 1."""
        tens = found[self.tens]
        about = np.array([ten @ self._about(k) for k, ten in enumerate(tens)])
        return np.asarray(about / np.maximum(tens[:, 0] * self.radius**2, 1e-300) - 1.0)


def _least(bodies: _Bodies, x: Floats) -> Floats:
    """Return the x (parameters) with the least residuals near a start, by Levenberg & Marquardt's method."""
    damping, residual = 1e-3, bodies.residuals(x)
    for _ in range(_STEPS):
        slopes, cost = bodies.jacobian(x), float(residual @ residual)
        normal, gradient = slopes.T @ slopes, slopes.T @ residual
        diagonal = np.diag(np.maximum(np.diag(normal), 1e-6))
        while damping < _MOST_DAMPED:
            step = np.linalg.solve(normal + damping * diagonal, gradient)
            new = bodies.residuals(x - step)
            if float(new @ new) < cost:
                break
            damping *= 4.0
        else:
            return x
        x, residual, damping = x - step, new, max(0.1 * damping, 1e-9)
        if cost - float(residual @ residual) < 1e-9 * cost + 1e-11:
            return x
    return x


def physical_fit(
    mechanism: Mechanism, parameters: Sequence[DynamicParameter], matrix: Floats, values: Floats,
    information: Floats, scales: Floats,
) -> PhysicalFit:  # fmt: skip
    """Return the physical parameters nearest to the file's with matrix θ = values, weighted by `information`.

    matrix (base × parameters), values (base), information (base × base): R with R'R the inverse of their
    covariance. scales (parameters): usual size of each one that is not inertial. Friction and armature are at
    least 0.
    """
    bodies = _Bodies(mechanism, parameters, matrix, values, information, scales)
    count = 10 * len(bodies.tens)
    start = np.concatenate([np.zeros(count), bodies.file[bodies.others] / bodies.scales])
    found = least_squares(  # scaled in another way, since the valley of the least residuals is narrow
        bodies.residuals, _least(bodies, start), bodies.jacobian, x_scale="jac", max_nfev=_EVALUATIONS,
        ftol=_TOLERANCE, xtol=_TOLERANCE,
    )  # fmt: skip
    theta = bodies.parameters(found.x)
    misfit = bodies.whiten @ (matrix @ theta - values)
    return PhysicalFit(theta, float(misfit @ misfit) / max(1, len(values)))
