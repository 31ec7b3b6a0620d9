"""Sizes, and what programs compute of them: numbers while a program is captured."""

from __future__ import annotations

import math
import operator
from collections.abc import Callable
from typing import Any

from texpr.graph import Capture, Symbolic
from texpr.ir.dtypes import BOOL
from texpr.pt2.aten_conversion import Call
from texpr.pt2.converters_of_aten import aten
from texpr.pt2.program_text import Graph
from texpr.support.errors import CallError

_OF_NUMBERS: dict[str, Callable[..., Any]] = {
    **{
        f"_operator.{name}": getattr(operator, name)
        for name in (
            "abs add and_ eq floordiv ge getitem gt invert le lshift lt mod mul ne neg not_ or_ pos pow "
            "rshift sub truediv xor"
        ).split()
    },
    "math.ceil": math.ceil,
    "math.floor": math.floor,
    "math.trunc": math.trunc,
    "math.sqrt": math.sqrt,
    "torch.sym_float": float,
    "torch.sym_int": int,
    "torch.sym_max": max,
    "torch.sym_min": min,
    "torch.sym_not": operator.not_,
    "torch.sym_ite": lambda b, t, f: t if b else f,
    "torch._sym_sqrt": math.sqrt,
}


def _of_numbers(name: str, function: Callable[..., Any]) -> None:
    @aten(name)
    def convert(call: Call, **given: Any) -> Any:
        return function(*given.values())


for _name, _function in _OF_NUMBERS.items():
    _of_numbers(_name, _function)


@aten("torch.sym_sum")
def _sym_sum(call: Call, **given: Any) -> Any:
    return sum(next(iter(given.values())))


@aten("sym_size")
def _size(call: Call, self: Any, dim: int | None = None) -> Any:
    return list(self.shape) if dim is None else self.shape[dim]


@aten("sym_numel")
def _numel(call: Call, self: Any) -> Any:
    return math.prod(self.shape)


@aten("sym_stride")
def _stride(call: Call, self: Any, dim: int) -> Any:
    return math.prod(self.shape[dim % self.ndim + 1 :])


@aten("sym_constrain_range", "sym_constrain_range_for_size", "_assert_async", "_functional_assert_async")
def _constrain(call: Call, **_: Any) -> Any:
    return ()


@aten("_assert_scalar", "torch._check")
def _assert(call: Call, **given: Any) -> Any:
    holds, *said = given.values()
    if holds is False:
        raise CallError(
            f"the program does not hold for inputs of these shapes: {said[0] if said else 'a check fails'}",
            code="shape",
        )
    return ()


@aten("item", "_local_scalar_dense", "nonzero", "masked_select", "unique_dim", "_unique2")
def _values(call: Call, **_: Any) -> Any:
    raise call.refuse(
        "values of a tensor decide what is computed, and a program is for inputs of any values",
        help="export the model without it, for example with the value as an argument that is a number",
    )


@aten("is_nonzero")
def _is_nonzero(call: Call, self: Any) -> Any:
    return _values(call) if isinstance(self, Symbolic) else bool(self)


@aten("higher_order.wrap_with_set_grad_enabled")
def _with_gradients(call: Call, **given: Any) -> Any:
    """A part of the program with or without gradients."""
    enabled, graph, *values = given.values()
    found = run_part(call, graph, values)
    return tuple(found) if enabled else tuple(_stopped(x) for x in found)


@aten("higher_order.wrap_with_autocast")
def _with_autocast(call: Call, **given: Any) -> Any:
    """A part of the program; where floats are narrowed is no part of what is exported."""
    _, _, enabled, _, graph, *values = given.values()
    if enabled:
        raise call.refuse("autocast", help="save exported.run_decompositions()")
    return tuple(run_part(call, graph, values))


def run_part(call: Call, graph: Any, values: list[Any], capture: Capture | None = None) -> list[Any]:
    """The result of a part of the program for these values.

    Args:
        capture: by which the part is recorded; that of the program without it.
    """
    if not isinstance(graph, Graph):
        raise call.refuse("an argument that should be a part of the program is none")
    names = [n.name for n in graph.inputs]
    flat = [v for x in values for v in (x if isinstance(x, list) else [x])]
    inner = dict(zip(names, flat, strict=True))
    return call.run.inside(inner, capture).graph(graph, inner)


def _stopped(x: Any) -> Any:
    return x.detach() if isinstance(x, Symbolic) and x.dtype.is_float and x.dtype != BOOL else x
