"""Operators that are declared, not written: `extern op`. A Program without equations is one; a
registered function computes it.

In a kernel they are `ExternCall`s. Compiled code calls the symbol `extern_symbol(call)`:

    int32_t texpr_extern_NAME_DTYPES(const void *input, ..., void *output, ..., int64_t extent, ...)

with the extents of every input and then of every output, outermost first; a pack is one dimension
there. Arrays are C-contiguous. 0 is success; anything else ends the kernel with a ResourceError.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from math import prod

import numpy as np

from texpr.ir.dtypes import DType, numbers_of, numpy_dtype
from texpr.ir.dtypes import stored as as_stored
from texpr.ir.expr import Cast, Read, Tensor, Var, index
from texpr.ir.loop import ExternCall, For, Kernel, Store
from texpr.ir.shapes import evaluate_size
from texpr.ir.tensor import Invoke, Program
from texpr.ir.traverse import kept_statements, variables
from texpr.support.errors import CallError
from texpr.support.tracebacks import boundary

Constants = Sequence[tuple[str, object]]
Address = int | Callable[[tuple[str, ...], tuple[int, ...]], int | None]
_FUNCTIONS: dict[str, Callable[..., object]] = {}
_ADDRESSES: dict[str, Address] = {}
_IN_PROCESS: dict[str, str] = {}
_OF_ROWS: set[Callable[..., object]] = set()


@boundary
def register_extern(
    name: str,
    function: Callable[..., object] | None = None,
    *,
    address: int | Callable[[tuple[str, ...], tuple[int, ...]], int | None] | None = None,
) -> None:
    """Register the code of every `extern op` called `name`: a Python function, native code for
    compiled kernels, or both.

    Kernels call the function with the GIL held, in the thread of the caller. An exception of the
    function is raised there, Ctrl-C included. Its results are checked: shapes, dtypes, and the
    ranges of values that the operator declares. Native code is believed.

    Args:
        function: takes one read-only array per input, and the operator's constants by name; gives
            an array, or a tuple with one per output. It sees the callers' dimensions: a pack has
            those of the array that is passed, a group is one. Types that NumPy lacks (bf16, floats
            of 8 bits) are f32 there, results too. A later registration replaces an earlier one for
            kernels that were compiled before, too.
        address: of a C function `int32_t (const void *input, ..., void *output, ..., int64_t
            extent, ...)`; the extents are those of all inputs and then of all outputs, outermost
            first. Whoever registers it keeps it loaded. Constants are not passed. For an operator
            of several dtypes it is a function of two tuples, the names of the dtypes and the
            numbers of extents, inputs first; it gives the address, or None where the Python
            function computes these.
    Raises:
        CallError: neither is given, or one is of a wrong type.
    Example:
        >>> tx.register_extern("halved", lambda A: A / 2)
        >>> halved = tx.op("extern op halved(A: f64[N]) -> B: f64[N]")
        >>> halved(np.float64([2, 4])).tolist()
        [1.0, 2.0]
    """
    if function is None and address is None:
        raise CallError(
            f"nothing is registered for `{name}`", code="extern", help="give a function, or address=..."
        )
    for word, given, fits in (
        ("function", function, callable(function)),
        ("address", address, callable(address) or (isinstance(address, int) and address > 0)),
    ):
        if given is not None and not fits:
            wanted = (
                "a function" if word == "function" else "a positive integer, or a function that gives one"
            )
            raise CallError(f"`{word}` of `{name}` is {given!r}, expected {wanted}", code="extern")
    _FUNCTIONS.pop(name, None)
    _ADDRESSES.pop(name, None)
    if function is not None:
        _FUNCTIONS[name] = function
    if address is not None:
        _ADDRESSES[name] = address


def extern_address(call: ExternCall, ranks: tuple[int, ...] | None = None) -> int | None:
    """The native code registered for a call, if there is some for its dtypes and ranks; `ranks`
    are those of the declaration, where the call's are others.
    """
    found = _ADDRESSES.get(call.name)
    if not callable(found):
        return found
    tensors = (*call.inputs, *call.outputs)
    return found(tuple(t.dtype.name for t in tensors), ranks or tuple(t.rank for t in tensors))


def function_of(name: str) -> Callable[..., object] | None:
    """The function registered for an operator, if there is one."""
    return _FUNCTIONS.get(name)


def registered(name: str) -> Callable[..., object]:
    """The function registered for an operator.

    Raises:
        CallError: there is none.
    """
    function = function_of(name)
    if function is None:
        raise CallError(
            f"`{name}` is extern and nothing computes it",
            code="extern",
            help=f"texpr.register_extern({name!r}, function)",
        )
    return function


def is_native_alone(name: str) -> bool:
    """True if native code computes an operator, and no function."""
    return name in _ADDRESSES and name not in _FUNCTIONS


def keep_in_process(name: str, why: str) -> None:
    """Say of an operator that no symbol stands for it in files: its code is this process's own."""
    _IN_PROCESS[name] = why


def why_in_process(name: str) -> str | None:
    """The reason for which an operator cannot be saved, if there is one."""
    return _IN_PROCESS.get(name)


def works_along_rows(function: Callable[..., object]) -> None:
    """Say of a function that it sees the last axis alone: before it, there may be any others."""
    _OF_ROWS.add(function)


def is_of_rows(name: str) -> bool:
    """True if the function registered for an operator sees the last axis alone."""
    return _FUNCTIONS.get(name) in _OF_ROWS


def is_extern(program: Program) -> bool:
    """True if a program has no equations: a registered function computes its outputs."""
    return not program.equations


def extern_call(call: Invoke, equation: int) -> ExternCall:
    """The statement that computes a call of an extern operator."""
    apart = all(n == 1 for group in joined_extents(call) for n in group)
    constants = tuple((n, v) for n, v in call.program.constants if isinstance(v, int | float | bool))
    return ExternCall(
        call.program.name,
        call.args,
        call.targets,
        constants,
        extern_effect(call.args, call.targets, equation),
        equation,
        () if apart else tuple(t.rank for t in (*call.args, *call.targets)),
    )


def joined_extents(call: Invoke) -> tuple[tuple[int, ...], ...]:
    """For each array of a call of an extern operator, inputs before outputs: how many of its
    extents each extent of the declaration is. A pack takes several dimensions of the caller.
    """
    declared = (*call.program.inputs, *call.program.outputs)
    return tuple(_joined(inner, outer) for inner, outer in zip(declared, (*call.args, *call.targets)))


def _joined(inner: Tensor, outer: Tensor) -> tuple[int, ...]:
    known = sum(1 if not d.pack else d.length or 0 for d in inner.dims)
    found: list[int] = []
    at = 0
    for dim in inner.dims:
        length = 1 if not dim.pack else len(outer.dims) - known if dim.length is None else dim.length
        taken = sum(len(d.sizes) for d in outer.dims[at : at + length])
        found += [taken] if dim.pack else [1] * taken
        at += length
    return tuple(found)


def extern_effect(
    inputs: Sequence[Tensor], outputs: Sequence[Tensor], equation: int
) -> tuple[For | Store, ...]:
    """Loops in which every element of the outputs is written after every element of the inputs
    is read.
    """
    return tuple(_effect(source, target, equation) for target in outputs for source in inputs or (None,))


def _effect(source: Tensor | None, target: Tensor, equation: int) -> For | Store:
    there = tuple(Var(f"o{k}") for k in range(target.rank))
    here = tuple(Var(f"i{k}") for k in range(source.rank)) if source is not None else ()
    value = Read(source, here) if source is not None else index(0)
    nest: For | Store = Store(
        target,
        there,
        value if value.dtype == target.dtype else Cast(value, dtype=target.dtype),
        equation=equation,
    )
    shape = (*target.shape, *(source.shape if source is not None else ()))
    for var, size in reversed([*zip((*there, *here), shape)]):
        nest = For(var, size, (nest,))
    return nest


def passed(kernel: Kernel) -> dict[Tensor, ExternCall]:
    """The tensors that code which is not written here takes or gives, with a call that does:
    they stay as the program has them.
    """
    return {
        t: s for s in kept_statements(kernel) if isinstance(s, ExternCall) for t in (*s.inputs, *s.outputs)
    }


def extern_symbol(call: ExternCall) -> str:
    """The symbol that compiled code calls: the name, the inputs' dtypes, the constants, and the
    ranks where a pack takes several dimensions.
    """
    words = [call.name, *(t.dtype.name for t in call.inputs), *(f"{n}_{v}" for n, v in call.constants)]
    words += [f"of_{'_'.join(map(str, call.ranks))}"] if call.ranks else []
    text = "_".join(words).replace("-", "m").replace("+", "").replace(".", "p")
    return f"texpr_extern_{text}"


def run_extern(
    program: Program,
    arrays: Sequence[np.ndarray],
    shapes: Sequence[tuple[int, ...]],
    sizes: Mapping[Var, int],
) -> tuple[np.ndarray, ...]:
    """The outputs of an extern operator, in the given shapes.

    Raises:
        CallError: no function is registered, or its results are other than the operator declares.
    """
    return run_function(
        program.name, program.constants, program.inputs, program.outputs, arrays, shapes, sizes
    )


def run_function(
    name: str,
    constants: Constants,
    inputs: Sequence[Tensor],
    outputs: Sequence[Tensor],
    arrays: Sequence[np.ndarray],
    shapes: Sequence[tuple[int, ...]],
    sizes: Mapping[Var, int],
) -> tuple[np.ndarray, ...]:
    """Outputs of the function registered for `name`, one array each, checked against their
    declarations.

    Args:
        arrays, shapes: in the callers' dimensions, as far as they are known.
        sizes: the sizes that are known; a range with others is not checked.
    """
    function = registered(name)
    numbers = [numbers_of(a, t.dtype) if t.dtype.as_bits else a for t, a in zip(inputs, arrays)]
    found = function(*numbers, **{n: value for n, value in constants if not isinstance(value, DType)})
    results = found if isinstance(found, tuple) else (found,)
    if len(results) != len(outputs):
        raise CallError(
            f"the function of `{name}` gives {len(results)} results, expected {len(outputs)}", code="extern"
        )
    stored = []
    for tensor, result, shape in zip(outputs, results, shapes):
        array = np.asarray(result)
        if tensor.dtype.as_bits and array.dtype == np.float32:
            array = as_stored(array, tensor.dtype)
        if array.shape != shape or array.dtype != numpy_dtype(tensor.dtype):
            raise CallError(
                f"the function of `{name}` gives {array.dtype}{list(array.shape)} for `{tensor.name}`, "
                f"expected "
                f"{numpy_dtype(tensor.dtype)}{list(shape)}",
                code="extern",
            )
        _check_range(tensor, array, sizes)
        _check_distinct(tensor, array, sizes)
        stored.append(array)
    return tuple(stored)


def opened_shape(
    tensor: Tensor, flat: Sequence[int], packs: Mapping[Var, tuple[int, ...]]
) -> tuple[int, ...]:
    """The callers' dimensions of an array in flat ones: groups multiplied, packs opened where
    their shape is known.
    """
    shape: tuple[int, ...] = ()
    extents = iter(flat)
    for dim in tensor.dims:
        whole = prod(next(extents) for _ in dim.sizes)
        shape += packs.get(dim.sizes[0], (whole,)) if dim.pack else (whole,)  # type: ignore[arg-type]
    return shape


def _check_range(tensor: Tensor, array: np.ndarray, sizes: Mapping[Var, int]) -> None:
    if tensor.value_range is None or not array.size or not variables(*tensor.value_range) <= sizes.keys():
        return
    lo, hi = (evaluate_size(e, sizes) for e in tensor.value_range)
    outside = (array < lo) | (array >= hi)
    if outside.any():
        first = np.unravel_index(int(np.argmax(outside)), array.shape)
        raise CallError(
            f"{_element(tensor, first)} is {array[first]}, expected a value in {lo}..{hi}", code="range"
        )


def _check_distinct(tensor: Tensor, array: np.ndarray, sizes: Mapping[Var, int]) -> None:
    if not tensor.distinct or not tensor.dims or not array.size:
        return
    last = tensor.shape[-1]
    rows = array.reshape(
        -1, evaluate_size(last, sizes) if variables(last) <= sizes.keys() else array.shape[-1]
    )
    order = np.argsort(rows, axis=1, kind="stable")
    ordered = np.take_along_axis(rows, order, axis=1)
    repeated = ordered[:, 1:] == ordered[:, :-1]
    if repeated.any():
        row = int(np.argmax(repeated.any(axis=1)))
        k = int(np.argmax(repeated[row]))
        places = [np.unravel_index(row * rows.shape[1] + int(order[row, j]), array.shape) for j in (k, k + 1)]
        said = " and ".join(_element(tensor, place) for place in places)
        raise CallError(f"{said} are both {array[places[0]]}, expected distinct values", code="distinct")


def _element(tensor: Tensor, place: Sequence[np.intp]) -> str:
    return f"`{tensor.name}[{', '.join(map(str, place))}]`" if place else f"`{tensor.name}`"
