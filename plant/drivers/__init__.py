"""Drivers: small classes through which the plant daemon stands in front of real hardware."""
