"""Work that the ranks of a training do together besides steps."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Mapping, Sequence
from inspect import isroutine
from itertools import chain, zip_longest
from typing import Any, TypeVar
from zlib import crc32

import numpy as np

from texpr.distributed import Communicator, DistributedError, broadcast_optimizer_state
from texpr.distributed.start import communicator
from texpr.graph import Variable
from texpr.nn.core.module import Module
from texpr.nn.optim import Optimizer
from texpr.nn.training.batches import Batches
from texpr.nn.training.callbacks import Callback
from texpr.nn.training.precision import LossScale
from texpr.support.errors import CheckpointError

T = TypeVar("T")
_ADDRESS = re.compile(r" at 0x[0-9a-f]+")
"""The place of an object, in what Python says of it: different in each process."""


def team_of(comm: Communicator) -> Team | None:
    """The ranks of a communicator; None for a world of one.

    Raises:
        CallError: `comm` is no communicator.
    """
    return None if communicator(comm, "Trainer: comm").size == 1 else Team(comm)


class Team:
    """The ranks of a training.

    Args:
        comm: of two ranks at least.
    """

    def __init__(self, comm: Communicator) -> None:
        self.comm = comm

    @property
    def shard(self) -> tuple[int, int]:
        """This rank, and how many there are."""
        return self.comm.rank, self.comm.size

    def heard(self, callbacks: Iterable[Callback]) -> list[Callback]:
        """The callbacks that are called on this rank."""
        return [c for c in callbacks if self.comm.is_main or c.every_rank]

    def of_main(self, make: Callable[[], T]) -> T:
        """The value that rank 0 makes, on every rank.

        Raises:
            CheckpointError: rank 0 has raised it.
            DistributedError: rank 0 has raised another error; there it is that one.
        """
        found: T | None = None
        failure: Exception | None = None
        if self.comm.is_main:
            try:
                found = make()
            except Exception as error:  # else the others would wait for a value
                failure = error
        said = (
            failure if isinstance(failure, CheckpointError | None) else f"{type(failure).__name__}: {failure}"
        )
        value, said = self.comm.broadcast_object((found, said))
        if failure is not None:
            raise failure
        if isinstance(said, CheckpointError):
            raise said
        if said is not None:
            raise DistributedError(f"rank 0 has failed: {said}", [0], code="ranks")
        return value

    def any(self, flag: bool) -> bool:
        """True if it is on one rank."""
        return bool(self.comm.allreduce(int(flag), op="max"))

    def share(self, variables: Mapping[str, Variable], optimizer: Optimizer, scale: LossScale | None) -> None:
        """Let all ranks have the parameters, buffers, and the state of the optimizer that rank 0
        has.

        Args:
            variables: by their dotted names.
        Raises:
            DistributedError: models or optimizers of ranks are of different parts.
        """
        lines = (f"{name} {v.dtype}{list(v.shape)}" for name, v in variables.items())
        self.comm.compare("the model", "\n".join(lines))
        for v in variables.values():
            value = self.comm.broadcast(v.held())
            if not self.comm.is_main:
                v.data = value
        broadcast_optimizer_state(optimizer, comm=self.comm)
        given = self.comm.broadcast_object(None if scale is None else scale.state_dict())
        if scale is not None and not self.comm.is_main:
            scale.load_state_dict(given)

    def same_arguments(self, **arguments: object) -> None:
        """Raise DistributedError unless all ranks give `fit` the same: one that has fewer epochs would
        leave the others waiting.
        """
        lines = (f"{name}={value}" for name, value in arguments.items())
        self.comm.compare("the arguments of fit", "\n".join(lines))

    def same_parts(self, model: Module, loss: object, optimizer: Optimizer) -> None:
        """Raise DistributedError unless layers, losses and clipping have the same settings, which are
        constants of the step's program.
        """
        parts = [repr(model), settings_of(loss), *map(settings_of, optimizer.structure()[1])]
        self.comm.compare("the layers, the loss and the clipping", _ADDRESS.sub("", "\n".join(parts)))

    def check_same(self, variables: Iterable[Variable], when: str) -> None:
        """Raise DistributedError unless all ranks have the same values.

        Args:
            when: of the message, such as "after epoch 1".
        """
        found = 0
        for v in variables:
            found = crc32(np.ascontiguousarray(v.held()), found)  # type: ignore[arg-type]
        numbers = self.comm.allgather(np.array([found], np.int64)).tolist()
        wrong = [rank for rank, number in enumerate(numbers) if number != numbers[0]]
        if wrong:
            raise DistributedError(
                f"the parameters of rank {wrong[0]} are no longer those of rank 0 {when}",
                wrong,
                code="ranks",
                help="a callback that changes the model runs on every rank: every_rank = True",
            )

    def in_turn(self, rows: Iterable[T]) -> list[T]:
        """The rows of all ranks in the order of the batches, which ranks take in turn."""
        gathered: list[list[T]] = self.comm.gather_object(list(rows))
        missing: Any = object()
        turns = zip_longest(*gathered, fillvalue=missing)
        return [each for each in chain.from_iterable(turns) if each is not missing]


def choices(
    data: Batches, validation: Batches | None, metrics: Mapping[str, object], callbacks: Sequence[Callback]
) -> dict[str, object]:
    """Choices that are the same on all ranks: whose examples they take, what they measure, and who is
    called on every rank, since it may change the model.
    """
    from texpr import __version__  # the package itself, which imports this module

    about, held = data.about(), {} if validation is None else validation.about()
    return {
        "examples": about.get("examples"),
        "examples_of_validation": held.get("examples"),
        "seed": about.get("seed") if about.get("shuffle") else None,
        "metrics": {name: settings_of(metric) for name, metric in metrics.items()},
        "sum_of_some_examples": data.sample(),
        "callbacks_of_every_rank": [c.key() for c in callbacks if c.every_rank],
        "version_of_texpr": __version__,
    }


def settings_of(part: object) -> str:
    """The name of a loss, a metric or a clipping, with the numbers and words that it holds."""
    if isroutine(part) or not hasattr(part, "__dict__"):
        return str(getattr(part, "__qualname__", type(part).__name__))
    held = {n: v.data.tolist() if isinstance(v, Variable) else v for n, v in vars(part).items()}
    said = (
        f"{n}={v!r}"
        for n, v in held.items()
        if n[0] != "_" and isinstance(v, bool | int | float | str | list)
    )
    return f"{type(part).__name__}({', '.join(said)})"
