"""Constrained accelerations by each formulation, and what they are evaluated for."""
