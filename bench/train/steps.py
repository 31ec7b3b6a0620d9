"""How each library makes a training step: functions that make one step and give its loss as a float, by column."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from bench.train.nets import Net

Step = Callable[[], float]


def with_texpr(net: Net, threads: int) -> dict[str, Callable[[], Step]]:
    """texpr.nn.TrainingStep."""
    import texpr as tx
    from texpr import nn
    from texpr.nn.training import TrainingStep

    tx.options(threads=threads)
    kinds: dict[object, Callable[..., Any]] = {
        "linear": nn.Linear, "conv": nn.Conv2d, "relu": nn.ReLU, "pool": nn.MaxPool2d, "flatten": nn.Flatten}

    def make() -> Step:
        model = nn.Sequential(*(kinds[kind](*arguments) for kind, *arguments in net.layers))
        for parameter, value in zip(model.parameters(), (a for pair in net.weights() for a in pair), strict=True):
            parameter.data = value
        optimizer = {"sgd": nn.optim.SGD, "adam": nn.optim.Adam}[net.optimizer](model.parameters(), lr=net.rate)
        step, (x, y) = TrainingStep(model, nn.CrossEntropyLoss(), optimizer), net.batch()
        return lambda: step(x, y)

    return {"texpr": make}


def with_torch(net: Net, threads: int) -> dict[str, Callable[[], Step]]:
    """Eager, and with torch.compile; for convolutions in both layouts."""
    import torch
    from torch import nn

    torch.set_num_threads(threads)
    kinds: dict[object, Callable[..., Any]] = {
        "linear": nn.Linear, "conv": nn.Conv2d, "relu": nn.ReLU, "pool": nn.MaxPool2d, "flatten": nn.Flatten}

    def make(compiled: bool, last: bool) -> Step:
        model = nn.Sequential(*(kinds[kind](*arguments) for kind, *arguments in net.layers))
        with torch.no_grad():
            for parameter, value in zip(model.parameters(), (a for pair in net.weights() for a in pair), strict=True):
                parameter.copy_(torch.from_numpy(value))
        x, y = map(torch.from_numpy, net.batch())
        if last:
            model, x = model.to(memory_format=torch.channels_last), x.to(memory_format=torch.channels_last)
        kind = {"sgd": torch.optim.SGD, "adam": torch.optim.Adam}[net.optimizer]
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


def with_jax(net: Net, threads: int) -> dict[str, Callable[[], Step]]:
    """jax.jit of the whole step, parameters donated."""
    import jax
    import jax.numpy as jnp

    def output(weights: list, x: Any) -> Any:
        left = iter(weights)
        for kind, *arguments in net.layers:
            match kind:
                case "linear":
                    w, b = next(left)
                    x = x @ w.T + b
                case "conv":
                    w, b = next(left)
                    x = jax.lax.conv_general_dilated(x, w, (1, 1), "VALID") + b[:, None, None]
                case "relu":
                    x = jnp.maximum(x, 0)
                case "pool":
                    window = (1, 1, arguments[0], arguments[0])
                    x = jax.lax.reduce_window(x, -jnp.inf, jax.lax.max, window, window, "VALID")
                case "flatten":
                    x = x.reshape(x.shape[0], -1)
        return x

    def loss_of(weights: list, x: Any, y: Any) -> Any:
        logits = jax.nn.log_softmax(output(weights, x))
        return -logits[jnp.arange(y.shape[0]), y].mean()

    def sgd(p: Any, g: Any, state: tuple, t: Any) -> tuple:
        return p - net.rate * g, state

    def adam(p: Any, g: Any, state: tuple, t: Any) -> tuple:
        m, v = 0.9 * state[0] + 0.1 * g, 0.999 * state[1] + 0.001 * g * g
        return p - net.rate / (1 - 0.9**t) * m / (jnp.sqrt(v) / jnp.sqrt(1 - 0.999**t) + 1e-8), (m, v)

    update = {"sgd": sgd, "adam": adam}[net.optimizer]

    def step(weights: list, states: list, t: Any, x: Any, y: Any) -> tuple:
        loss, gradients = jax.value_and_grad(loss_of)(weights, x, y)
        flat, tree = jax.tree.flatten(weights)
        made = [update(p, g, s, t) for p, g, s in zip(flat, jax.tree.leaves(gradients), states)]
        return jax.tree.unflatten(tree, [p for p, _ in made]), [s for _, s in made], loss

    def make() -> Step:
        jax.clear_caches()
        weights: Any = [tuple(map(jnp.asarray, pair)) for pair in net.weights()]
        states: Any = [(jnp.zeros_like(p), jnp.zeros_like(p)) if net.optimizer == "adam" else () for p in jax.tree.leaves(weights)]
        x, y = map(jnp.asarray, net.batch())
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
