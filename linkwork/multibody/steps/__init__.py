"""Numerical integration: single steps of the state, free, constrained and with contacts."""
