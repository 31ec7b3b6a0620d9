"""Ranks with unequal data, ranks that differ, losses that are no numbers, callbacks, files."""

from __future__ import annotations

import copy
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import texpr as tx
from tests.distributed.thread_world import run_ranks
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
from texpr.distributed import Communicator, DistributedError


def fitted(
    comm: Communicator | None, x: np.ndarray, y: np.ndarray, size: int, **options: Any
) -> dict[str, object]:
    t = trainer(comm, plain(), metrics=["accuracy", "auc"], **options)
    t.fit(x, y, epochs=2, batch_size=size, progress=False, validation_data=(X, Y))
    assert t.history._samples == [len(x)] * 2, "each example is counted once"
    return everything(t)


# Uneven data


@pytest.mark.parametrize("examples, size, ranks", [(3, 1, 4), (1, 8, 2), (17, 8, 2), (33, 8, 4), (7, 2, 3)])
def test_ranks_may_run_out_first(examples: int, size: int, ranks: int):
    x, y = X[-examples:], Y[-examples:]
    one = fitted(None, x, y, size, accumulate=ranks)
    found = on_ranks(ranks, lambda comm: fitted(comm, x, y, size, reduction="ordered"))
    for each in found:
        assert not differences(each, one), "measurements of all ranks are those of one"


def test_batches_count_by_their_examples():
    """Five ranks with batches of 8, 8, 8, 8 and 5 make the step of one batch of 37."""
    results = []
    for ranks, size in ((None, 37), (5, 8)):

        def fit(comm: Communicator | None, size: int = size) -> dict[str, np.ndarray]:
            nn.manual_seed(0)
            model = nn.Linear(5, 3, dtype="f64")
            t = trainer(comm, model, lambda p: nn.optim.SGD(p, lr=0.5).clip_grad_norm_(0.1))
            t.fit(X, Y, epochs=3, batch_size=size, shuffle=False, progress=False)
            return model.state_dict()

        results.append(fit(None) if ranks is None else on_ranks(ranks, fit)[3])
    for name, value in results[0].items():
        np.testing.assert_allclose(value, results[1][name], rtol=1e-12, err_msg=name)


def test_sharded_loaders():
    def loader(comm: Communicator | None, shuffle: bool = True) -> nn.data.DataLoader:
        return nn.data.DataLoader(nn.data.TensorDataset(X, Y), 8, shuffle, shard=comm)

    def fit(comm: Communicator | None, **options: Any) -> dict[str, object]:
        t = trainer(comm, plain(), metrics=["accuracy"], **options)
        t.fit(loader(comm), epochs=2, progress=False, validation_data=loader(comm, False))
        return {**everything(t), "all": t.evaluate(loader(comm, False)), "own": t.evaluate(X, Y, 8)}

    one = fit(None, accumulate=3)
    for each in on_ranks(3, lambda comm: fit(comm, reduction="ordered")):
        assert not differences(each, one)
        assert each["all"] == each["own"]


def test_a_loader_without_shards_is_refused():
    def fit(comm: Communicator) -> None:
        trainer(comm, plain()).fit(nn.data.DataLoader(nn.data.TensorDataset(X, Y), 8), progress=False)

    assert [str(each) for each in run_ranks(2, fit, 30)] == [
        f"error[data]: the loader gives rank {rank} of 2 all batches, which each rank would train on\n"
        "  help: nn.data.DataLoader(..., shard=comm); ranks with data of their own may give batches by any "
        "other object that is iterated over"
        for rank in range(2)
    ]


def test_ranks_with_data_of_their_own():
    class Own:
        def __init__(self, rank: int) -> None:
            self.rank = rank

        def __iter__(self) -> Any:
            return iter([(X[k : k + 3], Y[k : k + 3]) for k in range(self.rank * 6, 18, 3)])

    def fit(comm: Communicator) -> dict[str, object]:
        t = trainer(comm, plain())
        t.fit(Own(comm.rank), epochs=2, progress=False)
        assert t.history._samples == [30, 30]
        return everything(t)

    first, second = on_ranks(2, fit)
    assert not differences(first, second) and first["steps"] == 12


def test_weights_of_examples():
    weights = np.random.default_rng(1).uniform(size=37)

    def fit(comm: Communicator | None, **options: Any) -> dict[str, object]:
        t = trainer(comm, plain(), **options)
        t.fit(X, Y, epochs=2, batch_size=8, progress=False, sample_weight=weights, class_weight="balanced")
        return everything(t)

    one = fit(None, accumulate=3)
    assert not differences(on_ranks(3, lambda comm: fit(comm, reduction="ordered"))[1], one)


# Losses that are no numbers


def with_nan(comm: Communicator, on_nan: str) -> dict[str, object]:
    x = X.copy()
    x[12] = np.nan
    t = trainer(comm, plain(), on_nan=on_nan, reduction="ordered")
    t.fit(x, Y, epochs=1, batch_size=8, shuffle=False, progress=False)
    return everything(t)


def test_a_loss_that_is_nan_ends_all_ranks():
    first, second = run_ranks(2, lambda comm: with_nan(comm, "raise"), 30)
    assert str(second).startswith("error[nan]: the loss is nan in step 1 (epoch 1)"), second
    assert str(first) == (
        "error[nan]: the loss of rank 1 is nan in step 1 (epoch 1)\n"
        "  help: see what that rank says; the parameters are as they were before this step"
    )


def test_a_loss_that_is_nan_is_left_out():
    """The first update is that of one rank alone."""
    first, second = on_ranks(2, lambda comm: with_nan(comm, "skip"))
    model = plain()
    optimizer = nn.optim.SGD(model.parameters(), lr=0.1)
    step = nn.TrainingStep(model, nn.CrossEntropyLoss(), optimizer, accumulate=2)
    for batches in ([0], [2, 3], [4]):
        for k in batches:
            step(X[8 * k : 8 * k + 8], Y[8 * k : 8 * k + 8])
        step.flush()
    assert not differences(first, second) and first["steps"] == optimizer.steps == 3
    for name, parameter in model.named_parameters():
        assert first[name] == parameter.data.tobytes(), name


# Ranks that differ


def refusal(size: int, fit: Any) -> str:
    found = run_ranks(size, fit, 30)
    assert all(isinstance(each, DistributedError) for each in found), found
    assert len({str(each) for each in found}) == 1
    return str(found[0])


def test_ranks_with_other_models():
    def fit(comm: Communicator) -> None:
        trainer(comm, nn.Linear(5, 3, bias=comm.rank != 1)).fit(X, Y, progress=False)

    assert refusal(3, fit) == (
        "error[ranks]: rank 1 differs from rank 0 in the model\n"
        "    rank 1: line 2 is missing: `model.bias f32[3]`, which rank 0 has\n"
        "  help: give all ranks the same model, arrays, options and versions; a loader with shard=comm shares out the data"
    )


def test_ranks_with_other_optimizers():
    def fit(comm: Communicator) -> None:
        kind = nn.optim.Adam if comm.rank else nn.optim.SGD
        trainer(comm, nn.Linear(5, 3), lambda p: kind(p, lr=0.1)).fit(X, Y, progress=False)

    assert refusal(2, fit) == (
        "error[ranks]: rank 1 differs from rank 0 in the optimizer\n"
        "    rank 1: line 1 is `Adam`, that of rank 0 `SGD`\n"
        "  help: give all ranks the same model, arrays, options and versions; a loader with shard=comm shares out the data"
    )


def test_ranks_with_other_programs():
    class Own(nn.Module):
        def __init__(self, function: Any) -> None:
            super().__init__()
            self.function = function

        def forward(self, x: Any) -> Any:
            return self.function(x)

    def fit(comm: Communicator) -> None:
        function = nn.Tanh().forward if comm.rank == 0 else nn.ReLU().forward
        model = nn.Sequential(nn.Linear(5, 4), Own(function), nn.Linear(4, 3))
        trainer(comm, model).fit(X, Y, progress=False)

    message = refusal(2, fit)
    assert "rank 1 differs from rank 0 in the plan and its buckets" in message
    assert "line 4 is `call of relu`, that of rank 0 `call of tanh`" in message, message


@pytest.mark.parametrize(
    "options, line",
    [
        ({"epochs": 2}, "line 1 is `epochs=2`"),
        ({"batch_size": 4}, "line 2 is `batch_size=4`"),
        ({"resume": "run.safetensors"}, "line 1 is `resume=True`, that of rank 0 `resume=False`"),
        (
            {"validation_data": (X[:7], Y[:7])},
            "line 4 is `validation=True`, that of rank 0 `validation=False`",
        ),
    ],
)
def test_ranks_with_other_arguments_of_fit(options: dict[str, Any], line: str):
    def fit(comm: Communicator) -> None:
        given = {"epochs": 1, "batch_size": 8} | (options if comm.rank == 1 else {})
        trainer(comm, plain()).fit(X, Y, progress=False, **given)  # type: ignore[arg-type]

    for error in run_ranks(2, fit):
        assert isinstance(error, DistributedError) and error.ranks == (1,)
        assert "rank 1 differs from rank 0 in the arguments of fit" in str(error) and line in str(error)


def test_ranks_with_other_data():
    """Arrays of another length: examples would not count once."""

    def fit(comm: Communicator) -> None:
        count = 16 - 4 * comm.rank
        trainer(comm, plain()).fit(X[:count], Y[:count], epochs=1, batch_size=4, progress=False)

    message = refusal(2, fit)
    assert "line 5 is `examples=12`, that of rank 0 `examples=16`" in message, message


def squares(output: Any, target: Any) -> Any:
    """A loss that is no class."""
    return (output * output).sum()


def sums(output: Any, target: Any) -> Any:
    """Another one."""
    return output.sum()


SETTINGS = {
    "a slope": (
        lambda rank: {"model": nn.Sequential(nn.Linear(5, 3), nn.LeakyReLU(0.1 + rank))},
        "line 3 is `  (1): LeakyReLU(slope=1.1)`, that of rank 0 `  (1): LeakyReLU(slope=0.1)`",
    ),
    "a loss": (
        lambda rank: {"loss": nn.CrossEntropyLoss(label_smoothing=rank / 4)},
        "label_smoothing=0.25)`, that of rank 0 `CrossEntropyLoss(",
    ),
    "a function": (lambda rank: {"loss": squares if rank else sums}, "is `squares`, that of rank 0 `sums`"),
    "clipping": (
        lambda rank: {"optimizer": lambda p: nn.optim.SGD(p, lr=0.1).clip_grad_norm_(1.0 + rank)},
        "is `ClipNorm(max_norm=2.0, norm_type=2.0)`, that of rank 0 `ClipNorm(max_norm=1.0, norm_type=2.0)`",
    ),
    "the order": (lambda rank: {"seed": rank}, "line 7 is `seed=1`, that of rank 0 `seed=0`"),
    "a metric of one name": (
        lambda rank: {"metrics": {"m": "accuracy" if rank else lambda output, target: 1.0}},
        "is `metrics={'m': \"Accuracy(top_k=1, name='accuracy')\"}`, that of rank 0 `metrics={'m': '<lambda>.<loc",
    ),
    "metrics": (
        lambda rank: {"metrics": ["accuracy"] * rank},
        "line 8 is `metrics={'accuracy': \"Accuracy(top_k=1, name='accuracy')\"}`, that of rank 0 `metrics={}`",
    ),
}


@pytest.mark.parametrize("name", SETTINGS)
def test_ranks_with_other_settings(name: str):
    """Constants of the step's program, and what decides whose examples a rank takes: ranks would go on
    for long, and give something else.
    """
    make, line = SETTINGS[name]

    def fit(comm: Communicator) -> None:
        trainer(comm, **{"model": plain(), **make(comm.rank)}).fit(X, Y, progress=False)

    message = refusal(2, fit)
    assert "error[ranks]: rank 1 differs from rank 0 in the " in message and line in message, message


def test_ranks_with_arrays_of_other_values():
    """Each has loaded a part of its own, as many as the others."""

    def fit(comm: Communicator) -> None:
        trainer(comm, plain()).fit(X[comm.rank * 16 :][:16], Y[:16], progress=False)

    assert "rank 1: line 9 is `sum_of_some_examples=" in refusal(2, fit)


def test_addresses_of_objects_are_no_difference():
    class Held(nn.Module):
        def extra_repr(self) -> str:
            return f"function={object()}"

        def forward(self, x: Any) -> Any:
            return x

    def fit(comm: Communicator) -> int:
        t = trainer(comm, nn.Sequential(nn.Linear(5, 3), Held()), loss=lambda a, b: (a * a).sum())
        t.fit(X, Y.astype(np.float32), progress=False)
        return t.epoch

    assert on_ranks(2, fit) == [1, 1]


def test_what_is_no_communicator():
    for comm, kind in ((2, "int"), ("mpi", "str"), ((0, 2), "tuple")):
        with pytest.raises(tx.CallError) as error:
            trainer(comm, plain())  # type: ignore[arg-type]
        assert str(error.value) == (
            f"error[arguments]: Trainer: comm is of type {kind}, expected a dist.Communicator\n"
            "  help: comm = dist.init(); of mpi4py's or torch's, dist.init(theirs)"
        )


def test_ranks_with_other_buckets():
    def fit(comm: Communicator) -> None:
        trainer(comm, plain(), bucket_cap_mb=25 if comm.rank else 1e-5).fit(X, Y, progress=False)

    assert "is `allreduce of bucket 0: " in refusal(2, fit)


def test_a_rank_that_freezes_a_layer_alone():
    def fit(comm: Communicator) -> None:
        def freeze(t: Any, *_: object) -> None:
            if comm.rank == 1:
                t.model[0].requires_grad_(False)

        freeze.every_rank = True  # type: ignore[attr-defined]
        trainer(comm, plain()).fit(X, Y, epochs=2, progress=False, callbacks=[freeze])

    assert "rank 1 differs from rank 0 in the plan and its buckets" in refusal(2, fit)


class Chosen(nn.Module):
    """Two layers of one shape, of which each rank takes one; a factor of each rank."""

    def __init__(self, second: bool, factor: Any) -> None:
        super().__init__()
        self.a, self.b = nn.Linear(5, 3), nn.Linear(5, 3)
        self.second, self.factor = second, factor

    def forward(self, x: Any) -> Any:
        return (self.b if self.second else self.a)(x) * self.factor


@pytest.mark.filterwarnings("ignore:the loss does not depend")
@pytest.mark.parametrize(
    "make, what, line",
    [
        (
            lambda rank: Chosen(rank == 1, 1.0),
            "the plan and its buckets",
            "is `allreduce of bucket 0: b.weight f32[3, 5]`, that of rank 0 `allreduce of bucket 0: "
            "a.weight f32[3, 5]`",
        ),
        (
            lambda rank: Chosen(False, 1.0 + rank),
            "the program of a step",
            "line 3 is `constant is 2. f32[], digest 57989e8c`, that of rank 0 `constant is 1. f32[], digest ",
        ),
        (
            lambda rank: Chosen(False, np.float32([0, 1, 2]) + np.float32(rank)),
            "the program of a step",
            "line 3 is `constant is [1. 2. 3.] f32[3], digest ",
        ),
    ],
    ids=["another layer", "another number", "another array"],
)
@pytest.mark.parametrize("size", [8, 30])
def test_ranks_whose_programs_differ_in_what_they_take(make: Any, what: str, line: str, size: int):
    """Of batches of 30 examples, rank 1 has one of seven: programs of other shapes."""

    def fit(comm: Communicator) -> None:
        trainer(comm, make(comm.rank)).fit(X, Y, epochs=2, batch_size=size, progress=False)

    message = refusal(2, fit)
    assert f"rank 1 differs from rank 0 in {what}" in message and line in message, message


def test_ranks_with_callbacks_of_their_own():
    """One that stops, and then restores the best values, does so on all ranks or on none."""

    def fit(comm: Communicator) -> None:
        stop = nn.callbacks.EarlyStopping("loss", restore_best=True)
        trainer(comm, plain()).fit(X, Y, progress=False, callbacks=[stop] * comm.rank)

    assert "is `callbacks_of_every_rank=['EarlyStopping(loss, min)']`, that of rank 0" in refusal(2, fit)


def test_a_callback_that_changes_the_model_at_the_end():
    class Changing(nn.callbacks.Callback):
        def on_train_end(self, trainer: Any) -> None:
            trainer.model[0].weight.data = trainer.model[0].weight.data + 1

    def fit(comm: Communicator) -> None:
        trainer(comm, plain()).fit(X, Y, progress=False, callbacks=[Changing()])

    assert "rank 1 are no longer those of rank 0 at the end of fit" in refusal(2, fit)


def test_a_callback_that_changes_the_model_of_one_rank():
    def fit(comm: Communicator) -> None:
        def change(t: Any, *_: object) -> None:
            t.model[0].weight.data = t.model[0].weight.data + 1

        trainer(comm, plain()).fit(X, Y, epochs=2, progress=False, callbacks=[change])

    assert refusal(2, fit) == (
        "error[ranks]: the parameters of rank 1 are no longer those of rank 0 after epoch 1\n"
        "  help: a callback that changes the model runs on every rank: every_rank = True"
    )


def test_ranks_begin_with_what_rank_0_has():
    def fit(comm: Communicator) -> dict[str, object]:
        nn.manual_seed(comm.rank)
        t = trainer(comm, nn.Sequential(nn.Linear(5, 4), nn.Dropout(0.5), nn.Linear(4, 3)))
        t.fit(X, Y, progress=False)
        return everything(t)

    first, second = on_ranks(2, fit)
    assert not differences(first, second)


def test_frozen_layers_and_more_stages():
    """Layers that are frozen on all ranks are another plan and other buckets."""

    def fit(comm: Communicator | None, **options: Any) -> dict[str, object]:
        t = trainer(comm, plain(), lambda p: nn.optim.Adam(p, lr=0.05), **options)
        for trained in (False, True):
            t.model[0].requires_grad_(trained)  # type: ignore[index]
            t.fit(X, Y, epochs=1, batch_size=8, progress=False)
        return everything(t)

    one = fit(None, accumulate=2)
    assert not differences(on_ranks(2, lambda comm: fit(comm, reduction="ordered"))[1], one)


# Callbacks


class Heard(nn.callbacks.Callback):
    def __init__(self, every_rank: bool) -> None:
        self.every_rank, self.steps, self.epochs = every_rank, 0, 0

    def on_step_end(self, trainer: Any, step: int, values: Any) -> None:
        self.steps = step

    def on_epoch_end(self, trainer: Any, epoch: int, values: Any) -> bool:
        self.epochs += 1
        return epoch == 1


@pytest.mark.parametrize("every_rank", [False, True])
def test_callbacks_are_called_on_rank_0(every_rank: bool, capsys: pytest.CaptureFixture[str]):
    def fit(comm: Communicator) -> tuple[int, int, int]:
        heard = Heard(every_rank)
        t = trainer(comm, plain())
        t.fit(X, Y, epochs=5, batch_size=8, callbacks=[heard])
        return heard.steps, heard.epochs, t.epoch

    first, second = on_ranks(2, fit)
    assert first == (6, 2, 2), "its word ends the training on all ranks"
    assert second == (first if every_rank else (0, 0, 2))
    assert capsys.readouterr().out.count("epoch 1/5") == 1


def test_stopping_early_restores_the_best_on_all_ranks():
    def fit(comm: Communicator | None, **options: Any) -> dict[str, object]:
        t = trainer(comm, plain(), lambda p: nn.optim.SGD(p, lr=20.0), **options)
        stop = nn.callbacks.EarlyStopping("loss", patience=2, restore_best=True)
        t.fit(X, Y, epochs=20, batch_size=8, progress=False, callbacks=[stop])
        return everything(t)

    one = fit(None, accumulate=2)
    assert 2 < len(one["history"]["loss"]) < 20  # type: ignore[index]
    found = on_ranks(2, lambda comm: fit(comm, reduction="ordered"))
    assert not differences(found[0], one) and not differences(found[1], one)


# Files


class Stop(Exception):
    """The end of a process."""


def stopped_after(steps: int) -> nn.callbacks.Callback:
    class Stopping(nn.callbacks.Callback):
        every_rank = saves = True

        def on_step_end(self, trainer: Any, step: int, values: Any) -> None:
            if step == steps:
                raise Stop

    return Stopping()


def run(comm: Communicator | None, path: Path | None, stop: int = 0, **options: Any) -> dict[str, object]:
    t = trainer(comm, network(), lambda p: nn.optim.Adam(p, lr=0.02), metrics=["accuracy"], **options)
    callbacks = [nn.callbacks.Checkpoint(path, every=1)] if path else []
    try:
        t.fit(
            X,
            Y,
            epochs=3,
            batch_size=5,
            progress=False,
            resume=path,
            callbacks=[*callbacks, *([stopped_after(stop)] if stop else [])],
        )
    except Stop:
        return {}
    return everything(t)


@pytest.mark.parametrize("stop", [1, 6])
def test_a_training_goes_on_as_if_it_had_never_stopped(tmp_path: Path, stop: int):
    path = tmp_path / "run.safetensors"
    whole = on_ranks(2, lambda comm: run(comm, None))
    on_ranks(2, lambda comm: run(comm, path, stop))
    assert path.exists()
    found = on_ranks(2, lambda comm: run(comm, path))
    assert not differences(found[0], whole[0]) and not differences(found[1], whole[0])


@pytest.mark.parametrize("before, after", [(2, 3), (4, 1), (1, 2)])
def test_a_training_goes_on_on_another_number_of_ranks(tmp_path: Path, before: int, after: int):
    paths = [tmp_path / f"{n}.safetensors" for n in ("run", "one")]
    on_ranks(before, lambda comm: run(comm, paths[0], 2, reduction="ordered"))
    paths[1].write_bytes(paths[0].read_bytes())
    one = run(None, paths[1], accumulate=after)
    found = on_ranks(after, lambda comm: run(comm, paths[0], reduction="ordered"))
    for each in found:
        assert not differences(each, one)


def test_a_damaged_file_is_an_error_on_all_ranks(tmp_path: Path):
    path = tmp_path / "run.safetensors"
    path.write_bytes(b"nothing")
    found = run_ranks(2, lambda comm: run(comm, path), 30)
    assert [type(each) for each in found] == [tx.CheckpointError] * 2, found
    assert str(found[0]) == str(found[1])


def test_a_file_that_cannot_be_read_is_an_error_on_all_ranks(tmp_path: Path):
    first, second = run_ranks(2, lambda comm: run(comm, tmp_path), 30)
    assert isinstance(first, IsADirectoryError) and isinstance(second, DistributedError)
    assert str(second).startswith("error[ranks]: rank 0 has failed: IsADirectoryError: [Errno 21]"), second


def test_rank_0_writes(tmp_path: Path):
    def save(comm: Communicator) -> bool:
        path = tmp_path / f"{comm.rank}.safetensors"
        trainer(comm, plain()).save(path)
        return path.exists()

    assert on_ranks(2, save) == [True, False]


def test_copies_go_on_alike_and_alone():
    """With sums of gradients that wait for the second batch of a step, too."""

    def fit(comm: Communicator) -> tuple[list[dict[str, object]], bool]:
        t = trainer(comm, plain(), accumulate=2)
        t.fit(X, Y, epochs=1, batch_size=8, progress=False)
        other = copy.deepcopy(t)
        before = everything(t)
        other.fit(X, Y, epochs=1, batch_size=8, progress=False)
        stays = not differences(everything(t), before)
        t.fit(X, Y, epochs=1, batch_size=8, progress=False)
        return [everything(t), everything(other)], stays

    for (first, second), stays in on_ranks(2, fit):
        assert stays and not differences(first, second)
