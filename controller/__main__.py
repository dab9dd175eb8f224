"""`python -m linkwork.controller CONFIG …`; and, for the gateway alone, `loop …` and `planner …`."""

from linkwork.command_line import main
from linkwork.timing.realtime import single_threaded_blas

_OPTIONS = "controller.controller_options"
COMMANDS = {
    "": (f"{_OPTIONS}:GatewayOptions", "controller.gateway.gateway_process:controller"),
    "loop": (f"{_OPTIONS}:LoopOptions", "controller.loop.loop_process:loop"),
    "planner": (f"{_OPTIONS}:PlannerOptions", "controller.planning.process.planner_process:planner"),
}

if __name__ == "__main__":
    single_threaded_blas()  # before anything imports numpy
    main(COMMANDS, "python -m linkwork.controller")
