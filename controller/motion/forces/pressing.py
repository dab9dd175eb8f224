"""Goals that press: their start, the check of their forces, and the release of forces."""

from dataclasses import dataclass

from linkwork.controller.exchange.goal_force_part import ForcePart
from linkwork.controller.laws.force_reference import Grip
from linkwork.controller.motion.forces.force_control import ForceControl
from linkwork.controller.motion.references.reference import Follow, Hold, ReferenceMotion
from linkwork.machine import Machine
from linkwork.multibody import Workspace
from linkwork.protocol.codes import ResultCode
from linkwork.protocol.laws import LawKind


@dataclass(frozen=True)
class ForceVerdict:
    """Verdict of the force monitor on a goal: `row` is the force concerned, -1 none.

    SUCCESSFUL with a row: a guard has detected its contact. `stops`: the goal has to stop on its path.
    """

    code: ResultCode
    row: int = -1
    value: float = 0.0
    limit: float = 0.0
    stops: bool = False


class Pressing:
    """The forces of the goal under way, over the control that presses. `estimate`: as in `MotionExecutor`."""

    def __init__(self, machine: Machine, estimate: Workspace) -> None:
        self.control = ForceControl(machine, estimate)
        self.possible = bool(machine.force_rows)
        """Whether the machine has forces to control."""
        self._contact = [row.kind == "contact" for row in machine.force_rows]
        self._touch = machine.controller.force.touch_N
        self._touched_s = 0.0

    def begin(self, goal: Follow, before: ReferenceMotion, time_s: float) -> LawKind | None:
        """The law under which a goal begins: PIDC denotes the law of motion. None where it is refused.

        A goal of motion alone waits until the forces have been released.
        """
        control, part = self.control, goal.block.forces
        if part is None:
            if not control.pressing:
                return LawKind.PIDC
            hold = before.held if isinstance(before, Follow) else before
            if not isinstance(hold, Hold):  # pressed contacts are released at rest
                return None
            control.release()
            goal.wait_in(hold)
            return LawKind.HYBRID
        rows, pressed = part.pressed.tolist(), control.pressed
        if not pressed <= set(rows) or any(self._contact[row] for row in set(rows) - pressed):
            return None
        if part.guard and ((control.pressing and not rows) or not control.tare(int(part.rows[0]))):
            return None
        for number, row in enumerate(rows, int(part.guard)):
            control.press(row, part.evaluate(0.0, number), time_s)
        return LawKind.HYBRID if rows else LawKind.PIDC

    def advance(self, motion: ReferenceMotion, time_s: float, *, limited: bool) -> bool:
        """Control the forces for one tick towards the goal's profile; True when all forces are released.

        time_s: device time. limited: whether the efforts were limited in the last tick.
        """
        if isinstance(motion, Follow) and not motion.waiting and not motion.stopping:
            part = motion.block.forces
            if part is not None:
                s = motion.path.here()[0]
                for number, row in enumerate(part.pressed.tolist(), int(part.guard)):
                    self.control.target[row] = part.evaluate(s, number)
        self.control.advance(time_s, limited=limited)
        return self.control.released

    def check(self, goal: Follow, part: ForcePart, time_s: float) -> ForceVerdict | None:
        """Return the verdict on the forces of the goal under way; None while there is nothing to do.

        part: the goal's forces. time_s: device time.
        """
        control = self.control
        row = self.keep_from_falling()
        if row >= 0:
            return ForceVerdict(
                ResultCode.CONTACT_LOST, row, float(control.felt[row]), self._touch, stops=True
            )
        if part.guard and (goal.touched or goal.arrived or control.in_touch(int(part.rows[0]))):
            return self._guard(goal, part, time_s)
        if control.doubtful:  # soon it is lost, or there again
            return None
        off = control.violated(part.pressed.tolist(), part.path_tolerance[int(part.guard) :])
        return None if off is None else ForceVerdict(ResultCode.FORCE_TOLERANCE_VIOLATED, *off, stops=True)

    def _guard(self, goal: Follow, part: ForcePart, time_s: float) -> ForceVerdict | None:
        control, row = self.control, int(part.rows[0])
        if not goal.touched:
            if control.in_touch(row):
                control.press(row, part.evaluate(0.0, 0), time_s)
                goal.touch(part.kept)
                self._touched_s = time_s
                return ForceVerdict(ResultCode.SUCCESSFUL, row)
            return ForceVerdict(ResultCode.CONTACT_LOST, row, float(control.felt[row]), self._touch)
        off, arrived = self._off(part), control.arrived(part.rows.tolist())
        if arrived and goal.resting and off is None:
            return ForceVerdict(ResultCode.SUCCESSFUL)
        if off is not None and arrived and time_s - self._touched_s > goal.block.goal_time_s:
            return ForceVerdict(ResultCode.FORCE_TOLERANCE_VIOLATED, *off)
        return None

    def keep_from_falling(self) -> int:
        """A contact that has gone is not pushed after: its gap is held. Returns which it is, -1 none."""
        row = self.control.lost
        if row >= 0:
            self.control.hold_gap(row)
        return row

    def _off(self, part: ForcePart) -> tuple[int, float, float] | None:
        return self.control.violated(part.rows.tolist(), part.goal_tolerance)

    def off_at_end(self, goal: Follow) -> tuple[int, float, float] | None:
        """Return the force of an arrived goal that is not within its goal tolerance, if any."""
        part = goal.block.forces
        if part is None:
            return None
        if not self.control.arrived(part.rows.tolist()):
            row = int(part.rows[0])
            error = abs(float(self.control.target[row] - self.control.felt[row]))
            return row, error, float(part.goal_tolerance[0])
        return self._off(part)

    @property
    def gone(self) -> bool:
        """Whether a contact that was pressed has gone, so that its gap is held instead."""
        return bool(self._contact) and bool((self.control.forces.grip == Grip.HOLD_GAP).any())

    @property
    def resting_law(self) -> LawKind:
        """The law that holds the machine when a goal has ended."""
        return LawKind.HYBRID if self.control.pressing else LawKind.HOLD
