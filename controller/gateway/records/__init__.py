"""What the gateway makes of tick records: log, telemetry, events, flight records, statistics."""
