"""A goal as the loop follows it: one array of doubles in shared memory, read in place.

The *path parameter* s counts seconds at the goal's own speed, from 0 to the duration. At every knot of s
the block holds the goal coordinates and their derivatives with respect to s: two rows (θ, θ') where the
pieces are cubics, three (θ, θ', θ'') where they are quintics. Both are Hermite interpolation, so a piece is
known from its two ends, and neighbours agree to the last bit. Beside the path the block holds the tolerances
that the loop checks and, for windows of equal length in s, limits on the acceleration and jerk of the path
parameter.

    words 0 … 15      header, see the constants
    k                 coordinates, as indices into the mechanism's coordinate_names
    k, k              path tolerances, goal tolerances (rad or m)
    w, w, w           per window: largest -d²s/dt², largest +d²s/dt² (1/s), largest |d³s/dt³| (1/s²)
    n + 1             knots (s)
    (n + 1) rows k    θ (rad or m), θ' (per s), and θ'' (per s²) when rows is 3
    further words     the force part, if there is one (goal_force_part.py); then the action part, if there is
                      one (goal_action_part.py); then the frame part, if there is one (goal_frame_part.py);
                      then the task part, if there is one (goal_task_part.py)
"""

from collections.abc import Sequence
from typing import TypeVar

import numpy as np
from numpy.typing import NDArray

from linkwork.arrays import Floats
from linkwork.controller.exchange.goal_action_part import ActionPart
from linkwork.controller.exchange.goal_force_part import ForcePart
from linkwork.controller.exchange.goal_frame_part import FramePart
from linkwork.controller.exchange.goal_task_part import ONE_LEVEL, TaskPart
from linkwork.multibody.kernels.compiling import kernel, part

_Part = TypeVar("_Part", ForcePart, ActionPart, FramePart, TaskPart)
VERSION = 1
HEADER = 16
(
    _VERSION,
    _WORDS,
    _COORDINATES,
    _ROWS,
    _PIECES,
    _WINDOWS,
    _DURATION,
    _FULL_FROM,
    _FULL_TO,
    _GOAL_TIME,
    _FORCES,
    _ACTIONS,
    _FRAME,
    _TASK,
) = range(14)
CUBIC, QUINTIC = 2, 3
SHORTEST_PIECE_S = 1e-5
"""Below this the differences between a piece's ends would drown in round-off."""


class BlockError(ValueError):
    """The words are no block, or a block of another version; the text gives the reason."""


def block_words(coordinates: int, rows: int, pieces: int, windows: int) -> int:
    """Return the number of words of a block of this size."""
    return HEADER + 3 * coordinates + 3 * windows + (pieces + 1) * (1 + rows * coordinates)


def pack_block(
    coordinates: Sequence[int],
    knots: Floats,
    values: Floats,
    *,
    path_tolerance: Sequence[float] | Floats,
    goal_tolerance: Sequence[float] | Floats,
    goal_time_s: float,
    stopping: Floats,
    full_speed: tuple[float, float] | None = None,
    forces: ForcePart | None = None,
    actions: ActionPart | None = None,
    frame: FramePart | None = None,
    task: TaskPart = ONE_LEVEL,
) -> Floats:
    """The block's words.

    knots: n + 1 values of s, from 0 on, increasing. values: (n + 1) × rows × k, rows 2 or 3. stopping: 3 × w,
    see the layout. full_speed: where the path runs at its own speed, without lead-in and lead-out; default:
    everywhere. forces: those of the goal. actions: what it does beside moving. frame: its moving frame.
    task: what its rows leave free.
    """
    rows, count = values.shape[1], len(coordinates)
    windows = stopping.shape[1]
    pieces = len(knots) - 1
    further = forces.words() if forces is not None else np.empty(0)
    acting = actions.words() if actions is not None else np.empty(0)
    moved = frame.words() if frame is not None else np.empty(0)
    tasked = task.words() if task is not ONE_LEVEL else np.empty(0)
    more = len(further) + len(acting) + len(moved) + len(tasked)
    words = np.zeros(block_words(count, rows, pieces, windows) + more)
    first, last = full_speed or (0.0, float(knots[-1]))
    words[:14] = (
        VERSION, len(words), count, rows, pieces, windows, knots[-1], first, last, goal_time_s, len(further),
        len(acting), len(moved), len(tasked),
    )  # fmt: skip
    tables = [stopping.ravel(), knots, values.ravel(), further, acting, moved, tasked]
    words[HEADER:] = np.concatenate([coordinates, path_tolerance, goal_tolerance, *tables])
    return words


def check_block(words: Floats) -> str | None:
    """Return the first defect of a block, a flat array, or None; checks every word, `GoalBlock` the header
    alone.
    """
    try:
        block = GoalBlock(words)
    except BlockError as error:
        return str(error)
    if not np.all(np.isfinite(words)):
        return f"word {int(np.argmin(np.isfinite(words)))} is not finite"
    if block.knots[0] != 0.0 or np.any(np.diff(block.knots) <= 0.0) or block.knots[-1] != block.duration_s:
        return "the knots do not increase from 0 to the duration"
    if not np.all(words[HEADER + len(block.coordinates) : HEADER + block.tables_end] > 0.0):
        return "tolerances and stopping limits must be above 0"
    return None


@part
def hermite(
    words: Floats, left: int, stride: int, step: int, rows: int, h: float, x: float
) -> tuple[float, float, float, float]:
    """Return θ, θ', θ'', θ''' of one coordinate at x from the left end of a piece of length h.

    words: the block, a flat array. The piece's numbers are at `left` + r `step` (r-th derivative), those of
    the right end `stride` further.
    """
    right = left + stride
    d0, d1 = words[left + step], words[right + step]
    slope = (words[right] - words[left]) / h
    if rows == 2:
        c2, c3, c4, c5 = (3.0 * slope - 2.0 * d0 - d1) / h, (d0 + d1 - 2.0 * slope) / (h * h), 0.0, 0.0
    else:
        a0, a1 = words[left + 2 * step], words[right + 2 * step]
        c2 = 0.5 * a0
        c3 = (10.0 * slope - 4.0 * d1 - 6.0 * d0 - (1.5 * a0 - 0.5 * a1) * h) / (h * h)
        c4 = (-15.0 * slope + 7.0 * d1 + 8.0 * d0 + (1.5 * a0 - a1) * h) / (h * h * h)
        c5 = (6.0 * slope - 3.0 * (d0 + d1) - 0.5 * (a0 - a1) * h) / (h * h * h * h)
    return (
        words[left] + x * (d0 + x * (c2 + x * (c3 + x * (c4 + x * c5)))),
        d0 + x * (2.0 * c2 + x * (3.0 * c3 + x * (4.0 * c4 + x * 5.0 * c5))),
        2.0 * c2 + x * (6.0 * c3 + x * (12.0 * c4 + x * 20.0 * c5)),
        6.0 * c3 + x * (24.0 * c4 + x * 60.0 * c5),
    )


@part
def places(words: Floats) -> tuple[int, int, int, int, int]:
    """Return k, rows, number of pieces, start of the knots and of the values in a block, a flat array."""
    k, rows, pieces = int(words[2]), int(words[3]), int(words[4])
    knots = 16 + 3 * k + 3 * int(words[5])
    return k, rows, pieces, knots, knots + pieces + 1


@kernel
def evaluate(words: Floats, s: float, theta: Floats, d1: Floats, d2: Floats) -> None:
    """θ(s), dθ/ds and d²θ/ds² (k each). Outside [0, duration] the end's θ, at rest."""
    k, rows, pieces, knots, values = places(words)
    stride = rows * k
    if s < 0.0 or s > words[6] or s != s:
        end = values if s < 0.0 else values + pieces * stride
        for i in range(k):
            theta[i], d1[i], d2[i] = words[end + i], 0.0, 0.0
        return
    low, high = 0, pieces  # the piece whose knots enclose s
    while high - low > 1:
        middle = (low + high) // 2
        if words[knots + middle] <= s:
            low = middle
        else:
            high = middle
    start = words[knots + low]
    h = words[knots + low + 1] - start
    for i in range(k):
        theta[i], d1[i], d2[i], _ = hermite(words, values + low * stride + i, stride, k, rows, h, s - start)


class GoalBlock:
    """Named view of a block's words. Only the small tables are copied; the words must outlive it.

    `coordinates`: int64 indices into the mechanism's coordinates. `path_tolerance`, `goal_tolerance`: rad or
    m. `goal_time_s`: how long after the end the goal tolerances may take. `full_speed`: (from, to) in s.
    `forces`, `actions`, `frame`: the goal's force part, action part and frame part, None without one;
    `task`: its task part.
    """

    def __init__(self, words: Floats) -> None:
        """Read the header. Raises BlockError when the words are not a block of this version."""
        if len(words) < HEADER or not np.all(np.isfinite(words[:HEADER])):
            raise BlockError(f"a block has at least {HEADER} finite words, these are {len(words)}")
        if words[_VERSION] != VERSION:
            raise BlockError(f"block version {words[_VERSION]:g}, this linkwork reads {VERSION}")
        k, rows, pieces, windows = (int(words[i]) for i in (_COORDINATES, _ROWS, _PIECES, _WINDOWS))
        if k < 0 or rows not in (CUBIC, QUINTIC) or pieces < 1 or windows < 1:
            raise BlockError(f"{k} coordinates, {rows} rows, {pieces} pieces, {windows} windows")
        further, acting, moved, tasked = (int(words[i]) for i in (_FORCES, _ACTIONS, _FRAME, _TASK))
        more = further + acting + moved + tasked
        if not block_words(k, rows, pieces, windows) + more == words[_WORDS] == len(words):
            raise BlockError(f"the header says {words[_WORDS]:g} words, there are {len(words)}")
        self.words = words
        self.duration_s = float(words[_DURATION])
        self.goal_time_s = float(words[_GOAL_TIME])
        self.full_speed = float(words[_FULL_FROM]), float(words[_FULL_TO])
        if not self.duration_s > 0.0 or self.goal_time_s < 0.0:
            raise BlockError(f"duration {self.duration_s} s, goal time {self.goal_time_s} s")
        at = HEADER
        self.coordinates: NDArray[np.int64] = words[at : at + k].astype(np.int64)
        if np.any(self.coordinates != words[at : at + k]) or np.any(self.coordinates < 0):
            raise BlockError("the coordinates are not indices")
        self.path_tolerance: Floats = words[at + k : at + 2 * k].copy()
        self.goal_tolerance: Floats = words[at + 2 * k : at + 3 * k].copy()
        self.tables_end = 3 * k + 3 * windows
        at += 3 * k
        self._tables: Floats = words[at : at + 3 * windows].reshape(3, windows)
        self._per_s = windows / self.duration_s
        ends = len(words) - np.cumsum([0, tasked, moved, acting, further])
        self.task = _part(TaskPart, words[ends[1] : ends[0]]) or ONE_LEVEL
        self.frame = _part(FramePart, words[ends[2] : ends[1]])
        self.actions = _part(ActionPart, words[ends[3] : ends[2]])
        self.forces = _part(ForcePart, words[ends[4] : ends[3]])
        if self.frame is not None and len(self.frame.gains) != k:
            raise BlockError(f"the frame part is for {len(self.frame.gains)} coordinates, the goal has {k}")
        if tasked and len(self.task.levels) not in (0, k):
            raise BlockError(f"the task part is for {len(self.task.levels)} coordinates, the goal has {k}")
        self.knots: Floats = words[at + 3 * windows : at + 3 * windows + pieces + 1]

    def evaluate(self, s: float, theta: Floats, d1: Floats, d2: Floats) -> None:
        """Write θ(s), dθ/ds and d²θ/ds² (k each); outside [0, duration] the end's θ, at rest."""
        evaluate(self.words, s, theta, d1, d2)

    def stop_limits(self, s: float) -> tuple[float, float]:
        """Largest deceleration (1/s) and jerk (1/s²) of the path parameter for a stop that begins at s.

        Such a stop, from any rate up to 1, keeps every motor within its effort.
        """
        window = self._window(s)
        return float(self._tables[0, window]), float(self._tables[2, window])

    def go_limits(self, s: float) -> tuple[float, float]:
        """Return the limits for speeding up from s, to any rate up to 1."""
        window = self._window(s)
        return float(self._tables[1, window]), float(self._tables[2, window])

    def _window(self, s: float) -> int:
        last = self._tables.shape[1] - 1
        return int(min(max(s * self._per_s, 0.0), last))


def _part(part: type[_Part], words: Floats) -> _Part | None:
    """Read a part of a block, None where it has no words. Raises BlockError."""
    try:
        return part.from_words(words) if len(words) else None
    except ValueError as error:
        raise BlockError(str(error)) from None
