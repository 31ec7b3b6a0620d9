"""Language models that see what is before each token: GPT-2 and Llama."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np

from texpr import ops
from texpr.nn.core.layer_operations import parameter
from texpr.nn.core.module import Module
from texpr.nn.modules.containers import ModuleList
from texpr.nn.modules.embedding import Embedding
from texpr.nn.modules.linear import Linear
from texpr.nn.modules.normalization import LayerNorm, RMSNorm
from texpr.nn.pretrained import rotations
from texpr.nn.pretrained.rotations import angles
from texpr.nn.pretrained.token_checks import text_length
from texpr.nn.pretrained.writing import Writer, attended, split_place, through


class _Projection(Module):
    """Linear layer whose weight is stored as (inputs, outputs)."""

    def __init__(self, inputs: int, outputs: int) -> None:
        super().__init__()
        self.weight = parameter(self, "weight", (inputs, outputs), "f32")
        self.bias = parameter(self, "bias", (outputs,), "f32")

    def forward(self, x: Any) -> Any:
        return x @ self.weight + self.bias


class _Gpt2Attention(Module):
    def __init__(self, width: int, heads: int) -> None:
        super().__init__()
        self.heads = heads
        self.c_attn, self.c_proj = _Projection(width, 3 * width), _Projection(width, width)

    def forward(self, x: Any, place: Any = None, held: Any = None) -> Any:
        q, k, v = ops.split_packed_heads(self.c_attn(x), H=self.heads)
        found, held = attended(q, k, v, place, held)
        return self.c_proj(ops.merge_heads(found)), held


class _Gpt2Mlp(Module):
    def __init__(self, width: int, inner: int) -> None:
        super().__init__()
        self.c_fc, self.c_proj = _Projection(width, inner), _Projection(inner, width)

    def forward(self, x: Any) -> Any:
        return self.c_proj(ops.gelu_tanh(self.c_fc(x)))


class _Gpt2Block(Module):
    def __init__(self, width: int, heads: int, inner: int, eps: float) -> None:
        super().__init__()
        self.ln_1, self.attn = LayerNorm(width, eps=eps), _Gpt2Attention(width, heads)
        self.ln_2, self.mlp = LayerNorm(width, eps=eps), _Gpt2Mlp(width, inner)

    def forward(self, x: Any, place: Any = None, held: Any = None) -> Any:
        found, held = self.attn(self.ln_1(x), place, held)
        x = x + found
        return x + self.mlp(self.ln_2(x)), held


class _Gpt2Body(Module):
    def __init__(self, sizes: Mapping[str, Any]) -> None:
        super().__init__()
        width, eps = sizes["n_embd"], sizes.get("layer_norm_epsilon", 1e-5)
        inner = sizes.get("n_inner") or 4 * width
        self.wte, self.wpe = Embedding(sizes["vocab_size"], width), Embedding(sizes["n_positions"], width)
        blocks = [_Gpt2Block(width, sizes["n_head"], inner, eps) for _ in range(sizes["n_layer"])]
        self.h, self.ln_f = ModuleList(blocks), LayerNorm(width, eps=eps)

    def forward(self, tokens: Any, place: Any = None, held: Any = None) -> Any:
        places = tokens.capture.constant(np.arange(text_length(tokens, self.wpe.num_embeddings)))
        x = self.wte(tokens) + self.wpe(self._positions(places, place))
        x, held = through(self.h, x, place, held)
        return self.ln_f(x), held

    @staticmethod
    def _positions(places: Any, place: Any) -> Any:
        """Positions of the tokens, counted from where each text begins."""
        if place is None:
            return places
        first, starts = split_place(place)
        found = places + first
        return found if starts is None else (found - starts.reshape(-1, 1)).clamp(min=0)


class Gpt2(Writer):
    """GPT-2: logits of the next token at each place. Radford et al., Language Models are Unsupervised
    Multitask Learners, 2019.
    """

    def __init__(self, sizes: Mapping[str, Any]) -> None:
        super().__init__()
        self.transformer = _Gpt2Body(sizes)
        self.lm_head = Linear(sizes["n_embd"], sizes["vocab_size"], bias=False)
        if sizes.get("tie_word_embeddings", True):
            self.lm_head.weight = self.transformer.wte.weight
        self.layers, self.shared, self.longest = sizes["n_layer"], sizes["n_head"], sizes["n_positions"]
        self.size = sizes["n_embd"] // self.shared

    def forward(self, tokens: Any, place: Any = None, last: Any = None, held: Any = None) -> Any:
        return self.logits(self.lm_head, self.transformer(tokens, place, held), last)


class _LlamaAttention(Module):
    def __init__(self, sizes: Mapping[str, Any]) -> None:
        super().__init__()
        width, self.heads, self.sizes = sizes["hidden_size"], sizes["num_attention_heads"], sizes
        self.shared = sizes.get("num_key_value_heads") or self.heads
        self.size = sizes.get("head_dim") or width // self.heads
        bias = bool(sizes.get("attention_bias", False))
        self.q_proj = Linear(width, self.heads * self.size, bias)
        self.k_proj = Linear(width, self.shared * self.size, bias)
        self.v_proj = Linear(width, self.shared * self.size, bias)
        self.o_proj = Linear(self.heads * self.size, width, bias)

    def forward(self, x: Any, place: Any = None, held: Any = None) -> Any:
        q, k = ops.split_heads(self.q_proj(x), H=self.heads), ops.split_heads(self.k_proj(x), H=self.shared)
        v = ops.split_heads(self.v_proj(x), H=self.shared)
        cosine, sine = self._turns(x, place, x.shape[1] if held is None else held[0].shape[2])
        q, k = ops.rotary(q, cosine, sine), ops.rotary(k, cosine, sine)
        found, held = attended(q, k, v, place, held)
        return self.o_proj(ops.merge_heads(found)), held

    def _turns(self, x: Any, place: Any, longest: int) -> tuple[Any, Any]:
        """Cosines and sines for the places of x, out of those of a text. Scores depend on how far
        places are apart, so it does not matter where a text begins.
        """
        turned, scale = angles(self.sizes, self.size, longest)
        tables = ((scale * f(turned)).astype(np.float32) for f in (np.cos, np.sin))
        cosine, sine = (x.capture.constant(table).astype(x.dtype) for table in tables)
        if place is None:
            return cosine, sine
        places = x.capture.constant(np.arange(x.shape[1])) + split_place(place)[0]
        return ops.take(cosine, places, axis=0), ops.take(sine, places, axis=0)


class _LlamaMlp(Module):
    def __init__(self, width: int, inner: int, bias: bool) -> None:
        super().__init__()
        self.gate_proj, self.up_proj = Linear(width, inner, bias), Linear(width, inner, bias)
        self.down_proj = Linear(inner, width, bias)

    def forward(self, x: Any) -> Any:
        return self.down_proj(ops.silu(self.gate_proj(x)) * self.up_proj(x))


class _LlamaLayer(Module):
    def __init__(self, sizes: Mapping[str, Any]) -> None:
        super().__init__()
        width, eps = sizes["hidden_size"], sizes.get("rms_norm_eps", 1e-6)
        self.self_attn = _LlamaAttention(sizes)
        self.mlp = _LlamaMlp(width, sizes["intermediate_size"], bool(sizes.get("mlp_bias", False)))
        self.input_layernorm = RMSNorm(width, eps=eps)
        self.post_attention_layernorm = RMSNorm(width, eps=eps)

    def forward(self, x: Any, place: Any = None, held: Any = None) -> Any:
        found, held = self.self_attn(self.input_layernorm(x), place, held)
        x = x + found
        return x + self.mlp(self.post_attention_layernorm(x)), held


class _LlamaBody(Module):
    def __init__(self, sizes: Mapping[str, Any]) -> None:
        super().__init__()
        self.embed_tokens = Embedding(sizes["vocab_size"], sizes["hidden_size"])
        self.layers = ModuleList([_LlamaLayer(sizes) for _ in range(sizes["num_hidden_layers"])])
        self.norm = RMSNorm(sizes["hidden_size"], eps=sizes.get("rms_norm_eps", 1e-6))

    def forward(self, tokens: Any, place: Any = None, held: Any = None) -> Any:
        text_length(tokens)
        x, held = through(self.layers, self.embed_tokens(tokens), place, held)
        return self.norm(x), held


class Llama(Writer):
    """Llama: logits of the next token at each place. Touvron et al., LLaMA, 2023; positions by
    rotation, Su et al., RoFormer, 2021.
    """

    def __init__(self, sizes: Mapping[str, Any]) -> None:
        super().__init__()
        self.model = _LlamaBody(sizes)
        self.lm_head = Linear(sizes["hidden_size"], sizes["vocab_size"], bias=False)
        if sizes.get("tie_word_embeddings", False):
            self.lm_head.weight = self.model.embed_tokens.weight
        attention = self.model.layers[0].self_attn
        self.layers, self.shared, self.size = sizes["num_hidden_layers"], attention.shared, attention.size
        if rotations.settings(sizes)["rope_type"] == "dynamic":  # longer texts turn all their places anew
            self.longest = sizes["max_position_embeddings"]

    def forward(self, tokens: Any, place: Any = None, last: Any = None, held: Any = None) -> Any:
        return self.logits(self.lm_head, self.model(tokens, place, held), last)
