/* The control law of machines with closures. */

/* Applies the reflections of the factorisation to y, the last one first. */
static void reflect(const real S[NV * ROWS], const real beta[RANK], real y[NV])
{
    for (int j = RANK - 1; j >= 0; --j) {
        real along = 0;
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
    real least = 0;
    for (int i = 0; i < ROWS; ++i) {
        for (int c = 0; c < NV; ++c) {
            S[c * ROWS + i] = row_scale[i] * A[i * NV + c] * column_scale[c];
        }
        b[i] = -row_scale[i] * Adot_v[i];
    }
    for (int j = 0; j < RANK; ++j) {
        int best = j;
        real largest = -1;
        for (int i = j; i < ROWS; ++i) {
            real size = 0;
            for (int c = j; c < NV; ++c) {
                size += S[c * ROWS + i] * S[c * ROWS + i];
            }
            if (size > largest) {
                largest = size;
                best = i;
            }
        }
        least = sqrt(largest);
        if (!(least > lost)) {
            return 0;
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
        const real pivot = S[j * ROWS + j] > 0 ? -least : least;
        above[j * RANK + j] = pivot;
        S[j * ROWS + j] -= pivot;
        beta[j] = -1 / (pivot * S[j * ROWS + j]);
        for (int i = j + 1; i < ROWS; ++i) {
            real along = 0;
            for (int c = j; c < NV; ++c) {
                along += S[c * ROWS + j] * S[c * ROWS + i];
            }
            for (int c = j; c < NV; ++c) {
                S[c * ROWS + i] -= beta[j] * along * S[c * ROWS + j];
            }
        }
    }
    for (int j = 0; j < NV; ++j) {
        x[j] = 0;
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
            basis[i * NV + c] = 0;
        }
        basis[i * NV + RANK + i] = 1;
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

INVERSE_DYNAMICS
{
    real M[NV * NV], load[NV], A[ROWS * NV], Adot_v[ROWS];
    real theta[GOALS], J[GOALS * NV], Jdot_v[GOALS];
    real basis[GOALS * NV], u[NV], z[GOALS], rows[GOALS * GOALS];
    for (int m = 0; m < MOTORS; ++m) {
        effort[m] = 0;
    }
    terms(TERM_INPUTS, M, load, A, Adot_v, theta, J, Jdot_v);
    if (!(admit(A, Adot_v, basis, u) > 0)) {
        return 0;
    }
    wanted(v, theta, J, Jdot_v, goal, goal_rate, goal_acceleration, omega, zeta, z);
    for (int i = 0; i < GOALS; ++i) {
        for (int c = 0; c < NV; ++c) {
            z[i] -= J[i * NV + c] * u[c];
        }
        for (int j = 0; j < GOALS; ++j) {
            rows[i * GOALS + j] = 0;
            for (int c = 0; c < NV; ++c) {
                rows[i * GOALS + j] += J[i * NV + c] * basis[j * NV + c];
            }
        }
    }
    const real reached = solve(rows, z);
    if (!(reached > lost)) {
        return 0;
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
        z[i] = 0;
        for (int c = 0; c < NV; ++c) {
            z[i] += basis[i * NV + c] * load[c];
        }
        for (int j = 0; j < GOALS; ++j) {
            rows[i * GOALS + j] = 0;
            for (int m = 0; m < MOTORS; ++m) {
                const int k = motor[m];
                rows[i * GOALS + j] += basis[i * NV + k] * weight[m] * basis[j * NV + k];
            }
        }
    }
    const real held = solve(rows, z);
    if (!(held > lost)) {
        return 0;
    }
    for (int m = 0; m < MOTORS; ++m) {
        for (int i = 0; i < GOALS; ++i) {
            effort[m] += weight[m] * basis[i * NV + motor[m]] * z[i];
        }
    }
    return held < reached ? held : reached;
}
