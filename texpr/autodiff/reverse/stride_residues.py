"""Elements that lie a stride apart receive alike: equations of their own say it without remainders.

`Y[y] = sum(r: X[2*y + r] * F[r])` gives `dX[h]` the taps r of the parity of h. Written for
`dX[2*h]` and for `dX[2*h + 1]` apart, each is a convolution with taps of its own: nothing is
multiplied in vain, and every index is affine.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from itertools import product
from math import lcm, prod

from texpr.ir import build
from texpr.ir.affine import Linear, linear
from texpr.ir.expr import Axis, Compare, Expr, Mod, Node, Read, Reduce, index
from texpr.ir.traverse import walk
from texpr.support.frozen_dataclass import replace

MOST = 9
"""Equations of one tensor that are worth having; strides of more are left to remainders."""


def phases(
    target: tuple[Axis, ...], terms: Iterable[Expr], any_value: bool = False
) -> list[tuple[tuple[Axis, ...], tuple[Expr, ...]]]:
    """Axes and the elements they stand for: all at once, or apart by the remainders on which
    `terms` depend.

    Args:
        any_value: for single values too, not only for sums and places of a maximum.
    """
    strides = [1 for _ in target]
    for divisor, form in _remainders(terms, any_value):
        for n, axis in enumerate(target):
            if abs(form.coefficient(axis.var)) == 1 and not axis.var.pack:
                strides[n] = lcm(strides[n], divisor)
    if prod(strides) > MOST:
        strides = [1 for _ in target]
    return [_apart(target, strides, starts) for starts in product(*map(range, strides))]


def _remainders(terms: Iterable[Expr], any_value: bool) -> Iterator[tuple[int, Linear]]:
    """The literal divisors of remainders in terms that are sums or look for the place of a
    maximum, or in any, and what is divided.
    """
    for nodes in ([*walk(term)] for term in terms):
        if any_value or any(isinstance(n, Reduce) or _is_met(n) for n in nodes):
            remainders = ((n.lhs, build.integer(n.rhs)) for n in nodes if isinstance(n, Mod))
            yield from ((divisor, linear(e)) for e, divisor in remainders if divisor is not None)


def _is_met(node: Node) -> bool:
    """True if a remainder is compared with a value that was read, as where a maximum is."""
    sides = (type(node.lhs), type(node.rhs)) if isinstance(node, Compare) else ()
    return Mod in sides and Read in sides


def _apart(
    target: tuple[Axis, ...], strides: list[int], starts: tuple[int, ...]
) -> tuple[tuple[Axis, ...], tuple[Expr, ...]]:
    axes: list[Axis] = []
    element: list[Expr] = []
    for axis, stride, start in zip(target, strides, starts):
        last = build.add(build.sub(axis.hi, index(start)), index(stride - 1))
        axes.append(
            axis if stride == 1 else replace(axis, hi=build.floordiv(linear(last).expr(), index(stride)))
        )
        element.append(
            axis.var if stride == 1 else build.add(build.mul(axis.var, index(stride)), index(start))
        )
    return tuple(axes), tuple(element)
