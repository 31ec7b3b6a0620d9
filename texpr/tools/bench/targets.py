"""`python -m texpr bench targets`: the operator library and its gradients on every target, against
the interpreter.

Foreign processors are emulated by QEMU, GPUs by one fiber per thread. Names of devices (`cuda`,
`emulated`) are targets too: there, operators run as plans over the memory of the device. Inputs are
random, of small sizes; results may differ by what rounding in another order, and another exp, make
of them.
"""

from __future__ import annotations

import argparse
from collections.abc import Iterator
from dataclasses import dataclass, field
from importlib.util import module_from_spec, spec_from_file_location
from pathlib import Path

import numpy as np

from texpr import autodiff
from texpr.compiler import Schedule, load
from texpr.compiler.imports import library_files
from texpr.graph.execution.placement import to_host
from texpr.graph.lazy.lazy_tensor import apply_program
from texpr.graph.lazy.making import of_bits
from texpr.ir.dtypes import numpy_dtype, readable
from texpr.ir.expr import Tensor, Var
from texpr.ir.interpreter.tensor import interpret
from texpr.ir.shapes import Shape, caller_shape, flat_shape
from texpr.ir.tensor import Program
from texpr.runtime import gpu
from texpr.schedule.legality.replay import random_inputs
from texpr.support.errors import CompileError, Error
from texpr.support.progress import progress
from texpr.support.table import Table
from texpr.targets import find_target
from texpr.tools.arguments import Commands, add_command, add_library, add_part, part_of_all
from texpr.tools.bench.certificates import small

TARGETS = (
    "native",
    "x86-64",
    "x86-64-v3",
    "aarch64",
    "aarch64+dotprod",
    "aarch64+sve",
    "a64fx",
    "armv7",
    "sm_80",
)
SIZE = 6
TOLERANCE = {16: 2e-2, 32: 1e-4, 64: 1e-9}
"""Of programs whose narrowest floats have so many bits: relative to the largest element of a
result.
"""


_TABLE = Table({"target": "<", "operators": ">", "gradients": ">"})


@dataclass(slots=True)
class Tally:
    """Of one target: how many operators and gradients were right, of how many, and what went
    wrong.
    """

    forward: list[int] = field(default_factory=lambda: [0, 0])
    gradient: list[int] = field(default_factory=lambda: [0, 0])
    wrong: list[str] = field(default_factory=list)


def add_parser(commands: Commands) -> None:
    """Add the command `bench targets`."""
    parser = add_command(
        commands,
        "targets",
        bench_targets,
        "run all operators and gradients on targets, and compare with the interpreter",
        [
            "texpr bench targets --targets native,aarch64 --part 1/4",
            "texpr bench targets --load c_target.py --targets c",
        ],
    )
    add_library(parser)
    parser.add_argument(
        "--targets",
        metavar="NAMES",
        help="targets and devices with commas between (default: a list of CPUs and GPUs)",
    )
    parser.add_argument("--load", metavar="FILE", help="a Python file that registers targets")
    add_part(parser)


def bench_targets(arguments: argparse.Namespace) -> int:
    """Print a table of targets: operators and gradients that equal the interpreter, of all; then
    what does not.

    Returns:
        1 if something does not.
    """
    if arguments.load:
        _run_file(Path(arguments.load))
    names = arguments.targets.split(",") if arguments.targets else TARGETS
    tallies = {_known(name): Tally() for name in names}
    cases = list(cases_of(Path(arguments.file) if arguments.file else None, part_of_all(arguments.part)))
    for name, program, sizes, is_gradient in progress(cases, " operators"):
        try:
            given, expected = expected_of(program, sizes)
        except Error:
            continue  # Its dimensions depend on its constants in a way that none of these sizes fits.
        for target, tally in tallies.items():
            counts = tally.gradient if is_gradient else tally.forward
            counts[1] += 1
            said = _difference(program, sizes, target, given, expected)
            counts[0] += not said
            tally.wrong += [f"{target}: {name}: {said}"] if said else []
    rows = ((target, _share(tally.forward), _share(tally.gradient)) for target, tally in tallies.items())
    print(_TABLE.text(rows))
    for line in (line for tally in tallies.values() for line in tally.wrong):
        print(line)
    return int(any(tally.wrong for tally in tallies.values()))


def _run_file(path: Path) -> None:
    """Import a file, which registers targets.

    Raises:
        CompileError: there is no such file.
    """
    found = spec_from_file_location(path.stem, path) if path.suffix == ".py" and path.is_file() else None
    if found is None or found.loader is None:
        raise CompileError(f"{path} is no Python file", code="target")
    found.loader.exec_module(module_from_spec(found))


def _known(name: str) -> str:
    """The full name of a target or a device.

    Raises:
        CompileError: there is no such target.
        ResourceError: the device cannot be used.
    """
    if not gpu.is_device(name) or gpu.full_name(name) == gpu.HOST:
        return find_target(name).name
    gpu.find_device(name)
    return gpu.full_name(name)


def _share(counts: list[int]) -> str:
    return f"{counts[0]} / {counts[1]}"


def cases_of(file: Path | None, part: tuple[int, int]) -> Iterator[tuple[str, Program, dict[Var, int], bool]]:
    """Every operator of the files that some small sizes meet, and its gradient where it has one.

    Args:
        part: which operators of each file: of `(2, 5)` the second of every five.
    """
    which, of = part
    for path in [file] if file is not None else library_files():
        for name, op in list(vars(load(path)).items())[which - 1 :: of]:
            program, sizes = small(op, SIZE)
            if sizes is None:
                continue
            yield name, program, sizes, False
            try:
                gradient = autodiff.grad(program)
            except Error:
                continue
            yield f"grad({name})", gradient, {v: sizes[v] for v in gradient.sizes}, True


def expected_of(program: Program, sizes: dict[Var, int]) -> tuple[list[np.ndarray], tuple[np.ndarray, ...]]:
    """Inputs near 1, since what rounding does to sums of all magnitudes tells nothing, and what
    the interpreter makes of them.
    """
    arrays = zip(program.inputs, random_inputs(program, sizes, 0))
    given = [
        _input(t, a, np.random.default_rng(k)).reshape(_seen(t, sizes)) for k, (t, a) in enumerate(arrays)
    ]
    if program.name.startswith("search"):  # in an ordered row
        given[0] = np.sort(given[0])
    return given, interpret(program, given, {v.name: n for v, n in sizes.items()})


def _input(tensor: Tensor, found: np.ndarray, generator: np.random.Generator) -> np.ndarray:
    if not tensor.dtype.is_float or tensor.dtype.as_bits:
        return found
    return np.asarray(generator.uniform(0.1, 0.9, found.shape)).astype(numpy_dtype(tensor.dtype))


def _seen(tensor: Tensor, sizes: dict[Var, int]) -> Shape:
    """The shape in which callers pass a tensor, packs as one dimension."""
    return caller_shape(tensor, sizes, {v: (n,) for v, n in sizes.items() if v.pack})


def _difference(
    program: Program,
    sizes: dict[Var, int],
    target: str,
    given: list[np.ndarray],
    expected: tuple[np.ndarray, ...],
) -> str:
    """Differences in a target's results; empty if there is none."""
    try:
        results = (
            _on_device(program, target, given)
            if gpu.is_device(target)
            else _compiled(program, sizes, target, given)
        )
    except Error as error:
        return str(error).splitlines()[0]
    floats = [
        t.dtype.bits for t in (*program.inputs, *program.temporaries, *program.outputs) if t.dtype.is_float
    ]
    tolerance = TOLERANCE[min(floats, default=64)]
    for output, found, wanted in zip(program.outputs, results, expected, strict=True):
        shape = flat_shape(output, sizes)
        said = _apart(output, tolerance, np.asarray(found).reshape(shape), np.asarray(wanted).reshape(shape))
        if said:
            return said
    return ""


def _compiled(
    program: Program, sizes: dict[Var, int], target: str, given: list[np.ndarray]
) -> tuple[object, ...]:
    kernel = Schedule(program, sizes).auto(target).compile(target)
    results = kernel(*given) if kernel.target.native else kernel.emulate(*given)
    return results if isinstance(results, tuple) else (results,)


def _on_device(program: Program, device: str, given: list[np.ndarray]) -> tuple[object, ...]:
    tensors = tuple(of_bits(a, t.dtype, device=device) for t, a in zip(program.inputs, given))
    return tuple(to_host(r.realize().value) for r in apply_program(program, tensors))


def _apart(tensor: Tensor, tolerance: float, found: np.ndarray, wanted: np.ndarray) -> str:
    if not tensor.dtype.is_float:
        return "" if np.array_equal(found, wanted) else f"{tensor.name} has other elements"
    a, b = (np.asarray(readable(x, tensor.dtype), np.float64) for x in (found, wanted))
    finite = b[np.isfinite(b)]
    bound = tolerance * max(1.0, float(np.abs(finite).max(initial=0)))
    if np.allclose(a, b, rtol=0, atol=bound, equal_nan=True):
        return ""
    return f"{tensor.name} differs by {np.nanmax(np.abs(a - b)):.1e}, allowed {bound:.1e}"
