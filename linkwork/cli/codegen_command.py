"""The command `codegen`: a machine's model and law as C or Python, or the simulated machine as an FMU."""

from pathlib import Path

from linkwork.cli.options.files import CodegenOptions
from linkwork.command_line import imported
from linkwork.fmu.fmu_export import write_fmu
from linkwork.machine import Machine, load
from linkwork.multibody.kernels.library import NoCompiler
from linkwork.terminal.failures import Misuse, require, write_texts
from linkwork.terminal.output import complain, emit, say


def codegen(options: CodegenOptions) -> None:
    """Run `linkwork codegen`."""
    if (options.out is None) == (options.fmu is None):
        raise Misuse("choose one of --out DIR (model and law as a program) and --fmu FILE.fmu")
    if options.fmu is not None:
        if options.single or options.language != "c":
            raise Misuse("--float and --language are for programs; an FMU computes in doubles")
        _write_fmu(load(options.config), options, options.fmu)
        return
    if options.single and options.language == "python":
        raise Misuse("--float is for C; the Python module computes in doubles")
    assert options.out is not None
    require("symbolic equations", "symbolic", "sympy")
    machine = load(options.config)
    if machine.controller.gains:
        complain(
            "warning: the law has one bandwidth and damping ratio for all; controller.gains are left out"
        )
    generate = imported("convert.codegen:generate")  # needs sympy
    files: dict[str, str] = generate(machine, options.language, single=options.single)
    paths = write_texts(options.out, files)
    if options.as_json:
        emit({"machine": machine.name, "files": [str(path) for path in paths]})
        return
    for name, text in files.items():
        say(f"{options.out / name}: {text.count(chr(10))} lines")
    if options.language == "c":
        base = next(iter(files)).removesuffix(".h")
        say(f"test it: cd {options.out} && cc -O2 {base}.c {base}_test.c -lm -o {base}_test && ./{base}_test")


def _write_fmu(machine: Machine, options: CodegenOptions, path: Path) -> None:
    """Write the FMU, and say what is not part of it."""
    if path.suffix != ".fmu":
        raise Misuse(f"--fmu {path}: the name must end in .fmu")
    left_out = {
        "loose parts and grippers": machine.scene is not None,
        "signals": bool(machine.signals),
        "force sensors": bool(machine.force_sensors),
        f"switching of {', '.join(machine.switchable)}": bool(machine.switchable),
    }
    missing = [what for what, there in left_out.items() if there]
    if missing:
        complain(f"warning: not part of the FMU: {'; '.join(missing)}")
    try:
        files = write_fmu(machine, path, options.fmi)
    except NoCompiler:
        remedy = "install gcc or clang, or run `pip install ziglang`"
        raise Misuse(f"an FMU has a binary, and there is no C compiler to build it: {remedy}") from None
    except OSError as error:
        raise Misuse(f"{path} cannot be written: {error.strerror}") from None
    if options.as_json:
        emit(
            {
                "machine": machine.name,
                "fmu": str(path),
                "fmi": options.fmi,
                "files": files,
                "left_out": missing,
            }
        )
        return
    say(f"{path}: FMI {options.fmi}.0 for co-simulation, {len(files)} files")
