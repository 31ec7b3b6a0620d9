"""Cases of the table of layers in texpr.nn."""

from __future__ import annotations

from collections.abc import Iterator
from types import SimpleNamespace
from typing import Any

import numpy as np

from tests.nn.layer_table import Case, Given, packing, waves
from texpr import nn


def made(case: Case) -> nn.Module:
    """The module, in f64."""
    names = {
        **{n: getattr(nn, n) for n in dir(nn)},
        "nn": nn,
        "Packed": packing(nn),
        "torch": SimpleNamespace(tensor=np.array),
    }
    return eval(case.text, names).double().train(case.training)


def _placed(tree: Any, tensors: Iterator[Any]) -> Any:
    return next(tensors) if isinstance(tree, Given) else tuple(_placed(each, tensors) for each in tree)


def applied(module: nn.Module, case: Case, tensors: list[Any]) -> Any:
    """The call of a case on these tensors."""
    rest = iter(tensors)
    inputs = _placed(case.inputs, rest)
    return module(*inputs, **{name: next(rest) for name, _ in case.named}, **dict(case.options))


def fingerprint(value: np.ndarray) -> list[Any]:
    """The shape of an array and three numbers that depend on every element and its place."""
    flat = np.asarray(value, np.float64).ravel()
    return [
        list(value.shape),
        *(float(f"{flat @ waves(f'fingerprint{k}', flat.shape):.12e}") for k in range(3)),
    ]
