"""Compliant forces: joint stops, and contacts of points with planes and spheres."""
