"""Code of a user as type checkers see it: `tests/typing/test_checkers.py` runs mypy and pyright on it."""

from __future__ import annotations

from typing import Annotated, Any, assert_type

import numpy as np

import texpr as tx
from texpr import nn, ops

# Operators of texts

dot = tx.op("op dot(A: f32[N], B: f32[N]) -> C: f32 { C = sum(k: A[k] * B[k]) }")
assert_type(dot, tx.Op)
a = np.ones(3, np.float32)
slope = tx.grad(dot, wrt="A")
assert_type(slope, tx.Op)
assert_type(tx.vjp(dot), tuple[tx.Op, tx.Op])

# Tensors

t = tx.tensor([1.0, 2.0, 3.0], dtype="f32", requires_grad=True)
assert_type(t, tx.Tensor)
assert_type(t + 1, tx.Tensor)
assert_type(2 * t, tx.Tensor)
assert_type(t @ t, tx.Tensor)
assert_type(t[0], tx.Tensor)
assert_type(t.sum(), tx.Tensor)
assert_type(t.reshape(3, 1), tx.Tensor)
assert_type(t.T, tx.Tensor)
assert_type(t.exp().mean(), tx.Tensor)
assert_type(t > 0, tx.Tensor)
assert_type(-t, tx.Tensor)
assert_type(tx.zeros(2, 3), tx.Tensor)
assert_type(tx.where(t > 0, t, 0.0), tx.Tensor)
assert_type(tx.cat([t, t]), tx.Tensor)
assert_type(t.shape, tuple[int, ...])
assert_type(t.sum().item(), float | int | bool)
values: np.ndarray[Any, Any] = t.numpy()
t.sum().backward()
assert_type(ops.softmax, tx.Op)


class Net(nn.Module):
    def __init__(self, width: int) -> None:
        super().__init__()
        self.layers = nn.Sequential(nn.Linear(width, 8), nn.ReLU(), nn.Linear(8, 2))
        self.scale = nn.Parameter(np.ones(2, np.float32))

    def forward(self, x: tx.Tensor) -> tx.Tensor:
        return self.layers(x) * self.scale


net = Net(4)
assert_type(net(tx.ones(2, 4)), tx.Tensor)
assert_type(net.layers(tx.ones(2, 4)), tx.Tensor)
assert_type(net(np.ones((2, 4), np.float32)), np.ndarray[Any, Any])
out, (h, c) = nn.LSTM(4, 8)(tx.ones(5, 2, 4))

# Operators called

assert_type(dot(t, t), tx.Tensor)
assert_type(dot(a, t), tx.Tensor)
assert_type(dot(a, a), np.ndarray[Any, Any])
assert_type(ops.softmax(t, axis=0), tx.Tensor)
best, places = t.topk(1)
assert_type(best, tx.Tensor)
assert_type(t.clamp(0, 1).float(), tx.Tensor)

# The Python form


@tx.op
def matmul(
    A: Annotated[Any, "f32[M, K]"], B: Annotated[Any, "f32[K, N]"], *, scale: float = 1.0
) -> Annotated[object, "C: f32[M, N]"]:
    return lambda i, j: scale * tx.sum(lambda k: A[i, k] * B[k, j])


@tx.op(types="T: float")
def twice(X: Annotated[Any, "T[N]"]) -> Annotated[object, "Y: T[N]"]:
    return lambda i: 2 * X[i]


assert_type(matmul, tx.Op)
assert_type(twice, tx.Op)
assert_type(matmul(a.reshape(1, 3), a.reshape(3, 1)), np.ndarray[Any, Any])

# Traced functions


@tx.jit
def step(x: tx.Tensor, y: tx.Tensor) -> tuple[tx.Tensor, tx.Tensor]:
    return x + y, x * y


@tx.jit(static="n")
def repeated(x: tx.Tensor, n: int) -> tx.Tensor:
    for _ in range(n):
        x = x * 2
    return x


assert_type(step(t, t), tuple[tx.Tensor, tx.Tensor])
assert_type(step(a, a)[0], tx.Tensor)
assert_type(repeated(t, n=3), tx.Tensor)

# Training

optimizer = nn.optim.AdamW(net.parameters(), lr=1e-3)
loss = nn.CrossEntropyLoss()
trainer = nn.Trainer(net, loss, optimizer, metrics=["accuracy"])
x, y = np.ones((8, 4), np.float32), np.zeros(8, np.int64)
history = trainer.fit(x, y, epochs=1, progress=False)
assert_type(history["loss"][0], float)
assert_type(trainer.evaluate(x, y), dict[str, float])
scores: np.ndarray[Any, Any] = trainer.predict(x)
assert_type(loss(net(tx.tensor(x)), tx.tensor(y)), tx.Tensor)
optimizer.zero_grad()
loss(net(tx.tensor(x)), tx.tensor(y)).backward()
optimizer.step()
for parameter in net.parameters():
    assert_type(parameter, nn.Parameter)
for _batch in nn.data.DataLoader(nn.data.TensorDataset(x, y), batch_size=4):
    pass

# Schedules, options, errors

kernel = tx.schedule(dot, N=3).split("k", 2).compile()
assert_type(kernel, tx.CompiledKernel)
with tx.options(threads=1):
    value = tx.interpret(dot, a, a)
try:
    tx.op("op f(")
except tx.Error as error:
    assert_type(error.to_dict(), dict[str, object])
