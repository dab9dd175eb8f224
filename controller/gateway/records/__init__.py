"""Outputs derived from tick records: log, telemetry, events, flight records, statistics."""
