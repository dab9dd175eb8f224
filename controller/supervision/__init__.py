"""State machine, faults, limits, brakes and monitors of the loop."""
