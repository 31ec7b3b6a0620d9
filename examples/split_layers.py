"""Model parallelism: two linear layers of which each rank holds a part, and the whole ones beside.

    python -m texpr launch -n 2 examples/split_layers.py

The first layer is split by columns: a rank computes some of its outputs, from all inputs. The second
is split by rows: it takes these outputs and gives a part of each sum, which the ranks add up. So there
is one allreduce forward, of the outputs, and one backward, of the gradient of the inputs. Shoeybi et
al., Megatron-LM: Training Multi-Billion Parameter Language Models Using Model Parallelism, 2019.
"""

from __future__ import annotations

import numpy as np

import texpr as tx
from texpr import distributed as dist
from texpr import nn

INPUTS, HIDDEN, OUTPUTS, BATCH, STEPS = 12, 32, 5, 16, 20
BOUND = 1e-12
"""The largest difference to the whole layers, in f64: sums are split, and added in another order."""


def whole_layers() -> nn.Sequential:
    """Layers before they are split."""
    nn.manual_seed(0)
    return nn.Sequential(nn.Linear(INPUTS, HIDDEN), nn.Tanh(), nn.Linear(HIDDEN, OUTPUTS)).double()


class SplitLayers:
    """This rank's part of two layers.

    Args:
        whole: two linear layers with a function of elements between them.
        comm: its ranks share the hidden units.
    """

    def __init__(self, whole: nn.Sequential, comm: dist.Communicator) -> None:
        first, self.activation, second = whole
        units = np.array_split(np.arange(HIDDEN), comm.size)[comm.rank]
        self.comm = comm
        self.weight1, self.bias1 = (
            nn.Parameter(first.weight.data[units]),
            nn.Parameter(first.bias.data[units]),
        )
        self.weight2, self.bias2 = nn.Parameter(second.weight.data[:, units]), nn.Parameter(second.bias.data)
        self.units = units

    def parameters(self) -> list[nn.Parameter]:
        """Of this rank; the second bias is the same on all."""
        return [self.weight1, self.bias1, self.weight2, self.bias2]

    def forward(self, x: tx.Tensor) -> tuple[tx.Tensor, tx.Tensor]:
        """This rank's part of the outputs, and the outputs."""
        hidden = self.activation(x @ self.weight1.T + self.bias1)
        part = hidden @ self.weight2.T
        return part, self.comm.allreduce(part, "sum", "ordered").requires_grad_()

    def backward(self, x: np.ndarray, y: np.ndarray) -> tuple[tx.Tensor, tx.Tensor, tx.Tensor]:
        """Gradients of the mean squared error in the parameters; gives the outputs, the loss and its
        gradient in the inputs.
        """
        inputs = tx.tensor(x, requires_grad=True)
        part, total = self.forward(inputs)
        outputs = total + self.bias2
        loss = nn.MSELoss()(outputs, tx.tensor(y))
        loss.backward()
        part.backward(total.grad)
        return outputs, loss, self.comm.allreduce(inputs.grad, "sum", "ordered")


def difference(found: object, expected: object) -> float:
    """The largest one, relative to the largest number."""
    expected = np.asarray(expected)
    return float(np.abs(np.asarray(found) - expected).max() / max(1.0, np.abs(expected).max()))


def worst_difference(comm: dist.Communicator) -> tuple[float, list[float]]:
    """The largest difference of outputs, gradients and parameters over all steps, and the losses."""
    whole = whole_layers()
    dist.broadcast_parameters(whole, comm=comm)
    split = SplitLayers(whole, comm)
    optimizers = [nn.optim.Adam(m.parameters(), lr=0.01) for m in (whole, split)]
    random, worst, losses = np.random.default_rng(1), 0.0, []
    for _ in range(STEPS):
        x, y = random.normal(size=(BATCH, INPUTS)), random.normal(size=(BATCH, OUTPUTS))
        for optimizer in optimizers:
            optimizer.zero_grad()
        outputs, loss, gradient = split.backward(x, y)
        inputs = tx.tensor(x, requires_grad=True)
        expected = whole(inputs)
        nn.MSELoss()(expected, tx.tensor(y)).backward()
        pairs = [(outputs, expected), (gradient, inputs.grad)]
        for optimizer in optimizers:
            optimizer.step()
        pairs += [
            (getattr(mine, what), theirs(whole, split.units, what))
            for mine, theirs in zip(split.parameters(), PARTS)
            for what in ("grad", "data")
        ]
        worst = max(worst, *(difference(*pair) for pair in pairs))
        losses.append(float(loss))
    return float(comm.allreduce(worst, "max")), losses


PARTS = (
    lambda whole, units, what: np.asarray(getattr(whole[0].weight, what))[units],
    lambda whole, units, what: np.asarray(getattr(whole[0].bias, what))[units],
    lambda whole, units, what: np.asarray(getattr(whole[2].weight, what))[:, units],
    lambda whole, units, what: np.asarray(getattr(whole[2].bias, what)),
)
"""The parts of the whole layers that a rank has, in the order of its parameters."""


def main() -> int:
    """Print the figure; 0 if it is within the bound."""
    comm = dist.init(timeout=60)
    worst, losses = worst_difference(comm)
    if comm.is_main:
        print(f"{comm.size} ranks, {STEPS} steps: loss {losses[0]:.3f} to {losses[-1]:.3f}", flush=True)
        print(f"largest difference to the whole layers: {worst:.1e}, bound {BOUND:.0e}", flush=True)
    return 0 if worst <= BOUND and len(set(comm.gather_object(losses[-1]))) == 1 else 1


if __name__ == "__main__":
    raise SystemExit(main())
