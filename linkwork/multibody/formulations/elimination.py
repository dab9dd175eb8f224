"""QR of the scaled rows front by front, for machines with many loops: its cost grows with their number.

The plan (elimination_plan.py) says which rows and columns belong to a front. A front eliminates its *summed*
columns, which occur in no later one, the longest first, and passes its remaining rows to a later front. A
summed column of which little is left, beside its own length in Â and the front's other columns, is *delayed*:
it is passed on with the rows. A lever that is always short is not delayed; a leg that is nearly stretched is.
Rows that become zero depend on others and are dropped; summed columns that become zero are free.

    Â P = Q [[R1, R2], [0, ~0]]

holds as in rank.py, but the factors stay in the rows and columns of Â, and each front has lists of both:
first the pivots, pair by pair. All loops run over the lists. Where a pivot is short, where the number
of independent rows is not the ordinary one, or where a list is full, rank.py decides on the rank with all
rows in one piece.

The method is the multifrontal QR of Duff & Reid 1983 and Matstoms 1994, with the rank-revealing choice of
columns within each front only.
"""

import math

from linkwork.arrays import Floats, Integers
from linkwork.multibody.kernels.compiling import (
    BUFFER,
    MATRIX,
    PARAMETERS,
    TOPOLOGY,
    VECTOR,
    float64,
    int64,
    kernel,
    part,
    void,
)
from linkwork.multibody.kernels.layout import (
    COLUMN_LISTS,
    COLUMN_SCALE,
    COLUMN_SQUARES,
    FACTORED,
    FRONT_COLUMNS,
    FRONT_NUMBERS,
    FRONT_ROWS,
    FRONT_STATE_NUMBERS,
    FRONT_STATES,
    FRONTS,
    FRONTS_BEFORE,
    NV,
    REFLECTED,
    ROW_LISTS,
    ROW_SCALE,
    STAMPS,
    A,
)
from linkwork.multibody.kernels.views import fill, matrix, table, vector

COLUMN, SUMMED, END_OF_COLUMNS, ROW, END_OF_ROWS, PIVOTS, PASSED, DELAYED, ORDINAL = range(
    FRONT_STATE_NUMBERS
)
"""Columns of `FRONT_STATES`: first of the front's columns in `COLUMN_LISTS`, end of the summed ones, end;
first of its rows in `ROW_LISTS`, end; number of pivots; numbers of rows and of columns that are passed to a
later front; pivots of the earlier fronts."""
NOTHING = 1e-14
"""A summed column is free if its entries in the rows that are passed on are at most this large."""
SHORTER = 1e-2
"""Ratio of squared lengths: a summed column is delayed if its remainder is shorter than this share both of
the whole column in Â and of the longest other column of its front."""


@part
def planned(t: Integers) -> bool:
    """Return whether the plan has more than one front."""
    several: bool = t[FRONTS + 1] > t[FRONTS] + FRONT_NUMBERS
    return several


@part
def _gather(p: Floats, t: Integers, w: Floats, f: int) -> bool:
    """Begin a front: its lists, its own rows, and what the fronts before it have left. False where a list is
    full.
    """
    plan, columns, rows = table(t, FRONTS, FRONT_NUMBERS), table(t, FRONT_COLUMNS, 1), table(t, FRONT_ROWS, 1)
    before = table(t, FRONTS_BEFORE, 1)
    state, stamps = matrix(t, w, FRONT_STATES, FRONT_STATE_NUMBERS), vector(t, w, STAMPS)
    column_list, row_list = vector(t, w, COLUMN_LISTS), vector(t, w, ROW_LISTS)
    factored, a = matrix(t, w, FACTORED, t[NV]), matrix(t, w, A, t[NV])
    row_scale, column_scale = vector(t, p, ROW_SCALE), vector(t, p, COLUMN_SCALE)
    squares = vector(t, w, COLUMN_SQUARES)
    first = int(state[f - 1, END_OF_COLUMNS]) if f > 0 else 0
    first_row = int(state[f - 1, END_OF_ROWS]) if f > 0 else 0
    end, end_of_rows = first, first_row
    more_columns = plan[f, 2] - plan[f, 0]
    more_rows = plan[f, 4] - plan[f, 3]
    for k in range(plan[f, 5], plan[f, 6]):
        more_columns += int(state[before[k, 0], DELAYED])
        more_rows += int(state[before[k, 0], PASSED])
    if end + more_columns > len(column_list) or end_of_rows + more_rows > len(row_list):
        return False
    for k in range(plan[f, 0], plan[f, 1]):
        column_list[end] = columns[k, 0]
        end += 1
    for k in range(plan[f, 5], plan[f, 6]):
        other = before[k, 0]
        start = int(state[other, COLUMN]) + int(state[other, PIVOTS])
        for j in range(start, start + int(state[other, DELAYED])):
            column_list[end] = column_list[j]
            end += 1
    state[f, SUMMED] = end
    for k in range(plan[f, 1], plan[f, 2]):
        column_list[end] = columns[k, 0]
        end += 1
    for k in range(plan[f, 3], plan[f, 4]):
        i = rows[k, 0]
        row_list[end_of_rows] = i
        end_of_rows += 1
        for j in range(first, end):
            c = int(column_list[j])
            entry = row_scale[i] * a[i, c] * column_scale[c]
            factored[i, c] = entry
            squares[c] += entry * entry
    for k in range(plan[f, 5], plan[f, 6]):
        other = before[k, 0]
        for j in range(int(state[other, COLUMN]), int(state[other, END_OF_COLUMNS])):
            stamps[int(column_list[j])] = other + 1.0
        start = int(state[other, ROW]) + int(state[other, PIVOTS])
        for r in range(start, start + int(state[other, PASSED])):
            i = int(row_list[r])
            row_list[end_of_rows] = i
            end_of_rows += 1
            for j in range(first, end):
                c = int(column_list[j])
                if stamps[c] != other + 1.0:
                    factored[i, c] = 0.0
    state[f, COLUMN], state[f, END_OF_COLUMNS] = first, end
    state[f, ROW], state[f, END_OF_ROWS] = first_row, end_of_rows
    return True


@part
def _triangulate(t: Integers, w: Floats, f: int, least: float, ordinal: int) -> int:
    """Eliminate the summed columns of a front, the longest first. Return how many are eliminated."""
    state, factored = matrix(t, w, FRONT_STATES, FRONT_STATE_NUMBERS), matrix(t, w, FACTORED, t[NV])
    column_list, row_list = vector(t, w, COLUMN_LISTS), vector(t, w, ROW_LISTS)
    reflected, squares = vector(t, w, REFLECTED), vector(t, w, COLUMN_SQUARES)
    first, end = int(state[f, COLUMN]), int(state[f, END_OF_COLUMNS])
    row, end_of_rows = int(state[f, ROW]), int(state[f, END_OF_ROWS])
    summed = int(state[f, SUMMED])
    k = 0
    while first + k < summed and row + k < end_of_rows:
        best, longest, beyond = first + k, 0.0, 0.0
        for j in range(first + k, end):
            c, square = int(column_list[j]), 0.0
            for r in range(row + k, end_of_rows):
                entry = factored[int(row_list[r]), c]
                square += entry * entry
            if j >= summed:
                beyond = max(beyond, square)
            elif square > longest:
                best, longest = j, square
        length = math.sqrt(longest)
        whole = squares[int(column_list[best])]
        if not length > least or longest < SHORTER * min(beyond, whole):
            break
        column_list[first + k], column_list[best] = column_list[best], column_list[first + k]
        c, top = int(column_list[first + k]), int(row_list[row + k])
        # reflection 1 - reflected u u' with u = (1, the column below) takes the column to (-sign) its length
        to = -math.copysign(length, factored[top, c])
        factor = (to - factored[top, c]) / to
        scale = 1.0 / (factored[top, c] - to)
        for r in range(row + k + 1, end_of_rows):
            factored[int(row_list[r]), c] *= scale
        factored[top, c] = to
        reflected[ordinal + k] = factor
        for j in range(first + k + 1, end):
            b = int(column_list[j])
            share = factored[top, b]
            for r in range(row + k + 1, end_of_rows):
                i = int(row_list[r])
                share += factored[i, c] * factored[i, b]
            share *= factor
            factored[top, b] -= share
            for r in range(row + k + 1, end_of_rows):
                i = int(row_list[r])
                factored[i, b] -= share * factored[i, c]
        k += 1
    return k


@part
def _row_length(factored: Floats, i: int, column_list: Floats, first: int, end: int) -> float:
    """Return the length of row i in the listed columns."""
    square = 0.0
    for j in range(first, end):
        entry = factored[i, int(column_list[j])]
        square += entry * entry
    return math.sqrt(square)


@part
def _pass_on(t: Integers, w: Floats, f: int, goes_on: bool, drop: float) -> float:
    """Put rows and columns that are passed on first in their lists. Return the longest dropped row."""
    state, factored = matrix(t, w, FRONT_STATES, FRONT_STATE_NUMBERS), matrix(t, w, FACTORED, t[NV])
    column_list, row_list = vector(t, w, COLUMN_LISTS), vector(t, w, ROW_LISTS)
    pivots = int(state[f, PIVOTS])
    first, end = int(state[f, COLUMN]) + pivots, int(state[f, END_OF_COLUMNS])
    summed = int(state[f, SUMMED])
    row, end_of_rows = int(state[f, ROW]) + pivots, int(state[f, END_OF_ROWS])
    passed = delayed = 0
    longest = 0.0
    for r in range(row, end_of_rows):
        length = _row_length(factored, int(row_list[r]), column_list, first, end)
        if goes_on and length > drop:
            row_list[row + passed], row_list[r] = row_list[r], row_list[row + passed]
            passed += 1
        else:
            longest = max(longest, length)
    if passed > 0:
        for j in range(first, summed):
            c, most = int(column_list[j]), 0.0
            for r in range(row, row + passed):
                most = max(most, abs(factored[int(row_list[r]), c]))
            if most > NOTHING:
                column_list[first + delayed], column_list[j] = column_list[j], column_list[first + delayed]
                delayed += 1
    state[f, PASSED], state[f, DELAYED] = passed, delayed
    return longest


@kernel(int64(PARAMETERS, TOPOLOGY, BUFFER, float64, float64, float64))
def eliminate(p: Floats, t: Integers, w: Floats, least: float, drop: float, most: float) -> int:
    """After `constraint_rows`: QR of the scaled rows by the plan. Return the number of independent rows.

    least: length of the shortest pivot; drop: length of rows that go no further; most: length of rows that
    the last fronts may drop. Return -1 where rows longer than that are left, or a list is full.
    """
    plan, state = table(t, FRONTS, FRONT_NUMBERS), matrix(t, w, FRONT_STATES, FRONT_STATE_NUMBERS)
    stamps, squares = vector(t, w, STAMPS), vector(t, w, COLUMN_SQUARES)
    for k in range(t[NV]):
        stamps[k] = squares[k] = 0.0
    rank = 0
    for f in range(plan.shape[0]):
        if not _gather(p, t, w, f):
            return -1
        pivots = _triangulate(t, w, f, least, rank)
        state[f, ORDINAL], state[f, PIVOTS] = rank, pivots
        rank += pivots
        if _pass_on(t, w, f, plan[f, 7] != 0, drop) > most:
            return -1
    return rank


@kernel(void(TOPOLOGY, BUFFER, VECTOR))
def reflect_rows(t: Integers, w: Floats, b: Floats) -> None:
    """b := Q' b, for b (nr)."""
    state, factored = matrix(t, w, FRONT_STATES, FRONT_STATE_NUMBERS), matrix(t, w, FACTORED, t[NV])
    column_list, row_list = vector(t, w, COLUMN_LISTS), vector(t, w, ROW_LISTS)
    reflected = vector(t, w, REFLECTED)
    for f in range(state.shape[0]):
        first, row, end = int(state[f, COLUMN]), int(state[f, ROW]), int(state[f, END_OF_ROWS])
        for k in range(int(state[f, PIVOTS])):
            _reflect(
                factored,
                int(column_list[first + k]),
                row_list,
                row + k,
                end,
                reflected[int(state[f, ORDINAL]) + k],
                b,
            )


@kernel(void(TOPOLOGY, BUFFER, VECTOR))
def reflect_rows_back(t: Integers, w: Floats, b: Floats) -> None:
    """b := Q b, for b (nr)."""
    state, factored = matrix(t, w, FRONT_STATES, FRONT_STATE_NUMBERS), matrix(t, w, FACTORED, t[NV])
    column_list, row_list = vector(t, w, COLUMN_LISTS), vector(t, w, ROW_LISTS)
    reflected = vector(t, w, REFLECTED)
    for f in range(state.shape[0] - 1, -1, -1):
        first, row, end = int(state[f, COLUMN]), int(state[f, ROW]), int(state[f, END_OF_ROWS])
        for k in range(int(state[f, PIVOTS]) - 1, -1, -1):
            _reflect(
                factored,
                int(column_list[first + k]),
                row_list,
                row + k,
                end,
                reflected[int(state[f, ORDINAL]) + k],
                b,
            )


@part
def _reflect(
    factored: Floats, c: int, row_list: Floats, top: int, end: int, factor: float, b: Floats
) -> None:
    """Apply the reflection of a column to b (nr)."""
    at = int(row_list[top])
    share = b[at]
    for r in range(top + 1, end):
        i = int(row_list[r])
        share += factored[i, c] * b[i]
    share *= factor
    b[at] -= share
    for r in range(top + 1, end):
        i = int(row_list[r])
        b[i] -= share * factored[i, c]


@kernel(void(TOPOLOGY, BUFFER, int64, int64, VECTOR, VECTOR))
def solve_some_fronts(t: Integers, w: Floats, begin: int, end: int, y: Floats, x: Floats) -> None:
    """Complete x (nv, scaled) in the pivots of the fronts `begin` to `end` - 1, as `solve_fronts`."""
    state, factored = matrix(t, w, FRONT_STATES, FRONT_STATE_NUMBERS), matrix(t, w, FACTORED, t[NV])
    column_list, row_list = vector(t, w, COLUMN_LISTS), vector(t, w, ROW_LISTS)
    for f in range(end - 1, begin - 1, -1):
        first, last, row = int(state[f, COLUMN]), int(state[f, END_OF_COLUMNS]), int(state[f, ROW])
        for k in range(int(state[f, PIVOTS]) - 1, -1, -1):
            i = int(row_list[row + k])
            entry = y[i]
            for j in range(first + k + 1, last):
                c = int(column_list[j])
                entry -= factored[i, c] * x[c]
            c = int(column_list[first + k])
            x[c] = entry / factored[i, c]


@part
def solve_fronts(t: Integers, w: Floats, y: Floats, x: Floats) -> None:
    """Complete x (nv, scaled), whose free entries are given: R x = y, for y (nr) in rows of pivots."""
    solve_some_fronts(t, w, 0, table(t, FRONTS, FRONT_NUMBERS).shape[0], y, x)


@kernel(void(TOPOLOGY, BUFFER, VECTOR, VECTOR))
def solve_fronts_transposed(t: Integers, w: Floats, x: Floats, y: Floats) -> None:
    """y (nr) at the rows of the pivots := R1'⁻¹ x, for x (nv, scaled), which is destroyed."""
    state, factored = matrix(t, w, FRONT_STATES, FRONT_STATE_NUMBERS), matrix(t, w, FACTORED, t[NV])
    column_list, row_list = vector(t, w, COLUMN_LISTS), vector(t, w, ROW_LISTS)
    for f in range(state.shape[0]):
        first, end, row = int(state[f, COLUMN]), int(state[f, END_OF_COLUMNS]), int(state[f, ROW])
        for k in range(int(state[f, PIVOTS])):
            i, c = int(row_list[row + k]), int(column_list[first + k])
            y[i] = x[c] / factored[i, c]
            for j in range(first + k + 1, end):
                b = int(column_list[j])
                x[b] -= factored[i, b] * y[i]


@kernel(float64(TOPOLOGY, BUFFER))
def smallest_of_fronts(t: Integers, w: Floats) -> float:
    """Estimate of the smallest singular value of R1 by two steps of inverse iteration, of all clusters."""
    plan, x, y = table(t, FRONTS, FRONT_NUMBERS), vector(t, w, STAMPS)[: t[NV]], vector(t, w, STAMPS)[t[NV] :]
    state, row_list = matrix(t, w, FRONT_STATES, FRONT_STATE_NUMBERS), vector(t, w, ROW_LISTS)
    fill(y, 0.0)
    last = -1
    for f in range(state.shape[0]):
        if state[f, PIVOTS] > 0.0:
            last = int(row_list[int(state[f, ROW]) + int(state[f, PIVOTS]) - 1])
        if last >= 0 and (f + 1 == state.shape[0] or plan[f + 1, 8] != plan[f, 8]):
            y[last] = 1.0
    if last < 0:
        return 0.0
    size = 1.0
    for _ in range(2):
        fill(x, 0.0)
        solve_fronts(t, w, y, x)
        solve_fronts_transposed(t, w, x, y)
        square = 0.0
        for i in range(len(y)):
            square += y[i] * y[i]
        size = math.sqrt(square)
        for i in range(len(y)):
            y[i] /= size
    return 1.0 / math.sqrt(size)


@kernel(float64(TOPOLOGY, BUFFER, VECTOR))
def clear_dropped(t: Integers, w: Floats, b: Floats) -> float:
    """Set the entries of b (nr) in dropped rows to 0. Return the largest of them."""
    state, row_list = matrix(t, w, FRONT_STATES, FRONT_STATE_NUMBERS), vector(t, w, ROW_LISTS)
    largest = 0.0
    for f in range(state.shape[0]):
        start = int(state[f, ROW]) + int(state[f, PIVOTS]) + int(state[f, PASSED])
        for r in range(start, int(state[f, END_OF_ROWS])):
            i = int(row_list[r])
            largest = max(largest, abs(b[i]))
            b[i] = 0.0
    return largest


@kernel(float64(TOPOLOGY, BUFFER))
def dropped_by_fronts(t: Integers, w: Floats) -> float:
    """Return the length of all that fronts have dropped (scaled rows)."""
    state, factored = matrix(t, w, FRONT_STATES, FRONT_STATE_NUMBERS), matrix(t, w, FACTORED, t[NV])
    column_list, row_list = vector(t, w, COLUMN_LISTS), vector(t, w, ROW_LISTS)
    square = 0.0
    for f in range(state.shape[0]):
        start = int(state[f, ROW]) + int(state[f, PIVOTS]) + int(state[f, PASSED])
        first, end = int(state[f, COLUMN]) + int(state[f, PIVOTS]), int(state[f, END_OF_COLUMNS])
        for r in range(start, int(state[f, END_OF_ROWS])):
            square += _row_length(factored, int(row_list[r]), column_list, first, end) ** 2
    return math.sqrt(square)


@kernel(void(TOPOLOGY, BUFFER, MATRIX))
def basis_of_fronts(t: Integers, w: Floats, basis: Floats) -> None:
    """Write the admitted velocities, scaled, to the first rows of `basis` (rows × nv)."""
    plan, column_list = table(t, FRONTS, FRONT_NUMBERS), vector(t, w, COLUMN_LISTS)
    state = matrix(t, w, FRONT_STATES, FRONT_STATE_NUMBERS)
    zero = vector(t, w, STAMPS)[t[NV] :]
    fill(zero, 0.0)
    index = 0
    for f in range(state.shape[0]):
        start = int(state[f, COLUMN]) + int(state[f, PIVOTS]) + int(state[f, DELAYED])
        for j in range(start, int(state[f, SUMMED])):
            fill(basis[index], 0.0)
            basis[index, int(column_list[j])] = 1.0
            solve_some_fronts(t, w, plan[f, 8], f + 1, zero, basis[index])
            index += 1


@part
def rows_times(t: Integers, a: Floats, x: Floats, y: Floats) -> None:
    """y (nr) := a x, for x (nv) and rows a (nr × nv) with the pattern of A."""
    plan, columns, rows = table(t, FRONTS, FRONT_NUMBERS), table(t, FRONT_COLUMNS, 1), table(t, FRONT_ROWS, 1)
    for f in range(plan.shape[0]):
        for r in range(plan[f, 3], plan[f, 4]):
            total = 0.0
            for j in range(plan[f, 0], plan[f, 2]):
                total += a[rows[r, 0], columns[j, 0]] * x[columns[j, 0]]
            y[rows[r, 0]] = total


@part
def add_transposed(t: Integers, a: Floats, multipliers: Floats, force: Floats) -> None:
    """force (nv) += a' multipliers, for multipliers (nr) and rows a (nr × nv) with the pattern of A."""
    plan, columns, rows = table(t, FRONTS, FRONT_NUMBERS), table(t, FRONT_COLUMNS, 1), table(t, FRONT_ROWS, 1)
    for f in range(plan.shape[0]):
        for r in range(plan[f, 3], plan[f, 4]):
            i = rows[r, 0]
            for j in range(plan[f, 0], plan[f, 2]):
                force[columns[j, 0]] += a[i, columns[j, 0]] * multipliers[i]


@part
def rows_both_ways(
    t: Integers, a: Floats, x: Floats, y: Floats, multipliers: Floats, force: Floats
) -> None:  # fmt: skip
    """y (nr) := a x and force (nv) += a' multipliers, for rows a (nr × nv) with the pattern of A."""
    plan, columns, rows = table(t, FRONTS, FRONT_NUMBERS), table(t, FRONT_COLUMNS, 1), table(t, FRONT_ROWS, 1)
    for f in range(plan.shape[0]):
        for r in range(plan[f, 3], plan[f, 4]):
            i, total = rows[r, 0], 0.0
            for j in range(plan[f, 0], plan[f, 2]):
                c = columns[j, 0]
                total += a[i, c] * x[c]
                force[c] += a[i, c] * multipliers[i]
            y[i] = total


@part
def copy_rows(p: Floats, t: Integers, w: Floats, scaled: Floats) -> None:
    """Write the scaled rows to `scaled` (nr × nv), which has entries in the pattern of A only."""
    plan, columns, rows = table(t, FRONTS, FRONT_NUMBERS), table(t, FRONT_COLUMNS, 1), table(t, FRONT_ROWS, 1)
    a, row_scale, column_scale = matrix(t, w, A, t[NV]), vector(t, p, ROW_SCALE), vector(t, p, COLUMN_SCALE)
    for f in range(plan.shape[0]):
        for r in range(plan[f, 3], plan[f, 4]):
            i = rows[r, 0]
            for j in range(plan[f, 0], plan[f, 2]):
                k = columns[j, 0]
                scaled[i, k] = row_scale[i] * a[i, k] * column_scale[k]


@part
def rows_apart(p: Floats, t: Integers, w: Floats, scaled: Floats) -> float:
    """Return the distance of the scaled rows from others (nr × nv), over all entries of their pattern."""
    plan, columns, rows = table(t, FRONTS, FRONT_NUMBERS), table(t, FRONT_COLUMNS, 1), table(t, FRONT_ROWS, 1)
    a, row_scale, column_scale = matrix(t, w, A, t[NV]), vector(t, p, ROW_SCALE), vector(t, p, COLUMN_SCALE)
    square = 0.0
    for f in range(plan.shape[0]):
        for r in range(plan[f, 3], plan[f, 4]):
            i = rows[r, 0]
            for j in range(plan[f, 0], plan[f, 2]):
                k = columns[j, 0]
                square += (scaled[i, k] - row_scale[i] * a[i, k] * column_scale[k]) ** 2
    return math.sqrt(square)
