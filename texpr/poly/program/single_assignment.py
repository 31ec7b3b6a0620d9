"""Single assignment: every element of an output is defined by one equation, every other element
at most once and where it is read.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from functools import partial
from itertools import combinations_with_replacement

from texpr.ir.affine import same_value
from texpr.ir.build import integer
from texpr.ir.expr import Axis, Cast, Expr, Guard, Read, Tensor, Var
from texpr.ir.printing.expr import show
from texpr.ir.tensor import Equation, Invoke
from texpr.ir.traverse import variables
from texpr.poly.constraints.access_sites import guarded_indices, inside
from texpr.poly.constraints.congruence import distinct_arguments
from texpr.poly.constraints.linear_forms import (
    Conjunction,
    Form,
    Key,
    Truth,
    Unknown,
    at_least,
    below,
    conjoined,
    fresh,
    is_exact,
    is_parameter,
    variable,
)
from texpr.poly.constraints.solver import Assumptions, Question, Region, System
from texpr.poly.program.claims import EquationDomain, Example, ProgramProof, telling
from texpr.poly.program.definition_blocks import defines_each_once
from texpr.support.errors import CheckError
from texpr.support.fixes import Define, Fix
from texpr.support.frozen_dataclass import replace

Element = tuple[Conjunction, tuple[Form, ...]]
"""A condition and the indices of the element it touches."""


def definition_checks(proof: ProgramProof) -> Iterator[Callable[[], None]]:
    """Checks that outputs are defined everywhere, intermediates where they are read, and nothing
    twice: questions that have a quota each.
    """
    invoked = {t for e in proof.program.equations if isinstance(e, Invoke) for t in e.targets}
    for tensor in (*proof.program.outputs, *proof.program.temporaries):
        places = [p for p in proof.places if p.equation.target is tensor]
        definitions = [p for p in places if p.equation.update is None]
        if tensor in invoked:
            _only_by_call(tensor, places)
            continue
        if not definitions:
            span = places[0].equation.span if places else tensor.span
            what = "is only updated, never given a value" if places else "is never defined"
            raise CheckError(
                f"{tensor.name} {what}",
                span,
                code="coverage",
                help=f"define it first: {tensor.name}[...] = 0",
            )
        equations = [place.equation for place in definitions]
        whole = len(equations) == 1 and _is_whole(equations[0])
        if not whole and not defines_each_once(equations):
            yield partial(_check_once, proof, definitions)
            yield partial(_check_covered, proof, tensor, definitions)


def _only_by_call(tensor: Tensor, places: Sequence[EquationDomain]) -> None:
    for place in places:
        raise CheckError(
            f"{tensor.name} is defined twice",
            place.equation.span,
            code="twice",
            label="a call defines all of it",
            help="give the result of the call a name of its own",
        )


def _is_whole(e: Equation) -> bool:
    """True if every index is an axis of its own over the whole dimension, or a permutation of one:
    the common case, without asking isl.
    """
    ranges: dict[Expr, Axis] = {a.var: a for a in e.axes}
    if e.where is not None or len(e.axes) != len(e.indices):
        return False
    axes = [i if isinstance(i, Var) else _permuted(i, n, e) for i, n in zip(e.indices, e.target.shape)]
    return len(set(axes)) == len(axes) and all(
        v in ranges and integer(ranges[v].lo) == 0 and same_value(ranges[v].hi, n)
        for v, n in zip(axes, e.target.shape)
    )


def _permuted(i: Expr, n: Expr, e: Equation) -> Expr:
    """`k` where the index is `p[..., k]` and each row of `p` is a permutation of 0..n; else the
    index.
    """
    read = i.operand if isinstance(i, Cast) else i
    if (
        not isinstance(read, Read)
        or not read.tensor.distinct
        or read.tensor.value_range is None
        or not read.indices
    ):
        return i
    (lo, hi), row = read.tensor.value_range, read.tensor.shape[-1]
    if integer(lo) != 0 or not same_value(hi, n) or not same_value(row, n):
        return i
    return read.indices[-1] if all(any(x is j for j in e.indices) for x in read.indices[:-1]) else i


def elements(
    proof: ProgramProof, condition: Truth, tensor: Tensor, indices: Sequence[Expr], guard: Guard | None
) -> tuple[list[Element], bool]:
    """The elements that an access touches, and True if it surely touches them."""
    if guard is not None and guard.mode in ("value", "drop"):
        condition = conjoined(condition, proof.converter.truth(inside(indices, tensor.shape)))
    given: list[Assumptions] = []

    def happens(case: Conjunction) -> bool:
        given.extend(Assumptions(proof.converter, p) for p in condition.true[len(given) :])
        return any(g.allows(case) for g in given)

    cases, exact = proof.converter.tuples(guarded_indices(indices, tensor.shape, guard), happens)
    sure = condition.exact and exact and not any(c.form.opaque for p in condition.true for c in p)
    return [(p + q, forms) for p in condition.true for q, forms in cases], sure


def writes(proof: ProgramProof, place: EquationDomain) -> tuple[list[Element], bool]:
    """The elements that an equation writes, and True if it surely writes them."""
    e = place.equation
    return elements(proof, place.domain, e.target, e.indices, e.guard)


def _check_covered(proof: ProgramProof, tensor: Tensor, definitions: Sequence[EquationDomain]) -> None:
    """Check that definitions cover outputs everywhere, and intermediates at each read, or
    everywhere if a call takes them.
    """
    written = [
        element
        for place in definitions
        for found, sure in [writes(proof, place)]
        if sure
        for element in found
    ]
    whole = Truth(proof.facts.true, ())
    axes = fresh(tensor.rank)
    given = any(tensor in e.args for e in proof.program.equations if isinstance(e, Invoke))
    if tensor in proof.program.outputs or given:
        shape = _shape(proof, whole, tensor, axes)
        _claim_covered(proof, tensor, axes, shape, written, definitions[0].equation, None)
        return
    for place in proof.places:
        for site in place.sites:
            if isinstance(site.node, Read) and site.node.tensor is tensor:
                read, _ = elements(proof, site.condition, tensor, site.node.indices, site.node.guard)
                _claim_covered(proof, tensor, axes, read, written, place.equation, site.node)


def _shape(proof: ProgramProof, whole: Truth, tensor: Tensor, axes: Sequence[Unknown]) -> list[Element]:
    """Every element of a tensor, the indices being the axes themselves."""
    cases, _ = proof.converter.tuples(tensor.shape)
    at = tuple(variable(a) for a in axes)
    found = []
    for p in whole.true:
        for q, sizes in cases:
            bounds = tuple(c for i, n in zip(at, sizes) for c in _between(i, n))
            found.append((p + q + bounds, at))
    return found


def _between(i: Form, n: Form) -> Conjunction:
    return (at_least(i, Form()), below(i, n))


def _claim_covered(
    proof: ProgramProof,
    tensor: Tensor,
    axes: Sequence[Unknown],
    wanted: list[Element],
    written: list[Element],
    equation: Equation,
    read: Read | None,
) -> None:
    keys = _parameters(proof, [*wanted, *written])
    count = len(proof.program.sizes) + len(axes) + len(keys)

    def region(elements_given: list[Element]) -> Region:
        return Region(count, [_system(proof, axes, keys, e) for e in elements_given])

    ties = Truth(tuple(p for p, _ in (*wanted, *written)), ())
    missing = region(wanted).minus(region(written)).first(count - len(keys))

    def complain(example: Example) -> CheckError:
        element = f"{tensor.name}[{', '.join(map(str, example.shown))}]"
        message = (
            f"{tensor.name} is not defined everywhere"
            if read is None
            else f"{tensor.name} is read where nothing defines it"
        )
        note = example.note((), telling(example, ties, variables(*tensor.shape)))
        return CheckError(
            message,
            (read.span if read is not None else None) or equation.span,
            code="coverage",
            label=f"no equation defines {element}",
            notes=[note] if note else (),
            fixes=[
                *_definitions(tensor, example.shown),
                Fix("add an equation for the rest, or widen the range of an index with `for`"),
            ],
        )

    proof.claim(missing, complain)


def _definitions(tensor: Tensor, element: Sequence[int]) -> list[Fix]:
    """Advise an equation for the element that nothing defines, or for the row of it."""
    zero = "false" if tensor.dtype.kind == "bool" else "0"
    whole = [f"i{k}" for k in range(tensor.rank)] if tensor.rank > 3 else ["i", "j", "k"][: tensor.rank]
    ways = [[str(n) for n in element]] if element else []
    if tensor.rank > 1:
        ways += [
            [str(n) if k == axis else whole[k] for k, n in enumerate(element)] for axis in range(tensor.rank)
        ]
    texts = [f"{tensor.name}[{', '.join(way)}] = {zero}" for way in ways]
    return [
        Fix(f"define the rest, {text}, or widen the range of an index with `for`", (Define(text),))
        for text in texts
    ]


def _parameters(proof: ProgramProof, given: list[Element]) -> list[Key]:
    """Values of size expressions that are not affine: the same on both sides of a comparison."""
    used = {
        k: None
        for piece, forms in given
        for form in (*(c.form for c in piece), *forms)
        for k, _ in form.terms
    }
    return [k for k in used if isinstance(k, Unknown) and proof.converter.is_shared(k) and is_parameter(k)]


def _system(proof: ProgramProof, axes: Sequence[Unknown], keys: Sequence[Key], element: Element) -> System:
    """The system of sizes, the element, parameters, then the access that reaches the element."""
    question = proof.question([(k, 0) for k in (*axes, *keys)])
    piece, forms = element
    question.require(piece, 1)
    for axis, form in zip(axes, forms):
        question.add(question.compare(variable(axis), 0, form, 1))
    return question.system()


def _check_once(proof: ProgramProof, definitions: Sequence[EquationDomain]) -> None:
    for a, b in combinations_with_replacement(definitions, 2):
        columns = [(x.var, 1) for x in a.equation.axes] + [(x.var, 2) for x in b.equation.axes]
        count = len(proof.program.sizes) + len(columns)

        def complain(example: Example, a=a, b=b) -> CheckError:
            return _twice(a, b, example, writes(proof, a)[1] and writes(proof, b)[1])

        proof.claim(Region(count, _meetings(proof, a, b, columns)), complain)


def _meetings(
    proof: ProgramProof, a: EquationDomain, b: EquationDomain, columns: Sequence[tuple[Key, int]]
) -> Iterator[System]:
    """Pairs of instances that define one element: of two equations, or the first before the second
    of one.
    """
    for (p, at), (q, to) in ((x, y) for x in writes(proof, a)[0] for y in writes(proof, b)[0]):
        question = proof.question(columns)
        question.require(p, 1)
        question.require(q, 2)
        for i, j in zip(at, to):
            question.add(question.compare(i, 1, j, 2))
        question.add_all(
            [question.compare(i, 1, j, 2) for i, j in distinct_arguments(proof.converter, at, to)]
        )
        yield from _are_distinct(question, a, b)


def _are_distinct(question: Question, a: EquationDomain, b: EquationDomain) -> Iterator[System]:
    if a is not b:
        yield question.system()
        return
    axes = [variable(x.var) for x in a.equation.axes]
    same = question.system()
    for v in axes:
        yield same.also([question.compare(v, 2, v, 1, gap=1)])
        same = same.also([question.compare(v, 1, v, 2)])


def _left_side(e: Equation) -> str:
    return f"{e.target.name}[{', '.join(show(i) for i in e.indices)}]" if e.indices else e.target.name


def _twice(one: EquationDomain, other: EquationDomain, example: Example, sure: bool) -> CheckError:
    a, b = one.equation, other.equation
    used = telling(example, Truth(one.domain.true + other.domain.true, ()), variables(*a.indices, *b.indices))
    first, second = example.shown[: len(a.axes)], example.shown[len(a.axes) :]

    def instance(e: Equation, values: Sequence[int]) -> str:
        return ", ".join(f"{x.var.name}={v}" for x, v in zip(e.axes, values)) or "no indices"

    at = replace(example, holds="").note((), used)
    of_data = any(not p.domain.exact or not all(map(is_exact, p.domain.true)) for p in (one, other))
    maybe = of_data or not sure
    verb = "may define" if maybe else "define"
    note = (
        f"{at + ': ' if at else ''}({instance(a, first)}) and ({instance(b, second)}) {verb} the same element"
    )
    help = "restrict the equations with `for` or `where` so that they do not meet"
    if a is b:
        help = "use `+=` after a definition to fold several values"
    elif of_data:
        help = f"choices that depend on data stand in one equation: {_left_side(a)} = if c then a else b"
    return CheckError(
        f"{a.target.name} {'may be' if maybe else 'is'} defined twice",
        b.span,
        code="twice",
        label="an element this defines has a definition already",
        notes=[note],
        help=help,
    )
