"""Start plant and controller processes, compile their kernels first, and end them."""
