"""Detect short directions of the rows that are lost because branches of the closure meet close by.

Let u be a combination of the scaled rows, |u| = 1, with |u'A| = σ small, and let the orthonormal rows of S
span the velocities that all longer directions admit. To second order the closure u'Φ is, for a displacement
x along S,

    f(x) = u'Φ + B x + ½ x'H x,      B = u'A S',      H = u'D²Φ[S', S']

Branches meet at a saddle of f at height zero: H has eigenvalues of both signs, B + x'H = 0 is solved by some
x within `REACH`, and there f(x) = u'Φ + ½ B x is zero up to `GAP`. Then motions that the kept row admits take
σ through zero. A stiff structure, whose f has no such point, keeps its row: if it admits no motion at all
there is no test, and if it moves as a part of a larger machine, H has one sign or B is not within its range.

Where prescribed values move, time is one more dimension: x then has a last component along the motion that
they ask of the longer directions, and B and H their derivatives with it.

H is found by central differences of u'A along S (error about 1e-6); only the few states that enter the
window are examined. A machine in motion arrives at the meeting along its velocity, so that x = -t v is tried
first, for all combinations at once: Hv takes two differences, those along H v show the signs. Where many
loops become flat together, as in a ladder, that decides on all of them.
"""

import math

from linkwork.arrays import Floats, Matrix
from linkwork.multibody.closure.elimination import basis_of_fronts
from linkwork.multibody.closure.factors import in_fronts
from linkwork.multibody.constraints.rows import constraint_rows
from linkwork.multibody.kernels.compiling import block, kernel, part
from linkwork.multibody.kernels.views import copy, fill
from linkwork.multibody.linalg.orthogonal import back_substitute, exchange_back, reflect, reflect_back
from linkwork.multibody.linalg.symmetric import symmetric_eigen
from linkwork.multibody.linalg.vectors import squared
from linkwork.multibody.tree.kinematics import kinematics
from linkwork.multibody.tree.rotations import move
from linkwork.multibody.workspace import Model, Workspace

STEP = 1e-3
SLOWEST = 1e-6
FEW = 16
"""Dimensions up to which H is always formed to rule a meeting out."""
INVOLVED = 1e-9
"""Share of a row in a unit combination, from which on it counts."""
REACH = 0.05
"""Farthest meeting of branches that a short direction is taken to, in scaled velocities (about radians)."""
GAP = 1e-9
"""Opening of the closure, scaled, up to which two branches meet; what corners it rounds are 5e-5 wide."""
FLATTEST = 1e-3
"""Smallest eigenvalue of H with a significant sign, as a part of the largest one: above the change by a shift
of 1e-3. The combinations of many loops bend little, each in many directions."""
ERROR = 1e-5
"""Eigenvalue of H that is above the error of its differences."""
BESIDE = 0.1
"""Share of B outside the range of H that third derivatives may explain."""
STRAIGHT = 1e-3
"""Share of B that may be left at a meeting along the velocity."""


@kernel
def lost_directions(m: Model, w: Workspace, rank: int, first: int) -> int:
    """After a QR of `rank` directions, those from `first` on short: how many are lost, held in `window`.

    Their combinations of rows (each nr) lie at its beginning. The factors and the state stay.
    """
    short, size = rank - first, m.nv - first
    span_admitted(m, w, rank, first)
    pace = 0.0
    if constraints_move(m, w):
        pace = _span_time(m, w, rank, first)
        size += 1
    combinations = block(w.combinations, 0, short, m.n_rows)
    images = block(w.images, 0, short, size)
    factored = w.factored[: m.n_rows]
    for i in range(short):
        fill(combinations[i], 0.0)
        combinations[i, first + i] = 1.0
        reflect_back(factored, w.reflected, rank, combinations[i])
        _image(m, w, combinations[i], pace, images[i])
    _separate(combinations, images)
    lost, undecided = 0, short
    if pace == 0.0:
        lost, undecided = _meeting_ahead(m, w, combinations, images)
    for i in range(lost, undecided):
        if _branches_meet(m, w, combinations[i], pace, images[i]):
            copy(combinations[i], combinations[lost])
            lost += 1
    return lost


@kernel
def span_admitted(m: Model, w: Workspace, rank: int, first: int) -> None:
    """Orthonormal rows that span the velocities admitted by the first directions of the QR, scaled.

    They are left in `span`. `rank` is that of the QR, with as many exchanges of columns; where the
    factors are in fronts, `first` is the rank.
    """
    n = m.nv
    factored = w.factored[: m.n_rows]
    fronts = in_fronts(w)
    if fronts:
        basis_of_fronts(m, w, w.span)
    for j in range(n - first):
        row = w.span[j]
        if not fronts:
            fill(row, 0.0)
            for i in range(first):
                row[i] = -factored[i, first + j]
            back_substitute(factored, first, row)
            row[first + j] = 1.0
            exchange_back(w.exchanges, rank, row)
        for _ in range(2):  # once more against round-off
            for other in range(j):
                share = 0.0
                for k in range(n):
                    share += w.span[other, k] * row[k]
                for k in range(n):
                    row[k] -= share * w.span[other, k]
            square = 0.0
            for k in range(n):
                square += row[k] * row[k]
            for k in range(n):
                row[k] /= math.sqrt(square)


@part
def constraints_move(m: Model, w: Workspace) -> bool:
    """Whether prescribed values move now."""
    moves = False
    for i in range(m.n_rows):
        moves = moves or abs(m.row_scale[i] * w.explicit[i]) > SLOWEST
    return moves


@kernel
def _span_time(m: Model, w: Workspace, rank: int, first: int) -> float:
    """Add the motion that prescribed values ask for as the last row; return the time (s) of its unit."""
    n = m.nv
    factored = w.factored[: m.n_rows]
    row, right = w.span[n - first], block(w.combinations, 0, 1, m.n_rows)[0]
    for i in range(m.n_rows):
        right[i] = -m.row_scale[i] * w.explicit[i]
    reflect(factored, w.reflected, first, right)
    fill(row, 0.0)
    for i in range(first):
        row[i] = right[i]
    back_substitute(factored, first, row)
    exchange_back(w.exchanges, rank, row)
    square = 0.0
    for k in range(n):
        square += row[k] * row[k]
    speed = max(1.0, math.sqrt(square))  # no long way in time for a short one in space
    for k in range(n):
        row[k] /= speed
    return 1.0 / speed


@kernel
def _image(m: Model, w: Workspace, u: Floats, pace: float, image: Floats) -> None:
    """u'Â S', one number a row of S, as many as `image` holds; with u'Φ_t in the last where time goes too."""
    n = m.nv
    a = w.A[: m.n_rows]
    total = _scratch(w, n, m.nq + 3 * n + 1)
    fill(total, 0.0)
    for i in range(m.n_rows):
        share = u[i] * m.row_scale[i]
        if share != 0.0:
            for k in range(n):
                total[k] += share * a[i, k]
    for k in range(n):
        total[k] *= m.column_scale[k]
    for j in range(len(image)):
        image[j] = 0.0
        for k in range(n):
            image[j] += total[k] * w.span[j, k]
    if pace > 0.0:
        for i in range(m.n_rows):
            image[len(image) - 1] += pace * u[i] * m.row_scale[i] * w.explicit[i]


@part
def _separate(combinations: Matrix, images: Matrix) -> None:
    """Turn the combinations so that their images are orthogonal (one-sided Jacobi): singular directions."""
    count = images.shape[0]
    for _ in range(12):
        largest = 0.0
        for i in range(count):
            for j in range(i + 1, count):
                a = b = c = 0.0
                for k in range(images.shape[1]):
                    a += images[i, k] * images[i, k]
                    b += images[j, k] * images[j, k]
                    c += images[i, k] * images[j, k]
                if not abs(c) > 1e-14 * math.sqrt(a * b):
                    continue
                largest = max(largest, abs(c) / math.sqrt(a * b))
                ratio = (b - a) / (2.0 * c)
                tangent = math.copysign(1.0, ratio) / (abs(ratio) + math.sqrt(1.0 + ratio * ratio))
                cosine = 1.0 / math.sqrt(1.0 + tangent * tangent)
                _turn(images, i, j, cosine, tangent * cosine)
                _turn(combinations, i, j, cosine, tangent * cosine)
        if largest < 1e-9:
            break


@part
def _turn(rows: Matrix, i: int, j: int, cosine: float, sine: float) -> None:
    for k in range(rows.shape[1]):
        x, y = rows[i, k], rows[j, k]
        rows[i, k], rows[j, k] = cosine * x - sine * y, sine * x + cosine * y


@part
def _meeting_ahead(m: Model, w: Workspace, combinations: Matrix, images: Matrix) -> tuple[int, int]:
    """Sort the combinations by where branches meet along the velocity; return two ends.

    Up to the first one are those whose branches meet close by, behind the second one those whose branches
    meet farther ahead. The state stays.
    """
    n, short, size = m.nv, images.shape[0], images.shape[1]
    speed = 0.0
    for k in range(n):
        speed += squared(w.v[k] / m.column_scale[k])
    speed = math.sqrt(speed)
    first, end = 0, short
    if speed < SLOWEST:
        return first, end
    span, slopes = w.span[:size], block(w.slopes, 0, short, size)
    course, shift = block(w.course, 0, 1, size)[0], _scratch(w, n, m.nq + n)
    for j in range(size):
        course[j] = 0.0
        for k in range(n):
            course[j] += span[j, k] * w.v[k] / (m.column_scale[k] * speed)
    for k in range(n):
        shift[k] = w.v[k] / speed
    _slopes_along(m, w, combinations, 0, short, slopes)
    i = 0
    while i < end:
        u, image, slope = combinations[i], images[i], slopes[i]
        reach, height, curved = _at_the_meeting(m, w, u, image, slope, course)
        place = i
        if height < math.inf:
            share = _share_of_motion(m, w, u) / speed
            near = reach * share <= REACH
            if near and height <= GAP:
                bends = _bends_both_ways(m, w, combinations, i, image, slope, course, curved, share)
                place = first if bends else i
                first += 1 if bends else 0
            elif not near and size > FEW:
                end -= 1
                place = end
        for rows in (combinations, images, slopes):
            _swap(rows[i], rows[place])
        i += 0 if place > i else 1
    return first, end


@part
def _at_the_meeting(
    m: Model, w: Workspace, u: Floats, image: Floats, slope: Floats, course: Floats
) -> tuple[float, float, float]:
    """Return the distance |x| at which B + H x = 0 for x along v, |f| there, and v'H v.

    |f| is infinite where there is no such x. image is B, slope H v, course the unit vector of v, all along S
    (as many numbers as S has rows).
    """
    height = sigma = bend = along = ahead = curved = beside = 0.0
    for r in range(m.n_rows):
        height += u[r] * m.row_scale[r] * w.phi[r]
    for j in range(len(image)):
        sigma += image[j] * image[j]
        bend += slope[j] * slope[j]
        along += slope[j] * image[j]
        ahead += course[j] * image[j]
        curved += course[j] * slope[j]
    if not bend > ERROR * ERROR:
        return 0.0, math.inf, curved
    reach = -along / bend
    for j in range(len(image)):
        beside += squared(image[j] + reach * slope[j])
    if not beside <= STRAIGHT * STRAIGHT * sigma:
        return 0.0, math.inf, curved
    height += reach * (ahead + 0.5 * reach * curved)
    return abs(reach), abs(height), curved


@part
def _share_of_motion(m: Model, w: Workspace, u: Floats) -> float:
    """Return the length of v, scaled, in the velocities that the rows of u involve."""
    n = m.nv
    a = w.A[: m.n_rows]
    involved, square = _scratch(w, n, m.nq + 3 * n + 1), 0.0
    fill(involved, 0.0)
    for i in range(m.n_rows):
        if abs(u[i]) > INVOLVED:
            for k in range(n):
                if a[i, k] != 0.0:
                    involved[k] = 1.0
    for k in range(n):
        square += involved[k] * squared(w.v[k] / m.column_scale[k])
    return math.sqrt(square)


@part
def _bends_both_ways(
    m: Model,
    w: Workspace,
    combinations: Matrix,
    i: int,
    image: Floats,
    slope: Floats,
    course: Floats,
    curved: float,
    share: float,
) -> bool:
    """Whether H has eigenvalues of both signs in the plane of v and H v.

    There it is [[v'H v, h], [h, n'H n]], with h n the part of H v across v, and v of unit length in the share
    of the motion that counts.
    """
    n, size = m.nv, len(slope)
    span = w.span[:size]
    shift = _scratch(w, n, m.nq + n)
    normal, turned = block(w.course, size, 1, size)[0], block(w.course, 2 * size, 1, size)
    across = other = sigma = 0.0
    for j in range(size):
        normal[j] = slope[j] - curved * course[j]
        across += normal[j] * normal[j]
        sigma += image[j] * image[j]
    across = math.sqrt(across)
    if across == 0.0 or share == 0.0:
        return False
    fill(shift, 0.0)
    for j in range(size):
        normal[j] /= across
        for k in range(n):
            shift[k] += normal[j] * span[j, k] * m.column_scale[k]
    _slopes_along(m, w, combinations, i, i + 1, turned)
    for j in range(size):
        other += normal[j] * turned[0, j]
    across, curved = across / share, curved / (share * share)
    middle, spread = 0.5 * (curved + other), math.hypot(0.5 * (curved - other), across)
    least = max(ERROR, math.sqrt(sigma) / REACH, FLATTEST * (abs(middle) + spread))
    return middle + spread > least and middle - spread < -least


@part
def _scratch(w: Workspace, size: int, end: int) -> Floats:
    """Return `size` numbers of `window`, the first of them `end` places before its end."""
    numbers: Floats = block(w.window, len(w.window) - end, 1, size)[0]
    return numbers


@part
def _swap(a: Floats, b: Floats) -> None:
    for k in range(len(a)):
        a[k], b[k] = b[k], a[k]


@kernel
def _slopes_along(m: Model, w: Workspace, combinations: Matrix, begin: int, end: int, slopes: Matrix) -> None:
    """Write the derivatives of u'Â S' along the shift in scratch, for u from `begin` to `end` - 1.

    By central differences; one row of slopes for each u. The state stays.
    """
    n, nq = m.nv, m.nq
    kept, shift = _scratch(w, nq, nq), _scratch(w, n, nq + n)
    image = _scratch(w, slopes.shape[1], nq + n + slopes.shape[1])
    copy(w.q, kept)
    for i in range(slopes.shape[0]):
        fill(slopes[i], 0.0)
    for side in range(2):
        reach = STEP * (1.0 - 2.0 * side)
        copy(kept, w.q)
        move(m, w.q, shift, reach)
        kinematics(m, w)
        constraint_rows(m, w)
        for i in range(begin, end):
            _image(m, w, combinations[i], 0.0, image)
            for k in range(len(image)):
                slopes[i - begin, k] += image[k] / (2.0 * reach)
    copy(kept, w.q)
    kinematics(m, w)
    constraint_rows(m, w)


@kernel
def _branches_meet(m: Model, w: Workspace, u: Floats, pace: float, image: Floats) -> bool:
    """Whether f has a saddle at height zero close by; `image` is B."""
    size = len(image)
    height = sigma = 0.0
    for i in range(m.n_rows):
        height += u[i] * m.row_scale[i] * w.phi[i]
    for k in range(size):
        sigma += image[k] * image[k]
    sigma = math.sqrt(sigma)
    hessian = block(w.slopes, 0, size, size)
    vectors = block(w.course, 0, size, size)
    _second_derivatives(m, w, u, pace, hessian)
    symmetric_eigen(hessian, vectors)
    steepest = 0.0
    for j in range(size):
        steepest = max(steepest, abs(hessian[j, j]))
    flattest = max(FLATTEST * steepest, ERROR, sigma / REACH)
    up = down = False
    beside = 0.0
    for j in range(size):
        share = 0.0
        for k in range(size):
            share += vectors[j, k] * image[k]
        bend = hessian[j, j]
        if abs(bend) > flattest:
            up, down = up or bend > 0.0, down or bend < 0.0
            height -= 0.5 * share * share / bend
        else:
            beside += share * share
    return up and down and math.sqrt(beside) <= BESIDE * sigma and abs(height) <= GAP


@part
def _second_derivatives(m: Model, w: Workspace, u: Floats, pace: float, hessian: Matrix) -> None:
    """H, symmetric, by central differences of u'Â S' along the rows of S; the state stays."""
    n, size = m.nv, hessian.shape[0]
    nq = m.nq
    kept, shift = _scratch(w, nq, nq), _scratch(w, n, nq + n)
    image = _scratch(w, size, nq + n + size)
    copy(w.q, kept)
    now = w.clock[0]
    for j in range(size):
        for k in range(n):
            shift[k] = w.span[j, k] * m.column_scale[k]
        fill(hessian[j], 0.0)
        for side in range(2):
            reach = STEP * (1.0 - 2.0 * side)
            copy(kept, w.q)
            move(m, w.q, shift, reach)
            if pace > 0.0 and j == size - 1:
                w.clock[0] = now + pace * reach
            kinematics(m, w)
            constraint_rows(m, w)
            _image(m, w, u, pace, image)
            for k in range(size):
                hessian[j, k] += image[k] / (2.0 * reach)
    copy(kept, w.q)
    w.clock[0] = now
    kinematics(m, w)
    constraint_rows(m, w)
    for j in range(size):
        for k in range(j):
            hessian[j, k] = hessian[k, j] = 0.5 * (hessian[j, k] + hessian[k, j])
