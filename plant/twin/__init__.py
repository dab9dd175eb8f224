"""The digital twin: simulator beside a machine in operation, and the differences between them."""
