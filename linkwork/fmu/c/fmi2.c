/* FMI 2.0 for co-simulation. Functions that this FMU does not offer return an error. */
#include "instance.h"
#include <stdlib.h>
#include <string.h>

#define FMI EXPORT
typedef void (*logger)(void *environment, const char *name, int status, const char *category, const char *message, ...);
typedef struct { /* by the standard; memory and stepFinished are not used */
    logger log;
    void *allocate, *release, *finished, *environment;
} callbacks;

FMI const char *fmi2GetTypesPlatform(void) { return "default"; }
FMI const char *fmi2GetVersion(void) { return "2.0"; }
FMI int fmi2SetDebugLogging(void *a, int on, size_t n, const char *const categories[]) {
    (void)a, (void)on, (void)n, (void)categories;
    return OK;
}
static void logged(instance *a, int status, const char *text) {
    if (a->callback) ((logger)a->callback)(a->environment, a->name, status, "logStatusError", "%s", text);
}
FMI void *fmi2Instantiate(const char *name, int kind, const char *token, const char *resources, const callbacks *given, int visible,
                          int logging) {
    (void)resources, (void)visible, (void)logging;
    const bool stepped = kind == 1; /* fmi2CoSimulation */
    instance *a = stepped ? make_instance(name, token) : 0;
    if (!a) {
        if (given && given->log)
            given->log(given->environment, name, ERROR, "logStatusError", "%s",
                       stepped ? "the GUID is not that of this FMU" : "this FMU is for co-simulation");
        return 0;
    }
    if (given) a->environment = given->environment, a->callback = (void *)given->log;
    a->log = logged;
    return a;
}
FMI void fmi2FreeInstance(instance *a) { free_instance(a); }
FMI int fmi2SetupExperiment(instance *a, int tolerant, double tolerance, double from, int ends, double to) {
    (void)tolerant, (void)tolerance, (void)ends, (void)to;
    a->state.d[AT_TIME] = from;
    return OK;
}
FMI int fmi2EnterInitializationMode(instance *a) { return begin(a, a->state.d[AT_TIME]); }
FMI int fmi2ExitInitializationMode(instance *a) {
    const int status = settled(a);
    if (status == OK) a->state.phase = STEPPING;
    return status;
}
FMI int fmi2Terminate(instance *a) { a->state.phase = TERMINATED; return OK; }
FMI int fmi2Reset(instance *a) { reset(a); return OK; }
FMI int fmi2GetReal(instance *a, const uint32_t which[], size_t n, double values[]) {
    for (size_t k = 0; k < n; k++)
        if (get(a, which[k], false, &values[k]) != OK) return ERROR;
    return OK;
}
FMI int fmi2SetReal(instance *a, const uint32_t which[], size_t n, const double values[]) {
    for (size_t k = 0; k < n; k++)
        if (set(a, which[k], false, values[k]) != OK) return ERROR;
    return OK;
}
FMI int fmi2GetBoolean(instance *a, const uint32_t which[], size_t n, int values[]) {
    for (size_t k = 0; k < n; k++) {
        double value = 0.0;
        if (get(a, which[k], true, &value) != OK) return ERROR;
        values[k] = value != 0.0;
    }
    return OK;
}
FMI int fmi2SetBoolean(instance *a, const uint32_t which[], size_t n, const int values[]) {
    for (size_t k = 0; k < n; k++)
        if (set(a, which[k], true, values[k] != 0) != OK) return ERROR;
    return OK;
}
int fmi3GetFMUState(instance *, void **), fmi3SetFMUState(instance *, void *), fmi3FreeFMUState(instance *, void **);
int fmi3SerializedFMUStateSize(instance *, void *, size_t *), fmi3SerializeFMUState(instance *, void *, unsigned char *, size_t);
int fmi3DeserializeFMUState(instance *, const unsigned char *, size_t, void **);
FMI int fmi2GetFMUstate(instance *a, void **kept) { return fmi3GetFMUState(a, kept); }
FMI int fmi2SetFMUstate(instance *a, void *kept) { return fmi3SetFMUState(a, kept); }
FMI int fmi2FreeFMUstate(instance *a, void **kept) { return fmi3FreeFMUState(a, kept); }
FMI int fmi2SerializedFMUstateSize(instance *a, void *kept, size_t *size) { return fmi3SerializedFMUStateSize(a, kept, size); }
FMI int fmi2SerializeFMUstate(instance *a, void *kept, unsigned char bytes[], size_t size) {
    return fmi3SerializeFMUState(a, kept, bytes, size);
}
FMI int fmi2DeSerializeFMUstate(instance *a, const unsigned char bytes[], size_t size, void **kept) {
    return fmi3DeserializeFMUState(a, bytes, size, kept);
}
FMI int fmi2DoStep(instance *a, double from, double length, int no_return) {
    (void)no_return;
    return do_step(a, from, length);
}
FMI int fmi2GetRealStatus(instance *a, int kind, double *value) {
    if (kind != 2) return DISCARD; /* fmi2LastSuccessfulTime */
    *value = a->state.d[AT_TIME];
    return OK;
}
FMI int fmi2GetBooleanStatus(instance *a, int kind, int *value) {
    if (kind != 3) return DISCARD; /* fmi2Terminated */
    *value = a->state.phase == TERMINATED;
    return OK;
}
/* The remaining ones read none of their arguments but the first. */
#define REFUSED(name) FMI int fmi2##name(instance *a) { return complain(a, "fmi2" #name " is not offered by this FMU"); }
REFUSED(GetInteger) REFUSED(SetInteger) REFUSED(GetString) REFUSED(SetString) REFUSED(GetDirectionalDerivative)
REFUSED(SetRealInputDerivatives) REFUSED(GetRealOutputDerivatives) REFUSED(CancelStep) REFUSED(GetStatus)
REFUSED(GetIntegerStatus) REFUSED(GetStringStatus) REFUSED(EnterEventMode) REFUSED(NewDiscreteStates)
REFUSED(EnterContinuousTimeMode) REFUSED(CompletedIntegratorStep) REFUSED(SetTime) REFUSED(SetContinuousStates)
REFUSED(GetDerivatives) REFUSED(GetEventIndicators) REFUSED(GetContinuousStates) REFUSED(GetNominalsOfContinuousStates)
