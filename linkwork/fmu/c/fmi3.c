/* FMI 3.0 for co-simulation. Functions that this FMU does not offer return an error. */
#include "instance.h"
#include <stdlib.h>
#include <string.h>

#define FMI EXPORT
typedef void (*logger)(void *environment, int status, const char *category, const char *message);

FMI const char *fmi3GetVersion(void) { return "3.0"; }
FMI int fmi3SetDebugLogging(void *a, bool on, size_t n, const char *const categories[]) {
    (void)a, (void)on, (void)n, (void)categories;
    return OK;
}
static void logged(instance *a, int status, const char *text) {
    if (a->callback) ((logger)a->callback)(a->environment, status, "logStatusError", text);
}
FMI void *fmi3InstantiateCoSimulation(const char *name, const char *token, const char *resources, bool visible, bool logging,
                                      bool events, bool early, const uint32_t required[], size_t n, void *environment,
                                      logger log, void *intermediate) {
    (void)resources, (void)visible, (void)logging, (void)events, (void)early, (void)required, (void)n, (void)intermediate;
    instance *a = make_instance(name, token);
    if (!a) {
        if (log) log(environment, ERROR, "logStatusError", "the instantiation token is not that of this FMU");
        return 0;
    }
    a->environment = environment;
    a->callback = (void *)log;
    a->log = logged;
    return a;
}
FMI void *fmi3InstantiateModelExchange(void) { return 0; }
FMI void *fmi3InstantiateScheduledExecution(void) { return 0; }
FMI void fmi3FreeInstance(instance *a) { free_instance(a); }
FMI int fmi3EnterInitializationMode(instance *a, bool tolerant, double tolerance, double from, bool ends, double to) {
    (void)tolerant, (void)tolerance, (void)ends, (void)to;
    return begin(a, from);
}
FMI int fmi3ExitInitializationMode(instance *a) {
    const int status = settled(a);
    if (status == OK) a->state.phase = STEPPING;
    return status;
}
FMI int fmi3Terminate(instance *a) { a->state.phase = TERMINATED; return OK; }
FMI int fmi3Reset(instance *a) { reset(a); return OK; }
FMI int fmi3GetFloat64(instance *a, const uint32_t which[], size_t n, double values[], size_t count) {
    if (n != count) return complain(a, "there are as many values as value references");
    for (size_t k = 0; k < n; k++)
        if (get(a, which[k], false, &values[k]) != OK) return ERROR;
    return OK;
}
FMI int fmi3SetFloat64(instance *a, const uint32_t which[], size_t n, const double values[], size_t count) {
    if (n != count) return complain(a, "there are as many values as value references");
    for (size_t k = 0; k < n; k++)
        if (set(a, which[k], false, values[k]) != OK) return ERROR;
    return OK;
}
FMI int fmi3GetBoolean(instance *a, const uint32_t which[], size_t n, bool values[], size_t count) {
    if (n != count) return complain(a, "there are as many values as value references");
    for (size_t k = 0; k < n; k++) {
        double value = 0.0;
        if (get(a, which[k], true, &value) != OK) return ERROR;
        values[k] = value != 0.0;
    }
    return OK;
}
FMI int fmi3SetBoolean(instance *a, const uint32_t which[], size_t n, const bool values[], size_t count) {
    if (n != count) return complain(a, "there are as many values as value references");
    for (size_t k = 0; k < n; k++)
        if (set(a, which[k], true, values[k]) != OK) return ERROR;
    return OK;
}
FMI int fmi3GetFMUState(instance *a, void **kept) {
    if (!*kept) *kept = malloc(sizeof a->state);
    if (!*kept) return complain(a, "there is no memory for a state");
    memcpy(*kept, &a->state, sizeof a->state);
    return OK;
}
FMI int fmi3SetFMUState(instance *a, void *kept) { return restore(a, kept); }
FMI int fmi3FreeFMUState(instance *a, void **kept) {
    (void)a;
    if (kept) free(*kept), *kept = 0;
    return OK;
}
FMI int fmi3SerializedFMUStateSize(instance *a, void *kept, size_t *size) {
    (void)kept;
    *size = sizeof a->state;
    return OK;
}
FMI int fmi3SerializeFMUState(instance *a, void *kept, unsigned char bytes[], size_t size) {
    if (size < sizeof a->state) return complain(a, "the array is too short for a state");
    memcpy(bytes, kept, sizeof a->state);
    return OK;
}
FMI int fmi3DeserializeFMUState(instance *a, const unsigned char bytes[], size_t size, void **kept) {
    if (size != sizeof a->state || memcmp(bytes, TOKEN, sizeof TOKEN)) return complain(a, "this is no state of this FMU");
    if (!*kept) *kept = malloc(size);
    if (!*kept) return complain(a, "there is no memory for a state");
    memcpy(*kept, bytes, size);
    return OK;
}
FMI int fmi3EnterStepMode(instance *a) { (void)a; return OK; }
FMI int fmi3DoStep(instance *a, double from, double length, bool no_return, bool *event, bool *terminate, bool *early, double *reached) {
    (void)no_return;
    *event = *terminate = *early = false;
    const int status = do_step(a, from, length);
    *reached = a->state.d[AT_TIME];
    return status;
}
FMI int fmi3GetNumberOfContinuousStates(instance *a, size_t *n) { (void)a; *n = 0; return OK; }
FMI int fmi3GetNumberOfEventIndicators(instance *a, size_t *n) { (void)a; *n = 0; return OK; }
/* The remaining ones read none of their arguments but the first. */
#define REFUSED(name) FMI int fmi3##name(instance *a) { return complain(a, "fmi3" #name " is not offered by this FMU"); }
#define OF_TYPE(type) REFUSED(Get##type) REFUSED(Set##type)
OF_TYPE(Float32) OF_TYPE(Int8) OF_TYPE(UInt8) OF_TYPE(Int16) OF_TYPE(UInt16) OF_TYPE(Int32) OF_TYPE(UInt32) OF_TYPE(Int64)
OF_TYPE(UInt64) OF_TYPE(String) OF_TYPE(Binary) OF_TYPE(Clock) OF_TYPE(IntervalDecimal) OF_TYPE(IntervalFraction)
OF_TYPE(ShiftDecimal) OF_TYPE(ShiftFraction) OF_TYPE(ContinuousStates)
REFUSED(EnterEventMode) REFUSED(GetNumberOfVariableDependencies) REFUSED(GetVariableDependencies) REFUSED(GetDirectionalDerivative)
REFUSED(GetAdjointDerivative) REFUSED(EnterConfigurationMode) REFUSED(ExitConfigurationMode) REFUSED(EvaluateDiscreteStates)
REFUSED(UpdateDiscreteStates) REFUSED(EnterContinuousTimeMode) REFUSED(CompletedIntegratorStep) REFUSED(SetTime)
REFUSED(GetContinuousStateDerivatives) REFUSED(GetEventIndicators) REFUSED(GetNominalsOfContinuousStates)
REFUSED(GetOutputDerivatives) REFUSED(ActivateModelPartition)
