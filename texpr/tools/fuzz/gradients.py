"""Random operators, differentiated: every derivative is proven, printed, read again,
interpreted, compared, compiled and run.
"""

from __future__ import annotations

import zlib
from collections import Counter
from pathlib import Path
from random import Random
from typing import Any

import numpy as np

from texpr.autodiff import grad, jvp, vjp
from texpr.compiler.op import default_kernel
from texpr.ir.dtypes import numpy_dtype
from texpr.ir.interpreter.tensor import interpret
from texpr.ir.printing.tensor import show_program
from texpr.ir.shapes import bind_sizes
from texpr.ir.tensor import Program
from texpr.ir.verifier.program import verify_program
from texpr.lang import elaborate, parse
from texpr.passes.tensor.promote_to_f64 import widened
from texpr.poly import check_program
from texpr.support.errors import CertificateError, CheckError, CompileError, Error
from texpr.support.options import options
from texpr.tools.fuzz.differentiable import differentiable_text
from texpr.tools.fuzz.part import Part, alone, batched, file_name
from texpr.tools.fuzz.shrink import shrunk
from texpr.tools.fuzz.trial import Finding, arguments, exception

SHRINK_SECONDS = 60.0
_NATIVE, _SECOND = 6, 3
"""One operator of so many is also compiled and run; differentiated twice."""
_STEP, _DIFFERENCES, _MODES, _ATTEMPTS = 1e-6, 1e-5, 1e-9, 3
_ROUNDING = {"f64": 1e-9, "f32": 1e-3}
Arrays = list[np.ndarray]


class Gradients(Part):
    """The part of the fuzzer that differentiates."""

    what, size, seconds = "gradients", 5, (300.0, 120.0)

    def request(self, numbers: list[int]) -> tuple[object, ...]:
        return f"{__name__}:batch", self.seed, numbers

    def write(self, folder: Path, number: int, finding: Finding) -> Path:
        """A file with the shortest text that still shows the finding, and a file about it."""

        def fails(candidate: str) -> bool:
            again = replayed(candidate)
            return again is not None and again.kind == finding.kind

        small = shrunk(text_of(self.seed, number), fails, SHRINK_SECONDS)
        name = file_name(finding, small)
        (folder / f"{name}.gradients").write_text(small)
        again = replayed(small) or finding
        (folder / f"{name}.txt").write_text(
            f"{finding.kind}\nseed {self.seed}, gradient {number}\n\n{small}\n\n{again.detail}\n"
        )
        return folder / f"{name}.gradients"


def text_of(seed: int, number: int) -> str:
    """Operator `number` of a seed."""
    return differentiable_text(Random(f"{seed}:{number}"))


def replayed(text: str) -> Finding | None:
    """Try a text in a child process."""
    return alone(f"{__name__}:one", text, seconds=Gradients.seconds[1])


def batch(seed: int, numbers: list[int]) -> list[Any]:
    """Runs in a child."""

    def trial(number: int, counts: Counter[str]) -> Finding | None:
        return differentiated(
            text_of(seed, number), counts, native=number % _NATIVE == 0, second=number % _SECOND == 0
        )

    return batched(numbers, trial)


def one(text: str) -> list[str] | None:
    """Runs in a child."""
    finding = differentiated(text, Counter(), native=True, second=True)
    return None if finding is None else [finding.kind, finding.detail]


class _Wrong(Exception):
    """A finding: its kind, and what people want to know."""


def differentiated(text: str, counts: Counter[str], native: bool, second: bool) -> Finding | None:
    """Try the derivatives of an operator.

    Args:
        counts: how often what happened.
        native: also compile and run them.
        second: also differentiate them.
    """
    try:
        program = elaborate(parse(text, "fuzz.tx").ops["f"], {}, {})
    except (Error, KeyError):
        counts["refused"] += 1
        return None
    counts["programs"] += 1
    try:
        _examine(program, counts, native, second)
    except _Wrong as wrong:
        return Finding(*wrong.args)
    except Exception as error:
        if not (isinstance(error, CheckError) and error.code == "gradient"):
            return exception("while differentiating", error)
        counts[f"no derivative | {str(error).splitlines()[0]}"] += 1
    return None


def _examine(program: Program, counts: Counter[str], native: bool, second: bool) -> None:
    backward, halves, forward = grad(program), vjp(program), jvp(program)
    for derived in (backward, *halves, forward):
        _is_accepted(derived)
    counts["differentiated"] += 4
    wide = widened(program)
    random = np.random.default_rng(zlib.crc32(show_program(program).encode()))
    given = arguments(wide, random)
    if given is None:
        return
    counts["interpreted"] += _are_equal(wide, given, random)
    if second:
        again = grad(backward)
        for derived in (again, jvp(backward), grad(forward)):
            _is_accepted(derived)
        counts["differentiated twice"] += 3
        seeds = [np.asarray(random.standard_normal(y.shape)) for y in interpret(wide, given)]
        counts["interpreted"] += _are_equal(grad(wide), [*given, *seeds], random)
        _run(again, random, counts, native)
    _run(backward, random, counts, native)
    _run(halves.backward, random, counts, native)


def _is_accepted(derived: Program) -> None:
    """It is well-formed, proven for the sizes that it says, and what is printed of it means the
    same.
    """
    verify_program(derived)
    text = show_program(derived, with_callees=True)
    try:
        more = check_program(derived)
        again = elaborate(parse(text, "printed.tx").ops[derived.name], {}, {})
    except (Error, KeyError) as error:
        raise _Wrong(
            f"{derived.name} is refused: {str(error).splitlines()[0]}", f"{error}\n\n{text}"
        ) from None
    if more or len(again.requires) != len(derived.requires):
        raise _Wrong(f"{derived.name} requires more", f"{text}\n\nread again:\n\n{show_program(again)}")
    second = show_program(again, with_callees=True)
    third = show_program(elaborate(parse(second, "printed.tx").ops[derived.name], {}, {}), with_callees=True)
    if second != third:
        raise _Wrong(f"{derived.name} is printed in two ways", f"{second}\n\nread again:\n\n{third}")


def _are_equal(program: Program, given: Arrays, random: np.random.Generator) -> bool:
    """Its gradient, its two halves and forward mode agree with differences, at one of a few
    points at least: others may be kinks.
    """
    said = ""
    for _ in range(_ATTEMPTS):
        x = [
            np.asarray(random.standard_normal(a.shape)) if t.dtype.is_float else a
            for a, t in zip(given, program.inputs)
        ]
        with np.errstate(all="ignore"):
            said = _difference(program, x, random)
        if not said:
            return True
    raise _Wrong(said.split(":")[0], f"{said}\n\n{show_program(grad(program), with_callees=True)}")


def _difference(program: Program, x: Arrays, random: np.random.Generator) -> str:
    """Differences of the derivatives at a point; empty where they agree, or where numbers are too
    large to tell.
    """
    floats = [t.dtype.is_float for t in program.inputs]
    v = [np.asarray(random.standard_normal(a.shape)) for a, is_float in zip(x, floats) if is_float]
    values = interpret(program, x)
    u = [np.asarray(random.standard_normal(y.shape)) for y in values]
    size = max((float(np.max(np.abs(y), initial=0.0)) for y in values), default=0.0)
    if not size < 1e3:
        return ""
    gradient = interpret(grad(program), [*x, *u])
    derived = _dot(gradient, v)
    sides = [interpret(program, _moved(x, floats, v, step)) for step in (_STEP, -_STEP)]
    measured = _dot(u, [a - b for a, b in zip(*sides)]) / (2 * _STEP)
    ahead = _dot(interpret(jvp(program), [*x, *v])[len(program.outputs) :], u)
    scale = max(1.0, abs(derived), float(sum(np.abs(g * w).sum() for g, w in zip(gradient, v))))
    numbers = f"differences give {measured}, the gradient {derived}, forward mode {ahead}"
    if not abs(derived - ahead) <= _MODES * scale:
        return f"forward and reverse mode differ: {numbers}"
    if not abs(measured - derived) <= _DIFFERENCES * scale:
        return f"a gradient differs from differences: {numbers}"
    if any(
        not np.allclose(a, b, 1e-9, 1e-9 * scale)
        for a, b in zip(_by_halves(program, x, u), gradient, strict=True)
    ):
        return "the halves give another gradient: forward and backward"
    return ""


def _by_halves(program: Program, x: Arrays, u: Arrays) -> tuple[np.ndarray, ...]:
    forward, backward = vjp(program)
    known = dict(zip((t.name for t in program.inputs), x)) | dict(
        zip((t.name for t in forward.outputs), interpret(forward, x))
    )
    known |= dict(zip((t.name for t in backward.inputs[len(backward.inputs) - len(u) :]), u))
    return interpret(backward, [known[t.name] for t in backward.inputs])


def _moved(x: Arrays, floats: list[bool], v: Arrays, step: float) -> Arrays:
    directions = iter(v)
    return [a + step * next(directions) if is_float else a for a, is_float in zip(x, floats)]


def _dot(left: Any, right: Any) -> float:
    return sum(float(np.sum(a * b)) for a, b in zip(left, right, strict=True))


def _run(derived: Program, random: np.random.Generator, counts: Counter[str], native: bool) -> None:
    """Compiled, it computes what the interpreter says and touches nothing behind its arrays."""
    given = arguments(derived, random) if native else None
    if given is None:
        return
    expected = interpret(derived, given)
    try:
        with options(guard="end"):
            kernel = default_kernel(
                derived,
                bind_sizes(derived.inputs, [a.shape for a in given])[0] if random.random() < 0.5 else {},
            )
            found = kernel(*given)
    except CertificateError as error:
        raise _Wrong(
            "no certified schedule", f"{error}\n\n{show_program(derived, with_callees=True)}"
        ) from None
    except (CompileError, CheckError) as error:
        if error.code == "target":
            return
        raise
    counts["compiled and run"] += 1
    for tensor, a, b in zip(
        derived.outputs, found if isinstance(found, tuple) else (found,), expected, strict=True
    ):
        largest = float(np.max(np.abs(b[np.isfinite(b)]), initial=1.0))
        tolerance = _ROUNDING.get(str(tensor.dtype), 0.0) * largest
        if not np.allclose(np.asarray(a), b, 0.0, tolerance, equal_nan=True) and largest < 1e6:
            raise _Wrong(
                "a wrong result",
                f"{show_program(derived)}\n{given!r}\ncompiled {tensor.name} = {a!r}\nexpected {b!r}",
            )
    assert all(numpy_dtype(t.dtype) == np.asarray(a).dtype for t, a in zip(derived.inputs, given))
