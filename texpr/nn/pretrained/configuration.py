"""Checks of what a `config.json` says, before anything is made of it."""

from __future__ import annotations

import math
from collections.abc import Mapping
from typing import Any

from texpr.nn.pretrained import rotations

_ENCODER = ("hidden_size", "num_hidden_layers", "num_attention_heads", "intermediate_size")
_KINDS: dict[str, tuple[str, ...]] = {
    "GPT2": ("n_embd", "n_layer", "n_head", "vocab_size", "n_positions"),
    "Llama": (*_ENCODER, "vocab_size"),
    "Bert": (*_ENCODER, "vocab_size", "max_position_embeddings"),
    "ViT": (*_ENCODER, "image_size", "patch_size"),
}
"""Sizes that a configuration must have, by the first word of the network's class."""
_OTHERS = ("n_inner", "num_key_value_heads", "head_dim", "type_vocab_size", "num_channels", "num_labels")
_EPSILONS = ("layer_norm_epsilon", "layer_norm_eps", "rms_norm_eps")
_LARGEST = 1 << 31
_FIXED: dict[str, tuple[tuple[str, tuple[Any, ...]], ...]] = {
    "GPT2": (
        ("activation_function", ("gelu_new", "gelu_pytorch_tanh")),
        ("scale_attn_by_inverse_layer_idx", (False,)),
        ("scale_attn_weights", (True,)),
        ("add_cross_attention", (False,)),
    ),
    "Llama": (("hidden_act", ("silu",)),),
    "Bert": (
        ("hidden_act", ("gelu",)),
        ("position_embedding_type", ("absolute", None)),
        ("is_decoder", (False,)),
        ("add_cross_attention", (False,)),
    ),
    "ViT": (("hidden_act", ("gelu",)),),
}
"""Values of a configuration that the networks are for."""


def check(name: str, sizes: Mapping[str, Any], arrays: int) -> None:
    """Refuse what a network does not compute, and sizes that cannot be.

    Args:
        name: the class of the network.
        arrays: how many arrays the folder has; each layer has several.
    Raises:
        ValueError: says what is wrong.
        KeyError: a size is missing.
    """
    kind = next(k for k in _KINDS if name.startswith(k))
    for key, values in _FIXED[kind]:
        if key in sizes and sizes[key] not in values:
            raise ValueError(f"{key} is {sizes[key]!r}, and {name} is read for {values[0]!r}")
    for key in _KINDS[kind]:
        _count(key, sizes[key])
    for key in _OTHERS:
        if sizes.get(key) is not None:
            _count(key, sizes[key])
    for key in _EPSILONS:
        value = sizes.get(key, 1e-5)
        if isinstance(value, bool) or not isinstance(value, int | float) or not 0 <= value < math.inf:
            raise ValueError(f"{key} is {value!r}, expected a number from 0 on")
    labels = sizes.get("id2label")
    if labels is not None and not isinstance(labels, Mapping | list):
        raise ValueError(f"id2label is {labels!r}, expected an object with a name for each label")
    layers = "n_layer" if kind == "GPT2" else "num_hidden_layers"
    if sizes[layers] > arrays:
        raise ValueError(f"{layers} is {sizes[layers]}, and the folder has {arrays} arrays")
    _check_heads(kind, sizes)
    if kind == "Llama":
        rotations.check(sizes)
        if sizes.get("rope_scaling") or sizes.get("rope_parameters"):
            _check_longest(sizes)


def _check_heads(kind: str, sizes: Mapping[str, Any]) -> None:
    width, heads = ("n_embd", "n_head") if kind == "GPT2" else ("hidden_size", "num_attention_heads")
    shared = sizes.get("num_key_value_heads")
    if shared and sizes[heads] % shared:
        raise ValueError(f"{heads} is {sizes[heads]}, no multiple of num_key_value_heads, {shared}")
    size = sizes.get("head_dim") if kind == "Llama" else None
    if size is None and sizes[width] % sizes[heads]:
        raise ValueError(f"{width} is {sizes[width]}, no multiple of {heads}, {sizes[heads]}")
    size = size or sizes[width] // sizes[heads]
    if kind == "Llama" and (size % 2 or size < 4):
        raise ValueError(f"heads of {size} features cannot be rotated in pairs")


def _check_longest(sizes: Mapping[str, Any]) -> None:
    if rotations.settings(sizes)["rope_type"] == "dynamic":
        _count("max_position_embeddings", sizes["max_position_embeddings"])


def _count(key: str, value: Any) -> None:
    if type(value) is not int or not 1 <= value < _LARGEST:
        raise ValueError(f"{key} is {value!r}, expected a number from 1 on")
