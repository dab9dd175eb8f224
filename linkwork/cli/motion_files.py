"""Files that commands write: columns as text (CSV) or as named arrays (npz), and pictures."""

import zipfile
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any, TextIO

import numpy as np

from linkwork.arrays import Floats
from linkwork.terminal.failures import Misuse

ENDINGS = (".csv", ".npz")


def write_columns(path: Path, columns: Mapping[str, Floats]) -> None:
    """Write named columns (samples): as arrays if the name ends with .npz, else as CSV with a header.

    Raises OSError where the file cannot be written.
    """
    if path.suffix == ".npz":
        with zipfile.ZipFile(path, "w") as archive:  # numpy's own writer has names that columns cannot take
            for name, values in columns.items():
                with archive.open(f"{name}.npy", "w", force_zip64=True) as entry:
                    np.lib.format.write_array(entry, np.ascontiguousarray(values))
        return
    with path.open("w", encoding="utf-8") as file:
        write_csv(file, columns)


def write_csv(file: TextIO, columns: Mapping[str, Floats]) -> None:
    """Write named columns (samples) as CSV: a header, then a line for each sample, with 17 digits."""
    rows = np.column_stack(list(columns.values()))
    np.savetxt(file, rows, delimiter=",", header=",".join(columns), comments="", fmt="%.17g")


def refuse_existing(target: Path | None, *, overwrite: bool) -> None:
    """Raise Misuse for an output file that exists, unless it may be overwritten."""
    if target is not None and target.exists() and not overwrite:
        raise Misuse(f"{target} exists; choose another with --out, or give --overwrite")


def written(target: Path, write: Callable[[], Any]) -> None:
    """Write a file. Raises Misuse where that fails."""
    try:
        write()
    except OSError as error:
        raise Misuse(f"{target} cannot be written: {error.strerror or error}") from None
    except ValueError as error:
        raise Misuse(str(error)) from None
