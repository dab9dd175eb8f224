"""Checks of a path against the machine's limits, each of one kind."""
