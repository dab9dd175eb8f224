"""Calibration of a machine's geometry from measured points, distances, encoders and stops."""
