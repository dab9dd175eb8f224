"""Rig tests: what pytest is given to test a machine, its controller and its plant, and what it collects."""
