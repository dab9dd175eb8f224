"""The device that a controller sees: session, watchdog, events."""
