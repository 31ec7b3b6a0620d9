"""`python -m texpr bench grad`: what gradients cost beside their forward operators, on one
thread.
"""

from __future__ import annotations

import time
from argparse import Namespace
from collections.abc import Callable, Iterator
from dataclasses import field
from functools import partial

import numpy as np

from texpr import ops
from texpr.compiler import Op, grad
from texpr.support.frozen_dataclass import frozen
from texpr.support.options import options
from texpr.support.table import Table
from texpr.tools.arguments import Commands, add_command, add_runs
from texpr.tools.bench.bars import verdict

BAR = 1.25
"""Of a gradient's time to the forward operator's, where both multiply and add as often."""
LEAST_SECONDS = 2e-3


@frozen
class Case:
    """A call: shapes of the inputs, constants, and the inputs in which the gradient costs what
    the forward operator does.
    """

    operator: Op
    shapes: tuple[tuple[int, ...], ...]
    constants: dict[str, object] = field(default_factory=dict)
    alike: tuple[str, ...] = ()

    @property
    def title(self) -> str:
        sizes = " ".join("x".join(map(str, shape)) for shape in self.shapes[:2])
        strides = "".join(f" stride {n}" for name, n in self.constants.items() if name == "SH" and n != 1)
        return f"{self.operator.__name__} {sizes}{strides}"


def _convolution(n: int, c: int, size: int, k: int, window: int, stride: int) -> Case:
    pad = window // 2
    constants: dict[str, object] = {"SH": stride, "SW": stride, "PH": pad, "PW": pad}
    return Case(ops.conv2d, ((n, c, size, size), (k, c, window, window), (k,)), constants, ("X", "weight"))


CASES = (
    Case(ops.matmul, ((512, 512), (512, 512)), alike=("A", "B")),
    _convolution(2, 64, 56, 64, 3, 1),
    _convolution(2, 64, 56, 128, 3, 2),
    _convolution(2, 128, 28, 128, 1, 1),
    _convolution(2, 256, 14, 256, 3, 1),
    _convolution(2, 3, 112, 32, 3, 2),
    Case(ops.softmax, ((512, 1024),), {"axis": 1}),
    Case(ops.layer_norm, ((512, 1024), (1024,), (1024,))),
    Case(ops.gelu, ((512, 1024),)),
    Case(ops.attention, ((8, 128, 64), (8, 128, 64), (8, 128, 64))),
    Case(ops.maxpool2d, ((2, 64, 56, 56),)),
    Case(ops.cross_entropy, ((512, 1024), (512,))),
)


Row = tuple[str, str, float, float, float | None]


def rows(runs: int, cases: tuple[Case, ...] = CASES) -> Iterator[Row]:
    """For each case: the call, the inputs with gradients, seconds of both, and the bar of their
    ratio if there is one.
    """
    with options(threads=1):
        for case in cases:
            yield from _measured(case, runs)


def _measured(case: Case, runs: int) -> Iterator[Row]:
    random = np.random.default_rng(0)
    inputs = [_array(case, n, shape, random) for n, shape in enumerate(case.shapes)]
    forward = partial(case.operator, *inputs, **case.constants)
    seed = random.standard_normal(np.shape(forward()), dtype=np.float32)
    for name in case.alike or (None,):
        gradient = partial(
            grad(case.operator, None if name is None else [name]), *inputs, seed, **case.constants
        )
        seconds = _seconds((forward, gradient), runs)
        yield case.title, name or "all", seconds[0], seconds[1], None if name is None else BAR


def _array(case: Case, n: int, shape: tuple[int, ...], random: np.random.Generator) -> np.ndarray:
    signature = case.operator.signature
    dtype = signature.inputs[n].dtype
    if dict(signature.variables).get(dtype, dtype) in ("int", "i64"):
        return random.integers(0, case.shapes[0][1], shape)
    return random.standard_normal(shape, dtype=np.float32)


def _seconds(calls: tuple[Callable[[], object], ...], runs: int) -> list[float]:
    """Processor time of each, the least of so many runs in turns."""
    repeats = [max(1, round(LEAST_SECONDS / max(1e-7, _once(call, 1)))) for call in calls for _ in (call(),)]
    found = [[_once(call, n) for call, n in zip(calls, repeats)] for _ in range(runs)]
    return [min(times) for times in zip(*found)]


def _once(call: Callable[[], object], repeats: int) -> float:
    start = time.process_time()
    for _ in range(repeats):
        call()
    return (time.process_time() - start) / repeats


_TABLE = Table(
    {
        "operator": "<44",
        "gradient in": ">11",
        "forward, ms": ">11.3f",
        "gradient, ms": ">12.3f",
        "ratio": ">5.2f",
        "bar": ">5.2f",
        "": "<",
    }
)


def add_parser(commands: Commands) -> None:
    """Add the command `bench grad`."""
    parser = add_command(
        commands, "grad", bench_gradients, "time gradients beside their forward operators, on one thread"
    )
    add_runs(parser)


def bench_gradients(arguments: Namespace) -> int:
    """Print a row per gradient; 1 if one is over its bar."""
    over = 0
    print(_TABLE.header())
    for title, what, forward, gradient, bar in rows(arguments.runs):
        ratio = gradient / forward
        over += bool(verdict(ratio, bar))
        print(
            _TABLE.row(title, what, forward * 1e3, gradient * 1e3, ratio, bar, verdict(ratio, bar)),
            flush=True,
        )
    return int(over > 0)
