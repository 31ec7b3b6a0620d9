"""The networks as functions of JAX."""

from __future__ import annotations

from typing import Any

import jax
import jax.numpy as jnp

from bench.train.nets import Net, noise, parameters_of

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
        case "conv1d":
            return _convolved(x, w[0], w[1], pad=arguments[3], dilation=arguments[3])
        case "conv3d":
            return _convolved(x, w[0], w[1])
        case "patches":
            y = _convolved(x, w[0], w[1], stride=arguments[2])
            return jnp.swapaxes(y.reshape(*y.shape[:2], -1), 1, 2)
        case "up":
            y = _transposed(x, w[0], *arguments[3:])
            return jnp.maximum(_normed(y, w[1], w[2]), 0)
        case "up_tanh":
            return jnp.tanh(_transposed(x, w[0], *arguments[3:]) + w[1][:, None, None])
        case "unet":
            return _unet(x, list(w))
        case "bigru":
            return jnp.concatenate([_gru(x, *w[:4]), _gru(x[:, ::-1], *w[4:])[:, ::-1]], -1)
        case "vae":
            return _vae(x, w)
        case "pixels":
            return jnp.moveaxis(x, 1, -1).reshape(-1, x.shape[1])
        case "time_mean":
            return x.mean(-1)
        case "token_mean":
            return x.mean(1)
        case "pool3d":
            window = (1, 1, *[arguments[0]] * 3)
            return jax.lax.reduce_window(x, -jnp.inf, jax.lax.max, window, window, "VALID")
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


def _convolved(x: Any, weight: Any, bias: Any, pad: Any = 0, stride: Any = 1, dilation: Any = 1) -> Any:
    """A convolution of any rank, channels first."""
    rank = x.ndim - 2
    y = jax.lax.conv_general_dilated(
        x, weight, (stride,) * rank, [(pad, pad)] * rank, rhs_dilation=(dilation,) * rank
    )
    return y + bias.reshape(-1, *[1] * rank)


def _transposed(x: Any, weight: Any, stride: Any, pad: Any) -> Any:
    """The transposed convolution of images: that of images with zeros between, by turned windows."""
    edge = weight.shape[-1] - 1 - pad
    turned = jnp.flip(weight, (2, 3)).swapaxes(0, 1)
    return jax.lax.conv_general_dilated(
        x, turned, (1, 1), [(edge, edge)] * 2, lhs_dilation=(stride, stride), dimension_numbers=IMAGES
    )


def _unet(x: Any, w: list) -> Any:
    def pair(x: Any) -> Any:
        for _ in range(2):
            weight, bias = w.pop(0), w.pop(0)
            x = jnp.maximum(_convolved(x, weight, bias, pad=1), 0)
        return x

    def up(x: Any, over: Any) -> Any:
        weight, bias = w.pop(0), w.pop(0)
        return pair(jnp.concatenate([over, _transposed(x, weight, 2, 0) + bias[:, None, None]], 1))

    window = (1, 1, 2, 2)
    pooled = lambda x: jax.lax.reduce_window(x, -jnp.inf, jax.lax.max, window, window, "VALID")  # noqa: E731
    one = pair(x)
    two = pair(pooled(one))
    return _convolved(up(up(pair(pooled(two)), two), one), *w)


def _gru(x: Any, of_input: Any, of_hidden: Any, bias: Any, bias_hidden: Any) -> Any:
    given = jnp.swapaxes(x @ of_input.T + bias, 0, 1)

    def step(h: Any, now: Any) -> Any:
        r, z, n = jnp.split(now, 3, -1)
        hr, hz, hn = jnp.split(h @ of_hidden.T + bias_hidden, 3, -1)
        r, z = jax.nn.sigmoid(r + hr), jax.nn.sigmoid(z + hz)
        h = (1 - z) * jnp.tanh(n + r * hn) + z * h
        return h, h

    zero = jnp.zeros((x.shape[0], of_hidden.shape[1]), x.dtype)
    return jnp.swapaxes(jax.lax.scan(step, zero, given)[1], 0, 1)


def _vae(x: Any, w: Any) -> Any:
    inward, mean, log, outward, last = (lambda x, k=k: x @ w[2 * k].T + w[2 * k + 1] for k in range(5))
    h = jnp.maximum(inward(x), 0)
    code = mean(h) + jnp.exp(log(h) * 0.5) * noise(x.shape[0], w[2].shape[0])
    return last(jnp.maximum(outward(code), 0))


def _convolution(x: Any, weight: Any, scale: Any, shift: Any, stride: Any) -> Any:
    pad = weight.shape[-1] // 2
    y = jax.lax.conv_general_dilated(x, weight, (stride, stride), [(pad, pad)] * 2, dimension_numbers=IMAGES)
    return _normed(y, scale, shift)


def _normed(y: Any, scale: Any, shift: Any) -> Any:
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
