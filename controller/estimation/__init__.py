"""State estimation from the measured joints, closed chains included, and the loop's model."""
