"""Trajectory files: read YAML and CSV way-points, and teach them from a running machine."""
