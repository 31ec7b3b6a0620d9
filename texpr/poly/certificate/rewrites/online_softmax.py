"""Online softmax (Milakov and Gimelshein): the law of `online_softmax`, read off the new equations.

Specification: m = max(j: X[j]), e[j] = exp(X[j] - m), T = sum(j: e[j] * w[j]). Implementation, with
c over blocks of B values of j:

    run[0] = -inf,  run[c] = max(run[c-1], max of X over block c-1),  base[c] = run[c], but 0 where that is -inf
    part[0] = 0,    part[c] = part[c-1] * exp(run[c-1] - base[c]) + sum of exp(X[j] - base[c]) * w[j] over block c-1
    m = run[last],  T = part[last] * exp(m - m)

By induction run[c] is the maximum of the first c blocks, and part[c] the sum of exp(X[j] - base[c])
* w[j] over them: while run[c-1] is -inf both part[c-1] and the factor are 0, and else exp(X[j] -
run[c-1]) * exp(run[c-1] - base[c]) = exp(X[j] - base[c]), the LAW. It holds of exp(k * (a - m))
too, with one k above 0; 1 / sqrt(n) of a count n that is not above 0 is infinite or NaN, and so is
what both give. All blocks together have each j once. exp(m - m) is 1, or NaN where m is -inf or no
number, and so is the specified sum. The law holds of numbers: floats are rounded otherwise, which
`reassoc=True` permits. Nothing here is shared with the step.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from math import inf

import islpy as isl

from texpr.ir.affine import same_value
from texpr.ir.build import add, compare, conjunction, integer, mul, sub
from texpr.ir.expr import (
    Add,
    Call,
    Cast,
    Compare,
    Const,
    Div,
    Expr,
    Max,
    Mul,
    Node,
    Read,
    Reduce,
    Select,
    Sub,
    Tensor,
    Var,
    index,
)
from texpr.ir.tensor import Equation, Invoke, Program
from texpr.ir.traverse import children, equal, rewrite, substitute, variables, walk
from texpr.poly.certificate.engine.isl_frame import Frame, Parameters, same_operation, structurally_equal
from texpr.poly.certificate.engine.obligations import Refuted, conjuncts
from texpr.poly.certificate.rewrites.derivation import Derivation
from texpr.support.frozen_dataclass import frozen, replace

LAW = "exp(a - m) * exp(m - n) = exp(a - n)"


@frozen
class _Maximum:
    """A maximum of the specification, and its running maximum in the implementation.

    Attributes:
        equation: of the maximum, in the specification.
        exponential: the equation of exponentials relative to the maximum.
        run: the tensor of running maxima.
        block_count: blocks in a row of `equation`.
        block_length: values in a block.
        full: True if no block is shorter.
    """

    equation: Equation
    exponential: Equation
    run: Tensor
    block_count: Expr
    block_length: int
    full: bool

    def block_count_of(self, rows: Sequence[Expr]) -> Expr:
        """The number of blocks of another row."""
        return substitute(
            self.block_count, {i: at for i, at in zip(self.equation.indices, rows) if isinstance(i, Var)}
        )

    @property
    def position(self) -> int:
        """The index of the exponentials along which the maximum is."""
        read = next(
            n
            for n in walk(self.exponential.value)
            if isinstance(n, Read) and n.tensor is self.equation.target
        )
        return next(k for k, i in enumerate(self.exponential.indices) if i not in read.indices)


def check(derivation: Derivation) -> tuple[Derivation, tuple[str, ...]]:
    """Prove all equations that differ by `LAW`: nothing is left to derive then. Named are the sums
    that need it.

    Raises:
        Refuted: equations differ by more than the law, or that is not proven.
    """
    specification, implementation = derivation.specification, derivation.implementation
    if equal(specification.equations, implementation.equations):
        return derivation, ()
    names = _Check(specification, implementation, derivation.parameters, derivation.facts).sums()
    return derivation.specified(implementation.equations), names


class _Check:
    """A proof about two programs; tensors of one name are one tensor."""

    def __init__(
        self, specification: Program, implementation: Program, parameters: Parameters, facts: isl.Set
    ) -> None:
        tensors = (*specification.inputs, *specification.outputs, *specification.temporaries)
        self.parameters, self.facts = parameters, facts
        self.specification = _by_target(specification, {})
        self.implementation = _by_target(implementation, {t.name: t for t in tensors})
        different = [e for e in specification.equations if not self._same(e)]
        self.different = [e for e in different if isinstance(e, Equation)]
        if len(self.different) < len(different) or any(
            len(self.specification[e.target.name]) > 1 for e in self.different
        ):
            raise _refuted("the loops are those of other equations")

    def _same(self, e: Equation | Invoke) -> bool:
        names = [t.name for t in e.targets]
        return all(
            equal(
                tuple(map(_without_implied, self.specification[n])),
                tuple(map(_without_implied, self.implementation.get(n, ()))),
            )
            for n in names
        )

    def sums(self) -> tuple[str, ...]:
        """The sums whose equations differ; all other equations that differ are their maxima and
        exponentials.
        """
        maxima = [
            self._maximum(e) for e in self.different if isinstance(e.value, Reduce) and e.value.op == "max"
        ]
        known = {id(e) for m in maxima for e in (m.equation, m.exponential)}
        others = [e for e in self.different if id(e) not in known]
        for e in others:
            self._sum(e, maxima)
        return tuple(e.target.name for e in others)

    def _one(self, name: str) -> Equation:
        found = self.implementation.get(name, [])
        if len(found) != 1 or not isinstance(found[0], Equation):
            raise _refuted(f"{name} has not one equation")
        return found[0]

    def _two(self, name: str) -> tuple[Equation, Equation]:
        """The equations of the start and the step of a recurrence."""
        match self.implementation.get(name, []):
            case [Equation() as start, Equation() as step]:
                return start, step
        raise _refuted(f"{name} has not a start and a step")

    def _maximum(self, specified: Equation) -> _Maximum:
        name = specified.target.name
        implemented = self._one(name)
        reduction, rows = specified.value, specified.indices
        assert isinstance(reduction, Reduce)
        _require(
            equal((specified.indices, specified.axes), (implemented.indices, implemented.axes)),
            f"{name} is computed elsewhere",
        )
        match _at(implemented, rows):
            case Read(run, (*places, last)) if _are(places, rows):
                pass
            case _:
                raise _refuted(f"{name} is no maximum that ran along")
        start, step = self._two(run.name)
        _require(
            _is(_at(start, (*rows, index(0))), Const(-inf, dtype=specified.target.dtype)),
            f"{run.name} does not begin at -inf",
        )
        c = Var("c")
        block = self._step(step, rows, c, run, last)
        body, length, condition = self._block(block, rows, c, last)
        _require(
            len(reduction.axes) == 1 and reduction.where is None and integer(reduction.axes[0].lo) == 0,
            f"{name} has another range",
        )
        binder, u = reduction.axes[0], body.axes[0].var
        term = add(mul(c, index(length)), u)
        _require(
            structurally_equal(substitute(reduction.body, {binder.var: term}), body.body),
            f"{run.name} runs along other values than {name} is of",
        )
        self._all_terms(specified, binder.hi, mul(last, index(length)), full=condition is None)
        _require(
            condition is None or _is_end(condition, term, binder.hi),
            f"blocks of {run.name} end elsewhere than {name}",
        )
        exponentials = [e for e in self.different if _relative(e, specified.target) is not None]
        _require(len(exponentials) == 1, f"there is not one equation of exponentials relative to {name}")
        return _Maximum(specified, exponentials[0], run, last, length, condition is None)

    def _step(self, step: Equation, rows: Sequence[Expr], c: Var, run: Tensor, last: Expr) -> Equation:
        """The equation of blocks that are folded into the running maximum."""
        _in_range(step, (*rows, c), len(rows), index(1), add(last, index(1)))
        before = (*rows, sub(c, index(1)))
        match _at(step, (*rows, c)):
            case Max(Read(a, i), Read(block, j)) if a is run and _are(i, before) and _are(j, before):
                return self._one(block.name)
        raise _refuted(f"{run.name} is no running maximum")

    def _block(
        self, block: Equation, rows: Sequence[Expr], c: Var, last: Expr
    ) -> tuple[Reduce, int, Expr | None]:
        _in_range(block, (*rows, c), len(rows), index(0), last)
        match _at(block, (*rows, c)):
            case Reduce("max", (axis,), _, where) as reduction if integer(axis.lo) == 0 and (
                length := integer(axis.hi)
            ):
                return reduction, length, where
        raise _refuted(f"{block.target.name} is no maximum of a block")

    def _all_terms(self, specified: Equation, end: Expr, reach: Expr, *, full: bool) -> None:
        """Prove that the blocks reach to the end of the range, for all rows; and not beyond, if
        they have no condition.
        """
        frame = Frame(self.parameters, [a.var for a in specified.axes])
        rows = conjunction(
            *(c for a in specified.axes for c in (compare("<=", a.lo, a.var), compare("<", a.var, a.hi)))
        )
        wrong = compare("!=" if full else "<", reach, end)
        plain = frame.abstract(conjunction(rows, wrong))
        failing = frame.holds(conjunction(plain, frame.bounds())) & frame.universe().intersect_params(
            self.facts
        )
        if not failing.is_empty():
            raise Refuted(
                "values", f"the blocks of {specified.target.name} are not its range", None, frame, failing
            )

    def _sum(self, specified: Equation, maxima: Sequence[_Maximum]) -> None:
        name = specified.target.name
        implemented = self._one(name)
        reads = [
            n
            for n in walk(specified)
            if isinstance(n, Read) and any(n.tensor is m.exponential.target for m in maxima)
        ]
        sums = [n for n in walk(specified.value) if isinstance(n, Reduce)]
        _require(
            len(reads) == 1
            and len(sums) == 1
            and sums[0].op == "sum"
            and len(sums[0].axes) == 1
            and sums[0].where is None
            and _multiple(sums[0].body, reads[0]),
            f"{name} is no sum of multiples of exponentials",
        )
        _require(
            equal((specified.indices, specified.axes), (implemented.indices, implemented.axes)),
            f"{name} is computed elsewhere",
        )
        m = next(m for m in maxima if m.exponential.target is reads[0].tensor)
        counterpart = _counterpart(specified.value, _at(implemented, specified.indices), sums[0])
        self._parts(specified, m, sums[0], reads[0], counterpart)

    def _parts(
        self, specified: Equation, m: _Maximum, reduction: Reduce, read: Read, counterpart: Expr | None
    ) -> None:
        name, rows, p = specified.target.name, _without(read.indices, m.position), m.position
        match counterpart:
            case Mul(Read(part, places), Call("exp", (Sub(Read(a, i), Read(b, j)),))) if (
                a is b is m.equation.target and _are(i, rows) and _are(j, rows)
            ):
                pass
            case _:
                raise _refuted(f"{name} is not what ran along, or a number where its maximum is none")
        binder, indices = reduction.axes[0], [a.var for a in specified.axes]
        last = m.block_count_of(rows)
        at = next(
            (
                k
                for k in range(len(places))
                if same_value(places[k], last) and _are(_without(places, k), indices)
            ),
            None,
        )
        _require(
            at is not None and read.indices[p] is binder.var and binder.var not in variables(*rows),
            f"{name} ran along other elements",
        )
        assert at is not None
        start, step = self._two(part.name)
        first = _at(start, (*indices[:at], index(0), *indices[at:]))
        _require(_is(first, Const(0.0, dtype=reduction.dtype)), f"{part.name} does not begin at 0")
        c = Var("c")
        _in_range(step, (*indices[:at], c, *indices[at:]), at, index(1), add(last, index(1)))
        before = sub(c, index(1))
        match _at(step, (*indices[:at], c, *indices[at:])):
            case Add(Mul(Read(a, i), Read(scale, j)), Reduce("sum", (axis,), body, where)) if (
                a is part and _are(i, (*indices[:at], before, *indices[at:])) and _are(j, (*rows, before))
            ):
                pass
            case _:
                raise _refuted(f"{part.name} is no sum that runs along")
        self._scale(self._one(scale.name), m)
        _require(
            integer(axis.lo) == 0 and integer(axis.hi) == m.block_length,
            f"{part.name} has other blocks than the maximum",
        )
        term = add(mul(before, index(m.block_length)), axis.var)
        ends = (
            _end(m.exponential, m.exponential.indices[m.position], read.indices),
            _end(m.equation, None, rows),
        )
        _require(
            _are(ends, (binder.hi, binder.hi))
            and integer(binder.lo) == 0
            and _ends_at(m, where, term, binder.hi),
            f"{part.name} has other terms than {name}",
        )
        derived = self._with_specified_exponential(m, body, rows, before, axis.var, term)
        _require(
            structurally_equal(substitute(reduction.body, {binder.var: term}), derived),
            f"{part.name} sums something else than {name}",
        )

    def _base(self, tensor: Tensor, m: _Maximum) -> None:
        """Prove that exponentials are relative to the running maximum, but to 0 where that is
        -inf.
        """
        base, c = self._one(tensor.name), Var("c")
        rows, dtype = m.equation.indices, m.equation.target.dtype
        now, lowest = Read(m.run, (*rows, c)), Const(-inf, dtype=dtype)
        expected = Select(Compare("==", now, lowest), Const(0.0, dtype=dtype), now)
        _require(
            structurally_equal(_at(base, (*rows, c)), expected),
            f"{tensor.name} is not the running maximum, and 0 where that is -inf",
        )

    def _scale(self, scale: Equation, m: _Maximum) -> None:
        rows, c = m.equation.indices, Var("c")
        match _exponent(_at(scale, (*rows, c)), m):
            case Sub(Read(run, i), Read(base, j)) if (
                run is m.run and _are(i, (*rows, c)) and _are(j, (*rows, add(c, index(1))))
            ):
                return self._base(base, m)
        raise _refuted(f"{scale.target.name} does not lead from one maximum to the next")

    def _with_specified_exponential(
        self, m: _Maximum, body: Expr, rows: Sequence[Expr], before: Expr, u: Var, term: Expr
    ) -> Expr:
        """The body of a block's sum with the specified exponential; its own is proven relative
        to the running maximum of the block.
        """
        e = m.exponential
        blocks = [
            n
            for n in walk(body)
            if isinstance(n, Read)
            and n.tensor.name not in self.specification
            and n.tensor.name in self.implementation
        ]
        _require(
            len(blocks) == 1 and _are(blocks[0].indices, (*rows, before, u)),
            f"a block has not one exponential of {e.target.name}",
        )
        block, c, v = self._one(blocks[0].tensor.name), Var("c"), Var("u")
        indices, j = _without(e.indices, m.position), e.indices[m.position]
        value = _at(block, (*indices, c, v), where=True)
        term_index = add(mul(c, index(m.block_length)), v)
        relative = _relative(e, m.equation.target)
        assert relative is not None and isinstance(j, Var)
        match _exponent(value, m):
            case Sub(x, Read(base, i)) if _are(i, (*indices, add(c, index(1)))):
                _require(
                    structurally_equal(substitute(relative, {j: term_index}), x),
                    f"{block.target.name} are exponentials of something else",
                )
                self._base(base, m)
            case _:
                raise _refuted(f"{block.target.name} are no exponentials relative to a running maximum")
        p = m.position
        exponential = Read(e.target, (*rows[:p], term, *rows[p:]))
        return rewrite(body, lambda n: exponential if n is blocks[0] else None)  # type: ignore[return-value]


def _without_implied(e: Equation | Invoke) -> Equation | Invoke:
    """The equation without the conditions of sums that the `if` around them implies: where they
    fail, the sum is not chosen.
    """

    def under(cond: Expr, node: Node) -> Node | None:
        if not isinstance(node, Reduce) or node.where is None:
            return None
        known = conjuncts(cond)
        rest = [c for c in conjuncts(node.where) if not any(equal(c, k) for k in known)]
        return replace(node, where=conjunction(*rest) if rest else None)

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
        e = rewrite(
            e,
            lambda n: (
                replace(n, tensor=named[n.tensor.name])
                if isinstance(n, Read) and n.tensor.name in named
                else None
            ),
        )
        assert isinstance(e, Equation | Invoke)
        for t in e.targets:
            found.setdefault(t.name, []).append(e)
    return found


def _at(e: Equation, indices: Sequence[Expr], *, where: bool = False) -> Expr:
    """The value that an equation gives an element.

    Args:
        where: it may have a condition.
    """
    _require(
        e.update is None
        and e.guard is None
        and (where or e.where is None)
        and len(e.indices) == len(indices),
        f"{e.target.name} is not defined element by element",
    )
    values: dict[Var, Expr] = {}
    for i, wanted in zip(e.indices, indices):
        if isinstance(i, Var) and i not in values:
            values[i] = wanted
        else:
            _require(same_value(i, wanted), f"{e.target.name} is defined elsewhere")
    _require(len(values) == len(e.axes), f"{e.target.name} is defined several times")
    return substitute(e.value, values)


def _in_range(e: Equation, indices: Sequence[Expr], position: int, lo: Expr, hi: Expr) -> None:
    """Prove that the axis of an index has the range lo..hi, with the other indices as given."""
    named = {i: at for i, at in zip(e.indices, indices) if isinstance(i, Var)}
    axis = next((a for a in e.axes if a.var is e.indices[position]), None)
    _require(
        axis is not None
        and structurally_equal(substitute(axis.lo, named), lo)
        and structurally_equal(substitute(axis.hi, named), hi),
        f"{e.target.name} has other blocks",
    )


def _relative(e: Equation, maximum: Tensor) -> Expr | None:
    match e.value:
        case Call("exp", (Sub(value, Read(tensor)),)) if tensor is maximum:
            return value
        case Call("exp", (Mul(Sub(value, Read(tensor)), k),)) if tensor is maximum and not any(
            isinstance(n, Read) for n in walk(k)
        ):
            return value if _is_above_zero(k) and not variables(k) & {a.var for a in e.axes} else None
    return None


def _exponent(e: Expr, m: _Maximum) -> Expr | None:
    """The operand of an exponential, without the factor of all exponentials relative to the
    maximum; None if it has another one.
    """
    match m.exponential.value, e:
        case Call("exp", (Mul(_, k),)), Call("exp", (Mul(difference, factor),)) if equal(k, factor):
            return difference
        case Call("exp", (Sub(),)), Call("exp", (difference,)):
            return difference
    return None


def _is_above_zero(e: Expr) -> bool:
    """True if a factor is above 0 and finite; of the reciprocals of roots of counts, where the
    count is not 0.
    """
    match e:
        case Const(value):
            return 0 < value < inf
        case Cast(a):
            return e.dtype.bits > 16 and a.dtype.is_float and _is_above_zero(a)
        case Call("rsqrt", (Cast() as a,)):
            while isinstance(a, Cast) and (
                a.dtype.name in ("bf16", "f32", "f64") or a.dtype.name == "f16" and _small_count(a)
            ):
                a = a.operand
            return a.dtype.is_int or _is_above_zero(a)
    return False


def _small_count(e: Expr) -> bool:
    """True if an integer is a known number above 0 that a float of 16 bits can hold."""
    while isinstance(e, Cast):
        e = e.operand
    return 0 < (integer(e) or 0) <= 65504


def _multiple(e: Expr, read: Read) -> bool:
    """True if an expression is a multiple or a quotient of a read, rounded or not."""
    match e:
        case Mul(a, b):
            return _multiple(a, read) or _multiple(b, read)
        case Div(a, _):
            return _multiple(a, read)
        case Cast(a) if e.dtype.is_float and a.dtype.is_float and e is not read:
            return _multiple(a, read)
    return e is read


def _counterpart(specified: Expr, implemented: Expr, part: Expr) -> Expr | None:
    """The expression in the place of `part` in another expression that is equal otherwise."""
    stack: list[tuple[Node, Node]] = [(specified, implemented)]
    found: Node | None = None
    while stack:
        x, y = stack.pop()
        if x is part:
            found = y
        elif isinstance(x, Read | Const | Var):
            _require(structurally_equal(x, y), "what is made of a sum differs")  # type: ignore[arg-type]
        else:
            _require(
                same_operation(x, y) and len(children(x)) == len(children(y)), "what is made of a sum differs"
            )
            stack += zip(children(x), children(y))
    return found  # type: ignore[return-value]


def _end(e: Equation, along: Expr | None, indices: Sequence[Expr]) -> Expr:
    """The end of the range of an axis, or of the reduction of an equation that has one, for an
    element.
    """
    hi = e.value.axes[0].hi if isinstance(e.value, Reduce) else next(a.hi for a in e.axes if a.var is along)
    return substitute(hi, {i: at for i, at in zip(e.indices, indices) if isinstance(i, Var)})


def _ends_at(m: _Maximum, where: Expr | None, term: Expr, end: Expr) -> bool:
    return where is None and m.full or where is not None and _is_end(where, term, end)


def _is_end(condition: Expr, term: Expr, end: Expr) -> bool:
    """True if a condition says that a term lies before the end."""
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
