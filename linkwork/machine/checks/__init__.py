"""Checks of a machine file beyond its schema: references, controllability, stability, warnings."""
