"""What Halide makes of the litmus cases: loops over an RDom, in place, in an update definition."""

from __future__ import annotations

import halide as hl
import numpy as np
from programs import LEFT, UP, N, NotExpressible, Operation, Program, report


def built(
    program: Program, arrays: list[np.ndarray]
) -> tuple[hl.Func, hl.Stage, dict[str, hl.RVar | hl.Var]]:
    """The function, its update, and the loops by name. Halide's first index is NumPy's last."""
    x, y = hl.Var("x"), hl.Var("y")
    *given, start = map(hl.Buffer, arrays)
    f = hl.Func("f")
    match program.kind:
        case "stencil":
            r = hl.RDom([(0, N), (0, N)], "r")
            f[x, y] = start[x, y]
            value = given[0][r.x + LEFT, r.y + UP]
            for a, b in program.distances:
                value = value + f[r.x + LEFT - b, r.y + UP - a] * hl.f32(0.25)
            f[r.x + LEFT, r.y + UP] = value
            return f, f.update(0), {"i": r.y, "j": r.x}
        case "line":
            r = hl.RDom([(0, N)], "r")
            f[x] = start[x]
            f[r.x + 8] = given[0][r.x + 8] + f[r.x + 8 - program.distances[0][0]] * hl.f32(0.5)
            return f, f.update(0), {"t": r.x}
        case "halves":
            r = hl.RDom([(0, N)], "r")
            f[x] = start[x]
            f[r.x // 2] = f[r.x // 2] + given[0][r.x]
            return f, f.update(0), {"i": r.x}
        case "matmul":
            r = hl.RDom([(0, N)], "r")
            f[x, y] = start[x, y]
            f[x, y] = f[x, y] + given[0][r.x, y] * given[1][x, r.x]
            f.update(0).reorder(r.x, x, y)
            return f, f.update(0), {"i": y, "j": x, "k": r.x}
        case "rowsum":
            r = hl.RDom([(0, N)], "r")
            f[x] = start[x]
            f[x] = f[x] + given[0][r.x, x]
            return f, f.update(0), {"i": x, "k": r.x}
        case "histogram":
            r = hl.RDom([(0, N)], "r")
            f[x] = start[x]
            at = hl.clamp(given[0][r.x], 0, 3)
            f[at] = f[at] + 1
            return f, f.update(0), {"i": r.x}
        case "gather":
            f[x, y] = given[0][x, hl.clamp(given[1][y], 0, N - 1)]
            return f, f, {"b": y, "d": x}  # type: ignore[return-value]
    f[x] = given[0][x + 1]
    return f, f, {"i": x}  # type: ignore[return-value]


def attempt(program: Program, operations: tuple[Operation, ...]) -> np.ndarray:
    arrays = program.inputs()  # Halide only points to them
    f, stage, loops = built(program, arrays)
    for step, *arguments in operations:
        match step:
            case "split":
                name, factor = arguments
                kind = type(loops[name])
                outer, inner = kind(name + "o"), kind(name + "i")
                stage.split(loops.pop(name), outer, inner, int(factor))
                loops |= {name + "o": outer, name + "i": inner}
            case "reorder":
                stage.reorder(*(loops[n] for n in reversed(arguments)))
            case "parallel":
                stage.parallel(loops[arguments[0]])
            case "vectorize":
                stage.vectorize(loops[arguments[0]])
            case _:
                raise NotExpressible
    result = f.realize(list(reversed(arrays[-1].shape)))
    return np.array(result)  # a copy: the buffer ends with this function


if __name__ == "__main__":
    report(attempt)
