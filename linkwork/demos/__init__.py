"""Demonstrations of `linkwork demo`: `demo_motions.py`, and a module each for those that do more."""

from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from linkwork.demos.demo import Demo

__all__ = ["DEMOS", "demo_named"]

DEMOS = {
    "scara": "A SCARA arm follows a helix",
    "scara_free_wrist": "A SCARA follows x and y, its wrist free and kept far from a limit",
    "five_bar": "A planar parallel robot follows circles with its tool",
    "five_bar_one_side": "The same with a third motor, which keeps the bearing at its tip on one side",
    "delta": "A delta robot picks and places",
    "platform_3rrs": "A platform on three legs tilts, yaws and heaves",
    "slider_crank": "A slider-crank follows a sine through its branch poses",
    "scara_polish": "A SCARA makes contact with a tilted table and polishes it",
    "press": "A press with one degree of freedom touches a workpiece and presses it",
    "four_bar": "The coupler of a four-bar swings between two angles",
    "slot_arm": "The pin of an arm enters a slot, runs in it, and leaves it again",
    "catch": "An arm latches its pin to a moving carriage, and travels on with it",
    "pick_and_place": "A SCARA with a gripper picks parts from a table and places them",
    "delta_belt": "A delta robot picks parts from a running belt and places them",
    "fastest": "A five-bar and a delta follow paths as fast as their limits admit",
    "leader_follower": "A five-bar that a hand moves leads a SCARA in x and y",
    "arm_6dof": "An arm with a compound wrist, and with a simple one, makes one motion with the same efforts",
}
"""Name and short description; the module that `_OWN` names, or `demo_motions.MOTIONS`, has the rest."""
_OWN = {name: name for name in ("pick_and_place", "delta_belt", "leader_follower", "arm_6dof")}
_OWN |= {"fastest": "fastest_demo"}


def demo_named(name: str) -> Demo:
    """The demo of that name. Raises KeyError when there is none."""
    if name not in DEMOS:
        raise KeyError(f"no demo {name!r}; there are {', '.join(DEMOS)}")
    if name not in _OWN:
        from linkwork.demos.demo_motions import MOTIONS

        return MOTIONS[name]
    demo: Demo = import_module(f"linkwork.demos.{_OWN[name]}").DEMO
    return demo
