"""Calls of an operator inside PyTorch beside PyTorch's own operator, a `torch.autograd.Function`
around that, and the operator of texpr on arrays of NumPy's: `python -m bench.torch_ops`, in an
environment with torch.

Each figure is in microseconds of processor time: the least of rounds in which the contestants take
turns, and their median. The gradient is that of `torch.autograd.grad`. The last row is a step of
training by hand, module by module, of `texpr.nn` and of PyTorch.
"""

from __future__ import annotations

import argparse
import statistics
import time
from collections.abc import Callable

import numpy as np

import texpr as tx
from texpr.tools.bench.calling import by_hand

SILU = "op silu(X: f32[N]) -> Y: f32[N] { Y[i] = X[i] / (1 + exp(-X[i])) }"


def contestants(size: int) -> dict[str, dict[str, Callable[[], object]]]:
    """Calls by what they compute, and by who computes it."""
    import torch

    native, silu = tx.op(SILU), torch.nn.functional.silu
    gradient, inside = tx.grad(native), tx.torch.op(native)
    x = torch.randn(size)
    leaf, ones = x.clone().requires_grad_(), torch.ones(size)
    array, cotangent = x.numpy(), ones.numpy()

    class Function(torch.autograd.Function):
        @staticmethod
        def forward(ctx, x):
            ctx.save_for_backward(x)
            return silu(x)

        @staticmethod
        def backward(ctx, dy):
            (x,) = ctx.saved_tensors
            return silu(x) * dy

    def both(function: Callable) -> Callable[[], object]:
        return lambda: torch.autograd.grad(function(leaf), leaf, ones)

    half = leaf.detach().to(torch.bfloat16)
    generic = tx.torch.op(tx.op(SILU.replace("silu", "silu_of<T: float>", 1).replace("f32", "T")))
    return {
        "value": {"tx.torch.op": lambda: inside(x), "silu": lambda: silu(x), "NumPy": lambda: native(array)},
        "value, bf16": {"tx.torch.op": lambda: generic(half), "silu": lambda: silu(half)},
        "value, recorded": {
            "tx.torch.op": lambda: inside(leaf),
            "silu": lambda: silu(leaf),
            "Function": lambda: Function.apply(leaf),
        },
        "value and gradient": {
            "tx.torch.op": both(inside),
            "silu": both(silu),
            "Function": both(Function.apply),
            "NumPy": lambda: (native(array), gradient(array, cotangent)),
        },
    }


def steps() -> dict[str, Callable[[], object]]:
    """A step of training by who makes it: gradients to zero, forward, backward, update."""
    import torch
    from torch import nn

    layers = [layer for _ in range(3) for layer in (nn.Linear(32, 32), nn.Tanh())]
    model, x = nn.Sequential(*layers), torch.ones(8, 32)

    def with_optimizer(fused: bool) -> Callable[[], None]:
        optimizer = torch.optim.Adam(model.parameters(), fused=fused)

        def step() -> None:
            optimizer.zero_grad()
            (model(x) ** 2).mean().backward()
            optimizer.step()

        return step

    return {"texpr": by_hand(), "PyTorch": with_optimizer(False), "fused": with_optimizer(True)}


def times(calls: dict[str, Callable[[], object]], rounds: int, repeats: int) -> dict[str, list[float]]:
    """Microseconds of a call of each, in each round."""
    found: dict[str, list[float]] = {n: [] for n in calls}
    for call in calls.values():
        call()
    for _ in range(rounds):
        for name, call in calls.items():
            start = time.thread_time()
            for _ in range(repeats):
                call()
            found[name].append((time.thread_time() - start) / repeats * 1e6)
    return found


def main() -> None:
    """Print a table."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    parser.add_argument("--size", type=int, default=1000, help="floats")
    parser.add_argument("--rounds", type=int, default=60)
    parser.add_argument("--repeats", type=int, default=300, help="calls in a round")
    given = parser.parse_args()
    import torch

    torch.set_num_threads(1)
    print(
        f"torch {torch.__version__}, NumPy {np.__version__}, {given.size} floats, us a call: least (median)"
    )
    rows = contestants(given.size) | {"a step of training": steps()}
    for what, calls in rows.items():
        found = times(calls, given.rounds, given.repeats)
        row = [f"{n} {min(each):.2f} ({statistics.median(each):.2f})" for n, each in found.items()]
        print(f"{what:20}", "  ".join(row))


if __name__ == "__main__":
    main()
