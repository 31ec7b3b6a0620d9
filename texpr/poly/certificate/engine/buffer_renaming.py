"""Buffers whose elements hold one value after another: the same as a place of its own for every
value.

    T[i % 3] = f(i);  ... T[(i - 1) % 3] ...   ->   T[i, i % 3] = f(i);  ... T[i - 1, (i - 1) % 3] ...

This is so if every use finds the value that it is said to: the last write of its element, of all
before it, is of that value. What a write brings, its claim tells; what a use finds is guessed, from
the indices and from what the program reads there. A guess need not be right: what is asked is
proven of it.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence

import islpy as isl

from texpr.ir.build import compare, conjunction, sub
from texpr.ir.expr import Expr, Mod, Node, Read, Tensor, Var, index, plain
from texpr.ir.loop import Alloc, For, If, Kernel, Stmt, Store
from texpr.ir.store_kind import PARTIAL_START
from texpr.ir.traverse import rewrite, variables, walk
from texpr.poly.certificate.engine.buffer_accesses import access, read_domains
from texpr.poly.certificate.engine.instance_pairs import (
    Access,
    InstancePair,
    disjoint_by_intervals,
    possible_orders,
    same_element,
)
from texpr.poly.certificate.engine.isl_frame import Frame, structurally_equal
from texpr.poly.certificate.engine.obligations import Proof, Refuted, ReusedBuffer
from texpr.poly.certificate.engine.program_semantics import Total, at_instance
from texpr.poly.certificate.engine.reductions import folds_instances
from texpr.poly.certificate.engine.reindexing import Invariant, reindex
from texpr.poly.certificate.engine.statement_extraction import Buffer, Nest, Statement, as_written, extract
from texpr.support.frozen_dataclass import frozen_by_identity, replace

_SET, _IN = isl.dim_type.set, isl.dim_type.in_
Version = tuple[Expr, ...]


@frozen_by_identity
class _Write:
    """A store to the buffer, and the version that it writes.

    Attributes:
        version: which value it brings, by what the indices do not tell of it.
    """

    statement: Statement
    version: Version


def rename_reused_buffers(proof: Proof, why: ReusedBuffer) -> tuple[Proof, dict[Store, Store]]:
    """Give every value of one buffer an element of its own (array renaming); returned with the
    proof: which store each store was.

    Raises:
        Refuted: `why`, or a use that does not find what it is said to.
    """
    if why.tensor in proof.version_dims or why.tensor in proof.nest.kernel.outputs:
        raise why
    nest, _ = as_written(proof.nest.kernel, proof.nest.parameters)
    versions = _Versions(proof, nest, nest.buffers[why.tensor], why)
    with proof.obligation("values"):
        stores = [versions.rename(s) for s in nest.statements]
    original = why.tensor
    rename = replace(original, dims=plain(*(index(1) for _ in range(versions.count)), *original.shape))
    kernel = _rebuild(nest.kernel, stores, original, rename)
    source = dict(
        zip(
            (n for n in walk(kernel) if isinstance(n, Store)),
            (n for n in walk(nest.kernel) if isinstance(n, Store)),
        )
    )
    dims = {**proof.version_dims, rename: versions.count}
    return replace(
        proof, nest=extract(kernel, proof.nest.parameters), version_dims=dims, reassociated={}
    ), source


class _Versions:
    """The versions of one buffer: a name for each value that its elements hold."""

    def __init__(self, proof: Proof, nest: Nest, buffer: Buffer, why: ReusedBuffer) -> None:
        self.proof, self.nest, self.buffer, self.why = proof, nest, buffer, why
        self._positions = _loop_positions(nest)
        self._invariant: Invariant = buffer.private | set(nest.parameters.variables) | nest.parameters.inputs
        stored = [*buffer.definitions, *buffer.updates]
        conditions = [e for s in nest.statements for e in (*(n.extent for n in s.loops), *s.conditions)]
        if any(s.data() for s in stored) or any(self._is_read(e) for e in conditions) or self._is_passed():
            raise why
        claims = [self._claim(s) for s in stored]
        self.source = claims[0][0]
        if any(source is not self.source for source, _ in claims):
            raise why
        parts = [
            k
            for k in range(len(claims[0][1]))
            if not self._is_told_by_indices([c[k] for _, c in claims], stored)
        ]
        self.count = len(parts)
        self.writes = [_Write(s, tuple(c[k] for k in parts)) for s, (_, c) in zip(stored, claims)]
        self.parts = parts
        if not parts or any(_is_unknown(w.statement, w.version) for w in self.writes):
            raise why

    def _is_read(self, e: Expr) -> bool:
        return any(isinstance(n, Read) and n.tensor is self.buffer.tensor for n in walk(e))

    def _is_passed(self) -> bool:
        """True if outside code uses the buffer."""
        return any(self.buffer.tensor in (*call.inputs, *call.outputs) for call, _ in self.nest.calls)

    def _claim(self, s: Statement) -> tuple[object, Version]:
        """The tensor, or the equation of reductions, that a store writes a value of, and the
        indices of the value.
        """
        store, d = s.store, self.proof.semantics.definitions.get(s.store.equation)
        if store.equation < 0:
            source = next((n for n in walk(store.value) if isinstance(n, Read)), None)
            if source is None:
                raise self.why
            return self.proof.program_tensors.get(source.tensor, source.tensor), source.indices
        if d is None or store.role is not PARTIAL_START and len(store.at) < len(d.axes):
            raise self.why
        if store.role is PARTIAL_START:
            return d.equation.target, store.at
        axes = store.at[: len(d.axes)]
        if store.is_start or store.update is not None and not folds_instances(self.buffer, d):
            return d, axes
        return d.equation.target, tuple(at_instance(i, d.axes, axes) for i in d.element)

    def _is_told_by_indices(self, values: Sequence[Expr], stored: Sequence[Statement]) -> bool:
        """True if the indices of the buffer determine this part of the version."""
        cell = tuple(Var(f"c{k}") for k in range(self.buffer.tensor.rank))
        reindexed = [reindex(e, s.indices, self._invariant, cell) for e, s in zip(values, stored)]
        return all(t is not None and structurally_equal(t, reindexed[0]) for t in reindexed)  # type: ignore[arg-type]

    def rename(self, s: Statement) -> Store:
        """Rename all uses of the buffer in a store."""
        store = s.store
        reads = [
            n
            for n in walk(*store.indices, store.value)
            if isinstance(n, Read) and n.tensor is self.buffer.tensor
        ]
        found = {id(n): self._version_read(s, n) for n in reads}

        def named(node: Node) -> Node | None:
            return (
                replace(node, indices=(*found[id(node)], *node.indices))
                if isinstance(node, Read) and id(node) in found
                else None
            )

        indices = tuple(rewrite(i, named) for i in store.indices) if found else store.indices
        value = rewrite(store.value, named) if found else store.value
        own = next((w.version for w in self.writes if w.statement is s), ())
        if store.update is not None and own:
            wrong = self._counterexamples(access(self.buffer, s, s.indices), own)
            if not wrong.is_empty():
                raise self._refuted(s, wrong)
        return replace(store, indices=(*own, *indices), value=value)

    def _version_read(self, s: Statement, read: Read) -> Version:
        """The first candidate that is proven to be the version that a read finds, wherever it
        stands in the statement.
        """
        uses = [access(self.buffer, s, read.indices, when=when) for when in read_domains(s, read)]
        wrong: isl.Set | None = None
        for version in self._candidates(s, read):
            failing = [w for use in uses if not (w := self._counterexamples(use, version)).is_empty()]
            if not failing:
                return version
            wrong = wrong or failing[0]
        if wrong is None:
            raise self.why
        raise self._refuted(s, wrong)

    def _refuted(self, s: Statement, wrong: isl.Set) -> Refuted:
        return Refuted(
            "values",
            f"{self.buffer.tensor.name} is used where another value of it was written last",
            s,
            s.frame,
            wrong,
        )

    def _candidates(self, s: Statement, read: Read) -> Iterator[Version]:
        """Candidates for the version that a read finds: from its indices before a remainder is
        taken, from the reads of the program, or from the last iterations of loops.
        """
        seen: list[Version] = []
        for version in (
            *self._candidates_of_indices(read),
            *self._candidates_of_program(s),
            *self._candidates_of_last_iterations(s),
        ):
            if any(e is None for e in version) or _is_unknown(s, version):  # type: ignore[arg-type]
                continue
            if not any(all(map(structurally_equal, version, other)) for other in seen):  # type: ignore[arg-type]
                seen.append(version)  # type: ignore[arg-type]
                yield version  # type: ignore[misc]

    def _candidates_of_indices(self, read: Read) -> Iterator[tuple[Expr | None, ...]]:
        dividends = tuple(map(_dividend, read.indices))
        for w in self.writes:
            yield tuple(
                reindex(e, tuple(map(_dividend, w.statement.indices)), self._invariant, dividends)
                for e in w.version
            )

    def _candidates_of_program(self, s: Statement) -> Iterator[tuple[Expr | None, ...]]:
        d = self.proof.semantics.definitions.get(s.store.equation)
        if d is None:
            return
        names = (*d.axes, *d.binders)[: len(s.at)]
        if d is self.source and len(s.at) >= len(d.axes):
            yield tuple(s.at[k] for k in self.parts)
        for n in walk(d.value, *([d.body] if d.body is not None else [])):
            if isinstance(n, Read) and n.tensor is self.source or isinstance(n, Total) and d is self.source:
                parts = n.indices if isinstance(n, Read) else n.axes
                yield tuple(at_instance(parts[k], names, s.at) for k in self.parts)

    def _candidates_of_last_iterations(self, s: Statement) -> Iterator[Version]:
        """Versions written by the last iterations of the loops that a statement stands behind. There
        `T[c % 2]` is `T[0]` if the extent is a known number, and the index tells nothing.
        """
        around = {n.var for n in s.loops}
        for w in self.writes:
            version = w.version
            for n in reversed([n for n in w.statement.loops if n.var not in around]):
                last = sub(n.extent, index(1))
                version = tuple(at_instance(e, (n.var,), (last,)) for e in version)
            yield version

    def _counterexamples(self, use: Access, version: Version) -> isl.Set:
        """The instances of a use for which the last write before it is of another version."""
        length = max(2 * len(w.statement.loops) + 1 for w in self.writes)
        times = [Var(f"t{k}") for k in range(length)]
        if use.domain(self.proof.facts).is_empty():
            return use.domain(self.proof.facts)
        use_columns = len(use.statement.frame.variables)
        empty = isl.Set.empty(self.nest.parameters.space(use_columns + length))
        before, other = empty, empty
        for w in self.writes:
            source = access(self.buffer, w.statement, w.statement.indices, writes=True)
            for order in possible_orders(w.statement, use.statement):
                if disjoint_by_intervals(source, use, order):
                    continue
                pair = InstancePair(use, source, order.equal, self.proof.facts)
                earlier = (
                    []
                    if order.sign is None
                    else [compare("<", pair.second(v := use.statement.loops[order.equal].var), v)]
                )
                pairs = pair.also(same_element(pair, use, source), *earlier)
                if pairs.is_empty():
                    continue
                same = conjunction(
                    *(
                        compare("==", plain_name, pair.second(w.statement.frame.abstract(n)))
                        for plain_name, n in zip(map(use.statement.frame.abstract, version), w.version)
                    )
                )
                before = before | self._with_times(pair, pairs, w.statement, times)
                other = other | self._with_times(pair, pairs - pair.frame.holds(same), w.statement, times)
        last = _as_map(before, use_columns).lexmax()
        return (last & _as_map(other, use_columns)).domain()

    def _with_times(self, pair: InstancePair, pairs: isl.Set, s: Statement, times: Sequence[Var]) -> isl.Set:
        """Pair the instances of the first access with the execution times of the second."""
        steps: list[Expr] = [e for n in s.loops for e in (index(self._positions[n.var]), pair.second(n.var))]
        steps += [index(s.order), *(index(0) for _ in range(len(times) - len(steps) - 1))]
        frame = Frame(self.nest.parameters, [*pair.frame.variables, *times], pair.frame.ranges)
        timed = pairs.add_dims(_SET, len(times)) & frame.holds(
            conjunction(*(compare("==", times[k], e) for k, e in enumerate(steps)))
        )
        return timed.project_out(_SET, pair.count, len(pair.renamed))


def _as_map(pairs: isl.Set, columns: int) -> isl.Map:
    """The map from the first columns to the others."""
    return isl.Map.from_range(pairs).move_dims(_IN, 0, isl.dim_type.out, 0, columns)


def _loop_positions(nest: Nest) -> dict[Var, int]:
    """The position in the text at which each loop that contains statements begins."""
    found: dict[Var, int] = {}
    for s in nest.statements:
        for n in s.loops:
            found.setdefault(n.var, s.order)
    return found


def _dividend(i: Expr) -> Expr:
    """The dividend of an index that is a remainder; else the index."""
    return i.lhs if isinstance(i, Mod) else i


def _is_unknown(s: Statement, version: Version) -> bool:
    """True if a version depends on data that differs between instances, or on variables of loops
    that are not around.
    """
    known = {*(n.var for n in s.loops), *s.frame.parameters.position}
    return not all(variables(s.frame.abstract(e)) <= known for e in version)


def _rebuild(kernel: Kernel, stores: Sequence[Store], original: Tensor, rename: Tensor) -> Kernel:
    """Put the stores into the kernel, in the order of the text, and the renamed buffer in the
    place of the original.
    """
    remaining = iter(stores)

    def body(statements: Sequence[Stmt]) -> tuple[Stmt, ...]:
        return tuple(one(s) for s in statements)

    def one(s: Stmt) -> Stmt:
        match s:
            case For() | If():
                return replace(s, body=body(s.body))
            case Store():
                return _redirect(next(remaining), original, rename)
            case Alloc(tensor):
                return Alloc(rename) if tensor is original else s
        return s

    temporaries = tuple(rename if t is original else t for t in kernel.temporaries)
    return replace(kernel, body=body(kernel.body), temporaries=temporaries)


def _redirect(store: Store, original: Tensor, rename: Tensor) -> Store:
    def rule(node: Node) -> Node | None:
        return (
            replace(node, tensor=rename)
            if isinstance(node, Read | Store) and node.tensor is original
            else None
        )

    return rewrite(store, rule)
