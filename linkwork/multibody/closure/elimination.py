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

from linkwork.arrays import Floats, Matrix
from linkwork.multibody.kernels.compiling import kernel, part
from linkwork.multibody.kernels.layout import FRONT_STATE_NUMBERS
from linkwork.multibody.kernels.views import fill
from linkwork.multibody.linalg.vectors import squared
from linkwork.multibody.workspace import Model, Workspace

COLUMN, SUMMED, END_OF_COLUMNS, ROW, END_OF_ROWS, PIVOTS, PASSED, DELAYED, ORDINAL = range(
    FRONT_STATE_NUMBERS
)
"""Columns of `front_states`: first of the front's columns in `column_lists`, end of the summed ones, end;
first of its rows in `row_lists`, end; number of pivots; numbers of rows and of columns that are passed to a
later front; pivots of the earlier fronts."""
NOTHING = 1e-14
"""A summed column is free if its entries in the rows that are passed on are at most this large."""
SHORTER = 1e-2
"""Ratio of squared lengths: a summed column is delayed if its remainder is shorter than this share both of
the whole column in Â and of the longest other column of its front."""


@part
def planned(m: Model) -> bool:
    """Return whether the plan has more than one front."""
    return m.n_fronts > 1


@part
def _gather(m: Model, w: Workspace, f: int) -> bool:
    """Begin a front: its lists, its own rows, and what the fronts before it have left. False where a list is
    full.
    """
    first = int(w.front_states[f - 1, END_OF_COLUMNS]) if f > 0 else 0
    first_row = int(w.front_states[f - 1, END_OF_ROWS]) if f > 0 else 0
    end, end_of_rows = first, first_row
    more_columns = m.fronts[f, 2] - m.fronts[f, 0]
    more_rows = m.fronts[f, 4] - m.fronts[f, 3]
    for k in range(m.fronts[f, 5], m.fronts[f, 6]):
        more_columns += int(w.front_states[m.fronts_before[k], DELAYED])
        more_rows += int(w.front_states[m.fronts_before[k], PASSED])
    if end + more_columns > len(w.column_lists) or end_of_rows + more_rows > len(w.row_lists):
        return False
    for k in range(m.fronts[f, 0], m.fronts[f, 1]):
        w.column_lists[end] = m.front_columns[k]
        end += 1
    for k in range(m.fronts[f, 5], m.fronts[f, 6]):
        other = m.fronts_before[k]
        start = int(w.front_states[other, COLUMN]) + int(w.front_states[other, PIVOTS])
        for j in range(start, start + int(w.front_states[other, DELAYED])):
            w.column_lists[end] = w.column_lists[j]
            end += 1
    w.front_states[f, SUMMED] = end
    for k in range(m.fronts[f, 1], m.fronts[f, 2]):
        w.column_lists[end] = m.front_columns[k]
        end += 1
    for k in range(m.fronts[f, 3], m.fronts[f, 4]):
        i = m.front_rows[k]
        w.row_lists[end_of_rows] = i
        end_of_rows += 1
        for j in range(first, end):
            c = int(w.column_lists[j])
            entry = m.row_scale[i] * w.A[i, c] * m.column_scale[c]
            w.factored[i, c] = entry
            w.column_squares[c] += entry * entry
    for k in range(m.fronts[f, 5], m.fronts[f, 6]):
        other = m.fronts_before[k]
        for j in range(int(w.front_states[other, COLUMN]), int(w.front_states[other, END_OF_COLUMNS])):
            w.stamps[int(w.column_lists[j])] = other + 1.0
        start = int(w.front_states[other, ROW]) + int(w.front_states[other, PIVOTS])
        for r in range(start, start + int(w.front_states[other, PASSED])):
            i = int(w.row_lists[r])
            w.row_lists[end_of_rows] = i
            end_of_rows += 1
            for j in range(first, end):
                c = int(w.column_lists[j])
                if w.stamps[c] != other + 1.0:
                    w.factored[i, c] = 0.0
    w.front_states[f, COLUMN], w.front_states[f, END_OF_COLUMNS] = first, end
    w.front_states[f, ROW], w.front_states[f, END_OF_ROWS] = first_row, end_of_rows
    return True


@part
def _triangulate(w: Workspace, f: int, least: float, ordinal: int) -> int:
    """Eliminate the summed columns of a front, the longest first. Return how many are eliminated."""
    first, end = int(w.front_states[f, COLUMN]), int(w.front_states[f, END_OF_COLUMNS])
    row, end_of_rows = int(w.front_states[f, ROW]), int(w.front_states[f, END_OF_ROWS])
    summed = int(w.front_states[f, SUMMED])
    k = 0
    while first + k < summed and row + k < end_of_rows:
        best, longest, beyond = first + k, 0.0, 0.0
        for j in range(first + k, end):
            c, square = int(w.column_lists[j]), 0.0
            for r in range(row + k, end_of_rows):
                entry = w.factored[int(w.row_lists[r]), c]
                square += entry * entry
            if j >= summed:
                beyond = max(beyond, square)
            elif square > longest:
                best, longest = j, square
        length = math.sqrt(longest)
        whole = w.column_squares[int(w.column_lists[best])]
        if not length > least or longest < SHORTER * min(beyond, whole):
            break
        w.column_lists[first + k], w.column_lists[best] = w.column_lists[best], w.column_lists[first + k]
        c, top = int(w.column_lists[first + k]), int(w.row_lists[row + k])
        # reflection 1 - reflected u u' with u = (1, the column below) takes the column to (-sign) its length
        to = -math.copysign(length, w.factored[top, c])
        factor = (to - w.factored[top, c]) / to
        scale = 1.0 / (w.factored[top, c] - to)
        for r in range(row + k + 1, end_of_rows):
            w.factored[int(w.row_lists[r]), c] *= scale
        w.factored[top, c] = to
        w.reflected[ordinal + k] = factor
        for j in range(first + k + 1, end):
            b = int(w.column_lists[j])
            share = w.factored[top, b]
            for r in range(row + k + 1, end_of_rows):
                i = int(w.row_lists[r])
                share += w.factored[i, c] * w.factored[i, b]
            share *= factor
            w.factored[top, b] -= share
            for r in range(row + k + 1, end_of_rows):
                i = int(w.row_lists[r])
                w.factored[i, b] -= share * w.factored[i, c]
        k += 1
    return k


@part
def _row_length(factored: Matrix, i: int, column_list: Floats, first: int, end: int) -> float:
    """Return the length of row i in the listed columns."""
    square = 0.0
    for j in range(first, end):
        entry = factored[i, int(column_list[j])]
        square += entry * entry
    return math.sqrt(square)


@part
def _pass_on(w: Workspace, f: int, goes_on: bool, drop: float) -> float:
    """Put rows and columns that are passed on first in their lists. Return the longest dropped row."""
    pivots = int(w.front_states[f, PIVOTS])
    first, end = int(w.front_states[f, COLUMN]) + pivots, int(w.front_states[f, END_OF_COLUMNS])
    summed = int(w.front_states[f, SUMMED])
    row, end_of_rows = int(w.front_states[f, ROW]) + pivots, int(w.front_states[f, END_OF_ROWS])
    passed = delayed = 0
    longest = 0.0
    for r in range(row, end_of_rows):
        length = _row_length(w.factored, int(w.row_lists[r]), w.column_lists, first, end)
        if goes_on and length > drop:
            w.row_lists[row + passed], w.row_lists[r] = w.row_lists[r], w.row_lists[row + passed]
            passed += 1
        else:
            longest = max(longest, length)
    if passed > 0:
        for j in range(first, summed):
            c, most = int(w.column_lists[j]), 0.0
            for r in range(row, row + passed):
                most = max(most, abs(w.factored[int(w.row_lists[r]), c]))
            if most > NOTHING:
                w.column_lists[first + delayed], w.column_lists[j] = (
                    w.column_lists[j],
                    w.column_lists[first + delayed],
                )
                delayed += 1
    w.front_states[f, PASSED], w.front_states[f, DELAYED] = passed, delayed
    return longest


@kernel
def eliminate(m: Model, w: Workspace, least: float, drop: float, most: float) -> int:
    """After `constraint_rows`: QR of the scaled rows by the plan. Return the number of independent rows.

    least: length of the shortest pivot; drop: length of rows that go no further; most: length of rows that
    the last fronts may drop. Return -1 where rows longer than that are left, or a list is full.
    """
    for k in range(m.nv):
        w.stamps[k] = w.column_squares[k] = 0.0
    rank = 0
    for f in range(m.fronts.shape[0]):
        if not _gather(m, w, f):
            return -1
        pivots = _triangulate(w, f, least, rank)
        w.front_states[f, ORDINAL], w.front_states[f, PIVOTS] = rank, pivots
        rank += pivots
        if _pass_on(w, f, m.fronts[f, 7] != 0, drop) > most:
            return -1
    return rank


@kernel
def reflect_rows(w: Workspace, b: Floats) -> None:
    """b := Q' b, for b (nr)."""
    for f in range(w.front_states.shape[0]):
        for k in range(int(w.front_states[f, PIVOTS])):
            _reflect(w, f, k, b)


@kernel
def reflect_rows_back(w: Workspace, b: Floats) -> None:
    """b := Q b, for b (nr)."""
    for f in range(w.front_states.shape[0] - 1, -1, -1):
        for k in range(int(w.front_states[f, PIVOTS]) - 1, -1, -1):
            _reflect(w, f, k, b)


@part
def _reflect(w: Workspace, f: int, k: int, b: Floats) -> None:
    """Apply reflection k of a front to b (nr)."""
    c = int(w.column_lists[int(w.front_states[f, COLUMN]) + k])
    top, end = int(w.front_states[f, ROW]) + k, int(w.front_states[f, END_OF_ROWS])
    at = int(w.row_lists[top])
    share = b[at]
    for r in range(top + 1, end):
        i = int(w.row_lists[r])
        share += w.factored[i, c] * b[i]
    share *= w.reflected[int(w.front_states[f, ORDINAL]) + k]
    b[at] -= share
    for r in range(top + 1, end):
        i = int(w.row_lists[r])
        b[i] -= share * w.factored[i, c]


@kernel
def solve_some_fronts(w: Workspace, begin: int, end: int, y: Floats, x: Floats) -> None:
    """Complete x (nv, scaled) in the pivots of the fronts `begin` to `end` - 1, as `solve_fronts`."""
    for f in range(end - 1, begin - 1, -1):
        first, last, row = (
            int(w.front_states[f, COLUMN]),
            int(w.front_states[f, END_OF_COLUMNS]),
            int(w.front_states[f, ROW]),
        )
        for k in range(int(w.front_states[f, PIVOTS]) - 1, -1, -1):
            i = int(w.row_lists[row + k])
            entry = y[i]
            for j in range(first + k + 1, last):
                c = int(w.column_lists[j])
                entry -= w.factored[i, c] * x[c]
            c = int(w.column_lists[first + k])
            x[c] = entry / w.factored[i, c]


@part
def solve_fronts(m: Model, w: Workspace, y: Floats, x: Floats) -> None:
    """Complete x (nv, scaled), whose free entries are given: R x = y, for y (nr) in rows of pivots."""
    solve_some_fronts(w, 0, m.fronts.shape[0], y, x)


@kernel
def solve_fronts_transposed(w: Workspace, x: Floats, y: Floats) -> None:
    """y (nr) at the rows of the pivots := R1'⁻¹ x, for x (nv, scaled), which is destroyed."""
    for f in range(w.front_states.shape[0]):
        first, end, row = (
            int(w.front_states[f, COLUMN]),
            int(w.front_states[f, END_OF_COLUMNS]),
            int(w.front_states[f, ROW]),
        )
        for k in range(int(w.front_states[f, PIVOTS])):
            i, c = int(w.row_lists[row + k]), int(w.column_lists[first + k])
            y[i] = x[c] / w.factored[i, c]
            for j in range(first + k + 1, end):
                b = int(w.column_lists[j])
                x[b] -= w.factored[i, b] * y[i]


@kernel
def smallest_of_fronts(m: Model, w: Workspace) -> float:
    """Estimate of the smallest singular value of R1 by two steps of inverse iteration, of all clusters."""
    x, y = w.stamps[: m.nv], w.stamps[m.nv :]
    fill(y, 0.0)
    last = -1
    for f in range(w.front_states.shape[0]):
        if w.front_states[f, PIVOTS] > 0.0:
            last = int(w.row_lists[int(w.front_states[f, ROW]) + int(w.front_states[f, PIVOTS]) - 1])
        if last >= 0 and (f + 1 == w.front_states.shape[0] or m.fronts[f + 1, 8] != m.fronts[f, 8]):
            y[last] = 1.0
    if last < 0:
        return 0.0
    size = 1.0
    for _ in range(2):
        fill(x, 0.0)
        solve_fronts(m, w, y, x)
        solve_fronts_transposed(w, x, y)
        square = 0.0
        for i in range(len(y)):
            square += y[i] * y[i]
        size = math.sqrt(square)
        for i in range(len(y)):
            y[i] /= size
    return 1.0 / math.sqrt(size)


@kernel
def clear_dropped(w: Workspace, b: Floats) -> float:
    """Set the entries of b (nr) in dropped rows to 0. Return the largest of them."""
    largest = 0.0
    for f in range(w.front_states.shape[0]):
        start = int(w.front_states[f, ROW]) + int(w.front_states[f, PIVOTS]) + int(w.front_states[f, PASSED])
        for r in range(start, int(w.front_states[f, END_OF_ROWS])):
            i = int(w.row_lists[r])
            largest = max(largest, abs(b[i]))
            b[i] = 0.0
    return largest


@kernel
def dropped_by_fronts(w: Workspace) -> float:
    """Return the length of all that fronts have dropped (scaled rows)."""
    square = 0.0
    for f in range(w.front_states.shape[0]):
        start = int(w.front_states[f, ROW]) + int(w.front_states[f, PIVOTS]) + int(w.front_states[f, PASSED])
        first, end = (
            int(w.front_states[f, COLUMN]) + int(w.front_states[f, PIVOTS]),
            int(w.front_states[f, END_OF_COLUMNS]),
        )
        for r in range(start, int(w.front_states[f, END_OF_ROWS])):
            square += squared(_row_length(w.factored, int(w.row_lists[r]), w.column_lists, first, end))
    return math.sqrt(square)


@kernel
def basis_of_fronts(m: Model, w: Workspace, basis: Matrix) -> None:
    """Write the admitted velocities, scaled, to the first rows of `basis` (rows × nv)."""
    zero = w.stamps[m.nv :]
    fill(zero, 0.0)
    index = 0
    for f in range(w.front_states.shape[0]):
        start = (
            int(w.front_states[f, COLUMN]) + int(w.front_states[f, PIVOTS]) + int(w.front_states[f, DELAYED])
        )
        for j in range(start, int(w.front_states[f, SUMMED])):
            fill(basis[index], 0.0)
            basis[index, int(w.column_lists[j])] = 1.0
            solve_some_fronts(w, m.fronts[f, 8], f + 1, zero, basis[index])
            index += 1


@part
def rows_times(m: Model, a: Matrix, x: Floats, y: Floats) -> None:
    """y (nr) := a x, for x (nv) and rows a (nr × nv) with the pattern of A."""
    for f in range(m.fronts.shape[0]):
        for r in range(m.fronts[f, 3], m.fronts[f, 4]):
            total = 0.0
            for j in range(m.fronts[f, 0], m.fronts[f, 2]):
                total += a[m.front_rows[r], m.front_columns[j]] * x[m.front_columns[j]]
            y[m.front_rows[r]] = total


@part
def add_transposed(m: Model, a: Matrix, multipliers: Floats, force: Floats) -> None:
    """force (nv) += a' multipliers, for multipliers (nr) and rows a (nr × nv) with the pattern of A."""
    for f in range(m.fronts.shape[0]):
        for r in range(m.fronts[f, 3], m.fronts[f, 4]):
            i = m.front_rows[r]
            for j in range(m.fronts[f, 0], m.fronts[f, 2]):
                force[m.front_columns[j]] += a[i, m.front_columns[j]] * multipliers[i]


@part
def rows_both_ways(m: Model, a: Matrix, x: Floats, y: Floats, multipliers: Floats, force: Floats) -> None:
    """y (nr) := a x and force (nv) += a' multipliers, for rows a (nr × nv) with the pattern of A."""
    for f in range(m.fronts.shape[0]):
        for r in range(m.fronts[f, 3], m.fronts[f, 4]):
            i, total = m.front_rows[r], 0.0
            for j in range(m.fronts[f, 0], m.fronts[f, 2]):
                c = m.front_columns[j]
                total += a[i, c] * x[c]
                force[c] += a[i, c] * multipliers[i]
            y[i] = total


@part
def copy_rows(m: Model, w: Workspace, scaled: Matrix) -> None:
    """Write the scaled rows to `scaled` (nr × nv), which has entries in the pattern of A only."""
    for f in range(m.fronts.shape[0]):
        for r in range(m.fronts[f, 3], m.fronts[f, 4]):
            i = m.front_rows[r]
            for j in range(m.fronts[f, 0], m.fronts[f, 2]):
                k = m.front_columns[j]
                scaled[i, k] = m.row_scale[i] * w.A[i, k] * m.column_scale[k]


@part
def rows_apart(m: Model, w: Workspace, scaled: Matrix) -> float:
    """Return the distance of the scaled rows from others (nr × nv), over all entries of their pattern."""
    square = 0.0
    for f in range(m.fronts.shape[0]):
        for r in range(m.fronts[f, 3], m.fronts[f, 4]):
            i = m.front_rows[r]
            for j in range(m.fronts[f, 0], m.fronts[f, 2]):
                k = m.front_columns[j]
                square += squared(scaled[i, k] - m.row_scale[i] * w.A[i, k] * m.column_scale[k])
    return math.sqrt(square)
