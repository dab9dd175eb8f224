"""References along goals: position, velocity, acceleration at the present time."""
