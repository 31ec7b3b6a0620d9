"""Operators of the library that NNEF has."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any

from texpr import ops
from texpr.compiler import Op
from texpr.graph.capture.capture import bind_call
from texpr.ir.dtypes import DType
from texpr.ir.shapes import caller_shape
from texpr.ir.tensor import Program
from texpr.nnef.writing.equation_lines import written
from texpr.nnef.writing.graph_lines import GraphLines, Inexpressible, Named
from texpr.support.frozen_dataclass import frozen


@frozen
class Invoked:
    """A call of an operator of the library.

    Attributes:
        inputs: by the operator's names; those that are absent are not there.
        constants: after the `;` of the operator.
        shape: of its result.
    """

    graph: GraphLines
    name: str
    inputs: Mapping[str, Named]
    constants: Mapping[str, Any]
    shape: tuple[int, ...]

    def add(self, op: str, *given: Any, **attributes: Any) -> Named:
        """A line that gives the result."""
        return self.graph.add(op, given, self.shape, next(iter(self.inputs.values())).dtype, **attributes)

    def row(self, name: str, rank: int = 2) -> Named:
        """A vector of the channels, with axes around it."""
        x = self.inputs[name]
        return self.graph.reshape(x, [1, x.size, *[1] * (rank - 2)])


Rule = Callable[[Invoked], Named]
RULES: dict[str, Rule] = {}
"""By the operator's name in the library."""
NAMES: dict[str, str] = {}
"""NNEF's operations, by the operator's name in the library."""


def rule(*names: str, nnef: str) -> Callable[[Rule], Rule]:
    """Enter a function in the table."""

    def enter(function: Rule) -> Rule:
        RULES.update(dict.fromkeys(names, function))
        NAMES.update(dict.fromkeys(names, nnef))
        return function

    return enter


def call(graph: GraphLines, operator: Op | None, program: Program, args: Sequence[Named]) -> list[Named]:
    """The results of a call: by the table where it has the operator, else by its equations.

    Raises:
        Inexpressible: NNEF has no operations for it.
    """
    name = program.name
    if name not in RULES or operator is not getattr(ops, name, None):
        return _joined(graph, program, args) or written(graph, program, args)
    sizes, packs = bind_call(program, [a.shape for a in args])
    shape = tuple(caller_shape(program.outputs[0], sizes, packs))
    inputs = {t.name: v for t, v in zip(program.inputs, args)}
    constants = {k: v for k, v in program.constants if not isinstance(v, DType)}
    return [RULES[name](Invoked(graph, name, inputs, constants, shape))]


def _joined(graph: GraphLines, program: Program, args: Sequence[Named]) -> list[Named]:
    """The result of `ops.concat`; nothing for other programs."""
    constants: dict[str, Any] = dict(program.constants)
    if program.name != f"concat{len(args)}" or "axis" not in constants:
        return []
    axis = int(constants["axis"])
    shape = list(args[0].shape)
    shape[axis] = sum(a.shape[axis] for a in args)
    return [graph.add("concat", [list(args)], shape, args[0].dtype, axis=axis % len(shape))]


for _name in ("relu", "sigmoid", "tanh", "gelu"):
    rule(_name, nnef=_name)(lambda c: c.add(c.name, c.inputs["X"]))


@rule("elu", nnef="elu")
def _elu(c: Invoked) -> Named:
    return c.add("elu", c.inputs["X"], alpha=float(c.constants["alpha"]))


@rule("leaky_relu", nnef="leaky_relu")
def _leaky(c: Invoked) -> Named:
    return c.add("leaky_relu", c.inputs["X"], alpha=float(c.constants["slope"]))


@rule("softmax", nnef="softmax")
def _softmax(c: Invoked) -> Named:
    return c.add("softmax", c.inputs["X"], axes=[c.constants["axis"] % len(c.shape)])


@rule("matmul", "batched_matmul", nnef="matmul")
def _matmul(c: Invoked) -> Named:
    return c.add("matmul", *c.inputs.values())


@rule("linear", nnef="linear, matmul")
def _linear(c: Invoked) -> Named:
    x, weight, rank = c.inputs["X"], c.inputs["weight"], len(c.shape)
    if rank == 2:
        return c.add("linear", x, weight, *([c.row("bias")] if "bias" in c.inputs else []))
    lead = [1] * (rank - 2)
    if rank < 2:
        x = c.graph.reshape(x, [1, x.size])
    flat = c.graph.reshape(weight, [*lead, *weight.shape])
    found = c.graph.add("matmul", [x, flat], c.shape or (1,), x.dtype, transposeB=True)
    if rank < 2:
        found = c.graph.reshape(Named(found.name, (1, *c.shape), found.dtype), c.shape)
    if "bias" not in c.inputs:
        return found
    return c.add("add", found, c.graph.reshape(c.inputs["bias"], [*[1] * (rank - 1), c.shape[-1]]))


@rule("conv1d", "conv2d", "conv2d_grouped", "conv3d", nnef="conv")
def _convolution(c: Invoked) -> Named:
    letters = "UHW"[-(len(c.shape) - 2) :]
    bias = [c.row("bias")] if "bias" in c.inputs else []
    return c.add("conv", c.inputs["X"], c.inputs["weight"], *bias, **_windows(c, letters, 0))


@rule("conv_transpose1d", "conv_transpose2d", "conv_transpose3d", nnef="deconv")
def _transposed(c: Invoked) -> Named:
    letters = "UHW"[-(len(c.shape) - 2) :]
    bias = [c.row("bias")] if "bias" in c.inputs else []
    return c.add("deconv", c.inputs["X"], c.inputs["weight"], *bias, **_windows(c, letters, -1))


def _windows(c: Invoked, letters: str, extra: int) -> dict[str, Any]:
    """The attributes of windows over the axes that the operator has by letters.

    Args:
        extra: how the elements that are added at the end count.
    """
    k = c.constants
    padding = [(k.get(f"P{a}", 0), k.get(f"P{a}", 0) + extra * k.get(f"E{a}", 0)) for a in letters]
    return {
        "border": "constant",
        "padding": padding,
        "stride": [k[f"S{a}"] for a in letters],
        "dilation": [k.get(f"D{a}", 1) for a in letters],
        "groups": k.get("G", 1),
    }


def _pool(c: Invoked, op: str, border: str) -> Named:
    letters = "UHW"[-(len(c.shape) - 2) :]
    windows = _windows(c, letters, 1)
    return c.add(
        op,
        c.inputs["X"],
        size=[1, 1, *(c.constants[k] for k in "ORQ"[-len(letters) :])],
        border=border,
        padding=[(0, 0), (0, 0), *windows["padding"]],
        stride=[1, 1, *windows["stride"]],
        dilation=[1, 1, *windows["dilation"]],
    )


@rule("maxpool1d", "maxpool2d", "maxpool3d", nnef="max_pool")
def _max_pool(c: Invoked) -> Named:
    return _pool(c, "max_pool", "ignore")


@rule("avgpool1d", "avgpool2d", "avgpool3d", nnef="avg_pool")
def _avg_pool(c: Invoked) -> Named:
    if c.constants.get("divisor", 0) or any(c.constants.get(f"E{a}", 0) for a in "UHW"):
        raise Inexpressible("windows that count otherwise")
    return _pool(c, "avg_pool", "constant" if c.constants["count_include_pad"] else "ignore")


@rule("global_avgpool", "global_maxpool", nnef="mean_reduce, max_reduce")
def _global(c: Invoked) -> Named:
    x = c.inputs["X"]
    op = "mean_reduce" if c.name == "global_avgpool" else "max_reduce"
    shape = (*x.shape[:2], *[1] * (len(x.shape) - 2))
    found = c.graph.add(op, [x], shape, x.dtype, axes=list(range(2, len(x.shape))))
    return c.graph.reshape(found, c.shape)


@rule("adaptive_avgpool1d", "adaptive_avgpool2d", "adaptive_avgpool3d", nnef="avg_pool")
def _adaptive(c: Invoked) -> Named:
    extents, counts = c.inputs["X"].shape[2:], c.shape[2:]
    if any(n % m for n, m in zip(extents, counts)):
        raise Inexpressible("windows of several sizes")
    size = [1, 1, *(n // m for n, m in zip(extents, counts))]
    return c.add("avg_pool", c.inputs["X"], size=size, stride=size, padding=[(0, 0)] * len(size))


@rule("batch_norm", nnef="batch_normalization")
def _batch_norm(c: Invoked) -> Named:
    if not {"weight", "bias"} <= set(c.inputs):
        raise Inexpressible("a normalization without scale and offset")
    given = [c.row(n) for n in ("mean", "variance", "bias", "weight")]
    return c.add("batch_normalization", c.inputs["X"], *given, epsilon=float(c.constants["eps"]))


@rule("embedding", nnef="gather")
def _embedding(c: Invoked) -> Named:
    return c.add("gather", c.inputs["weight"], c.inputs["idx"], axis=0)


@rule("pad", nnef="pad")
def _pad(c: Invoked) -> Named:
    k, rank = c.constants, len(c.shape)
    padding = [(0, 0)] * rank
    padding[k["axis"] % rank] = (k["before"], k["after"])
    return c.add("pad", c.inputs["X"], padding=padding, border="constant", value=float(k["value"]))
