"""Mistakes that type checkers find: each line with a comment has an error, and no other line."""

from __future__ import annotations

import numpy as np

import texpr as tx
from texpr import nn

dot = tx.op("op dot(A: f32[N], B: f32[N]) -> C: f32 { C = sum(k: A[k] * B[k]) }")
t = tx.tensor([1.0, 2.0])
a = np.ones(3, np.float32)
net = nn.Linear(4, 2)

tx.op(3)  # wrong
tx.grad(dot, wrt=3)  # wrong
tx.schedule(dot).split("k", "four")  # wrong
tx.load(3)  # wrong
nn.Linear("four", 2)  # wrong
nn.Linear(4)  # wrong
nn.Sequential(3)  # wrong
number: int = t.sum()  # wrong
text: str = net(t)  # wrong
tensor: tx.Tensor = dot(a, a)  # wrong
t.reshape(2, 1).nothing()  # wrong
net.forward_hook()  # wrong
tx.sum(3)  # no complaint: checkers do not know the words of the Python form


@tx.jit
def added(x: tx.Tensor) -> tx.Tensor:
    return x + 1


flag: bool = added(t)  # wrong
