"""FMI: machines as functional mock-up units (FMUs), and FMUs of others as parts of a plant."""
