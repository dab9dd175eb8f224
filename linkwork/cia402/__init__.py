"""Drives of the profile CiA 402: their state machine, the driver for CAN buses, and a simulated drive."""
