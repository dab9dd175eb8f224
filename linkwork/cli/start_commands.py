"""`linkwork demo`: a machine in motion, with one command."""

from __future__ import annotations

from linkwork.demos import demo_named
from linkwork.demos.demo_options import DemoOptions
from linkwork.demos.demo_report import files_of, show_summary, write_files
from linkwork.demos.demo_run import run_demo
from linkwork.terminal.failures import DONE, GOAL_FAILED
from linkwork.terminal.output import console, emit, say


def demo(options: DemoOptions) -> int:
    """Run `linkwork demo NAME`."""
    shown = demo_named(options.name)
    if options.write is not None:
        files = files_of(options.name, shown, options.seconds, options.speed)
        paths = [str(path) for path in write_files(options.write, files)]
        if options.as_json:
            emit({"files": paths})
        else:
            say("\n".join(paths))
        return DONE
    summary = run_demo(shown, options, console)
    if options.as_json:
        emit(summary)
    else:
        show_summary(summary, console)
    return DONE if summary["result"] in ("SUCCESSFUL", "CANCELLED") else GOAL_FAILED
