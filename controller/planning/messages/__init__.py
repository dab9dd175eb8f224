"""Messages between the gateway and the planner process."""
