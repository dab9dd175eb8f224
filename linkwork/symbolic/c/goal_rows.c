/* What both laws need: rows of the goal coordinates. */

/* Solves rows z = z in place; returns the smallest pivot ratio, 0 where there is none. */
static real solve(real rows[GOALS * GOALS], real z[GOALS])
{
    real least = 0, most = 0;
    for (int k = 0; k < GOALS; ++k) {
        int best = k;
        for (int i = k + 1; i < GOALS; ++i) {
            if (fabs(rows[i * GOALS + k]) > fabs(rows[best * GOALS + k])) {
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
        const real pivot = fabs(rows[k * GOALS + k]);
        least = k == 0 || pivot < least ? pivot : least;
        most = pivot > most ? pivot : most;
        if (!(pivot > 0)) {
            return 0;
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
        real rate = 0, error = goal[i] - theta[i];
        for (int c = 0; c < NV; ++c) {
            rate += J[i * NV + c] * v[c];
        }
        if (wraps[i]) {
            error -= two_pi * floor(error / two_pi + half);
        }
        task[i] = goal_acceleration[i] + 2 * zeta * omega * (goal_rate[i] - rate) + omega * omega * error
                  - Jdot_v[i];
    }
}
