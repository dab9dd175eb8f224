"""Names have one meaning: classes across the repository, and files within the product."""

import re
from collections import defaultdict
from pathlib import Path

ROOT = Path(__file__).parents[1]
PRODUCT = ("controller", "linkwork", "plant", "protocol")
OTHERS = ("benchmarks", "tests")
USED_TWICE = {
    "chains": "joints of a tree: variants of algorithms for it, and its symbolic form",
    "daemon_options": "the options of daemons: as the gateway gets them, and on the command line",
}
"""File stems that stand twice in the product, with what both files are about; at most five."""


def files_of(packages: tuple[str, ...]) -> list[Path]:
    return [
        path
        for package in packages
        for path in sorted((ROOT / package).rglob("*.py"))
        if path.resolve().relative_to(ROOT).parts[0] == package
    ]


def classes_of(packages: tuple[str, ...]) -> dict[str, list[str]]:
    places: dict[str, list[str]] = defaultdict(list)
    for path in files_of(packages):
        for name in re.findall(r"^class ([A-Za-z]\w*)", path.read_text("utf-8"), re.MULTILINE):
            places[name].append(str(path.relative_to(ROOT)))
    return places


def test_a_class_name_has_one_meaning() -> None:
    product, others = classes_of(PRODUCT), classes_of(OTHERS)
    assert {name: places for name, places in product.items() if len(places) > 1} == {}
    assert {name: [*product[name], *places] for name, places in others.items() if name in product} == {}


def test_file_stems_are_unique_but_for_a_few() -> None:
    stems: dict[str, list[str]] = defaultdict(list)
    for path in files_of(PRODUCT):
        if not path.stem.startswith("__"):
            stems[path.stem].append(str(path.relative_to(ROOT)))
    assert {stem for stem, places in stems.items() if len(places) > 1} == set(USED_TWICE)
    assert len(USED_TWICE) <= 5
