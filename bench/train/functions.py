"""The networks as functions of JAX."""

from __future__ import annotations

from typing import Any

import jax
import jax.numpy as jnp

from bench.train.nets import Net, parameters_of

IMAGES = ("NCHW", "OIHW", "NCHW")


def output(net: Net, weights: list, x: Any) -> Any:
    """What a network gives; `weights` in the order of `Net.weights`."""
    left = iter(weights)
    for layer in net.layers:
        x = _applied(layer, next(left) if parameters_of(layer) else (), x)
    return x


def _applied(layer: tuple[object, ...], w: Any, x: Any) -> Any:
    kind, *arguments = layer
    match kind:
        case "linear":
            return x @ w[0].T + w[1]
        case "conv":
            return jax.lax.conv_general_dilated(x, w[0], (1, 1), "VALID") + w[1][:, None, None]
        case "conv_norm_relu":
            return jnp.maximum(_convolution(x, w[0], w[1], w[2], 1), 0)
        case "block":
            return _block(x, w, arguments[-1])
        case "relu":
            return jnp.maximum(x, 0)
        case "pool":
            window = (1, 1, arguments[0], arguments[0])
            return jax.lax.reduce_window(x, -jnp.inf, jax.lax.max, window, window, "VALID")
        case "mean":
            return x.mean((2, 3))
        case "flatten":
            return x.reshape(x.shape[0], -1)
        case "tokens":
            return x.reshape(-1, x.shape[-1])
        case "embedding":
            return w[0][x]
        case "lstm":
            return _lstm(x, *w)
        case "encoder":
            return _encoder(x, w, arguments[1])
    raise AssertionError(f"no such layer: {layer}")


def _convolution(x: Any, weight: Any, scale: Any, shift: Any, stride: Any) -> Any:
    pad = weight.shape[-1] // 2
    y = jax.lax.conv_general_dilated(x, weight, (stride, stride), [(pad, pad)] * 2, dimension_numbers=IMAGES)
    mean, variance = y.mean((0, 2, 3), keepdims=True), y.var((0, 2, 3), keepdims=True)
    return (y - mean) * jax.lax.rsqrt(variance + 1e-5) * scale[:, None, None] + shift[:, None, None]


def _block(x: Any, w: Any, stride: Any) -> Any:
    y = _convolution(jnp.maximum(_convolution(x, w[0], w[1], w[2], stride), 0), w[3], w[4], w[5], 1)
    return jnp.maximum(y + (_convolution(x, w[6], w[7], w[8], stride) if len(w) > 6 else x), 0)


def _lstm(x: Any, of_input: Any, of_hidden: Any, bias: Any, bias_hidden: Any) -> Any:
    width = of_hidden.shape[1]
    given = jnp.swapaxes(x @ of_input.T + bias + bias_hidden, 0, 1)

    def step(state: Any, now: Any) -> Any:
        h, c = state
        i, f, g, o = jnp.split(now + h @ of_hidden.T, 4, axis=-1)
        c = jax.nn.sigmoid(f) * c + jax.nn.sigmoid(i) * jnp.tanh(g)
        return (jax.nn.sigmoid(o) * jnp.tanh(c), c), None

    zero = jnp.zeros((x.shape[0], width), x.dtype)
    return jax.lax.scan(step, (zero, zero), given)[0][0]


def _norm(x: Any, scale: Any, shift: Any) -> Any:
    return (x - x.mean(-1, keepdims=True)) * jax.lax.rsqrt(x.var(-1, keepdims=True) + 1e-5) * scale + shift


def _encoder(x: Any, w: Any, heads: Any) -> Any:
    inward, inward_bias, outward, outward_bias, one, one_bias, two, two_bias, *norms = w
    batch, length, width = x.shape
    parts = (_norm(x, *norms[:2]) @ inward.T + inward_bias).reshape(batch, length, 3, heads, width // heads)
    q, k, v = (parts[:, :, each] for each in range(3))
    attention = jax.nn.softmax(jnp.einsum("bqhd,bkhd->bhqk", q, k) * (width // heads) ** -0.5)
    mixed = jnp.einsum("bhqk,bkhd->bqhd", attention, v).reshape(batch, length, width)
    x = x + mixed @ outward.T + outward_bias
    return x + jnp.maximum(_norm(x, *norms[2:]) @ one.T + one_bias, 0) @ two.T + two_bias
