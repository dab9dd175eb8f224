"""Client requests: decoding, handlers, the lease, and answers."""
