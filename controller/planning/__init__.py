"""Goals: built by the planner as piecewise polynomials, evaluated by the loop."""
