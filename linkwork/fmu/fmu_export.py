"""Write a machine as an FMU: model description, C sources and a binary for this platform, in one archive."""

import platform
import subprocess
import tempfile
import xml.etree.ElementTree as ET
import zipfile
from functools import cache
from pathlib import Path
from typing import Literal
from xml.etree.ElementTree import Element, SubElement

from linkwork.fmu.fmu_source import UNITS, FmuSource, source_of
from linkwork.fmu.fmu_variables import FmuVariable
from linkwork.machine import Machine
from linkwork.multibody.kernels.library import FLAGS, compiler
from linkwork.version import __version__

FmiVersion = Literal["3", "2"]
_BASE_UNITS = {
    "s": {"s": 1},
    "rad": {"rad": 1},
    "m": {"m": 1},
    "rad/s": {"rad": 1, "s": -1},
    "m/s": {"m": 1, "s": -1},
    "m/s2": {"m": 1, "s": -2},
    "kg": {"kg": 1},
    "kg.m2": {"kg": 1, "m": 2},
    "N": {"kg": 1, "m": 1, "s": -2},
    "N.m": {"kg": 1, "m": 2, "s": -2},
    "N.s/m": {"kg": 1, "s": -1},
    "N.m.s/rad": {"kg": 1, "m": 2, "s": -1, "rad": -1},
}
_ARCHIVED = (1980, 1, 1, 0, 0, 0)
"""Date of the files, so that the same machine gives the same archive."""


class FmuNotBuilt(RuntimeError):
    """The C compiler refused the sources; the text is its own."""


def write_fmu(machine: Machine, path: Path, version: FmiVersion = "3") -> list[str]:
    """Write the FMU of a machine to a file; return the names of the files in it.

    version: of FMI, for co-simulation. Raises MachineError where the plant's step is too long for springs,
    stops or contacts; NoCompiler; FmuNotBuilt; OSError.
    """
    source, name = source_of(machine), machine.name
    tree = description(machine, source, name, version)
    ET.indent(tree)
    files = {"modelDescription.xml": ET.tostring(tree, encoding="UTF-8", xml_declaration=True)}
    files |= {f"sources/{each}": text.encode() for each, text in source.files.items()}
    if version == "3":
        build = _build_description(name)
        ET.indent(build)
        files["sources/buildDescription.xml"] = ET.tostring(build, encoding="UTF-8", xml_declaration=True)
    folder = f"{platform.machine()}-linux" if version == "3" else "linux64"
    files[f"binaries/{folder}/{name}.so"] = _binary(source)
    with zipfile.ZipFile(path, "w", zipfile.ZIP_DEFLATED) as archive:
        for each, data in files.items():
            entry = zipfile.ZipInfo(each, _ARCHIVED)
            entry.compress_type, entry.external_attr = zipfile.ZIP_DEFLATED, 0o644 << 16
            archive.writestr(entry, data)
    return list(files)


def _binary(source: FmuSource) -> bytes:
    """Compile the sources to a shared library without undefined symbols."""
    with tempfile.TemporaryDirectory() as folder:
        for name, text in source.files.items():
            Path(folder, name).write_text(text)
        Path(folder, "kernels.o").write_bytes(_kernels(source.files["kernels.c"], source.files["kernels.h"]))
        own = [each for each in UNITS if each != "kernels.c"]
        _compile(folder, "-shared", "-Wl,-z,defs", *own, "kernels.o", "-lm", "-o", "machine.so")
        return Path(folder, "machine.so").read_bytes()


@cache
def _kernels(text: str, header: str) -> bytes:
    """Compile the kernels, which are the same for all machines, to an object file."""
    with tempfile.TemporaryDirectory() as folder:
        Path(folder, "kernels.h").write_text(header)
        Path(folder, "kernels.c").write_text(text)
        _compile(folder, "-c", "kernels.c", "-o", "kernels.o")
        return Path(folder, "kernels.o").read_bytes()


def _compile(folder: str, *arguments: str) -> None:
    command = [*compiler(), *FLAGS.split(), *arguments]
    ran = subprocess.run(command, cwd=folder, capture_output=True, text=True, check=False)
    if ran.returncode:
        raise FmuNotBuilt(f"building the FMU failed: {' '.join(command)}\n{ran.stderr}")


def _build_description(name: str) -> Element:
    tree = Element("fmiBuildDescription", fmiVersion="3.0")
    configuration = SubElement(tree, "BuildConfiguration", modelIdentifier=name)
    flags = " ".join(each for each in FLAGS.split() if not each.startswith("-W"))
    options = {"language": "C11", "compiler": "gcc", "compilerOptions": flags}
    files = SubElement(configuration, "SourceFileSet", options)
    for each in UNITS:
        SubElement(files, "SourceFile", name=each)
    SubElement(configuration, "Library", name="m")
    return tree


def description(machine: Machine, source: FmuSource, name: str, version: FmiVersion) -> Element:
    """Return the model description; name: of the binary, without its ending."""
    is_3 = version == "3"
    head = {
        "fmiVersion": "3.0" if is_3 else "2.0",
        "modelName": machine.name,
        "instantiationToken" if is_3 else "guid": source.token,
        "description": machine.about,
        "generationTool": f"linkwork {__version__}",
        "variableNamingConvention": "structured",
    }
    tree = Element("fmiModelDescription", {key: value for key, value in head.items() if value})
    state = (
        ("canGetAndSetFMUState", "canSerializeFMUState")
        if is_3
        else ("canGetAndSetFMUstate", "canSerializeFMUstate")
    )
    able = dict.fromkeys((*state, "canHandleVariableCommunicationStepSize"), "true")
    step = (
        {"fixedInternalStepSize": repr(source.step_s)}
        if is_3
        else {"canNotUseMemoryManagementFunctions": "true"}
    )
    simulation = SubElement(tree, "CoSimulation", {"modelIdentifier": name, **able, **step})
    if not is_3:
        files = SubElement(simulation, "SourceFiles")
        for each in UNITS:
            SubElement(files, "File", name=each)
    units = SubElement(tree, "UnitDefinitions")
    for unit in dict.fromkeys(each.unit for each in source.variables if each.unit):
        powers = {key: str(power) for key, power in _BASE_UNITS[unit].items()}
        SubElement(SubElement(units, "Unit", name=unit), "BaseUnit", powers)
    SubElement(SubElement(tree, "LogCategories"), "Category", name="logStatusError")
    SubElement(tree, "DefaultExperiment", startTime="0", stopTime="2", stepSize=repr(source.step_s))
    variables = SubElement(tree, "ModelVariables")
    for number, variable in enumerate(source.variables):
        variables.append(_variable(variable, number, source.values[variable.place], is_3=is_3))
    tree.append(_structure(source.variables, is_3=is_3))
    return tree


def _variable(variable: FmuVariable, number: int, value: float, *, is_3: bool) -> Element:
    shared = {"name": variable.name, "valueReference": str(number), "description": variable.about}
    shared |= {"causality": variable.causality, "variability": "continuous"}
    if variable.causality == "parameter":
        shared["variability"] = "tunable"
    elif variable.boolean:
        shared["variability"] = "discrete"
    if variable.causality == "output":
        shared["initial"] = "exact" if variable.settable else "calculated"
    own = {"unit": variable.unit} if variable.unit else {}
    if variable.has_start:
        own["start"] = ("true" if value else "false") if variable.boolean else repr(value)
    if is_3:
        return Element("Boolean" if variable.boolean else "Float64", shared | own)
    scalar = Element("ScalarVariable", shared)
    SubElement(scalar, "Boolean" if variable.boolean else "Real", own)
    return scalar


def _structure(variables: tuple[FmuVariable, ...], *, is_3: bool) -> Element:
    """Return the ModelStructure; FMI 2.0 counts variables from 1."""
    tree = Element("ModelStructure")
    outputs = [k for k, each in enumerate(variables) if each.causality == "output"]
    calculated = [k for k in outputs if not variables[k].settable]
    if is_3:
        for tag, numbers in (("Output", outputs), ("InitialUnknown", calculated)):
            for k in numbers:
                SubElement(tree, tag, valueReference=str(k))
        return tree
    for tag, numbers in (("Outputs", outputs), ("InitialUnknowns", calculated)):
        if numbers:
            group = SubElement(tree, tag)
            for k in numbers:
                SubElement(group, "Unknown", index=str(k + 1))
    return tree
