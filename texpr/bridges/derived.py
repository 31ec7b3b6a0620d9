"""Answers to what frameworks ask of an operator before it runs: shapes of results, the operator of
its gradient, kernels on raw memory. All of it follows from the operator's text.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from functools import lru_cache

from texpr.compiler import Op, grad, jvp
from texpr.compiler.call_checks import check_requirements
from texpr.compiler.kernels.compiled_kernel import AddressCalls
from texpr.graph.lazy.mapped_operators import map_operator
from texpr.ir.dtypes import DType
from texpr.ir.shapes import bind_sizes, caller_shape
from texpr.ir.tensor import Program
from texpr.support.errors import CallError
from texpr.support.frozen_dataclass import frozen


@frozen
class Described:
    """An array as frameworks know it before it has values.

    Attributes:
        shape: integers, or what stands for them while a framework traces: it has their operators.
    """

    shape: tuple
    dtype: DType


def program_for(
    operator: Op,
    given: Mapping[str, Described],
    constants: Mapping[str, object],
    convert: Callable[[DType | None], str],
) -> Program:
    """The program that serves a call.

    Args:
        given: the inputs by name; optional ones may be absent.
        convert: how the framework's users convert an array, for error messages: to a dtype, or to
            that of another one.
    Raises:
        CallError: a dtype or a constant that the operator does not have.
    """
    signature = operator.signature
    try:
        dtypes = signature.bind_dtypes({n: d.dtype for n, d in given.items()})
    except CallError as error:
        way_out = "convert one of them: " + convert(None) if error.help else ""
        raise CallError(error.message, code="dtype", help=way_out) from None
    counted = signature.counted(constants, {n: len(d.shape) for n, d in given.items()})
    absent = frozenset(p.name for p in signature.inputs if p.name not in given)
    program = operator.program(dtypes, counted, absent)
    for t in program.inputs:
        if t.name not in given:
            raise CallError(f"{signature.name}: `{t.name}` is missing", code="arguments")
        if given[t.name].dtype != t.dtype:
            raise CallError(
                f"{signature.name}: `{t.name}` is {given[t.name].dtype}, expected {t.dtype}",
                code="dtype",
                help="convert it: " + convert(t.dtype),
            )
    return program


def results_of(program: Program, shapes: Sequence[tuple]) -> tuple[Described, ...]:
    """The results of a call on inputs of these shapes.

    Raises:
        CallError: the shapes do not fit each other, or what the operator requires.
    """
    sizes, packs = bind_sizes(program.inputs, shapes)
    check_requirements(program.name, program.requires, sizes)
    return tuple(Described(caller_shape(t, sizes, packs), t.dtype) for t in program.outputs)


@lru_cache(maxsize=1024)
def gradient(operator: Op, wrt: tuple[str, ...]) -> Op:
    """`tx.grad`, the same operator for the same arguments.

    Raises:
        CheckError: something has no gradient.
    """
    return grad(operator, wrt)


@lru_cache(maxsize=1024)
def tangent(operator: Op, wrt: tuple[str, ...]) -> Op:
    """`tx.jvp`, the same operator for the same arguments.

    Raises:
        CheckError: something has no derivative.
    """
    return jvp(operator, wrt)


@lru_cache(maxsize=1024)
def mapped(operator: Op, axes: tuple[int | None, ...]) -> Op:
    """`tx.vmap` along an axis of each input, None for those that are not mapped; the same operator
    for the same arguments.

    Raises:
        CheckError: the operator cannot be mapped so.
    """
    return map_operator(operator, axes, 0)


@frozen
class Bound:
    """A kernel for arguments of certain shapes and dtypes.

    Attributes:
        calls: on C-contiguous memory; nothing is checked.
        inputs: how many there are.
        results: the outputs.
    """

    calls: AddressCalls
    inputs: int
    results: tuple[Described, ...]


def bound(operator: Op, program: Program, shapes: Sequence[tuple[int, ...]]) -> Bound | None:
    """The kernel of a call on raw memory, compiled if it is the first that needs it; None where a
    call has more to do than to run it: values to check, sizes that are not known to the kernel.

    Raises:
        CallError: the shapes do not fit each other, or what the operator requires.
        ResourceError: an array would be larger than any memory.
    """
    given = tuple(map(tuple, shapes))
    calls = operator.kernel_for(program, given).bind_addresses(given)
    return None if calls is None else Bound(calls, len(given), results_of(program, given))
