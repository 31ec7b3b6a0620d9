"""One state for all ranks: parameters and the state of optimizers, from one of them."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np

from texpr.distributed.communicator import Communicator
from texpr.distributed.start import communicator
from texpr.support.errors import CallError
from texpr.support.tracebacks import boundary


@boundary
def broadcast_parameters(model: Any, root: int = 0, comm: Communicator | None = None) -> None:
    """Give all ranks the parameters and buffers of rank `root`.

    Args:
        model: a module; the same on all ranks, but for the values.
        root: a rank.
        comm: that of the program unless given.
    Raises:
        CallError: `model` is no module, or there is no such rank.
        DistributedError: names, shapes or dtypes differ between ranks, or ranks do not come.
    Example:
        >>> from texpr import distributed as dist
        >>> dist.broadcast_parameters(nn.Linear(3, 2))
    """
    comm = communicator(comm)
    if not hasattr(model, "named_parameters") or not hasattr(model, "named_buffers"):
        raise CallError(
            f"broadcast_parameters takes a module, not a {type(model).__name__}", code="arguments"
        )
    variables = {**dict(model.named_parameters()), **dict(model.named_buffers())}
    comm.compare("the parameters", "\n".join(f"{n}: {v.dtype}{list(v.shape)}" for n, v in variables.items()))
    for variable in variables.values():
        found = comm.broadcast(variable, root)
        if comm.rank != root:
            variable.data = found.realize().value


@boundary
def broadcast_optimizer_state(optimizer: Any, root: int = 0, comm: Communicator | None = None) -> None:
    """Give all ranks the state of rank `root`'s optimizer: moments, counts of steps, and options
    such as the learning rate.

    Args:
        optimizer: of the same parameters on all ranks; one that has made no step yet takes the
            state of one that has.
        root: a rank.
        comm: that of the program unless given.
    Raises:
        CallError: `optimizer` is none, or there is no such rank.
        DistributedError: the kinds of optimizers or their parameters differ between ranks, or ranks
            do not come.
    Example:
        >>> from texpr import distributed as dist
        >>> dist.broadcast_optimizer_state(nn.optim.Adam(nn.Linear(3, 2).parameters()))
    """
    comm = communicator(comm)
    if not hasattr(optimizer, "param_groups") or not hasattr(optimizer, "load_state_dict"):
        raise CallError(
            f"broadcast_optimizer_state takes an optimizer, not a {type(optimizer).__name__}",
            code="arguments",
        )
    lines = [f"parameter {k}: {p.dtype}{list(p.shape)}" for k, p in enumerate(optimizer.parameters)]
    comm.compare("the optimizer", "\n".join([type(optimizer).__name__, *lines]))
    state: Mapping[str, Any] = optimizer.state_dict() if comm.rank == root else {}
    arrays = {name: value for name, value in state.items() if isinstance(value, np.ndarray)}
    rest = {name: value for name, value in state.items() if name not in arrays}
    forms = {name: (a.shape, a.dtype) for name, a in arrays.items()}
    rest, forms = comm.broadcast_object((rest, forms), root)
    found = {n: comm.broadcast(arrays.get(n, np.zeros(*form)), root) for n, form in forms.items()}
    if comm.rank != root:
        optimizer.load_state_dict({**rest, **found})
