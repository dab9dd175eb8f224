"""Options of the commands, one class each; they import nothing that is slow to load."""
