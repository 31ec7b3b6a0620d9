"""Correspondence of the nests and loops of a derivative with those of the operator that it was
derived from.

A nest of a gradient that makes `dX` out of `dY` stands for the nests by which `Y` depends on `X`; a
nest that computes a tensor of the operator again stands for the one that did so before. Loops are
the same where they run along the same dimension of a tensor: `X` and its derivative `dX` have the
same dimensions, so in `dB[k, j] = sum(i: dC[i, j] * A[i, k])` the loops i, j, k are those of the
product.

Where a loop over elements has become one over the terms of a sum, and another the other way round,
they change places: i of the product is k in `dB`, so that what is shared among threads or lanes
there are elements again, and what is read again and again is read again here.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field

from texpr.ir.expr import Expr, Read, Var
from texpr.ir.loop import For, Kernel, Store
from texpr.ir.traverse import variables, walk
from texpr.schedule.structure.loops import paths


@dataclass
class Equations:
    """Loops and accesses of the nests of one label.

    Attributes:
        loops: their names, outermost first.
        axes: those of them that say which element is computed; the others run along reductions.
        accesses: tensors with the indices they are used at.
    """

    label: str
    loops: dict[str, Var] = field(default_factory=dict)
    axes: set[str] = field(default_factory=set)
    reads: set[str] = field(default_factory=set)
    writes: set[str] = field(default_factory=set)
    updates: set[str] = field(default_factory=set)
    accesses: list[tuple[str, tuple[Expr, ...]]] = field(default_factory=list)

    def add(self, loops: tuple[For, ...], store: Store) -> None:
        """One of its statements and the loops around it."""
        self.loops |= {n.var.name: n.var for n in loops}
        self.axes |= {v.name for v in variables(*store.indices)} & self.loops.keys()
        self.writes.add(store.tensor.name)
        self.accesses.append((store.tensor.name, store.indices))
        if store.update is not None:
            self.updates.add(store.tensor.name)
        for node in walk(store):
            if isinstance(node, Read):
                self.reads.add(node.tensor.name)
                self.accesses.append((node.tensor.name, node.indices))


def equations_of(kernel: Kernel) -> dict[str, Equations]:
    """The nests of a naive kernel by label, in their order."""
    found: dict[str, Equations] = {}
    labels: dict[int, str] = {}
    leaves = [
        (tuple(n for n in above if isinstance(n, For)), s)
        for above, s in paths(kernel)
        if isinstance(s, Store)
    ]
    for loops, store in leaves:
        if loops:
            labels.setdefault(store.equation, loops[0].tensor)
    for loops, store in leaves:
        label = loops[0].tensor if loops else labels.get(store.equation, store.tensor.name)
        found.setdefault(label, Equations(label)).add(loops, store)
    return found


class Correspondence:
    """Correspondence of a derivative's kernel with the operator's. Both are naive: no step was
    applied.

    Attributes:
        before: the nests of the operator.
        after: those of the derivative.
    """

    def __init__(self, operator: Kernel, derivative: Kernel) -> None:
        self.before, self.after = equations_of(operator), equations_of(derivative)
        self.tensors = {t.name: t.rank for t in (*operator.inputs, *operator.outputs, *operator.temporaries)}
        names = {t.name: t.rank for t in (*derivative.inputs, *derivative.outputs, *derivative.temporaries)}
        self.primals = {
            n: p
            for n, rank in names.items()
            if (p := self._primal(n)) is not None and self.tensors[p] == rank
        }
        self._parents: dict[object, object] = {}
        self._join_loops()
        self._nests = self._standing_for()

    def nests(self, label: str) -> tuple[str, ...]:
        """The nests of the derivative that stand for a nest of the operator, in their order."""
        return self._nests.get(label, ())

    def followers(self, label: str) -> tuple[str, ...]:
        """The nests that are scheduled as `label`'s nest is: a nest that stands for some with as
        many loops of each kind leaves the others aside, so that sums follow sums.
        """
        return tuple(
            nest
            for nest in self.nests(label)
            if self._is_like(label, nest)
            or not any(self._is_like(other, nest) for other in self.before if nest in self.nests(other))
        )

    def _is_like(self, label: str, nest: str) -> bool:
        before, after = self.before[label], self.after[nest]
        kinds = [(len(each.loops), len(each.axes)) for each in (before, after)]
        return kinds[0] == kinds[1] and len(self.loops(label, nest)) == len(before.loops)

    def loops(self, label: str, nest: str) -> dict[str, tuple[str, bool]]:
        """The loops of `nest` by those of the operator that they stand for, and whether they
        only play their part.
        """
        before, after = self.before[label], self.after[nest]
        same = {v: found for v in before.loops if (found := self._along_the_same(label, v, nest)) is not None}
        inner = [v for v, found in same.items() if v in before.axes and found not in after.axes]
        outer = [v for v, found in same.items() if v not in before.axes and found in after.axes]
        if len(inner) != len(outer):
            inner = outer = []
        changed = {a: same[b] for a, b in (*zip(inner, outer), *zip(outer, inner))}
        return {v: (changed.get(v, found), v in changed) for v, found in same.items()}

    def part(self, label: str, tensor: str, nest: str) -> str | None:
        """The tensor of `nest` that has the part of `tensor` where loops have changed places: what
        is written is written, what is read is read."""
        before, after = self.before[label], self.after[nest]
        if tensor in before.writes:
            return (
                _only(after.writes - after.updates) if tensor not in before.updates else _only(after.updates)
            )
        rest = before.reads - before.writes, after.reads - after.writes
        return (
            tensor
            if tensor in rest[1]
            else _only(rest[1] - rest[0])
            if _only(rest[0] - rest[1]) == tensor
            else None
        )

    def _along_the_same(self, label: str, name: str, nest: str) -> str | None:
        """The loop of `nest` along the same dimensions; None where there is none, or no one that
        is it alone.
        """
        same = [
            v
            for v in self.after[nest].loops
            if self._root("after", nest, v) == self._root("before", label, name)
        ]
        if name in same or (label == nest and name in self.after[nest].loops):
            return name
        rivals = [v for v in self.before[label].loops if v != name and v in same]
        return same[0] if len(same) == 1 and not rivals else None

    def derivatives(self, tensor: str) -> tuple[str, ...]:
        """The tensors that are the derivative of `tensor`."""
        return tuple(n for n, p in self.primals.items() if p == tensor and n != tensor)

    def _primal(self, name: str) -> str | None:
        """The tensor of the operator of which this is the derivative by name (`dY`, `dY_total`,
        `dY_`), or which it is.
        """
        if name in self.tensors:
            return name
        plain = re.sub(r"_\d*$", "", name)
        candidates = (
            each[1:] for each in (name, plain, plain.removesuffix("_total")) if each.startswith("d")
        )
        return next((c for c in candidates if c in self.tensors), None)

    def _join_loops(self) -> None:
        for side, nests in (("before", self.before), ("after", self.after)):
            for nest in nests.values():
                for tensor, indices in nest.accesses:
                    for d, i in enumerate(indices):
                        along = _along(i, nest, side == "before")
                        if along is not None:
                            self._join((side, nest.label, along), self._dimension(side, tensor, d))

    def _dimension(self, side: str, tensor: str, d: int) -> object:
        primal = tensor if side == "before" else self.primals.get(tensor)
        return ("dimension", primal, d) if primal is not None else ("own", tensor, d)

    def _root(self, *loop: str) -> object:
        at: object = loop
        while at in self._parents:
            at = self._parents[at]
        return at

    def _join(self, a: tuple[str, ...], b: object) -> None:
        while b in self._parents:
            b = self._parents[b]
        root = self._root(*a)
        if root != b:
            self._parents[root] = b

    def _standing_for(self) -> dict[str, tuple[str, ...]]:
        found: dict[str, list[str]] = {label: [] for label in self.before}
        for label in self.after:
            same = {label} if label in self.before and self._computes_again(label) else self._between(label)
            for each in self.before:
                if each in same:
                    found[each].append(label)
        return {label: tuple(nests) for label, nests in found.items()}

    def _computes_again(self, label: str) -> bool:
        return bool(self.after[label].writes & self.before[label].writes)

    def _between(self, label: str) -> set[str]:
        """The nests of the operator through which the derivatives that this nest makes depend on
        those that it takes; where it takes none, those that read what it reads: it is a part of one
        of them.
        """
        made, taken = (
            self._derivatives_near(label, "reads", "writes"),
            self._derivatives_near(label, "writes", "reads"),
        )
        if not taken:
            return {each for each, nest in self.before.items() if nest.reads & self.after[label].reads}
        found: set[str] = set()
        for a in made:
            for b in taken:
                found |= self._path(a, b) | self._path(b, a)
        return found

    def _derivatives_near(self, label: str, back: str, side: str) -> set[str]:
        """The tensors whose derivatives the nest writes (or reads), itself or through tensors
        that are no derivatives.
        """
        found: set[str] = set()
        seen, stack = {label}, [label]
        while stack:
            for tensor in getattr(self.after[stack.pop()], side):
                primal = self.primals.get(tensor)
                if primal is not None:
                    found |= {primal} - {tensor}
                    continue
                new = [n for n, e in self.after.items() if tensor in getattr(e, back) and n not in seen]
                seen.update(new)
                stack += new
        return found

    def _path(self, source: str, goal: str) -> set[str]:
        """The nests of the operator that depend on `source` and that `goal` depends on."""
        return _reached(self.before, {source}, "reads", "writes") & _reached(
            self.before, {goal}, "writes", "reads"
        )


def _only(names: set[str]) -> str | None:
    return next(iter(names)) if len(names) == 1 else None


def _reached(nests: Mapping[str, Equations], tensors: Iterable[str], enter: str, leave: str) -> set[str]:
    """The nests that use these tensors on one side, what they have on the other side, and so on."""
    known, found, stack = set(tensors), set(), list(tensors)
    while stack:
        tensor = stack.pop()
        for label, nest in nests.items():
            if tensor in getattr(nest, enter):
                found.add(label)
                new = getattr(nest, leave) - known
                known |= new
                stack += new
    return found


def _along(index: Expr, nest: Equations, of_operator: bool) -> str | None:
    """The loop along which an index runs. In `X[2*y + r]` of an operator that is the one that
    says which element is computed.
    """
    here = {v.name for v in variables(index)} & nest.loops.keys()
    if len(here) > 1 and of_operator:
        here &= nest.axes
    return next(iter(here)) if len(here) == 1 else None
