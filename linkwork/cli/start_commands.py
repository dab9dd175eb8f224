"""Commands that start daemons: demo here; `plant` and `controller` are the daemons' own functions."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Annotated

import typer

from linkwork.cli.connected import AsJson
from linkwork.demos import DEMOS
from linkwork.protocol.laws import MOTION_LAW_NAMES, MotionLawName
from linkwork.terminal.failures import DONE, GOAL_FAILED
from linkwork.terminal.output import console, emit, say

demo = typer.Typer(no_args_is_help=True, help="Show a machine in motion, with one command.")


@demo.callback()
def demos() -> None:
    """Show a machine in motion with one command."""


def _command(name: str, about: str) -> Callable[..., int]:
    def show(
        as_json: AsJson = False,
        lockstep: Annotated[
            bool, typer.Option("--lockstep", help="As fast as possible, without a clock.")
        ] = False,
        law: Annotated[MotionLawName, typer.Option(help="Law of motion.")] = MOTION_LAW_NAMES[0],
        seconds: Annotated[
            float | None, typer.Option(min=0.01, help="Measured length, s.", show_default="the demo's")
        ] = None,
        speed: Annotated[float, typer.Option(min=0.05, max=1.0, help="Share of the demo's speed.")] = 1.0,
        exact: Annotated[
            bool, typer.Option("--exact-sensors", help="Ideal sensors, without resolution or noise.")
        ] = False,
        seed: Annotated[int, typer.Option(min=0, help="Seed of the sensors' noise.")] = 0,
        out: Annotated[Path, typer.Option(metavar="DIR", help="Folder for plot and log.")] = Path(
            "linkwork-out"
        ),
        plant_set: Annotated[
            list[str] | None,
            typer.Option(
                "--plant-set",
                metavar="KEY=VALUE",
                help="Change a value of the plant only: upper_arm.mass_kg=+20%.",
            ),
        ] = None,
        force_sensor: Annotated[
            bool,
            typer.Option("--force-sensor/--no-force-sensor", help="Forces from sensors, or from the model."),
        ] = True,
        console_too: Annotated[
            bool, typer.Option("--console", help="Serve `linkwork console` for it while it runs.")
        ] = False,
        write: Annotated[
            Path | None,
            typer.Option(
                metavar="DIR",
                help="Only write the trajectories to this folder, as files for `linkwork send`.",
            ),
        ] = None,
    ) -> int:
        from linkwork.demos import demo_named

        if write is not None:
            return _written(name, write, seconds, speed, as_json=as_json)
        from linkwork.demos.demo import DemoOptions
        from linkwork.demos.demo_report import show_summary
        from linkwork.demos.demo_run import run_demo

        options = DemoOptions(
            lockstep=lockstep,
            law=law,
            seconds=seconds,
            seed=seed,
            out=out,
            speed=speed,
            exact=exact,
            plant_set=tuple(plant_set or ()),
            force_sensor=force_sensor,
            console=console_too,
        )
        summary = run_demo(demo_named(name), options, console)
        if as_json:
            emit(summary)
        else:
            show_summary(summary, console)
        return DONE if summary["result"] in ("SUCCESSFUL", "CANCELLED") else GOAL_FAILED

    show.__doc__ = f"{about}: plant and controller are started, used, and ended."
    return show


def _written(name: str, folder: Path, seconds: float | None, speed: float, *, as_json: bool) -> int:
    from linkwork.demos import demo_named
    from linkwork.demos.demo_report import files_of, write_files

    paths = [str(path) for path in write_files(folder, files_of(name, demo_named(name), seconds, speed))]
    if as_json:
        emit({"files": paths})
    else:
        for path in paths:
            say(path)
    return DONE


for _name, _about in DEMOS.items():
    demo.command(name=_name)(_command(_name, _about))
