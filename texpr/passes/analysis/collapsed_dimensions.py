"""Dimensions of temporaries that joined loops run through as one.

    T[ij // 8, ij % 8, k]   ->   T[ij, k]

One iteration of a loop over tiles of `ij` uses no box of the dimensions on the left, since it may
begin in one row and end in the next; on the right it does.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from math import prod

from texpr.ir.affine import Linear
from texpr.ir.build import floordiv, integer, mod
from texpr.ir.expr import Expr, FloorDiv, Mod, Node, Read, Tensor, index, plain
from texpr.ir.extern import passed
from texpr.ir.loop import Kernel, Prefetch, Store
from texpr.ir.traverse import rewrite, walk
from texpr.passes.analysis.row_major import flat_index
from texpr.passes.analysis.substitution import over_tensors
from texpr.support.frozen_dataclass import frozen, replace


@frozen
class Joined:
    """A tensor whose neighbouring dimensions are taken together.

    Attributes:
        tensor: as it was.
        groups: its dimensions, those together that are one now.
    """

    tensor: Tensor
    groups: tuple[tuple[int, ...], ...]

    @property
    def shape(self) -> tuple[Expr, ...]:
        return tuple(
            self.tensor.shape[g[0]] if len(g) == 1 else index(prod(self._sizes(g))) for g in self.groups
        )

    def indices(self, old: Sequence[Expr]) -> tuple[Expr, ...]:
        """Indices of an element in the collapsed tensor."""
        return tuple(old[g[0]] if len(g) == 1 else _flat(self.tensor, g, old).expr() for g in self.groups)

    def apart(self, new: Sequence[Expr]) -> tuple[Expr, ...]:
        """The dimensions of the tensor as it was: what `indices` undoes."""
        found: list[Expr] = []
        for group, i in zip(self.groups, new):
            sizes = self._sizes(group)[1:] if len(group) > 1 else []
            digits: list[Expr] = []
            for n in reversed(sizes):
                digits.insert(0, mod(i, index(n)))
                i = floordiv(i, index(n))
            found += [i, *digits]
        return tuple(found)

    def _sizes(self, group: Iterable[int]) -> list[int]:
        return [integer(self.tensor.shape[d]) or 0 for d in group]


def joined(tensor: Tensor, uses: Sequence[Sequence[Expr]]) -> Joined | None:
    """The tensor with the fewest dimensions taken together such that no index in them is a quotient
    or a rest; None where no index is one, or where some would be all the same.
    """
    if not any(map(_divides, uses)):
        return None
    groups: list[tuple[int, ...]] = []
    d = 0
    while d < tensor.rank:
        size = next(
            (
                n
                for n in range(1, tensor.rank - d + 1)
                if all(_is_whole(tensor, range(d, d + n), i) for i in uses)
            ),
            None,
        )
        if size is None:
            return None
        groups.append(tuple(range(d, d + size)))
        d += size
    return Joined(tensor, tuple(groups)) if len(groups) < tensor.rank else None


def with_joined(kernel: Kernel, how: Mapping[Tensor, Joined]) -> Kernel:
    """The kernel with dimensions of temporaries taken together."""
    return (
        redirected(kernel, {t: (replace(t, dims=plain(*j.shape)), j) for t, j in how.items()})
        if how
        else kernel
    )


def redirected(kernel: Kernel, others: Mapping[Tensor, tuple[Tensor, Joined]]) -> Kernel:
    """The kernel with each of some tensors replaced by one with joined dimensions."""

    def rule(node: Node) -> Node | None:
        if isinstance(node, Read | Store | Prefetch) and node.tensor in others:
            tensor, how = others[node.tensor]
            return replace(node, tensor=tensor, indices=how.indices(node.indices))
        return None

    return over_tensors(rewrite(kernel, rule), {t: small for t, (small, _) in others.items()})


def joined_temporaries(kernel: Kernel) -> dict[Tensor, Joined]:
    """Temporaries of which some dimensions are only used as one."""
    outside = passed(kernel)
    uses: dict[Tensor, list[tuple[Expr, ...]]] = {
        t: [] for t in kernel.temporaries if t.rank > 1 and t.scope == "global" and t not in outside
    }
    for node in walk(kernel):
        if isinstance(node, Read | Store | Prefetch) and node.tensor in uses:
            uses[node.tensor].append(node.indices)
    return {t: how for t, at in uses.items() if (how := joined(t, at)) is not None}


def _divides(indices: Sequence[Expr]) -> bool:
    return any(isinstance(i, FloorDiv | Mod) for i in walk(*indices))


def _is_whole(tensor: Tensor, dims: Sequence[int], indices: Sequence[Expr]) -> bool:
    """True if the position within these dimensions is no quotient and no rest."""
    if len(dims) > 1 and any(integer(tensor.shape[d]) is None for d in dims):
        return False
    form = _flat(tensor, dims, indices) if len(dims) > 1 else None
    return not _divides([indices[dims[0]]] if form is None else [t for t, _ in form.terms])


def _flat(tensor: Tensor, dims: Sequence[int], indices: Sequence[Expr]) -> Linear:
    return flat_index(
        replace(tensor, dims=plain(*(tensor.shape[d] for d in dims))), tuple(indices[d] for d in dims)
    )
