"""One YAML file a machine, shipped as data."""
