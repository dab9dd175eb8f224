"""Simulate a machine offline: no sockets, no real time, any formulation and integrator."""
