"""The command line: which papers, and where pictures and tables go."""

from __future__ import annotations

import argparse
import json
import os
import sys
from collections.abc import Sequence
from importlib import import_module
from pathlib import Path

from benchmarks.papers.page import page
from benchmarks.papers.report import Report

PAPERS = {
    "xu2017": "a SCARA arm guided along a helix by constraint torques, before and after stabilisation",
    "huang2000": "joint reactions by second-order expansion: a double pendulum, a platform on three legs",
    "aghili2005": "projected dynamics and inverse dynamics: a slider-crank through its branch poses",
    "blajer1992": "minimal form by inverse kinematics: a four-bar through both its singularities",
    "kwatny1995": "joint map matrices, simple and compound wrists of an arm, a thin disk",
}


def reproduce(key: str, out: Path, brief: bool = False) -> Report:
    """Compute one paper's figures and draw its pictures into `out`."""
    report: Report = import_module(f"benchmarks.papers.{key}").reproduce(out, brief)
    return report


def main(arguments: Sequence[str] | None = None) -> int:
    """0: all verdicts are confirmed; 1: some are not; 2: wrong usage."""
    parser = _parser()
    options = parser.parse_args(arguments)
    if options.list:
        print("\n".join(f"{key:<12}{about}" for key, about in PAPERS.items()))
        return 0
    unknown = [key for key in options.paper if key not in (*PAPERS, "all")]
    if unknown:
        parser.error(f"there is no paper {unknown[0]!r}; there are {', '.join(PAPERS)}, and all")
    if not options.paper:
        parser.error(f"name a paper: {', '.join(PAPERS)}, or all")
    if options.out is None:
        parser.error("say where the pictures and tables go: --out DIR")
    try:
        options.out.mkdir(parents=True, exist_ok=True)
    except OSError as error:
        parser.error(f"the folder {options.out} cannot be made: {error.strerror}; name another with --out")
    if not os.access(options.out, os.W_OK):
        parser.error(f"the folder {options.out} cannot be written to; name another with --out")
    return _run(options)


def _parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(
        prog="python -m benchmarks.papers",
        description="Reproduce the papers: their pictures, and what they print beside our figures.",
        epilog="From the root of the repository. Exit status 1: a figure contradicts its verdict.",
    )
    parser.add_argument("paper", nargs="*", metavar="PAPER", help=f"{', '.join(PAPERS)}, or all")
    parser.add_argument(
        "--out", type=Path, metavar="DIR", help="folder for pictures (PNG) and tables (Markdown)"
    )
    parser.add_argument("--list", action="store_true", help="list the papers and end")
    parser.add_argument("--brief", action="store_true", help="shorter runs, as the tests make them")
    parser.add_argument("--json", action="store_true", help="print the figures behind the tables as JSON")
    parser.add_argument(
        "--page", type=Path, metavar="FILE", help="one page for all, instead of a table for each in DIR"
    )
    return parser


def _run(options: argparse.Namespace) -> int:
    keys = list(PAPERS) if "all" in options.paper else list(dict.fromkeys(options.paper))
    reports = []
    for key in keys:
        report = reproduce(key, options.out, options.brief)
        reports.append(report)
        written = [options.out / picture.name for picture in report.pictures]
        if options.page is None:
            written.append(options.out / f"{key}.md")
            written[-1].write_text(report.markdown(), encoding="utf-8")
        if not options.json:
            print(f"{report.text()}\n\nwritten: {', '.join(map(str, written))}\n")
    if options.json:
        print(json.dumps({report.key: report.figures for report in reports}, indent=1))
    if options.page is not None:
        folder = os.path.relpath(options.out, options.page.resolve().parent)
        options.page.write_text(page(reports, f"{folder}/"), encoding="utf-8")
    failed = [f"{report.key}: {row.place}" for report in reports for row in report.failed]
    if failed:
        print(f"not borne out: {'; '.join(failed)}", file=sys.stderr)
    return 1 if failed else 0


if __name__ == "__main__":
    sys.exit(main())
