"""The digital twin: the simulator beside a machine in operation, and what the two differ by."""
