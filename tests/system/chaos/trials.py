"""Trials drawn from a seed: what is struck, how, and during which motion."""

from __future__ import annotations

import random
import signal
from dataclasses import dataclass

from linkwork.machine import shipped_path
from tests.system.chaos.reactions import (
    COMMAND_TIMEOUT_S,
    LEASE_S,
    LOSS_LIMIT_S,
    PEER_TIMEOUT_S,
    PERIOD_S,
    REACTIONS,
    Blow,
    CrashRow,
    Pace,
)

VICTIMS = ("plant", "loop", "gateway", "planner", "twin", "client")
ACTIONS = (signal.SIGKILL, signal.SIGTERM, signal.SIGSTOP)
PACES: tuple[Pace, ...] = ("lockstep", "device", "host")
SHORTEST_STOP_S, LONGEST_STOP_S = 0.05, 5.0
ORPHAN_TIMEOUT_S = 300.0
"""A loop waits this long for another gateway, whose start takes long on a busy computer."""
NEAR = 0.35
"""A suspension this close to a threshold, as a fraction of it, may end on either side."""


@dataclass(frozen=True)
class Subject:
    """A machine of the trials. targets: range of each coordinate that moves (rad or m).

    speed: largest velocity of each (rad/s or m/s). velocity_step: bound on the change of a motor's velocity
    in one period (rad/s or m/s): its largest effort and its brake together, on the smallest inertia.
    """

    name: str
    targets: dict[str, tuple[float, float]]
    speed: dict[str, float]
    velocity_step: dict[str, float]

    def text(self) -> str:
        """The machine file: limits that a busy computer keeps, short time-outs, limited effort rates."""
        text = shipped_path(self.name).read_text()
        if "max_torque_rate" not in text:
            text = text.replace("max_speed_rad_s: 15,", "max_speed_rad_s: 15, max_torque_rate_N_m_s: 1000,")
        assert "command_timeout_periods: 20" in text or "plant:" not in text
        text = text.replace("  command_timeout_periods: 20\n", "")
        timeouts = (
            f"  command_timeout_periods: {round(COMMAND_TIMEOUT_S / PERIOD_S)}\n"
            f"  peer_timeout_s: {PEER_TIMEOUT_S}\n"
        )
        text = (
            text.replace("\nplant:\n", f"\nplant:\n{timeouts}")
            if "\nplant:\n" in text
            else (f"{text}\nplant:\n{timeouts}")
        )
        limits = (
            f"  loss_limit: {round(LOSS_LIMIT_S / PERIOD_S)}\n  loss_ratio_per_s: 1.0\n  lease_s: {LEASE_S}\n"
            f"  orphan_timeout_s: {ORPHAN_TIMEOUT_S}\n"
        )
        return text.replace("\ncontroller:\n", f"\ncontroller:\n{limits}")


SUBJECTS = (
    Subject(
        "scara",
        {"shoulder": (-0.6, 0.9), "elbow": (-1.4, -0.4), "wrist": (-1.0, 1.0), "lift": (0.0, 0.3)},
        {"shoulder": 2.0, "elbow": 2.0, "wrist": 6.0, "lift": 0.5},
        {"shoulder": 1.0, "elbow": 1.0, "wrist": 1.0, "lift": 0.35},
    ),
    Subject(
        "five_bar",
        {"left": (1.9, 2.4), "right": (0.75, 1.25)},
        {"left": 6.0, "right": 6.0},
        {"left": 1.2, "right": 1.2},
    ),
)


@dataclass(frozen=True)
class Trial:
    """One trial. strike_at: fraction of the goal's length; suspended_s: 0 unless the action is SIGSTOP."""

    seed: int
    index: int
    subject: Subject
    pace: Pace
    victim: str
    action: signal.Signals
    suspended_s: float
    target: dict[str, float]
    duration_s: float
    strike_at: float
    then: dict[str, float]
    """Target of the goal that must succeed afterwards."""

    def __str__(self) -> str:
        how = self.action.name + (f" for {self.suspended_s:.2f} s" if self.suspended_s else "")
        where = f"at {self.strike_at:.0%} of a goal of {self.duration_s:.1f} s"
        return f"{self.seed}/{self.index}: {self.subject.name}, {self.pace}: {self.victim}: {how} {where}"

    @property
    def blow(self) -> Blow:
        return "is suspended" if self.suspended_s else "ends"

    def rows(self) -> list[CrashRow]:
        """The reactions that the table allows: one, or two for a suspension close to a threshold."""
        rows = [
            row
            for row in REACTIONS
            if (row.victim, row.blow) == (self.victim, self.blow)
            and self.pace in row.paces
            and self.action in row.signals
        ]
        if not self.suspended_s:
            return rows
        reached = [row for row in rows if self.suspended_s >= row.after_s * (1.0 - NEAR)]
        longest = max(row.after_s for row in reached)
        clear = longest and self.suspended_s > longest * (1.0 + NEAR)
        return [row for row in reached if row.after_s == longest] if clear else reached


def draw(seed: int, index: int, block: int, longest_stop_s: float = LONGEST_STOP_S) -> Trial:
    """The trial with this number; `block` trials in a row share machine and pace."""
    dice = random.Random(f"{seed}/{index}")
    combination = (index // block) % (len(SUBJECTS) * len(PACES))
    subject, pace = SUBJECTS[combination % len(SUBJECTS)], PACES[combination // len(SUBJECTS)]
    action = dice.choice(ACTIONS)
    stop_s = SHORTEST_STOP_S * (longest_stop_s / SHORTEST_STOP_S) ** dice.random()

    def target() -> dict[str, float]:
        return {name: dice.uniform(low, high) for name, (low, high) in subject.targets.items()}

    return Trial(
        seed,
        index,
        subject,
        pace,
        dice.choice(VICTIMS),
        action,
        stop_s if action is signal.SIGSTOP else 0.0,
        target(),
        dice.uniform(8.0, 20.0) if pace == "lockstep" else dice.uniform(1.5, 4.0),
        dice.uniform(0.02, 0.6),
        target(),
    )
