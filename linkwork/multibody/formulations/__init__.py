"""Constrained dynamics: rank decision, constrained acceleration, projections, assembly and reactions."""
