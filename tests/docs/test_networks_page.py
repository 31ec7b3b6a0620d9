"""The page about networks lists every layer, loss, optimizer and callback."""

from __future__ import annotations

import re
from pathlib import Path

from texpr import nn
from texpr.nn.optim import Optimizer

PAGE = Path(__file__).parents[2] / "docs" / "guide" / "networks.md"
TEXT = PAGE.read_text(encoding="utf-8")
BASES = {"Module", "Loss", "Seeded"}


def stem(name: str) -> str:
    return re.sub(r"[123]d$", "", name)


def test_layers_and_losses_are_listed():
    table = TEXT.partition("## Layers and losses")[2].partition("A module of your own")[0]
    listed = set(re.findall(r"`(\w+)`", table.partition("`nn.optim`")[0]))
    assert all(hasattr(nn, name) for name in listed - {"3d", "1d"})
    every = {n for n in nn.__all__ if isinstance(c := getattr(nn, n), type) and issubclass(c, nn.Module)}
    assert {stem(n) for n in every - BASES} <= {stem(n) for n in listed}


def test_optimizers_are_listed():
    every = {
        n for n in dir(nn.optim) if isinstance(c := getattr(nn.optim, n), type) and issubclass(c, Optimizer)
    }
    assert len(every) > 10 and every - {"Optimizer"} <= set(re.findall(r"`(\w+)`", TEXT))


def test_callbacks_are_listed():
    every = {
        n
        for n in dir(nn.callbacks)
        if isinstance(c := getattr(nn.callbacks, n), type) and issubclass(c, nn.Callback)
    }
    table = TEXT.partition("| callback | effect |")[2].partition("A callback of your own")[0]
    assert len(every) > 5 and every - {"Callback"} <= set(re.findall(r"`(\w+)", table))
