"""Logs and recordings of runs: write, read, follow, plot, animate and replay them."""
