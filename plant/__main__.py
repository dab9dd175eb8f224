"""`python -m linkwork.plant CONFIG …`; and, for a gateway alone, `twin …`."""

from linkwork.command_line import main
from linkwork.timing.realtime import single_threaded_blas

COMMANDS = {
    "": ("plant.plant_options:PlantOptions", "plant.daemon.plant_daemon:plant"),
    "twin": ("plant.plant_options:TwinOptions", "plant.twin.twin_process:twin"),
}

if __name__ == "__main__":
    single_threaded_blas()  # before anything imports numpy
    main(COMMANDS, "python -m linkwork.plant")
