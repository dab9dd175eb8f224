"""Draw a machine as lines between the joints, closures and points of its bodies."""
