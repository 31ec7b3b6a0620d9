"""RNN, GRU and LSTM over time, in one or both directions.

The equations are written for the inputs that there are and for the activations at hand.
"""

from __future__ import annotations

from typing import Any

from texpr import ops
from texpr.onnx.converters import converter
from texpr.onnx.graph_conversion import Node
from texpr.onnx.operator_definitions import number, written
from texpr.support.frozen_dataclass import frozen

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


def _functions(node: Node, count: int) -> tuple[str, ...]:
    """So many activations as texts of V. Numbers are given for those that have some, in order."""
    names = node.attr("activations") or _DEFAULTS[node.op] * (count // len(_DEFAULTS[node.op]))
    if len(names) != count or any(n.lower() not in _FUNCTIONS for n in names):
        raise node.refuse(f"activations are {names}; {count} of {', '.join(_FUNCTIONS)} are read")
    alphas, betas, clip = (
        iter(node.attr("activation_alpha") or []),
        iter(node.attr("activation_beta") or []),
        node.attr("clip"),
    )
    found = []
    for name in names:
        text, defaults = _FUNCTIONS[name.lower()]
        for word, given, default in zip(("ALPHA", "BETA"), (alphas, betas), defaults):
            text = text.replace(word, number(next(given, default)))
        if clip is not None:
            text = text.replace("V", f"clamp(V, {number(-clip)}, {number(clip)})")
        found.append(f"({text})")
    return tuple(found)


_INPUTS = {
    "W": "T[{D}, ({G}, H), I]",
    "R": "T[{D}, ({G}, H), H]",
    "b": "T[{D}, (2, {G}, H)]",
    "steps": "i64[B]",
    "h0": "T[{D}, B, H]",
    "c0": "T[{D}, B, H]",
    "p": "T[{D}, (3, H)]",
}
"""All inputs but X, in ONNX's order."""


@frozen
class _Direction:
    """One direction of a recurrence.

    Attributes:
        index, count: its place among the directions.
        given: names of the inputs that are there.
        functions: the activations, as texts of V.
        after: a GRU's reset gate stands behind the product.
        coupled: what an LSTM forgets is what it does not let in.
    """

    op: str
    index: int
    count: int
    backward: bool
    given: tuple[str, ...]
    functions: tuple[str, ...]
    after: bool
    coupled: bool

    def text(self) -> str:
        """The operator: states one after the other; a sequence that has ended keeps its last
        state, and gives zeros.
        """
        inputs = ", ".join(
            [
                "X: T[L, B, I]",
                *(f"{n}: {_INPUTS[n].format(D=self.count, G=_GATES[self.op])}" for n in self.given),
            ]
        )
        states = ["h", "c"] if self.op == "LSTM" else ["h"]
        outputs = ", ".join(["Y: T[L, 1, B, H]", *(f"{s}n: T[1, B, H]" for s in states)])
        lines = [f"let {s}: T[L + 1, B, H]" for s in states]
        lines += [f"{s}[0, n, j] = {self._initial(s)}  for n in 0..B, j in 0..H" for s in states]
        lines += {"RNN": self._rnn, "GRU": self._gru, "LSTM": self._lstm}[self.op]()
        lines += [f"Y[t, e, n, j] = {self._result()}  for t in 0..L, e in 0..1, n in 0..B, j in 0..H"]
        lines += [f"{s}n[e, n, j] = {s}[L, n, j]" for s in states]
        body = "\n  ".join(lines)
        return f"op {self.op.lower()}<T: float>({inputs}) -> ({outputs}) {{\n  {body}\n}}"

    def _initial(self, state: str) -> str:
        return f"{state}0[{self.index}, n, j]" if f"{state}0" in self.given else "0"

    def _result(self) -> str:
        if "steps" not in self.given:
            return "h[L - t, n, j]" if self.backward else "h[t + 1, n, j]"
        at = "steps[n] - t, n, j | clamp" if self.backward else "t + 1, n, j"
        return f"if t < steps[n] then h[{at}] else 0"

    def _next(self, state: str, value: str) -> str:
        """The equation of a state's next value."""
        ended = f"if t < steps[n] then {value} else {state}[t, n, j]" if "steps" in self.given else value
        return f"{state}[t + 1, n, j] = {ended}  for t in 0..L, n in 0..B, j in 0..H"

    def _product(self, q: str) -> str:
        """Of the input with the weights of a gate."""
        at = "t, n, i"
        if self.backward:
            at = "L - 1 - t, n, i"
            if "steps" in self.given:
                at = "if t < steps[n] then steps[n] - 1 - t else t, n, i | clamp"
        return f"sum(i: X[{at}] * W[{self.index}, ({q}, j), i])"

    def _again(self, q: str, state: str = "h[t, n, k]") -> str:
        """The product of the state with the weights of a gate."""
        return f"sum(k: {state} * R[{self.index}, ({q}, j), k])"

    def _bias(self, side: int, q: str) -> str:
        return f"b[{self.index}, ({side}, {q}, j)] + " if "b" in self.given else ""

    def _peephole(self, q: int, cell: str) -> str:
        return f" + p[{self.index}, ({q}, j)] * {cell}" if "p" in self.given else ""

    def _function(self, k: int, value: str) -> str:
        return self.functions[k].replace("V", f"({value})")

    def _rnn(self) -> list[str]:
        biases = self._bias(0, "0") + self._bias(1, "0")
        return [self._next("h", self._function(0, f"{biases}{self._product('0')} + {self._again('0')}"))]

    def _gru(self) -> list[str]:
        span, many = "for t in 0..L, n in 0..B", 3 if self.after else 2
        lines = [
            f"let g: T[L, B, {many}, H]",
            "let z: T[L, B, H]",
            "let r: T[L, B, H]",
            f"x[t, n, q, j] = {self._bias(0, 'q')}{self._product('q')}  {span}, q in 0..3, j in 0..H",
            f"g[t, n, q, j] = {self._bias(1, 'q')}{self._again('q')}  {span}, q in 0..{many}, j in 0..H",
            f"z[t, n, j] = {self._function(0, 'x[t, n, 0, j] + g[t, n, 0, j]')}  {span}, j in 0..H",
            f"r[t, n, j] = {self._function(0, 'x[t, n, 1, j] + g[t, n, 1, j]')}  {span}, j in 0..H",
        ]
        inner = "x[t, n, 2, j] + r[t, n, j] * g[t, n, 2, j]"
        if not self.after:
            product = self._bias(1, "2") + self._again("2", "r[t, n, k] * h[t, n, k]")
            lines += ["let s: T[L, B, H]", f"s[t, n, j] = {product}  {span}, j in 0..H"]
            inner = "x[t, n, 2, j] + s[t, n, j]"
        new = f"(1 - z[t, n, j]) * {self._function(1, inner)} + z[t, n, j] * h[t, n, j]"
        return [*lines, self._next("h", new)]

    def _lstm(self) -> list[str]:
        biases = self._bias(0, "q") + self._bias(1, "q")
        opened = self._function(0, f"g[t, n, 0, j]{self._peephole(0, 'c[t, n, j]')}")
        kept = self._function(0, f"g[t, n, 2, j]{self._peephole(2, 'c[t, n, j]')}")
        out = self._function(0, f"g[t, n, 1, j]{self._peephole(1, 'c[t + 1, n, j]')}")
        if self.coupled:
            kept = f"(1 - {opened})"
        cell = f"{kept} * c[t, n, j] + {opened} * {self._function(1, 'g[t, n, 3, j]')}"
        return [
            "let g: T[L, B, 4, H]",
            f"g[t, n, q, j] = {biases}{self._product('q')} + {self._again('q')}  "
            "for t in 0..L, n in 0..B, q in 0..4, j in 0..H",
            self._next("c", cell),
            self._next("h", f"{out} * {self._function(2, 'c[t + 1, n, j]')}"),
        ]


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
    directions, many = weight.shape[0], len(_DEFAULTS[node.op])
    functions = _functions(node, directions * many)
    batch_first = node.attr("layout", 0)
    if batch_first:
        x = x.transpose(1, 0, 2)
        h0, c0 = (None if s is None else s.transpose(1, 0, 2) for s in (h0, c0))
    steps = None if lengths is None else lengths.astype("i64")
    every = dict(zip(_INPUTS, (weight, recurrence, bias, steps, h0, c0, peepholes)))
    given = {n: v for n, v in every.items() if v is not None}
    reverse = node.word("direction", "forward", "reverse", "bidirectional") == "reverse"
    found = []
    for d in range(directions):
        direction = _Direction(
            node.op,
            d,
            directions,
            reverse or d == 1,
            tuple(given),
            functions[d * many : (d + 1) * many],
            bool(node.attr("linear_before_reset", 0)),
            bool(node.attr("input_forget", 0)),
        )
        found.append(written(direction.text())(x, *given.values()))
    whole = list(found[0])
    if directions > 1:
        whole = [ops.concat(*(f[k] for f in found), axis=1 if k == 0 else 0) for k in range(len(found[0]))]
    if batch_first:
        whole = [whole[0].transpose(2, 0, 1, 3), *(s.transpose(1, 0, 2) for s in whole[1:])]
    return tuple(whole)
