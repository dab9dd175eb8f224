"""The simulated machine, step by step."""
