"""What is timed: the work of texpr and of torch, and what is asked of their ratio."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from texpr import nn, ops
from texpr.graph import Capture, Plan
from texpr.ir.dtypes import DTYPES, readable, stored

Work = Callable[[], Any]
"""One run, queued or done; torch's give their result."""


@dataclass(frozen=True, slots=True)
class Ours:
    """texpr's work, and its result as f32 after a run; None where there is nothing to compare."""

    run: Work
    result: Callable[[], np.ndarray] | None = None


@dataclass(frozen=True, slots=True)
class Row:
    """A comparison.

    Attributes:
        bar: what texpr's speed is to be of the peer's.
        operations, moved: float operations and bytes of one run; 0 where they are not what counts.
        ours: gives the work on a device.
        peers: gives torch's works by name, given its module; the fastest counts.
    """

    name: str
    bar: float
    operations: int
    moved: int
    ours: Callable[[str], Ours]
    peers: Callable[[Any], dict[str, Work]]


def _drawn(shape: Sequence[int], seed: int) -> np.ndarray:
    return np.random.default_rng(seed).uniform(-1, 1, shape).astype(np.float32)


def planned(function: Callable[..., Any], shapes: Sequence[Sequence[int]], dtype: str, device: str) -> Plan:
    """A function of tensors as a plan on a device, with random data in its inputs."""
    capture = Capture("row")
    symbols = [capture.input(f"x{k}", shape, DTYPES[dtype]) for k, shape in enumerate(shapes)]
    with capture:
        result = function(*symbols)
    plan = Plan(capture, [result], device=device)
    for k, shape in enumerate(shapes):
        plan.fill(k, stored(_drawn(shape, k), DTYPES[dtype]))
    return plan


def _ours(function: Callable[..., Any], shapes: Sequence[Sequence[int]], dtype: str) -> Callable[[str], Ours]:
    def made(device: str) -> Ours:
        plan = planned(function, shapes, dtype, device)
        return Ours(plan.run, lambda: readable(plan.value(0), DTYPES[dtype]).astype(np.float32))

    return made


def _given(torch: Any, shapes: Sequence[Sequence[int]], dtype: str) -> list[Any]:
    kind = {"f32": torch.float32, "bf16": torch.bfloat16}[dtype]
    return [torch.from_numpy(_drawn(shape, k)).to("cuda", kind) for k, shape in enumerate(shapes)]


def _one(
    function: Callable[[Any], Callable[..., Any]], shapes: Sequence[Sequence[int]], dtype: str
) -> Callable[[Any], dict[str, Work]]:
    def works(torch: Any) -> dict[str, Work]:
        given = _given(torch, shapes, dtype)
        return {"torch": lambda: function(torch)(*given)}

    return works


def _product(dtype: str, n: int, bar: float) -> Row:
    shapes = [(n, n), (n, n)]
    return Row(
        f"product {dtype} {n}",
        bar,
        2 * n**3,
        0,
        _ours(ops.matmul, shapes, dtype),
        _one(lambda torch: torch.matmul, shapes, dtype),
    )


def _attention(dtype: str, batch: int, heads: int, length: int, width: int) -> Row:
    shapes = [(batch, heads, length, width)] * 3

    def peers(torch: Any) -> dict[str, Work]:
        given = _given(torch, shapes, dtype)
        kinds = torch.nn.attention.SDPBackend

        def on(kind: Any) -> Work:
            def run() -> object:
                with torch.nn.attention.sdpa_kernel(kind):
                    return torch.nn.functional.scaled_dot_product_attention(*given)

            return run

        return {
            kind.name: on(kind)
            for kind in (kinds.FLASH_ATTENTION, kinds.EFFICIENT_ATTENTION, kinds.CUDNN_ATTENTION, kinds.MATH)
        }

    operations = 4 * batch * heads * length * length * width
    return Row(
        f"attention {dtype} {batch}x{heads}x{length}x{width}",
        0.8,
        operations,
        0,
        _ours(ops.attention, shapes, dtype),
        peers,
    )


def _memory(
    name: str,
    ours: Callable[..., Any],
    peer: Callable[[Any], Callable[..., Any]],
    shapes: Sequence[Sequence[int]],
) -> Row:
    rows, columns = shapes[0]
    moved = 2 * 4 * rows * columns
    return Row(
        f"{name} f32 {rows}x{columns}", 0.9, 0, moved, _ours(ours, shapes, "f32"), _one(peer, shapes, "f32")
    )


def _training(layers: int, width: int, heads: int, length: int, batch: int) -> Row:
    x, y = _drawn((batch, length, width), 1), _drawn((batch, length, width), 2)

    def ours(device: str) -> Ours:
        parts = [
            nn.TransformerEncoderLayer(width, heads, 4 * width, 0.0, batch_first=True) for _ in range(layers)
        ]
        model = nn.Sequential(*parts).to(device)
        step = nn.TrainingStep(model, nn.MSELoss(), nn.optim.Adam(model.parameters(), lr=1e-4))
        return Ours(lambda: step(x, y))

    def peers(torch: Any) -> dict[str, Work]:
        parts = [
            torch.nn.TransformerEncoderLayer(width, heads, 4 * width, 0.0, batch_first=True)
            for _ in range(layers)
        ]
        model, loss_of = torch.nn.Sequential(*parts).cuda(), torch.nn.MSELoss()
        optimizer = torch.optim.Adam(model.parameters(), lr=1e-4)

        def step() -> float:
            optimizer.zero_grad()
            loss = loss_of(model(torch.from_numpy(x).cuda()), torch.from_numpy(y).cuda())
            loss.backward()
            optimizer.step()
            return loss.item()

        return {"torch, eager": step}

    return Row(f"transformer step f32, {layers} layers of {width}, {batch}x{length}", 1.0, 0, 0, ours, peers)


def rows(tiny: bool) -> list[Row]:
    """All comparisons, those that matter most first.

    Args:
        tiny: of sizes that an emulated device can do.
    """
    large, half = (16, 8) if tiny else (8192, 4096)
    heads = (1, 2, 8, 8) if tiny else (4, 16, 4096, 64)
    step = (1, 8, 2, 4, 2) if tiny else (4, 512, 8, 256, 16)
    square = (half, large)
    return [
        _product("bf16", half, 0.9),
        _product("bf16", large, 0.9),
        _product("f32", half, 0.9),
        _attention("bf16", *heads),
        _memory(
            "softmax", lambda x: ops.softmax(x, axis=1), lambda torch: lambda x: torch.softmax(x, 1), [square]
        ),
        _memory(
            "layernorm",
            ops.layer_norm,
            lambda torch: lambda x, w, b: torch.nn.functional.layer_norm(x, (large,), w, b),
            [square, (large,), (large,)],
        ),
        _memory("gelu", ops.gelu, lambda torch: torch.nn.functional.gelu, [square]),
        _training(*step),
    ]
