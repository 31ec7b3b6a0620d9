"""Operators derived by differentiation."""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping, Sequence
from itertools import islice, product
from typing import TYPE_CHECKING, NamedTuple

from texpr import autodiff
from texpr.compiler.op import Make, Op, op
from texpr.compiler.operator_signature import Parameter, Signature, signature_of
from texpr.ir.dtypes import F64, DType
from texpr.ir.printing.types import type_text
from texpr.ir.tensor import Program
from texpr.passes.tensor.promote_to_f64 import widened
from texpr.support.errors import CallError, CheckError
from texpr.support.frozen_dataclass import replace
from texpr.support.suggest import known_arguments

if TYPE_CHECKING:
    from texpr.lang import AxisSpec

STAND_INS = (1, 2, 3, 4, 8)
MOST_STAND_INS = 64


@known_arguments
def grad(operator: Op, wrt: Sequence[str] | None = None) -> Op:
    """Gradient as an operator: inputs, then one cotangent per float output; outputs are the
    adjoints of `wrt`.

    `g(A, B, dC) -> (dA, dB)`. It recomputes what it needs of the forward equations. Reverse mode:
    Griewank and Walther, Evaluating Derivatives, 2008.

    Args:
        wrt: names of inputs; all float inputs unless given.
    Raises:
        CheckError: something has no gradient; the place says what.
    Example:
        >>> dot = tx.op("op dot(A: f32[N], B: f32[N]) -> C: f32 { C = sum(k: A[k] * B[k]) }")
        >>> da, db = tx.grad(dot)(np.float32([1, 2]), np.float32([3, 4]), np.float32(1))
        >>> da.tolist(), db.tolist()
        ([3.0, 4.0], [1.0, 2.0])
    """
    names = _names(wrt)

    def make(dtypes: Mapping[str, DType], constants: Mapping[str, object], absent: frozenset[str]) -> Program:
        return autodiff.grad(operator.program(dtypes, constants, absent), names)

    return derived(operator, make, (grad, (operator, names)))


@known_arguments
def vjp(operator: Op, checkpoint: Sequence[str] | None = None) -> tuple[Op, Op]:
    """Forward and backward operators that share residuals: forward gives the outputs and what
    backward needs of the way there.

    Args:
        checkpoint: names of the tensors that forward gives for backward, which computes again what
            else it needs; all that backward reads unless given. Inputs are kept by the caller.
    Raises:
        CheckError: something has no gradient, or no tensor has such a name.
    Example:
        >>> dot = tx.op("op dot(A: f32[N], B: f32[N]) -> C: f32 { C = sum(k: A[k] * B[k]) }")
        >>> forward, backward = tx.vjp(dot)
        >>> a, b = np.float32([1, 2]), np.float32([3, 4])
        >>> float(forward(a, b))
        11.0
        >>> [d.tolist() for d in backward(a, b, np.float32(1))]
        [[3.0, 4.0], [1.0, 2.0]]
    """
    names = None if checkpoint is None else _distinct("checkpoint", checkpoint)
    return _half(operator, "forward", names), _half(operator, "backward", names)


def _half(operator: Op, which: str, checkpoint: tuple[str, ...] | None) -> Op:
    def make(dtypes: Mapping[str, DType], constants: Mapping[str, object], absent: frozenset[str]) -> Program:
        return getattr(
            autodiff.vjp(operator.program(dtypes, constants, absent), checkpoint=checkpoint), which
        )

    return derived(operator, make, (_half, (operator, which, checkpoint)))


@known_arguments
def jvp(operator: Op, wrt: Sequence[str] | None = None) -> Op:
    """Derivative along a direction as an operator: inputs, then a tangent per input; outputs, then
    their tangents. Forward mode.

    Args:
        wrt: names of inputs that have a tangent; all float inputs unless given.
    Raises:
        CheckError: something has no derivative.
    Example:
        >>> dot = tx.op("op dot(A: f32[N], B: f32[N]) -> C: f32 { C = sum(k: A[k] * B[k]) }")
        >>> a, b = np.float32([1, 2]), np.float32([3, 4])
        >>> c, dc = tx.jvp(dot)(a, b, np.float32([1, 0]), np.float32([0, 0]))
        >>> float(c), float(dc)
        (11.0, 3.0)
    """
    names = _names(wrt)

    def make(dtypes: Mapping[str, DType], constants: Mapping[str, object], absent: frozenset[str]) -> Program:
        return autodiff.jvp(operator.program(dtypes, constants, absent), names)

    return derived(operator, make, (jvp, (operator, names)))


def register_vjp(name: str, operator: Op | str) -> None:
    """Register an operator as the gradient of every operator called `name`, such as an `extern op`.

    Its inputs are named after inputs and outputs of `name`, any of them, and `dY` for the cotangent
    of an output `Y`. Its outputs are the cotangents of the float inputs, in their order. Constants
    and dtype variables have the names that they have there. Gradients that are derived from then on
    use it; `check_grad` compares it.

    Args:
        operator: an operator, or its text.
    Raises:
        CallError: the name is no text, or the operator none.
        CheckError: the text is not one operator.
    Example:
        >>> tx.register_extern("thirds", lambda A: A / 3)
        >>> thirds = tx.op("extern op thirds(A: f64[N]) -> B: f64[N]")
        >>> tx.register_vjp("thirds", "op thirds_vjp(dB: f64[N]) -> dA: f64[N] { dA[i] = dB[i] / 3 }")
        >>> tx.grad(thirds)(np.float64([3]), np.float64([6])).tolist()
        [2.0]
    """
    backward = op(operator) if isinstance(operator, str) else operator
    if not isinstance(name, str) or not isinstance(backward, Op):
        raise CallError(
            f"register_vjp takes the name of an operator and an operator, not {name!r} and {operator!r}",
            code="arguments",
            help='register_vjp("cube", "op cube_grad(X: f32[N], dY: f32[N]) -> dX: f32[N] { dX[i] = 3 * X[i] '
            '** 2 * dY[i] }")',
        )

    def gradient(program: Program, wrt: Sequence[str], outputs: Sequence[str]) -> Program | None:
        floats = [t.name for t in program.inputs if t.dtype.is_float]
        known = signature_of(backward)
        constants = {
            c.name: dict(program.constants)[c.name]
            for c in known.constants
            if c.name in dict(program.constants)
        }
        dtypes = {
            n: t
            for n, t in program.constants
            if isinstance(t, DType) and n in {v for v, _ in known.variables}
        }
        found = backward.program(known.bind_dtypes({}) | dtypes, constants, frozenset())
        if all(t.dtype == F64 for t in program.inputs if t.dtype.is_float):
            found = widened(found)  # a check asks in f64 what is written for other floats
        return (
            replace(found, outputs=tuple(found.outputs[floats.index(n)] for n in wrt))
            if list(wrt) != floats
            else found
        )

    autodiff.register_vjp(name, gradient)


def _names(wrt: Sequence[str] | None) -> tuple[str, ...] | None:
    if wrt is None:
        return None
    names = _distinct("wrt", wrt)
    if not names:
        raise CallError(
            f"wrt is {wrt!r}, expected names of inputs, each once", code="arguments", help='wrt=["A", "B"]'
        )
    return names


def _distinct(what: str, given: Sequence[str]) -> tuple[str, ...]:
    """Names in a sequence, each once."""
    names = (given,) if isinstance(given, str) else tuple(given) if isinstance(given, Iterable) else (given,)
    if not all(isinstance(n, str) for n in names) or len(set(names)) < len(names):
        kind = "inputs" if what == "wrt" else "tensors"
        raise CallError(
            f"{what} is {given!r}, expected names of {kind}, each once",
            code="arguments",
            help=f'{what}=["A", "B"]',
        )
    return names


def derived(
    operator: Op,
    make: Make,
    origin: tuple,
    axes: tuple[AxisSpec, ...] | None = None,
    given: frozenset[str] = frozenset(),
) -> Op:
    """An operator with the constants and dtype variables of another one; its inputs are those of
    its own typical program.

    Args:
        axes: the constants that count axes, where they are others.
        given: optional inputs of the other operator that must be there.
    """
    base = signature_of(operator)
    dtypes = base.bind_dtypes({})
    typical, constants = _typical(base, make, dtypes)
    types = _types(base, make, dtypes, typical, constants, as_declared=axes is None)
    needed = _needed(base, make, dtypes, constants, given)
    defaults = {p.name: p.default for p in base.inputs}
    inputs = tuple(
        Parameter(
            t.name, types[t.name].dtype, t.name not in needed, types[t.name].text, defaults.get(t.name) or "0"
        )
        for t in typical.inputs
    )
    signature = Signature(
        typical.name,
        inputs,
        base.constants,
        base.variables,
        f"Derived from {base.name}.",
        tuple(Parameter(t.name, types[t.name].dtype, type=types[t.name].text) for t in typical.outputs),
        base.axes if axes is None else axes,
    )
    return Op(signature, make, origin)


class _Type(NamedTuple):
    """The type of a derived input or output: an element type or a dtype variable, and the text."""

    dtype: str
    text: str


def _types(
    base: Signature,
    make: Make,
    dtypes: Mapping[str, DType],
    typical: Program,
    constants: Mapping[str, object],
    as_declared: bool,
) -> dict[str, _Type]:
    """The types of inputs and outputs, by name.

    `X` and `dX` have the type that `X` is declared with. That of a residual is printed from the
    typical program; where its extents may depend on stand-ins for constants, they are `...`.

    Args:
        as_declared: tensors of the other operator have the types that they have there.
    """
    tensors = (*typical.inputs, *typical.outputs)
    variable_of = {p.name: p.dtype for p in base.inputs}
    for variable, t in dtypes.items():
        other = make({**dtypes, variable: _other(t)}, constants, frozenset())
        for i, j in zip((*other.inputs, *other.outputs), tensors):
            if i.dtype != j.dtype:
                variable_of.setdefault(j.name, variable)
    declared = {p.name: p.type for p in (*base.outputs, *base.inputs) if p.type and as_declared}
    declared |= {
        f"d{name}": _of_values(text) for name, text in declared.items() if f"d{name}" not in declared
    }
    found: dict[str, _Type] = {}
    for t in tensors:
        dtype = variable_of.get(t.name, t.dtype.name)
        shape = type_text(t).removeprefix(t.dtype.name)
        printed = dtype + ("[...]" if shape and base.constants else shape)
        found[t.name] = _Type(dtype, declared.get(t.name, printed))
    return found


def _of_values(text: str) -> str:
    """The text of a type without the range of its values and the constants that count its axes."""
    return re.sub(r":\w+(?=[,\]])", "", text.partition(" in ")[0].removesuffix(" distinct"))


def _needed(
    base: Signature,
    make: Make,
    dtypes: Mapping[str, DType],
    constants: Mapping[str, object],
    given: frozenset[str],
) -> set[str]:
    """The names of the inputs that are left where no optional input of the other operator is
    given.
    """
    optional = frozenset(p.name for p in base.inputs if p.optional) - given
    try:
        return {t.name for t in make(dtypes, constants, optional).inputs}
    except CheckError:
        return {
            t.name for t in make(dtypes, constants, frozenset()).inputs
        }  # one of them is asked for by name


def _other(t: DType) -> DType:
    """Another type of the same class: what changes with it has the variable's type."""
    return F64 if t.is_float else DType(t.kind, 64)


def _typical(base: Signature, make: Make, dtypes: Mapping[str, DType]) -> tuple[Program, dict[str, object]]:
    """A program to see the derived inputs in, with stand-ins for the constants that must be
    given; some do not meet a `require`.
    """
    names = [c.name for c in base.constants if c.required]
    refused: CheckError | None = None
    for values in islice(product(*[STAND_INS] * len(names)), MOST_STAND_INS):
        constants = base.provable(dict(zip(names, values)))
        try:
            return make(dtypes, constants, frozenset()), constants
        except CheckError as error:
            if not names:
                raise
            refused = refused or error
    assert refused is not None
    raise refused
