"""What Exo makes of the litmus cases: procedures as text, its scheduling operators, compiled by
the C compiler.
"""

from __future__ import annotations

import ctypes
import importlib.util
import subprocess
import tempfile
from pathlib import Path

import numpy as np
from exo.stdlib.scheduling import divide_loop, parallelize_loop, reorder_loops
from programs import HEIGHT, LEFT, UP, WIDTH, N, NotExpressible, Operation, Program, report

FOLDER = Path(tempfile.mkdtemp())


def text(program: Program) -> tuple[list[str], list[str], str]:
    """Arguments, loops and the statement."""
    match program.kind:
        case "stencil":
            terms = "".join(f" + A[i + {UP - a}, j + {LEFT - b}] * 0.25" for a, b in program.distances)
            return (
                [f"X: f32[{HEIGHT}, {WIDTH}]", f"A: f32[{HEIGHT}, {WIDTH}]"],
                ["i", "j"],
                f"A[i + {UP}, j + {LEFT}] = X[i + {UP}, j + {LEFT}]{terms}",
            )
        case "line":
            return (
                [f"X: f32[{N + 8}]", f"Y: f32[{N + 8}]"],
                ["t"],
                f"Y[t + 8] = X[t + 8] + Y[t + {8 - program.distances[0][0]}] * 0.5",
            )
        case "halves":
            return [f"A: f32[{N}]", f"B: f32[{N}]"], ["i"], "B[i / 2] += A[i]"
        case "matmul":
            return [f"{n}: f32[{N}, {N}]" for n in "ABC"], ["i", "j", "k"], "C[i, j] += A[i, k] * B[k, j]"
        case "rowsum":
            return [f"X: f32[{N}, {N}]", f"y: f32[{N}]"], ["i", "k"], "y[i] += X[i, k]"
        case "shifted":
            return [f"A: f32[{N}]", f"B: f32[{N}]"], ["i"], "B[i] = A[i + 1]"
    raise NotExpressible  # indices that are data


def attempt(program: Program, operations: tuple[Operation, ...]) -> np.ndarray:
    arguments, order, statement = text(program)
    lines = [
        "from __future__ import annotations",
        "from exo import proc",
        "@proc",
        f"def f({', '.join(arguments)}):",
    ]
    lines += [f"{'    ' * (k + 1)}for {n} in seq(0, {N}):" for k, n in enumerate(order)]
    lines.append("    " * (len(order) + 1) + statement)
    procedure = load("\n".join(lines) + "\n")
    for step, *arguments in operations:
        match step:
            case "split":
                name, factor = arguments
                procedure = divide_loop(procedure, name, int(factor), [name + "o", name + "i"], perfect=True)
                order[order.index(name) : order.index(name) + 1] = [name + "o", name + "i"]
            case "reorder":
                procedure = reordered(procedure, order, list(arguments))
            case "parallel":
                procedure = parallelize_loop(procedure, arguments[0])
            case _:
                raise NotExpressible
    return run(procedure, program)


def reordered(procedure, order: list[str], wanted: list[str]):
    """Exchange neighbours until the loops stand as wanted."""
    for k, name in enumerate(wanted):
        while order.index(name) > k:
            p = order.index(name)
            procedure = reorder_loops(procedure, f"{order[p - 1]} {name}")
            order[p - 1], order[p] = order[p], order[p - 1]
    return procedure


def load(source: str):
    path = FOLDER / f"p{len(list(FOLDER.iterdir()))}.py"
    path.write_text(source)
    spec = importlib.util.spec_from_file_location(path.stem, path)
    assert spec is not None and spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module.f


def run(procedure, program: Program) -> np.ndarray:
    code = "\n".join(
        line for line in procedure.c_code_str().splitlines() if not line.startswith('#include "')
    )
    source = FOLDER / f"c{len(list(FOLDER.iterdir()))}.c"
    library = source.with_suffix(".so")
    source.write_text(code)
    subprocess.run(
        ["cc", "-O1", "-fopenmp", "-shared", "-fPIC", "-o", library, source], check=True, capture_output=True
    )
    arrays = program.inputs()
    ctypes.CDLL(str(library)).f(None, *(a.ctypes.data_as(ctypes.c_void_p) for a in arrays))
    return arrays[-1]


if __name__ == "__main__":
    report(attempt)
