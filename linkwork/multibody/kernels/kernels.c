/* What the library has once. */
#include "border.h"

extern object _Py_NoneStruct;
extern void Py_IncRef(object *), PyErr_SetString(void *, const char *);
struct linkwork_python linkwork_python;
object *linkwork_none(void) { Py_IncRef(&_Py_NoneStruct); return &_Py_NoneStruct; }
/* Begin with Python's types and numpy's numbers; return whether a matrix and a struct are laid out as expected. */
EXPORT int linkwork_begin(object *array, object *error, object *fields_, int32_t f, int32_t i, int32_t b,
                          object *matrix, const void *data, object *structure, const void *words) {
    linkwork_python = (struct linkwork_python){array, error, fields_, {f, i, b}};
    const ndarray *a = (const ndarray *)matrix;
    return is_array(a, 0, 2) && a->data == data && (const void *)((const fields *)structure)->words == words;
}
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
