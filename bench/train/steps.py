"""How each library makes a step: functions that make one step and give its loss as a float, by
column.

A network that is not trained gives the first number of its result instead.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from bench.train.modules import module
from bench.train.nets import Net

Step = Callable[[], float]


def with_texpr(net: Net, threads: int) -> dict[str, Callable[[], Step]]:
    """texpr.nn.TrainingStep; a module applied to lazy tensors in a function of `tx.jit`."""
    import texpr as tx
    from texpr import nn
    from texpr.nn.training.step import TrainingStep

    tx.options(threads=threads)

    def make() -> Step:
        model = module(nn, net)
        for parameter, value in zip(model.parameters(), _flat(net), strict=True):
            parameter.data = value
        x, y = net.batch()
        if not net.optimizer:
            apply = tx.jit(model)
            return lambda: float(np.asarray(apply(x))[0, 0])
        kind = {"sgd": nn.optim.SGD, "adam": nn.optim.Adam, "adamw": nn.optim.AdamW}[net.optimizer]
        step = TrainingStep(model, nn.CrossEntropyLoss(), kind(model.parameters(), lr=net.rate))
        return lambda: step(x, y)

    return {"texpr": make}


def _flat(net: Net) -> list[np.ndarray]:
    return [value for layer in net.weights() for value in layer]


def with_torch(net: Net, threads: int) -> dict[str, Callable[[], Step]]:
    """Eager, and with torch.compile; for convolutions in both layouts."""
    import torch
    from torch import nn

    torch.set_num_threads(threads)

    def make(compiled: bool, last: bool) -> Step:
        model = module(nn, net)
        with torch.no_grad():
            for parameter, value in zip(model.parameters(), _flat(net), strict=True):
                parameter.copy_(torch.from_numpy(value))
        x, y = map(torch.from_numpy, net.batch())
        if last:
            model, x = model.to(memory_format=torch.channels_last), x.to(memory_format=torch.channels_last)
        if not net.optimizer:
            with torch.inference_mode():
                apply = torch.compile(model.eval()) if compiled else model.eval()
            return lambda: _first_of(torch, apply, x)
        kind = {"sgd": torch.optim.SGD, "adam": torch.optim.Adam, "adamw": torch.optim.AdamW}[net.optimizer]
        optimizer = kind(model.parameters(), lr=net.rate, fused=True)
        loss_of = nn.CrossEntropyLoss()

        def step() -> Any:
            optimizer.zero_grad(set_to_none=True)
            loss = loss_of(model(x), y)
            loss.backward()
            optimizer.step()
            return loss

        run = torch.compile(step) if compiled else step
        return lambda: float(run().detach())

    found = {"torch": lambda: make(False, False), "torch.compile": lambda: make(True, False)}
    if len(net.shape) == 4:
        found["torch last"] = lambda: make(False, True)
    return found


def _first_of(torch: Any, apply: Callable[[Any], Any], x: Any) -> float:
    with torch.inference_mode():
        return float(apply(x)[0, 0])


def with_jax(net: Net, threads: int) -> dict[str, Callable[[], Step]]:
    """jax.jit of the whole step, parameters donated."""
    import jax
    import jax.numpy as jnp

    from bench.train.functions import output

    def loss_of(weights: list, x: Any, y: Any) -> Any:
        logits = jax.nn.log_softmax(output(net, weights, x))
        return -logits[jnp.arange(y.shape[0]), y].mean()

    def sgd(p: Any, g: Any, state: tuple, t: Any) -> tuple:
        return p - net.rate * g, state

    def adam(p: Any, g: Any, state: tuple, t: Any) -> tuple:
        m, v = 0.9 * state[0] + 0.1 * g, 0.999 * state[1] + 0.001 * g * g
        return p - net.rate / (1 - 0.9**t) * m / (jnp.sqrt(v) / jnp.sqrt(1 - 0.999**t) + 1e-8), (m, v)

    def adamw(p: Any, g: Any, state: tuple, t: Any) -> tuple:
        return adam(p * (1 - net.rate * 0.01), g, state, t)

    update = {"sgd": sgd, "adam": adam, "adamw": adamw}.get(net.optimizer)

    def step(weights: list, states: list, t: Any, x: Any, y: Any) -> tuple:
        loss, gradients = jax.value_and_grad(loss_of)(weights, x, y)
        flat, tree = jax.tree.flatten(weights)
        assert update is not None
        made = [update(p, g, s, t) for p, g, s in zip(flat, jax.tree.leaves(gradients), states)]
        return jax.tree.unflatten(tree, [p for p, _ in made]), [s for _, s in made], loss

    def make() -> Step:
        jax.clear_caches()
        weights: Any = [tuple(map(jnp.asarray, layer)) for layer in net.weights()]
        x, y = map(jnp.asarray, net.batch())
        if not net.optimizer:
            apply = jax.jit(lambda x: output(net, weights, x))
            return lambda: float(apply(x)[0, 0])
        states: Any = [
            () if net.optimizer == "sgd" else (jnp.zeros_like(p), jnp.zeros_like(p))
            for p in jax.tree.leaves(weights)
        ]
        run = jax.jit(step, donate_argnums=(0, 1))
        t = 0

        def one() -> float:
            nonlocal weights, states, t
            t += 1
            weights, states, loss = run(weights, states, jnp.float32(t), x, y)
            return float(loss)

        return one

    return {"jax.jit": make}


LIBRARIES = {"texpr": with_texpr, "torch": with_torch, "jax": with_jax}
"""What makes steps in each library."""
