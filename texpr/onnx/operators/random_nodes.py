"""Random numbers. Their values are texpr's own, their distributions are those of the definitions.

Every call of a model draws other numbers. Nodes with the same attribute `seed` share a stream that
begins at it when the model is loaded; those without one share a stream that `nn.manual_seed`
repeats.
"""

from __future__ import annotations

from math import prod
from typing import Any

import numpy as np

from texpr import ops
from texpr.ir.dtypes import BOOL, I32, I64, DType, numpy_dtype
from texpr.onnx.converters import converter
from texpr.onnx.element_types import TO_ONNX
from texpr.onnx.graph_conversion import Node
from texpr.onnx.operator_definitions import each, wide, written
from texpr.onnx.validation import refuse_large
from texpr.onnx.values import Known


def _drawn(node: Node, shape: tuple[int, ...], t: DType) -> Any:
    """Numbers of the distribution that the attributes of a node say.

    Raises:
        CallError: a shape or a distribution that there is not.
        ResourceError: more numbers than the limits.
    """
    if any(n < 0 for n in shape) or not t.is_float:
        raise node.refuse(f"numbers of {t}{list(shape)}")
    refuse_large(node.op, shape, t, False)
    if not prod(shape):
        return Known(np.zeros(shape, numpy_dtype(t)), t)
    seed, count = node.run.seed(node.attr("seed")), prod(shape)
    if node.op.startswith("RandomNormal"):
        mean, scale = node.attr("mean", 0.0), node.attr("scale", 1.0)
        if not scale >= 0:
            raise node.refuse(f"scale is {scale:g}; a deviation is 0 or more")
        found: Any = ops.random_normal(seed, N=count, mean=mean, deviation=scale)
    else:
        found = ops.random_uniform(seed, N=count, lo=node.attr("low", 0.0), hi=node.attr("high", 1.0))
    return found.astype(t.name).reshape(shape)


@converter("RandomNormal", "RandomUniform", control=True, random=True)
def _random(node: Node) -> Any:
    return _drawn(node, tuple(node.attr("shape")), node.dtype("dtype"))


@converter("RandomNormalLike", "RandomUniformLike", control=True, random=True)
def _random_like(node: Node, x: Any) -> Any:
    return _drawn(node, tuple(x.shape), node.dtype("dtype", TO_ONNX[x.dtype]))


@converter("Bernoulli", control=True, random=True)
def _bernoulli(node: Node, p: Any) -> Any:
    t = node.dtype("dtype", TO_ONNX[p.dtype])
    if not prod(p.shape):
        return Known(np.zeros(p.shape, numpy_dtype(t)), t)
    chance = node.run.tensor(p).astype(wide(p.dtype).name)
    return ops.bernoulli(chance, node.run.seed(node.attr("seed"))).astype(t.name)


_MULTINOMIAL = """op multinomial<T: float>(X: T[B, C], seed: u64; N) -> Y: i64[B, N] require C >= 1 {
  Y[b, i] = argmax(c: X[b, c] - T(log(-log(uniform(seed, b, i, c)))))
}"""
"""Samples of classes by logarithms of their chances: the largest after each got a number of Gumbel's
distribution. Maddison et al., A* Sampling, 2014.
"""


@converter("Multinomial", control=True, random=True)
def _multinomial(node: Node, x: Any) -> Any:
    t, count = node.dtype("dtype", TO_ONNX[I32]), node.attr("sample_size", 1)
    if len(x.shape) != 2 or not x.shape[1] or count < 0 or not t.is_int:
        raise node.refuse(f"{count} samples of {t} by chances of shape {list(x.shape)}")
    if not x.shape[0] * count:
        return Known(np.zeros((x.shape[0], count), numpy_dtype(t)), t)
    logarithms = node.run.tensor(x).astype(wide(x.dtype).name)
    found = written(_MULTINOMIAL)(logarithms, node.run.seed(node.attr("seed")), N=count)
    return found if t == I64 else found.astype(t.name)


_DROPOUT = """op dropped<T: float>(X: T[*S], seed: u64; p = 0.5) -> (Y: T[*S], M: bool[*S]) require 0 <= p < 1 {
  M[*s] = uniform(seed, *s) >= p
  Y[*s] = if M[*s] then X[*s] / (1 - p) else 0
}"""
"""Srivastava et al., Dropout, 2014."""


@converter("Dropout", known=(1, 2), control=True, random=True)
def _dropout(node: Node, x: Any, ratio: Any = None, training: Any = None) -> Any:
    """Before version 12 it does nothing, as where models are used."""
    mask = BOOL if node.version >= 10 else x.dtype
    share = float(node.one(1, 0.5)) if node.one(2, False) else 0.0
    if not 0 <= share < 1:
        raise node.refuse(f"ratio is {share:g}, expected 0 or more and less than 1")
    if not share or not prod(x.shape):
        return x, Known.rounded(np.ones(x.shape), mask)
    y, kept = written(_DROPOUT)(node.run.tensor(x), node.run.seed(node.attr("seed")), p=share)
    return y, kept if mask == BOOL else each("mask", "if {0} then 1 else 0", kept, result=mask)
