"""The control law in C, as patterns: names between dollar signs are filled in for each machine.

The equations are those of controller/laws/pidc.py. With Λ spanning the velocities that A admits and
A x = b, u = x + Λ z meets the goal coordinates, J Λ z = task - J x, and the motors' efforts

    τ = W B' Λ (Λ' B W B' Λ)⁻¹ Λ' (M u + h - friction)

are the smallest in the metric W. Λ and x come from a pivoted QR of A', in units of comparable size; the
result does not depend on which basis is taken.
"""

_COMMON = """\
enum { $SIZES$ };

static const int wraps[GOALS] = {$WRAPS$};
static const int motor[MOTORS] = {$MOTOR_INDEX$};

/* Solves rows z = z in place; returns the smallest pivot ratio, 0 where there is none. */
static real solve(real rows[GOALS * GOALS], real z[GOALS])
{
    real least = $NONE$, most = $NONE$;
    for (int k = 0; k < GOALS; ++k) {
        int best = k;
        for (int i = k + 1; i < GOALS; ++i) {
            if ($FABS$(rows[i * GOALS + k]) > $FABS$(rows[best * GOALS + k])) {
                best = i;
            }
        }
        for (int j = 0; j < GOALS; ++j) {
            const real kept = rows[k * GOALS + j];
            rows[k * GOALS + j] = rows[best * GOALS + j];
            rows[best * GOALS + j] = kept;
        }
        const real other = z[k];
        z[k] = z[best];
        z[best] = other;
        const real pivot = $FABS$(rows[k * GOALS + k]);
        least = k == 0 || pivot < least ? pivot : least;
        most = pivot > most ? pivot : most;
        if (!(pivot > $NONE$)) {
            return $NONE$;
        }
        for (int i = k + 1; i < GOALS; ++i) {
            const real factor = rows[i * GOALS + k] / rows[k * GOALS + k];
            for (int j = k + 1; j < GOALS; ++j) {
                rows[i * GOALS + j] -= factor * rows[k * GOALS + j];
            }
            z[i] -= factor * z[k];
        }
    }
    for (int k = GOALS - 1; k >= 0; --k) {
        for (int j = k + 1; j < GOALS; ++j) {
            z[k] -= rows[k * GOALS + j] * z[j];
        }
        z[k] /= rows[k * GOALS + k];
    }
    return least / most;
}

/* What the goal coordinates' second derivatives should be, less Jdot v. */
static void wanted(const real v[NV], const real theta[GOALS], const real J[GOALS * NV],
                   const real Jdot_v[GOALS], const real goal[GOALS], const real goal_rate[GOALS],
                   const real goal_acceleration[GOALS], real omega, real zeta, real task[GOALS])
{
    for (int i = 0; i < GOALS; ++i) {
        real rate = $NONE$, error = goal[i] - theta[i];
        for (int c = 0; c < NV; ++c) {
            rate += J[i * NV + c] * v[c];
        }
        if (wraps[i]) {
            error -= $TWO_PI$ * $FLOOR$(error / $TWO_PI$ + $HALF$);
        }
        task[i] = goal_acceleration[i] + $TWO$ * zeta * omega * (goal_rate[i] - rate) + omega * omega * error
                  - Jdot_v[i];
    }
}
"""

_TREE = """
$SIGNATURE$
{
    real M[NV * NV], load[NV], theta[GOALS], J[GOALS * NV], Jdot_v[GOALS];
    real u[GOALS];
    terms($TERM_INPUTS$, M, load, theta, J, Jdot_v);
    wanted(v, theta, J, Jdot_v, goal, goal_rate, goal_acceleration, omega, zeta, u);
    const real ratio = solve(J, u);
    for (int m = 0; m < MOTORS; ++m) {
        const int k = motor[m];
        effort[m] = $NONE$;
        if (ratio > $LOST$) {
            effort[m] = load[k];
            for (int c = 0; c < NV; ++c) {
                effort[m] += M[k * NV + c] * u[c];
            }
        }
    }
    return ratio > $LOST$ ? ratio : $NONE$;
}
"""

_CLOSED = """
static const real weight[MOTORS] = {$WEIGHTS$};
static const real row_scale[ROWS] = {$ROW_SCALES$};
static const real column_scale[NV] = {$COLUMN_SCALES$};

/* Applies the reflections of the factorisation to y, the last one first. */
static void reflect(const real S[NV * ROWS], const real beta[RANK], real y[NV])
{
    for (int j = RANK - 1; j >= 0; --j) {
        real along = $NONE$;
        for (int c = j; c < NV; ++c) {
            along += S[c * ROWS + j] * y[c];
        }
        for (int c = j; c < NV; ++c) {
            y[c] -= beta[j] * along * S[c * ROWS + j];
        }
    }
}

/* A' = Q R with exchanged columns, in scaled units: a basis of what A admits (row by row) from the last
   columns of Q, and an x with A x = -Adot_v. Returns the size of the smallest pivot, 0 where the rank is
   too small. */
static real admit(const real A[ROWS * NV], const real Adot_v[ROWS],
                  real basis[GOALS * NV], real x[NV])
{
    real S[NV * ROWS], b[ROWS], above[RANK * RANK], beta[RANK];
    real least = $NONE$;
    for (int i = 0; i < ROWS; ++i) {
        for (int c = 0; c < NV; ++c) {
            S[c * ROWS + i] = row_scale[i] * A[i * NV + c] * column_scale[c];
        }
        b[i] = -row_scale[i] * Adot_v[i];
    }
    for (int j = 0; j < RANK; ++j) {
        int best = j;
        real largest = -$UNIT$;
        for (int i = j; i < ROWS; ++i) {
            real size = $NONE$;
            for (int c = j; c < NV; ++c) {
                size += S[c * ROWS + i] * S[c * ROWS + i];
            }
            if (size > largest) {
                largest = size;
                best = i;
            }
        }
        least = $SQRT$(largest);
        if (!(least > $LOST$)) {
            return $NONE$;
        }
        for (int c = 0; c < NV; ++c) {
            const real kept = S[c * ROWS + j];
            S[c * ROWS + j] = S[c * ROWS + best];
            S[c * ROWS + best] = kept;
        }
        const real other = b[j];
        b[j] = b[best];
        b[best] = other;
        for (int k = 0; k < j; ++k) {
            above[k * RANK + j] = S[k * ROWS + j];
        }
        const real pivot = S[j * ROWS + j] > $NONE$ ? -least : least;
        above[j * RANK + j] = pivot;
        S[j * ROWS + j] -= pivot;
        beta[j] = -$UNIT$ / (pivot * S[j * ROWS + j]);
        for (int i = j + 1; i < ROWS; ++i) {
            real along = $NONE$;
            for (int c = j; c < NV; ++c) {
                along += S[c * ROWS + j] * S[c * ROWS + i];
            }
            for (int c = j; c < NV; ++c) {
                S[c * ROWS + i] -= beta[j] * along * S[c * ROWS + j];
            }
        }
    }
    for (int j = 0; j < NV; ++j) {
        x[j] = $NONE$;
        if (j < RANK) {
            x[j] = b[j];
            for (int k = 0; k < j; ++k) {
                x[j] -= above[k * RANK + j] * x[k];
            }
            x[j] /= above[j * RANK + j];
        }
    }
    reflect(S, beta, x);
    for (int i = 0; i < GOALS; ++i) {
        for (int c = 0; c < NV; ++c) {
            basis[i * NV + c] = c == RANK + i ? $UNIT$ : $NONE$;
        }
        reflect(S, beta, &basis[i * NV]);
        for (int c = 0; c < NV; ++c) {
            basis[i * NV + c] *= column_scale[c];
        }
    }
    for (int c = 0; c < NV; ++c) {
        x[c] *= column_scale[c];
    }
    return least;
}

$SIGNATURE$
{
    real M[NV * NV], load[NV], A[ROWS * NV], Adot_v[ROWS];
    real theta[GOALS], J[GOALS * NV], Jdot_v[GOALS];
    real basis[GOALS * NV], u[NV], z[GOALS], rows[GOALS * GOALS];
    for (int m = 0; m < MOTORS; ++m) {
        effort[m] = $NONE$;
    }
    terms($TERM_INPUTS$, M, load, A, Adot_v, theta, J, Jdot_v);
    if (!(admit(A, Adot_v, basis, u) > $NONE$)) {
        return $NONE$;
    }
    wanted(v, theta, J, Jdot_v, goal, goal_rate, goal_acceleration, omega, zeta, z);
    for (int i = 0; i < GOALS; ++i) {
        for (int c = 0; c < NV; ++c) {
            z[i] -= J[i * NV + c] * u[c];
        }
        for (int j = 0; j < GOALS; ++j) {
            rows[i * GOALS + j] = $NONE$;
            for (int c = 0; c < NV; ++c) {
                rows[i * GOALS + j] += J[i * NV + c] * basis[j * NV + c];
            }
        }
    }
    const real reached = solve(rows, z);
    if (!(reached > $LOST$)) {
        return $NONE$;
    }
    for (int i = 0; i < GOALS; ++i) {
        for (int c = 0; c < NV; ++c) {
            u[c] += basis[i * NV + c] * z[i];
        }
    }
    for (int c = 0; c < NV; ++c) {
        for (int d = 0; d < NV; ++d) {
            load[c] += M[c * NV + d] * u[d];
        }
    }
    for (int i = 0; i < GOALS; ++i) {
        z[i] = $NONE$;
        for (int c = 0; c < NV; ++c) {
            z[i] += basis[i * NV + c] * load[c];
        }
        for (int j = 0; j < GOALS; ++j) {
            rows[i * GOALS + j] = $NONE$;
            for (int m = 0; m < MOTORS; ++m) {
                const int k = motor[m];
                rows[i * GOALS + j] += basis[i * NV + k] * weight[m] * basis[j * NV + k];
            }
        }
    }
    const real held = solve(rows, z);
    if (!(held > $LOST$)) {
        return $NONE$;
    }
    for (int m = 0; m < MOTORS; ++m) {
        for (int i = 0; i < GOALS; ++i) {
            effort[m] += weight[m] * basis[i * NV + motor[m]] * z[i];
        }
    }
    return held < reached ? held : reached;
}
"""

LAW = {"tree": _COMMON + _TREE, "closed": _COMMON + _CLOSED}
