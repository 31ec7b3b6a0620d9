"""Reductions: their binders, ranges and accumulators."""

from __future__ import annotations

from collections.abc import Callable, Sequence

from texpr.ir.affine import same_value
from texpr.ir.dtypes import BOOL, I64, DType
from texpr.ir.expr import Axis, Cast, Expr, Reduce, Var, index
from texpr.ir.printing.expr import default_accumulator, show
from texpr.lang.elaboration.elaboration_context import ElaborationContext
from texpr.lang.elaboration.likely import advised_binder
from texpr.lang.elaboration.name_scope import Scope, Use, shown
from texpr.lang.elaboration.typed_values import Value, describe, materialize, own_dtype
from texpr.lang.syntax import tree
from texpr.lang.syntax.advice import converted
from texpr.support.errors import CheckError
from texpr.support.fixes import Fix, Ranges, Rename
from texpr.support.source import Span
from texpr.support.spelling import counted
from texpr.support.trampoline import Steps


def reduction(s: ElaborationContext, node: tree.Reduction, scope: Scope) -> Steps:
    """`op(binders where cond: body)`; binders cover the condition, the body and later ranges."""
    variables = bind(s, node.binders, scope)
    inner = scope.as_value().bind(variables)
    parameter = _parameter(s, node)
    bounds: list[tuple[Expr, Expr] | None] = []
    for k, b in enumerate(node.binders):
        earlier = scope.bind({b.name: variables[b.name] for b in node.binders[:k]})
        bounds.append((yield range_steps(s, b.range, earlier)) if b.range else None)
    where = None if node.where is None else (yield s.condition_steps(node.where, inner))
    default = "default" if node.op in ("sum", "prod") else ""
    body = yield s.steps(node.body, inner.widening(parameter if isinstance(parameter, DType) else default))
    axes = tuple(
        axis_of(s.uses, variables[b.name], found, b.span, lambda b=b: advised_binder(node, b.name, s.names))
        for b, found in zip(node.binders, bounds)
    )
    return Value(_reduce(s, node, axes, body, where, parameter))


def bind(s: ElaborationContext, binders: tuple[tree.Binder, ...], scope: Scope) -> dict[str, Var]:
    """Fresh variables for binders, in order."""
    variables: dict[str, Var] = {}
    places: dict[str, Span] = {}
    for b in binders:
        if b.name in variables:
            raise CheckError(
                f"`{b.name}` is bound twice", b.span, code="name", notes=shown("first", places[b.name])
            )
        variables[b.name] = fresh(s, b.name, b.pack, b.span, scope)
        places[b.name] = b.span
    return variables


def fresh(s: ElaborationContext, name: str, pack: bool, span: Span, scope: Scope) -> Var:
    """A new index variable; it may not hide another name."""
    if name in scope.local or (name in s.names and not scope.inlining):
        place = s.names.places.get(name)
        raise CheckError(
            f"the index `{name}` hides another `{name}`",
            span,
            code="name",
            notes=shown("declared", place) if place else (),
            help="indices, tensors, sizes and constants share one namespace",
        )
    return Var(name, pack, span=span)


def range_steps(s: ElaborationContext, node: tree.Range, scope: Scope) -> Steps:
    """`lo..hi` as i64 expressions."""
    lo = yield s.index_steps(node.lo, scope)
    hi = yield s.index_steps(node.hi, scope)
    return lo, hi


def axis_of(
    uses: dict[Var, list[Use]],
    var: Var,
    bounds: tuple[Expr, Expr] | None,
    span: Span,
    advice: Callable[[], Sequence[Fix]],
) -> Axis:
    """The range of an index: as written, else what its unguarded reads agree on; `advice` says
    how to write it.
    """
    if bounds is not None:
        return Axis(var, *bounds)
    found = uses.get(var, [])
    name = f"*{var.name}" if var.pack else var.name
    if not found:
        raise CheckError(
            f"the range of `{name}` is not known",
            span,
            code="range",
            notes=(f"no unguarded read has `{name}` alone as an index",),
            fixes=() if var.pack else advice(),
        )
    first = found[0]
    for use in found[1:]:
        if not same_value(first.size, use.size):
            raise CheckError(
                f"`{name}` runs over two sizes that are not provably equal",
                use.span,
                code="range",
                notes=(
                    f"axis {first.axis} of {first.tensor} has size {show(first.size)}, "
                    f"axis {use.axis} of {use.tensor} has size {show(use.size)}",
                ),
                fixes=_same(use.size, first.size, name),
            )
    return Axis(var, index(0), first.size)


def _same(a: Expr, b: Expr, name: str) -> list[Fix]:
    """Advise one name for two sizes that an index runs over."""
    one = (
        [Fix("give both one name", (Rename(show(a), show(b)),), ", or ")]
        if isinstance(a, Var) and isinstance(b, Var)
        else []
    )
    ranges = [f"{name} in 0..{show(size)}" for size in (b, a)]
    return [
        *one,
        *(Fix(f"write the range: {text}", (Ranges(text),)) for text in ranges),
        Fix(f"guard one of the reads at {name}"),
    ]


def widened(e: Expr, wanted: DType | str) -> Expr:
    """An operand inside a sum or product at the accumulator's type."""
    if not wanted or e.dtype == BOOL:
        return e
    dtype = default_accumulator("sum", e.dtype) if isinstance(wanted, str) else wanted
    return (
        Cast(e, dtype=dtype, span=e.span)
        if dtype.is_float == e.dtype.is_float and dtype.bits > e.dtype.bits
        else e
    )


def _parameter(s: ElaborationContext, node: tree.Reduction) -> DType | int | None:
    word = node.parameter
    if word is None:
        return None
    if node.op in ("argmax", "argmin"):
        if not word.text.isdecimal() or len(word.text) > 3 or int(word.text) >= len(node.binders):
            raise CheckError(
                f"`{node.op}` has {counted(len(node.binders), 'result')} here", word.span, code="index"
            )
        return int(word.text)
    if node.op in ("any", "all"):
        raise CheckError(f"`{node.op}` is always a bool", word.span, code="dtype")
    return s.names.dtype(word)


def _reduce(
    s: ElaborationContext,
    node: tree.Reduction,
    axes: tuple[Axis, ...],
    body: Value,
    where: Expr | None,
    parameter: DType | int | None,
) -> Expr:
    op, span = node.op, node.body.span
    if op in ("any", "all"):
        if body.dtype != BOOL:
            raise CheckError(
                f"`{op}` runs over bools; found {describe(body)}", span, code="dtype", help="compare: x != 0"
            )
        return Reduce(op, axes, body.expr, where, dtype=BOOL, span=node.span)
    if body.dtype == BOOL:
        raise CheckError(
            f"`{op}` of bools", span, code="dtype", help="count with if c then 1 else 0; or use any, all"
        )
    if op in ("argmax", "argmin"):
        e = materialize(body, body.dtype, span) if body.weak else s.arithmetic.compute(body.expr)
        return Reduce(
            op, axes, e, where, parameter if isinstance(parameter, int) else 0, dtype=I64, span=node.span
        )
    usual = default_accumulator(op, own_dtype(body))
    dtype = parameter if isinstance(parameter, DType) else usual
    e = materialize(body, dtype, span) if body.weak else s.arithmetic.accumulate(body.expr, dtype)
    if e.dtype != dtype:
        raise CheckError(
            f"the body of `{op}<{dtype}>` is {e.dtype}",
            span,
            code="dtype",
            fixes=[converted("convert it: ", dtype, e)],
        )
    made = Reduce(op, axes, e, where, dtype=dtype, span=node.span)
    if body.weak == "literal" and not isinstance(parameter, DType):
        s.arithmetic.of_numbers.add(made)
    return made
