"""The page of the documentation that shows all papers."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

from benchmarks.papers.commands import table
from benchmarks.papers.report import Report

_INTRO = """\
# The papers, reproduced

The mathematics of linkwork comes from five papers. This page repeats their examples with their own data. Each
section has pictures and a table that compares each printed statement with a computed figure. The page is
generated:

```sh
python -m benchmarks.papers all --out docs/images --page docs/papers.md
```

The verdicts mean:

| verdict | meaning |
| --- | --- |
| *holds* | the computed figure confirms the printed statement |
| *misprint, corrected* | the printed form fails by the figure given; the corrected form does not |
| *does not follow* | the printed data do not determine the printed statement, or contradict it |
| *not printed, ours* | the paper gives no such data or figure; the row gives the choice made here |

Figures near 1e-15 are round-off and differ between computers. The command fails if a figure contradicts its
verdict. `tests/verification/test_papers.py` runs a short version of everything.
"""

_METHODS = Path(__file__).with_name("methods.md")
"""Which method runs where, and why."""


def page(reports: Sequence[Report], pictures: str) -> str:
    """Markdown of all reports; `pictures`: the folder of the pictures as seen from the page, "images/"."""
    sections = [report.markdown(pictures, level=2) for report in reports]
    return "\n".join([_INTRO, *sections, _METHODS.read_text(encoding="utf-8") + table()]) + "\n"
