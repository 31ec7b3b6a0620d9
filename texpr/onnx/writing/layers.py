"""Operators of the library that ONNX has."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import field
from typing import Any

import numpy as np

from texpr import ops
from texpr.compiler import Op
from texpr.graph.capture.capture import bind_call
from texpr.ir.dtypes import I32, I64, DType
from texpr.ir.shapes import caller_shape
from texpr.ir.tensor import Program
from texpr.onnx.writing.graph import Graph, Inexpressible, Value, known
from texpr.onnx.writing.order_nodes import ordered
from texpr.onnx.writing.structure import written
from texpr.support.frozen_dataclass import frozen

Shape = tuple[int, ...]


@frozen
class Invoked:
    """A call of an operator of the library.

    Attributes:
        name: the operator's.
        inputs: by the operator's names; those that are absent are not there.
        constants: after the `;` of the operator.
        shapes: of its results.
    """

    graph: Graph
    name: str
    inputs: Mapping[str, Value]
    constants: Mapping[str, Any]
    shapes: Sequence[Shape]

    def add(self, op: str, *names: str, **attributes: Any) -> list[Value]:
        """A node of these inputs which gives the result."""
        given = [self.inputs.get(n) for n in names]
        x = next(v for v in given if v is not None)
        return [self.graph.add(op, given, self.shapes[0], x.dtype, **attributes)]

    def windows(self, letters: str) -> dict[str, list[int]]:
        """Strides, pads and dilations for axes that the operator has by letters."""
        c = self.constants
        before = [c.get(f"P{a}", 0) for a in letters]
        return {
            "strides": [c[f"S{a}"] for a in letters],
            "pads": before + [p + c.get(f"E{a}", 0) for a, p in zip(letters, before)],
            "dilations": [c.get(f"D{a}", 1) for a in letters],
        }


Rule = Callable[[Invoked], list[Value]]
RULES: dict[str, Rule] = {}
"""By the operator's name in the library."""
NAMES: dict[str, str] = {}
"""ONNX's operator, or several with commas between them, by the operator's name in the library: for the
page `docs/reference/onnx.md`.
"""


def rule(*names: str, onnx: str | Mapping[str, str]) -> Callable[[Rule], Rule]:
    """Enter a function in the table.

    Args:
        onnx: ONNX's operator, of all names or of each.
    """

    def enter(function: Rule) -> Rule:
        RULES.update(dict.fromkeys(names, function))
        NAMES.update(dict.fromkeys(names, onnx) if isinstance(onnx, str) else onnx)
        return function

    return enter


def call(graph: Graph, operator: Op | None, program: Program, args: Sequence[Value]) -> list[Value]:
    """The results of a call: by the table where it has the operator, else by its equations.

    Raises:
        Inexpressible: ONNX has no operators for it.
    """
    name = program.name
    if (
        name not in RULES
        or operator is not getattr(ops, name)
        or not (program.outputs[0].dtype.is_float or name in _RUNNING or name in _ORDERED)
    ):
        return written(graph, program, args)
    sizes, packs = bind_call(program, [a.shape for a in args])
    shapes = [caller_shape(t, sizes, packs) for t in program.outputs]
    inputs = {t.name: v for t, v in zip(program.inputs, args)}
    try:
        return RULES[name](
            Invoked(
                graph, name, inputs, {k: v for k, v in program.constants if not isinstance(v, DType)}, shapes
            )
        )
    except Inexpressible:
        return written(graph, program, args)


@frozen
class Direct:
    """An operator of ONNX that takes the library operator's inputs as they are.

    Attributes:
        attributes: what ONNX calls the constants of the operator.
        fixed: attributes that are the same for every call.
    """

    op: str
    attributes: Mapping[str, str] = field(default_factory=dict)
    fixed: Mapping[str, Any] = field(default_factory=dict)

    def __call__(self, c: Invoked) -> list[Value]:
        return c.add(
            self.op, *c.inputs, **{a: c.constants[k] for a, k in self.attributes.items()}, **self.fixed
        )


RULES |= {
    "relu": Direct("Relu"),
    "sigmoid": Direct("Sigmoid"),
    "tanh": Direct("Tanh"),
    "softsign": Direct("Softsign"),
    "selu": Direct("Selu"),
    "hardswish": Direct("HardSwish"),
    "mish": Direct("Mish"),
    "gelu": Direct("Gelu"),
    "gelu_tanh": Direct("Gelu", fixed={"approximate": "tanh"}),
    "hardsigmoid": Direct("HardSigmoid", fixed={"alpha": 1 / 6, "beta": 0.5}),
    "leaky_relu": Direct("LeakyRelu", {"alpha": "slope"}),
    "elu": Direct("Elu", {"alpha": "alpha"}),
    "celu": Direct("Celu", {"alpha": "alpha"}),
    "softmax": Direct("Softmax", {"axis": "axis"}),
    "log_softmax": Direct("LogSoftmax", {"axis": "axis"}),
    "matmul": Direct("MatMul"),
    "batched_matmul": Direct("MatMul"),
}
NAMES |= {name: rule.op for name, rule in RULES.items() if isinstance(rule, Direct)}


@rule("linear", onnx="Gemm, MatMul")
def _linear(c: Invoked) -> list[Value]:
    x, weight = c.inputs["X"], c.inputs["weight"]
    if len(x.shape) == 2:
        return c.add("Gemm", "X", "weight", "bias", transB=1)
    found = c.graph.add("MatMul", [x, c.graph.transpose(weight, (1, 0))], c.shapes[0], x.dtype)
    bias = c.inputs.get("bias")
    return [found if bias is None else c.graph.add("Add", [found, bias], c.shapes[0], x.dtype)]


@rule("conv1d", "conv2d", "conv2d_grouped", "conv3d", onnx="Conv")
def _convolution(c: Invoked) -> list[Value]:
    letters = "UHW"[-(len(c.shapes[0]) - 2) :]
    return c.add(
        "Conv",
        "X",
        "weight",
        "bias",
        group=c.constants.get("G", 1),
        kernel_shape=list(c.inputs["weight"].shape[2:]),
        **c.windows(letters),
    )


@rule("conv_transpose1d", "conv_transpose2d", "conv_transpose3d", onnx="ConvTranspose")
def _transposed(c: Invoked) -> list[Value]:
    letters = "UHW"[-(len(c.shapes[0]) - 2) :]
    windows = c.windows(letters)
    windows["pads"] = windows["pads"][: len(letters)] * 2
    return c.add(
        "ConvTranspose",
        "X",
        "weight",
        "bias",
        group=c.constants.get("G", 1),
        kernel_shape=list(c.inputs["weight"].shape[2:]),
        output_padding=[c.constants.get(f"E{a}", 0) for a in letters],
        **windows,
    )


def _kernel(c: Invoked, rank: int) -> list[int]:
    return [c.constants[k] for k in "ORQ"[-rank:]]


@rule("maxpool1d", "maxpool2d", "maxpool3d", onnx="MaxPool")
def _max_pool(c: Invoked) -> list[Value]:
    rank = len(c.shapes[0]) - 2
    return c.add("MaxPool", "X", kernel_shape=_kernel(c, rank), **_pads_that_fit(c, rank))


@rule("avgpool1d", "avgpool2d", "avgpool3d", onnx="AveragePool")
def _average_pool(c: Invoked) -> list[Value]:
    rank = len(c.shapes[0]) - 2
    if c.constants["divisor"] or any(c.constants[f"E{a}"] for a in "UHW"[-rank:]):
        raise Inexpressible("a divisor, or windows that begin at the end")
    return c.add(
        "AveragePool",
        "X",
        kernel_shape=_kernel(c, rank),
        count_include_pad=int(c.constants["count_include_pad"]),
        **_pads_that_fit(c, rank),
    )


def _pads_that_fit(c: Invoked, rank: int) -> dict[str, list[int]]:
    """ONNX refuses pads as large as windows."""
    windows, kernel = c.windows("UHW"[-rank:]), _kernel(c, rank)
    if any(p >= k for p, k in zip(windows["pads"], kernel * 2)):
        raise Inexpressible("pads as large as windows")
    return windows


def _ones(c: Invoked, name: str, value: float, like: Value) -> Value:
    """An input, or as many equal numbers."""
    return c.inputs.get(name) or known(
        np.full(like.shape, value, np.float64 if like.dtype.bits == 64 else np.float32), like.dtype
    )


@rule("batch_norm", onnx="BatchNormalization")
def _batch_norm(c: Invoked) -> list[Value]:
    x, mean = c.inputs["X"], c.inputs["mean"]
    given = [x, _ones(c, "weight", 1, mean), _ones(c, "bias", 0, mean), mean, c.inputs["variance"]]
    return [c.graph.add("BatchNormalization", given, c.shapes[0], x.dtype, epsilon=c.constants["eps"])]


@rule("layer_norm", onnx="LayerNormalization")
def _layer_norm(c: Invoked) -> list[Value]:
    x, axis = c.inputs["X"], c.constants["axis"]
    given = [
        x,
        c.inputs.get("weight") or known(np.ones(x.shape[axis:], np.float32), x.dtype),
        c.inputs.get("bias"),
    ]
    return [
        c.graph.add("LayerNormalization", given, c.shapes[0], x.dtype, axis=axis, epsilon=c.constants["eps"])
    ]


@rule(
    "group_norm",
    "instance_norm",
    onnx={"group_norm": "GroupNormalization", "instance_norm": "InstanceNormalization"},
)
def _group_norm(c: Invoked) -> list[Value]:
    x = c.inputs["X"]
    channels = known(np.ones(x.shape[1], np.float32), x.dtype)
    if len(x.shape) < 3:
        raise Inexpressible("normalisation of one element")
    given, eps = [x, _ones(c, "weight", 1, channels), _ones(c, "bias", 0, channels)], c.constants["eps"]
    if "G" in c.constants:
        return [
            c.graph.add(
                "GroupNormalization", given, c.shapes[0], x.dtype, num_groups=c.constants["G"], epsilon=eps
            )
        ]
    return [c.graph.add("InstanceNormalization", given, c.shapes[0], x.dtype, epsilon=eps)]


@rule("adaptive_avgpool1d", "adaptive_avgpool2d", "adaptive_avgpool3d", onnx="GlobalAveragePool")
def _global(c: Invoked) -> list[Value]:
    if any(n != 1 for n in c.shapes[0][2:]):
        raise Inexpressible("windows of several sizes")
    return c.add("GlobalAveragePool", "X")


@rule("embedding", onnx="Gather")
def _embedding(c: Invoked) -> list[Value]:
    return c.add("Gather", "weight", "idx", axis=0)


_RUNNING: dict[str, dict[str, int]] = {
    "cumsum": {},
    "cumsum_exclusive": {"exclusive": 1},
    "cumsum_reverse": {"reverse": 1},
}
"""Running sums, of integers too, and the attributes of ONNX's CumSum."""


@rule(*_RUNNING, onnx="CumSum")
def _running_sum(c: Invoked) -> list[Value]:
    """Integers that CumSum, or ONNX Runtime, does not take are summed in 64 bits, of which the
    lower ones are the same.
    """
    x, g = c.inputs["X"], c.graph
    wide = x if x.dtype.is_float or x.dtype in (I32, I64) else g.cast(x, I64)
    found = g.add(
        "CumSum",
        [wide, known(np.array(c.constants["axis"]), I64)],
        c.shapes[0],
        wide.dtype,
        **_RUNNING[c.name],
    )
    return [found if wide is x else g.cast(found, x.dtype)]


_ORDERED = {
    "sort": False,
    "sort_descending": True,
    "argsort": False,
    "argsort_descending": True,
    "topk": True,
}
"""Orders along the last axis, of integers too, and whether the largest elements come first."""


@rule(*_ORDERED, onnx="TopK")
def _order(c: Invoked) -> list[Value]:
    g, count = c.graph, c.constants.get("k")
    number = None if count is None else g.integers(count)
    found = ordered(g, c.inputs["X"], number, c.shapes[0][-1], _ORDERED[c.name])
    return list(found) if c.name == "topk" else [found[c.name.startswith("arg")]]


_RECURRENT = {
    "lstm": ("LSTM", (0, 3, 1, 2)),
    "gru": ("GRU", (1, 0, 2)),
    "rnn": ("RNN", (0,)),
    "rnn_relu": ("RNN", (0,)),
}
"""ONNX's operator, and at which places the operator of the library has its gates."""


@rule(*_RECURRENT, onnx={name: op for name, (op, _) in _RECURRENT.items()})
def _recurrent(c: Invoked) -> list[Value]:
    op, order = _RECURRENT[c.name]
    g, x, hidden = c.graph, c.inputs["X"], c.shapes[1][1]

    def gates(name: str) -> Value | None:
        w = c.inputs.get(name)
        if w is None:
            return None
        if len(order) == 1:
            return w
        parts = g.several(
            "Split", [w], [((hidden, *w.shape[1:]), w.dtype)] * len(order), axis=0, num_outputs=len(order)
        )
        return g.add("Concat", [parts[k] for k in order], w.shape, w.dtype, axis=0)

    def one(v: Value | None) -> Value | None:
        """With an axis for the direction."""
        return None if v is None else g.reshape(v, (1, *v.shape))

    bias = [gates(n) for n in ("bias_ih", "bias_hh")]
    given = [b for b in bias if b is not None]
    both = g.add("Concat", given, (2 * len(order) * hidden,), x.dtype, axis=0) if len(given) == 2 else None
    if len(given) == 1:
        raise Inexpressible("one bias of two")
    states = [one(_unless_zero(c.inputs.get(n))) for n in ("h0", "c0")]
    settings: dict[str, Any] = (
        {"activations": ["Relu"]}
        if c.name == "rnn_relu"
        else {"linear_before_reset": 1}
        if op == "GRU"
        else {}
    )
    (length, batch, _), t = x.shape, x.dtype
    results = [((length, 1, batch, hidden), t), *(((1, batch, hidden), t) for _ in c.shapes[1:])]
    lengths = None if "lengths" not in c.inputs else g.cast(c.inputs["lengths"], I32)
    weights = [one(gates("weight_ih")), one(gates("weight_hh")), one(both)]
    found = g.several(op, [x, *weights, lengths, *states], results, hidden_size=hidden, **settings)
    return [
        g.add("Squeeze", [v, g.integers(1 if k == 0 else 0)], shape, t)
        for k, (v, shape) in enumerate(zip(found, c.shapes))
    ]


def _unless_zero(v: Value | None) -> Value | None:
    """A state; None where it is zeros, which is what ONNX begins with."""
    return None if v is None or v.array is not None and not v.array.any() else v
