"""The page of the documentation that shows all papers."""

from __future__ import annotations

from collections.abc import Sequence

from benchmarks.papers.report import Report

_INTRO = """\
# The papers, reproduced

linkwork's mathematics comes from five papers. Each is reproduced here from its own data: the pictures that
it describes, and a table that sets what is printed beside our figure. This page is what the command wrote:

```sh
python -m benchmarks.papers all --out docs/images --page docs/papers.md
```

*holds*: the printed statement is borne out. *misprint, mended*: the printed form fails by the figure given,
the mended one does not. *does not follow*: the printed data do not determine it. *not printed, ours*: the
paper leaves the data or the figure out, and what is chosen here is said. Figures near 1e-15 are round-off
and differ from computer to computer. The command ends with an error where a figure does not bear its
verdict out; `tests/verification/test_papers.py` runs all of it in short.
"""


def page(reports: Sequence[Report], pictures: str) -> str:
    """Markdown of all reports; `pictures`: the folder of the pictures as seen from the page, "images/"."""
    return "\n".join([_INTRO, *(report.markdown(pictures, level=2) for report in reports)])
