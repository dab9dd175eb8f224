/* A motor from outside by FMI 2.0: L di/dt = u - R i - k w, torque k i; its speed is in rpm. */
#include <math.h>
#include <stdint.h>
#include <stdlib.h>

typedef struct { double u, rpm, L, R, k, i; } motor; /* value references 0 to 5; 6 is the torque */
enum { OK, ERROR = 3 };
const char *fmi2GetTypesPlatform(void) { return "default"; }
const char *fmi2GetVersion(void) { return "2.0"; }
int fmi2SetDebugLogging(motor *m, int on, size_t n, const char *const c[]) { return OK; }
motor *fmi2Instantiate(const char *name, int kind, const char *guid, const char *folder, const void *f, int v, int l) {
    motor *m = calloc(1, sizeof *m);
    m->L = 2e-3, m->R = 0.5, m->k = 0.4;
    return m;
}
void fmi2FreeInstance(motor *m) { free(m); }
int fmi2SetupExperiment(motor *m, int t, double tolerance, double from, int s, double to) { return OK; }
int fmi2EnterInitializationMode(motor *m) { return OK; }
int fmi2ExitInitializationMode(motor *m) { return m->R > 0.0 ? OK : ERROR; }
int fmi2Terminate(motor *m) { return OK; }
int fmi2Reset(motor *m) { return OK; }
int fmi2GetReal(motor *m, const uint32_t r[], size_t n, double x[]) {
    for (size_t j = 0; j < n; j++) x[j] = r[j] == 6 ? m->k * m->i : ((double *)m)[r[j]];
    return OK;
}
int fmi2SetReal(motor *m, const uint32_t r[], size_t n, const double x[]) {
    for (size_t j = 0; j < n; j++) ((double *)m)[r[j]] = x[j];
    return OK;
}
int fmi2DoStep(motor *m, double from, double h, int last) {
    const double w = m->rpm * 3.14159265358979323846 / 30.0, end = (m->u - m->k * w) / m->R;
    m->i = end + (m->i - end) * exp(-m->R / m->L * h);
    return OK;
}
#define NOT(name) int fmi2##name(motor *m) { return ERROR; }
NOT(GetInteger) NOT(GetBoolean) NOT(GetString) NOT(SetInteger) NOT(SetBoolean) NOT(SetString) NOT(GetFMUstate)
NOT(SetFMUstate) NOT(FreeFMUstate) NOT(SerializedFMUstateSize) NOT(SerializeFMUstate) NOT(DeSerializeFMUstate)
NOT(GetDirectionalDerivative) NOT(SetRealInputDerivatives) NOT(GetRealOutputDerivatives) NOT(CancelStep) NOT(GetStatus)
NOT(GetRealStatus) NOT(GetIntegerStatus) NOT(GetBooleanStatus) NOT(GetStringStatus)
