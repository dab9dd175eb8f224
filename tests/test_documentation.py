"""The documentation points at things that exist: links between pages, and names in code."""

import re
import subprocess
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[1]
PAGES = [
    *ROOT.glob("*.md"),
    *(ROOT / "docs").rglob("*.md"),
    *(ROOT / "protocol").glob("*.md"),
    *(ROOT / "benchmarks").glob("*.md"),
]
LINK = re.compile(r"\]\(([^)#\s:]+)(?:#[^)]*)?\)")
CODE = re.compile(r"`([^`]+)`")
FORMER = re.compile(
    r"\b(?:from|import) (?:station|controller|plant|protocol|machine|multibody|timing)\b|linkwork_pytest"
)


@pytest.mark.parametrize("page", PAGES, ids=lambda page: str(page.relative_to(ROOT)))
def test_links_lead_to_files(page: Path) -> None:
    missing = [link for link in LINK.findall(page.read_text("utf-8")) if not (page.parent / link).exists()]
    assert missing == []


@pytest.mark.parametrize("page", PAGES, ids=lambda page: str(page.relative_to(ROOT)))
def test_pages_import_linkwork_by_its_name(page: Path) -> None:
    assert FORMER.findall(page.read_text("utf-8")) == []


def _sources() -> tuple[set[str], str]:
    """File names, and the text of all Python files, YAML files and the protocol page."""
    files = [ROOT / name for name in ("linkwork", "controller", "plant", "protocol", "configs")]
    paths = [
        path for folder in files for path in folder.rglob("*") if path.is_file() and not path.is_symlink()
    ]
    texts = [path.read_text("utf-8") for path in paths if path.suffix in (".py", ".yaml", ".md")]
    return {path.name for path in paths}, "\n".join(texts)


def test_the_glossary_names_what_is_in_the_code() -> None:
    names, text = _sources()
    rows = [line.split("|") for line in (ROOT / "docs" / "glossary.md").read_text("utf-8").splitlines()]
    named = {name for row in rows if len(row) > 4 for name in CODE.findall(row[3])}
    assert len(named) > 60
    for name in named:
        if name.endswith(".py"):
            assert name in names, name
        elif name.endswith("/"):
            assert any((ROOT / top / name).is_dir() for top in (".", "linkwork", "controller")), name
        elif name.startswith(("linkwork ", "--")):
            assert re.search(rf"[\"`]{re.escape(name.split()[-1])}[\"`]", text), name
        else:
            assert re.search(rf"\b{re.escape(name)}\b", text), name


def test_the_map_names_files_that_exist() -> None:
    text = re.sub(r"```.*?```", "", (ROOT / "docs" / "architecture.md").read_text("utf-8"), flags=re.DOTALL)
    paths = {name for name in CODE.findall(text) if "/" in name and "NAME" not in name and " " not in name}
    paths = {path for path in paths if not path.startswith("-")}
    assert len(paths) > 15
    tops = (
        ROOT,
        ROOT / "controller",
        ROOT / "controller" / "planning",
        ROOT / "controller" / "motion",
        ROOT / "plant",
        ROOT / "linkwork" / "multibody",
        ROOT / "linkwork" / "machine" / "sections",
    )
    assert [path for path in sorted(paths) if not any((top / path).exists() for top in tops)] == []


def test_no_tracked_file_is_left_in_a_former_place() -> None:
    tracked = subprocess.run(["git", "ls-files"], cwd=ROOT, capture_output=True, text=True, check=False)
    if tracked.returncode != 0:
        pytest.skip("not a git checkout")
    tops = {name.split("/")[0] for name in tracked.stdout.splitlines() if "/" in name}
    assert tops <= {
        ".ci",
        ".github",
        "benchmarks",
        "configs",
        "controller",
        "docs",
        "linkwork",
        "plant",
        "protocol",
        "tests",
    }
