"""The motor map: efforts of motors from generalized forces of joints, their bounds and conditioning."""
