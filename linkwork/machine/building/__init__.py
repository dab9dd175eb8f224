"""From checked sections to the mechanism and to the frozen values that the daemons use."""
