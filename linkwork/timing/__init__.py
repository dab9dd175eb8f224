"""When things happen: clocks, real-time set-up, child processes, signals, timing statistics."""
