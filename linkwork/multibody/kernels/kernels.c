/* What the library has once. */
#include "kernels.h"

extern object _Py_NoneStruct;
extern void Py_IncRef(object *), PyErr_SetString(void *, const char *);
struct linkwork_python linkwork_python;
object *linkwork_none(void) { Py_IncRef(&_Py_NoneStruct); return &_Py_NoneStruct; }
EXPORT void *linkwork_probe(object *a) {
    return is_array((const ndarray *)a, 0, 2) ? ((const ndarray *)a)->data : 0;
}
EXPORT const void *linkwork_probe_struct(object *a) { return ((const fields *)a)->words; }
EXPORT int64_t linkwork_allocations;
void *arena_take(arena **a, int64_t n) {
    arena *b = malloc(16 + 8 * (size_t)n);
    linkwork_allocations++;
    b->before = *a;
    *a = b;
    return (char *)b + 16;
}
object *linkwork_refuse(const char *text) {
    if (!PyErr_Occurred()) PyErr_SetString(linkwork_python.error, text);
    return 0;
}
