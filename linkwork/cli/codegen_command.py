"""The command that writes a machine's model and control law as C or Python."""

from __future__ import annotations

from enum import StrEnum
from pathlib import Path
from typing import Annotated

import typer

from linkwork.cli.connected import AsJson
from linkwork.cli.file_commands import Config
from linkwork.cli.symbolic_command import needs_sympy
from linkwork.terminal.failures import Misuse
from linkwork.terminal.output import emit, say


class LanguageChoice(StrEnum):
    """Languages of generated programs."""

    C = "c"
    PYTHON = "python"


def codegen(
    config: Config,
    out: Annotated[Path, typer.Option(metavar="DIR", help="Folder for the files; created if missing.")],
    language: Annotated[LanguageChoice, typer.Option(help="C99, or a Python module.")] = LanguageChoice.C,
    single: Annotated[bool, typer.Option("--float/--double", help="Precision of the C code.")] = False,
    as_json: AsJson = False,
) -> None:
    """Write M, h, A, Ȧv, kinematics and the control law as a program without dependencies."""
    from linkwork.machine import load

    machine = load(config)
    needs_sympy()
    if single and language is LanguageChoice.PYTHON:
        raise Misuse("--float is for C; the Python module computes in doubles")
    from linkwork.convert.codegen import generate

    files = generate(machine, language.value, single=single)
    try:
        out.mkdir(parents=True, exist_ok=True)
        for name, text in files.items():
            (out / name).write_text(text, encoding="utf-8")
    except OSError as error:
        raise Misuse(f"{out} cannot be written: {error.strerror}") from None
    if as_json:
        emit({"machine": machine.name, "files": [str(out / name) for name in files]})
        return
    for name, text in files.items():
        say(f"{out / name}: {text.count(chr(10))} lines")
    if language is LanguageChoice.C:
        base = next(iter(files)).removesuffix(".h")
        say(f"test it: cd {out} && cc -O2 {base}.c {base}_test.c -lm -o {base}_test && ./{base}_test")
