"""One text, tried: read, proven, printed, read again, compiled, run, differentiated. What is no
answer and no `tx.Error` is a finding.
"""

from __future__ import annotations

import html
import traceback
import zlib
from collections.abc import Callable
from time import process_time

import numpy as np

from texpr.autodiff import grad
from texpr.compiler.call_checks import check_requirements, input_checks
from texpr.compiler.imports import Uses
from texpr.compiler.op import default_kernel
from texpr.ir.dtypes import F32, F64, I32, U8, DType, numbers_of, numpy_dtype, stored
from texpr.ir.expr import Call, Cast, Compare, Const, Div, FloorDiv, Mod, Node, Pow, Reduce, Tensor, Var
from texpr.ir.interpreter.tensor import interpret
from texpr.ir.printing.tensor import show_program
from texpr.ir.shapes import bind_sizes, caller_shape, evaluate_size
from texpr.ir.tensor import Equation, Invoke, Program
from texpr.ir.traverse import walk
from texpr.lang import OpDeclaration, elaborate, parse
from texpr.support.errors import CallError, CompileError, Error
from texpr.support.frozen_dataclass import frozen
from texpr.support.options import options
from texpr.support.warn import PACKAGE

READ_SECONDS, COMPILE_SECONDS = 1.0, 10.0
"""Processor time one text may take to be read and proven, and one operator to be compiled."""
SIDES = ("end", "begin")
"""Of arrays, where a page that cannot be touched is."""
_KINDS = {"float": F32, "int": I32, "num": F64, "any": U8}
_LARGEST_NUMBER, _MOST_ELEMENTS, _TOLERANCE = 70, 4096, 2e-2
_COARSE = 0.26
"""Of floats of 8 bits: neighbours of f8e5m2 are a quarter apart."""
_STEPS = frozenset(
    {"sqrt", "rsqrt", "log", "log2", "log1p", "floor", "ceil", "trunc", "rint", "sign", "isnan", "isinf"}
)
_ROUNDING = _STEPS | {"exp", "exp2", "expm1", "sin", "cos", "tanh", "sigmoid", "erf"}


@frozen
class Finding:
    """Something that should not happen. `kind` is equal for findings that are probably the same
    mistake; `detail` is for people.
    """

    kind: str
    detail: str


def trial(text: str, deep: bool) -> Finding | None:
    """Try a text.

    Args:
        deep: also compile, run and differentiate what it means.
    """
    start = process_time()
    try:
        module = _refusable(lambda: parse(text, "fuzz.tx", Uses(None)))
        declarations = list(module.ops.values()) if module is not None else []
        programs = [_refusable(lambda op=op: _program(op)) for op in declarations if not op.extern]
    except Exception as error:
        return exception("while reading", error)
    spent = process_time() - start
    if spent > READ_SECONDS:
        return Finding("slow to read", f"{spent:.2f} s of processor time")
    for program in programs:
        if program is not None:
            found = _used(program, text, deep)
            if found is not None:
                return found
    return None


def _refusable(make: Callable):  # noqa: ANN202
    """The result of `make`, or None where it is refused with a presentable error."""
    try:
        return make()
    except Error as error:
        said = str(error)
        said.encode("utf-8")
        assert error.message and "\x00" not in said, (
            "an error without words, or with characters that no terminal shows"
        )
        assert "<" not in html.escape(said)
        return None


def _program(op: OpDeclaration) -> Program:
    constants = {c.name: 2 for c in op.constants if c.required}
    return elaborate(op, {v.name: _KINDS.get(v.kind, F32) for v in op.type_variables}, constants)


def _used(program: Program, text: str, deep: bool) -> Finding | None:
    try:
        found = _printed(program)
        if found is None and deep:
            found = _run(program, text) or _differentiated(program)
    except Exception as error:
        return exception("while using", error)
    return found


def exception(when: str, error: Exception) -> Finding:
    """An exception as a finding, which the innermost function of the library names."""
    return Finding(
        f"{type(error).__name__} {when}, in {place_of(error)}", "".join(traceback.format_exception(error))
    )


def place_of(error: Exception) -> str:
    """The file of the package and the function in which an exception came up, those of tools
    aside.
    """
    frames = [
        (f.filename.removeprefix(PACKAGE), f.name)
        for f in traceback.extract_tb(error.__traceback__)
        if f.filename.startswith(PACKAGE)
    ]
    own = [f"{file}:{name}" for file, name in frames if not file.startswith("tools")]
    return own[-1] if own else "?"


def _printed(program: Program) -> Finding | None:
    """The finding where a printed program parses back to a program that prints otherwise."""
    text = show_program(program, with_callees=True)
    try:
        again = elaborate(parse(text, "printed.tx").ops[program.name], {}, {})
    except (Error, KeyError) as error:
        return Finding("what is printed is refused", f"{error}\n\n{text}")
    second = show_program(again, with_callees=True)
    return (
        None
        if second == text
        else Finding("what is printed means something else", f"{text}\n\nread again:\n\n{second}")
    )


def _differentiated(program: Program) -> Finding | None:
    gradient = _refusable(lambda: grad(program))
    if gradient is None:
        return None
    text = show_program(gradient, with_callees=True)
    try:
        again = elaborate(parse(text, "printed.tx").ops[gradient.name], {}, {})
    except (Error, KeyError) as error:
        return Finding("a printed gradient is refused", f"{error}\n\n{text}")
    return _printed(again) or _run(gradient, text)


def _run(program: Program, text: str) -> Finding | None:
    """The default schedule computes what the interpreter says, on arrays beside pages that
    cannot be touched.
    """
    generator = np.random.default_rng(zlib.crc32(text.encode("utf-8", "replace")))
    arrays = arguments(program, generator)
    if arrays is None:
        return None
    with np.errstate(all="ignore"):
        expected = _refusable(lambda: interpret(program, arrays))
    if expected is None:
        return None
    start = process_time()
    kernel = _refusable(
        lambda: default_kernel(program, _sizes(program, arrays) if generator.random() < 0.5 else {})
    )
    if process_time() - start > COMPILE_SECONDS:
        return Finding("slow to compile", f"{process_time() - start:.1f} s of processor time")
    if kernel is None:
        return None
    try:
        with options(guard=SIDES[len(text) % 2]):
            result = kernel(*arrays)
    except CompileError as error:
        if error.code == "target":  # what the language has and this target has not, said openly
            return None
        raise
    found = result if isinstance(result, tuple) else (result,)
    for tensor, a, b in zip(program.outputs, found, expected, strict=True):
        if not _same(tensor, np.asarray(a), np.asarray(b)) and not _fragile(program, arrays):
            given = "\n".join(f"{t.name} = {x!r}" for t, x in zip(program.inputs, arrays))
            return Finding("a wrong result", f"{given}\ncompiled {tensor.name} = {a!r}\nexpected {b!r}")
    return None


def _sizes(program: Program, arrays: list[np.ndarray]) -> dict[Var, int]:
    return bind_sizes(program.inputs, [a.shape for a in arrays])[0]


def arguments(program: Program, generator: np.random.Generator) -> list[np.ndarray] | None:
    """Small arrays that the program accepts; None where a few attempts found none, or where it
    would compute for long.
    """
    if any(isinstance(n, Const) and abs(n.value) > _LARGEST_NUMBER and n.dtype.is_int for n in walk(program)):
        return None
    tensors = {
        t: None for e in program.equations if isinstance(e, Equation) for t in (e.target,)
    } | dict.fromkeys(program.inputs)
    for _ in range(4):
        sizes = {v: int(generator.integers(1, 6)) for v in program.sizes}
        packs = {v: (sizes[v],) for v in program.sizes if v.pack}
        try:
            check_requirements(program.name, program.requires, sizes)
            shapes = [caller_shape(t, sizes, packs) for t in tensors]
            if any(
                min(shape, default=0) < 0 or np.prod(shape, dtype=float) > _MOST_ELEMENTS for shape in shapes
            ):
                continue
            arrays = [_array(t, sizes, packs, generator) for t in program.inputs]
            if any(a is None for a in arrays):
                continue
            given: list[np.ndarray] = arrays  # type: ignore[assignment]
            sizes = _sizes(program, given)  # a pack of no dimensions hands its extent on
            check_requirements(program.name, program.requires, sizes)
            for check in input_checks(program.inputs, sizes):
                check(given, {})
            return given
        except CallError:
            continue
    return None


def _array(
    tensor: Tensor, sizes: dict[Var, int], packs: dict[Var, tuple[int, ...]], generator: np.random.Generator
) -> np.ndarray | None:
    """Multiples of 1/4 near 0, which sums and products keep exactly; sometimes what floats have
    beside numbers.
    """
    shape, t = caller_shape(tensor, sizes, packs), numpy_dtype(tensor.dtype)
    if tensor.value_range is not None:
        lo, hi = (evaluate_size(bound, sizes) for bound in tensor.value_range)
        if hi <= lo:
            return None
        count = int(np.prod(shape))
        if tensor.distinct and count > hi - lo:
            return None
        values = (
            generator.permutation(hi - lo)[:count] + lo
            if tensor.distinct and hi - lo < 1e6
            else generator.integers(lo, hi, count)
        )
        return values.reshape(shape).astype(t)
    if not tensor.dtype.is_float:
        return generator.integers(
            0 if tensor.dtype.kind in "ub" else -8, 2 if tensor.dtype.bits == 1 else 9, shape
        ).astype(t)
    values = np.asarray(generator.integers(-8, 9, shape) / 4)
    if generator.random() < 0.2:
        values = np.where(
            generator.random(shape) < 0.2,
            generator.choice([np.nan, np.inf, -np.inf, -0.0, 1e30], shape),
            values,
        )
    return _stored(values, tensor.dtype)


def _stored(values: np.ndarray, t: DType) -> np.ndarray:
    with np.errstate(over="ignore"):
        if numpy_dtype(t).kind == "f":
            return values.astype(numpy_dtype(t))
        return stored(values, t)


def _same(tensor: Tensor, found: np.ndarray, expected: np.ndarray) -> bool:
    """Integers equal; floats within rounding, with the same infinities and NaN."""
    if (found.dtype, found.shape) != (expected.dtype, expected.shape):
        return False
    if tensor.dtype.is_float and found.dtype.kind != "f":
        found, expected = (numbers_of(x, tensor.dtype) for x in (found, expected))
    if found.dtype.kind != "f":
        return bool(np.array_equal(found, expected))
    with np.errstate(all="ignore"):
        finite = np.isfinite(expected)
        if not np.array_equal(np.isfinite(found), finite) or not np.array_equal(
            found[~finite], expected[~finite], equal_nan=True
        ):
            return False
        largest = float(np.max(np.abs(expected[finite]), initial=1.0))
        tolerance = _TOLERANCE if tensor.dtype.bits > 8 else _COARSE
        return bool(np.all(np.abs(found[finite].astype(float) - expected[finite]) <= tolerance * largest))


def _fragile(program: Program, arrays: list[np.ndarray]) -> bool:
    """True if a rounding error may become a large one: steps and poles after something that rounds,
    or infinities in a free order.
    """
    nodes = list(walk(program, *(e.program for e in program.equations if isinstance(e, Invoke))))
    rounds = any(isinstance(n, Div) or isinstance(n, Call) and n.function in _ROUNDING for n in nodes)
    steps = any(_is_step(n) for n in nodes)
    sums = any(isinstance(n, Reduce) and n.op in ("sum", "prod") and n.dtype.is_float for n in nodes)
    updates = any(
        isinstance(n, Equation) and n.update in ("add", "mul") and n.target.dtype.is_float for n in nodes
    )
    plain = all(
        np.all(np.abs(a.astype(float)) <= 16)
        for a, t in zip(arrays, program.inputs)
        if t.dtype.is_float and a.dtype.kind == "f"
    )
    plain = plain and not any(
        isinstance(n, Const) and n.dtype.is_float and not abs(n.value) <= 4 for n in nodes
    )
    plain = plain and not any(
        t.dtype.is_float and t.dtype.bits < 32 for t in (*program.inputs, *program.outputs)
    )
    return (
        steps
        and rounds
        or (sums or updates)
        and not plain
        or any(isinstance(n, Reduce) and n.op == "prod" for n in nodes)
    )


def _is_step(n: Node) -> bool:
    match n:
        case Compare(_, a, _):
            return a.dtype.is_float
        case Cast(a):
            return a.dtype.is_float and n.dtype.is_int
        case Call(name):
            return name in _STEPS
        case Div() | Pow():
            return True
        case Mod() | FloorDiv():
            return n.dtype.is_float
        case Reduce(op):
            return op in ("argmax", "argmin")
    return False
