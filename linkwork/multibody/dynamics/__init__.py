"""Accelerations, forces and projections of constrained mechanisms, in several formulations."""
