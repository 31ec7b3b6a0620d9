"""Buffers whose elements hold one value after another: the same as a place of its own for every value.

    T[i % 3] = f(i);  ... T[(i - 1) % 3] ...   ->   T[i, i % 3] = f(i);  ... T[i - 1, (i - 1) % 3] ...

This is so if every use finds the value that it is said to: the last write of its element, of all before it, is of that value. What a
write brings, its claim tells; what a use finds is guessed, from the indices and from what the program reads there. A guess need not be
right: what is asked is proven of it.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace

import islpy as isl

from texpr.ir.build import compare, conjunction
from texpr.ir.expr import Expr, Mod, Node, Read, Tensor, Var, index, plain
from texpr.ir.loop import Alloc, For, If, Kernel, Stmt, Store
from texpr.ir.traverse import rewrite, variables, walk
from texpr.poly.certificate.engine.instance_pairs import Access, Joint, apart, later, met
from texpr.poly.certificate.engine.isl_frame import Frame, alike
from texpr.poly.certificate.engine.obligations import Proof, Refuted, Reused
from texpr.poly.certificate.engine.program_semantics import Total, at_instance
from texpr.poly.certificate.engine.reductions import folds
from texpr.poly.certificate.engine.statements import Buffer, Nest, Statement, as_written, extract
from texpr.poly.certificate.engine.value_tracing import Fixed, access, carried_over, evaluated

_SET, _IN = isl.dim_type.set, isl.dim_type.in_
Name = tuple[Expr, ...]


@dataclass(frozen=True, slots=True, eq=False)
class _Write:
    """A store to the buffer.

    Attributes:
        name: which value it brings, by what the indices do not tell of it.
    """

    statement: Statement
    name: Name


def told_apart(proof: Proof, why: Reused) -> tuple[Proof, dict[Store, Store]]:
    """The proof of a kernel with a place for every value of one buffer, and which store each of its stores was.

    Raises:
        Refuted: `why`, or a use that does not find what it is said to.
    """
    if why.tensor in proof.named_lives or why.tensor in proof.nest.kernel.outputs:
        raise why
    nest, _ = as_written(proof.nest.kernel, proof.nest.parameters)
    lives = _Lives(proof, nest, nest.buffers[why.tensor], why)
    with proof.asking("values"):
        stores = [lives.renamed(s) for s in nest.statements]
    whole = why.tensor
    apart = replace(whole, dims=plain(*(index(1) for _ in range(lives.count)), *whole.shape))
    kernel = _rebuilt(nest.kernel, stores, whole, apart)
    source = dict(zip((n for n in walk(kernel) if isinstance(n, Store)), (n for n in walk(nest.kernel) if isinstance(n, Store))))
    named = {**proof.named_lives, apart: lives.count}
    return replace(proof, nest=extract(kernel, proof.nest.parameters), named_lives=named, reassociated={}), source


class _Lives:
    """Names for the values that one buffer holds."""

    def __init__(self, proof: Proof, nest: Nest, buffer: Buffer, why: Reused) -> None:
        self.proof, self.nest, self.buffer, self.why = proof, nest, buffer, why
        self._first = _first_places(nest)
        self._stays: Fixed = buffer.private | set(nest.parameters.variables) | nest.parameters.inputs
        stored = [*buffer.definitions, *buffer.updates]
        conditions = [e for s in nest.statements for e in (*(n.extent for n in s.loops), *s.conditions)]
        if any(s.data() for s in stored) or any(self._is_read(e) for e in conditions) or self._is_passed():
            raise why
        claims = [self._claim(s) for s in stored]
        self.source = claims[0][0]
        if any(source is not self.source for source, _ in claims):
            raise why
        parts = [k for k in range(len(claims[0][1])) if not self._told([c[k] for _, c in claims], stored)]
        self.count = len(parts)
        self.writes = [_Write(s, tuple(c[k] for k in parts)) for s, (_, c) in zip(stored, claims)]
        self.parts = parts
        if not parts or any(_unknown(w.statement, w.name) for w in self.writes):
            raise why

    def _is_read(self, e: Expr) -> bool:
        return any(isinstance(n, Read) and n.tensor is self.buffer.tensor for n in walk(e))

    def _is_passed(self) -> bool:
        """Whether outside code uses the buffer."""
        return any(self.buffer.tensor in (*call.inputs, *call.outputs) for call, _ in self.nest.calls)

    def _claim(self, s: Statement) -> tuple[object, Name]:
        """What a store brings: of which tensor, or of which equation's reductions, and the indices there."""
        store, d = s.store, self.proof.meaning.definitions.get(s.store.equation)
        if store.equation < 0:
            copied = next((n for n in walk(store.value) if isinstance(n, Read)), None)
            if copied is None:
                raise self.why
            return self.proof.named.get(copied.tensor, copied.tensor), copied.indices
        if d is None or not store.part and len(store.at) < len(d.axes):
            raise self.why
        if store.part:
            return d.equation.target, store.at
        axes = store.at[: len(d.axes)]
        if store.start or store.update is not None and not folds(self.buffer, d):
            return d, axes
        return d.equation.target, tuple(at_instance(i, d.axes, axes) for i in d.element)

    def _told(self, values: Sequence[Expr], stored: Sequence[Statement]) -> bool:
        """Whether the indices of the buffer tell this part of what is stored."""
        cell = tuple(Var(f"c{k}") for k in range(self.buffer.tensor.rank))
        told = [carried_over(e, s.indices, self._stays, cell) for e, s in zip(values, stored)]
        return all(t is not None and alike(t, told[0]) for t in told)  # type: ignore[arg-type]

    def renamed(self, s: Statement) -> Store:
        """A store with the names of all that it uses of the buffer."""
        store = s.store
        reads = [n for n in walk(*store.indices, store.value) if isinstance(n, Read) and n.tensor is self.buffer.tensor]
        found = {id(n): self._name(s, n) for n in reads}

        def named(node: Node) -> Node | None:
            return replace(node, indices=(*found[id(node)], *node.indices)) if isinstance(node, Read) and id(node) in found else None

        indices = tuple(rewrite(i, named) for i in store.indices) if found else store.indices
        value = rewrite(store.value, named) if found else store.value
        own = next((w.name for w in self.writes if w.statement is s), ())
        if store.update is not None and own:
            wrong = self._wrong(access(self.buffer, s, s.indices), own)
            if not wrong.is_empty():
                raise self._refuted(s, wrong)
        return replace(store, indices=(*own, *indices), value=value)

    def _name(self, s: Statement, read: Read) -> Name:
        """The first guess at what a read finds that is right, wherever it stands in the statement."""
        uses = [access(self.buffer, s, read.indices, when=when) for when in evaluated(s, read)]
        wrong: isl.Set | None = None
        for name in self._guesses(s, read):
            left = [w for use in uses if not (w := self._wrong(use, name)).is_empty()]
            if not left:
                return name
            wrong = wrong or left[0]
        if wrong is None:
            raise self.why
        raise self._refuted(s, wrong)

    def _refuted(self, s: Statement, wrong: isl.Set) -> Refuted:
        return Refuted("values", f"{self.buffer.tensor.name} is used where another value of it was written last", s, s.frame, wrong)

    def _guesses(self, s: Statement, read: Read) -> Iterator[Name]:
        """What a read may find: told by the indices as they are before a remainder is taken, or one of what the program reads."""
        seen: list[Name] = []
        for name in (*self._by_indices(read), *self._by_program(s)):
            if any(e is None for e in name) or _unknown(s, name):  # type: ignore[arg-type]
                continue
            if not any(all(map(alike, name, other)) for other in seen):  # type: ignore[arg-type]
                seen.append(name)  # type: ignore[arg-type]
                yield name  # type: ignore[misc]

    def _by_indices(self, read: Read) -> Iterator[tuple[Expr | None, ...]]:
        whole = tuple(map(_whole, read.indices))
        for w in self.writes:
            yield tuple(carried_over(e, tuple(map(_whole, w.statement.indices)), self._stays, whole) for e in w.name)

    def _by_program(self, s: Statement) -> Iterator[tuple[Expr | None, ...]]:
        d = self.proof.meaning.definitions.get(s.store.equation)
        if d is None:
            return
        names = (*d.axes, *d.binders)[: len(s.at)]
        if d is self.source and len(s.at) >= len(d.axes):
            yield tuple(s.at[k] for k in self.parts)
        for n in walk(d.value, *([d.body] if d.body is not None else [])):
            if isinstance(n, Read) and n.tensor is self.source or isinstance(n, Total) and d is self.source:
                parts = n.indices if isinstance(n, Read) else n.axes
                yield tuple(at_instance(parts[k], names, s.at) for k in self.parts)

    def _wrong(self, use: Access, name: Name) -> isl.Set:
        """The instances of a use for which the last write before it brings another value."""
        length = max(2 * len(w.statement.loops) + 1 for w in self.writes)
        times = [Var(f"t{k}") for k in range(length)]
        if use.domain(self.proof.facts).is_empty():
            return use.domain(self.proof.facts)
        use_columns = len(use.statement.frame.variables)
        empty = isl.Set.empty(self.nest.parameters.space(use_columns + length))
        before, other = empty, empty
        for w in self.writes:
            source = access(self.buffer, w.statement, w.statement.indices, writes=True)
            for order in later(w.statement, use.statement):
                if apart(source, use, order):
                    continue
                joint = Joint(use, source, order.equal, self.proof.facts)
                turned = [] if order.sign is None else [compare("<", joint.there(v := use.statement.loops[order.equal].var), v)]
                pairs = joint.also(met(joint, use, source), *turned)
                if pairs.is_empty():
                    continue
                same = conjunction(*(compare("==", plain_name, joint.there(w.statement.frame.plain(n)))
                                     for plain_name, n in zip(map(use.statement.frame.plain, name), w.name)))
                before = before | self._timed(joint, pairs, w.statement, times)
                other = other | self._timed(joint, pairs - joint.frame.holds(same), w.statement, times)
        last = _as_map(before, use_columns).lexmax()
        return (last & _as_map(other, use_columns)).domain()

    def _timed(self, joint: Joint, pairs: isl.Set, s: Statement, times: Sequence[Var]) -> isl.Set:
        """The instances of the first access beside the times of the second."""
        steps: list[Expr] = [e for n in s.loops for e in (index(self._first[n.var]), joint.there(n.var))]
        steps += [index(s.order), *(index(0) for _ in range(len(times) - len(steps) - 1))]
        frame = Frame(self.nest.parameters, [*joint.frame.variables, *times], joint.frame.ranges)
        timed = pairs.add_dims(_SET, len(times)) & frame.holds(conjunction(*(compare("==", times[k], e) for k, e in enumerate(steps))))
        return timed.project_out(_SET, joint.count, len(joint.renamed))


def _as_map(pairs: isl.Set, columns: int) -> isl.Map:
    """From the first columns to the others."""
    return isl.Map.from_range(pairs).move_dims(_IN, 0, isl.dim_type.out, 0, columns)


def _first_places(nest: Nest) -> dict[Var, int]:
    """Where in the text each loop begins, as far as statements are concerned."""
    found: dict[Var, int] = {}
    for s in nest.statements:
        for n in s.loops:
            found.setdefault(n.var, s.order)
    return found


def _whole(i: Expr) -> Expr:
    """An index before its remainder is taken."""
    return i.lhs if isinstance(i, Mod) else i


def _unknown(s: Statement, name: Name) -> bool:
    """Whether a name depends on data that differs between instances, or on what is not a loop around."""
    known = {*(n.var for n in s.loops), *s.frame.parameters.position}
    return not all(variables(s.frame.plain(e)) <= known for e in name)


def _rebuilt(kernel: Kernel, stores: Sequence[Store], whole: Tensor, apart: Tensor) -> Kernel:
    """The kernel with these stores, in the order of the text, and a buffer in place of another one."""
    left = iter(stores)

    def body(statements: Sequence[Stmt]) -> tuple[Stmt, ...]:
        return tuple(one(s) for s in statements)

    def one(s: Stmt) -> Stmt:
        match s:
            case For() | If():
                return replace(s, body=body(s.body))
            case Store():
                return _moved(next(left), whole, apart)
            case Alloc(tensor):
                return Alloc(apart) if tensor is whole else s
        return s

    temporaries = tuple(apart if t is whole else t for t in kernel.temporaries)
    return replace(kernel, body=body(kernel.body), temporaries=temporaries)


def _moved(store: Store, whole: Tensor, apart: Tensor) -> Store:
    def rule(node: Node) -> Node | None:
        return replace(node, tensor=apart) if isinstance(node, Read | Store) and node.tensor is whole else None

    return rewrite(store, rule)
