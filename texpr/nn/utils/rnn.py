"""Sequences of several lengths for recurrent layers, with torch's names.

A `PackedSequence` is the padded tensor and the lengths, and recurrences stop at them: `lengths` is
an input of their operators. Inside of a program that is captured, lengths may be one of its inputs;
then it serves all of them, and padded tensors keep their time.
"""

from __future__ import annotations

from collections.abc import Sequence
from functools import lru_cache
from typing import Any

import numpy as np

from texpr import ops
from texpr.compiler import Op, op
from texpr.graph import Symbolic
from texpr.graph.lazy import Tensor
from texpr.nn.core.argument_checks import one_of, whole
from texpr.nn.modules.packed_sequence import PackedSequence
from texpr.support.errors import CallError
from texpr.support.tracebacks import boundary

__all__ = [
    "PackedSequence",
    "pack_padded_sequence",
    "pack_sequence",
    "pad_packed_sequence",
    "pad_sequence",
    "unpack_sequence",
    "unpad_sequence",
]


@boundary
def pack_padded_sequence(
    input: Any, lengths: Any, batch_first: bool = False, enforce_sorted: bool = True
) -> PackedSequence:
    """Packed sequences: the first `lengths[n]` elements of each sequence of a padded tensor.

    Args:
        input: (time, batch, ...), or (batch, time, ...) with `batch_first`.
        lengths: (batch,), from 1 to the time.
        batch_first: the batch is axis 0.
        enforce_sorted: accepted as torch's; sequences stay in their order.
    Raises:
        CallError: lengths that are not one integer of 1 to the time for each sequence.
    Example:
        >>> packed = nn.utils.rnn.pack_padded_sequence(tx.ones(4, 2, 3), [4, 1])
        >>> packed.batch_sizes.tolist()
        [2, 1, 1, 1]
    """
    x = _tensor("pack_padded_sequence", input)
    if x.ndim < 2:
        raise CallError(
            f"pack_padded_sequence: the input has {x.ndim} dimensions, expected (time, batch, ...)",
            code="rank",
        )
    x = ops.swap_axes(x) if batch_first else x
    if isinstance(lengths, Symbolic):
        return PackedSequence(
            _packed(any(lengths.tensor is t for t in lengths.capture.inputs))(x, lengths), lengths
        )
    known = _lengths("pack_padded_sequence", lengths, x.shape[1], x.shape[0])
    return PackedSequence(ops.pad_lengths(ops.slice(x, count=int(known.max())), known), known)


@boundary
def pad_packed_sequence(
    sequence: PackedSequence,
    batch_first: bool = False,
    padding_value: float = 0.0,
    total_length: int | None = None,
) -> tuple[Any, Any]:
    """Padded tensor of packed sequences, and their lengths.

    Args:
        sequence: the packed sequences.
        batch_first: give (batch, time, ...), not (time, batch, ...).
        padding_value: behind the ends.
        total_length: the time that the tensor is to have.
    Raises:
        CallError: it is below the time that the sequences take.
    Example:
        >>> packed = nn.utils.rnn.pack_padded_sequence(tx.ones(4, 2, 3), [4, 1])
        >>> padded, lengths = nn.utils.rnn.pad_packed_sequence(packed)
        >>> padded.shape, lengths.tolist()
        ((4, 2, 3), [4, 1])
    """
    time = sequence.padded.shape[0]
    total = time if total_length is None else whole("pad_packed_sequence", "total_length", total_length)
    if total < time:
        raise CallError(
            f"pad_packed_sequence: total_length is {total}, and the sequences take {time}", code="arguments"
        )
    x = _longer(sequence.padded, total)
    x = ops.pad_lengths(x, sequence.lengths, value=float(padding_value)) if padding_value else x
    return ops.swap_axes(x) if batch_first else x, sequence.lengths


@boundary
def pad_sequence(
    sequences: Sequence[Any],
    batch_first: bool = False,
    padding_value: float = 0.0,
    padding_side: str = "right",
) -> Any:
    """Padded tensor of a list of (time, ...) tensors of several lengths.

    Args:
        sequences: (time, ...) each.
        batch_first: give (sequences, longest, ...), not (longest, sequences, ...).
        padding_value: behind the ends.
        padding_side: "right" or "left".
    Raises:
        CallError: there are none, or they differ behind the first axis.
    Example:
        >>> nn.utils.rnn.pad_sequence([np.ones((3, 2)), np.ones((1, 2))]).shape
        (3, 2, 2)
    """
    one_of("pad_sequence", "padding_side", padding_side, ("left", "right"))
    found = _listed("pad_sequence", sequences)
    longest = max(x.shape[0] for x in found)
    every = [_longer(x, longest, float(padding_value), padding_side == "left") for x in found]
    return ops.stack(every, axis=0 if batch_first else 1)


@boundary
def unpad_sequence(padded_sequences: Any, lengths: Any, batch_first: bool = False) -> list[Any]:
    """List of the first `lengths[n]` elements of each sequence of a padded tensor.

    Args:
        padded_sequences: (time, batch, ...), or (batch, time, ...) with `batch_first`.
        lengths: (batch,), from 1 to the time.
    Raises:
        CallError: lengths that are not one integer of 1 to the time for each sequence, or computed
            ones.
    Example:
        >>> [s.shape for s in nn.utils.rnn.unpad_sequence(tx.ones(4, 2, 3), [4, 1])]
        [(4, 3), (1, 3)]
    """
    x = _tensor("unpad_sequence", padded_sequences)
    x = x if batch_first else ops.swap_axes(x)
    known = PackedSequence(x, lengths).known_lengths()
    return [
        ops.slice(ops.pick(x, axis=0, at=n), count=int(length))
        for n, length in enumerate(_lengths("unpad_sequence", known, x.shape[0], x.shape[1]))
    ]


@boundary
def pack_sequence(sequences: Sequence[Any], enforce_sorted: bool = True) -> PackedSequence:
    """Packed sequences of a list of (time, ...) tensors of several lengths.

    Args:
        sequences: (time, ...) each.
        enforce_sorted: accepted as torch's; sequences stay in their order.
    Raises:
        CallError: there are none, or they differ behind the first axis.
    Example:
        >>> packed = nn.utils.rnn.pack_sequence([np.ones((3, 2)), np.ones((1, 2))])
        >>> packed.padded.shape
        (3, 2, 2)
    """
    found = _listed("pack_sequence", sequences)
    return pack_padded_sequence(
        pad_sequence(found), [x.shape[0] for x in found], enforce_sorted=enforce_sorted
    )


@boundary
def unpack_sequence(packed_sequences: PackedSequence) -> list[Any]:
    """List of the sequences, each on its own.

    Raises: nothing of its own.
    Example:
        >>> packed = nn.utils.rnn.pack_padded_sequence(tx.ones(4, 2, 3), [4, 1])
        >>> [s.shape for s in nn.utils.rnn.unpack_sequence(packed)]
        [(4, 3), (1, 3)]
    """
    return unpad_sequence(packed_sequences.padded, packed_sequences.lengths)


@lru_cache
def _packed(checked: bool) -> Op:
    """`pad_lengths` with a check of lengths that are data; computed ones end where the tensor
    does.
    """
    return op(f"""op packed<T: num>(X: T[L, B, *D], lengths: i64[B]{" in 1..L + 1" * checked}) -> Y: T[L, B, *D] {{
  Y[t, n, *d] = if t < lengths[n] then X[t, n, *d] else 0
}}""")


def _longer(x: Any, time: int, value: float = 0.0, before: bool = False) -> Any:
    """Elements of this value behind those of the first axis, or before them, until there are so
    many.
    """
    missing = time - x.shape[0]
    if not missing:
        return x
    floats = x.dtype.kind == "f" if isinstance(x, np.ndarray) else x.dtype.is_float
    return ops.pad(
        x, before=missing * before, after=missing * (not before), value=value if floats else int(value)
    )


def _tensor(function: str, value: Any) -> Any:
    """A value with a shape: a tensor as it is, any other value as an array."""
    found = value if isinstance(value, Symbolic | Tensor) else np.asarray(value)
    if isinstance(found, np.ndarray) and found.dtype == object:
        raise CallError(
            f"{function}: the input is a {type(value).__name__}, expected one tensor", code="type"
        )
    return found


def _listed(function: str, sequences: Sequence[Any]) -> list[Any]:
    found = [_tensor(function, x) for x in sequences]
    if not found or any(x.ndim == 0 for x in found):
        raise CallError(f"{function}: expected a list of at least one tensor (time, ...)", code="arguments")
    for k, x in enumerate(found):
        if x.shape[1:] != found[0].shape[1:]:
            raise CallError(
                f"{function}: sequence {k} is {list(x.shape)}, the first {list(found[0].shape)}: they may "
                f"differ in the first "
                "axis alone",
                code="shape",
            )
    return found


def _lengths(function: str, lengths: Any, batch: int, time: int) -> np.ndarray:
    found = np.asarray(lengths)
    if found.shape != (batch,) or found.dtype.kind not in "iu":
        raise CallError(
            f"{function}: lengths are {found.dtype}{list(found.shape)}, expected {batch} integers",
            code="shape",
        )
    wrong = np.flatnonzero((found < 1) | (found > time))
    if wrong.size:
        raise CallError(
            f"{function}: lengths[{wrong[0]}] is {found[wrong[0]]}, expected 1 to {time}", code="range"
        )
    return found.astype(np.int64)
