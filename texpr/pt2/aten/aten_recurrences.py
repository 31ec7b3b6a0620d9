"""Recurrent layers, and parts of programs that are chosen."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from texpr import ops
from texpr.graph import Symbolic
from texpr.graph.lazy import concat, stack, while_loop
from texpr.ir.dtypes import BOOL
from texpr.pt2.aten.aten_sizes import run_part
from texpr.pt2.aten_conversion import Call
from texpr.pt2.converters_of_aten import aten
from texpr.pt2.element_texts import each

_WEIGHTS = ("weight_ih", "weight_hh", "bias_ih", "bias_hh")


def _layers(call: Call, operator: Callable[..., Any], x: Any, states: list[Any], **given: Any) -> Any:
    """Layers above each other, each in one direction or in both.

    Args:
        x: steps first.
        states: of all layers and directions, each of shape (layers * directions, batch, features).
        given: the other arguments of PyTorch's operator.
    """
    params, layers, train = given["params"], given["num_layers"], given["train"]
    directions, each_has = 1 + given["bidirectional"], 4 if given["has_biases"] else 2
    if train and given["dropout"]:
        raise call.refuse("Dropout between layers", help="export model.eval()")
    if len(params) != layers * directions * each_has:
        raise call.refuse(
            f"{len(params)} weights for {layers} layers", help="layers with proj_size are not read"
        )
    last = []
    for layer in range(layers):
        found = []
        for k in range(layer * directions, (layer + 1) * directions):
            weights = dict(zip(_WEIGHTS, params[k * each_has : (k + 1) * each_has]))
            turned = k % directions == 1
            y, *ends = operator(x.flip(0) if turned else x, *[s[k] for s in states], **weights)
            found.append(y.flip(0) if turned else y)
            last.append(ends)
        x = concat(found, axis=-1) if directions > 1 else found[0]
    return x, [stack(list(s), axis=0) for s in zip(*last)]


def _recurrence(name: str, operator: Callable[..., Any]) -> None:
    @aten(f"{name}.input")
    def convert(
        call: Call,
        input: Any,  # noqa: A002
        hx: Any,
        params: list[Any],
        has_biases: bool,
        num_layers: int,
        dropout: float,
        train: bool,
        bidirectional: bool,
        batch_first: bool,
    ) -> Any:
        x, states = input.swapaxes(0, 1) if batch_first else input, hx if isinstance(hx, list) else [hx]
        y, last = _layers(
            call,
            operator,
            x,
            states,
            params=params,
            has_biases=has_biases,
            num_layers=num_layers,
            dropout=dropout,
            train=train,
            bidirectional=bidirectional,
        )
        return y.swapaxes(0, 1) if batch_first else y, *last


for _name, _operator in (
    ("lstm", ops.lstm),
    ("gru", ops.gru),
    ("rnn_tanh", ops.rnn),
    ("rnn_relu", ops.rnn_relu),
):
    _recurrence(_name, _operator)


@aten("higher_order.cond")
def _cond(call: Call, **given: Any) -> Any:
    """One of two parts. Where a value of a tensor chooses, both are computed."""
    chosen, first, second, *values = given.values()
    if not isinstance(chosen, Symbolic):
        return tuple(run_part(call, first if chosen else second, values))
    found = zip(run_part(call, first, values), run_part(call, second, values), strict=True)
    one = chosen.astype(BOOL).reshape(())
    return tuple(each("cond", "if {0} then {1} else {2}", one, a, b, result=a.dtype) for a, b in found)


@aten("higher_order.while_loop")
def _while_loop(call: Call, **given: Any) -> Any:
    """A part of the program as long as another one holds."""
    holds, step, carried, *more = given.values()
    others = more[0] if more else []
    if not all(isinstance(x, Symbolic) for x in carried):
        raise call.refuse(
            "a loop whose number of steps is that of sizes",
            help="let it carry tensors: torch.tensor(0) instead of 0",
        )

    def goes_on(values: Any) -> Any:
        (found,) = _inner_part(call, holds, values, others)
        return found.astype(BOOL).reshape(())

    def next_values(values: Any) -> Any:
        return tuple(_inner_part(call, step, values, others))

    return while_loop(goes_on, next_values, tuple(carried))


def _inner_part(call: Call, graph: Any, values: Any, others: list[Any]) -> list[Any]:
    """The result of a part that is a program of its own: the body of a loop."""
    return run_part(call, graph, [*values, *others], values[0].capture)
