"""The statements of the final loop nest: an extraction of its own, which shares nothing with the
checks of single steps.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from typing import Any

import islpy as isl

from texpr.ir.build import compare, conjunction, integer
from texpr.ir.expr import And, Compare, Const, Expr, Read, Tensor, Var, index
from texpr.ir.loop import Alloc, Barrier, ExternCall, For, If, Kernel, Stmt, Store
from texpr.ir.store_kind import PARTIAL_START, START
from texpr.ir.traverse import variables, walk
from texpr.poly.certificate.engine.isl_frame import Bounds, Frame, Parameters
from texpr.support.frozen_dataclass import frozen_by_identity

_SET = isl.dim_type.set


@dataclass(slots=True, eq=False)
class Statement:
    """A store, or a condition or an extent that reads, with the loops and conditions around it.

    Attributes:
        order: the position in the text.
        conditions: of the `if`s around it, outermost first.
        depths: the number of loops around each of the conditions.
        indices, at, extents, traced_conditions: of the store, the loops and the `if`s, once their
        reads are traced to the program.
        call: the call of outside code that writes here, if it is one.
        proven: conditions that were proven of all instances.
        facts: facts about data that the program guarantees: the element that it writes exists.
        outside_domain: the instances that its equation does not have; None before that was asked.
        instances: all of them as a `Context`, whose parts are asked about again and again; None
            before one was made.
    """

    node: Stmt
    loops: tuple[For, ...]
    conditions: tuple[Expr, ...]
    depths: tuple[int, ...]
    order: int
    frame: Frame
    indices: tuple[Expr, ...] = ()
    at: tuple[Expr, ...] = ()
    extents: tuple[Expr, ...] = ()
    traced_conditions: list[Expr] = field(default_factory=list)
    proven: list[Expr] = field(default_factory=list)
    facts: list[Expr] = field(default_factory=list)
    call: ExternCall | None = None
    outside_domain: tuple[isl.Set | None] | None = None
    instances: Any = field(default=None, init=False)
    _domain: isl.Set | None = None

    @property
    def store(self) -> Store:
        assert isinstance(self.node, Store)
        return self.node

    @property
    def ranges(self) -> dict[Var, Bounds]:
        return self.frame.ranges

    def domain(self, facts: isl.Set) -> isl.Set:
        """The instances, over all columns of the frame; of data, only what decides whether and
        where it stores is bounded.
        """
        if self._domain is None:
            bounds = (
                c
                for n, e in zip(self.loops, self.extents)
                for c in (compare("<=", index(0), n.var), compare("<", n.var, e))
            )
            inside = self.frame.abstract(conjunction(*bounds, *self.traced_conditions, *self.facts))
            used = variables(inside, *map(self.frame.abstract, self.indices))
            shared = {v for _, v in self.frame.parameters.terms if v in used}
            self._domain = self.frame.holds(
                conjunction(inside, self.frame.bounds(self.data() | shared))
            ).intersect_params(facts)
        self._domain = self.frame.lift(self._domain)
        return self._domain

    def data(self) -> set[Var]:
        """The atoms on which it depends whether, and where, it stores, and those that say which
        elements these are of.
        """
        plain = [self.frame.abstract(e) for e in (*self.extents, *self.traced_conditions, *self.indices)]
        found, frontier = set[Var](), variables(*plain) if self.frame.atoms else set()
        while frontier := {v for _, v in self.frame.atoms if v in frontier} - found:
            found |= frontier
            frontier = variables(*(term for term, v in self.frame.atoms if v in frontier))
        return found

    def invalidate(self) -> None:
        """Forget the instances, after more is known of the statement."""
        self._domain = self.outside_domain = self.instances = None

    def common_depth(self, other: Statement) -> int:
        """The number of loops that the two share, from the outside in."""
        count = 0
        for a, b in zip(self.loops, other.loops):
            if a.var is not b.var:
                break
            count += 1
        return count


@dataclass(slots=True, eq=False)
class Buffer:
    """A tensor that the kernel writes.

    Attributes:
        allocation_loops: the loops around the allocation: each of their iterations has a buffer of
            its own.
    """

    tensor: Tensor
    allocation_loops: tuple[For, ...]
    definitions: list[Statement] = field(default_factory=list)
    updates: list[Statement] = field(default_factory=list)

    @property
    def private(self) -> frozenset[Var]:
        return frozenset(n.var for n in self.allocation_loops)


@frozen_by_identity
class BarrierSite:
    """A barrier with the loops around it."""

    node: Barrier
    loops: tuple[For, ...]
    conditions: tuple[Expr, ...]
    order: int


@dataclass(slots=True, eq=False)
class Nest:
    """The statements, buffers, barriers and calls of a kernel."""

    kernel: Kernel
    parameters: Parameters
    statements: list[Statement]
    buffers: dict[Tensor, Buffer]
    barriers: list[BarrierSite]
    calls: list[tuple[ExternCall, list[Statement]]] = field(default_factory=list)

    def loops(self) -> Iterator[For]:
        return dict.fromkeys(n for s in self.statements for n in s.loops).__iter__()


def parameters_of(kernel: Kernel) -> Parameters:
    """The parameters of all questions about a kernel, and about kernels made of it."""
    return Parameters(kernel.sizes, kernel.inputs)


def extract(kernel: Kernel, parameters: Parameters) -> Nest:
    """Extract the statements of a kernel."""
    nest = Nest(
        kernel, parameters, [], {t: Buffer(t, ()) for t in (*kernel.outputs, *kernel.temporaries)}, []
    )
    stack: list[tuple[Stmt, tuple[For, ...], tuple[Expr, ...], tuple[int, ...]]] = [
        (s, (), (), ()) for s in reversed(kernel.body)
    ]
    order = 0
    while stack:
        node, loops, conditions, depths = stack.pop()
        order += 1
        match node:
            case For():
                stack += [(s, (*loops, node), conditions, depths) for s in reversed(node.body)]
            case If():
                stack += [
                    (s, loops, (*conditions, node.cond), (*depths, len(loops))) for s in reversed(node.body)
                ]
            case Alloc(tensor):
                nest.buffers[tensor] = Buffer(tensor, loops)
            case Barrier():
                nest.barriers.append(BarrierSite(node, loops, conditions, order))
            case ExternCall():
                nest.calls.append((node, [_everywhere(parameters, node, t, order) for t in node.inputs]))
                order += 1
                for t in node.outputs:
                    nest.buffers[t].definitions.append(_everywhere(parameters, node, t, order))
            case Store():
                _add(nest, statement(parameters, node, loops, conditions, depths, order))
    return nest


def as_written(kernel: Kernel, parameters: Parameters) -> tuple[Nest, list[tuple[Statement, Read]]]:
    """Extract the statements with their own indices and conditions, before any read is traced;
    returned with them: all reads.
    """
    nest = extract(kernel, parameters)
    uses = []
    for s in nest.statements:
        s.extents, s.traced_conditions = tuple(n.extent for n in s.loops), list(s.conditions)
        s.indices, s.at = s.store.indices, s.store.at
        uses += [(s, n) for n in walk(*expressions(s)) if isinstance(n, Read) and n.tensor in nest.buffers]
    return nest, uses


def expressions(s: Statement) -> tuple[Expr, ...]:
    """The expressions that are evaluated for the instances of a store."""
    return (*(n.extent for n in s.loops), *s.conditions, *s.store.indices, s.store.value)


def statement(
    parameters: Parameters,
    node: Stmt,
    loops: tuple[For, ...],
    conditions: tuple[Expr, ...],
    depths: tuple[int, ...],
    order: int,
) -> Statement:
    """Make a statement with a frame of its own."""
    constants = {
        parameters.position[v]: n for c in conditions for v, n in _constants(c) if v in parameters.position
    }
    return Statement(
        node,
        loops,
        conditions,
        depths,
        order,
        Frame(parameters, [n.var for n in loops], _ranges(loops), constants),
    )


def _constants(condition: Expr) -> Iterator[tuple[Var, Const]]:
    """The variables that a condition equates with constants."""
    match condition:
        case And(a, b):
            yield from _constants(a)
            yield from _constants(b)
        case Compare("==", Var() as v, Const() as n):
            yield v, n


def _everywhere(parameters: Parameters, call: ExternCall, tensor: Tensor, order: int) -> Statement:
    """The accesses of a call to all elements of a tensor, as a store to each."""
    at = tuple(Var(f"x{k}") for k in range(tensor.rank))
    loops = tuple(For(v, n, ()) for v, n in zip(at, tensor.shape))
    access = statement(
        parameters, Store(tensor, at, Read(tensor, at), equation=call.equation, at=at), loops, (), (), order
    )
    access.extents, access.indices, access.at, access.call = tensor.shape, at, at, call
    return access


def _ranges(loops: tuple[For, ...]) -> Mapping[Var, Bounds]:
    found: dict[Var, Bounds] = {}
    for n in loops:
        extent = integer(n.extent)
        found[n.var] = (0, None if extent is None else extent - 1)
    return found


def _add(nest: Nest, s: Statement) -> None:
    nest.statements.append(s)
    buffer = nest.buffers[s.store.tensor]
    (buffer.updates if s.store.update is not None else buffer.definitions).append(s)


def reads(e: Expr) -> bool:
    """True if an expression reads anything."""
    return any(isinstance(n, Read) for n in walk(e))


def partials_merged_by(nest: Nest, s: Statement) -> Buffer | None:
    """The partial results that an update folds into others, or parts of a fold into what has more:
    it reads what the same equation starts, and nothing else.
    """
    match s.node:
        case Store(tensor, _, Read(partial), str(), equation=equation) if (
            partial is not tensor and partial in nest.buffers
        ):
            buffer = nest.buffers[partial]
            if (
                _is_started(buffer)
                and all(d.store.equation == equation for d in buffer.definitions)
                and (
                    holds_fold_parts(buffer)
                    or _is_started(nest.buffers[tensor])
                    and not holds_fold_parts(nest.buffers[tensor])
                )
            ):
                return buffer
    return None


def holds_fold_parts(buffer: Buffer) -> bool:
    """True if the buffer holds partial results of a fold."""
    return any(d.store.role is PARTIAL_START for d in buffer.definitions)


def _is_started(buffer: Buffer) -> bool:
    """True if all definitions of the elements are starts of one kind of sum."""
    return {d.store.role for d in buffer.definitions} in ({START}, {PARTIAL_START})
