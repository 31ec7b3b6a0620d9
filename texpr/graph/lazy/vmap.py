"""`tx.vmap`: operators and functions of tensors for several examples at once."""

from __future__ import annotations

import functools
import inspect
from collections.abc import Callable, Mapping, Sequence
from itertools import zip_longest
from typing import Any, overload

from texpr.compiler import Op
from texpr.graph.arrays.array_functions import is_weak
from texpr.graph.lazy.inner_functions import Spec, apply, as_operand, interned, is_number, name_of, traced
from texpr.graph.lazy.mapped_operators import InAxes, OutAxes, is_axis, map_operator
from texpr.graph.lazy.pytrees import flattened
from texpr.ir.tensor import Program
from texpr.passes.tensor.batch_axis import vmap as mapped_program
from texpr.passes.tensor.fix_sizes import specialize
from texpr.support.errors import CallError
from texpr.support.spelling import counted
from texpr.support.suggest import known_arguments
from texpr.support.tracebacks import boundary, forwards


@overload
def vmap(function: Op, in_axes: InAxes = 0, out_axes: OutAxes = 0) -> Op:
    """Of an operator."""


@overload
def vmap(function: Callable[..., Any], in_axes: InAxes = 0, out_axes: OutAxes = 0) -> Callable[..., Any]:
    """Of a function of tensors."""


@known_arguments
def vmap(function: Any, in_axes: InAxes = 0, out_axes: OutAxes = 0) -> Any:
    """Operator, or function of tensors, for several examples at once.

    `tx.vmap(f)(stack(xs))` is `stack([f(x) for x in xs])`, bit for bit by the reference meaning.
    An operator becomes an operator again, whose equations have one more index: it prints as text,
    and `grad`, `vjp`, `jvp`, schedules and `vmap` take it. A function, as `tx.jit` takes them, runs
    once on tensors of one example without values; what it computes is mapped as a whole. Tensors
    and parameters that it uses from outside are shared by all examples and carry gradients.

    What depends on no mapped input is computed once, and inputs that all examples share are not
    copied. Constants such as `axis` count the dimensions of one example. An operator of the runtime
    (`extern`) is called once for each example.

    Args:
        in_axes: the dimension of each input that the examples lie along; None for an input that all
            share. An int for all inputs, a tuple in their order, or a dict by name, in which others
            are shared. Negative ones count from the end. Of a function, an argument may be nested:
            its axis is that of all tensors in it; numbers of Python are shared.
        out_axes: where the dimension of the examples stands in each output; an int for all of them,
            or a tuple. None is for outputs that depend on no mapped input.
    Raises:
        CallError: axes that are none, or not as many as there are inputs or outputs; no input is
            mapped; different numbers of examples; a function that assigns to variables or asks for
            values.
        CheckError: a tensor has no such dimension; it is inside of a pack; an operator of the
            runtime is native code alone.
    Example:
        >>> dot = tx.op("op dot(A: f32[N], B: f32[N]) -> C: f32 { C = sum(k: A[k] * B[k]) }")
        >>> rows = tx.vmap(dot, in_axes=(0, None))
        >>> print(rows)
        op dot_vmap(A: f32[Batch, N], B: f32[N]) -> C: f32[Batch] {
          C[b] = sum(k: A[b, k] * B[k])
        }
        <BLANKLINE>
        >>> rows(np.float32([[1, 2], [3, 4]]), np.float32([1, 1])).tolist()
        [3.0, 7.0]
        >>> largest = tx.vmap(lambda x: x.max() - x.min())
        >>> largest(tx.tensor([[1.0, 4.0], [2.0, 2.0]]))
        tensor([3., 0.], f64[2])
    """
    if isinstance(function, Op):
        return map_operator(function, in_axes, out_axes)
    if not callable(function):
        raise CallError(
            f"vmap takes an operator or a function, not {function!r:.40}",
            code="arguments",
            help="tx.vmap(tx.ops.softmax), or tx.vmap(lambda x: x * x)",
        )

    @boundary
    @functools.wraps(function, updated=())  # a compiled function holds what it was compiled to
    def mapped(*args: Any, **kwargs: Any) -> Any:
        return _call(function, in_axes, out_axes, args, kwargs)

    return mapped


def _call(
    function: Callable[..., Any], in_axes: Any, out_axes: Any, args: tuple, kwargs: Mapping[str, Any]
) -> Any:
    """A call of a mapped function."""
    name = name_of(function)
    leaves: list[Any] = []
    tree = flattened((args, dict(kwargs)), leaves)
    places = _places(function, name, in_axes, args, kwargs)
    operands = [x if _is_static(x) else as_operand(f"vmap of {name}", x) for x in leaves]
    axes = [
        None if _is_static(x) or p is None else _axis(name, x, p)
        for x, p in zip(operands, places, strict=True)
    ]
    count = _count(name, operands, axes)
    given = [(x, a) for x, a in zip(operands, axes) if not _is_static(x)]
    specs = [Spec(tuple(n for k, n in enumerate(x.shape) if k != a), x.dtype, is_weak(x)) for x, a in given]

    def bound(symbols: list[Any]) -> Any:
        rest = iter(symbols)
        return tree.built(iter([x if _is_static(x) else next(rest) for x in operands]))

    @forwards
    def inner(*symbols: Any) -> Any:
        positional, named = bound(list(symbols))
        return function(*positional, **named)

    inner.__name__ = name
    body = traced("vmap", inner, specs, tuple)
    order = [k for k in body.leaves if isinstance(k, int)]
    out = _out_places(name, out_axes, body, len(order))
    wanted: dict[int, int | None] = {}
    for k, place in zip(order, out):
        wanted.setdefault(k, place)
    inputs = [a for _, a in given] + [None] * len(body.outside)
    program = _mapped(body.program, tuple(inputs), tuple(wanted[k] for k in range(len(wanted))), count)
    results = apply(program, [*(x for x, _ in given), *body.outside])
    return body.nested(results)


@functools.lru_cache(maxsize=512)
def _mapped(
    program: Program, in_axes: tuple[int | None, ...], out_axes: tuple[int | None, ...], count: int
) -> Program:
    made = mapped_program(program, in_axes, out_axes)
    return interned(specialize(made, {made.sizes[0]: count}))


def _is_static(x: Any) -> bool:
    """True of arguments that the function sees as they are."""
    return x is None or is_number(x) or isinstance(x, str | bytes | type) or callable(x)


def _places(
    function: Callable[..., Any], name: str, in_axes: Any, args: tuple, kwargs: Mapping[str, Any]
) -> list[int | None]:
    """For each leaf of the arguments the axis that is asked for."""
    if isinstance(in_axes, Mapping):
        known = inspect.signature(function).parameters
        open_ended = any(p.kind == p.VAR_KEYWORD for p in known.values())
        for key in in_axes:
            if key not in known and not open_ended:
                raise CallError(
                    f"in_axes: {name} has no parameter `{key}`",
                    code="arguments",
                    help=f"its parameters are {', '.join(known)}",
                )
        rest = next((key for key, p in known.items() if p.kind == p.VAR_POSITIONAL), None)
        of_position = [in_axes.get(key) for key, _ in zip_longest(known, args, fillvalue=rest)][: len(args)]
        of_name = {key: in_axes.get(key) for key in kwargs}
    elif isinstance(in_axes, Sequence) and not isinstance(in_axes, str):
        if len(in_axes) != len(args):
            raise CallError(
                f"in_axes has {counted(len(in_axes), 'axis', 'axes')}, {name} is given "
                f"{counted(len(args), 'argument')} by position",
                code="arguments",
                help="give one for each, None for those that all examples share; or a dict by name",
            )
        of_position, of_name = list(in_axes), dict.fromkeys(kwargs, 0)
    else:
        of_position, of_name = [in_axes] * len(args), dict.fromkeys(kwargs, in_axes)
    found: list[int | None] = []
    for value, place in [*zip(args, of_position), *((v, of_name[k]) for k, v in kwargs.items())]:
        if not (place is None or is_axis(place)):
            raise CallError(
                f"in_axes is {in_axes!r}, expected an int, None, a tuple of these or a dict by name",
                code="arguments",
                help="in_axes=0",
            )
        leaves: list[Any] = []
        flattened(value, leaves)
        found += [place] * len(leaves)
    return found


def _axis(name: str, x: Any, place: int) -> int:
    """The axis of an argument, counted from the start."""
    rank = len(x.shape)
    if not -rank <= place < rank:
        raise CallError(
            f"vmap of {name}: an argument of shape {list(x.shape)} has no axis {place}",
            code="arguments",
            help="in_axes=None is for arguments that all examples share",
        )
    return place % rank


def _count(name: str, operands: Sequence[Any], axes: Sequence[int | None]) -> int:
    """The number of examples."""
    counts = {x.shape[a]: x for x, a in zip(operands, axes) if a is not None}
    if not counts:
        raise CallError(
            f"vmap of {name}: no argument is mapped",
            code="arguments",
            help="in_axes=0 maps all tensors along their first axis",
        )
    if len(counts) > 1:
        shapes = " and ".join(str(list(x.shape)) for x in counts.values())
        raise CallError(
            f"vmap of {name}: arguments of {' and '.join(map(str, counts))} examples, of shapes {shapes}",
            code="shape",
            help="in_axes names the axis of each argument that holds the examples",
        )
    return next(iter(counts))


def _out_places(name: str, out_axes: Any, body: Any, count: int) -> list[int | None]:
    """The axis of each result that is a tensor."""
    if out_axes is None or is_axis(out_axes):
        return [out_axes] * count
    places = list(out_axes) if isinstance(out_axes, Sequence) and not isinstance(out_axes, str) else None
    if places is None or not all(p is None or is_axis(p) for p in places):
        raise CallError(
            f"out_axes is {out_axes!r}, expected an int, None, or a tuple of these",
            code="arguments",
            help="out_axes=0",
        )
    if len(places) != count:
        raise CallError(
            f"out_axes has {counted(len(places), 'axis', 'axes')}, {name} has {counted(count, 'result')}",
            code="arguments",
            help="give one for each tensor that it returns, or an int for all",
        )
    return places
