"""Paths of goals: moves, curves, splines."""
