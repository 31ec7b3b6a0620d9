"""Transformers: encoders, decoders, and both. Vaswani et al., Attention Is All You Need, 2017."""

from __future__ import annotations

import copy
from collections.abc import Callable
from typing import Any

import numpy as np

from texpr import ops
from texpr.ir.dtypes import readable, stored
from texpr.nn import init
from texpr.nn.core.argument_checks import float_dtype, whole
from texpr.nn.core.module import Module
from texpr.nn.modules.attention import MultiheadAttention
from texpr.nn.modules.containers import ModuleList
from texpr.nn.modules.dropout import Dropout, Seeded
from texpr.nn.modules.linear import Linear
from texpr.nn.modules.normalization import LayerNorm
from texpr.support.errors import CallError

Activation = str | Callable[[Any], Any]


def _activation(owner: str, given: Activation) -> Callable[[Any], Any]:
    known: dict[str, Callable[[Any], Any]] = {"relu": ops.relu, "gelu": ops.gelu}
    if isinstance(given, str) and given in known:
        return known[given]
    if not callable(given):
        raise CallError(
            f"{owner}: activation is {given!r}, expected relu, gelu or a function of a tensor",
            code="arguments",
        )
    return given


class _Layer(Module):
    """Base of the layers of encoders and decoders: self-attention, then two linear layers, each
    added to its input.

    Args:
        activation: "relu", "gelu", or a function of a tensor such as nn.SiLU().
        norm_first: normalise what each part is given, not what it has added to.
    """

    parts = 2

    def __init__(
        self,
        d_model: int,
        nhead: int,
        dim_feedforward: int = 2048,
        dropout: float = 0.1,
        activation: Activation = "relu",
        layer_norm_eps: float = 1e-5,
        batch_first: bool = False,
        norm_first: bool = False,
        bias: bool = True,
        *,
        dtype: object = "f32",
    ) -> None:
        super().__init__()
        self.norm_first = bool(norm_first)
        self.self_attn = MultiheadAttention(
            d_model, nhead, dropout, bias, batch_first=batch_first, dtype=dtype
        )
        self._make_cross(d_model, nhead, dropout, bias, batch_first, dtype)
        self.linear1 = Linear(d_model, dim_feedforward, bias, dtype=dtype)
        self.dropout = Dropout(dropout)
        self.linear2 = Linear(dim_feedforward, d_model, bias, dtype=dtype)
        for k in range(1, self.parts + 1):
            setattr(self, f"norm{k}", LayerNorm(d_model, layer_norm_eps, bias=bias, dtype=dtype))
        for k in range(1, self.parts + 1):
            setattr(self, f"dropout{k}", Dropout(dropout))
        self.activation = _activation(type(self).__name__, activation)

    def _make_cross(self, *arguments: Any) -> None:
        """Attention to another sequence, where there is one."""

    def _add(self, x: Any, position: int, part: Callable[[Any], Any]) -> Any:
        """x with a part of it added, normalised before or after."""
        norm, drop = self._modules[f"norm{position}"], self._modules[f"dropout{position}"]
        return x + drop(part(norm(x))) if self.norm_first else norm(x + drop(part(x)))

    def _forward_part(self, x: Any) -> Any:
        return self.linear2(self.dropout(self.activation(self.linear1(x))))


class TransformerEncoderLayer(_Layer):
    """Encoder layer: self-attention and two linear layers, each added to its input and normalized.

    Vaswani et al., Attention Is All You Need, 2017.

    Args:
        d_model, nhead: features and heads.
        dim_feedforward: features between the two linear layers.
        dropout: of each part, in training.
        activation: "relu", "gelu", or a function of a tensor such as `nn.SiLU()`.
        batch_first: the batch is axis 0.
        norm_first: normalize the input of each part, not the sum.
    Shapes:
        src: (length, batch, d_model), or (batch, length, d_model) with `batch_first`
        src_mask: (length, length)
        src_key_padding_mask: (batch, length)
        output: the shape of `src`
    Raises:
        CallError: heads do not divide the features, an unknown activation, or inputs do not fit.
    Example:
        >>> nn.TransformerEncoderLayer(8, 2, 16)(tx.randn(5, 2, 8)).shape
        (5, 2, 8)
    """

    def forward(
        self, src: Any, src_mask: Any = None, src_key_padding_mask: Any = None, is_causal: bool = False
    ) -> Any:
        x = self._add(src, 1, lambda y: self.self_attn(y, y, y, src_key_padding_mask, False, src_mask)[0])
        return self._add(x, 2, self._forward_part)


class TransformerDecoderLayer(_Layer):
    """Decoder layer: self-attention, attention to the encoder's results, and two linear layers,
    each added to its input and normalized.

    Vaswani et al., Attention Is All You Need, 2017.

    Args:
        d_model, nhead: features and heads.
        dim_feedforward: features between the two linear layers.
        dropout: of each part, in training.
        activation: "relu", "gelu", or a function of a tensor such as `nn.SiLU()`.
        batch_first: the batch is axis 0.
        norm_first: normalize the input of each part, not the sum.
    Shapes:
        tgt: (length, batch, d_model), or (batch, length, d_model) with `batch_first`
        memory: the encoder's results, with a length of their own
        output: the shape of `tgt`
    Raises:
        CallError: heads do not divide the features, an unknown activation, or inputs do not fit.
    Example:
        >>> nn.TransformerDecoderLayer(8, 2, 16)(tx.randn(5, 2, 8), tx.randn(7, 2, 8)).shape
        (5, 2, 8)
    """

    parts = 3

    def _make_cross(
        self, d_model: int, nhead: int, dropout: float, bias: bool, batch_first: bool, dtype: object
    ) -> None:
        self.multihead_attn = MultiheadAttention(
            d_model, nhead, dropout, bias, batch_first=batch_first, dtype=dtype
        )

    def forward(
        self,
        tgt: Any,
        memory: Any,
        tgt_mask: Any = None,
        memory_mask: Any = None,
        tgt_key_padding_mask: Any = None,
        memory_key_padding_mask: Any = None,
        tgt_is_causal: bool = False,
        memory_is_causal: bool = False,
    ) -> Any:
        x = self._add(tgt, 1, lambda y: self.self_attn(y, y, y, tgt_key_padding_mask, False, tgt_mask)[0])
        x = self._add(
            x,
            2,
            lambda y: self.multihead_attn(y, memory, memory, memory_key_padding_mask, False, memory_mask)[0],
        )
        return self._add(x, 3, self._forward_part)


class _Stack(Module):
    """Copies of a layer, one after the other, and a normalisation at the end."""

    def __init__(self, layer: Module, num_layers: int, norm: Module | None) -> None:
        super().__init__()
        self.layers = ModuleList(_copies(layer, whole(type(self).__name__, "num_layers", num_layers)))
        self.num_layers, self.norm = num_layers, norm

    def _through(self, x: Any, *arguments: Any, **options: Any) -> Any:
        for layer in self.layers:
            x = layer(x, *arguments, **options)
        return x if self.norm is None else self.norm(x)


class TransformerEncoder(_Stack):
    """Stack of copies of an encoder layer.

    Args:
        encoder_layer: the layer that is copied.
        num_layers: the number of copies; they begin with equal weights.
        norm: a normalization at the end, or None.
        enable_nested_tensor, mask_check: accepted as torch's; they change nothing.
    Shapes:
        src: (length, batch, d_model), or as the layer has it
        output: the shape of `src`
    Raises:
        CallError: `num_layers` is no integer of at least 1, or the inputs do not fit.
    Example:
        >>> layer = nn.TransformerEncoderLayer(8, 2, 16)
        >>> nn.TransformerEncoder(layer, 2)(tx.randn(5, 2, 8)).shape
        (5, 2, 8)
    """

    def __init__(
        self,
        encoder_layer: Module,
        num_layers: int,
        norm: Module | None = None,
        enable_nested_tensor: bool = True,
        mask_check: bool = True,
    ) -> None:
        super().__init__(encoder_layer, num_layers, norm)

    def forward(
        self, src: Any, mask: Any = None, src_key_padding_mask: Any = None, is_causal: bool | None = None
    ) -> Any:
        return self._through(src, mask, src_key_padding_mask)


class TransformerDecoder(_Stack):
    """Stack of copies of a decoder layer.

    Args:
        decoder_layer: the layer that is copied.
        num_layers: the number of copies; they begin with equal weights.
        norm: a normalization at the end, or None.
    Shapes:
        tgt: (length, batch, d_model), or as the layer has it
        memory: the encoder's results, with a length of their own
        output: the shape of `tgt`
    Raises:
        CallError: `num_layers` is no integer of at least 1, or the inputs do not fit.
    Example:
        >>> layer = nn.TransformerDecoderLayer(8, 2, 16)
        >>> nn.TransformerDecoder(layer, 2)(tx.randn(5, 2, 8), tx.randn(7, 2, 8)).shape
        (5, 2, 8)
    """

    def __init__(self, decoder_layer: Module, num_layers: int, norm: Module | None = None) -> None:
        super().__init__(decoder_layer, num_layers, norm)

    def forward(
        self,
        tgt: Any,
        memory: Any,
        tgt_mask: Any = None,
        memory_mask: Any = None,
        tgt_key_padding_mask: Any = None,
        memory_key_padding_mask: Any = None,
        tgt_is_causal: bool | None = None,
        memory_is_causal: bool = False,
    ) -> Any:
        return self._through(
            tgt, memory, tgt_mask, memory_mask, tgt_key_padding_mask, memory_key_padding_mask
        )


class Transformer(Module):
    """Encoder and decoder: the decoder attends to the encoder's results.

    Vaswani et al., Attention Is All You Need, 2017.

    Args:
        d_model, nhead: features and heads.
        num_encoder_layers, num_decoder_layers: the numbers of layers.
        dim_feedforward: features between the two linear layers.
        dropout: of each part, in training.
        activation: "relu", "gelu", or a function of a tensor such as `nn.SiLU()`.
        batch_first: the batch is axis 0.
        norm_first: normalize the input of each part, not the sum.
        custom_encoder, custom_decoder: modules in their places.
    Shapes:
        src: (source length, batch, d_model), or with the batch first
        tgt: (target length, batch, d_model), or with the batch first
        output: the shape of `tgt`
    Raises:
        CallError: heads do not divide the features, an unknown activation, or inputs do not fit.
    Example:
        >>> model = nn.Transformer(8, 2, 1, 1, 16)
        >>> model(tx.randn(7, 2, 8), tx.randn(5, 2, 8)).shape
        (5, 2, 8)
    """

    def __init__(
        self,
        d_model: int = 512,
        nhead: int = 8,
        num_encoder_layers: int = 6,
        num_decoder_layers: int = 6,
        dim_feedforward: int = 2048,
        dropout: float = 0.1,
        activation: Activation = "relu",
        custom_encoder: Module | None = None,
        custom_decoder: Module | None = None,
        layer_norm_eps: float = 1e-5,
        batch_first: bool = False,
        norm_first: bool = False,
        bias: bool = True,
        *,
        dtype: object = "f32",
    ) -> None:
        super().__init__()
        shared = (
            d_model,
            nhead,
            dim_feedforward,
            dropout,
            activation,
            layer_norm_eps,
            batch_first,
            norm_first,
            bias,
        )

        def norm() -> Module:
            return LayerNorm(d_model, layer_norm_eps, bias=bias, dtype=dtype)

        self.encoder = custom_encoder or TransformerEncoder(
            TransformerEncoderLayer(*shared, dtype=dtype), num_encoder_layers, norm()
        )
        self.decoder = custom_decoder or TransformerDecoder(
            TransformerDecoderLayer(*shared, dtype=dtype), num_decoder_layers, norm()
        )
        self.d_model, self.nhead, self.batch_first = d_model, nhead, bool(batch_first)
        for parameter in self.parameters():
            if parameter.ndim > 1:
                init.xavier_uniform_(parameter)

    def forward(
        self,
        src: Any,
        tgt: Any,
        src_mask: Any = None,
        tgt_mask: Any = None,
        memory_mask: Any = None,
        src_key_padding_mask: Any = None,
        tgt_key_padding_mask: Any = None,
        memory_key_padding_mask: Any = None,
        src_is_causal: bool | None = None,
        tgt_is_causal: bool | None = None,
        memory_is_causal: bool = False,
    ) -> Any:
        memory = self.encoder(src, src_mask, src_key_padding_mask)
        return self.decoder(tgt, memory, tgt_mask, memory_mask, tgt_key_padding_mask, memory_key_padding_mask)

    @staticmethod
    def generate_square_subsequent_mask(sz: int, dtype: object = "f32") -> np.ndarray:
        """A mask that hides what comes later: -inf above the diagonal, else 0."""
        wanted = float_dtype("generate_square_subsequent_mask", dtype)
        return readable(stored(np.triu(np.full((sz, sz), -np.inf), 1), wanted), wanted)


def _copies(layer: Module, count: int) -> list[Module]:
    """Copies with the same first values, and random numbers of their own."""
    copies = [copy.deepcopy(layer) for _ in range(count)]
    for module in (m for each in copies for m in each.modules()):
        if isinstance(module, Seeded):
            module.reseed()
    return copies
