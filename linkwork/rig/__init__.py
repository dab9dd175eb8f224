"""Rig tests: pytest support for tests of a machine, its controller and its plant, with a report."""
