"""The laws and the daemon that runs them: gateway and loop."""
