"""The explore suite: random sessions of the machine's simulated service, audited at every tick."""
