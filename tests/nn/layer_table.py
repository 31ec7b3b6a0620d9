"""Layers and losses as texts that mean the same in texpr.nn and torch.nn, with what they are called
on.

`tests/nn/modules/test_layers.py` compares them with what was stored of torch, `scripts/layers.py`
with torch itself, gradients too.
"""

from __future__ import annotations

import zlib
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

Array = np.ndarray


@dataclass(frozen=True)
class Given:
    """An input.

    Attributes:
        kind: "normal" around 0, "positive", "share" between 0 and 1, "sign" of -1 and 1, "log" of
            distributions over axis 1, "bool", "index" below `limit`, or "these" values.
    """

    shape: tuple[int, ...]
    kind: str = "normal"
    limit: int = 0
    values: tuple = ()

    def array(self, key: str) -> Array:
        """The same numbers whenever the key is the same."""
        x = waves(key, self.shape)
        match self.kind:
            case "positive":
                return 1.2 + x
            case "share":
                return 0.5 + 0.45 * x
            case "sign":
                return np.where(x > 0, 1.0, -1.0)
            case "log":
                e = np.exp(2 * x)
                return np.log(e / e.sum(min(1, x.ndim - 1), keepdims=True))
            case "bool":
                return (x > 0.6) & (np.arange(self.shape[-1]) > 0)
            case "index":
                return ((x + 1) * 0.5 * self.limit).astype(np.int64) % self.limit
            case "these":
                return np.array(self.values)
        return 2 * x


def waves(key: str, shape: Sequence[int]) -> Array:
    """Numbers in -1..1 that look irregular, all different."""
    start = zlib.crc32(key.encode()) % 1000
    return np.sin(
        np.arange(start, start + int(np.prod(shape, dtype=int)), dtype=np.float64) ** 1.1 * 2.3
    ).reshape(tuple(shape))


def first_values(name: str, shape: Sequence[int]) -> Array:
    """Of a parameter or buffer: of the size that first values have."""
    x = waves(name, shape)
    if name.endswith("_random_samples"):
        return 0.5 + 0.49 * x
    return 1 + 0.4 * x if name.endswith(("running_var", "weight_g")) else 0.5 * x


@dataclass(frozen=True)
class Case:
    """A layer, by the text that makes it, and a call.

    Attributes:
        mode: whether it is called in training mode; then its buffers change.
        options: arguments by name that are no tensors.
        gradient: whether gradients are compared.
        smooth: how many of the inputs are differentiated in.
    """

    text: str
    inputs: tuple[Any, ...]
    training: bool = False
    named: tuple[tuple[str, Any], ...] = ()
    options: tuple[tuple[str, Any], ...] = ()
    gradient: bool = True
    smooth: int = 99

    @property
    def key(self) -> str:
        """Its name in tables."""
        marks = [
            *(["training"] if self.training else []),
            *(n for n, _ in self.named),
            *(f"{n}={v}" for n, v in self.options),
        ]
        shapes = "; ".join(_shown(g) for g in self.inputs)
        return f"{self.text} ({shapes}{''.join('; ' + m for m in marks)})"

    def arrays(self) -> list[Array]:
        """All tensors, those by name last."""
        return [g.array(f"{self.text}{k}") for k, g in enumerate(self._given())]

    def differentiable(self) -> list[int]:
        """Which of them gradients are taken in."""
        smooth = "normal", "positive", "share", "log"
        return [k for k, g in enumerate(self._given()) if g.kind in smooth and k < self.smooth]

    def _given(self) -> list[Given]:
        return list(_flat([*self.inputs, *(g for _, g in self.named)]))


def _flat(tree: Any) -> Iterator[Given]:
    for each in tree:
        if isinstance(each, Given):
            yield each
        else:
            yield from _flat(each)


def _shown(given: Any) -> str:
    return (
        "x".join(map(str, given.shape)) or "1" if isinstance(given, Given) else "+".join(map(_shown, given))
    )


def x(*shape: int) -> Given:
    return Given(shape)


def layer(text: str, *inputs: Any, **more: Any) -> Case:
    """A case; a tuple of numbers is an input of that shape."""
    return Case(
        text,
        tuple(Given(i) if isinstance(i, tuple) and all(isinstance(n, int) for n in i) else i for i in inputs),
        **more,
    )


def packing(nn: Any) -> type:
    """A module of torch.nn or texpr.nn around a recurrent layer, for padded sequences and their
    lengths.
    """

    class Packed(nn.Module):
        def __init__(self, layer: Any) -> None:
            super().__init__()
            self.layer = layer

        def forward(self, x: Any, lengths: Any, hx: Any = None) -> Any:
            packed = nn.utils.rnn.pack_padded_sequence(x, lengths, enforce_sorted=False)
            y, last = self.layer(packed, hx)
            return *nn.utils.rnn.pad_packed_sequence(y, padding_value=0.5), last

    return Packed


ACTIVATIONS = (
    "ReLU()",
    "ReLU6()",
    "Tanh()",
    "Sigmoid()",
    "LogSigmoid()",
    "Softsign()",
    "Tanhshrink()",
    "Hardsigmoid()",
    "Hardswish()",
    "SiLU()",
    "Mish()",
    "SELU()",
    "ELU(0.7)",
    "CELU(1.3)",
    "LeakyReLU(0.2)",
    "Hardtanh(-0.5, 0.8)",
    "Hardshrink(0.4)",
    "Softshrink(0.3)",
    "Softplus(2.0, 1.0)",
    "Softplus()",
    "Threshold(0.2, -3.0)",
    "GELU()",
    "GELU('tanh')",
    "PReLU()",
    "PReLU(3)",
    "RReLU()",
    "Softmax(1)",
    "Softmin(0)",
    "LogSoftmax(-1)",
    "Identity(3, a=4)",
    "Dropout(0.3)",
    "AlphaDropout(0.3)",
)


def elementwise() -> Iterator[Case]:
    for text in ACTIVATIONS:
        yield layer(text, (4, 3))
    yield layer("GLU(1)", (2, 6, 3))
    yield layer("Softmax2d()", (2, 3, 2, 4))
    yield layer("PReLU(3)", (2, 3, 2, 4))
    for rank, text in enumerate(("Dropout1d()", "Dropout2d()", "Dropout3d()"), 1):
        yield layer(text, (2, 3, *(2,) * rank))
    for text in (
        "Flatten()",
        "Flatten(0)",
        "Flatten(1, 2)",
        "Flatten(-2)",
        "Unflatten(1, (3, -1))",
        "Unflatten(2, (2, 1, 2))",
    ):
        yield layer(text, (2, 6, 4, 3))


def linear() -> Iterator[Case]:
    yield layer("Linear(5, 3)", (4, 5))
    yield layer("Linear(5, 3, bias=False)", (2, 4, 5))
    yield layer("Bilinear(4, 3, 2)", (5, 4), (5, 3))
    yield layer("Bilinear(4, 3, 2, bias=False)", (2, 3, 4), (2, 3, 3))


CONVOLUTIONS = (
    "4, 6, 3",
    "4, 6, 2, stride=2, padding=1, bias=False",
    "4, 6, 3, padding=2, dilation=2, groups=2",
    "4, 4, 2, padding='same'",
    "4, 6, 3, padding='same', padding_mode='reflect', groups=2",
    "4, 6, 2, padding='valid'",
    "4, 4, 3, padding=1, padding_mode='circular'",
    "4, 6, 3, stride=2, padding=1, padding_mode='replicate'",
)
TRANSPOSED = (
    "4, 6, 3",
    "4, 6, 2, stride=2, bias=False",
    "4, 6, 3, stride=2, padding=1, output_padding=1, groups=2",
    "4, 4, 2, dilation=2, padding=1",
)
LENGTHS = {1: (7,), 2: (6, 5), 3: (4, 5, 4)}


def convolutions() -> Iterator[Case]:
    for rank, lengths in LENGTHS.items():
        for text in CONVOLUTIONS:
            yield layer(f"Conv{rank}d({text})", (2, 4, *lengths))
        for text in TRANSPOSED:
            yield layer(f"ConvTranspose{rank}d({text})", (2, 4, *lengths[:-1], 3))
        yield layer(f"Conv{rank}d(4, 6, 3)", (4, *lengths))
    yield layer("Conv2d(4, 6, (3, 2), stride=(2, 1), padding=(0, 1), dilation=(1, 2))", (2, 4, 6, 5))
    yield layer(
        "ConvTranspose2d(4, 6, 3, stride=2, padding=1)", (2, 4, 3, 3), options=(("output_size", [6, 5]),)
    )
    yield layer("ConvTranspose1d(2, 3, 2)", (2, 4))
    yield layer("Unfold(2, dilation=2, padding=1, stride=2)", (2, 3, 6, 5))
    yield layer("Fold((5, 6), (2, 3), stride=2, padding=1)", (2, 12, 9))


MAXIMA = (
    "2",
    "3, stride=1, padding=1",
    "2, stride=2, ceil_mode=True",
    "2, stride=1, dilation=2",
    "3, stride=2, padding=1, ceil_mode=True",
)
MEANS = (
    "2",
    "3, stride=1, padding=1",
    "2, stride=2, ceil_mode=True",
    "3, stride=2, padding=1, count_include_pad=False",
    "3, stride=2, padding=1, ceil_mode=True",
)


def unpooling() -> Iterator[Case]:
    places = Given((1, 2, 2), "these", values=(((1, 2), (0, 3)),))
    yield layer(
        "FractionalMaxPool2d(2, output_size=(3, 4), _random_samples=torch.tensor([[[0.3, 0.7], [0.1, "
        "0.9]]]))",
        (1, 2, 7, 6),
    )
    yield layer(
        "FractionalMaxPool2d((3, 2), output_ratio=(0.5, 0.7), return_indices=True, "
        "_random_samples=torch.tensor([[[0.8, 0.2]]]))",
        (1, 6, 7),
    )
    for option in ("output_size=(2, 3, 4)", "output_ratio=0.6, return_indices=True"):
        yield layer(
            f"FractionalMaxPool3d(2, {option}, _random_samples=torch.tensor([[[0.3, 0.7, 0.5]]]))",
            (1, 1, 6, 5, 7),
        )
    yield layer("MaxUnpool1d(2)", (1, 2, 2), places)
    yield layer("MaxUnpool1d(3, 2, 1)", (1, 2, 2), places, options=(("output_size", (4,)),))
    plane = Given((1, 2, 2), "these", values=(((0, 3), (9, 14)),))
    yield layer("MaxUnpool2d(2)", (1, 2, 2), plane)
    yield layer(
        "MaxUnpool3d(2)", (1, 2, 1, 2), Given((1, 2, 1, 2), "these", values=((((3, 6),), ((9, 31),)),))
    )


def pooling() -> Iterator[Case]:
    for rank, lengths in LENGTHS.items():
        image = (2, 3, *lengths)
        yield from (layer(f"MaxPool{rank}d({text})", image) for text in MAXIMA)
        yield from (layer(f"AvgPool{rank}d({text})", image) for text in MEANS)
        yield layer(f"LPPool{rank}d(2, 2)", image)
        yield layer(f"LPPool{rank}d(3, 2, stride=2, ceil_mode=True)", Given(image, "positive"))
        for size in (3, (*lengths[:-1], 2)):
            yield layer(f"AdaptiveAvgPool{rank}d({size})", image)
            yield layer(f"AdaptiveMaxPool{rank}d({size})", image)
        yield from (
            layer(f"MaxPool{rank}d({text}, return_indices=True)", image, gradient=False) for text in MAXIMA
        )
        yield layer(f"AdaptiveMaxPool{rank}d(3, return_indices=True)", image, gradient=False)
    yield from unpooling()
    yield layer("AvgPool2d(2, divisor_override=3)", (2, 3, 4, 5))
    yield layer("AvgPool3d(2, divisor_override=3)", (2, 3, 4, 5, 2))
    yield layer("MaxPool2d((2, 3), (1, 2))", (3, 4, 5))
    yield layer("AdaptiveAvgPool2d((None, 2))", (2, 3, 4, 5))


def normalizations() -> Iterator[Case]:
    for rank, shapes in ((1, ((4, 3), (2, 3, 5))), (2, ((2, 3, 2, 4),)), (3, ((2, 3, 2, 2, 3),))):
        for shape in shapes:
            yield layer(f"BatchNorm{rank}d(3)", shape)
            yield layer(f"BatchNorm{rank}d(3)", shape, training=True)
            yield layer(f"BatchNorm{rank}d(3, eps=1e-3, momentum=None, affine=False)", shape, training=True)
            yield layer(f"BatchNorm{rank}d(3, track_running_stats=False)", shape)
        whole = shapes[-1]
        yield layer(f"InstanceNorm{rank}d(3)", whole)
        yield layer(f"InstanceNorm{rank}d(3, affine=True, track_running_stats=True)", whole)
        yield layer(
            f"InstanceNorm{rank}d(3, momentum=0.3, affine=True, track_running_stats=True)",
            whole,
            training=True,
        )
    yield layer("InstanceNorm2d(3)", (3, 4, 5))
    for text in (
        "LayerNorm(4)",
        "LayerNorm((3, 4), eps=1e-2)",
        "LayerNorm(4, elementwise_affine=False)",
        "LayerNorm(4, bias=False)",
        "RMSNorm(4)",
        "RMSNorm((3, 4), eps=1e-3)",
        "RMSNorm(4, elementwise_affine=False)",
    ):
        yield layer(text, (2, 3, 4))
    for text in ("GroupNorm(2, 6)", "GroupNorm(3, 6, affine=False)", "LocalResponseNorm(3, 0.1)"):
        yield layer(text, (2, 6, 3))


def index(limit: int, *shape: int) -> Given:
    return Given(shape, "index", limit)


def tables() -> Iterator[Case]:
    yield layer("Embedding(7, 3)", index(7, 2, 4))
    yield layer("Embedding(7, 3, padding_idx=2)", index(7, 3, 5))
    yield layer("Embedding(7, 3, padding_idx=-1)", index(7, 11))
    for options in (
        "scale_grad_by_freq=True",
        "padding_idx=2, scale_grad_by_freq=True",
        "max_norm=0.5",
        "max_norm=0.6, norm_type=1.0",
        "padding_idx=2, max_norm=0.3, norm_type=float('inf'), scale_grad_by_freq=True",
    ):
        yield layer(f"Embedding(7, 3, {options})", index(6, 3, 5))
    yield layer("EmbeddingBag(7, 3, scale_grad_by_freq=True, padding_idx=2)", index(6, 3, 4))
    yield layer("EmbeddingBag(7, 3, max_norm=0.5, mode='max')", index(6, 3, 4))
    yield layer(
        "EmbeddingBag(7, 3, max_norm=0.5, scale_grad_by_freq=True, mode='sum')",
        index(6, 10),
        Given((2,), "these", values=(0, 4)),
    )
    for mode in ("sum", "mean", "max"):
        yield layer(f"EmbeddingBag(7, 3, mode='{mode}')", index(7, 3, 4))
        yield layer(
            f"EmbeddingBag(7, 3, mode='{mode}', padding_idx=2)",
            index(7, 10),
            Given((3,), "these", values=(0, 2, 5)),
        )
    yield layer(
        "EmbeddingBag(7, 3, include_last_offset=True)",
        index(7, 10),
        Given((4,), "these", values=(0, 2, 5, 10)),
    )
    yield layer("EmbeddingBag(7, 3, mode='sum')", index(7, 3, 4), named=(("per_sample_weights", x(3, 4)),))


def recurrent() -> Iterator[Case]:
    for name in ("RNN", "LSTM", "GRU"):
        yield layer(f"{name}(3, 4)", (5, 2, 3))
        yield layer(f"{name}(3, 4, num_layers=2, bias=False, batch_first=True)", (2, 5, 3))
        yield layer(f"{name}(3, 4, num_layers=2, bidirectional=True, dropout=0.5)", (3, 2, 3))
        states = (x(2, 2, 4), x(2, 2, 4)) if name == "LSTM" else x(2, 2, 4)
        yield layer(f"{name}(3, 4, bidirectional=True)", (3, 2, 3), states)
        yield layer(f"{name}(3, 4)", (5, 3))
        pair = (x(2, 4), x(2, 4)) if name == "LSTM" else x(2, 4)
        yield layer(f"{name}Cell(3, 4)", (2, 3), pair)
        yield layer(f"{name}Cell(3, 4, bias=False)", (3,))
    yield layer("RNN(3, 4, nonlinearity='relu')", (5, 2, 3))
    yield layer("RNNCell(3, 4, nonlinearity='relu')", (2, 3))
    yield layer("LSTM(3, 4, proj_size=2, bidirectional=True, num_layers=2)", (3, 2, 3))
    lengths = Given((3,), "these", values=(2, 5, 1))
    for each in (
        "RNN(3, 4, nonlinearity='relu')",
        "RNN(3, 4)",
        "LSTM(3, 4, proj_size=2)",
        "GRU(3, 4, 2, bidirectional=True)",
    ):
        yield layer(f"Packed({each})", (5, 3, 3), lengths)
    yield layer("Packed(LSTM(3, 4, 2, bidirectional=True))", (5, 3, 3), lengths, (x(4, 3, 4), x(4, 3, 4)))


HIDE, COLUMNS = ("attn_mask", Given((4, 5), "bool")), ("key_padding_mask", Given((2, 5), "bool"))


def attention() -> Iterator[Case]:
    three = x(4, 2, 6), x(5, 2, 6), x(5, 2, 6)
    yield layer("MultiheadAttention(6, 2)", *three)
    yield layer("MultiheadAttention(6, 3, bias=False)", *three, named=(HIDE, COLUMNS))
    yield layer("MultiheadAttention(6, 2, add_bias_kv=True, add_zero_attn=True)", *three, named=(COLUMNS,))
    yield layer(
        "MultiheadAttention(6, 2, kdim=3, vdim=4, batch_first=True)",
        (2, 4, 6),
        (2, 5, 3),
        (2, 5, 4),
        named=(("attn_mask", x(4, 4, 5)),),
    )
    yield layer("MultiheadAttention(6, 2)", *three, named=(HIDE,), options=(("average_attn_weights", False),))
    yield layer("MultiheadAttention(6, 2)", *three, options=(("need_weights", False),))
    yield layer("MultiheadAttention(6, 2)", (4, 6), (5, 6), (5, 6))
    later = Given(
        (4, 4), "these", values=tuple(tuple(0.0 if j <= i else -np.inf for j in range(4)) for i in range(4))
    )
    for text in ("batch_first=True", "norm_first=True, activation='gelu'", "dropout=0.0, bias=False"):
        shape = (2, 4, 6) if "batch_first" in text else (4, 2, 6)
        yield layer(f"TransformerEncoderLayer(6, 2, 8, {text})", shape, named=(("src_mask", later),))
        yield layer(f"TransformerDecoderLayer(6, 2, 8, {text})", shape, shape, named=(("tgt_mask", later),))
    yield layer(
        "TransformerEncoder(nn.TransformerEncoderLayer(6, 2, 8), 2, nn.LayerNorm(6), "
        "enable_nested_tensor=False)",
        (4, 2, 6),
        named=(("src_key_padding_mask", Given((2, 4), "bool")),),
    )
    yield layer("TransformerDecoder(nn.TransformerDecoderLayer(6, 2, 8), 2)", (4, 2, 6), (5, 2, 6))
    yield layer("Transformer(6, 2, 1, 2, 8)", (5, 2, 6), (4, 2, 6), named=(("tgt_mask", later),))


RESIZINGS = (
    "size={0}",
    "scale_factor=2",
    "scale_factor=1.5",
    "scale_factor=1.5, recompute_scale_factor=True",
)


def shapes() -> Iterator[Case]:
    for rank, mode in (
        (1, "nearest"),
        (1, "linear"),
        (2, "nearest"),
        (2, "nearest-exact"),
        (2, "bilinear"),
        (2, "bicubic"),
        (3, "nearest"),
        (3, "trilinear"),
    ):
        for text in RESIZINGS[: 4 if rank == 2 else 2]:
            yield layer(
                f"Upsample({text.format((7, 5, 4)[:rank])}, mode='{mode}')", (2, 2, *(4, 5, 3)[:rank])
            )
        if "linear" in mode or mode == "bicubic":
            yield layer(
                f"Upsample(scale_factor=2, mode='{mode}', align_corners=True)", (2, 2, *(4, 5, 3)[:rank])
            )
    yield layer("UpsamplingNearest2d(scale_factor=3)", (1, 2, 2, 3))
    yield layer("UpsamplingBilinear2d(size=(5, 7))", (1, 2, 2, 3))
    yield layer("PixelShuffle(2)", (2, 8, 2, 3))
    yield layer("PixelUnshuffle(2)", (2, 2, 4, 6))
    yield layer("ChannelShuffle(2)", (2, 6, 2, 3), gradient=False)
    yield layer("CosineSimilarity(1, 1e-3)", (3, 4, 2), (3, 4, 2))
    for text in ("", "3.0, keepdim=True", "float('inf')"):
        yield layer(f"PairwiseDistance({text})", (3, 4), (3, 4))
    for rank, lengths in LENGTHS.items():
        sides = tuple(range(1, 2 * rank + 1))
        for name, padding in (
            ("ZeroPad", 2),
            ("ConstantPad", f"{sides}, 0.5"),
            ("ReflectionPad", (1, 2, 1, 0, 2, 3)[: 2 * rank]),
            ("ReplicationPad", sides),
            ("CircularPad", (1, 2, 3, 0, 2, 1)[: 2 * rank]),
        ):
            yield layer(f"{name}{rank}d({padding})", (2, 3, *lengths))
    yield layer("ConstantPad2d((-1, 2, 1, -2), 3.0)", (2, 3, 5, 6))
    yield layer("ZeroPad2d((0, 1, -1, 1))", (3, 5, 6))


def losses() -> Iterator[Case]:
    two = x(4, 3), x(4, 3)
    for reduction in ("mean", "sum", "none"):
        for text in ("L1Loss", "MSELoss", "SmoothL1Loss", "HuberLoss"):
            yield layer(f"{text}(reduction='{reduction}')", *two)
        yield layer(f"CrossEntropyLoss(reduction='{reduction}')", (4, 3), index(3, 4))
    yield layer("SmoothL1Loss(beta=0.3)", *two)
    yield layer("SmoothL1Loss(beta=0)", *two)
    yield layer("HuberLoss(delta=0.3)", *two)
    weight = "weight=torch.tensor([0.5, 1.0, 2.0])"
    some = Given((5,), "these", values=(0, -100, 2, 1, -100))
    for more in (
        "",
        f"{weight}",
        f"{weight}, label_smoothing=0.2",
        "ignore_index=1, label_smoothing=0.1",
        f"{weight}, reduction='sum'",
    ):
        yield layer(f"CrossEntropyLoss({more})", (5, 3), index(3, 5) if "ignore_index" in more else some)
        if "smoothing" not in more:
            yield layer(f"NLLLoss({more})", Given((5, 3), "log"), some)
    yield layer(f"CrossEntropyLoss({weight}, label_smoothing=0.2)", (2, 3, 4), Given((2, 3, 4), "share"))
    yield layer(f"CrossEntropyLoss({weight})", (2, 3, 4, 2), index(3, 2, 4, 2))
    yield layer("CrossEntropyLoss()", (3,), index(3))
    yield layer("NLLLoss(reduction='none')", Given((2, 3, 4), "log"), index(3, 2, 4))
    yield layer("BCELoss()", Given((4, 3), "share"), Given((4, 3), "share"))
    yield layer(f"BCELoss({weight})", Given((4, 3), "share"), Given((4, 3), "share"))
    counts = "pos_weight=torch.tensor([3.0, 1.0, 0.5])"
    yield layer(f"BCEWithLogitsLoss({weight}, {counts}, reduction='sum')", (4, 3), Given((4, 3), "share"))
    yield layer("BCEWithLogitsLoss()", (4, 3), Given((4, 3), "share"))
    for reduction in ("mean", "sum", "batchmean"):
        yield layer(f"KLDivLoss(reduction='{reduction}')", Given((4, 3), "log"), Given((4, 3), "share"))
    yield layer("KLDivLoss(reduction='none', log_target=True)", Given((4, 3), "log"), Given((4, 3), "log"))
    for text in ("", "log_input=False", "full=True", "log_input=False, full=True, eps=1e-2, reduction='sum'"):
        yield layer(f"PoissonNLLLoss({text})", Given((4, 3), "positive"), Given((4, 3), "positive"))
    yield layer("GaussianNLLLoss()", (4, 3), (4, 3), Given((4, 3), "positive"))
    yield layer("GaussianNLLLoss(full=True, reduction='sum')", (4, 3), (4, 3), Given((4, 1), "positive"))
    yield layer("GaussianNLLLoss(reduction='none')", (4, 3), (4, 3), Given((4,), "positive"))
    sign = Given((4,), "sign")
    yield layer("MarginRankingLoss(0.3)", (4,), (4,), sign)
    yield layer("HingeEmbeddingLoss(0.7)", (4,), sign)
    yield layer("SoftMarginLoss()", (4, 3), Given((4, 3), "sign"))
    yield layer("CosineEmbeddingLoss(0.2)", (4, 3), (4, 3), sign)
    yield layer("MultiMarginLoss(2, 0.8, torch.tensor([0.5, 1.0, 2.0]))", (4, 3), index(3, 4))
    yield layer("MultiMarginLoss()", (4, 3), index(3, 4))
    yield layer("AdaptiveLogSoftmaxWithLoss(8, 9, [3, 5], div_value=2.0)", (4, 8), index(9, 4))
    yield layer("AdaptiveLogSoftmaxWithLoss(8, 6, [2], head_bias=True)", (4, 8), index(6, 4))
    yield layer(
        "MultiLabelMarginLoss()", (2, 4), Given((2, 4), "these", values=((3, 0, -1, 1), (1, -1, -1, 2)))
    )
    yield layer("MultiLabelSoftMarginLoss()", (4, 3), Given((4, 3), "share"))
    for text in ("", "margin=0.5, p=3.0, swap=True, reduction='sum'"):
        yield layer(f"TripletMarginLoss({text})", (4, 3), (4, 3), (4, 3))
    yield layer("TripletMarginWithDistanceLoss(swap=True)", (4, 3), (4, 3), (4, 3))
    lengths = Given((2,), "these", values=(5, 4)), Given((2,), "these", values=(2, 1))
    line = Given((3,), "these", values=(1, 2, 3)), *lengths
    yield layer("CTCLoss(zero_infinity=True)", Given((5, 2, 4), "log"), *line, gradient=False)
    yield layer(
        "CTCLoss(reduction='none')",
        Given((5, 4), "log"),
        Given((2,), "these", values=(1, 1)),
        Given((1,), "these", values=(5,)),
        Given((1,), "these", values=(2,)),
        gradient=False,
    )
    for reduction in ("mean", "sum", "none"):
        yield layer(
            f"CTCLoss(reduction='{reduction}')",
            x(5, 2, 4),
            Given((2, 3), "these", values=((1, 2, 1), (3, 1, 2))),
            *lengths,
            gradient=False,
        )


def of_first_input(case: Case) -> Case:
    """Targets of losses are not differentiated in."""
    pairs = ("MarginRanking", "CosineEmbedding", "Triplet")
    return replace(case, smooth=99 if case.text.startswith(pairs) else 1)


CASES = (
    *elementwise(),
    *linear(),
    *convolutions(),
    *pooling(),
    *normalizations(),
    *tables(),
    *recurrent(),
    *attention(),
    *shapes(),
    *map(of_first_input, losses()),
)
