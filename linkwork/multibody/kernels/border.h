/* The border to Python: its stable interface, and numpy's public struct of an array. */
#pragma once
#include "kernels.h"

typedef struct object { void *head; } object;
extern object *PyFloat_FromDouble(double), *PyLong_FromLongLong(long long), *PyBool_FromLong(long);
extern double PyFloat_AsDouble(object *);
extern long long PyLong_AsLongLong(object *);
extern int PyObject_IsTrue(object *);
extern object *PyErr_Occurred(void);
extern void *PyEval_SaveThread(void), PyEval_RestoreThread(void *);
object *linkwork_none(void), *linkwork_refuse(const char *);
typedef struct { int64_t references; void *type; void *data; int32_t dimensions; int64_t *lengths, *strides;
                 void *base; const struct { void *head[3]; char kind, type, order, rest; int32_t number; } *elements;
                 int32_t flags; } ndarray;
extern EXPORT struct linkwork_python { void *array, *error, *fields; int32_t numbers[3]; } linkwork_python;
INLINE bool is_array(const ndarray *a, int32_t number, int32_t dimensions) {
    return a->type == linkwork_python.array && a->elements->number == linkwork_python.numbers[number]
        && a->elements->order != '>' && a->dimensions == dimensions && (a->flags & 0x101) == 0x101;
}
#define TAKE(kind, number, dimensions_, ...) \
    INLINE bool take_##kind(object *given, kind *to) { \
        const ndarray *a = (const ndarray *)given; \
        if (!is_array(a, number, dimensions_)) return false; \
        *to = (kind){a->data, __VA_ARGS__}; \
        return true; \
    }
TAKE(f1, 0, 1, a->lengths[0])
TAKE(f2, 0, 2, a->lengths[0], a->lengths[1])
TAKE(f3, 0, 3, a->lengths[0], a->lengths[1], a->lengths[2])
TAKE(i1, 1, 1, a->lengths[0])
TAKE(i2, 1, 2, a->lengths[0], a->lengths[1])
TAKE(b1, 2, 1, a->lengths[0])
/* An instance of Struct (structs.py): its only slot is `words`, whose first entry is the fingerprint. */
typedef struct { int64_t references; void *type; const ndarray *words; } fields;
extern int PyType_IsSubtype(void *, void *);
INLINE bool take_struct(object *given, int64_t fingerprint, const void **to) {
    const fields *a = (const fields *)given;
    if (!PyType_IsSubtype(a->type, linkwork_python.fields) || !a->words) return false;
    *to = a->words->data;
    return *(const int64_t *)a->words->data == fingerprint;
}
INLINE bool take_double(object *given, double *to) {
    *to = PyFloat_AsDouble(given);
    return *to != -1.0 || !PyErr_Occurred();
}
INLINE bool take_int64_t(object *given, int64_t *to) {
    *to = PyLong_AsLongLong(given);
    return *to != -1 || !PyErr_Occurred();
}
INLINE bool take_bool(object *given, bool *to) {
    const int is = PyObject_IsTrue(given);
    *to = is > 0;
    return is >= 0;
}
