"""What pytest says of a test, put into its findings."""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    import pytest

    from linkwork.rig.collected import TestFindings


def note(findings: TestFindings, report: pytest.TestReport) -> None:
    """Take in one stage of a test: set-up, call or tear-down. The worst of them is the verdict."""
    findings.seconds += report.duration
    if report.skipped:
        findings.verdict, findings.reason = "skipped", _reason(report)
    elif report.failed:
        findings.verdict = "failed" if report.when == "call" else "error"
        findings.stage, findings.text = report.when or "", report.longreprtext
    elif report.when == "call" and findings.verdict == "not run":
        findings.verdict = "passed"


def _reason(report: pytest.TestReport) -> str:
    """Why it was skipped, without pytest's own word for it."""
    told = report.longrepr
    text = told[2] if isinstance(told, tuple) else str(told or getattr(report, "wasxfail", ""))
    return text.removeprefix("Skipped: ")
