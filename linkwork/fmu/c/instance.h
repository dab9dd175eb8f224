/* An instance of the machine: memory without pointers, which is all of its state, and the importer's logger. */
#pragma once
#include "machine.h"
#include <stddef.h>

enum status { OK, WARNING, DISCARD, ERROR }; /* as FMI 2.0 and 3.0 number them */
enum phase { INSTANTIATED, INITIALIZING, STEPPING, FAILED, TERMINATED };

typedef struct {
    char token[TOKEN_SIZE];
    int64_t phase;
    int64_t unsettled; /* start values were given that are not on the closures yet */
    int64_t stale;     /* coordinates of interest are not those of the state */
    double d[N_FLOATS];
    int64_t i[N_INTEGERS];
} state;

typedef struct instance instance;
struct instance {
    state state;
    int64_t model[MODEL_WORDS], work[WORK_WORDS], plant[PLANT_WORDS];
    void (*log)(instance *, int status, const char *text);
    void *environment, *callback;
    char *name;
};

/* What the generated machine.c has. */
extern const double first_floats[N_FLOATS];
extern const int64_t first_integers[N_INTEGERS];
extern const struct variable { int32_t place, given; } variables[N_VARIABLES];
void lay_out(instance *);

instance *make_instance(const char *name, const char *token);
void free_instance(instance *);
void reset(instance *);
int complain(instance *, const char *text);
int begin(instance *, double time);
int settled(instance *);
int get(instance *, uint32_t variable, bool boolean, double *value);
int set(instance *, uint32_t variable, bool boolean, double value);
int do_step(instance *, double from, double length);
int restore(instance *, const state *);
