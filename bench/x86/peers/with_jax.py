"""JAX: jitted functions of arrays that are on the device already."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from bench.x86.candidate import Candidate, Columns, Make, channels_first, channels_last, weights_last
from bench.x86.rows import Arrays, Row

jax: Any = None


def columns(threads: int) -> Columns:
    """One column; images have channels last, which it prefers."""
    global jax
    import jax as library

    jax = library
    jax.config.update("jax_enable_x64", True)
    plain = {kind: _jitted(f) for kind, f in _functions().items()}
    return {"jax": plain | {"rms_norm_gradient": _gradient, "conv": conv, "depthwise": conv}}


def version() -> str:
    """Of the library."""
    return jax.__version__


def _arrays(row: Row, arrays: Arrays) -> list[Any]:
    given = [a.view(jax.numpy.bfloat16) if row.dtype == "bf16" else a for a in arrays.values()]
    return [jax.numpy.asarray(a) for a in given]


def _jitted(function: Callable[..., Any]) -> Make:
    def make(row: Row, arrays: Arrays) -> Candidate:
        given, compiled = _arrays(row, arrays), jax.jit(function)
        return Candidate(lambda: compiled(*given).block_until_ready(), lambda found: np.asarray(found, "f8"))

    return make


def _gradient(row: Row, arrays: Arrays) -> Candidate:
    """Of both inputs; XLA drops what only the function needs."""
    given, compiled = _arrays(row, arrays), jax.jit(lambda x, g, d: jax.vjp(rms_norm, x, g)[1](d))
    return Candidate(
        lambda: jax.block_until_ready(compiled(*given)), lambda found: np.asarray(found[0], "f8")
    )


def conv(row: Row, arrays: Arrays) -> Candidate:
    """Channels last."""
    images, weights = channels_last(arrays["X"]), weights_last(arrays["F"])
    groups = images.shape[-1] if row.kind == "depthwise" else 1
    x, w = jax.numpy.asarray(images), jax.numpy.asarray(weights[:, :, None] if groups > 1 else weights)
    stride, pad = row.constants["S"], row.constants["P"]
    compiled = jax.jit(
        lambda x, w: jax.lax.conv_general_dilated(
            x,
            w,
            (stride, stride),
            [(pad, pad)] * 2,
            dimension_numbers=("NHWC", "HWIO", "NHWC"),
            feature_group_count=groups,
        )
    )
    return Candidate(lambda: compiled(x, w).block_until_ready(), channels_first)


def layernorm(x: Any, g: Any, b: Any) -> Any:
    """From its definition."""
    return (x - x.mean(1, keepdims=True)) * jax.lax.rsqrt(x.var(1, keepdims=True) + 1e-5) * g + b


def rms_norm(x: Any, g: Any) -> Any:
    """From its definition."""
    return x * jax.lax.rsqrt((x * x).mean(1, keepdims=True) + 1e-5) * g


def blur(x: Any) -> Any:
    """Two passes over shifted views."""
    across = (x[:, :-2] + x[:, 1:-1] + x[:, 2:]) * (1 / 3)
    return (across[:-2] + across[1:-1] + across[2:]) * (1 / 3)


def attention_causal(q: Any, k: Any, v: Any) -> Any:
    """Scores that are not seen are -inf."""
    length = q.shape[1]
    seen = jax.numpy.tri(length, dtype=bool)
    scores = jax.numpy.where(seen, q @ k.transpose(0, 2, 1) * q.shape[-1] ** -0.5, -jax.numpy.inf)
    return jax.nn.softmax(scores, -1) @ v


def _functions() -> dict[str, Callable[..., Any]]:
    np_ = jax.numpy
    return {
        "gemm": np_.matmul,
        "gemm_batched": np_.matmul,
        "gemm_bf16": np_.matmul,
        "gemm_int8": lambda a, b: jax.lax.dot(a, b, preferred_element_type=np_.int32),
        "softmax": lambda x: jax.nn.softmax(x, 1),
        "layernorm": layernorm,
        "rms_norm": rms_norm,
        "gelu": lambda x, b: jax.nn.gelu(x + b, approximate=False),
        "gelu_tanh": lambda x, b: jax.nn.gelu(x + b, approximate=True),
        "bias_relu": lambda x, b: jax.nn.relu(x + b),
        "transpose": lambda x: x.T + 0,
        "total": lambda x: x.sum(),
        "row_sums": lambda x: x.sum(1),
        "column_sums": lambda x: x.sum(0),
        "blur": blur,
        "attention": lambda q, k, v: jax.nn.softmax(q @ k.transpose(0, 2, 1) * q.shape[-1] ** -0.5, -1) @ v,
        "attention_causal": attention_causal,
        "add": lambda a, b: a + b,
    }
