"""Where the threads of a block must wait for each other: which memory they have used since they last met."""

from __future__ import annotations

from collections.abc import Mapping, Set
from dataclasses import dataclass, field

from texpr.ir.expr import Expr, Read, Tensor, Var
from texpr.ir.loop import Alloc, Stmt, Store
from texpr.ir.traverse import walk

Owner = frozenset[tuple[str, int]]
"""Pairs (axis, d): thread t of that axis uses only elements with index t at dimension d. d = -1: thread 0 does it all, -2: each thread
has a buffer of its own."""


@dataclass(frozen=True, slots=True)
class Use:
    """How a tensor was used."""

    written: bool
    owner: Owner


@dataclass(slots=True)
class Uses:
    """How each tensor was used since the threads last met."""

    by_tensor: dict[Tensor, Use] = field(default_factory=dict)

    def add(self, other: Uses) -> None:
        """Take the uses of `other` in."""
        for tensor, use in other.by_tensor.items():
            before = self.by_tensor.get(tensor)
            if before is not None:
                use = Use(before.written or use.written, before.owner & use.owner)
            self.by_tensor[tensor] = use

    def copy(self) -> Uses:
        """An independent copy."""
        return Uses(dict(self.by_tensor))

    def conflicts(self, later: Uses, axes: Set[str]) -> bool:
        """Whether an element may be used here and in `later` by different threads, one of them writing."""
        return any(
            (use.written or after.written) and {axis for axis, _ in use.owner & after.owner} != axes
            for tensor, after in later.by_tensor.items()
            if (use := self.by_tensor.get(tensor)) is not None
        )


def uses_of(body: tuple[Stmt, ...], threads: Mapping[Var, str], single: Set[str], copies: Mapping[Tensor, Set[str]]) -> Uses:
    """The uses by some statements. Tensors allocated inside belong to one thread and do not count, as do registers.

    Args:
        threads: the axis of each variable that is the index of a thread.
        single: axes along which thread 0 runs all of `body`.
        copies: axes of whose threads each has a buffer of its own.
    """
    own = {s.tensor for s in walk(*body) if isinstance(s, Alloc)}
    found = Uses()
    for node in walk(*body):
        if isinstance(node, Read | Store) and node.tensor not in own and node.tensor.scope != "register":
            found.add(Uses({node.tensor: Use(isinstance(node, Store), _owner(node.indices, threads, single) | _own(copies, node.tensor))}))
    return found


def _owner(indices: tuple[Expr, ...], threads: Mapping[Var, str], single: Set[str]) -> Owner:
    by_index = {(threads[i], d) for d, i in enumerate(indices) if isinstance(i, Var) and i in threads}
    return frozenset(by_index | {(axis, -1) for axis in single})


def _own(copies: Mapping[Tensor, Set[str]], tensor: Tensor) -> Owner:
    return frozenset((axis, -2) for axis in copies.get(tensor, ()))
