"""Dense linear algebra for small matrices inside kernels."""
