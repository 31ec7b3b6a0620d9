"""Recurrent layers and cells: names, orders and layouts of weights as torch has them."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from math import sqrt
from typing import TYPE_CHECKING, Any

from texpr import ops
from texpr.nn import init
from texpr.nn.core.argument_checks import one_of, share, whole
from texpr.nn.core.layer_operations import parameter, present, with_batch, without_batch, zeros
from texpr.nn.core.module import Module
from texpr.nn.modules.dropout import Dropout
from texpr.nn.modules.packed_sequence import PackedSequence
from texpr.support.errors import CallError


class _Recurrent(Module):
    """Base of recurrent layers and cells: weights of one layer in one direction, even within 1 /
    sqrt(hidden_size) at first.

    Attributes:
        gates: how many there are.
        states: how many tensors are carried on.
    """

    if TYPE_CHECKING:
        __call__: Callable[..., Any]  # several results

    gates, states = 1, 1
    hidden_size: int
    proj_size = 0

    @property
    def _carried(self) -> tuple[int, ...]:
        """The sizes of the states."""
        return (self.proj_size or self.hidden_size, self.hidden_size)[: self.states]

    def _add_weights(self, suffix: str, inputs: int, bias: bool, dtype: object) -> None:
        rows = self.gates * self.hidden_size
        shapes = {"weight_ih": (rows, inputs), "weight_hh": (rows, self._carried[0])}
        shapes |= {"bias_ih": (rows,), "bias_hh": (rows,)} if bias else {}
        shapes |= {"weight_hr": (self.proj_size, self.hidden_size)} if self.proj_size else {}
        for name, shape in shapes.items():
            setattr(self, name + suffix, parameter(self, name + suffix, shape, dtype))

    def reset_parameters(self) -> None:
        """Draw the first values anew."""
        bound = 1 / sqrt(self.hidden_size)
        for each in self.parameters():
            init.uniform_(each, -bound, bound)

    def _weights(self, suffix: str) -> dict[str, Any]:
        """The weights of a layer and direction, by the names that operators have for them."""
        names = "weight_ih", "weight_hh", "weight_hr", "bias_ih", "bias_hh"
        return {n: getattr(self, n + suffix) for n in names if hasattr(self, n + suffix)}


class RNNBase(_Recurrent):
    """Layers over time. Inputs are (time, batch, input_size), or (batch, time, input_size) with
    batch_first, or without the batch.

    Calling gives the outputs of the last layer for all times, both directions beside each other,
    and the last states of all layers and directions (layers * directions, batch, hidden_size). Of a
    `utils.rnn.PackedSequence` each sequence ends after its length, where the backward direction
    begins; the outputs are packed too.

    Args:
        num_layers: each takes the outputs of the one below.
        dropout: of the outputs of all layers but the last, in training.
        bidirectional: also backward in time.
    """

    def __init__(
        self,
        input_size: int,
        hidden_size: int,
        num_layers: int = 1,
        bias: bool = True,
        batch_first: bool = False,
        dropout: float = 0.0,
        bidirectional: bool = False,
        proj_size: int = 0,
        *,
        dtype: object = "f32",
    ) -> None:
        super().__init__()
        name = type(self).__name__
        self.input_size, self.hidden_size = (
            whole(name, "input_size", input_size),
            whole(name, "hidden_size", hidden_size),
        )
        self.num_layers = whole(name, "num_layers", num_layers)
        self.batch_first, self.bidirectional = bool(batch_first), bool(bidirectional)
        self.bias, self.proj_size = bool(bias), whole(name, "proj_size", proj_size, 0)
        if self.proj_size >= self.hidden_size:
            raise CallError(
                f"{name}: proj_size {proj_size} is not below hidden_size {hidden_size}", code="arguments"
            )
        self.dropout = share(name, "dropout", dropout)
        self._between = Dropout(dropout)
        width = self._carried[0] * (2 if bidirectional else 1)
        for layer in range(self.num_layers):
            for suffix in self._directions(layer):
                self._add_weights(suffix, self.input_size if layer == 0 else width, bias, dtype)
        self.reset_parameters()

    def _directions(self, layer: int) -> tuple[str, ...]:
        return (f"_l{layer}", f"_l{layer}_reverse") if self.bidirectional else (f"_l{layer}",)

    operator: str

    def forward(self, input: Any, hx: Any = None) -> Any:
        if isinstance(input, PackedSequence):
            if input.padded.ndim != 3:
                raise CallError(
                    f"{type(self).__name__}: the packed sequences have {input.padded.ndim} dimensions, "
                    "expected (time, batch, input_size)",
                    code="rank",
                )
            y, last = self._run(input.padded, None if hx is None else self._listed(hx), input.lengths)
            return PackedSequence(y, input.lengths), self._shown(last)
        if input.ndim == 2:
            states = None if hx is None else [ops.expand(h, axis=1, times=1) for h in self._listed(hx)]
            y, last = self._run(ops.expand(input, axis=1, times=1), states)
            return without_batch(y, 1), self._shown([without_batch(h, 1) for h in last])
        if input.ndim != 3:
            raise CallError(
                f"{type(self).__name__}: the input has {input.ndim} dimensions, expected 3, or 2 without a "
                f"batch",
                code="rank",
            )
        x = ops.swap_axes(input) if self.batch_first else input
        y, last = self._run(x, None if hx is None else self._listed(hx))
        return ops.swap_axes(y) if self.batch_first else y, self._shown(last)

    def _listed(self, hx: Any) -> list[Any]:
        found = list(hx) if isinstance(hx, tuple | list) else [hx]
        if len(found) != self.states:
            raise CallError(
                f"{type(self).__name__}: {len(found)} states are given, expected {self.states}",
                code="arguments",
            )
        return found

    def _shown(self, states: Sequence[Any]) -> Any:
        return tuple(states) if self.states > 1 else states[0]

    def _run(self, x: Any, states: Sequence[Any] | None, lengths: Any = None) -> tuple[Any, list[Any]]:
        """All layers on (time, batch, features), and the last states of each, stacked; as far as
        the lengths say where there are some.
        """
        last: list[tuple[Any, ...]] = []
        firsts = self._firsts(x, states)
        for layer in range(self.num_layers):
            if layer > 0:
                x = self._between(x)
            outputs = []
            for suffix in self._directions(layer):
                y, *ends = self._one(x, suffix, next(firsts), lengths)
                outputs.append(y)
                last.append(tuple(ends))
            x = ops.concat(outputs, axis=2) if self.bidirectional else outputs[0]
        return x, [ops.stack(list(each), axis=0) for each in zip(*last)]

    def _firsts(self, x: Any, states: Sequence[Any] | None) -> Iterator[list[Any]]:
        """The states that each layer and direction begins with."""
        for k in range(self.num_layers * (2 if self.bidirectional else 1)):
            if states is None:
                yield [zeros(x, (x.shape[1], size)) for size in self._carried]
            else:
                yield [ops.pick(each, axis=0, at=k) for each in states]

    def _one(self, x: Any, suffix: str, states: Sequence[Any], lengths: Any) -> tuple[Any, ...]:
        def turned(x: Any) -> Any:
            if not suffix.endswith("_reverse"):
                return x
            return ops.flip(x) if lengths is None else ops.flip_lengths(x, lengths)

        y, *ends = getattr(ops, self.operator)(
            turned(x), *states, **self._weights(suffix), **present(lengths=lengths)
        )
        return turned(y), *ends

    def extra_repr(self) -> str:
        shown = [f"{self.input_size}, {self.hidden_size}"]
        shown += [f"num_layers={self.num_layers}"] if self.num_layers > 1 else []
        shown += [f"proj_size={self.proj_size}"] if self.proj_size else []
        shown += [f"{name}=True" for name in ("batch_first", "bidirectional") if getattr(self, name)]
        shown += [f"dropout={self.dropout:g}"] if self.dropout else []
        return ", ".join(shown + ([] if self.bias else ["bias=False"]))

    def __repr__(self) -> str:
        return f"{type(self).__name__}({self.extra_repr()})"


class RNN(RNNBase):
    """Elman network: `h' = tanh(W_ih x + b_ih + W_hh h + b_hh)`, or `max(., 0)` of it.

    Of a PackedSequence each sequence ends after its length, where the backward direction begins.
    Elman, Finding Structure in Time, 1990.

    Args:
        input_size, hidden_size: features of an input and of a state.
        num_layers: each layer takes the outputs of the layer below.
        nonlinearity: "tanh" or "relu".
        batch_first: the batch is axis 0, the time axis 1.
        dropout: of the outputs of all layers but the last, in training.
        bidirectional: also backward in time.
    Shapes:
        input: (time, batch, input_size), or (batch, time, input_size) with `batch_first`, or (time,
            input_size), or a PackedSequence
        hx: (layers * directions, batch, hidden_size); zeros unless given
        output: a pair of (time, batch, directions * hidden_size), the outputs of the last layer,
            and the last states in the shape of `hx`
    Raises:
        CallError: a size is no integer of at least 1, the input has other axes or features, or
            another number of states is given.
    Example:
        >>> output, last = nn.RNN(3, 5)(tx.randn(7, 2, 3))
        >>> output.shape, last.shape
        ((7, 2, 5), (1, 2, 5))
    """

    def __init__(
        self,
        input_size: int,
        hidden_size: int,
        num_layers: int = 1,
        nonlinearity: str = "tanh",
        bias: bool = True,
        batch_first: bool = False,
        dropout: float = 0.0,
        bidirectional: bool = False,
        *,
        dtype: object = "f32",
    ) -> None:
        self_kind = one_of("RNN", "nonlinearity", nonlinearity, ("tanh", "relu"))
        super().__init__(
            input_size, hidden_size, num_layers, bias, batch_first, dropout, bidirectional, dtype=dtype
        )
        self.nonlinearity, self.operator = self_kind, "rnn" if self_kind == "tanh" else "rnn_relu"


class LSTM(RNNBase):
    """Long short-term memory: `c' = f c + i g` and `h' = o tanh(c')`, with gates `i`, `f`, `o`
    (sigmoid) and `g` (tanh) of `W_ih x + W_hh h`.

    Hochreiter and Schmidhuber, Long Short-Term Memory, 1997; Gers et al., Learning to Forget, 2000;
    Sak et al., Long Short-Term Memory Recurrent Neural Network Architectures, 2014.

    Args:
        input_size, hidden_size: features of an input and of a state.
        num_layers: each layer takes the outputs of the layer below.
        proj_size: hidden states are projected to this size, where it is not 0.
        batch_first: the batch is axis 0, the time axis 1.
        dropout: of the outputs of all layers but the last, in training.
        bidirectional: also backward in time.
    Shapes:
        input: (time, batch, input_size), or (batch, time, input_size) with `batch_first`, or (time,
            input_size), or a PackedSequence
        hx: a pair of (layers * directions, batch, hidden_size), hidden and cell states; zeros
            unless given
        output: a pair of (time, batch, directions * hidden_size), the outputs of the last layer,
            and the last states in the shape of `hx`
    Raises:
        CallError: a size is no integer of at least 1, the input has other axes or features, or
            another number of states is given.
    Example:
        >>> output, (h, c) = nn.LSTM(3, 5)(tx.randn(7, 2, 3))
        >>> output.shape, h.shape, c.shape
        ((7, 2, 5), (1, 2, 5), (1, 2, 5))
    """

    gates, states = 4, 2

    @property
    def operator(self) -> str:  # type: ignore[override]
        """Of texpr.ops."""
        return "lstm_projected" if self.proj_size else "lstm"


class GRU(RNNBase):
    """Gated recurrent units: `h' = (1 - z) n + z h`, with `r = sigmoid(W_ir x + W_hr h)`,
    `z = sigmoid(W_iz x + W_hz h)` and `n = tanh(W_in x + r (W_hn h))`, biases left out.

    The reset gate stands after the product, as in torch. Cho et al., Learning Phrase
    Representations, 2014.

    Args:
        input_size, hidden_size: features of an input and of a state.
        num_layers: each layer takes the outputs of the layer below.
        batch_first: the batch is axis 0, the time axis 1.
        dropout: of the outputs of all layers but the last, in training.
        bidirectional: also backward in time.
    Shapes:
        input: (time, batch, input_size), or (batch, time, input_size) with `batch_first`, or (time,
            input_size), or a PackedSequence
        hx: (layers * directions, batch, hidden_size); zeros unless given
        output: a pair of (time, batch, directions * hidden_size), the outputs of the last layer,
            and the last states in the shape of `hx`
    Raises:
        CallError: a size is no integer of at least 1, the input has other axes or features, or
            another number of states is given.
    Example:
        >>> output, last = nn.GRU(3, 5, bidirectional=True)(tx.randn(7, 2, 3))
        >>> output.shape, last.shape
        ((7, 2, 10), (2, 2, 5))
    """

    gates, operator = 3, "gru"

    def __init__(
        self,
        input_size: int,
        hidden_size: int,
        num_layers: int = 1,
        bias: bool = True,
        batch_first: bool = False,
        dropout: float = 0.0,
        bidirectional: bool = False,
        *,
        dtype: object = "f32",
    ) -> None:
        super().__init__(
            input_size, hidden_size, num_layers, bias, batch_first, dropout, bidirectional, dtype=dtype
        )


class _Cell(_Recurrent):
    """One step of a recurrent layer: (batch, input_size) and states (batch, hidden_size), or
    without the batch; new states.
    """

    operator = ""

    def __init__(
        self, input_size: int, hidden_size: int, bias: bool = True, *, dtype: object = "f32"
    ) -> None:
        super().__init__()
        name = type(self).__name__
        self.input_size, self.hidden_size = (
            whole(name, "input_size", input_size),
            whole(name, "hidden_size", hidden_size),
        )
        self.bias = bool(bias)
        self._add_weights("", self.input_size, bias, dtype)
        self.reset_parameters()

    def forward(self, input: Any, hx: Any = None) -> Any:
        given = list(hx) if isinstance(hx, tuple | list) else [hx] if hx is not None else []
        if input.ndim == 1:
            found = self._step(ops.expand(input, times=1), [ops.expand(h, times=1) for h in given])
            return tuple(map(without_batch, found)) if isinstance(found, tuple) else without_batch(found)
        return with_batch(self, input, 2, lambda x: self._step(x, given))

    def _step(self, x: Any, states: Sequence[Any]) -> Any:
        states = states or [zeros(x, (x.shape[0], size)) for size in self._carried]
        found = getattr(ops, self.operator)(x, *states, **self._weights(""))
        return tuple(found) if self.states > 1 else found

    def extra_repr(self) -> str:
        return f"{self.input_size}, {self.hidden_size}{'' if self.bias else ', bias=False'}"


class RNNCell(_Cell):
    """Step of an Elman network, see RNN.

    Shapes:
        input: (batch, input_size), or (input_size,)
        hx: (batch, hidden_size), or without the batch; zeros unless given
        output: the states in the shape of `hx`
    Raises:
        CallError: a size is no integer of at least 1, or the input has other axes or features.
    Example:
        >>> nn.RNNCell(3, 5)(tx.randn(2, 3)).shape
        (2, 5)
    """

    operator = "rnn_cell"

    def __init__(
        self,
        input_size: int,
        hidden_size: int,
        bias: bool = True,
        nonlinearity: str = "tanh",
        *,
        dtype: object = "f32",
    ) -> None:
        super().__init__(input_size, hidden_size, bias, dtype=dtype)
        self.nonlinearity = one_of("RNNCell", "nonlinearity", nonlinearity, ("tanh", "relu"))
        self.operator = "rnn_cell" if nonlinearity == "tanh" else "rnn_relu_cell"


class LSTMCell(_Cell):
    """Step of long short-term memory, see LSTM.

    Shapes:
        input: (batch, input_size), or (input_size,)
        hx: a pair (h, c) of (batch, hidden_size), or without the batch; zeros unless given
        output: the states in the shape of `hx`
    Raises:
        CallError: a size is no integer of at least 1, or the input has other axes or features.
    Example:
        >>> h, c = nn.LSTMCell(3, 5)(tx.randn(2, 3))
        >>> h.shape, c.shape
        ((2, 5), (2, 5))
    """

    gates, states, operator = 4, 2, "lstm_cell"


class GRUCell(_Cell):
    """Step of gated recurrent units, see GRU.

    Shapes:
        input: (batch, input_size), or (input_size,)
        hx: (batch, hidden_size), or without the batch; zeros unless given
        output: the states in the shape of `hx`
    Raises:
        CallError: a size is no integer of at least 1, or the input has other axes or features.
    Example:
        >>> nn.GRUCell(3, 5)(tx.randn(2, 3)).shape
        (2, 5)
    """

    gates, operator = 3, "gru_cell"
