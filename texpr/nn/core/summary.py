"""A table of a network's layers."""

from __future__ import annotations

from html import escape
from typing import Any

from texpr.graph import Capture, Symbolic, multiply_adds
from texpr.ir.dtypes import DTYPES
from texpr.ir.shapes import bind_sizes
from texpr.ir.tensor import Invoke
from texpr.nn.core.hooks import observe
from texpr.nn.core.module import Module
from texpr.nn.core.parameter import Parameter
from texpr.nn.core.protocol import ModuleLike
from texpr.nn.core.pytree import leaves
from texpr.support.errors import CallError
from texpr.support.table import aligned, html_table
from texpr.support.tracebacks import boundary


class Summary(str):
    """A summary: a text, and in notebooks a table."""

    html: str

    def _repr_html_(self) -> str:
        return self.html


@boundary
def summary(model: Module, *input_shapes: tuple[int, ...], dtype: str = "f32") -> Summary:
    """Table of the layers in the order in which they compute: output shapes, parameters, and
    multiply-adds (MACs) of the forward pass.

    A layer that is used twice is listed twice, its parameters once. A module around others stands
    behind them, with its own share: the products of attention, those of a recurrent layer.

    Args:
        input_shapes: of the inputs, batch included.
        dtype: of the inputs.
    Raises:
        CallError: the shapes do not fit the model.
    Example:
        >>> print(nn.summary(nn.Sequential(nn.Linear(3, 2), nn.ReLU()), (1, 3)))
        Sequential
        -----------------------------------
        layer      output  parameters  MACs
        -----------------------------------
        0: Linear  (1, 2)           8     6
        1: ReLU    (1, 2)           0     0
        -----------------------------------
        total                       8     6
    """
    if not input_shapes or not all(isinstance(s, tuple | list) for s in input_shapes) or dtype not in DTYPES:
        raise CallError(
            "summary takes the shapes of the inputs, batch included, and a dtype",
            code="arguments",
            help="for example model.summary((1, 64))",
        )
    names: dict[object, str] = {module: name for name, module in model.named_modules()}
    capture = Capture("summary")
    rows: list[tuple[str, str, int, int]] = []
    counted: set[Parameter] = set()
    inside: set[int] = set()

    def note(module: ModuleLike, inputs: tuple[Any, ...], outputs: Any, first: int, last: int) -> None:
        own = [p for p in module._parameters.values() if p not in counted]
        calls = [capture.equations[k] for k in range(first, last) if k not in inside]
        macs = sum(_macs(e) for e in calls if isinstance(e, Invoke))
        counted.update(own)
        inside.update(range(first, last))
        if module._modules and not own and not macs:
            return
        label = ": ".join(part for part in (names.get(module, "?"), type(module).__name__) if part)
        rows.append((label, _shapes(outputs), sum(p.size for p in own), macs))

    inputs = [capture.input(f"x{k}", tuple(s), DTYPES[dtype]) for k, s in enumerate(input_shapes)]
    with capture:
        observe(note, lambda: model(*inputs))
    return _table(model, rows)


def _macs(call: Invoke) -> int:
    sizes, _ = bind_sizes(call.program.inputs, [Symbolic(t, None).shape for t in call.args])  # type: ignore[arg-type]
    return multiply_adds(call.program, sizes)


def _shapes(outputs: Any) -> str:
    return " ".join(str(o.shape) for o in leaves(outputs))


def _table(model: Module, rows: list[tuple[str, str, int, int]]) -> Summary:
    total = sum(p.size for p in model.parameters())
    trained = sum(p.size for p in model.parameters() if p.requires_grad)
    body = [
        ("layer", "output", "parameters", "MACs"),
        *((a, b, f"{c:,}", f"{d:,}") for a, b, c, d in rows),
        ("total", "", f"{total:,}", f"{sum(r[3] for r in rows):,}"),
    ]
    lines = aligned(body, "<<>>").split("\n")
    rule = "-" * len(lines[0])
    notes = [f"{total - trained:,} parameters are frozen"] if trained != total else []
    name = type(model).__name__
    made = Summary("\n".join([name, rule, lines[0], rule, *lines[1:-1], rule, lines[-1], *notes]))
    head, *middle, foot = body
    below = "".join(f"<p>{note}</p>" for note in notes)
    made.html = f"<p><b>{escape(name)}</b></p>{html_table(head, middle, foot=foot, left=2)}{below}"
    return made
