"""Import of robots from other descriptions: URDF with closed loops."""
