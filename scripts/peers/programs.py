"""The litmus cases that other compilers can express: programs with loops, what is done to the
loops, and the right results.

Cases that turn on the order within a float sum are left out, since others do not promise it.
"""

from __future__ import annotations

import json
from collections.abc import Callable
from dataclasses import dataclass

import numpy as np

N = 16
UP, LEFT = 2, 4
"""Rows above and columns beside a stencil that are only read."""
WIDTH = N + 2 * LEFT
HEIGHT = N + UP


@dataclass(frozen=True)
class Program:
    """`stencil`: A[i, j] = X[i, j] + sum of A[i - a, j - b] / 4 over (a, b); `line`: Y[t] = X[t]
    + Y[t - d] / 2; the others as named.
    """

    kind: str
    distances: tuple[tuple[int, int], ...] = ()

    def inputs(self) -> list[np.ndarray]:
        """Arguments, the last of which is written in place."""
        random = np.random.default_rng(0)
        match self.kind:
            case "stencil":
                X = random.random((HEIGHT, WIDTH), np.float32)
                return [X, X.copy()]
            case "line":
                X = random.random(N + 8, np.float32)
                return [X, X.copy()]
            case "halves":
                return [random.random(N, np.float32), np.zeros(N, np.float32)]
            case "matmul":
                return [
                    random.integers(0, 9, (N, N)).astype(np.float32),
                    random.integers(0, 9, (N, N)).astype(np.float32),
                    np.zeros((N, N), np.float32),
                ]
            case "rowsum":
                return [random.integers(0, 9, (N, N)).astype(np.float32), np.zeros(N, np.float32)]
            case "histogram":
                return [random.integers(0, 4, N).astype(np.int32), np.zeros(4, np.int32)]
            case "gather":
                return [
                    random.random((N, N), np.float32),
                    random.integers(0, N, N).astype(np.int32),
                    np.zeros((N, N), np.float32),
                ]
            case "shifted":
                return [random.random(N, np.float32), np.zeros(N, np.float32)]
        raise AssertionError(self.kind)

    def expected(self) -> np.ndarray:
        """What the last argument should hold."""
        *given, out = self.inputs()
        match self.kind:
            case "stencil":
                for i in range(UP, HEIGHT):
                    for j in range(LEFT, LEFT + N):
                        value = given[0][i, j]
                        for a, b in self.distances:
                            value = value + out[i - a, j - b] * np.float32(0.25)
                        out[i, j] = value
            case "line":
                for t in range(8, N + 8):
                    out[t] = given[0][t] + out[t - self.distances[0][0]] * np.float32(0.5)
            case "halves":
                for i in range(N):
                    out[i // 2] += given[0][i]
            case "matmul":
                out[...] = given[0] @ given[1]
            case "rowsum":
                out[...] = given[0].sum(axis=1)
            case "histogram":
                out[...] = np.bincount(given[0], minlength=4)
            case "gather":
                out[...] = given[0][given[1]]
            case "shifted":
                out[:-1] = given[0][1:]
        return out


Operation = tuple[str, ...]


def stencil(*distances: tuple[int, int]) -> Program:
    return Program("stencil", distances)


DIAGONAL, ANTIDIAGONAL, COLUMN = stencil((1, 1)), stencil((1, -1)), stencil((1, 0))
SEIDEL, MIXED, HEAT, UPWIND = (
    stencil((1, 0), (0, 1)),
    stencil((1, -1), (0, 1)),
    stencil((1, -1), (1, 0), (1, 1)),
    stencil((1, 0), (1, 1)),
)
TILES = (("split", "i", "4"), ("split", "j", "4"), ("reorder", "io", "jo", "ii", "ji"))
EXCHANGE = (("reorder", "j", "i"),)
LINE, FOUR = Program("line", ((1, 0),)), Program("line", ((4, 0),))
HALVES, MATMUL, ROWSUM = Program("halves"), Program("matmul"), Program("rowsum")

CASES: dict[str, tuple[Program, tuple[Operation, ...]]] = {
    "interchange_antidiagonal": (ANTIDIAGONAL, EXCHANGE),
    "interchange_diagonal": (DIAGONAL, EXCHANGE),
    "interchange_column": (COLUMN, EXCHANGE),
    "interchange_seidel": (SEIDEL, EXCHANGE),
    "interchange_mixed": (MIXED, EXCHANGE),
    "interchange_heat": (HEAT, EXCHANGE),
    "interchange_upwind": (UPWIND, EXCHANGE),
    "tile_diagonal": (DIAGONAL, TILES),
    "tile_seidel": (SEIDEL, TILES),
    "tile_antidiagonal": (ANTIDIAGONAL, TILES),
    "tile_heat": (HEAT, TILES),
    "tile_upwind": (UPWIND, TILES),
    "matmul_any_order": (MATMUL, (("reorder", "k", "j", "i"),)),
    "parallel_prefix_sum": (LINE, (("parallel", "t"),)),
    "vectorize_prefix_sum": (LINE, (("split", "t", "8"), ("vectorize", "ti"))),
    "vectorize_within_the_distance": (FOUR, (("split", "t", "4"), ("vectorize", "ti"))),
    "vectorize_beyond_the_distance": (FOUR, (("split", "t", "8"), ("vectorize", "ti"))),
    "parallel_tiles_of_a_recurrence": (FOUR, (("split", "t", "4"), ("parallel", "to"))),
    "parallel_rows_of_a_recurrence": (COLUMN, (("parallel", "j"),)),
    "parallel_time_of_rows": (COLUMN, (("parallel", "i"),)),
    "parallel_inner_of_diagonal": (DIAGONAL, (("parallel", "j"),)),
    "parallel_seidel_inner": (SEIDEL, (("parallel", "j"),)),
    "parallel_seidel_outer": (SEIDEL, (("parallel", "i"),)),
    "parallel_heat_space": (HEAT, (("parallel", "j"),)),
    "parallel_heat_time": (HEAT, (("parallel", "i"),)),
    "parallel_halves": (HALVES, (("parallel", "i"),)),
    "parallel_pairs_of_halves": (HALVES, (("split", "i", "2"), ("parallel", "io"))),
    "parallel_matmul_rows": (MATMUL, (("parallel", "i"),)),
    "parallel_k_of_matmul": (MATMUL, (("reorder", "k", "i", "j"), ("parallel", "k"))),
    "parallel_sum": (ROWSUM, (("parallel", "k"),)),
    "split_sum": (ROWSUM, (("split", "k", "4"),)),
    "histogram_parallel": (Program("histogram"), (("parallel", "i"),)),
    "gather_parallel": (Program("gather"), (("parallel", "b"),)),
    "gather_exchanged": (Program("gather"), (("reorder", "d", "b"),)),
    "shifted_read": (Program("shifted"), ()),
}


class NotExpressible(Exception):
    """A compiler has no words for this."""


def report(attempt: Callable[[Program, tuple[Operation, ...]], np.ndarray | None]) -> None:
    """Print a verdict per case as JSON: `attempt` schedules and runs one and gives the result, None
    where it only made code; it raises where the schedule is refused."""
    said: dict[str, str] = {}
    for name, (program, operations) in CASES.items():
        try:
            found = attempt(program, operations)
        except NotExpressible:
            continue
        except Exception:
            said[name] = "refused"
            continue
        wrong = 0 if found is None else int((found != program.expected()).sum())
        said[name] = f"wrong {wrong}/{program.expected().size}" if wrong else "accepted"
    print(json.dumps(said))
