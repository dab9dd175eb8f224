"""Joints and rigid-body trees: poses, velocities, rotations, mass matrix and bias force by recursion."""
