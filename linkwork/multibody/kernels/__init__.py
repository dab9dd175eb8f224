"""Compile kernels with numba, and lay out the flat arrays that they work on."""
