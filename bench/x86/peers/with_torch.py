"""PyTorch: eager, eager with channels last, its fused attention, and torch.compile."""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from typing import Any

import numpy as np

from bench.x86.candidate import Candidate, Columns, Make
from bench.x86.rows import Arrays, Row

torch: Any = None
F: Any = None


def columns(threads: int) -> Columns:
    """Eager, channels last, fused attention, compiled."""
    global torch, F
    import torch as library
    import torch.nn.functional as functional

    torch, F = library, functional
    torch.set_num_threads(threads)
    torch.set_grad_enabled(False)
    functions = {kind: _eager(function) for kind, function in _functions().items()}
    compiled = {kind: _compiled(function) for kind, function in _functions().items()}
    eager = functions | {
        "gemm": gemm,
        "gemm_batched": gemm,
        "gemm_bf16": gemm,
        "gemm_int8": gemm_int8,
        "conv": conv,
        "depthwise": conv,
        "rms_norm_gradient": _gradient(_rms_norm),
        "add": add,
    }
    compiled["rms_norm_gradient"] = _gradient(torch.compile(_rms_norm, dynamic=False))
    fused = {"attention": sdpa, "attention_causal": sdpa_causal}
    return {
        "torch": eager,
        "torch last": {"conv": conv_last, "depthwise": conv_last},
        "sdpa": fused,
        "compile": compiled,
    }


def version() -> str:
    """Of the library."""
    return torch.__version__


def _tensors(row: Row, arrays: Arrays) -> list[Any]:
    found = [torch.from_numpy(a) for a in arrays.values()]
    return [t.view(torch.bfloat16) for t in found] if row.dtype == "bf16" else found


def _array(tensor: Any) -> np.ndarray:
    return (tensor.float() if tensor.dtype == torch.bfloat16 else tensor).numpy()


def gemm(row: Row, arrays: Arrays) -> Candidate:
    """Into a tensor that is there."""
    a, b = _tensors(row, arrays)
    out = torch.matmul(a, b)
    return Candidate(partial(torch.matmul, a, b, out=out), _array)


def gemm_int8(row: Row, arrays: Arrays) -> Candidate:
    """With 32-bit sums."""
    a, b = _tensors(row, arrays)
    return Candidate(lambda: torch._int_mm(a, b), _array)


def conv(row: Row, arrays: Arrays) -> Candidate:
    """Channels first."""
    return _conv(row, *_tensors(row, arrays))


def conv_last(row: Row, arrays: Arrays) -> Candidate:
    """Channels last."""
    x, w = _tensors(row, arrays)
    return _conv(row, x.contiguous(memory_format=torch.channels_last), w)


def _conv(row: Row, x: Any, w: Any) -> Candidate:
    groups = x.shape[1] if row.kind == "depthwise" else 1
    weights = w[:, None] if row.kind == "depthwise" else w
    if x.is_contiguous(memory_format=torch.channels_last):
        weights = weights.contiguous(memory_format=torch.channels_last)
    return Candidate(
        lambda: F.conv2d(x, weights, None, row.constants["S"], row.constants["P"], 1, groups), _array
    )


def sdpa(row: Row, arrays: Arrays) -> Candidate:
    """Scaled dot-product attention."""
    return _sdpa(row, arrays, causal=False)


def sdpa_causal(row: Row, arrays: Arrays) -> Candidate:
    """The same where row i sees the first i + 1 columns."""
    return _sdpa(row, arrays, causal=True)


def _sdpa(row: Row, arrays: Arrays, causal: bool) -> Candidate:
    q, k, v = (t[None] for t in _tensors(row, arrays))
    return Candidate(
        lambda: F.scaled_dot_product_attention(q, k, v, is_causal=causal), lambda t: _array(t)[0]
    )


def add(row: Row, arrays: Arrays) -> Candidate:
    """Into a tensor that is there."""
    a, b = _tensors(row, arrays)
    out = torch.empty_like(a)
    return Candidate(lambda: torch.add(a, b, out=out), _array)


def blur(x: Any) -> Any:
    """Two passes over shifted views."""
    across = (x[:, :-2] + x[:, 1:-1] + x[:, 2:]) * (1 / 3)
    return (across[:-2] + across[1:-1] + across[2:]) * (1 / 3)


def attention_causal(q: Any, k: Any, v: Any) -> Any:
    """Scores that are not seen are -inf."""
    seen = torch.ones(q.shape[1], k.shape[1], dtype=torch.bool).tril()
    scores = (q @ k.transpose(1, 2) * q.shape[-1] ** -0.5).masked_fill(~seen, float("-inf"))
    return torch.softmax(scores, -1) @ v


def _rms_norm(x: Any, g: Any) -> Any:
    return F.rms_norm(x, (x.shape[1],), g, 1e-5)


def _gradient(function: Callable[..., Any]) -> Make:
    """Of both inputs. Autograd computes the function as well, in the same run."""

    def make(row: Row, arrays: Arrays) -> Candidate:
        x, g, d = _tensors(row, arrays)
        inputs = x.requires_grad_(), g.requires_grad_()

        def run() -> Any:
            with torch.enable_grad():
                return torch.autograd.grad(function(*inputs), inputs, d)

        return Candidate(run, lambda results: _array(results[0]))

    return make


def _functions() -> dict[str, Callable[..., Any]]:
    """One function of tensors per kind, for both eager and compiled columns."""
    return {
        "softmax": lambda x: torch.softmax(x, 1),
        "layernorm": lambda x, g, b: F.layer_norm(x, (x.shape[1],), g, b),
        "rms_norm": _rms_norm,
        "gelu": lambda x, b: F.gelu(x + b),
        "gelu_tanh": lambda x, b: F.gelu(x + b, approximate="tanh"),
        "bias_relu": lambda x, b: torch.relu(x + b),
        "transpose": lambda x: x.t().contiguous(),
        "total": lambda x: x.sum(),
        "row_sums": lambda x: x.sum(1),
        "column_sums": lambda x: x.sum(0),
        "blur": blur,
        "attention": lambda q, k, v: torch.softmax(q @ k.transpose(1, 2) * q.shape[-1] ** -0.5, -1) @ v,
        "attention_causal": attention_causal,
        "add": lambda a, b: a + b,
    }


def _eager(function: Callable[..., Any]) -> Make:
    def make(row: Row, arrays: Arrays) -> Candidate:
        tensors = _tensors(row, arrays)
        return Candidate(lambda: function(*tensors), _array)

    return make


def _compiled(function: Callable[..., Any]) -> Make:
    def make(row: Row, arrays: Arrays) -> Candidate:
        tensors, compiled = _tensors(row, arrays), torch.compile(function, dynamic=False)
        return Candidate(lambda: compiled(*tensors), _array)

    return make
