"""Report of a reproduction: a table of printed statements beside our figures, printed and as Markdown."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field
from typing import Literal

Verdict = Literal["holds", "corrected", "open", "ours"]
VERDICTS: dict[Verdict, str] = {
    "holds": "holds",
    "corrected": "misprint, corrected",
    "open": "does not follow",
    "ours": "not printed, ours",
}


@dataclass(frozen=True)
class ReportRow:
    """One printed statement.

    `place`: equation or section; `printed`: the statement; `ours`: the figure computed; `verdict`: whether it
    holds, is a misprint that is corrected here, cannot follow from the printed data, or needs data of ours;
    `why`: the reason. `met`: whether the computed figure confirms the verdict.
    """

    place: str
    printed: str
    ours: str
    verdict: Verdict
    met: bool
    why: str = ""


@dataclass(frozen=True)
class Picture:
    """A file that was drawn, with its caption."""

    name: str
    caption: str


@dataclass
class Report:
    """The reproduction of one paper. `figures`: numbers behind the table, by name, for tests and --json."""

    key: str
    title: str
    citation: str
    data: str
    rows: list[ReportRow] = field(default_factory=list)
    pictures: list[Picture] = field(default_factory=list)
    tables: list[tuple[str, list[list[str]]]] = field(default_factory=list)
    figures: dict[str, float] = field(default_factory=dict)

    def row(self, place: str, printed: str, ours: str, verdict: Verdict, met: bool, why: str = "") -> None:
        """Add a statement."""
        self.rows.append(ReportRow(place, printed, ours, verdict, bool(met), why))

    @property
    def failed(self) -> list[ReportRow]:
        """The statements whose verdict the figures contradict."""
        return [row for row in self.rows if not row.met]

    def markdown(self, pictures: str = "", level: int = 1) -> str:
        """The report as Markdown; `pictures` is the folder of the pictures as seen from the page."""
        return "\n".join(self._lines(pictures, level)) + "\n"

    def _lines(self, pictures: str, level: int) -> Iterator[str]:
        yield f"{'#' * level} {self.title}"
        yield from ("", self.citation, "", self.data, "")
        for picture in self.pictures:
            yield from (f"![{picture.caption}]({pictures}{picture.name})", "", f"*{picture.caption}*", "")
        yield from _markdown_table(["where", "printed", "our figure", "verdict", "why"], self._cells())
        for heading, (head, *body) in self.tables:
            yield from ("", f"{'#' * (level + 1)} {heading}", "")
            yield from _markdown_table(head, body)

    def _cells(self) -> list[list[str]]:
        marks = {True: "", False: "**CONTRADICTED:** "}
        return [[r.place, r.printed, marks[r.met] + r.ours, VERDICTS[r.verdict], r.why] for r in self.rows]

    def text(self) -> str:
        """The report for a terminal."""
        lines = [self.title, self.citation, "", self.data, ""]
        for row in self.rows:
            mark = "ok  " if row.met else "FAIL"
            lines += [f"{mark} {row.place}: {row.printed}", f"       {VERDICTS[row.verdict]}: {row.ours}"]
            lines += [f"       {row.why}"] if row.why else []
        for heading, table in self.tables:
            widths = [max(len(line[k]) for line in table) for k in range(len(table[0]))]
            lines += ["", heading]
            lines += [
                "  ".join(c.ljust(n) for c, n in zip(line, widths, strict=True)).rstrip() for line in table
            ]
        return "\n".join(lines).replace("`", "")


def _markdown_table(head: list[str], body: list[list[str]]) -> Iterator[str]:
    for line in (head, ["---"] * len(head), *body):
        yield "| " + " | ".join(cell.replace("|", "\\|") for cell in line) + " |"


def small(value: float) -> str:
    """A figure with two digits: "3.4e-13", "0.012", "17"."""
    return f"{value:.2g}"
