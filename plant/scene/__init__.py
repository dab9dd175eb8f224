"""Parts and planes around the machine."""
