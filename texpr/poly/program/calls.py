"""Preconditions of called operators, proven in the caller."""

from __future__ import annotations

from collections.abc import Callable, Mapping

from texpr.ir.affine import linear, same_value
from texpr.ir.build import compare, conjunction, disjunction, fold, product, sub
from texpr.ir.expr import Compare, Const, Dim, Expr, Mul, Node, Tensor, Var, index
from texpr.ir.printing.expr import show
from texpr.ir.printing.types import type_text
from texpr.ir.tensor import Invoke, Program
from texpr.ir.traverse import rewrite, substitute, variables
from texpr.poly.program.claims import Example, ProgramProof
from texpr.support.errors import CheckError
from texpr.support.fixes import Declare, Fix, require
from texpr.support.frozen_dataclass import replace


def check_call(
    proof: ProgramProof, call: Invoke, requirements: Callable[[Program], tuple[Expr, ...]]
) -> None:
    """Check that the arguments satisfy the callee's requirements and the value ranges of its
    inputs.

    Args:
        requirements: what a program requires beyond what it says.
    """
    sizes = _bound_sizes(call)
    for condition in (*call.program.requires, *requirements(call.program)):
        here = _in(condition, sizes)

        def complain(example: Example, here=here, condition=condition) -> CheckError:
            note = example.note((), variables(here))
            return CheckError(
                f"{call.program.name} requires {show(condition)}",
                call.span,
                code="require",
                label=f"here: {show(here)}",
                notes=[note] if note else (),
                fixes=[
                    *([require(example.holds)] if example.holds else []),
                    require(show(here)),
                    Fix(f"state in `require` what {call.program.name} requires"),
                ],
            )

        proof.require(here, complain)
    for inner, outer in zip(call.program.inputs, call.args):
        if inner.value_range is not None:
            _check_range(proof, call, inner, outer, sizes)
    for inner, outer in zip(call.program.outputs, call.targets):
        _check_result(proof, call, inner, outer, sizes)


def _check_range(
    proof: ProgramProof, call: Invoke, inner: Tensor, outer: Tensor, sizes: Mapping[Var, Expr]
) -> None:
    assert inner.value_range is not None
    lo, hi = (_in(x, sizes) for x in inner.value_range)
    wanted = f"{inner.name} in {show(lo)}..{show(hi)}"

    def complain(example: Example) -> CheckError:
        note = example.note((), variables(lo, hi))
        return CheckError(
            f"{call.program.name} requires {wanted}",
            call.span,
            code="require",
            label=f"the range of {outer.name} is larger",
            notes=[note] if note else (),
            fixes=_declared(outer, (lo, hi)),
        )

    if outer.value_range is None:
        raise CheckError(
            f"{call.program.name} requires {wanted}",
            call.span,
            code="require",
            label=f"{outer.name} has no range",
            fixes=_declared(outer, (lo, hi)),
        )
    own_lo, own_hi = outer.value_range
    proof.require(conjunction(compare("<=", lo, own_lo), compare("<=", own_hi, hi)), complain)


def _declared(tensor: Tensor, values: tuple[Expr, Expr], begin: str = "") -> list[Fix]:
    """Advise a declaration with a range of values."""
    declaration = type_text(replace(tensor, value_range=values))
    words = f"{begin}{tensor.name}: {declaration}" if begin else f"declare `{tensor.name}: {declaration}`"
    return [
        Fix(words, (Declare(tensor.name, declaration),)),
        Fix(f"clamp what {tensor.name} holds, and declare its range"),
    ]


def _check_result(
    proof: ProgramProof, call: Invoke, inner: Tensor, outer: Tensor, sizes: Mapping[Var, Expr]
) -> None:
    """Check the caller's declarations of a result, `distinct` and the range, against the callee's."""
    if outer.distinct and not inner.distinct:
        raise CheckError(
            f"{outer.name} distinct is not proven",
            call.span,
            code="distinct",
            label=f"{inner.name} of {call.program.name} need not be",
            help=f"leave `distinct` out, or declare it in {call.program.name}",
        )
    if outer.value_range is None:
        return
    lo, hi = outer.value_range
    wanted = f"{outer.name} in {show(lo)}..{show(hi)} is not proven"
    if inner.value_range is None:
        raise CheckError(
            wanted,
            call.span,
            code="range",
            label=f"{inner.name} of {call.program.name} has no range",
            help=f"declare one in {call.program.name}: {inner.name}: {inner.dtype}[...] in lo..hi; or leave "
            f"this one out",
        )
    own_lo, own_hi = (_in(x, sizes) for x in inner.value_range)
    if same_value(lo, own_lo) and same_value(hi, own_hi):
        return

    def complain(example: Example) -> CheckError:
        note = example.note((), variables(lo, hi, own_lo, own_hi))
        return CheckError(
            wanted,
            call.span,
            code="range",
            notes=[note] if note else (),
            label=f"{call.program.name} gives values in {show(own_lo)}..{show(own_hi)}",
            fixes=_declared(outer, (own_lo, own_hi), "declare what the call gives: "),
        )

    proof.require(conjunction(compare("<=", lo, own_lo), compare("<=", own_hi, hi)), complain)


def _in(e: Expr, sizes: Mapping[Var, Expr]) -> Expr:
    """The callee's expression over the caller's sizes."""
    return rewrite(substitute(e, sizes), lambda n: _product_compared(n) or fold(n))  # type: ignore[return-value]


def _product_compared(node: Node) -> Expr | None:
    """m*n == 0 is m == 0 or n == 0; m*n >= 1 is m >= 1 and n >= 1. For sizes, that is for what
    is not negative.
    """
    match node:
        case Compare("==" | ">=" as op, Mul(m, n), Const(value)) if (
            value == (op == ">=") and linear(m).is_affine and linear(n).is_affine
        ):
            combine = disjunction if op == "==" else conjunction
            bound = index(int(op == ">="))
            return combine(compare(op, m, bound), compare(op, n, bound))
    return None


def _bound_sizes(call: Invoke) -> dict[Var, Expr]:
    """The callee's sizes as expressions of the caller's, as far as the shapes tell."""
    sizes: dict[Var, Expr] = {}
    for inner, outer in zip(call.program.inputs, call.args):
        for dim, argument_dims in _matched(inner, outer):
            extent = product(tuple(n for d in argument_dims for n in d.sizes))
            if (
                len(dim.sizes) > 1
                and len(argument_dims) == 1
                and len(argument_dims[0].sizes) == len(dim.sizes)
            ):
                sizes.update((n, m) for n, m in zip(dim.sizes, argument_dims[0].sizes) if isinstance(n, Var))
            elif len(dim.sizes) == 1:
                _bind(dim.sizes[0], extent, sizes)
    unbound = [size.name for size in call.program.sizes if size not in sizes]
    if unbound:
        raise CheckError(
            f"the arguments do not say what {unbound[0]} of {call.program.name} is",
            call.span,
            code="shape",
            help=f"let a dimension of an input of {call.program.name} be {unbound[0]} alone",
        )
    return sizes


def _bind(size: Expr, extent: Expr, sizes: dict[Var, Expr]) -> None:
    """size == extent, solved for the size's variable where it is one plus a constant."""
    form = linear(size)
    if (
        len(form.terms) == 1
        and isinstance(v := form.terms[0][0], Var)
        and form.terms[0][1] == 1
        and v not in sizes
    ):
        sizes[v] = extent if form.constant == 0 else sub(extent, index(form.constant))


def _matched(inner: Tensor, outer: Tensor) -> list[tuple[Dim, tuple[Dim, ...]]]:
    """The argument's dimensions that each dimension of the input takes."""
    extra = len(outer.dims) - sum(
        1 if d.length is None else d.length for d in inner.dims if not d.pack or d.length is not None
    )
    matched, at = [], 0
    for dim in inner.dims:
        length = 1 if not dim.pack else extra if dim.length is None else dim.length
        matched.append((dim, outer.dims[at : at + length]))
        at += length
    return matched
