"""`tx.torch.op` and `tx.torch.module`, without torch until they are called."""

from __future__ import annotations

from typing import TYPE_CHECKING

from texpr.compiler import Op
from texpr.nn import Module
from texpr.support.errors import CallError
from texpr.support.extras import needs
from texpr.support.suggest import known_arguments

if TYPE_CHECKING:
    from texpr.bridges.torch.network import TorchModule
    from texpr.bridges.torch.registered import TorchOp


@known_arguments
def op(operator: Op, name: str | None = None) -> TorchOp:
    """Operator of PyTorch, `torch.ops.texpr.NAME`, with all that torch asks of one: the shapes of
    its results, its gradient, and how it is mapped by `torch.func.vmap`.

    Called on tensors, it gives tensors; inputs that are not C-contiguous are copied, others are
    read where they lie. Its gradient is `tx.grad(operator)`, registered likewise, so that
    derivatives of any order are there as far as texpr derives them. Parallel loops use
    `torch.get_num_threads()` threads. An operator that is registered again is the one that was
    there.

    Args:
        name: `NAME` or `NAMESPACE::NAME`; that of the operator in the namespace `texpr` unless
            given.
    Raises:
        MissingExtra: PyTorch is not installed.
        CallError: no operator, no name that torch takes, or the name of another operator.
    Example:
        >>> import torch
        >>> silu = tx.op("op silu(X: f32[N]) -> Y: f32[N] { Y[i] = X[i] / (1 + exp(-X[i])) }")
        >>> f = tx.torch.op(silu)
        >>> x = torch.zeros(3, requires_grad=True)
        >>> f(x).sum().backward()
        >>> x.grad
        tensor([0.5000, 0.5000, 0.5000])
        >>> torch.compile(f, fullgraph=True, backend="eager")(x).shape
        torch.Size([3])
    """
    with needs("torch", "an operator inside PyTorch"):
        import torch  # noqa: F401
    from texpr.bridges.torch.registered import register

    return register(operator, name)


@known_arguments
def module(model: Module) -> TorchModule:
    """Network of `texpr.nn` as a `torch.nn.Module`.

    Its parameters and buffers have the names that they have in `model`, so that `state_dict` has
    the same names and values, and they share the memory of `model`: what one changes the other has.
    torch's autograd and optimizers train it. A forward pass keeps what its backward pass needs;
    inside `torch.compile` the backward pass computes it again. `train()` and `eval()` set `model`.

    Args:
        model: takes tensors by position, and gives a tensor or a tuple of tensors.
    Raises:
        MissingExtra: PyTorch is not installed.
        CallError: no module of `texpr.nn`, or one on another device than the CPU.
    Example:
        >>> import torch
        >>> net = tx.torch.module(nn.Sequential(nn.Linear(4, 8), nn.ReLU(), nn.Linear(8, 1)))
        >>> optimizer = torch.optim.SGD(net.parameters(), lr=0.1)
        >>> net(torch.ones(2, 4)).sum().backward()
        >>> optimizer.step()
        >>> [name for name, p in net.named_parameters()]
        ['0.weight', '0.bias', '2.weight', '2.bias']
    """
    with needs("torch", "a network inside PyTorch"):
        import torch  # noqa: F401
    from texpr.bridges.torch.network import TorchModule

    if not isinstance(model, Module):
        raise CallError(
            f"found {type(model).__name__!r} where a network belongs",
            code="module",
            help="tx.torch.module takes a module of texpr.nn",
        )
    return TorchModule(model)
