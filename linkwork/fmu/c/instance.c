/* What both versions of FMI ask of a machine. Nothing here is shared between instances. */
#include "instance.h"
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

void *arena_take(arena **a, int64_t n) {
    arena *b = malloc(16 + 8 * (size_t)n);
    b->before = *a;
    *a = b;
    return (char *)b + 16;
}

int complain(instance *a, const char *text) {
    if (a->log) a->log(a, ERROR, text);
    return ERROR;
}

void reset(instance *a) {
    memset(&a->state, 0, sizeof a->state);
    memcpy(a->state.token, TOKEN, sizeof TOKEN);
    memcpy(a->state.d, first_floats, sizeof first_floats);
    memcpy(a->state.i, first_integers, sizeof first_integers);
    a->state.phase = INSTANTIATED;
    a->state.stale = 1;
}

instance *make_instance(const char *name, const char *token) {
    if (!token || strcmp(token, TOKEN)) return 0;
    instance *a = calloc(1, sizeof *a);
    if (!a) return 0;
    a->name = strdup(name ? name : "");
    reset(a);
    lay_out(a);
    return a;
}

void free_instance(instance *a) {
    if (a) free(a->name);
    free(a);
}

int begin(instance *a, double time) {
    if (a->state.phase != INSTANTIATED) return complain(a, "initialization begins once, after instantiation or reset");
    a->state.phase = INITIALIZING;
    a->state.d[AT_TIME] = a->state.d[AT_CLOCK] = a->state.d[AT_CLOCK + 1] = time;
    a->state.unsettled |= time != 0.0;
    return OK;
}

/* The kernels (kernels.c). Structs are words: addresses, lengths and numbers in turn. */
double linkwork_fmu_fmu_kernels_fmu_settle(const void *m, const void *w, f1 given, f1 start, f1 began);
bool linkwork_fmu_fmu_kernels_fmu_steps(const void *m, const void *w, const void *s, int64_t mode, bool drives, f1 effort,
                                        double dt, int64_t count);
void linkwork_fmu_fmu_kernels_fmu_look(const void *m, const void *w, f1 rates);

static bool make_steps(instance *a, double dt, int64_t count) {
    double *d = a->state.d;
    const int64_t mode = d[AT_BRAKE] != 0.0 ? MODE_BRAKE : MODE_EFFORTS;
    const f1 effort = {d + AT_EFFORT, N_MOTORS};
    return linkwork_fmu_fmu_kernels_fmu_steps(a->model, a->work, a->plant, mode, d[AT_DRIVES] != 0.0, effort, dt, count);
}

/* Bring given start values onto the closures, once. */
int settled(instance *a) {
    if (!a->state.unsettled || a->state.phase > INITIALIZING) return OK;
    a->state.unsettled = 0;
    a->state.stale = 1;
    double *d = a->state.d;
    const f1 given = {d + AT_GIVEN, N_STATES}, start = {d + AT_START, N_STATES}, began = {d + AT_BEGAN, 2 * N_STATES};
    if (linkwork_fmu_fmu_kernels_fmu_settle(a->model, a->work, given, start, began) <= SETTLED) return OK;
    return complain(a, "the constraints do not allow these start values: give fewer, or nearer to those of the file");
}

int get(instance *a, uint32_t variable, bool boolean, double *value) {
    if (variable >= N_VARIABLES) return complain(a, "there is no variable with this value reference");
    const struct variable *v = &variables[variable];
    if ((v->given & BOOLEAN) != (boolean ? BOOLEAN : 0)) return complain(a, "the variable has another type");
    if (a->state.phase == INITIALIZING) {
        const int status = settled(a);
        if (status != OK) return status;
    }
    f1 rates = {a->state.d + AT_RATES, N_COORDINATES};
    if (a->state.stale) linkwork_fmu_fmu_kernels_fmu_look(a->model, a->work, rates);
    a->state.stale = 0;
    *value = a->state.d[v->place];
    return OK;
}

int set(instance *a, uint32_t variable, bool boolean, double value) {
    if (variable >= N_VARIABLES) return complain(a, "there is no variable with this value reference");
    const struct variable *v = &variables[variable];
    if ((v->given & BOOLEAN) != (boolean ? BOOLEAN : 0)) return complain(a, "the variable has another type");
    if (v->given & OUTPUT) return complain(a, "the variable is an output, which is not set");
    if (!isfinite(value)) return complain(a, "the value is not finite");
    if ((v->given & NOT_NEGATIVE) && value < 0.0) return complain(a, "the value must not be negative");
    if (v->given & START) {
        if (a->state.phase > INITIALIZING) return complain(a, "start values are given before the first step");
        const int64_t k = v->place - AT_Q; /* q and v follow each other in the workspace */
        a->state.d[AT_GIVEN + k] = 1.0;
        a->state.d[AT_START + k] = value;
        a->state.unsettled = 1;
        return OK;
    }
    a->state.d[v->place] = value;
    a->state.stale = 1;
    return OK;
}

int do_step(instance *a, double from, double length) {
    const double now = a->state.d[AT_TIME];
    char text[160];
    if (a->state.phase != STEPPING) return complain(a, "steps are made after the initialization, and not after an error");
    if (!(length >= 0.0 && isfinite(length))) return complain(a, "a step must be positive and finite");
    if (fabs(from - now) > 1e-6 * fmax(1.0, fabs(now))) {
        snprintf(text, sizeof text, "the step begins at %.9g s, but the machine is at %.9g s", from, now);
        return complain(a, text);
    }
    const double whole = floor(length / STEP_S + ROUND_OFF);
    const double rest = length - whole * STEP_S;
    bool finite = whole == 0.0 || make_steps(a, STEP_S, (int64_t)whole);
    if (finite && rest > ROUND_OFF * STEP_S) finite = make_steps(a, rest, 1);
    a->state.d[AT_TIME] = from + length;
    a->state.stale = 1;
    if (finite) return OK;
    a->state.phase = FAILED;
    return complain(a, "the simulation diverged: its state is no longer finite");
}

int restore(instance *a, const state *from) {
    if (!from || memcmp(from->token, TOKEN, sizeof TOKEN)) return complain(a, "this is no state of this FMU");
    a->state = *from;
    return OK;
}
