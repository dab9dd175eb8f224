"""The planner's process and its client in the gateway."""
