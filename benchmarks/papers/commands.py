"""Commands of the documentation's page on the papers, each with a number that it prints."""

from __future__ import annotations

from typing import NamedTuple


class PaperCommand(NamedTuple):
    """A command; a field of its JSON summary, the number there, how far off it may be, with its caption."""

    words: str
    field: str
    value: float
    within: float
    shows: str


_FILE = "docs/examples/machines/scara_constrained.yaml"
_HELIX = f"simulate {_FILE} --duration 20 --start as-given --track tool --json"
_PUSH = "--effort motor_1=10 --effort motor_2=10 --effort motor_3=10 --track centre --json"
COMMANDS = (
    PaperCommand(
        f"{_HELIX} --formulation udwadia_kalaba --stabilisation none",
        "points/tool/position_m/2",
        0.39,
        1e-6,
        "Xu & Liu: 0.01 m below the helix after 20 s without stabilisation",
    ),
    PaperCommand(
        f"{_HELIX} --formulation udwadia_kalaba --stabilisation none",
        "points/tool/position_m/1",
        0.382238,
        1e-6,
        "Xu & Liu: 1.776e-2 m beside it in y",
    ),
    PaperCommand(
        f"{_HELIX} --formulation udwadia_kalaba --stabilisation baumgarte",
        "points/tool/position_m/0",
        3.81e-5,
        1e-6,
        "Xu & Liu: 0.04 mm in x with α = 0.5, β = 200",
    ),
    PaperCommand(
        f"simulate platform_huang --duration 1.3503 {_PUSH}",
        "points/centre/position_m/2",
        -2.1e-4,
        1e-5,
        "Huang: z of the platform at 1.3503 s, at 5.4 m/s, so that it passes 0 at 1.35034 s",
    ),
    PaperCommand(
        f"simulate platform_huang --duration 1.3503 --formulation taylor --dt 0.00025 {_PUSH}",
        "points/centre/position_m/2",
        4.6e-4,
        2e-5,
        "Huang: the same by the second-order expansion, 1.3e-4 s earlier",
    ),
    PaperCommand(
        "simulate slider_crank --duration 4 --speed crank_rad_s=3 --json",
        "singular_passages",
        3,
        0,
        "Aghili: branch poses passed",
    ),
    PaperCommand(
        "simulate four_bar --duration 1 --formulation minimal --json",
        "switches",
        2,
        0,
        "Blajer: changes of the independent coordinate",
    ),
    PaperCommand(
        "simulate thin_disk --duration 3 --json",
        "q/centre.3",
        0.638825,
        1e-6,
        "Kwatny: a component of the disk's quaternion after 3 s",
    ),
)


def table() -> str:
    """The commands as Markdown."""
    lines = ["| `linkwork …` | field | value | what it shows |", "| --- | --- | --- | --- |"]
    lines += [f"| `{c.words}` | `{c.field}` | {c.value:g} | {c.shows} |" for c in COMMANDS]
    return "\n".join(lines)
