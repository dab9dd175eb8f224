"""Five papers on constrained multibody systems, reproduced: `python -m benchmarks.papers --list`.

One module a paper, each with `reproduce(out, brief)`: it computes every number and draws the pictures that
the paper describes. `brief` shortens runs, for tests. docs/papers.md shows the results.
"""
