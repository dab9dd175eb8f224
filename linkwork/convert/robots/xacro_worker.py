"""Expansion of xacro by xacrodoc; runs in a child process (limited_child.py).

xacro evaluates Python expressions: a .xacro file is a program, and is read only from trusted people.
"""

import os
from pathlib import Path
from typing import Any

from linkwork.convert.robots.limited_child import WorkerProblem


def expanded(request: dict[str, Any]) -> str:
    """Return the text that request["file"] expands to; request["packages"]: folders by names."""
    import xacrodoc

    os.chdir(Path(request["file"]).parent)  # xacro includes relative files from here
    try:
        xacrodoc.packages.update_package_cache(request["packages"])
        document = xacrodoc.XacroDoc.from_file(request["file"], walk_up=False)
        return str(document.to_urdf_string())
    except (Exception, SystemExit) as error:
        text = " ".join(str(error).split()) or type(error).__name__
        raise WorkerProblem(f"xacro: {text[:500]}") from None
