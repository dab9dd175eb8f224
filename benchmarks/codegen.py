"""Generated C beside CasADi's: M, h and A of the 3-RRS platform, in one run.

    python -m benchmarks.codegen [--machine platform_3rrs] [--blocks 41] [--compiler cc] [--flags=-O2]

Both programs are compiled with the same flags and called in turn, block by block, on the same 64 states; the
figure is the median of the blocks' ratios, ours over CasADi's. CasADi (`pip install casadi`, which nothing
else needs) has the model by the same recursions, with A by screws and as the Jacobian of Φ, each with and
without its `cse`; the fastest counts. Before anything is timed all must agree to 1e-12.
"""

from __future__ import annotations

import argparse
import json
import subprocess
import tempfile
from pathlib import Path

import casadi as ca
import numpy as np

from benchmarks.casadi_model import CasadiModel
from linkwork.machine import load
from linkwork.multibody import Mechanism
from linkwork.symbolic.c_source import header, source
from linkwork.symbolic.generated_program import GeneratedProgram, function
from linkwork.symbolic.symbolic_model import NamedResult, SymbolicModel

CALLS, STATES = 20000, 64
VARIANTS = ("screws", "gradient", "screws_cse", "gradient_cse")

DRIVER = """
#include "ours.h"
#include <stdio.h>
#include <time.h>
{declarations}
enum {{ NQ = {nq}, NV = {nv}, NR = {nr}, CALLS = {calls}, STATES = {states}, BLOCKS = {blocks} }};
static const double q[STATES][NQ] = {q};
static const double v[STATES][NV] = {v};
static double M[NV * NV], h[NV], A[NR * NV], work[200000];
static long long iw[1000];
static double now(void) {{
    struct timespec t;
    clock_gettime(CLOCK_MONOTONIC, &t);
    return (double)t.tv_sec + 1e-9 * (double)t.tv_nsec;
}}
static void ours(int k) {{ ours_dynamics(q[k], v[k], M, h, A); }}
{callers}
static void (*const call[])(int) = {{ours, {names}}};
int main(void) {{
    static double sum[{count}];
    for (int c = 0; c < {count}; ++c) {{
        for (int k = 0; k < STATES; ++k) {{
            call[c](k);
            for (int i = 0; i < NV; ++i) sum[c] += h[i] * (i + 1);
            for (int i = 0; i < NV; ++i) for (int j = 0; j < NV; ++j) sum[c] += M[i * NV + j] * (1 + i + j);
            for (int i = 0; i < NR * NV; ++i) sum[c] += A[i] * (1 + i % 7);
        }}
        fprintf(stderr, "%.15g\\n", sum[c]);
    }}
    for (int b = 0; b < BLOCKS; ++b) {{
        for (int c = 0; c < {count}; ++c) {{
            const double start = now();
            for (int k = 0; k < CALLS; ++k) call[c](k % STATES);
            printf("%.9g%c", 1e9 * (now() - start) / CALLS, c + 1 < {count} ? ' ' : '\\n');
        }}
    }}
    return 0;
}}
"""


def main() -> None:
    """Print one JSON object: nanoseconds a call of each, the ratio, and operations."""
    options = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    options.add_argument("--machine", default="platform_3rrs")
    options.add_argument("--blocks", type=int, default=41)
    options.add_argument("--compiler", default="cc")
    options.add_argument("--flags", default="-O2")
    options.add_argument("--json", action="store_true", help="print JSON; this benchmark always does")
    given = options.parse_args()
    mechanism = load(given.machine).mechanism
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        operations = _ours(mechanism, folder)
        theirs = _casadi(mechanism, folder)
        q, v = _states(mechanism)
        _write_driver(folder, mechanism, q, v, given.blocks)
        sources = [str(folder / f"{each}.c") for each in ("ours", *VARIANTS, "driver")]
        command = [given.compiler, *given.flags.split(), *sources, "-o", str(folder / "run"), "-lm"]
        subprocess.run(command, check=True)
        run = subprocess.run([folder / "run"], check=True, capture_output=True, text=True)
    sums = np.array([float(line) for line in run.stderr.split()])
    assert np.abs(sums - sums[0]).max() < 1e-12 * abs(sums[0]), sums
    times = np.array([[float(x) for x in line.split()] for line in run.stdout.splitlines()])
    medians = np.median(times, axis=0)
    fastest = 1 + int(np.argmin(medians[1:]))
    print(
        json.dumps(
            {
                "machine": given.machine,
                "ours_ns": round(float(medians[0]), 1),
                **{
                    f"casadi_{key}_ns": round(float(x), 1)
                    for key, x in zip(VARIANTS, medians[1:], strict=True)
                },
                "fastest_casadi": VARIANTS[fastest - 1],
                "ratio": round(float(np.median(times[:, 0] / times[:, fastest])), 3),
                "operations_ours": operations,
                "operations_casadi": theirs,
            },
            indent=2,
        )
    )


def _ours(mechanism: Mechanism, folder: Path) -> int:
    model = SymbolicModel(mechanism)
    parts = model.parts()
    wanted = [NamedResult(key, parts[key].shape, parts[key].entries) for key in ("M", "h", "A")]
    made = function(model, "dynamics", "M, h and A.", wanted)
    program = GeneratedProgram("ours", mechanism.body_names[0], model, (made,), None, None)
    (folder / "ours.h").write_text(header(program, single=False))
    (folder / "ours.c").write_text(source(program, single=False))
    return model.tape.operations([entry for part in wanted for entry in part.entries])


def _casadi(mechanism: Mechanism, folder: Path) -> dict[str, int]:
    operations = {}
    for variant in VARIANTS:
        model = CasadiModel(mechanism)
        rows = model.screws() if variant.startswith("screws") else model.gradient()
        # CasADi stores column by column, ours is row by row: transposed results lie alike
        results = [ca.densify(model.mass_matrix()), model.bias(), ca.densify(rows.T)]
        if variant.endswith("_cse"):
            results = ca.cse(results)
        made = ca.Function(variant, [model.q, model.v], [ca.densify(each) for each in results])
        generator = ca.CodeGenerator(f"{variant}.c", {"with_header": False})
        generator.add(made)
        generator.generate(f"{folder}/")
        operations[variant] = made.n_instructions()
    return operations


def _states(mechanism: Mechanism) -> tuple[np.ndarray, np.ndarray]:
    rng = np.random.default_rng(1)
    q, v = rng.uniform(-1.0, 1.0, (STATES, mechanism.nq)), rng.uniform(-1.0, 1.0, (STATES, mechanism.nv))
    for joint in [name for name in mechanism.position_names if name.endswith(".quaternion")]:
        scalar = mechanism.position_names.index(joint)
        first = mechanism.position_names.index(f"{joint.removesuffix('.quaternion')}.rx")
        size = np.sqrt((q[:, first : first + 3] ** 2).sum(1) + q[:, scalar] ** 2)
        q[:, first : first + 3] /= size[:, None]
        q[:, scalar] /= size
    return q, v


def _write_driver(folder: Path, mechanism: Mechanism, q: np.ndarray, v: np.ndarray, blocks: int) -> None:
    def array(values: np.ndarray) -> str:
        rows = ", ".join("{" + ", ".join(repr(float(x)) for x in row) + "}" for row in values)
        return "{" + rows + "}"

    declarations = "\n".join(
        f"int {name}(const double **arg, double **res, long long *iw, double *w, int mem);"
        for name in VARIANTS
    )
    callers = "\n".join(
        f"static void call_{name}(int k) {{ "
        "const double *arg[2] = {q[k], v[k]}; double *res[3] = {M, h, A}; "
        f"{name}(arg, res, iw, work, 0); }}"
        for name in VARIANTS
    )
    text = DRIVER.format(
        declarations=declarations,
        callers=callers,
        names=", ".join(f"call_{name}" for name in VARIANTS),
        count=1 + len(VARIANTS),
        nq=mechanism.nq,
        nv=mechanism.nv,
        nr=len(mechanism.row_names),
        calls=CALLS,
        states=STATES,
        blocks=blocks,
        q=array(q),
        v=array(v),
    )
    (folder / "driver.c").write_text(text)


if __name__ == "__main__":
    main()
