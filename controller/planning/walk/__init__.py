"""The machine's positions and dynamics along a path, sample by sample."""
