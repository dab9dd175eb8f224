"""The position loop of a simulated drive, in its own numbers: counts, and thousandths of the rated torque."""


class PositionLoop:
    """A stiff spring and a damper between the drive's demand and its motor.

    stiffness, damping: thousandths a count, and a count/s. most: its largest torque, in thousandths.
    """

    def __init__(self) -> None:
        self.stiffness = self.damping = 0.0
        self.most = 32767.0
        self._demand, self._pace = 0, 0.0
        self._time_s = self._within_s = 0.0

    def demand(self, target: int, before: int, time_s: float, *, closed: bool) -> None:
        """Begin a period: the drive interpolates from the target before to this one (counts).

        closed: whether the loop was closed already; else the drive begins at the target.
        """
        elapsed_s = time_s - self._time_s
        self._time_s = time_s
        if closed and elapsed_s > 0.0:
            self._pace = signed(before - self._demand) / elapsed_s
            self._demand = before
        else:
            self._demand, self._pace = target, 0.0

    def behind(self, position: int) -> int:
        """Return the following error at a position, counts."""
        return signed(self._demand - position)

    def torque(self, position: int, speed: float, offset: float) -> float:
        """Return the torque at a position (counts) and a speed (counts/s); offset: fed forward."""
        wanted = offset + self.stiffness * self.behind(position) + self.damping * (self._pace - speed)
        return max(-self.most, min(self.most, wanted))

    def lost(self, position: int, window: int, timeout_s: float, time_s: float, *, closed: bool) -> bool:
        """Return whether the following error was beyond the window (counts) for the time-out."""
        if not closed or abs(self.behind(position)) <= window:
            self._within_s = time_s
        return time_s - self._within_s > timeout_s


def signed(counts: int) -> int:
    """Return counts as the nearest number of 32 bits with a sign."""
    return (counts + (1 << 31)) % (1 << 32) - (1 << 31)
