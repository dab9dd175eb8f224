"""Whether others follow the protocol: controllers, seen by a plant that looks closely, and drivers."""
