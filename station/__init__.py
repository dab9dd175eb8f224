"""Where a person stands: command line, Python client, records."""
