"""Commands of one request each, which change what the machine does."""

from __future__ import annotations

from typing import Annotated

import typer

from station.cli.connected import Link, connected
from station.cli.failures import Misuse

AtTick = Annotated[
    int | None, typer.Option("--at-tick", min=0, help="Device tick at which it takes effect; none: at once.")
]


@connected
def enable(link: Link, at_tick: AtTick = None) -> None:
    """Brakes off, holding where the machine stands."""
    link.effect("enable", at_tick=at_tick)


@connected
def confirm_branch(link: Link, at_tick: AtTick = None) -> None:
    """Says that a closed machine is in the assembly that `linkwork state` shows."""
    link.effect("confirm_branch", at_tick=at_tick)


@connected
def disable(link: Link, at_tick: AtTick = None) -> None:
    """Stops where something moves, then brakes."""
    link.effect("disable", at_tick=at_tick)


@connected
def stop(link: Link, at_tick: AtTick = None) -> None:
    """Stops on the path, then holds. Anyone may."""
    link.effect("stop", at_tick=at_tick)


@connected
def cancel(
    link: Link, goal: Annotated[int | None, typer.Option(min=0, help="Only this goal.")] = None
) -> None:
    """Ends the goal under way by a stop on its path."""
    link.effect("cancel", goal=goal)


@connected
def pause(link: Link) -> None:
    """Slows the goal to rest on its path and keeps it."""
    link.effect("pause")


@connected
def resume(link: Link) -> None:
    """Goes on after a pause."""
    link.effect("resume")


@connected
def speed(
    link: Link,
    fraction: Annotated[float, typer.Argument(min=0.0, max=2.0, help="Of the goal's own speed.")],
) -> None:
    """Scales the speed of the goal under way."""
    link.effect("speed", fraction=fraction)


@connected
def preload(
    link: Link,
    efforts: Annotated[list[str], typer.Argument(metavar="MOTOR=EFFORT…", help="In N m or N.")],
) -> None:
    """Sets the internal force of redundant motors, within the bounds of the machine file."""
    found: dict[str, float] = {}
    for text in efforts:
        name, _, value = text.partition("=")
        try:
            found[name] = float(value)
        except ValueError:
            raise Misuse(f"{text}: write MOTOR=EFFORT, as in left_elbow=1.5") from None
    link.effect("preload", effort=found)


@connected
def law(link: Link, name: Annotated[str, typer.Argument(help="As `linkwork describe` lists them.")]) -> None:
    """Chooses what an enabled machine at rest does: hold, float (gravity compensated) or damp."""
    link.effect("law", name=name)


@connected
def recover(link: Link) -> None:
    """Leaves a fault, or says why not."""
    link.effect("recover")


@connected
def estop(link: Link) -> None:
    """Brakes at once and latches. Anyone may. A software stop is no safety function."""
    link.effect("estop")


@connected
def reset(link: Link) -> None:
    """Leaves the emergency stop."""
    link.effect("reset")


@connected
def advance(link: Link, ticks: Annotated[int, typer.Argument(min=1, max=10**9)]) -> None:
    """Runs lockstep time by so many ticks."""
    link.effect("advance", timeout_s=1.0e6, ticks=ticks)
