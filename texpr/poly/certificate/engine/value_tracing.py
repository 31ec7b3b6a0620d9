"""Symbolic values of reads: the value of the program that was written last, whatever buffers it
came through.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence

import islpy as isl

from texpr.ir.build import conjunction, literal
from texpr.ir.expr import Const, Expr, Node, Read, Select, Tensor, Var
from texpr.ir.loop import ExternCall, For, Store
from texpr.ir.store_kind import PARTIAL_START
from texpr.ir.tensor import Invoke
from texpr.ir.traverse import children, postorder, with_children
from texpr.poly.certificate.engine.buffer_accesses import access, evaluation_domain, gets_updates
from texpr.poly.certificate.engine.exposed_uses import (
    UsedAbove,
    uncovered,
    uncovered_in_iteration,
    without_shared_conditions,
)
from texpr.poly.certificate.engine.in_bounds import (
    check_in_bounds,
    contexts_of,
    integral_part,
    written_by_program,
)
from texpr.poly.certificate.engine.instance_pairs import Access, dependence
from texpr.poly.certificate.engine.isl_frame import structurally_equal
from texpr.poly.certificate.engine.obligations import (
    Proof,
    Refuted,
    ReusedBuffer,
    UndefinedCopy,
    conjuncts,
    instances,
)
from texpr.poly.certificate.engine.program_semantics import Total, at_instance
from texpr.poly.certificate.engine.reindexing import Invariant, reindex
from texpr.poly.certificate.engine.statement_extraction import Buffer, Statement, reads, statement
from texpr.poly.certificate.engine.undefined_reads import (
    instances_outside_domain,
    is_copy,
    is_part_of_value,
    may_copy_undefined,
)
from texpr.support.frozen_dataclass import replace

UseCheck = Callable[[Buffer, Access], None]


class Tracer:
    """Traces the reads of all statements to values of the program.

    Args:
        check_complete: proves that a reader of a buffer with updates finds all of them done.
        check_all_written: proves that a reader finds all of a buffer written.
    """

    def __init__(self, proof: Proof, check_complete: UseCheck, check_all_written: UseCheck) -> None:
        self.proof, self.check_complete, self.check_all_written = proof, check_complete, check_all_written
        self.uses: dict[Tensor, list[Access]] = {}
        self.undefined_instances: dict[
            int, isl.Set
        ] = {}  # instances of copies that are as if they did not run
        self._above = UsedAbove(proof.facts)
        self._values: dict[int, Expr] = {}
        self._in_progress: set[int] = set()
        self._assumed_defined: set[int] = set()

    def number_places(self) -> None:
        """Trace the conditions, extents and indices of all statements, and give their data
        columns, before any value is traced.
        """
        simple = [s for s in self.proof.nest.statements if not self._reads_in_places(s)]
        for s in (*simple, *(s for s in self.proof.nest.statements if self._reads_in_places(s))):
            self._trace_places(s)

    def _reads_in_places(self, s: Statement) -> bool:
        return any(
            reads(e) for e in (*(n.extent for n in s.loops), *s.conditions, *s.store.indices, *s.store.at)
        )

    def _trace_places(self, s: Statement) -> None:
        check_conditions_unchanged(self.proof, s)
        s.extents, s.at = (), s.store.at
        for depth in range(len(s.loops) + 1):
            for c, outer in zip(s.conditions, s.depths):
                if outer == depth:
                    s.traced_conditions.append(self._trace_outer(s, depth, c))
            if depth < len(s.loops):
                s.extents = (*s.extents, self._trace_outer(s, depth, s.loops[depth].extent))
        s.indices = tuple(self.trace(s, i) for i in s.store.indices)
        s.at = tuple(self._fully_inlined(s, self.trace(s, i)) for i in s.store.at)
        for e in (*s.extents, *s.traced_conditions):
            # Data that the kernel asks about has its columns before the program's terms are
            # compared with it.
            s.frame.abstract(e)
        s.invalidate()
        if any(map(reads, s.store.indices)):
            self._assume_in_bounds(s)

    def _assume_in_bounds(self, s: Statement) -> None:
        """Assume that the element that is written at an index of data exists, if the program
        writes it: this is proven of the program.
        """
        exists = self.proof.exists(s.indices, s.store.tensor)
        if (
            instances(self.proof, s).counterexamples(exists) is not None
            and (fact := written_by_program(self.proof, s)) is not None
        ):
            s.facts.append(fact)
            s.invalidate()

    def _trace_outer(self, s: Statement, depth: int, e: Expr) -> Expr:
        """An extent or a condition, which is read in the loops around it, whether those inside run
        or not, and under the conditions that are held by then.
        """
        if not reads(e):
            return e
        count = len(s.traced_conditions)
        outer = statement(
            self.proof.nest.parameters,
            s.node,
            s.loops[:depth],
            s.conditions[:count],
            s.depths[:count],
            s.order,
        )
        outer.extents, outer.traced_conditions, outer.at = s.extents[:depth], list(s.traced_conditions), s.at
        return self._fully_inlined(s, self.trace(outer, e))

    def _fully_inlined(self, s: Statement, e: Expr) -> Expr:
        semantics = self.proof.semantics
        return (
            semantics.fully_inlined(e)
            if isinstance(s.node, Store) and s.node.equation in semantics.ragged
            else e
        )

    def value(self, s: Statement) -> Expr:
        """The value that a store stores, in terms of the program."""
        found = self._values.get(id(s))
        if found is None:
            if id(s) in self._in_progress:
                raise Refuted("values", f"{s.store.tensor.name} is copied from what is copied from it", s)
            self._in_progress.add(id(s))
            found = self._values[id(s)] = self.trace(s, s.store.value)
        return found

    def trace(self, s: Statement, e: Expr) -> Expr:
        """Replace every read in `e` by the value of the program that it finds."""
        if not reads(e):
            return e
        found: dict[int, Expr] = {}
        contexts = contexts_of(e)
        for node in postorder(e):
            if isinstance(node, Read):
                read = Read(
                    node.tensor, tuple(_with_traced_reads(i, found) for i in node.indices), span=node.span
                )
                found[id(node)] = self._read(s, read, contexts.get(id(node), [()]), found, (e, node))
        return _with_traced_reads(e, found)

    def _read(
        self,
        s: Statement,
        read: Read,
        contexts: list[tuple[tuple[Expr, bool], ...]],
        found: dict[int, Expr],
        part: tuple[Expr, Read],
    ) -> Expr:
        named = self.proof.program_tensors.get(read.tensor)
        buffer = self.proof.nest.buffers.get(read.tensor)
        whens = [
            [(_with_traced_reads(c, found), holds) for pair in context for c, holds in integral_part(*pair)]
            for context in contexts
        ]
        for when in whens:
            with self.proof.obligation("bounds"):
                when += [(fact, True) for fact in check_in_bounds(self.proof, s, read, when)]
        if buffer is None:
            assert named is not None, f"{read.tensor.name} is not a tensor of the kernel"
            return Read(named, read.indices, span=read.span)
        uses = [
            access(buffer, s, read.indices, when=evaluation_domain(s, when, read.indices)) for when in whens
        ]
        self.uses.setdefault(buffer.tensor, []).extend(uses)
        for use in uses:
            with self.proof.obligation("initialised"):
                self.check_initialised(buffer, use, part)
            if gets_updates(self.proof, buffer):
                self.check_complete(buffer, use)
        return self.value_at(buffer, s, read.indices, uses)

    def check_initialised(self, buffer: Buffer, use: Access, part: tuple[Expr, Read] | None = None) -> None:
        """Prove that every element that is read was written before, or is part of a value that the
        program does not have.

        Args:
            part: an expression of the statement, and the read in it.
        """
        if any(d.data() for d in buffer.definitions):
            if self._written_under_same_conditions(buffer, use):
                self.check_no_undefined_copy(buffer, use)
            else:
                self.check_all_written(buffer, use)
            return
        s = use.statement
        missing = uncovered(use, self.valued_definitions(buffer), self.proof.facts, self._above)
        is_value = (
            part is not None
            and (not missing.is_empty() or bool(self.undefined_instances))
            and is_part_of_value(s, *part)
        )
        if is_value and (excess := instances_outside_domain(self.proof, s)) is not None:
            use = replace(use, when=use.domain(self.proof.facts) - s.frame.lift(excess))
            missing = s.frame.lift(missing) - s.frame.lift(excess)
        if not missing.is_empty() and not (is_value and self._mark_undefined(s, missing)):
            kind = UndefinedCopy if is_value and is_copy(s) else Refuted
            raise kind(
                "initialised", f"{buffer.tensor.name} is read where nothing was written", s, s.frame, missing
            )
        self.check_no_undefined_copy(buffer, use)

    def _written_under_same_conditions(self, buffer: Buffer, use: Access) -> bool:
        """True if definitions in the same iteration of the loops that are shared, under conditions
        on data that the use is under as well, write every element that is used: data says nothing
        then.
        """
        missing = use.domain(self.proof.facts)
        for source in self.valued_definitions(buffer):
            if (
                not missing.is_empty()
                and (reduced := without_shared_conditions(source.statement, use.statement)) is not None
            ):
                missing = uncovered_in_iteration(
                    missing, use, replace(source, statement=reduced), self.proof.facts
                )
        return missing.is_empty()

    def check_no_undefined_copy(self, buffer: Buffer, use: Access) -> None:
        """Prove that the element of a use holds no copy of an undefined element."""
        for d in buffer.definitions if self.undefined_instances else ():
            if (nothing := self.undefined_instances.get(id(d))) is None:
                continue
            found = dependence(access(buffer, d, d.indices, writes=True, when=nothing), use, self.proof.facts)
            if found is not None:
                pair, pairs = found
                raise Refuted(
                    "initialised",
                    f"{buffer.tensor.name} holds a copy of what was never written",
                    d,
                    d.frame,
                    pair.project_to_first(pairs),
                )

    def valued_definitions(self, buffer: Buffer) -> list[Access]:
        """The definitions of a buffer's elements that give them values."""
        found = []
        for d in buffer.definitions:
            if d.node in self.proof.undefined_copies:
                if id(d) not in self._values and id(d) not in self._in_progress:
                    self.value(d)
                self._assumed_defined.add(id(d))
            nothing = self.undefined_instances.get(id(d))
            when = None if nothing is None else d.domain(self.proof.facts) - d.frame.lift(nothing)
            found.append(access(buffer, d, d.indices, writes=True, when=when))
        return found

    def _mark_undefined(self, s: Statement, instances_left: isl.Set) -> bool:
        """Mark instances of a copy as if they did not run, and return True, if the copy may have
        such.

        Uses of their results are refuted.
        """
        if id(s) in self._assumed_defined or not may_copy_undefined(self.proof, s):
            return False
        known = self.undefined_instances.get(id(s))
        self.undefined_instances[id(s)] = (
            instances_left if known is None else s.frame.lift(known) | instances_left
        )
        return True

    def value_at(
        self, buffer: Buffer, s: Statement, indices: tuple[Expr, ...], uses: Sequence[Access] = ()
    ) -> Expr:
        """The value of a buffer's element in terms of its indices: the same by all definitions.

        Where elements are written again and again, this is so within an iteration of some loops
        around: if a use finds its element written in its own iteration, then whatever was written
        last was written there, too.
        """
        if not buffer.definitions:
            if uses and all(use.domain(self.proof.facts).is_empty() for use in uses):
                return literal(0, buffer.tensor.dtype)  # Whatever it is: nobody reads it.
            raise Refuted("initialised", f"{buffer.tensor.name} is read where nothing was written", s)
        for depth in range(len(buffer.allocation_loops), len(s.loops) + 1):
            candidates = [
                d
                for d in buffer.definitions
                if [n.var for n in d.loops[:depth]] == [n.var for n in s.loops[:depth]]
            ]
            if not candidates:
                break
            found = self._value_from_indices(buffer, candidates, s.loops[:depth], indices)
            if found is None:
                continue
            if (
                depth == len(buffer.allocation_loops)
                or uses
                and all(self._written_in_iteration(buffer, candidates, depth, use) for use in uses)
            ):
                return found
        raise ReusedBuffer(
            buffer.tensor,
            "values",
            f"which element of the program {buffer.tensor.name} holds is not told by its index",
            buffer.definitions[0],
        )

    def _value_from_indices(
        self, buffer: Buffer, candidates: list[Statement], around: tuple[For, ...], indices: tuple[Expr, ...]
    ) -> Expr | None:
        """The value of an element that all these definitions agree on, within an iteration of
        the loops around.
        """
        invariant: Invariant = (
            {n.var for n in around} | set(self.proof.nest.parameters.variables) | self.proof.semantics.tensors
        )
        contents: list[Expr] = []
        for d in candidates:
            content = reindex(self.claim(d), d.indices, invariant, indices)
            if content is None or contents and not structurally_equal(contents[0], content):
                return self._value_from_one_definition(buffer, candidates, invariant, indices)
            contents.append(content)
        return contents[0]

    def _value_from_one_definition(
        self, buffer: Buffer, candidates: list[Statement], invariant: Invariant, indices: tuple[Expr, ...]
    ) -> Expr | None:
        """The value by one definition, if the others agree for their elements: several terms may
        name one value.
        """
        index_vars = tuple(Var(f"c{k}") for k in range(buffer.tensor.rank))
        values = [reindex(self.claim(d), d.indices, invariant, index_vars) for d in candidates]
        values_by_index = [
            reindex(self.claim(d), d.indices, invariant - {n.var for n in d.loops}, index_vars)
            for d in candidates
        ]
        for content in (*values, *_existing_where_all_agree(values_by_index)):
            if content is not None and all(
                self._claims_value(at_instance(content, index_vars, other.indices), other)
                for other in candidates
            ):
                return at_instance(content, index_vars, indices)
        return None

    def _claims_value(self, content: Expr, d: Statement) -> bool:
        """True if a definition claims this value, maybe written otherwise where its instances
        decide that an element outside is 0.
        """
        claimed = self.claim(d)
        if structurally_equal(content, claimed):
            return True
        outside = (
            isinstance(claimed, Const) and claimed.value == 0 and content is not _element_of_choice(content)
        )
        if not outside and not structurally_equal(_element_of_choice(content), _element_of_choice(claimed)):
            return False
        return all(structurally_equal(a, b) for _, (a, b) in instances(self.proof, d).cases(content, claimed))

    def _written_in_iteration(
        self, buffer: Buffer, candidates: list[Statement], depth: int, use: Access
    ) -> bool:
        """Prove that a use finds its element written in its own iteration of the outermost
        loops.
        """
        here = tuple(n.var for n in use.statement.loops[:depth])
        inner = Access(use.statement, (*here, *use.place[len(buffer.allocation_loops) :]), False, use.when)
        sources = [
            replace(a, place=(*here, *a.place[len(buffer.allocation_loops) :]))
            for a in self.valued_definitions(buffer)
            if a.statement in candidates
            if not a.statement.data()
        ]
        with self.proof.obligation("initialised"):
            return uncovered(inner, sources, self.proof.facts).is_empty()

    def claim(self, s: Statement) -> Expr:
        """The value of the program that an element holds after a definition, in the statement's
        own loops.
        """
        store = s.store
        if s.call is not None:
            unit = program_call(self.proof, s.call)
            return Read(unit.targets[s.call.outputs.index(store.tensor)], s.indices)
        if store.equation < 0:
            return self.value(s)
        d = self.proof.semantics.definitions.get(store.equation)
        if d is None or len(s.at) != len(d.element if store.role is PARTIAL_START else d.axes):
            raise Refuted("values", "the store does not say which instance of its equation it computes", s)
        if store.role is PARTIAL_START:
            return Read(d.equation.target, s.at)
        if store.is_start:
            return Total(d.number, s.at, dtype=store.tensor.dtype)
        element = tuple(at_instance(i, d.axes, s.at) for i in d.element)
        return Read(d.equation.target, element)


def _existing_where_all_agree(values: Sequence[Expr | None]) -> Iterator[Expr]:
    """An element that exists where all of these say so: each may leave out conditions that hold
    of all its instances.
    """
    known = [c for c in values if c is not None]
    choices = [c for c in known if isinstance(c, Select)]
    elements = [_element_of_choice(c) for c in known]
    if (
        len(known) == len(values)
        and len(choices) > 1
        and all(structurally_equal(elements[0], e) for e in elements[1:])
    ):
        conditions: list[Expr] = []
        for each in (part for c in choices for part in conjuncts(c.cond)):
            conditions += [] if any(structurally_equal(each, c) for c in conditions) else [each]
        yield replace(choices[0], cond=conjunction(*conditions))


def _element_of_choice(e: Expr) -> Expr:
    """The element in a choice between an element and 0; any other expression as it is."""
    match e:
        case Select(_, element, Const(0)):
            return element
    return e


def program_call(proof: Proof, call: ExternCall) -> Invoke:
    """The call of the program that corresponds to a call of the kernel.

    Raises:
        Refuted: there is none.
    """
    units = proof.semantics.program.equations
    unit = units[call.equation] if 0 <= call.equation < len(units) else None
    if (
        not isinstance(unit, Invoke)
        or unit.program.name != call.name
        or (len(unit.args), len(unit.targets)) != (len(call.inputs), len(call.outputs))
        or call.constants != extern_constants(unit)
    ):
        raise Refuted("values", f"the program does not call {call.name} so", None)
    return unit


def extern_constants(unit: Invoke) -> tuple[tuple[str, int | float | bool], ...]:
    """The constants that are passed to outside code."""
    return tuple((n, v) for n, v in unit.program.constants if isinstance(v, int | float))


def check_conditions_unchanged(proof: Proof, s: Statement) -> None:
    """Prove that no store changes tensors that the conditions and extents around it read: they
    still hold at the store.

    Raises:
        Refuted: it is.
    """
    asked = [(c, {id(c)}) for c in s.conditions if reads(c)] + [
        (n.extent, {id(n.var)}) for n in s.loops if reads(n.extent)
    ]
    for e, key in asked:
        read = {n.tensor for n in postorder(e) if isinstance(n, Read)}
        for other in proof.nest.statements:
            around = {*map(id, other.conditions), *(id(n.var) for n in other.loops)}
            if other.store.tensor in read and key & around:
                raise Refuted(
                    "values", f"a condition reads {other.store.tensor.name}, which is written under it", other
                )


def _with_traced_reads(e: Expr, found: dict[int, Expr]) -> Expr:
    """Replace the reads of `e` by their values."""
    if not reads(e):
        return e
    done: dict[int, Node] = {}
    for node in postorder(e):
        if id(node) in found:
            done[id(node)] = found[id(node)]
            continue
        below = children(node)
        new = tuple(done[id(c)] for c in below)
        done[id(node)] = node if all(a is b for a, b in zip(new, below)) else with_children(node, new)
    return done[id(e)]  # type: ignore[return-value]
