"""Contact forces and preloads as part of a motion."""
