"""N ranks are one process that accumulates N batches, bit for bit."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import texpr as tx
from tests.nn.training.data_parallel.examples import (
    X,
    Y,
    differences,
    everything,
    network,
    on_ranks,
    plain,
    trainer,
)
from texpr import nn
from texpr.distributed import Communicator

OPTIMIZERS = (
    "SGD(p, 0.05)",
    "SGD(p, 0.05, momentum=0.8, nesterov=True)",
    "Adam(p, 0.05, amsgrad=True)",
    "AdamW(p, lr=0.05, weight_decay=0.3)",
    "Adamax(p, lr=0.05)",
    "NAdam(p, lr=0.05)",
    "RAdam(p, lr=0.05)",
    "Lion(p, lr=0.01)",
    "RMSprop(p, 0.02, momentum=0.5, centered=True)",
    "Adagrad(p, lr=0.3)",
    "Adadelta(p, lr=3.0)",
    "Rprop(p, 0.1)",
    "ASGD(p, 0.05)",
    "SparseAdam(p, lr=0.05)",
    "Adafactor(p, lr=0.3)",
)


def fitted(
    comm: Communicator | None, model: Any = network, epochs: int = 2, **options: Any
) -> dict[str, object]:
    t = trainer(comm, model(), **options)
    t.fit(X, Y, epochs=epochs, batch_size=8, progress=False)
    return everything(t)


@pytest.mark.parametrize("size", [1, 2, 3, 4])
def test_ranks_are_accumulated_batches(size: int):
    def adam(p: Any) -> nn.optim.Optimizer:
        return nn.optim.Adam(p, lr=0.02).clip_grad_norm_(0.5)

    def fit(comm: Communicator | None, **options: Any) -> dict[str, object]:
        return fitted(comm, optimizer=adam, metrics=["accuracy", "auc"], **options)

    one = fit(None, accumulate=size)
    for reduction in ("ordered", "fast"):
        found = on_ranks(size, lambda comm, r=reduction: fit(comm, reduction=r))
        assert not any(differences(each, found[0]) for each in found), "ranks differ"
        if reduction == "ordered":
            assert not differences(found[0], one)
        for n in ("loss", "accuracy", "auc"):
            np.testing.assert_allclose(found[0]["history"][n], one["history"][n], rtol=1e-4)  # type: ignore[index]


@pytest.mark.parametrize("text", OPTIMIZERS)
def test_every_optimizer(text: str):
    def optimizer(p: Any) -> nn.optim.Optimizer:
        return eval(text, vars(nn.optim) | {n: getattr(nn.optim, n) for n in nn.optim.__all__} | {"p": p})

    one = fitted(None, plain, accumulate=2, optimizer=optimizer)
    found = on_ranks(2, lambda comm: fitted(comm, plain, reduction="ordered", optimizer=optimizer))
    assert not differences(found[0], one) and not differences(found[1], one)


def test_muon_of_matrices():
    def matrices() -> nn.Sequential:
        nn.manual_seed(0)
        return nn.Sequential(nn.Linear(5, 4, bias=False), nn.Tanh(), nn.Linear(4, 3, bias=False))

    def muon(p: Any) -> nn.optim.Optimizer:
        return nn.optim.Muon(p, lr=0.05)

    one = fitted(None, matrices, accumulate=2, optimizer=muon)
    found = on_ranks(2, lambda comm: fitted(comm, matrices, reduction="ordered", optimizer=muon))
    assert not differences(found[0], one) and not differences(found[1], one)


def test_lbfgs_by_a_closure():
    """Its search asks for the loss as often as it likes: equally often on all ranks, which see the same
    numbers.
    """
    halves = (slice(0, 16), slice(16, 32))

    def fit(comm: Communicator | None) -> tuple[int, list[bytes]]:
        model, loss, calls = plain(), nn.CrossEntropyLoss(), []
        optimizer = nn.optim.LBFGS(model.parameters(), max_iter=6, line_search_fn="strong_wolfe")

        def gradients(part: slice) -> list[np.ndarray]:
            optimizer.zero_grad()
            value = loss(model(tx.tensor(X[part])), tx.tensor(Y[part]))
            value.backward()
            return [value.numpy(), *(p.grad.numpy() for p in model.parameters())]

        def closure() -> tx.Tensor:
            calls.append(1)
            if comm is None:
                found = [(a + b) / np.float32(2) for a, b in zip(*map(gradients, halves))]
            else:
                found = [comm.allreduce(g, reduction="ordered") for g in gradients(halves[comm.rank])]
            value, *means = found
            for p, mean in zip(model.parameters(), means):
                p.grad = tx.tensor(mean)
            return tx.tensor(value)

        for _ in range(2):
            optimizer.step(closure)
        arrays = [v for v in optimizer.state_dict().values() if isinstance(v, np.ndarray)]
        return len(calls), [*(p.data.tobytes() for p in model.parameters()), *(a.tobytes() for a in arrays)]

    one = fit(None)
    assert one[0] > 6 and on_ranks(2, fit) == [one, one]


@pytest.mark.parametrize(
    "options",
    [
        {"precision": "f16"},
        {"precision": "bf16"},
        {"loss": nn.CrossEntropyLoss(reduction="sum")},
        {"loss": nn.CrossEntropyLoss(ignore_index=1)},
        {"loss": nn.CrossEntropyLoss(label_smoothing=0.1, weight=np.float32([1, 2, 3]))},
    ],
    ids=["f16", "bf16", "sum", "ignored", "class weights"],
)
def test_other_losses_and_precisions(options: dict[str, Any]):
    one = fitted(None, accumulate=3, **options)
    found = on_ranks(3, lambda comm: fitted(comm, reduction="ordered", **options))
    assert not differences(found[0], one) and not differences(found[2], one)


def test_an_overflow_is_left_out_on_all_ranks():
    """The batch of one rank overflows f16."""
    x = X.copy()
    x[8:16] *= 1e3
    nn.manual_seed(0)
    weights = nn.Linear(5, 3).state_dict()

    def fit(comm: Communicator | None, **options: Any) -> dict[str, object]:
        model = nn.Linear(5, 3)
        model.load_state_dict(weights)
        t = trainer(comm, model, precision="f16", loss_scale=nn.LossScale(2.0**13), **options)
        t.fit(x, Y, epochs=3, batch_size=8, shuffle=False, progress=False)
        assert t.step.loss_scale is not None
        return {**everything(t), "scale": t.step.loss_scale.state_dict()}

    one = fit(None, accumulate=2)
    assert any(one["history"]["skipped"])  # type: ignore[index]
    found = on_ranks(2, lambda comm: fit(comm, reduction="ordered"))
    assert not differences(found[0], one) and not differences(found[1], one)


@pytest.mark.parametrize("every", ["step", "epoch"])
def test_learning_rates_and_averages(every: str):
    def fit(comm: Communicator | None, **options: Any) -> dict[str, object]:
        t = trainer(comm, network(), **options)
        average = nn.optim.AveragedModel(t.model, decay=0.9)

        def update(trainer: Any, *_: object) -> None:
            average.update_parameters(trainer.model)

        update.every_rank = True  # type: ignore[attr-defined]
        scheduler = nn.optim.lr_scheduler.ExponentialLR(t.optimizer, 0.5)
        callbacks = [nn.callbacks.LearningRate(scheduler, every=every), update]
        t.fit(X, Y, epochs=2, batch_size=8, progress=False, callbacks=callbacks)
        kept = {n: v.data.tobytes() for n, v in average.named_parameters()}
        return {**everything(t), **{f"average.{n}": v for n, v in kept.items()}}

    one = fit(None, accumulate=2)
    found = on_ranks(2, lambda comm: fit(comm, reduction="ordered"))
    assert not differences(found[0], one) and not differences(found[1], one)


def test_a_learning_rate_that_rank_0_sets_is_that_of_all():
    def fit(comm: Communicator | None, **options: Any) -> dict[str, object]:
        t = trainer(comm, plain(), **options)

        def halve(trainer: Any, *_: object) -> None:
            trainer.optimizer.lr /= 2

        t.fit(X, Y, epochs=3, batch_size=8, progress=False, callbacks=[halve])
        return everything(t)

    one = fit(None, accumulate=2)
    found = on_ranks(2, lambda comm: fit(comm, reduction="ordered"))
    assert not differences(found[0], one)
    assert set(differences(found[1], one)) <= {"lr", "history"}, "the last change comes with the next step"


def test_accumulated_rounds_send_once_and_keep_ranks_alike():
    sent: list[int] = []

    def fit(comm: Communicator | None, **options: Any) -> dict[str, object]:
        t = trainer(comm, network(), optimizer=lambda p: nn.optim.Adam(p, lr=0.02), **options)
        if comm is not None:
            submit = comm.thread.submit
            comm.thread.submit = lambda b, *more: (sent.append(b.dtype.kind), submit(b, *more))[1]  # type: ignore[method-assign]
        t.fit(X[:36], Y[:36], epochs=2, batch_size=4, progress=False)
        return everything(t)

    found = on_ranks(2, lambda comm: fit(comm, accumulate=2))
    assert not differences(found[0], found[1])
    assert sent.count("f") == 2 * 2 * 3, "nine batches are five rounds, and three updates"
    one = fit(None, accumulate=4)
    for name in ("0.weight", "4.bias", "1.running_var"):
        np.testing.assert_allclose(numbers(found[0][name]), numbers(one[name]), rtol=1e-3, atol=1e-5)


def numbers(bits: object) -> np.ndarray:
    return np.frombuffer(bits, np.float32)  # type: ignore[call-overload]


def test_a_world_of_one_runs_the_plain_step():
    """Its program is that of a training without ranks, line by line: nothing is gathered in buckets,
    begun or waited for, and there is no thread.
    """

    def fit(comm: Communicator | None, **options: Any) -> tuple[str, dict[str, object]]:
        t = trainer(comm, network(), optimizer=lambda p: nn.optim.Adam(p, lr=0.02), **options)
        t.fit(X, Y, epochs=2, batch_size=8, progress=False)
        listing = [str(p) for p in (*t.step._plans._made.values(), *t.step._updates._made.values())]
        return "\n".join(listing), everything(t)

    comm = Communicator()
    (listing, found), (plain_listing, one) = fit(comm, reduction="ordered", bucket_cap_mb=1e-4), fit(None)
    assert not differences(found, one)
    assert listing == plain_listing and "bucket" not in listing and "allreduce" not in listing
    assert comm._thread is None


def test_a_world_of_one_says_what_several_ranks_say():
    """A script is tried on one rank first: its mistakes are found there."""
    for wrong, said in (({"bucket_cap_mb": -1}, "bucket_cap_mb"), ({"reduction": "sorted"}, "reduction")):
        messages = {str(error_of(comm, **wrong)) for comm in (None, Communicator())}
        assert len(messages) == 1 and said in messages.pop()


def error_of(comm: Communicator | None, **options: Any) -> tx.CallError:
    with pytest.raises(tx.CallError) as error:
        trainer(comm, plain(), **options)
    return error.value
