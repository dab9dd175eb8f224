"""Motion: references along goals, jogging, time scaling, force control, and the active goal."""
