"""Pages are written in plain technical English: words that the style avoids, and their replacements."""

import re
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[1]
LATER = {"docs/decisions.md", "CHANGELOG.md"}
"""Pages that are still to be revised."""
PAGES = [
    page
    for pattern in ("*.md", "docs/*.md", "protocol/README.md")
    for page in sorted(ROOT.glob(pattern))
    if str(page.relative_to(ROOT)) not in LATER
]
AVOIDED = {
    "nobody": "no daemon, no client, no process, or the passive voice",
    "whoever": "the client that, the program that",
    "anew": "again",
    "for ever": "without end",
    "freedoms": "degrees of freedom",
    "is told": "receives, is notified",
    "are told": "receive, are notified",
}
"""Each word or phrase with what to write instead."""
CODE = re.compile(r"```.*?```|`[^`\n]*`", re.DOTALL)


def found(text: str) -> list[str]:
    """Return each avoided word in the prose of a page, with line and replacement; code is ignored."""
    prose = CODE.sub(lambda code: "\n" * code[0].count("\n"), text)
    return [
        f"line {prose.count(chr(10), 0, match.start()) + 1}: instead of '{word}' write: {better}"
        for word, better in AVOIDED.items()
        for match in re.finditer(r"\b" + word.replace(" ", r"\s+") + r"\b", prose, re.IGNORECASE)
    ]


@pytest.mark.parametrize("page", PAGES, ids=lambda page: str(page.relative_to(ROOT)))
def test_pages_avoid_the_words_of_the_list(page: Path) -> None:
    assert found(page.read_text("utf-8")) == []


def test_the_check_finds_words_in_prose_and_ignores_code() -> None:
    text = "`nobody`\n```\nanew\n```\nThe motor is\ntold. Nobodys. Two Freedoms."
    assert [line.split(":")[0] for line in found(text)] == ["line 6", "line 5"]
