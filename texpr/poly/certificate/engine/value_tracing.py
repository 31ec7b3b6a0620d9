"""Which value of the program a read of the kernel gives: the last one written there, whatever buffers it came through."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence, Set
from dataclasses import replace

import islpy as isl

from texpr.ir.affine import Linear, linear
from texpr.ir.build import add, conjunction, literal, mul, negation
from texpr.ir.dtypes import I64
from texpr.ir.expr import Const, Expr, FloorDiv, Mod, Node, Read, Select, Sub, Tensor, Var, index
from texpr.ir.loop import ExternCall, For, Store
from texpr.ir.tensor import Invoke
from texpr.ir.traverse import children, postorder, variables, walk, with_children
from texpr.poly.certificate.engine.coverage import covered, uncovered_in_iteration, under_conditions_of
from texpr.poly.certificate.engine.in_bounds import check_inside, contexts_of, integral_part, written_by_program
from texpr.poly.certificate.engine.instance_pairs import Access, meeting
from texpr.poly.certificate.engine.isl_frame import alike
from texpr.poly.certificate.engine.obligations import Hollow, Proof, Refuted, Reused, conjuncts, instances
from texpr.poly.certificate.engine.program_semantics import Total, at_instance
from texpr.poly.certificate.engine.statements import Buffer, Statement, expressions, reads, statement
from texpr.poly.certificate.engine.undefined_reads import is_copy, is_part_of_value, may_be_hollow, past_the_end

Complete = Callable[[Proof, Buffer, Access], None]
Fixed = Set[Var | Tensor]
"""Variables, and tensors, that are the same for all instances in question."""


def access(buffer: Buffer, s: Statement, indices: Sequence[Expr], *, writes: bool = False, when: isl.Set | None = None) -> Access:
    """A use of a buffer's element: the iteration that the buffer is of, then the indices."""
    place = (*(n.var for n in buffer.home), *(s.frame.plain(i) for i in indices))
    return Access(s, place, writes, when)


def written(proof: Proof, buffer: Buffer) -> list[Access]:
    """The definitions of a buffer's elements."""
    return [access(buffer, d, d.indices, writes=True) for d in buffer.definitions]


def lives(buffer: Buffer) -> list[Access]:
    """The definitions of a buffer's elements, to be told from each other. Where data says which element it is, two instances of an
    equation are of two elements, as was proven of the program.
    """
    if not any(d.data() for d in buffer.definitions):
        return [access(buffer, d, d.indices, writes=True) for d in buffer.definitions]
    return [Access(d, (index(d.store.equation), *(d.frame.plain(i) for i in d.at)), True) for d in buffer.definitions]


def updated(proof: Proof, buffer: Buffer) -> list[Access]:
    """The updates of a buffer's elements."""
    return [access(buffer, u, u.indices, writes=True) for u in buffer.updates]


class Tracer:
    """Traces the reads of all statements.

    Args:
        complete: proves that a reader of a buffer with updates finds all of them done.
        whole: proves that a reader finds all of a buffer written.
    """

    def __init__(self, proof: Proof, complete: Complete, whole: Callable[[Buffer, Access], None]) -> None:
        self.proof, self.complete, self.whole = proof, complete, whole
        self.uses: dict[Tensor, list[Access]] = {}
        self.hollow: dict[int, isl.Set] = {}  # instances of copies that are as if they did not run
        self._values: dict[int, Expr] = {}
        self._running: set[int] = set()
        self._asked: set[int] = set()

    def places(self) -> None:
        """Conditions, extents and indices of all statements, before any value."""
        simple = [s for s in self.proof.nest.statements if not self._reads_in_place(s)]
        for s in (*simple, *(s for s in self.proof.nest.statements if self._reads_in_place(s))):
            self._place(s)

    def _reads_in_place(self, s: Statement) -> bool:
        return any(reads(e) for e in (*(n.extent for n in s.loops), *s.conditions, *s.store.indices, *s.store.at))

    def _place(self, s: Statement) -> None:
        stays_true(self.proof, s)
        s.extents, s.at = (), s.store.at
        for depth in range(len(s.loops) + 1):
            for c, outer in zip(s.conditions, s.depths):
                if outer == depth:
                    s.held.append(self._outside(s, depth, c))
            if depth < len(s.loops):
                s.extents = (*s.extents, self._outside(s, depth, s.loops[depth].extent))
        s.indices = tuple(self.traced(s, i) for i in s.store.indices)
        s.at = tuple(self._spelled_out(s, self.traced(s, i)) for i in s.store.at)
        for e in (*s.extents, *s.held):
            s.frame.plain(e)  # Data that the kernel asks about has its columns before the program's terms are compared with it.
        s.renew()
        if any(map(reads, s.store.indices)):
            self._inside(s)

    def _inside(self, s: Statement) -> None:
        """The element that is written at an index of data exists, if the program writes it: that is proven of the program."""
        exists = self.proof.exists(s.indices, s.store.tensor)
        if instances(self.proof, s).failing(exists) is not None and (fact := written_by_program(self.proof, s)) is not None:
            s.facts.append(fact)
            s.renew()

    def _outside(self, s: Statement, depth: int, e: Expr) -> Expr:
        """An extent or a condition, which is read in the loops around it, whether those inside run or not, and under the conditions that
        are held by then.
        """
        if not reads(e):
            return e
        count = len(s.held)
        outer = statement(self.proof.nest.parameters, s.node, s.loops[:depth], s.conditions[:count], s.depths[:count], s.order)
        outer.extents, outer.held, outer.at = s.extents[:depth], list(s.held), s.at
        return self._spelled_out(s, self.traced(outer, e))

    def _spelled_out(self, s: Statement, e: Expr) -> Expr:
        meaning = self.proof.meaning
        return meaning.spelled_out(e) if isinstance(s.node, Store) and s.node.equation in meaning.ragged else e

    def value(self, s: Statement) -> Expr:
        """What a store stores, in terms of the program."""
        found = self._values.get(id(s))
        if found is None:
            if id(s) in self._running:
                raise Refuted("values", f"{s.store.tensor.name} is copied from what is copied from it", s)
            self._running.add(id(s))
            found = self._values[id(s)] = self.traced(s, s.store.value)
        return found

    def traced(self, s: Statement, e: Expr) -> Expr:
        """`e` with every read replaced by what the program calls the value."""
        if not reads(e):
            return e
        found: dict[int, Expr] = {}
        contexts = contexts_of(e)
        for node in postorder(e):
            if isinstance(node, Read):
                read = Read(node.tensor, tuple(_again(i, found) for i in node.indices), span=node.span)
                found[id(node)] = self._read(s, read, contexts.get(id(node), [()]), found, (e, node))
        return _again(e, found)

    def _read(self, s: Statement, read: Read, contexts: list[tuple[tuple[Expr, bool], ...]], found: dict[int, Expr],
              part: tuple[Expr, Read]) -> Expr:
        named = self.proof.named.get(read.tensor)
        buffer = self.proof.nest.buffers.get(read.tensor)
        whens = [[(_again(c, found), holds) for pair in context for c, holds in integral_part(*pair)] for context in contexts]
        for when in whens:
            with self.proof.asking("bounds"):
                when += [(fact, True) for fact in check_inside(self.proof, s, read, when)]
        if buffer is None:
            assert named is not None, f"{read.tensor.name} is not a tensor of the kernel"
            return Read(named, read.indices, span=read.span)
        uses = [access(buffer, s, read.indices, when=happens(s, when, read.indices)) for when in whens]
        self.uses.setdefault(buffer.tensor, []).extend(uses)
        for use in uses:
            with self.proof.asking("initialised"):
                self.initialised(buffer, use, part)
            if _folds(self.proof, buffer):
                self.complete(self.proof, buffer, use)
        return self.content(buffer, s, read.indices, uses)

    def initialised(self, buffer: Buffer, use: Access, part: tuple[Expr, Read] | None = None) -> None:
        """Every element that is read was written before, or is part of a value that the program does not have.

        Args:
            part: an expression of the statement, and the read in it.
        """
        if any(d.data() for d in buffer.definitions):
            if self._written_beside(buffer, use):
                self.unspoiled(buffer, use)
            else:
                self.whole(buffer, use)
            return
        s = use.statement
        left = covered(use, self.valued(buffer), self.proof.facts)
        is_value = part is not None and (not left.is_empty() or bool(self.hollow)) and is_part_of_value(s, *part)
        if is_value and (past := past_the_end(self.proof, s)) is not None:
            use = replace(use, when=use.domain(self.proof.facts) - s.frame.up(past))
            left = s.frame.up(left) - s.frame.up(past)
        if not left.is_empty() and not (is_value and self._hollow(s, left)):
            kind = Hollow if is_value and is_copy(s) else Refuted
            raise kind("initialised", f"{buffer.tensor.name} is read where nothing was written", s, s.frame, left)
        self.unspoiled(buffer, use)

    def _written_beside(self, buffer: Buffer, use: Access) -> bool:
        """True if definitions in the same iteration of the loops that are shared, under conditions on data that the use is under as well,
        write every element that is used: data says nothing then.
        """
        left = use.domain(self.proof.facts)
        for source in self.valued(buffer):
            if not left.is_empty() and (alone := under_conditions_of(source.statement, use.statement)) is not None:
                left = uncovered_in_iteration(left, use, replace(source, statement=alone), self.proof.facts)
        return left.is_empty()

    def unspoiled(self, buffer: Buffer, use: Access) -> None:
        """Nothing that was never written was copied to an element before its use."""
        for d in buffer.definitions if self.hollow else ():
            if (nothing := self.hollow.get(id(d))) is None:
                continue
            found = meeting(access(buffer, d, d.indices, writes=True, when=nothing), use, self.proof.facts)
            if found is not None:
                joint, pairs = found
                raise Refuted("initialised", f"{buffer.tensor.name} holds a copy of what was never written", d, d.frame,
                              joint.of_first(pairs))

    def valued(self, buffer: Buffer) -> list[Access]:
        """The definitions of a buffer's elements that give them values."""
        found = []
        for d in buffer.definitions:
            if d.node in self.proof.hollow:
                if id(d) not in self._values and id(d) not in self._running:
                    self.value(d)
                self._asked.add(id(d))
            nothing = self.hollow.get(id(d))
            when = None if nothing is None else d.domain(self.proof.facts) - d.frame.up(nothing)
            found.append(access(buffer, d, d.indices, writes=True, when=when))
        return found

    def _hollow(self, s: Statement, left: isl.Set) -> bool:
        """Whether these instances of a copy are as if they did not run. Who uses what they write is refused."""
        if id(s) in self._asked or not may_be_hollow(self.proof, s):
            return False
        self.hollow[id(s)] = left if id(s) not in self.hollow else s.frame.up(self.hollow[id(s)]) | left
        return True

    def content(self, buffer: Buffer, s: Statement, indices: tuple[Expr, ...], uses: Sequence[Access] = ()) -> Expr:
        """What the elements hold, in terms of the indices: the same by all definitions.

        Where elements are written again and again, this is so within an iteration of some loops around: if a use finds its element
        written in its own iteration, then whatever was written last was written there, too.
        """
        if not buffer.definitions:
            if uses and all(use.domain(self.proof.facts).is_empty() for use in uses):
                return literal(0, buffer.tensor.dtype)  # Whatever it is: nobody reads it.
            raise Refuted("initialised", f"{buffer.tensor.name} is read where nothing was written", s)
        for depth in range(len(buffer.home), len(s.loops) + 1):
            near = [d for d in buffer.definitions if [n.var for n in d.loops[:depth]] == [n.var for n in s.loops[:depth]]]
            if not near:
                break
            found = self._told(buffer, near, s.loops[:depth], indices)
            if found is None:
                continue
            if depth == len(buffer.home) or uses and all(self._written_near(buffer, near, depth, use) for use in uses):
                return found
        raise Reused(buffer.tensor, "values", f"which element of the program {buffer.tensor.name} holds is not told by its index",
                     buffer.definitions[0])

    def _told(self, buffer: Buffer, near: list[Statement], around: tuple[For, ...], indices: tuple[Expr, ...]) -> Expr | None:
        """What all of these definitions say of an element within an iteration of the loops around."""
        stays: Fixed = {n.var for n in around} | set(self.proof.nest.parameters.variables) | self.proof.meaning.tensors
        contents: list[Expr] = []
        for d in near:
            content = carried_over(self.claim(d), d.indices, stays, indices)
            if content is None or contents and not alike(contents[0], content):
                return self._told_by_one(buffer, near, stays, indices)
            contents.append(content)
        return contents[0]

    def _told_by_one(self, buffer: Buffer, near: list[Statement], stays: Fixed, indices: tuple[Expr, ...]) -> Expr | None:
        """What one definition says of all elements, if the others say that of theirs: of one element, there are many ways to tell it."""
        cells = tuple(Var(f"c{k}") for k in range(buffer.tensor.rank))
        told = [carried_over(self.claim(d), d.indices, stays, cells) for d in near]
        by_cells = [carried_over(self.claim(d), d.indices, stays - {n.var for n in d.loops}, cells) for d in near]
        for content in (*told, *_of_all(by_cells)):
            if content is not None and all(self._same(at_instance(content, cells, other.indices), other) for other in near):
                return at_instance(content, cells, indices)
        return None

    def _same(self, content: Expr, d: Statement) -> bool:
        """Whether a definition says this, too: in another way, where its instances decide whether an element is 0 that lies outside."""
        claimed = self.claim(d)
        if alike(content, claimed):
            return True
        if not alike(_existing(content), _existing(claimed)):
            return False
        return all(alike(a, b) for _, (a, b) in instances(self.proof, d).cells(content, claimed))

    def _written_near(self, buffer: Buffer, near: list[Statement], depth: int, use: Access) -> bool:
        """A use finds its element written in its own iteration of the outermost loops."""
        here = tuple(n.var for n in use.statement.loops[:depth])
        inner = Access(use.statement, (*here, *use.place[len(buffer.home) :]), False, use.when)
        sources = [replace(a, place=(*here, *a.place[len(buffer.home) :])) for a in self.valued(buffer)
                   if a.statement in near if not a.statement.data()]
        with self.proof.asking("initialised"):
            return covered(inner, sources, self.proof.facts).is_empty()

    def claim(self, s: Statement) -> Expr:
        """The value of the program that an element holds after a definition, in the statement's own loops."""
        store = s.store
        if s.call is not None:
            unit = called(self.proof, s.call)
            return Read(unit.targets[s.call.outputs.index(store.tensor)], s.indices)
        if store.equation < 0:
            return self.value(s)
        d = self.proof.meaning.definitions.get(store.equation)
        if d is None or len(s.at) != len(d.element if store.part else d.axes):
            raise Refuted("values", "the store does not say which instance of its equation it computes", s)
        if store.part:
            return Read(d.equation.target, s.at)
        if store.start:
            return Total(d.number, s.at, dtype=store.tensor.dtype)
        element = tuple(at_instance(i, d.axes, s.at) for i in d.element)
        return Read(d.equation.target, element)


def _of_all(told: Sequence[Expr | None]) -> Iterator[Expr]:
    """An element that exists where all of these say so: each may leave out what holds of all its instances."""
    known = [c for c in told if c is not None]
    choices = [c for c in known if isinstance(c, Select)]
    if len(known) == len(told) and len(choices) > 1 and all(alike(_existing(known[0]), _existing(c)) for c in known[1:]):
        conditions: list[Expr] = []
        for each in (part for c in choices for part in conjuncts(c.cond)):
            conditions += [] if any(alike(each, c) for c in conditions) else [each]
        yield replace(choices[0], cond=conjunction(*conditions))


def _existing(e: Expr) -> Expr:
    """What a choice between an element and 0 is where the element exists."""
    match e:
        case Select(_, element, Const(0)):
            return element
    return e


def happens(s: Statement, conditions: list[tuple[Expr, bool]], indices: Sequence[Expr] = ()) -> isl.Set | None:
    """Where a part of a statement is evaluated, with what is known of the data in it and in indices; None if it always is."""
    shared = variables(*map(s.frame.plain, indices)) & {v for _, v in s.frame.parameters.terms}
    if not conditions and not s.frame.atoms and not shared:
        return None
    plain = [s.frame.plain(c if holds else negation(c)) for c, holds in conditions]
    return s.frame.holds(conjunction(*plain, s.frame.bounds()))


def evaluated(s: Statement, read: Read) -> list[isl.Set | None]:
    """Where a statement evaluates a read, for every way in which it comes to that; None where it always does."""
    contexts = [c for e in expressions(s) for c in contexts_of(e).get(id(read), ())]
    return [happens(s, [part for pair in context for part in integral_part(*pair)], read.indices) for context in contexts]


def called(proof: Proof, call: ExternCall) -> Invoke:
    """The call of the program that a call of the kernel is.

    Raises:
        Refuted: there is none.
    """
    units = proof.meaning.program.equations
    unit = units[call.equation] if 0 <= call.equation < len(units) else None
    if not isinstance(unit, Invoke) or unit.program.name != call.name or (len(unit.args), len(unit.targets)) != (
            len(call.inputs), len(call.outputs)) or call.constants != extern_constants(unit):
        raise Refuted("values", f"the program does not call {call.name} so", None)
    return unit


def extern_constants(unit: Invoke) -> tuple[tuple[str, int | float | bool], ...]:
    """The constants that are passed to outside code."""
    return tuple((n, v) for n, v in unit.program.constants if isinstance(v, int | float))


def stays_true(proof: Proof, s: Statement) -> None:
    """What the conditions and extents around a store read is written by no store under them: they still hold there.

    Raises:
        Refuted: it is.
    """
    asked = [(c, {id(c)}) for c in s.conditions if reads(c)] + [(n.extent, {id(n.var)}) for n in s.loops if reads(n.extent)]
    for e, key in asked:
        read = {n.tensor for n in postorder(e) if isinstance(n, Read)}
        for other in proof.nest.statements:
            around = {*map(id, other.conditions), *(id(n.var) for n in other.loops)}
            if other.store.tensor in read and key & around:
                raise Refuted("values", f"a condition reads {other.store.tensor.name}, which is written under it", other)


def _again(e: Expr, found: dict[int, Expr]) -> Expr:
    """`e` with its reads replaced."""
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


def carried_over(e: Expr, cells: Sequence[Expr], stays: Fixed, to: Sequence[Expr]) -> Expr | None:
    """`e`, an expression of loops whose `cells` are these, in terms of other indices of the same element; None if they do not tell.

    Depth is that of what a copy copies.
    """
    if isinstance(e, Read) and e.tensor not in stays:
        return None
    if isinstance(e, Read) and len(e.indices) == len(cells):
        offsets = [linear(Sub(i, c)) for i, c in zip(e.indices, cells)]
        if not any(_free(f, stays) for f in offsets):
            return replace(e, indices=tuple(add(t, f.expr()) for t, f in zip(to, offsets)))
    below = children(e)
    if e.dtype == I64 and not isinstance(e, Read | Total | Select):
        return _solved(e, cells, stays, to)
    if not below:
        return e
    new = [carried_over(c, cells, stays, to) if isinstance(c, Expr) else c for c in below]
    return None if any(n is None for n in new) else with_children(e, tuple(new))  # type: ignore[return-value]


def _with_wholes(cells: Sequence[Expr], to: Sequence[Expr]) -> list[tuple[Expr, Expr]]:
    """Indices and what they are to be, with what two of them are the quotient and the remainder of."""
    found = list(zip(cells, to))
    for cell, there in found:  # Grows.
        match cell:
            case Mod(whole, Const(value) as n) if value:
                quotient = next((t for c, t in found if isinstance(c, FloorDiv) and alike(c.rhs, n) and alike(c.lhs, whole)), None)
                found += [] if quotient is None else [(whole, add(mul(quotient, n), there))]
    return found


def rejoined(e: Expr) -> Expr:
    """An integer with what it has of quotients and remainders put together: `x // 4 * 4 + x % 4` is x."""
    form = linear(e)
    for rest, c in form.terms:
        match rest:
            case Mod(whole, Const(n)) if n:
                for quotient, d in form.terms:
                    if isinstance(quotient, FloorDiv) and d == c * n and alike(quotient.rhs, rest.rhs) and alike(quotient.lhs, whole):
                        others = Linear(tuple(t for t in form.terms if t[0] is not rest and t[0] is not quotient), form.constant)
                        return rejoined(add(others.expr(), mul(whole, index(c))))
    return e


def _solved(e: Expr, cells: Sequence[Expr], stays: Fixed, to: Sequence[Expr]) -> Expr | None:
    left, result = linear(e), index(0)
    if any(isinstance(c, Mod) for c in cells):
        cells, to = zip(*_with_wholes(cells, to))
    for cell, there in zip(cells, to):
        rest = _minus(left, cell, 1)
        if _free(left, stays) and not _free(rest, stays):
            return rejoined(add(there, rest.expr()))
    order = sorted(range(len(cells)), key=lambda k: len(_free(linear(cells[k]), stays)))
    for k in order:
        inner = _free(linear(cells[k]), stays)
        if not inner:
            continue
        term, c = inner[0]
        mine = next((d for t, d in left.terms if alike(t, term)), 0)
        if mine == 0 or mine % c:
            continue
        left = _minus(left, cells[k], mine // c)
        result = add(result, mul(to[k], index(mine // c)))
    return None if _free(left, stays) else rejoined(add(result, left.expr()))


def _minus(form: Linear, e: Expr, factor: int) -> Linear:
    return linear(add(form.expr(), mul(e, index(-factor))))


def _free(form: Linear, stays: Fixed) -> list[tuple[Expr, int]]:
    """The terms that differ between instances within the buffer's life."""
    return [(t, c) for t, c in form.terms if not variables(t) <= stays or not {n.tensor for n in walk(t) if isinstance(n, Read)} <= stays]


def _folds(proof: Proof, buffer: Buffer) -> bool:
    """Whether the elements get their values by updates."""
    if buffer.updates:
        return True
    equations = (proof.meaning.definitions.get(d.store.equation) for d in buffer.definitions)
    targets = [d.equation.target for d in equations if d is not None]
    return any(d.store.start for d in buffer.definitions) or any(d.is_fold for t in targets for d in proof.meaning.of[t])
