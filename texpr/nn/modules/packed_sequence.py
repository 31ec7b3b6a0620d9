"""Sequences of several lengths in one tensor."""

from __future__ import annotations

from typing import Any

import numpy as np

from texpr import ops
from texpr.graph import Symbolic
from texpr.graph.lazy import Tensor
from texpr.support.errors import CallError
from texpr.support.frozen_dataclass import frozen_by_identity


@frozen_by_identity
class PackedSequence:
    """Sequences of several lengths beside each other; shapes do not depend on data, so one program
    serves all lengths.

    Attributes:
        padded: (time, batch, ...), 0 behind the ends.
        lengths: (batch,) i64.
    Raises: nothing of its own.
    Example:
        >>> packed = nn.utils.rnn.pack_sequence([np.ones((3, 2)), np.ones((1, 2))])
        >>> packed.batch_sizes.tolist()
        [2, 1, 1]
    """

    padded: Any
    lengths: Any

    @property
    def batch_sizes(self) -> np.ndarray:
        """Number of sequences that go on at each time.

        Raises:
            CallError: the lengths are computed, or given when a program runs.
        """
        return (self.known_lengths()[:, None] > np.arange(self.padded.shape[0])).sum(0)

    @property
    def data(self) -> Any:
        """The elements alone, (elements, ...): those of the first time, longer sequences first,
        then those of the second.

        Raises:
            CallError: the lengths are computed, or given when a program runs.
        """
        lengths, (time, batch) = self.known_lengths(), self.padded.shape[:2]
        longest_first = np.argsort(-lengths, kind="stable")
        places = [t * batch + n for t in range(time) for n in longest_first if t < lengths[n]]
        return ops.take(
            self.padded.reshape((time * batch, *self.padded.shape[2:])), np.array(places, np.int64)
        )

    def known_lengths(self) -> np.ndarray:
        """The lengths as numbers.

        Raises:
            CallError: they are computed, or given when a program runs.
        """
        if isinstance(self.lengths, Symbolic):
            raise CallError(
                "the lengths of a packed sequence are an input of the program, and shapes do not depend on "
                "data",
                code="symbolic",
                help="use .padded and .lengths",
            )
        return self.lengths.numpy() if isinstance(self.lengths, Tensor) else np.asarray(self.lengths)
