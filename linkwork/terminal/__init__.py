"""Output of commands to the terminal: results, messages, progress, and the exit status of a failure."""
