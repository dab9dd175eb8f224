"""Control laws: pure functions of the estimated state, the reference and the model."""
