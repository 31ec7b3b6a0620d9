"""Encoders, each place of which sees all others: BERT and ViT."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np

from texpr import ops
from texpr.nn.core.layer_operations import broadcast, parameter
from texpr.nn.core.module import Module
from texpr.nn.core.parameter import Parameter
from texpr.nn.modules.containers import ModuleList
from texpr.nn.modules.convolution import Conv2d
from texpr.nn.modules.embedding import Embedding
from texpr.nn.modules.linear import Linear
from texpr.nn.modules.normalization import LayerNorm
from texpr.nn.pretrained.token_checks import text_length


class _Heads(Module):
    """Queries, keys and values of all heads, and what each place takes from the others."""

    def __init__(self, sizes: Mapping[str, Any]) -> None:
        super().__init__()
        width, bias = sizes["hidden_size"], bool(sizes.get("qkv_bias", True))
        self.heads = sizes["num_attention_heads"]
        self.query, self.key, self.value = (Linear(width, width, bias) for _ in range(3))

    def forward(self, x: Any, padding: Any = None) -> Any:
        q, k, v = (ops.split_heads(layer(x), H=self.heads) for layer in (self.query, self.key, self.value))
        found = ops.attention(q, k, v) if padding is None else ops.attention_masks(q, k, v, padding=padding)
        return ops.merge_heads(found)


class _Dense(Module):
    """Linear layer under the name `dense`, and a normalisation of its sum with what was before."""

    def __init__(self, inputs: int, outputs: int, eps: float | None = None) -> None:
        super().__init__()
        self.dense = Linear(inputs, outputs)
        if eps is not None:
            self.LayerNorm = LayerNorm(outputs, eps=eps)

    def forward(self, x: Any, before: Any = None) -> Any:
        y = self.dense(x)
        return y if before is None else self.LayerNorm(y + before)


class _BertAttention(Module):
    def __init__(self, sizes: Mapping[str, Any], eps: float) -> None:
        super().__init__()
        self.self = _Heads(sizes)  # as transformers names it
        self.output = _Dense(sizes["hidden_size"], sizes["hidden_size"], eps)

    def forward(self, x: Any, padding: Any) -> Any:
        return self.output(getattr(self, "self")(x, padding), x)  # noqa: B009


class _BertLayer(Module):
    def __init__(self, sizes: Mapping[str, Any], eps: float) -> None:
        super().__init__()
        width, inner = sizes["hidden_size"], sizes["intermediate_size"]
        self.attention = _BertAttention(sizes, eps)
        self.intermediate, self.output = _Dense(width, inner), _Dense(inner, width, eps)

    def forward(self, x: Any, padding: Any) -> Any:
        x = self.attention(x, padding)
        return self.output(ops.gelu(self.intermediate(x)), x)


class _BertEmbeddings(Module):
    def __init__(self, sizes: Mapping[str, Any], eps: float) -> None:
        super().__init__()
        width = sizes["hidden_size"]
        self.word_embeddings = Embedding(sizes["vocab_size"], width)
        self.position_embeddings = Embedding(sizes["max_position_embeddings"], width)
        self.token_type_embeddings = Embedding(sizes.get("type_vocab_size", 2), width)
        self.LayerNorm = LayerNorm(width, eps=eps)

    def forward(self, tokens: Any, kinds: Any) -> Any:
        length = text_length(tokens, self.position_embeddings.num_embeddings)
        kinds = np.zeros((1, length), np.int64) if kinds is None else kinds
        x = self.word_embeddings(tokens) + self.token_type_embeddings(kinds)
        return self.LayerNorm(x + self.position_embeddings(np.arange(length)))


class _Layers(Module):
    def __init__(self, layers: list[Module]) -> None:
        super().__init__()
        self.layer = ModuleList(layers)

    def forward(self, x: Any, *more: Any) -> Any:
        for layer in self.layer:
            x = layer(x, *more)
        return x


class Bert(Module):
    """BERT: features of each token, and of the whole text. Devlin et al., BERT, 2019."""

    def __init__(self, sizes: Mapping[str, Any], pooled: bool = True) -> None:
        super().__init__()
        eps = sizes.get("layer_norm_eps", 1e-12)
        self.embeddings = _BertEmbeddings(sizes, eps)
        self.encoder = _Layers([_BertLayer(sizes, eps) for _ in range(sizes["num_hidden_layers"])])
        self.pooler = _Dense(sizes["hidden_size"], sizes["hidden_size"]) if pooled else None

    def forward(self, tokens: Any, attention_mask: Any = None, token_type_ids: Any = None) -> Any:
        x = self.embeddings(tokens, token_type_ids)
        padding = None
        if attention_mask is not None:  # 1 for tokens that count, 0 for what fills up a text
            hidden = (attention_mask == 0).astype(x.dtype)
            padding = hidden * float(-1e30 if x.dtype.bits >= 32 else -6e4)
        x = self.encoder(x, padding)
        return x if self.pooler is None else (x, ops.tanh(self.pooler(ops.pick(x, axis=1))))


class _WithBert(Module):
    """A head on BERT's features."""

    def __init__(self, sizes: Mapping[str, Any], pooled: bool = False) -> None:
        super().__init__()
        self.bert = Bert(sizes, pooled)


class _Transform(Module):
    """The layers before the logits of a word."""

    def __init__(self, sizes: Mapping[str, Any]) -> None:
        super().__init__()
        width = sizes["hidden_size"]
        self.dense, self.LayerNorm = (
            Linear(width, width),
            LayerNorm(width, eps=sizes.get("layer_norm_eps", 1e-12)),
        )

    def forward(self, x: Any) -> Any:
        return self.LayerNorm(ops.gelu(self.dense(x)))


class _Predictions(Module):
    def __init__(self, sizes: Mapping[str, Any], words: Parameter) -> None:
        super().__init__()
        self.transform = _Transform(sizes)
        self.decoder = Linear(sizes["hidden_size"], sizes["vocab_size"])
        if sizes.get("tie_word_embeddings", True):
            self.decoder.weight = words
        self.bias = self.decoder.bias

    def forward(self, x: Any) -> Any:
        return self.decoder(self.transform(x))


class _MaskedHead(Module):
    def __init__(self, sizes: Mapping[str, Any], words: Parameter) -> None:
        super().__init__()
        self.predictions = _Predictions(sizes, words)

    def forward(self, x: Any) -> Any:
        return self.predictions(x)


class BertMasked(_WithBert):
    """BERT that says for each place of a text the logits of the words that may stand there."""

    def __init__(self, sizes: Mapping[str, Any]) -> None:
        super().__init__(sizes)
        self.cls = _MaskedHead(sizes, self.bert.embeddings.word_embeddings.weight)

    def forward(self, tokens: Any, attention_mask: Any = None, token_type_ids: Any = None) -> Any:
        return self.cls(self.bert(tokens, attention_mask, token_type_ids))


class BertTexts(_WithBert):
    """BERT that says the logits of a text's class."""

    def __init__(self, sizes: Mapping[str, Any]) -> None:
        super().__init__(sizes, pooled=True)
        self.classifier = Linear(sizes["hidden_size"], _classes(sizes))

    def forward(self, tokens: Any, attention_mask: Any = None, token_type_ids: Any = None) -> Any:
        return self.classifier(self.bert(tokens, attention_mask, token_type_ids)[1])


class BertTokens(_WithBert):
    """BERT that says for each token the logits of its class."""

    def __init__(self, sizes: Mapping[str, Any]) -> None:
        super().__init__(sizes)
        self.classifier = Linear(sizes["hidden_size"], _classes(sizes))

    def forward(self, tokens: Any, attention_mask: Any = None, token_type_ids: Any = None) -> Any:
        return self.classifier(self.bert(tokens, attention_mask, token_type_ids))


class BertAnswers(_WithBert):
    """BERT that says for each token the logits of an answer's beginning, and those of its end."""

    def __init__(self, sizes: Mapping[str, Any]) -> None:
        super().__init__(sizes)
        self.qa_outputs = Linear(sizes["hidden_size"], 2)

    def forward(self, tokens: Any, attention_mask: Any = None, token_type_ids: Any = None) -> Any:
        found = self.qa_outputs(self.bert(tokens, attention_mask, token_type_ids))
        return found[:, :, 0], found[:, :, 1]


def _classes(sizes: Mapping[str, Any]) -> int:
    return len(sizes["id2label"]) if sizes.get("id2label") else sizes.get("num_labels", 2)


class _ViTAttention(Module):
    def __init__(self, sizes: Mapping[str, Any]) -> None:
        super().__init__()
        self.attention = _Heads(sizes)
        self.output = _Dense(sizes["hidden_size"], sizes["hidden_size"])

    def forward(self, x: Any) -> Any:
        return self.output(self.attention(x))


class _ViTLayer(Module):
    def __init__(self, sizes: Mapping[str, Any], eps: float) -> None:
        super().__init__()
        width, inner = sizes["hidden_size"], sizes["intermediate_size"]
        self.attention = _ViTAttention(sizes)
        self.intermediate, self.output = _Dense(width, inner), _Dense(inner, width)
        self.layernorm_before, self.layernorm_after = LayerNorm(width, eps=eps), LayerNorm(width, eps=eps)

    def forward(self, x: Any) -> Any:
        x = x + self.attention(self.layernorm_before(x))
        return x + self.output(ops.gelu(self.intermediate(self.layernorm_after(x))))


class _Patches(Module):
    def __init__(self, sizes: Mapping[str, Any]) -> None:
        super().__init__()
        side = sizes["patch_size"]
        self.projection = Conv2d(sizes.get("num_channels", 3), sizes["hidden_size"], side, side)

    def forward(self, x: Any) -> Any:
        y = self.projection(x)
        return y.reshape(*y.shape[:2], -1).swapaxes(1, 2)


class _ViTEmbeddings(Module):
    def __init__(self, sizes: Mapping[str, Any]) -> None:
        super().__init__()
        width, count = sizes["hidden_size"], (sizes["image_size"] // sizes["patch_size"]) ** 2
        self.cls_token = parameter(self, "cls_token", (1, 1, width), "f32")
        self.position_embeddings = parameter(self, "position_embeddings", (1, count + 1, width), "f32")
        self.patch_embeddings = _Patches(sizes)

    def forward(self, x: Any) -> Any:
        patches = self.patch_embeddings(x)
        first = broadcast(patches.capture.variable(self.cls_token), (x.shape[0], 1, patches.shape[2]))
        return np.concatenate([first, patches], axis=1) + self.position_embeddings


class _ViTBody(Module):
    def __init__(self, sizes: Mapping[str, Any]) -> None:
        super().__init__()
        eps = sizes.get("layer_norm_eps", 1e-12)
        self.embeddings = _ViTEmbeddings(sizes)
        self.encoder = _Layers([_ViTLayer(sizes, eps) for _ in range(sizes["num_hidden_layers"])])
        self.layernorm = LayerNorm(sizes["hidden_size"], eps=eps)

    def forward(self, x: Any) -> Any:
        return self.layernorm(self.encoder(self.embeddings(x)))


class ViT(Module):
    """Vision transformer: logits of an image's class. Dosovitskiy et al., An Image is Worth 16x16
    Words, 2021.
    """

    def __init__(self, sizes: Mapping[str, Any]) -> None:
        super().__init__()
        self.vit = _ViTBody(sizes)
        self.classifier = Linear(sizes["hidden_size"], _classes(sizes))

    def forward(self, pixels: Any) -> Any:
        return self.classifier(ops.pick(self.vit(pixels), axis=1))
