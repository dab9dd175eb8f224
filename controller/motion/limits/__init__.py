"""Limits that the tick keeps: efforts, workspace, and what holds a motion back."""
