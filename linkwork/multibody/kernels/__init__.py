"""Kernels: their translation to C, the library, and the flat arrays that they work on."""
