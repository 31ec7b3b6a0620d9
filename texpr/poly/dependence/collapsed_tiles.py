"""Dependences between tiles of collapsed loops: two different tiles, or different places of one
tile.

How far two iterations `a*n + b` are apart is no linear question. It is one where `a` is 0, and
where `n` is a small number.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping

from texpr.ir.affine import same_value
from texpr.ir.build import compare, conjunction, fold
from texpr.ir.dtypes import I64
from texpr.ir.expr import Expr, FloorDiv, Mod, Node, Var, index
from texpr.ir.traverse import rewrite
from texpr.poly.constraints.conversion import Converter
from texpr.poly.constraints.linear_forms import Conjunction, Form
from texpr.poly.constraints.solver import Question, System
from texpr.poly.dependence.kernel_model import Nest, Statement
from texpr.support.frozen_dataclass import frozen_by_identity

LENGTHS = (1, 2, 3, 4)
"""The lengths of inner loops that are looked at."""


def is_tile_digit(nest: Nest, var: Var) -> bool:
    """True if more than one loop counts the iterations of collapsed loops."""
    return isinstance(nest.parted.values.get(var), FloorDiv | Mod)


@frozen_by_identity
class TileDigit:
    """A set of instances for which the loops of the kernel are linear in the loops that the proofs
    see.

    Attributes:
        given: the condition that defines the set.
        values: the constants that expressions have there.
    """

    given: Expr
    values: tuple[tuple[Expr, int], ...]

    def apply(self, e: Expr) -> Expr:
        def rule(node: Node) -> Node | None:
            if isinstance(node, Expr) and node.dtype == I64:
                found = next((n for known, n in self.values if same_value(known, node)), None)
                return fold(node) if found is None else index(found)
            return fold(node)

        return rewrite(e, rule)  # type: ignore[return-value]


def in_earlier_tile(
    nest: Nest, statement: Statement, var: Var, question: Question, source: int, sink: int
) -> Iterator[System]:
    """Solutions of a question about two iterations, with the source in an earlier iteration of the
    tiles that `var` counts and the loops around equal.
    """
    around = [n.var for n in nest.around(statement)]
    digits = around[: around.index(var) + 1]
    for digit in _tile_digits(nest, statement, var):
        for pieces in nest.converter.truth(digit.given).true:
            both = question.copy()
            ends = [(_linear(nest.converter, digit.apply(nest.parted.values.get(v, v)))) for v in digits]
            for copy in (source, sink):
                both.require(pieces, copy)
                for piece, _ in ends:
                    both.require(piece, copy)
            rows = [both.compare(form, sink, form, source) for _, form in ends[:-1]]
            last = ends[-1][1]
            yield both.system().also([*rows, both.compare(last, sink, last, source, gap=1)])


def _linear(converter: Converter, e: Expr) -> tuple[Conjunction, Form]:
    """A quotient by a constant of a linear form, as its constraints and what it is."""
    return converter.values(e).cases[0]


def _tile_digits(nest: Nest, statement: Statement, var: Var) -> Iterator[TileDigit]:
    """The sets of instances that are looked at: the first tiles, and short inner loops."""
    numbers = nest.parted.loops[var]
    extents = {n.var: n.extent for n in statement.loops}
    first = conjunction(*(compare("==", v, index(0)) for v in numbers[:-1]))
    yield TileDigit(first, tuple((v, 0) for v in numbers[:-1]))
    for length in LENGTHS:
        of: Mapping[Var, Expr] = {v: extents[v] for v in numbers[1:]}
        yield TileDigit(
            conjunction(*(compare("==", n, index(length)) for n in of.values())),
            tuple((n, length) for n in of.values()),
        )
