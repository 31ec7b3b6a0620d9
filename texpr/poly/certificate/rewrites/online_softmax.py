"""Equations with maxima that run along say what equations with one maximum say: what `online` claims, read off the new equations.

Said: m = max(j: X[j]), e[j] = exp(X[j] - m), T = sum(j: e[j] * w[j]). Computed, with c over blocks of B values of j:

    run[0] = -inf,  run[c] = max(run[c-1], max of X over block c-1),  base[c] = run[c], but 0 where that is -inf
    part[0] = 0,    part[c] = part[c-1] * exp(run[c-1] - base[c]) + sum of exp(X[j] - base[c]) * w[j] over block c-1
    m = run[last],  T = part[last] * exp(m - m)

By induction run[c] is the maximum of the first c blocks, and part[c] the sum of exp(X[j] - base[c]) * w[j] over them: while run[c-1] is
-inf both part[c-1] and the factor are 0, and else exp(X[j] - run[c-1]) * exp(run[c-1] - base[c]) = exp(X[j] - base[c]), the LAW. It holds
of exp(k * (a - m)) too, with one k above 0; 1 / sqrt(n) of a count n that is not above 0 is infinite or NaN, and so is what both give. All
blocks together have each j once. exp(m - m) is 1, or NaN where m is -inf or no number, and so is what is said. The law holds of numbers:
floats are rounded otherwise, which `online` is permitted by `reassoc=True`. Nothing here is shared with the step.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from math import inf

import islpy as isl

from texpr.ir.affine import same_value
from texpr.ir.build import add, compare, conjunction, integer, mul, sub
from texpr.ir.expr import Add, Call, Cast, Compare, Const, Div, Expr, Max, Mul, Node, Read, Reduce, Select, Sub, Tensor, Var, index
from texpr.ir.tensor import Equation, Invoke, Program
from texpr.ir.traverse import children, equal, rewrite, substitute, variables, walk
from texpr.poly.certificate.engine.isl_frame import Frame, Parameters, alike, same_node
from texpr.poly.certificate.engine.obligations import Refuted, conjuncts

LAW = "exp(a - m) * exp(m - n) = exp(a - n)"


@dataclass(frozen=True, slots=True)
class _Maximum:
    """A maximum that is said, and how it runs along.

    Attributes:
        exponential: the equation of exponentials relative to it.
        last, length: how many blocks a row of `said` has, and values in a block.
        full: whether no block is shorter.
    """

    said: Equation
    exponential: Equation
    run: Tensor
    last: Expr
    length: int
    full: bool

    def last_of(self, rows: Sequence[Expr]) -> Expr:
        """How many blocks there are of another row."""
        return substitute(self.last, {i: at for i, at in zip(self.said.indices, rows) if isinstance(i, Var)})

    @property
    def position(self) -> int:
        """The index of the exponentials along which the maximum is."""
        read = next(n for n in walk(self.exponential.value) if isinstance(n, Read) and n.tensor is self.said.target)
        return next(k for k, i in enumerate(self.exponential.indices) if i not in read.indices)


def check_running(said: Program, computed: Program, parameters: Parameters, facts: isl.Set) -> tuple[str, ...]:
    """Prove that a program says what another one says, by `LAW` where they differ; the names of the sums that it was needed for.

    Raises:
        Refuted: that is not so, or not proven.
    """
    return _Check(said, computed, parameters, facts).sums()


class _Check:
    """Two programs; tensors of one name are one tensor."""

    def __init__(self, said: Program, computed: Program, parameters: Parameters, facts: isl.Set) -> None:
        named = {t.name: t for t in (*said.inputs, *said.outputs, *said.temporaries)}
        self.parameters, self.facts = parameters, facts
        self.said, self.computed = _by_target(said, {}), _by_target(computed, named)
        different = [e for e in said.equations if not self._same(e)]
        self.different = [e for e in different if isinstance(e, Equation)]
        if len(self.different) < len(different) or any(len(self.said[e.target.name]) > 1 for e in self.different):
            raise _refuted("the loops are those of other equations")
        if [t.name for t in said.outputs] != [t.name for t in computed.outputs] or [t.name for t in said.inputs] != [
                t.name for t in computed.inputs]:
            raise _refuted("the loops have other inputs or outputs")

    def _same(self, e: Equation | Invoke) -> bool:
        names = [t.name for t in (e.targets if isinstance(e, Invoke) else (e.target,))]
        return all(equal(tuple(map(_of_all, self.said[n])), tuple(map(_of_all, self.computed.get(n, ())))) for n in names)

    def sums(self) -> tuple[str, ...]:
        """The sums that are computed otherwise than said; all else that differs are their maxima and exponentials."""
        maxima = [self._maximum(e) for e in self.different if isinstance(e.value, Reduce) and e.value.op == "max"]
        known = {id(e) for m in maxima for e in (m.said, m.exponential)}
        others = [e for e in self.different if id(e) not in known]
        for e in others:
            self._sum(e, maxima)
        return tuple(e.target.name for e in others)

    def _one(self, name: str) -> Equation:
        found = self.computed.get(name, [])
        if len(found) != 1 or not isinstance(found[0], Equation):
            raise _refuted(f"{name} has not one equation")
        return found[0]

    def _two(self, name: str) -> tuple[Equation, Equation]:
        """A start and a step."""
        match self.computed.get(name, []):
            case [Equation() as start, Equation() as step]:
                return start, step
        raise _refuted(f"{name} has not a start and a step")

    def _maximum(self, said: Equation) -> _Maximum:
        name = said.target.name
        computed = self._one(name)
        reduction, rows = said.value, said.indices
        assert isinstance(reduction, Reduce)
        _require(equal((said.indices, said.axes), (computed.indices, computed.axes)), f"{name} is computed elsewhere")
        value = _at(computed, rows)
        match value:
            case Read(run, (*places, last)) if _are(places, rows):
                pass
            case _:
                raise _refuted(f"{name} is no maximum that ran along")
        start, step = self._two(run.name)
        _require(_is(_at(start, (*rows, index(0))), Const(-inf, dtype=said.target.dtype)), f"{run.name} does not begin at -inf")
        c = Var("c")
        block = self._step(step, rows, c, run, last)
        body, length, condition = self._block(block, rows, c, last)
        _require(len(reduction.axes) == 1 and reduction.where is None and integer(reduction.axes[0].lo) == 0, f"{name} has another range")
        binder, u = reduction.axes[0], body.axes[0].var
        term = add(mul(c, index(length)), u)
        _require(alike(substitute(reduction.body, {binder.var: term}), body.body), f"{run.name} runs along other values than {name} is of")
        self._all_terms(said, binder.hi, mul(last, index(length)), full=condition is None)
        _require(condition is None or _is_end(condition, term, binder.hi), f"blocks of {run.name} end elsewhere than {name}")
        exponentials = [e for e in self.different if _relative(e, said.target) is not None]
        _require(len(exponentials) == 1, f"there is not one equation of exponentials relative to {name}")
        return _Maximum(said, exponentials[0], run, last, length, condition is None)

    def _step(self, step: Equation, rows: Sequence[Expr], c: Var, run: Tensor, last: Expr) -> Equation:
        """The equation of blocks that are folded into the running maximum."""
        _in_range(step, (*rows, c), len(rows), index(1), add(last, index(1)))
        before = (*rows, sub(c, index(1)))
        match _at(step, (*rows, c)):
            case Max(Read(a, i), Read(block, j)) if a is run and _are(i, before) and _are(j, before):
                return self._one(block.name)
        raise _refuted(f"{run.name} is no running maximum")

    def _block(self, block: Equation, rows: Sequence[Expr], c: Var, last: Expr) -> tuple[Reduce, int, Expr | None]:
        _in_range(block, (*rows, c), len(rows), index(0), last)
        match _at(block, (*rows, c)):
            case Reduce("max", (axis,), _, where) as reduction if integer(axis.lo) == 0 and (length := integer(axis.hi)):
                return reduction, length, where
        raise _refuted(f"{block.target.name} is no maximum of a block")

    def _all_terms(self, said: Equation, end: Expr, reach: Expr, *, full: bool) -> None:
        """The blocks reach to the end of the range, for all rows; and not beyond, if they have no condition."""
        frame = Frame(self.parameters, [a.var for a in said.axes])
        rows = conjunction(*(c for a in said.axes for c in (compare("<=", a.lo, a.var), compare("<", a.var, a.hi))))
        wrong = compare("!=" if full else "<", reach, end)
        plain = frame.plain(conjunction(rows, wrong))
        left = frame.holds(conjunction(plain, frame.bounds())) & frame.universe().intersect_params(self.facts)
        if not left.is_empty():
            raise Refuted("values", f"the blocks of {said.target.name} are not its range", None, frame, left)

    def _sum(self, said: Equation, maxima: Sequence[_Maximum]) -> None:
        name = said.target.name
        computed = self._one(name)
        reads = [n for n in walk(said) if isinstance(n, Read) and any(n.tensor is m.exponential.target for m in maxima)]
        sums = [n for n in walk(said.value) if isinstance(n, Reduce)]
        _require(len(reads) == 1 and len(sums) == 1 and sums[0].op == "sum" and len(sums[0].axes) == 1 and sums[0].where is None
                 and _multiple(sums[0].body, reads[0]), f"{name} is no sum of multiples of exponentials")
        _require(equal((said.indices, said.axes), (computed.indices, computed.axes)), f"{name} is computed elsewhere")
        m = next(m for m in maxima if m.exponential.target is reads[0].tensor)
        whole = _counterpart(said.value, _at(computed, said.indices), sums[0])
        self._parts(said, m, sums[0], reads[0], whole)

    def _parts(self, said: Equation, m: _Maximum, reduction: Reduce, read: Read, whole: Expr | None) -> None:
        name, rows, p = said.target.name, _without(read.indices, m.position), m.position
        match whole:
            case Mul(Read(part, places), Call("exp", (Sub(Read(a, i), Read(b, j)),))) if a is b is m.said.target and _are(i, rows) and _are(
                    j, rows):
                pass
            case _:
                raise _refuted(f"{name} is not what ran along, or a number where its maximum is none")
        binder, own = reduction.axes[0], [a.var for a in said.axes]
        last = m.last_of(rows)
        at = next((k for k in range(len(places)) if same_value(places[k], last) and _are(_without(places, k), own)), None)
        _require(at is not None and read.indices[p] is binder.var and binder.var not in variables(*rows),
                 f"{name} ran along other elements")
        assert at is not None
        start, step = self._two(part.name)
        _require(_is(_at(start, (*own[:at], index(0), *own[at:])), Const(0.0, dtype=reduction.dtype)), f"{part.name} does not begin at 0")
        c = Var("c")
        _in_range(step, (*own[:at], c, *own[at:]), at, index(1), add(last, index(1)))
        before = sub(c, index(1))
        match _at(step, (*own[:at], c, *own[at:])):
            case Add(Mul(Read(a, i), Read(scale, j)), Reduce("sum", (axis,), body, where)) if (
                    a is part and _are(i, (*own[:at], before, *own[at:])) and _are(j, (*rows, before))):
                pass
            case _:
                raise _refuted(f"{part.name} is no sum that runs along")
        self._scale(self._one(scale.name), m)
        _require(integer(axis.lo) == 0 and integer(axis.hi) == m.length, f"{part.name} has other blocks than the maximum")
        term = add(mul(before, index(m.length)), axis.var)
        ends = (_end(m.exponential, m.exponential.indices[m.position], read.indices), _end(m.said, None, rows))
        _require(_are(ends, (binder.hi, binder.hi)) and integer(binder.lo) == 0 and _ends(m, where, term, binder.hi),
                 f"{part.name} has other terms than {name}")
        told = self._told(m, body, rows, before, axis.var, term)
        _require(alike(substitute(reduction.body, {binder.var: term}), told), f"{part.name} sums something else than {name}")

    def _base(self, tensor: Tensor, m: _Maximum) -> None:
        """What exponentials are relative to: the running maximum, but 0 where that is -inf."""
        base, c = self._one(tensor.name), Var("c")
        rows = m.said.indices
        now, lowest = Read(m.run, (*rows, c)), Const(-inf, dtype=m.said.target.dtype)
        expected = Select(Compare("==", now, lowest), Const(0.0, dtype=m.said.target.dtype), now)
        _require(alike(_at(base, (*rows, c)), expected), f"{tensor.name} is not the running maximum, and 0 where that is -inf")

    def _scale(self, scale: Equation, m: _Maximum) -> None:
        rows, c = m.said.indices, Var("c")
        match _exponent(_at(scale, (*rows, c)), m):
            case Sub(Read(run, i), Read(base, j)) if (
                    run is m.run and _are(i, (*rows, c)) and _are(j, (*rows, add(c, index(1))))):
                return self._base(base, m)
        raise _refuted(f"{scale.target.name} does not lead from one maximum to the next")

    def _told(self, m: _Maximum, body: Expr, rows: Sequence[Expr], before: Expr, u: Var, term: Expr) -> Expr:
        """The body of a block's sum with what is said in place of its exponential, which is proven relative to the block's maximum."""
        e = m.exponential
        blocks = [n for n in walk(body) if isinstance(n, Read) and n.tensor.name not in self.said and n.tensor.name in self.computed]
        _require(len(blocks) == 1 and _are(blocks[0].indices, (*rows, before, u)), f"a block has not one exponential of {e.target.name}")
        made, c, v = self._one(blocks[0].tensor.name), Var("c"), Var("u")
        own, j = _without(e.indices, m.position), e.indices[m.position]
        value = _at(made, (*own, c, v), where=True)
        there = add(mul(c, index(m.length)), v)
        relative = _relative(e, m.said.target)
        assert relative is not None and isinstance(j, Var)
        match _exponent(value, m):
            case Sub(x, Read(base, i)) if _are(i, (*own, add(c, index(1)))):
                _require(alike(substitute(relative, {j: there}), x), f"{made.target.name} are exponentials of something else")
                self._base(base, m)
            case _:
                raise _refuted(f"{made.target.name} are no exponentials relative to a running maximum")
        p = m.position
        exponential = Read(e.target, (*rows[:p], term, *rows[p:]))
        return rewrite(body, lambda n: exponential if n is blocks[0] else None)  # type: ignore[return-value]


def _of_all(e: Equation | Invoke) -> Equation | Invoke:
    """The equation without the conditions of sums that the choice around them has already made: where they fail, the sum is not chosen."""
    def under(cond: Expr, node: Node) -> Node | None:
        if not isinstance(node, Reduce) or node.where is None:
            return None
        known = conjuncts(cond)
        left = [c for c in conjuncts(node.where) if not any(equal(c, k) for k in known)]
        return replace(node, where=conjunction(*left) if left else None)

    def rule(node: Node) -> Node | None:
        match node:
            case Select(cond, then):
                free = rewrite(then, lambda n: under(cond, n))
                return None if free is then else replace(node, then=free)
        return None

    return rewrite(e, rule)  # type: ignore[return-value]


def _by_target(program: Program, named: Mapping[str, Tensor]) -> dict[str, list[Equation | Invoke]]:
    found: dict[str, list[Equation | Invoke]] = {}
    for e in program.equations:
        e = rewrite(e, lambda n: replace(n, tensor=named[n.tensor.name]) if isinstance(n, Read) and n.tensor.name in named else None)
        assert isinstance(e, Equation | Invoke)
        for t in e.targets if isinstance(e, Invoke) else (e.target,):
            found.setdefault(t.name, []).append(e)
    return found


def _at(e: Equation, indices: Sequence[Expr], *, where: bool = False) -> Expr:
    """What an equation says of an element.

    Args:
        where: it may have a condition.
    """
    _require(e.update is None and e.guard is None and (where or e.where is None) and len(e.indices) == len(indices),
             f"{e.target.name} is not defined element by element")
    values: dict[Var, Expr] = {}
    for i, wanted in zip(e.indices, indices):
        if isinstance(i, Var) and i not in values:
            values[i] = wanted
        else:
            _require(same_value(i, wanted), f"{e.target.name} is defined elsewhere")
    _require(len(values) == len(e.axes), f"{e.target.name} is defined several times")
    return substitute(e.value, values)


def _in_range(e: Equation, indices: Sequence[Expr], position: int, lo: Expr, hi: Expr) -> None:
    """The axis of an index has that range where the others are those."""
    named = {i: at for i, at in zip(e.indices, indices) if isinstance(i, Var)}
    axis = next((a for a in e.axes if a.var is e.indices[position]), None)
    _require(axis is not None and all(alike(substitute(bound, named), wanted) for bound, wanted in ((axis.lo, lo), (axis.hi, hi))),
             f"{e.target.name} has other blocks")


def _relative(e: Equation, maximum: Tensor) -> Expr | None:
    match e.value:
        case Call("exp", (Sub(value, Read(tensor)),)) if tensor is maximum:
            return value
        case Call("exp", (Mul(Sub(value, Read(tensor)), k),)) if tensor is maximum and not any(isinstance(n, Read) for n in walk(k)):
            return value if _is_above_zero(k) and not variables(k) & {a.var for a in e.axes} else None
    return None


def _exponent(e: Expr, m: _Maximum) -> Expr | None:
    """What is exponentiated, without the factor that exponentials relative to the maximum have."""
    match m.exponential.value, e:
        case Call("exp", (Mul(_, k),)), Call("exp", (Mul(difference, again),)) if equal(k, again):
            return difference
        case Call("exp", (Sub(),)), Call("exp", (difference,)):
            return difference
    return None


def _is_above_zero(e: Expr) -> bool:
    """Whether a factor is above 0 and finite; of the reciprocals of roots of counts, where there is something."""
    match e:
        case Const(value):
            return 0 < value < inf
        case Cast(a):
            return e.dtype.bits > 16 and a.dtype.is_float and _is_above_zero(a)
        case Call("rsqrt", (Cast() as a,)):
            while isinstance(a, Cast) and (a.dtype.name in ("bf16", "f32", "f64") or a.dtype.name == "f16" and _small_count(a)):
                a = a.operand
            return a.dtype.is_int or _is_above_zero(a)
    return False


def _small_count(e: Expr) -> bool:
    """Whether a float of 16 bits is a known number above 0 that it can hold."""
    while isinstance(e, Cast):
        e = e.operand
    return 0 < (integer(e) or 0) <= 65504


def _multiple(e: Expr, read: Read) -> bool:
    """Whether an expression is a read times something, or that divided, the read rounded or not."""
    match e:
        case Mul(a, b):
            return _multiple(a, read) or _multiple(b, read)
        case Div(a, _):
            return _multiple(a, read)
        case Cast(a) if e.dtype.is_float and a.dtype.is_float and e is not read:
            return _multiple(a, read)
    return e is read


def _counterpart(said: Expr, computed: Expr, part: Expr) -> Expr | None:
    """What stands in place of `part` in another expression that is otherwise alike."""
    stack: list[tuple[Node, Node]] = [(said, computed)]
    found: Node | None = None
    while stack:
        x, y = stack.pop()
        if x is part:
            found = y
        elif isinstance(x, Read | Const | Var):
            _require(alike(x, y), "what is made of a sum differs")  # type: ignore[arg-type]
        else:
            _require(same_node(x, y) and len(children(x)) == len(children(y)), "what is made of a sum differs")
            stack += zip(children(x), children(y))
    return found  # type: ignore[return-value]


def _end(e: Equation, along: Expr | None, indices: Sequence[Expr]) -> Expr:
    """Where the range of an axis ends, or that of the reduction if there is none, for an element."""
    hi = e.value.axes[0].hi if isinstance(e.value, Reduce) else next(a.hi for a in e.axes if a.var is along)
    return substitute(hi, {i: at for i, at in zip(e.indices, indices) if isinstance(i, Var)})


def _ends(m: _Maximum, where: Expr | None, term: Expr, end: Expr) -> bool:
    return where is None and m.full or where is not None and _is_end(where, term, end)


def _is_end(condition: Expr, term: Expr, end: Expr) -> bool:
    """Whether a condition is that a term lies before the end."""
    match condition:
        case Compare("<", a, b):
            return same_value(a, term) and same_value(b, end)
    return False


def _are(found: Sequence[Expr], wanted: Sequence[Expr]) -> bool:
    return len(found) == len(wanted) and all(map(same_value, found, wanted))


def _is(found: Expr, wanted: Const) -> bool:
    return isinstance(found, Const) and found.value == wanted.value and found.dtype == wanted.dtype


def _without(indices: Sequence[Expr], position: int) -> tuple[Expr, ...]:
    return (*indices[:position], *indices[position + 1 :])


def _refuted(text: str) -> Refuted:
    return Refuted("values", text, None)


def _require(holds: bool, text: str) -> None:
    if not holds:
        raise _refuted(text)
