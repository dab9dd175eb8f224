"""The mathematics of constrained multibody systems: no files, sockets, clocks or global state."""
