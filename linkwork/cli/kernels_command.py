"""`linkwork build-kernels`: compile the kernels of a package of your own."""

from __future__ import annotations

import sys
from pathlib import Path
from typing import Annotated

import typer

from linkwork.cli.connected import AsJson
from linkwork.terminal.failures import Misuse
from linkwork.terminal.output import emit, say


def build_kernels(
    package: Annotated[
        str, typer.Argument(metavar="PACKAGE", help="An installed package or module, or one in this folder.")
    ],
    as_json: AsJson = False,
) -> None:
    """Compile the kernels of a package of your own, such as a control law or a driver.

    Without it, and without a C compiler, they run as Python, slowly. A changed kernel is compiled again
    before its first use.
    """
    from linkwork.multibody.kernels.library import build_package

    here = str(Path.cwd())
    if here not in sys.path:  # at the end, so that no file there can shadow linkwork's modules
        sys.path.append(here)
    try:
        library, modules = build_package(package)
    except (ModuleNotFoundError, ValueError) as error:
        raise Misuse(f"{error}; check that it is installed or in this folder") from None
    except (RuntimeError, OSError) as error:  # a kernel that cannot be translated, or the compiler's
        raise Misuse(str(error)) from None
    if as_json:
        emit({"library": str(library), "modules": modules})
    else:
        say(f"{', '.join(modules)}: built {library}")
