"""Measure real-time latency, and check whether other implementations conform to the protocol."""
