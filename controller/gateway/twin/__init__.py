"""The digital twin: the simulator that runs beside the machine, and what follows from its differences."""
