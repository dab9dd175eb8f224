/* What generated files use: views of arrays, Python's operators on numbers, and the border to Python. */
#pragma once
#include <math.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdlib.h>

#define INLINE static inline __attribute__((always_inline, unused))
typedef struct { double *p; int64_t n; } f1;
typedef struct { double *p; int64_t n, m; } f2;
typedef struct { double *p; int64_t n, m, l; } f3;
typedef struct { int64_t *p; int64_t n; } i1;
typedef struct { int64_t *p; int64_t n, m; } i2;
typedef struct { bool *p; int64_t n; } b1;

INLINE double *at_f1(f1 a, int64_t i) { return a.p + i; }
INLINE int64_t *at_i1(i1 a, int64_t i) { return a.p + i; }
INLINE bool *at_b1(b1 a, int64_t i) { return a.p + i; }
INLINE double *at_f2(f2 a, int64_t i, int64_t j) { return a.p + i * a.m + j; }
INLINE int64_t *at_i2(i2 a, int64_t i, int64_t j) { return a.p + i * a.m + j; }
INLINE double *at_f3(f3 a, int64_t i, int64_t j, int64_t k) { return a.p + (i * a.m + j) * a.l + k; }
INLINE f1 row_f2(f2 a, int64_t i) { return (f1){a.p + i * a.m, a.m}; }
INLINE i1 row_i2(i2 a, int64_t i) { return (i1){a.p + i * a.m, a.m}; }
INLINE f2 row_f3(f3 a, int64_t i) { return (f2){a.p + i * a.m * a.l, a.m, a.l}; }
INLINE f1 row2_f3(f3 a, int64_t i, int64_t j) { return (f1){a.p + (i * a.m + j) * a.l, a.l}; }
INLINE f1 flat_f1(f1 a) { return a; }
INLINE i1 flat_i1(i1 a) { return a; }
INLINE f1 flat_f2(f2 a) { return (f1){a.p, a.n * a.m}; }
INLINE i1 flat_i2(i2 a) { return (i1){a.p, a.n * a.m}; }
INLINE int64_t within(int64_t i, int64_t j, int64_t n) { return (j < n ? j : n) > i ? (j < n ? j : n) - i : 0; }
INLINE f1 part_f1(f1 a, int64_t i, int64_t j) { return (f1){a.p + i, within(i, j, a.n)}; }
INLINE i1 part_i1(i1 a, int64_t i, int64_t j) { return (i1){a.p + i, within(i, j, a.n)}; }
INLINE f2 part_f2(f2 a, int64_t i, int64_t j) { return (f2){a.p + i * a.m, within(i, j, a.n), a.m}; }
/* Divided by 0, integers give 0: a matrix without columns has no rows. */
INLINE int64_t floordiv_i(int64_t a, int64_t b) {
    if (b == 0) return 0;
    return a / b - (a % b != 0 && (a < 0) != (b < 0));
}
INLINE int64_t mod_i(int64_t a, int64_t b) {
    if (b == 0) return 0;
    const int64_t r = a % b;
    return r != 0 && (r < 0) != (b < 0) ? r + b : r;
}
INLINE double mod_f(double a, double b) {
    double r = fmod(a, b);
    return r != 0.0 ? ((r < 0) != (b < 0) ? r + b : r) : copysign(0.0, b);
}
INLINE double floordiv_f(double a, double b) {
    double r = fmod(a, b), d = (a - r) / b, f;
    if (r != 0.0 && (r < 0) != (b < 0)) d -= 1.0;
    if (d == 0.0) return copysign(0.0, a / b);
    f = floor(d);
    return d - f > 0.5 ? f + 1.0 : f;
}
INLINE double max_f(double a, double b) { return b > a ? b : a; }
INLINE double min_f(double a, double b) { return b < a ? b : a; }
INLINE int64_t max_i(int64_t a, int64_t b) { return b > a ? b : a; }
INLINE int64_t min_i(int64_t a, int64_t b) { return b < a ? b : a; }
INLINE int64_t abs_i(int64_t a) { return a < 0 ? -a : a; }
INLINE double sign_f(double a) { return a > 0.0 ? 1.0 : a < 0.0 ? -1.0 : a; }

/* Python's stable interface, and numpy's public struct of an array. */
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
#define EXPORT __attribute__((visibility("default")))
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
typedef struct arena { struct arena *before; } arena;
INLINE void arena_end(arena **a) { while (*a) { arena *b = (*a)->before; free(*a); *a = b; } }
void *arena_take(arena **, int64_t);
