"""The layers of `tests/nn/layer_table.py` in PyTorch, in f64: `layers_torch.py FOLDER` writes
`found.npz` there.

Of case k: the state before the call `k.s.NAME`, outputs `k.y0, ...`, gradients of the inputs `k.g0,
...` and parameters `k.p.NAME` where the cotangents of the outputs are `waves`, and the state after
the call `k.b.NAME`.
"""

from __future__ import annotations

import sys
import warnings
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np
import torch

sys.path.insert(0, str(Path(__file__).parents[2]))

from tests.nn.layer_table import CASES, Case, Given, first_values, packing, waves  # noqa: E402


def tensors(tree: Any) -> Iterator[torch.Tensor]:
    """The tensors of nested results."""
    if isinstance(tree, torch.Tensor):
        yield tree
    elif isinstance(tree, tuple | list):
        for each in tree:
            yield from tensors(each)


def placed(tree: Any, arrays: Iterator[torch.Tensor]) -> Any:
    return next(arrays) if isinstance(tree, Given) else tuple(placed(each, arrays) for each in tree)


def filled(case: Case) -> torch.nn.Module:
    """The module with the values of the table."""
    module = (
        eval(case.text, {**vars(torch.nn), "torch": torch, "nn": torch.nn, "Packed": packing(torch.nn)})
        .double()
        .train(case.training)
    )
    for name, value in module.state_dict().items():
        if value.is_floating_point():
            value.copy_(torch.from_numpy(first_values(name, value.shape)))
    return module


def found(case: Case) -> dict[str, np.ndarray]:
    """All that is compared."""
    module = filled(case)
    results = {f"s.{name}": value.numpy().copy() for name, value in module.state_dict().items()}
    inputs = [torch.from_numpy(np.array(a)) for a in case.arrays()]
    floats = [inputs[k].requires_grad_() for k in case.differentiable()]
    arrays = iter(inputs)
    given = placed(case.inputs, arrays)
    outputs = list(
        tensors(module(*given, **{name: next(arrays) for name, _ in case.named}, **dict(case.options)))
    )
    results |= {f"y{n}": y.numpy(force=True) for n, y in enumerate(outputs)}
    results |= {f"b.{name}": value.numpy().copy() for name, value in module.state_dict().items()}
    if case.gradient and any(y.requires_grad for y in outputs):
        total = sum(
            (y * torch.from_numpy(waves(f"{case.key}{n}", y.shape))).sum() for n, y in enumerate(outputs)
        )
        names, parameters = (
            zip(*module.named_parameters(), strict=True) if list(module.parameters()) else ((), ())
        )
        gradients = torch.autograd.grad(total, [*floats, *parameters], allow_unused=True)
        every = [torch.zeros_like(v) if g is None else g for g, v in zip(gradients, [*floats, *parameters])]
        results |= {f"g{n}": g.numpy() for n, g in enumerate(every[: len(floats)])}
        results |= {f"p.{name}": g.numpy() for name, g in zip(names, every[len(floats) :])}
    return results


def main(folder: Path) -> None:
    torch.set_default_dtype(torch.float64)
    warnings.simplefilter("ignore")
    every = {f"{k}.{name}": value for k, case in enumerate(CASES) for name, value in found(case).items()}
    np.savez(folder / "found.npz", **every)


if __name__ == "__main__":
    main(Path(sys.argv[1]))
