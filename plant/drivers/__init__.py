"""Drivers: small classes that connect the plant daemon to real hardware."""
