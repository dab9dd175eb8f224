"""Identification of a machine's dynamics: regressor, base parameters, least squares, verdicts."""
