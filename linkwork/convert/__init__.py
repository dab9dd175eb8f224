"""Export a machine's model: reports, symbolic equations, linear models, generated C and Python code."""
