"""Position of an element in row-major memory, as a linear form over the loops."""

from __future__ import annotations

from collections.abc import Iterator

from texpr.ir.affine import Linear, linear, linear_sum
from texpr.ir.build import add, integer, mul
from texpr.ir.expr import Expr, FloorDiv, Mod, Tensor, index
from texpr.ir.traverse import equal, factors


def flat_index(tensor: Tensor, indices: tuple[Expr, ...]) -> Linear:
    """The row-major position of an element. Joined loops cancel: (f // B) * B + f % B is f."""
    form = _row_major(indices, tensor.shape)
    while (joined := _rejoined(form)) is not None:
        form = linear(joined)
    return form


def row_length(tensor: Tensor) -> int | None:
    """Elements of a row, of the last axis that has several; None where that is not known."""
    return next((n for n in map(integer, reversed(tensor.shape)) if n != 1), 1)


def _row_major(indices: tuple[Expr, ...], shape: tuple[Expr, ...]) -> Linear:
    strides = [1]
    for size in reversed(shape[1:]):
        n = integer(size)
        if n is None:
            break
        strides.append(strides[-1] * n)
    else:
        return linear_sum(zip(indices, reversed(strides)))
    flat = linear(index(0))
    for i, size in zip(indices, shape):
        flat = _next(flat, size, linear(i))
    return flat


def _next(flat: Linear, size: Expr, i: Linear) -> Linear:
    """flat * size + i. A size divides nothing where it is 0: no element is there then."""
    for quotient, c in flat.terms:
        for rest, d in i.terms:
            if (
                isinstance(quotient, FloorDiv)
                and isinstance(rest, Mod)
                and c == d
                and _rejoin(quotient, rest)
                and equal(rest.rhs, size)
            ):
                left = linear(
                    mul(
                        Linear(
                            tuple((t, k) for t, k in flat.terms if t is not quotient), flat.constant
                        ).expr(),
                        size,
                    )
                )
                return left.plus(linear(rest.lhs), c).plus(
                    Linear(tuple((t, k) for t, k in i.terms if t is not rest), i.constant)
                )
    return linear(add(mul(flat.expr(), size), i.expr()))


def _rejoin(quotient: FloorDiv, rest: Mod) -> bool:
    """The two are of one number by one other."""
    return equal(rest.lhs, quotient.lhs) and equal(rest.rhs, quotient.rhs)


def _rejoined(form: Linear) -> Expr | None:
    """One step of c*B * (x // B) + c * (x % B) = c*x, or None."""
    for term, c in form.terms:
        for quotient, times in _quotients(term):
            for rest, d in form.terms:
                if isinstance(rest, Mod) and _rejoin(quotient, rest) and _is_times(times, c, quotient.rhs, d):
                    left = tuple((t, k) for t, k in form.terms if t is not term and t is not rest)
                    return add(Linear(left, form.constant).expr(), mul(quotient.lhs, index(d)))
    return None


def _quotients(term: Expr) -> Iterator[tuple[FloorDiv, list[Expr]]]:
    """The quotients that are factors of a product, and what they are multiplied by."""
    found = factors(term)
    for k, f in enumerate(found):
        if isinstance(f, FloorDiv):
            yield f, found[:k] + found[k + 1 :]


def _is_times(several: list[Expr], c: int, by: Expr, d: int) -> bool:
    """True if the product of several factors and `c` is that of `by` and `d`."""
    divisor = linear(by)
    if not several or not divisor.terms:
        return not several and not divisor.terms and c == d * divisor.constant
    left = factors(by)
    for f in several:
        k = next((k for k, g in enumerate(left) if equal(f, g)), None)
        if k is None:
            return False
        del left[k]
    return not left and c == d
