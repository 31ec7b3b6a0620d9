"""Steps of optimizers, and gradients."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from texpr.graph import Symbolic
from texpr.onnx.converters import converter
from texpr.onnx.graph_conversion import Node
from texpr.onnx.operator_definitions import number, written
from texpr.onnx.values import Known

_DOMAIN = "ai.onnx.preview.training"

_ADAGRAD = """op adagrad<T: float>(R: T, t: i64, X: T[*S], G: T[*S], H: T[*S]) -> (Y: T[*S], Hn: T[*S]) {
  let g: T[*S]  g[*s] = NORM * X[*s] + G[*s]
  Hn[*s] = H[*s] + g[*s] * g[*s]
  Y[*s] = X[*s] - R / (1 + T(t) * DECAY) * g[*s] / (sqrt(Hn[*s]) + EPSILON)
}"""
"""Duchi, Hazan, Singer, Adaptive Subgradient Methods, 2011."""
_ADAM = """op adam<T: float>(R: T, t: i64, X: T[*S], G: T[*S], V: T[*S], H: T[*S]) -> (Y: T[*S], Vn: T[*S], Hn: T[*S]) {
  let g: T[*S]  g[*s] = NORM * X[*s] + G[*s]
  let r: T  r = if t > 0 then R * sqrt(1 - T(BETA) ** T(t)) / (1 - T(ALPHA) ** T(t)) else R
  Vn[*s] = ALPHA * V[*s] + (1 - ALPHA) * g[*s]
  Hn[*s] = BETA * H[*s] + (1 - BETA) * g[*s] * g[*s]
  Y[*s] = (1 - AFTER) * (X[*s] - r * Vn[*s] / (sqrt(Hn[*s]) + EPSILON))
}"""
"""Kingma and Ba, Adam, 2015."""
_MOMENTUM = """op momentum<T: float>(R: T, t: i64, X: T[*S], G: T[*S], V: T[*S]) -> (Y: T[*S], Vn: T[*S]) {
  let g: T[*S]  g[*s] = NORM * X[*s] + G[*s]
  Vn[*s] = ALPHA * V[*s] + (if t > 0 then BETA else 1) * g[*s]
  Y[*s] = X[*s] - R * STEP
}"""
"""Polyak, 1964, and Nesterov, 1983, as Sutskever et al., On the Importance of Initialization and
Momentum, 2013, have them.
"""


def _filled(node: Node, text: str, **defaults: float) -> str:
    """A text with the numbers that attributes say."""
    for name, default in defaults.items():
        word = {"norm_coefficient_post": "AFTER", "norm_coefficient": "NORM", "decay_factor": "DECAY"}
        text = text.replace(word.get(name, name.upper()), number(node.attr(name, default)))
    return text


def _each(node: Node, text: str, rate: Any, count: Any, given: Sequence[Any], states: int) -> Any:
    """One step for each of several tensors: all tensors are given first, then their gradients, then
    their states; results are in the same order.
    """
    n, rest = divmod(len(given), 2 + states)
    if rest or not n:
        raise node.refuse(f"{len(given)} tensors; each has a gradient and {states} more")
    step = written(text)
    count = count.reshape(()).astype("i64")
    found = []
    for k in range(n):
        tensors = given[k::n]
        t = tensors[0].dtype
        found.append(step(rate.reshape(()).astype(t.name), count, *tensors))
    return tuple(results[j] for j in range(1 + states) for results in found)


@converter("Adagrad", domain=_DOMAIN)
def _adagrad(node: Node, rate: Any, count: Any, *given: Any) -> Any:
    text = _filled(node, _ADAGRAD, norm_coefficient=0.0, decay_factor=0.0, epsilon=1e-6)
    return _each(node, text, rate, count, given, 1)


@converter("Adam", domain=_DOMAIN)
def _adam(node: Node, rate: Any, count: Any, *given: Any) -> Any:
    text = _filled(
        node, _ADAM, norm_coefficient_post=0.0, norm_coefficient=0.0, epsilon=1e-6, alpha=0.9, beta=0.999
    )
    return _each(node, text, rate, count, given, 2)


@converter("Momentum", domain=_DOMAIN)
def _momentum(node: Node, rate: Any, count: Any, *given: Any) -> Any:
    nesterov = node.word("mode", "standard", "nesterov") == "nesterov"
    step = "(g[*s] + ALPHA * Vn[*s])" if nesterov else "Vn[*s]"
    text = _filled(node, _MOMENTUM.replace("STEP", step), norm_coefficient=0.0, alpha=0.0, beta=0.0)
    return _each(node, text, rate, count, given, 1)


@converter("Gradient", domain=_DOMAIN, control=True)
def _gradient(node: Node, *given: Any) -> Any:
    """Derivatives of the sum of `y` by the tensors `xs`, which are the node's inputs."""
    y, names = node.attr("y"), [*(node.attr("xs") or []), *(node.attr("zs") or [])]
    if y not in node.names or any(n not in node.names for n in names) or len(given) != len(names):
        raise node.refuse(f"of `{y}` by {', '.join(names)}, with {len(given)} inputs")
    if any(v is not node.names[n] for n, v in zip(names, given)):
        raise node.refuse("its inputs are other tensors than xs and zs; the same ones are read")
    wanted = node.attr("xs")
    tensors = [node.run.tensor(v) for v in given[: len(wanted)]]
    loss = node.run.tensor(node.names[y])
    loss = loss.sum() if loss.ndim else loss
    found: list[Symbolic | None] = node.run.capture.gradients(loss, tensors)
    return tuple(
        Known.rounded(np.zeros(x.shape), x.dtype) if g is None else g for x, g in zip(tensors, found)
    )
