/* What generated files use: views of arrays, and Python's operators on numbers. */
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

#define EXPORT __attribute__((visibility("default")))
typedef struct arena { struct arena *before; } arena;
INLINE void arena_end(arena **a) { while (*a) { arena *b = (*a)->before; free(*a); *a = b; } }
void *arena_take(arena **, int64_t);
