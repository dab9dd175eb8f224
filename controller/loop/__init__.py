"""The real-time process: one tick is read, step, write."""
