"""Whether a controller that somebody else wrote keeps to the protocol: a plant that looks closely."""
