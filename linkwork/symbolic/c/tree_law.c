/* The control law of machines without closures. */

INVERSE_DYNAMICS
{
    real M[NV * NV], load[NV], theta[GOALS], J[GOALS * NV], Jdot_v[GOALS];
    real u[GOALS];
    terms(TERM_INPUTS, M, load, theta, J, Jdot_v);
    wanted(v, theta, J, Jdot_v, goal, goal_rate, goal_acceleration, omega, zeta, u);
    const real ratio = solve(J, u);
    for (int m = 0; m < MOTORS; ++m) {
        const int k = motor[m];
        effort[m] = 0;
        if (ratio > lost) {
            effort[m] = load[k];
            for (int c = 0; c < NV; ++c) {
                effort[m] += M[k * NV + c] * u[c];
            }
        }
    }
    return ratio > lost ? ratio : 0;
}
