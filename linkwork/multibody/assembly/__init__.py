"""Consistent positions and velocities: assembly, assembly modes, closed forms, switched constraints."""
