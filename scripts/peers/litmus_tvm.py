"""What TVM makes of the litmus cases: TensorIR as text, steps of its schedule."""

from __future__ import annotations

import numpy as np
import tvm
from programs import HEIGHT, LEFT, UP, WIDTH, N, Operation, Program, report

HEAD = "@T.prim_func(private=False, s_tir=True)\ndef f({parameters}):\n{body}"
F32 = '"float32"'


def text(program: Program) -> tuple[str, list[str]]:
    """A function with one block, and its loops."""

    def buffer(name: str, *shape: int, dtype: str = F32) -> str:
        return f"{name}: T.Buffer(({', '.join(map(str, shape))},), {dtype})"

    match program.kind:
        case "stencil":
            terms = "".join(
                f" + A[vi + {UP - a}, vj + {LEFT - b}] * T.float32(0.25)" for a, b in program.distances
            )
            return made(
                [buffer("X", HEIGHT, WIDTH), buffer("A", HEIGHT, WIDTH)],
                {"i": "S", "j": "S"},
                f"A[vi + {UP}, vj + {LEFT}] = X[vi + {UP}, vj + {LEFT}]{terms}",
            )
        case "line":
            d = program.distances[0][0]
            return made(
                [buffer("X", N + 8), buffer("Y", N + 8)],
                {"t": "S"},
                f"Y[vt + 8] = X[vt + 8] + Y[vt + {8 - d}] * T.float32(0.5)",
            )
        case "halves":
            return made([buffer("A", N), buffer("B", N)], {"i": "S"}, "B[vi // 2] = B[vi // 2] + A[vi]")
        case "matmul":
            return made(
                [buffer("A", N, N), buffer("B", N, N), buffer("C", N, N)],
                {"i": "S", "j": "S", "k": "R"},
                "C[vi, vj] = C[vi, vj] + A[vi, vk] * B[vk, vj]",
                "C[vi, vj] = T.float32(0)",
            )
        case "rowsum":
            return made(
                [buffer("X", N, N), buffer("y", N)],
                {"i": "S", "k": "R"},
                "y[vi] = y[vi] + X[vi, vk]",
                "y[vi] = T.float32(0)",
            )
        case "histogram":
            return made(
                [buffer("X", N, dtype='"int32"'), buffer("H", 4, dtype='"int32"')],
                {"i": "S"},
                "H[X[vi]] = H[X[vi]] + 1",
            )
        case "gather":
            return made(
                [buffer("E", N, N), buffer("idx", N, dtype='"int32"'), buffer("Y", N, N)],
                {"b": "S", "d": "S"},
                "Y[vb, vd] = E[idx[vb], vd]",
            )
    return made([buffer("A", N), buffer("B", N)], {"i": "S"}, "B[vi] = A[vi + 1]")


def made(parameters: list[str], axes: dict[str, str], store: str, start: str = "") -> tuple[str, list[str]]:
    loops = list(axes)
    lines = [
        f"    for {', '.join(loops)} in T.grid({', '.join([str(N)] * len(loops))}):",
        '        with T.sblock("block"):',
        f'            {", ".join("v" + n for n in loops)} = T.axis.remap("{"".join(axes.values())}", '
        f"[{', '.join(loops)}])",
    ]
    lines += ["            with T.init():", f"                {start}"] if start else []
    return HEAD.format(
        parameters=", ".join(parameters), body="\n".join([*lines, f"            {store}"])
    ), loops


def attempt(program: Program, operations: tuple[Operation, ...]) -> np.ndarray:
    source, names = text(program)
    s = tvm.s_tir.Schedule(tvm.script.from_source(source))
    loops = dict(zip(names, s.get_loops(s.get_sblock("block"))))
    for step, *arguments in operations:
        match step:
            case "split":
                name, factor = arguments
                loops[name + "o"], loops[name + "i"] = s.split(loops.pop(name), [None, int(factor)])
            case "reorder":
                s.reorder(*(loops[n] for n in arguments))
            case _:
                getattr(s, step)(loops[arguments[0]])
    arrays = [tvm.runtime.tensor(a) for a in program.inputs()]
    tvm.compile(s.mod, target="llvm")["main"](*arrays)
    return arrays[-1].numpy()


if __name__ == "__main__":
    report(attempt)
