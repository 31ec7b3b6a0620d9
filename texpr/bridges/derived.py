"""Answers to what frameworks ask of an operator before it runs: the program that serves a call, the
shapes of its results, kernels on raw memory. All of it follows from the operator's text.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence

from texpr.compiler import Op
from texpr.compiler.kernels.compiled_kernel import AddressCalls
from texpr.graph.capture.capture import bind_call, resolve_program
from texpr.ir.dtypes import DType
from texpr.ir.shapes import caller_shape
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

    @property
    def ndim(self) -> int:
        """The number of dimensions."""
        return len(self.shape)


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
    try:
        program = resolve_program(operator, given, constants)
    except CallError as error:
        if error.code == "dtype" and error.help:
            error = CallError(error.message, code="dtype", help="convert one of them: " + convert(None))
        raise error from None
    for t in program.inputs:
        if t.name not in given:
            raise CallError(f"{program.name}: `{t.name}` is missing", code="arguments")
        if given[t.name].dtype != t.dtype:
            raise CallError(
                f"{program.name}: `{t.name}` is {given[t.name].dtype}, expected {t.dtype}",
                code="dtype",
                help="convert it: " + convert(t.dtype),
            )
    return program


def results_of(program: Program, shapes: Sequence[tuple]) -> tuple[Described, ...]:
    """The results of a call on inputs of these shapes.

    Raises:
        CallError: the shapes do not fit each other, or what the operator requires.
    """
    sizes, packs = bind_call(program, shapes)
    return tuple(Described(caller_shape(t, sizes, packs), t.dtype) for t in program.outputs)


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
    results = results_of(program, given)
    calls = operator.kernel_for(program, given).bind_addresses(given)
    return None if calls is None else Bound(calls, len(given), results)
