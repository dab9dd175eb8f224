"""Commands for those who write files and code for linkwork: schema, build-kernels."""

import json
import sys
from pathlib import Path

from linkwork.campaigns import campaign_file
from linkwork.cli.options.files import BuildKernelsOptions, SchemaOptions
from linkwork.machine.sections import json_schema
from linkwork.multibody.kernels.library import build_package
from linkwork.plant.faults import timeline
from linkwork.terminal.failures import Misuse
from linkwork.terminal.output import emit, say

_SCHEMAS = {"machine": json_schema.schema, "faults": timeline.schema, "campaign": campaign_file.schema}


def schema(options: SchemaOptions) -> None:
    """Run `linkwork schema`."""
    say(json.dumps(_SCHEMAS[options.what](), indent=2, ensure_ascii=False))


def build_kernels(options: BuildKernelsOptions) -> None:
    """Run `linkwork build-kernels`."""
    here = str(Path.cwd())
    if here not in sys.path:  # at the end, so that no file there can shadow linkwork's modules
        sys.path.append(here)
    try:
        library, modules = build_package(options.package)
    except (ModuleNotFoundError, ValueError) as error:
        raise Misuse(f"{error}; check that it is installed or in this folder") from None
    except (RuntimeError, OSError) as error:  # a kernel that cannot be translated, or the compiler's
        raise Misuse(str(error)) from None
    if options.as_json:
        emit({"library": str(library), "modules": modules})
    else:
        say(f"{', '.join(modules)}: built {library}")
