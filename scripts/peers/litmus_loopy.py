"""What loopy makes of the litmus cases. Loops are run as C; parallel ones are only generated, as
OpenCL.
"""

from __future__ import annotations

import warnings

import loopy as lp
import numpy as np
from programs import HEIGHT, LEFT, UP, WIDTH, N, NotExpressible, Operation, Program, report

warnings.simplefilter("ignore")


def parts(program: Program) -> tuple[str, str, list[tuple[str, type, tuple[int, ...]]]]:
    """Loops, the statement, and the arrays."""
    f32, i32 = np.float32, np.int32
    match program.kind:
        case "stencil":
            terms = "".join(f" + 0.25f*A[i+{UP - a}, j+{LEFT - b}]" for a, b in program.distances)
            return (
                "i,j",
                f"A[i+{UP}, j+{LEFT}] = X[i+{UP}, j+{LEFT}]{terms}",
                [("X", f32, (HEIGHT, WIDTH)), ("A", f32, (HEIGHT, WIDTH))],
            )
        case "line":
            return (
                "t",
                f"Y[t+8] = X[t+8] + 0.5f*Y[t+{8 - program.distances[0][0]}]",
                [("X", f32, (N + 8,)), ("Y", f32, (N + 8,))],
            )
        case "halves":
            return "i", "B[i//2] = B[i//2] + A[i]", [("A", f32, (N,)), ("B", f32, (N,))]
        case "matmul":
            return (
                "i,j,k",
                "C[i,j] = C[i,j] + A[i,k]*B[k,j]",
                [("A", f32, (N, N)), ("B", f32, (N, N)), ("C", f32, (N, N))],
            )
        case "rowsum":
            return "i,k", "y[i] = y[i] + X[i,k]", [("X", f32, (N, N)), ("y", f32, (N,))]
        case "histogram":
            return "i", "H[X[i]] = H[X[i]] + 1", [("X", i32, (N,)), ("H", i32, (4,))]
        case "gather":
            return "b,d", "Y[b,d] = E[idx[b],d]", [("E", f32, (N, N)), ("idx", i32, (N,)), ("Y", f32, (N, N))]
    return "i", "B[i] = A[i+1]", [("A", f32, (N,)), ("B", f32, (N,))]


def attempt(program: Program, operations: tuple[Operation, ...]) -> np.ndarray | None:
    loops, statement, arrays = parts(program)
    at_once = any(step == "parallel" for step, *_ in operations)
    domain = " and ".join(f"0 <= {n} < {N}" for n in loops.split(","))
    kernel = lp.make_kernel(
        f"{{[{loops}]: {domain}}}",
        statement.replace("0.25f", "0.25").replace("0.5f", "0.5"),
        [lp.GlobalArg(name, dtype, shape=shape) for name, dtype, shape in arrays],
        lang_version=(2018, 2),
        target=lp.OpenCLTarget() if at_once else lp.ExecutableCTarget(),
    )
    order = loops
    for step, *arguments in operations:
        match step:
            case "split":
                name, factor = arguments
                kernel = lp.split_iname(
                    kernel, name, int(factor), outer_iname=name + "o", inner_iname=name + "i"
                )
                order = order.replace(name, f"{name}o,{name}i")
            case "reorder":
                order = ",".join([*arguments, *(n for n in order.split(",") if n not in arguments)])
            case "parallel":
                kernel = lp.tag_inames(kernel, {arguments[0]: "g.0"})
            case _:
                raise NotExpressible
    kernel = lp.prioritize_loops(kernel, order)
    if at_once:
        lp.generate_code_v2(kernel)
        return None
    given = program.inputs()
    kernel(**dict(zip((name for name, *_ in arrays), given)))
    return given[-1]


if __name__ == "__main__":
    report(attempt)
