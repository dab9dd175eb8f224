"""The machine itself, simulated or real, behind the device link."""
