"""RNN, GRU and LSTM over time, in one or both directions."""

from __future__ import annotations

from typing import Any

import numpy as np

from texpr import ops
from texpr.ir.dtypes import numpy_dtype
from texpr.onnx.converters import converter
from texpr.onnx.graph_conversion import Node
from texpr.onnx.operator_definitions import number, written
from texpr.onnx.values import Known

_FUNCTIONS: dict[str, tuple[str, tuple[float, ...]]] = {
    "tanh": ("tanh(V)", ()),
    "sigmoid": ("sigmoid(V)", ()),
    "relu": ("max(V, 0)", ()),
    "softsign": ("V / (1 + abs(V))", ()),
    "softplus": ("max(V, 0) + log1p(exp(-abs(V)))", ()),
    "affine": ("ALPHA * V + BETA", (1.0, 0.0)),
    "leakyrelu": ("if V < 0 then ALPHA * V else V", (0.01,)),
    "thresholdedrelu": ("if V > ALPHA then V else 0", (1.0,)),
    "scaledtanh": ("ALPHA * tanh(BETA * V)", (1.0, 1.0)),
    "hardsigmoid": ("clamp(ALPHA * V + BETA, 0, 1)", (0.2, 0.5)),
    "elu": ("if V < 0 then ALPHA * expm1(V) else V", (1.0,)),
}
"""By name in small letters, with the defaults of alpha and beta, where a function has them."""
_DEFAULTS = {"RNN": ["Tanh"], "GRU": ["Sigmoid", "Tanh"], "LSTM": ["Sigmoid", "Tanh", "Tanh"]}
_GATES = {"RNN": 1, "GRU": 3, "LSTM": 4}
_SUM = "bi[(G, j)] + sum(i: X[t, n, i] * W[(G, j), i]) + bh[(G, j)] + sum(k: h[t, n, k] * R[(G, j), k])"


def _functions(node: Node, count: int) -> list[str]:
    """So many activations as texts of V. Numbers are given for those that have some, in order."""
    names = node.attr("activations") or _DEFAULTS[node.op] * (count // len(_DEFAULTS[node.op]))
    if len(names) != count or any(n.lower() not in _FUNCTIONS for n in names):
        raise node.refuse(f"activations are {names}; {count} of {', '.join(_FUNCTIONS)} are read")
    alphas, betas, clip = (
        iter(node.attr("activation_alpha") or []),
        iter(node.attr("activation_beta") or []),
        node.attr("clip"),
    )
    texts = []
    for name in names:
        text, defaults = _FUNCTIONS[name.lower()]
        for word, given, default in zip(("ALPHA", "BETA"), (alphas, betas), defaults):
            text = text.replace(word, number(next(given, default)))
        texts.append(
            f"({text})"
            if clip is None
            else f"({text.replace('V', f'clamp(V, {number(-clip)}, {number(clip)})')})"
        )
    return texts


def _text(op: str, f: list[str], steps: str, coupled: bool) -> str:
    """One direction: states one after the other; a sequence that has ended keeps its last state,
    and gives zeros.

    Args:
        f: the activations, of V.
        coupled: what is forgotten is what is not let in.
    """
    gates = _GATES[op]

    ends = "if t < steps[n] then {0} else {1}"
    lines = _cell(op, f, steps, coupled)
    names = {"RNN": "u", "GRU": "zrgu", "LSTM": ""}[op]
    lets = [f"let {name}: T[L, B, H]" for name in (names or ("gi", "gf", "gc", "e", "go", "u"))]
    cell = op == "LSTM"
    states = [
        "let h: T[L + 1, B, H]",
        "h[0, n, j] = h0[n, j]",
        f"h[t + 1, n, j] = {ends.format('u[t, n, j]', 'h[t, n, j]')}  for t in 0..L",
    ]
    if cell:
        states += [
            "let c: T[L + 1, B, H]",
            "c[0, n, j] = c0[n, j]",
            f"c[t + 1, n, j] = {ends.format('e[t, n, j]', 'c[t, n, j]')}  for t in 0..L",
        ]
    results = [f"Y[t, n, j] = {ends.format('h[t + 1, n, j]', '0')}  for t in 0..L", "hn[n, j] = h[L, n, j]"]
    results += ["cn[n, j] = c[L, n, j]"] if cell else []
    inputs = "X: T[L, B, I], h0: T[B, H], " + ("c0: T[B, H], p: T[(3, H)], " if cell else "")
    outputs = "Y: T[L, B, H], hn: T[B, H]" + (", cn: T[B, H]" if cell else "")
    body = "\n  ".join([*lets, *states, *lines, *results])
    return (
        f"op {op.lower()}<T: float>({inputs}W: T[({gates}, H), I], R: T[({gates}, H), H], bi: T[({gates}, "
        f"H)], bh: T[({gates}, H)], "
        f"steps: i64[B]) -> ({outputs}) {{\n  {body}\n}}"
    )


def _cell(op: str, f: list[str], steps: str, coupled: bool) -> list[str]:
    """The equations of gates and of what becomes of the states, in one step."""

    def gate(k: int, function: str, extra: str = "") -> str:
        return function.replace("V", f"({_SUM.replace('G', str(k))}{extra})")

    if op == "RNN":
        lines = [f"u[t, n, j] = {gate(0, f[0])}  for t in 0..L, n in 0..B, j in 0..H"]
    elif op == "GRU":
        inner = "bi[(2, j)] + sum(i: X[t, n, i] * W[(2, j), i]) + "
        inner += (
            "r[t, n, j] * (bh[(2, j)] + sum(k: h[t, n, k] * R[(2, j), k]))"
            if steps == "after"
            else "bh[(2, j)] + sum(k: r[t, n, k] * h[t, n, k] * R[(2, j), k])"
        )
        lines = [
            f"z[t, n, j] = {gate(0, f[0])}  for t in 0..L, n in 0..B, j in 0..H",
            f"r[t, n, j] = {gate(1, f[0])}  for t in 0..L, n in 0..B, j in 0..H",
            f"g[t, n, j] = {f[1].replace('V', f'({inner})')}  for t in 0..L, n in 0..B, j in 0..H",
            "u[t, n, j] = (1 - z[t, n, j]) * g[t, n, j] + z[t, n, j] * h[t, n, j]  for t in 0..L, n in 0..B, "
            "j in 0..H",
        ]
    else:
        lines = [
            f"gi[t, n, j] = {gate(0, f[0], ' + p[(0, j)] * c[t, n, j]')}  for t in 0..L, n in 0..B, j in "
            f"0..H",
            f"gf[t, n, j] = {'1 - gi[t, n, j]' if coupled else gate(2, f[0], ' + p[(2, j)] * c[t, n, j]')}  "
            "for t in 0..L, n in 0..B, j in 0..H",
            f"gc[t, n, j] = {gate(3, f[1])}  for t in 0..L, n in 0..B, j in 0..H",
            "e[t, n, j] = gf[t, n, j] * c[t, n, j] + gi[t, n, j] * gc[t, n, j]  for t in 0..L, n in 0..B, j "
            "in 0..H",
            f"go[t, n, j] = {gate(1, f[0], ' + p[(1, j)] * e[t, n, j]')}  for t in 0..L, n in 0..B, j in "
            f"0..H",
            f"u[t, n, j] = go[t, n, j] * {f[2].replace('V', 'e[t, n, j]')}  for t in 0..L, n in 0..B, j in "
            f"0..H",
        ]
    return lines


@converter("RNN", "GRU", "LSTM")
def _recurrent(
    node: Node,
    x: Any,
    weight: Any,
    recurrence: Any,
    bias: Any = None,
    lengths: Any = None,
    h0: Any = None,
    c0: Any = None,
    peepholes: Any = None,
) -> Any:
    op, directions, hidden = node.op, weight.shape[0], recurrence.shape[2]
    gates = _GATES[op]
    functions = _functions(node, directions * len(_DEFAULTS[op]))
    batch_first = node.attr("layout", 0)
    if batch_first:
        x = x.transpose(1, 0, 2)
        h0, c0 = (None if s is None else s.transpose(1, 0, 2) for s in (h0, c0))
    length, batch = x.shape[:2]

    def zeros(*shape: int) -> Any:
        return node.run.tensor(Known(np.zeros(shape, numpy_dtype(x.dtype)), x.dtype))

    steps = (
        node.run.tensor(Known.of(np.full(batch, length, np.int64)))
        if lengths is None
        else lengths.astype("i64")
    )
    reverse = node.word("direction", "forward", "reverse", "bidirectional") == "reverse"
    found = []
    for d in range(directions):
        backward = reverse or d == 1
        given = _turned(x, steps) if backward else x
        both = zeros(2 * gates * hidden) if bias is None else bias[d]
        states = [zeros(batch, hidden) if s is None else s[d] for s in ((h0, c0) if op == "LSTM" else (h0,))]
        extra = [zeros(3 * hidden) if peepholes is None else peepholes[d]] if op == "LSTM" else []
        text = _text(
            op,
            functions[d * len(_DEFAULTS[op]) : (d + 1) * len(_DEFAULTS[op])],
            "after" if node.attr("linear_before_reset", 0) else "before",
            bool(node.attr("input_forget", 0)),
        )
        y, *last = written(text)(
            given,
            *states,
            *extra,
            weight[d],
            recurrence[d],
            both[: gates * hidden],
            both[gates * hidden :],
            steps,
        )
        found.append((_turned(y, steps) if backward else y, *last))
    whole = _joined(found)
    if batch_first:
        whole = [whole[0].transpose(2, 0, 1, 3), *(s.transpose(1, 0, 2) for s in whole[1:])]
    return tuple(whole)


def _joined(found: list[tuple[Any, ...]]) -> list[Any]:
    """Results of directions side by side: sequences along axis 1, last states along axis 0."""
    if len(found) > 1:
        return [ops.stack([f[k] for f in found], axis=1 if k == 0 else 0) for k in range(len(found[0]))]
    return [each.expand_dims(1 if k == 0 else 0) for k, each in enumerate(found[0])]


_TURNED = """op turned<T: float>(X: T[L, B, D], steps: i64[B]) -> Y: T[L, B, D] {
  Y[t, n, d] = X[if t < steps[n] then steps[n] - 1 - t else t, n, d | clamp]
}"""


def _turned(x: Any, steps: Any) -> Any:
    """Each sequence from its last element to its first."""
    return written(_TURNED)(x, steps)
