"""Time laws along a path: the fastest that every limit of the machine admits."""
