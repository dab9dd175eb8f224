"""The control law of generated Python modules, as patterns: names between dollar signs are filled in.

The same law as in c_law.py, which has its equations.
"""

_COMMON = '''\
_WRAPS = np.array($WRAPS$)
_MOTOR = np.array($MOTORS$)


def _wanted(v, theta, J, Jdot_v, goal, goal_rate, goal_acceleration, omega, zeta):
    """What the goal coordinates' second derivatives should be, less Jdot v."""
    error = goal - theta
    for i in range(GOALS):
        if _WRAPS[i]:
            error[i] -= 2.0 * math.pi * math.floor(error[i] / (2.0 * math.pi) + 0.5)
    return goal_acceleration + 2.0 * zeta * omega * (goal_rate - J @ v) + omega * omega * error - Jdot_v


def _solve(rows, z):
    """Solve rows z = z in place; return the smallest pivot ratio, 0 where there is none."""
    least, most = math.inf, 0.0
    for k in range(GOALS):
        best = k + np.argmax(np.abs(rows[k:, k]))
        for j in range(GOALS):
            rows[k, j], rows[best, j] = rows[best, j], rows[k, j]
        z[k], z[best] = z[best], z[k]
        pivot = abs(rows[k, k])
        least, most = min(least, pivot), max(most, pivot)
        if not pivot > 0.0:
            return 0.0
        for i in range(k + 1, GOALS):
            factor = rows[i, k] / rows[k, k]
            rows[i, k + 1 :] -= factor * rows[k, k + 1 :]
            z[i] -= factor * z[k]
    for k in range(GOALS - 1, -1, -1):
        z[k] = (z[k] - np.sum(rows[k, k + 1 :] * z[k + 1 :])) / rows[k, k]
    return least / most
'''

_DOCSTRING = '''\
    """Projected inverse dynamics: writes the motors' efforts (N m or N) that make the goal coordinates obey
    eddot + 2 zeta omega edot + omega^2 e = 0 about their reference, the smallest in the metric of the motors'
    limits; friction is compensated. The file has omega = $OMEGA$ rad/s, zeta = $ZETA$.
    Returns how well the motors hold the goal coordinates; 0, and efforts of 0, where there is no solution.
    """
'''

_HEAD = """

def inverse_dynamics(q, v, $TIME$goal, goal_rate, goal_acceleration, omega, zeta, effort):
"""

_TREE = (
    _HEAD
    + _DOCSTRING
    + """\
    M, load, theta = np.empty((NV, NV)), np.empty(NV), np.empty(GOALS)
    J, Jdot_v = np.empty((GOALS, NV)), np.empty(GOALS)
    _terms($TERM_INPUTS$, M, load, theta, J, Jdot_v)
    u = _wanted(v, theta, J, Jdot_v, goal, goal_rate, goal_acceleration, omega, zeta)
    effort[:] = 0.0
    ratio = _solve(J, u)
    if not ratio > 1e-12:
        return 0.0
    force = load + M @ u
    for m in range(MOTORS):
        effort[m] = force[_MOTOR[m]]
    return ratio
"""
)

_CLOSED = (
    '''
_WEIGHT = np.array($WEIGHTS$)
_ROW_SCALE = np.array($ROW_SCALES$)
_COLUMN_SCALE = np.array($COLUMN_SCALES$)


def _reflect(S, beta, y):
    """Apply the reflections of the factorisation to y, the last one first."""
    for j in range(RANK - 1, -1, -1):
        y[j:] -= beta[j] * np.sum(S[j:, j] * y[j:]) * S[j:, j]


def _admit(A, Adot_v, basis, x):
    """A' = Q R with exchanged columns, in scaled units: basis of what A admits, x with A x = -Adot_v."""
    S, b = np.empty((NV, ROWS)), -_ROW_SCALE * Adot_v
    for i in range(ROWS):
        for c in range(NV):
            S[c, i] = _ROW_SCALE[i] * A[i, c] * _COLUMN_SCALE[c]
    above, beta, least = np.zeros((RANK, RANK)), np.empty(RANK), 0.0
    for j in range(RANK):
        best, largest = j, -1.0
        for i in range(j, ROWS):
            size = np.sum(S[j:, i] * S[j:, i])
            if size > largest:
                best, largest = i, size
        least = math.sqrt(largest)
        if not least > 1e-12:
            return 0.0
        for c in range(NV):
            S[c, j], S[c, best] = S[c, best], S[c, j]
        b[j], b[best] = b[best], b[j]
        above[:j, j] = S[:j, j]
        pivot = -least if S[j, j] > 0.0 else least
        above[j, j] = pivot
        S[j, j] -= pivot
        beta[j] = -1.0 / (pivot * S[j, j])
        for i in range(j + 1, ROWS):
            S[j:, i] -= beta[j] * np.sum(S[j:, j] * S[j:, i]) * S[j:, j]
    x[:] = 0.0
    for j in range(RANK):
        x[j] = (b[j] - np.sum(above[:j, j] * x[:j])) / above[j, j]
    _reflect(S, beta, x)
    x *= _COLUMN_SCALE
    basis[:] = 0.0
    for i in range(GOALS):
        basis[i, RANK + i] = 1.0
        _reflect(S, beta, basis[i])
        basis[i] *= _COLUMN_SCALE
    return least
'''
    + _HEAD
    + _DOCSTRING
    + """\
    M, load, A, Adot_v = np.empty((NV, NV)), np.empty(NV), np.empty((ROWS, NV)), np.empty(ROWS)
    theta, J, Jdot_v = np.empty(GOALS), np.empty((GOALS, NV)), np.empty(GOALS)
    basis, u = np.empty((GOALS, NV)), np.empty(NV)
    effort[:] = 0.0
    _terms($TERM_INPUTS$, M, load, A, Adot_v, theta, J, Jdot_v)
    if not _admit(A, Adot_v, basis, u) > 0.0:
        return 0.0
    z = _wanted(v, theta, J, Jdot_v, goal, goal_rate, goal_acceleration, omega, zeta) - J @ u
    reached = _solve(J @ basis.T, z)
    if not reached > 1e-12:
        return 0.0
    u += z @ basis
    needed = basis @ (load + M @ u)
    share = np.empty((GOALS, MOTORS))
    for m in range(MOTORS):
        share[:, m] = basis[:, _MOTOR[m]]
    held = _solve((share * _WEIGHT) @ share.T, needed)
    if not held > 1e-12:
        return 0.0
    effort[:] = _WEIGHT * (needed @ share)
    return min(held, reached)
"""
)

LAW = {"tree": _COMMON + _TREE, "closed": _COMMON + _CLOSED}
