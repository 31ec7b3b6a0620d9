"""Bounds checks: reads and writes stay inside their tensors, extents are not negative, and
reductions without a neutral element are not empty.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from functools import partial

from texpr.ir.affine import same_value
from texpr.ir.build import add, compare, integer, neg, sub
from texpr.ir.dtypes import int_range
from texpr.ir.expr import Add, Axis, Cast, Const, Expr, Guard, Mul, Read, Reduce, Tensor, Var, index
from texpr.ir.printing.expr import show
from texpr.ir.printing.types import type_text
from texpr.ir.shapes import evaluate_size
from texpr.ir.tensor import Equation, Program
from texpr.ir.traverse import tensors, variables
from texpr.poly.constraints.access_sites import Site
from texpr.poly.constraints.linear_forms import Truth, Unknown, conjoined
from texpr.poly.constraints.proof_thread import one_at_a_time
from texpr.poly.constraints.solver import OutOfQuota, Region, run_within_quota
from texpr.poly.program.claims import EquationDomain, Example, ProgramProof, telling
from texpr.support.errors import CheckError
from texpr.support.fixes import Declare, Fix, Rename, Write, require
from texpr.support.frozen_dataclass import frozen_by_identity, replace
from texpr.support.source import Span


@frozen_by_identity
class Access:
    """A read or a write as its error tells it: `fixes` are ways out, `done` is `read` or
    `written`.
    """

    tensor: Tensor
    guard: Guard | None
    condition: Truth
    axes: tuple[Axis, ...]
    span: Span | None
    fixes: tuple[Fix, ...]
    done: str


def check_extents(proof: ProgramProof) -> None:
    """Check that no output or intermediate has a negative extent."""
    for tensor in (*proof.program.outputs, *proof.program.temporaries):
        for n in tensor.shape:
            if isinstance(n, Var | Const):
                continue
            used = variables(n)

            def complain(example: Example, n=n, tensor=tensor, used=used) -> CheckError:
                value = evaluate_size(n, example.sizes)
                if value >= 0:  # the example takes another value for a product of sizes than it has
                    return CheckError(
                        f"an extent of {tensor.name} is not proven to be at least 0",
                        tensor.span or proof.program.span,
                        code="bounds",
                        label=f"{show(n)} is not linear in the sizes",
                        fixes=[require(f"{show(n)} >= 0")],
                    )
                return CheckError(
                    f"an extent of {tensor.name} can be negative",
                    tensor.span or proof.program.span,
                    code="bounds",
                    label=f"{show(n)} is {value}",
                    notes=[example.note((), used)],
                    fixes=[
                        *_required(example),
                        require(f"{show(n)} >= 0"),
                        Fix("state in `require` for which sizes no extent is negative"),
                    ],
                )

            proof.claim(proof.refuting(proof.facts, compare("<", n, index(0)), ()), complain)


Unproven = Read | Reduce | Equation
"""A read that may be outside, a reduction that may be of nothing, an equation that may write
outside.
"""


@one_at_a_time
def unproven(program: Program) -> dict[Equation, list[Unproven]]:
    """Accesses and reductions of each equation that are not proven safe for all sizes that the
    program allows, sizes of zero among them.
    """
    proof = ProgramProof(program)
    return {
        place.equation: [
            node for node, regions in _refutations(proof, place) if not all(map(_is_empty, regions))
        ]
        for place in proof.places
    }


def _refutations(
    proof: ProgramProof, place: EquationDomain
) -> Iterator[tuple[Unproven, Iterator[Callable[[], Region]]]]:
    """Regions of each access and reduction that are empty if it is safe."""
    for site in place.sites:
        if isinstance(site.node, Read):
            ways = _violations(site.node.tensor, site.node.indices, site.node.guard, site.axes)
            yield site.node, _regions(proof, site.condition, ways, site.axes)
        elif site.node.op in NEED_ELEMENTS:
            yield site.node, iter(_empty_ways(proof, site, site.node))
    e = place.equation
    yield e, _regions(proof, place.domain, _violations(e.target, e.indices, e.guard, e.axes), e.axes)


def _regions(
    proof: ProgramProof, condition: Truth, ways: Sequence[tuple[Expr, list[Expr]]], axes: Sequence[Axis]
) -> Iterator[Callable[[], Region]]:
    return (
        partial(proof.refuting, condition, violation, axes)
        for _, violations in ways
        for violation in violations
    )


def _is_empty(region: Callable[[], Region]) -> bool:
    try:
        return run_within_quota(lambda: region().is_empty)
    except OutOfQuota:
        return False


READS_AT_ONCE = 16
"""Reads that share a quota: derivatives have equations with dozens of them."""


def access_checks(proof: ProgramProof, place: EquationDomain) -> Iterator[Callable[[], None]]:
    """Bounds checks of an equation's reads and of its write, each a question with a quota of its
    own.
    """
    reads = [(site, site.node) for site in place.sites if isinstance(site.node, Read)]
    for k in range(0, len(reads), READS_AT_ONCE):
        yield partial(_check_reads, proof, place, reads[k : k + READS_AT_ONCE])
    yield partial(_check_write, proof, place)


def _check_reads(proof: ProgramProof, place: EquationDomain, reads: Sequence[tuple[Site, Read]]) -> None:
    for site, read in reads:
        _check_read(proof, place, site, read)


def _check_read(proof: ProgramProof, place: EquationDomain, site: Site, read: Read) -> None:
    for k, (i, violations) in enumerate(_violations(read.tensor, read.indices, read.guard, site.axes)):

        def complain(example: Example, k=k, i=i) -> CheckError:
            span = read.span or place.equation.span
            access = Access(
                read.tensor, read.guard, site.condition, site.axes, span, _ways_to_read(read), "read"
            )
            return _outside(proof, access, k, i, example)

        for violation in violations:
            proof.claim(proof.refuting(site.condition, violation, site.axes), complain)


def _check_write(proof: ProgramProof, place: EquationDomain) -> None:
    e = place.equation
    for k, (i, violations) in enumerate(_violations(e.target, e.indices, e.guard, e.axes)):

        def complain(example: Example, k=k, i=i) -> CheckError:
            return _outside(
                proof,
                Access(e.target, e.guard, place.domain, e.axes, e.span, _ways_to_write(e), "written"),
                k,
                i,
                example,
            )

        for violation in violations:
            proof.claim(proof.refuting(place.domain, violation, e.axes), complain)


def _violations(
    tensor: Tensor, indices: Sequence[Expr], guard: Guard | None, axes: Sequence[Axis]
) -> list[tuple[Expr, list[Expr]]]:
    """Conditions, for each index, under which it is outside the tensor and its guard does not bring
    it back. None for an axis over the dimension.
    """
    ranges = {a.var: a for a in axes}
    found = []
    for i, n in zip(indices, tensor.shape):
        axis = ranges.get(i) if isinstance(i, Var) else None
        safe = (
            axis is not None and (low := integer(axis.lo)) is not None and low >= 0 and same_value(axis.hi, n)
        )
        found.append((i, [] if safe else _outside_of(i, n, guard.mode if guard is not None else "")))
    return found


def _outside_of(i: Expr, n: Expr, mode: str) -> list[Expr]:
    match mode:
        case "value" | "drop":
            return []
        case "clamp":
            return [compare("<=", n, index(0))]
        case "wrap":
            return [compare("<", add(i, n), index(0)), compare("<=", add(n, n), i)]
        case "reflect":
            last = sub(n, index(1))
            return [compare("<", i, neg(last)), compare("<", add(last, last), i)]
    return [compare("<", i, index(0)), compare("<=", n, i)]


def _outside(proof: ProgramProof, access: Access, k: int, i: Expr, example: Example) -> CheckError:
    """The error for index `i` of dimension `k`."""
    tensor, guard = access.tensor, access.guard
    n = tensor.shape[k]
    known = _is_known(proof, i, n)
    values = {**example.sizes, **{a.var: v for a, v in zip(access.axes, example.shown)}}
    at = (
        str(evaluate_size(i, values))
        if known and not tensors(i)
        else i.span.text
        if i.span is not None
        else show(i)
    )
    found, example = example, example if known else replace(example, holds="")
    size = (
        f"{show(n)} = {evaluate_size(n, example.sizes)}"
        if variables(n) <= values.keys() and not isinstance(n, Const)
        else show(n)
    )
    used = telling(example, access.condition, variables(i, n))
    message = f"{tensor.name} {'is' if known else 'may be'} {access.done} outside its shape"
    if guard is not None:
        message = f"{guard.mode} cannot bring this index of {tensor.name} back inside"
    note = example.note(access.axes, used)
    return CheckError(
        message,
        _place_of(i, access.span),
        code="bounds",
        label=f"axis {k} has size {size}, index is {at}",
        notes=[note] if note else (),
        fixes=_fixes(access, k, i, known, found),
    )


def _fixes(access: Access, k: int, i: Expr, known: bool, found: Example) -> Sequence[Fix]:
    """Suggested fixes, the best first."""
    example = found if known else replace(found, holds="")
    tensor, guard = access.tensor, access.guard
    n = tensor.shape[k]
    if guard is not None:
        far = "there is no element to take" if guard.mode == "clamp" else f"`{guard.mode}` folds once"
        return [*_required(example), Fix(f"{far}: add a `require` that excludes this")]
    if integer(i) is not None and not _positive(i) and isinstance(n, Var):
        return [_from_the_end(tensor, i, n), *access.fixes]
    if not known:
        far = (
            _required(found) if any(size >= 1 << 31 for size in found.sizes.values()) else []
        )  # 32 bits do not hold the size
        return [*far, *_ways_to_understand(i, n, access), *access.fixes]
    if (other := _other_size(i, n, access.axes)) is not None:
        same = Fix(
            f"where {show(other)} and {show(n)} are one size, give both one name",
            (Rename(show(n), show(other)),),
            "; else ",
        )
        return [same, *access.fixes, *_required(example)]
    return [*access.fixes[:1], *_required(example), *access.fixes[1:]]


def _required(example: Example) -> list[Fix]:
    return [require(example.holds)] if example.holds else []


def _from_the_end(tensor: Tensor, i: Expr, n: Expr) -> Fix:
    """`X[N - 1]` for `X[-1]`."""
    index, old = show(sub(n, neg(i))), i.span.text if i.span is not None else show(i)
    return Fix(
        f"the last element is {tensor.name}[{index}]" if tensor.rank == 1 else f"the last index is {index}",
        (Write(old, index),),
    )


def _other_size(i: Expr, n: Expr, axes: Sequence[Axis]) -> Var | None:
    """The size that an index runs over alone, where it is another one than that of the
    dimension.
    """
    hi = next((a.hi for a in axes if a.var is i), None)
    return hi if isinstance(hi, Var) and isinstance(n, Var) and hi is not n else None


def _positive(i: Expr) -> bool:
    return (integer(i) or 0) >= 0


def _is_known(proof: ProgramProof, i: Expr, n: Expr) -> bool:
    """True if both are affine: the example's values are real then."""
    found = [proof.converter.values(x) for x in (i, n)]
    forms = (form for v in found for piece, f in v.cases for form in (f, *(c.form for c in piece)))
    return all(v.exact for v in found) and not any(
        isinstance(k, Unknown) and k.opaque for form in forms for k, _ in form.terms
    )


def _place_of(i: Expr, whole: Span | None) -> Span | None:
    """Source span of an index. An index variable is one object for all its uses, so its span is
    that of the access.
    """
    return whole if isinstance(i, Var) or i.span is None else i.span


def _ways_to_understand(i: Expr, n: Expr, access: Access) -> list[Fix]:
    """Suggested declarations that make the index analysable."""
    read, tensor = next(iter(tensors(i)), None), access.tensor
    if read is not None and read.value_range is None and read.dtype.is_int:
        declared = type_text(replace(read, value_range=(index(0), n)))
        return [Fix(f"declare a range, `{read.name}: {declared}`", (Declare(read.name, declared),), ", or ")]
    if (
        read is None
        and isinstance(n, Mul)
        and isinstance(n.lhs, Var)
        and isinstance(n.rhs, Var)
        and tensor.rank == 1
    ):
        return _group(i, n, access)
    return []


def _group(i: Expr, n: Mul, access: Access) -> list[Fix]:
    """`Y[(a, b)]` for `Y[a*N + b]` of a dimension M*N."""
    tensor = access.tensor
    match i:
        case Add(Mul(a, factor), b) if factor is n.rhs and i.span is not None:
            declared = f"{tensor.dtype}[({show(n.lhs)}, {show(n.rhs)})]"
            pair = f"({_words(a)}, {_words(b)})"
            return [
                Fix(
                    f"declare the dimension as a group, {tensor.name}: {declared} with {tensor.name}[{pair}]",
                    (Declare(tensor.name, declared), Write(i.span.text, pair)),
                    "; or ",
                )
            ]
    return []


def _words(e: Expr) -> str:
    """An expression as the user wrote it; one without a place as it prints."""
    return e.span.text if e.span is not None and not isinstance(e, Var) else show(e)


def _ways_to_read(read: Read) -> tuple[Fix, ...]:
    """Suggested guards for a read: in the user's words where they are known."""
    zero = "false" if read.dtype.kind == "bool" else "0"
    text = read.span.text if read.span is not None else show(replace(read, guard=None))
    if not text.endswith("]"):
        return (Fix("guard the read"),)
    guarded = f"{text[:-1]} | {zero}]"
    return (
        Fix(f"guard the read: {guarded}", (Write(text, guarded),)),
        Fix("restrict the indices, or give the elements outside a value"),
    )


def _ways_to_write(e: Equation) -> tuple[Fix, ...]:
    """Suggested ways to drop writes out of bounds, the indices in the user's words where they are
    known.
    """
    indices = ", ".join(map(_words, e.indices))
    left, dropped = f"{e.target.name}[{indices}]", f"{e.target.name}[{indices} | drop]"
    restrict = "restrict the indices (`for i in lo..hi`)"
    return Fix(f"{restrict}, or drop what lies outside: {dropped}", (Write(left, dropped),)), Fix(restrict)


def check_range(proof: ProgramProof, place: EquationDomain) -> None:
    """Check that the values an equation stores lie in the declared range of its target."""
    e = place.equation
    if e.target.value_range is None:
        return
    lo, hi = e.target.value_range
    wanted = f"{e.target.name} in {show(lo)}..{show(hi)}"
    if e.update is not None:
        raise CheckError(
            f"{wanted}, but it is updated",
            e.span,
            code="range",
            help="declare no range: sums of values in a range leave it",
        )

    written = e.value.span.text if e.value.span is not None else ""
    clamped = f"clamp({written or 'x'}, {show(lo)}, {show(sub(hi, index(1)))})"
    clamp = Fix(f"clamp it: {clamped}", (Write(written, clamped),) if written else ())
    other = Fix("declare the range that its values have, or none")

    def complain(example: Example) -> CheckError:
        note = example.note(e.axes, telling(example, place.domain, variables(e.value, lo, hi)))
        return CheckError(
            f"{wanted} is not proven",
            e.value.span or e.span,
            code="range",
            label="this value may be outside",
            notes=[note] if note else (),
            fixes=[clamp, *_required(example), other],
        )

    value = _before_narrowing(e.value)
    for violation in (compare("<", value, _cast(lo, value)), compare("<=", _cast(hi, value), value)):
        proof.claim(proof.refuting(place.domain, violation, e.axes), complain)


def _before_narrowing(value: Expr) -> Expr:
    """The operand of a conversion, but for integers of fewer bits: those do not hold each bound."""
    if (
        not isinstance(value, Cast)
        or value.operand.dtype.is_int
        and value.operand.dtype.bits < value.dtype.bits
    ):
        return value
    return value.operand


def _cast(bound: Expr, like: Expr) -> Expr:
    return bound if bound.dtype == like.dtype else Cast(bound, dtype=like.dtype)


NEED_ELEMENTS = ("max", "min", "argmax", "argmin")


def check_reductions(proof: ProgramProof, place: EquationDomain) -> None:
    """Check that `max`, `min`, `argmax` and `argmin` range over at least one element."""
    for site in place.sites:
        if isinstance(site.node, Reduce) and site.node.op in NEED_ELEMENTS:
            _check_not_empty(proof, place, site, site.node)


def _check_not_empty(proof: ProgramProof, place: EquationDomain, site: Site, node: Reduce) -> None:
    def complain(example: Example) -> CheckError:
        note = example.note(site.axes, telling(example, site.condition, variables(*node.axes)))
        return CheckError(
            f"{node.op} over an empty range",
            node.span or place.equation.span,
            code="empty",
            label="nothing to choose from",
            notes=[note] if note else (),
            fixes=_ways_to_choose(node, example),
        )

    for region in _empty_ways(proof, site, node):
        proof.claim(region(), complain)


def _empty_ways(proof: ProgramProof, site: Site, node: Reduce) -> list[Callable[[], Region]]:
    """Questions, one per way in which the set that a reduction ranges over may be empty."""
    if is_box(node):
        return [
            partial(proof.refuting, site.condition, compare("<=", axis.hi, axis.lo), site.axes)
            for axis in node.axes
            if not _never_empty(axis)
        ]
    return [partial(_empty_for, proof, site, node)]


def is_box(node: Reduce) -> bool:
    """True if the binders range over all combinations of values in ranges that do not depend on
    each other.
    """
    bound = {a.var for a in node.axes}
    return node.where is None and all(bound.isdisjoint(variables(a.lo, a.hi)) for a in node.axes)


def _ways_to_choose(node: Reduce, example: Example) -> list[Fix]:
    nonempty = Fix("make the range of its binders non-empty for every element")
    if node.where is None:
        return [*_required(example), nonempty]
    filtered, place = _filtered(node), node.span
    return [
        Fix(
            f"write the filter into the body: {filtered}",
            (Write(place.text, filtered),) if place is not None else (),
        ),
        nonempty,
    ]


def _filtered(node: Reduce) -> str:
    """The reduction with its filter in the body, where what is left out loses against
    everything, in the user's words.
    """
    binders = ", ".join(("*" if a.var.pack else "") + a.var.name for a in node.axes)
    condition, body = (
        e.span.text if e is not None and e.span is not None else "..." for e in (node.where, node.body)
    )
    t = node.body.dtype
    loses = f"lowest({t})" if node.op in ("max", "argmax") else "inf" if t.is_float else str(int_range(t)[1])
    return f"{node.op}({binders}: if {condition} then {body} else {loses})"


def _never_empty(axis: Axis) -> bool:
    lo, hi = integer(axis.lo), integer(axis.hi)
    return lo is not None and hi is not None and lo < hi


def _empty_for(proof: ProgramProof, site: Site, node: Reduce) -> Region:
    """Outer instances for which no instance of the binders satisfies the condition for certain."""
    inner = site.condition
    for axis in node.axes:
        inner = conjoined(inner, proof.converter.within(axis.var, axis.lo, axis.hi))
    if node.where is not None:
        inner = conjoined(inner, proof.converter.truth(node.where))
    nothing = Truth((), ())
    return proof.region(site.condition, site.axes).minus(
        proof.region(inner if inner.exact else nothing, site.axes)
    )
