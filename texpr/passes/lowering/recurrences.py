"""Equations that need themselves or each other: loops in which every element is written before it
is read.

`poly.order_of` finds the order: loops that equations share, each instance at its time. Here the
loops are made: the time of each equation gives one of its axes, and its other axes are loops
inside. One equation whose times are its axes in textual order keeps its own nest. What was made is
proven again, as loops: nothing is read before it is written, and every instance runs once.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from texpr import poly
from texpr.ir.affine import Linear, linear, same_value
from texpr.ir.build import compare, maximum, minimum, sub
from texpr.ir.expr import Axis, Expr, Read, Tensor, Var, index
from texpr.ir.loop import For, Kernel, Stmt
from texpr.ir.tensor import Equation, Program
from texpr.ir.traverse import variables, walk
from texpr.passes.lowering.instance_origins import origins
from texpr.passes.lowering.naive_nest import Nests, guarded
from texpr.passes.lowering.partial_instances import Chart, Time
from texpr.support.errors import CheckError


def recurrence(program: Program, nests: Nests, group: Sequence[int]) -> tuple[Stmt, ...]:
    """Loops for the equations at the positions `group`, which need each other.

    Raises:
        CheckError: no order is found.
    """
    equations = {k: e for k in group if isinstance(e := program.equations[k], Equation)}
    order = poly.order_of(program, equations)
    if order is not None:
        maker = _Maker(program, nests, equations)
        body = maker.body(order, {k: Chart.of(e) for k, e in equations.items()})
        if _is_right(program, nests, body, maker):
            return body
    first = equations[group[0]]
    names = ", ".join(dict.fromkeys(e.target.name for e in equations.values()))
    raise CheckError(
        f"no order of loops was found in which {names} can be computed",
        first.span,
        code="cycle",
        help="let each element need elements that are earlier along some dimension; tx.interpret runs any "
        "order",
    )


def _is_right(program: Program, nests: Nests, body: tuple[Stmt, ...], maker: _Maker) -> bool:
    """The loops compute what the equations say, whatever made them."""

    def kernel(statements: tuple[Stmt, ...], accumulators: Sequence[Tensor]) -> Kernel:
        return Kernel(
            program.name,
            program.inputs,
            program.outputs,
            (*program.temporaries, *accumulators),
            program.sizes,
            statements,
            requires=program.requires,
        )

    targets = {e.target for e in maker.equations.values()}
    if maker.keeps_nest:  # it runs what it says in the order that it says
        return poly.reads_after_writes(kernel(body, nests.accumulators), targets)
    plain = Nests(program)
    stores = tuple(s for k, e in maker.equations.items() for s in plain.nest(e, k))
    origin, instance = origins(stores, body, maker.equations)
    return poly.runs_in_order(
        kernel(body, nests.accumulators), kernel(stores, plain.accumulators), targets, origin, instance
    )


class _Maker:
    """Makes loops of an order.

    Attributes:
        keeps_nest: what was made is the plain nest of one equation.
    """

    def __init__(self, program: Program, nests: Nests, equations: Mapping[int, Equation]) -> None:
        self.program, self.nests, self.equations = program, nests, equations
        self.keeps_nest = False

    def body(self, order: Sequence[poly.Order], charts: Mapping[int, Chart]) -> tuple[Stmt, ...]:
        """One part after the other."""
        found: list[Stmt] = []
        for part in order:
            if isinstance(part, int):
                found += self._rest(part, charts[part])
            elif (own := self._own_nest(part, charts)) is not None:
                found += own
            else:
                found += self._loop(part, charts)
        return tuple(found)

    def _own_nest(self, loop: poly.Loop, charts: Mapping[int, Chart]) -> tuple[Stmt, ...] | None:
        """The nest of one equation that no other shares a loop with, if the times are its axes
        in textual order.
        """
        k, *others = loop.times
        if others or charts[k].around:
            return None
        times, parts = [loop.times[k]], loop.body
        while isinstance(part := next(iter(parts)), poly.Loop):
            times.append(part.times[k])
            parts = part.body
        terms = [term for form in times for term in form.terms]
        axes = self.equations[k].axes[: len(times)]
        if [v for v, _ in terms] != [a.var for a in axes] or any(abs(c) > 1 for _, c in terms):
            return None
        backward = frozenset(p for p, (_, c) in enumerate(terms) if c < 0)
        self.keeps_nest = len(self.equations) == 1 and not backward
        return self.nests.nest(self.equations[k], k, backward=backward, in_turn=_all_wait(self.equations[k]))

    def _rest(self, k: int, chart: Chart) -> tuple[Stmt, ...]:
        """The axes of an equation that no loop around gives."""
        equation, condition = chart.settled(self.program.requires)
        return guarded(condition, self.nests.nest(equation, k, at=chart.instance, around=chart.around))

    def _loop(self, loop: poly.Loop, charts: Mapping[int, Chart]) -> tuple[Stmt, ...]:
        """for time in from the first of all to the last: the body."""
        extents = {k: charts[k].extent(form, self.program.requires) for k, form in loop.times.items()}
        around = charts[next(iter(loop.times))].around
        start, stop = (
            self._first([lo for lo, _ in extents.values()], around),
            self._last([hi for _, hi in extents.values()], around),
        )
        first, form = next(iter(loop.times.items()))
        time = Time(Var(_name(form, self.equations[first])), start, linear(sub(stop, start)).expr())
        inside = {k: charts[k].given(form, time) for k, form in loop.times.items()}
        return (For(time.var, time.extent, self.body(loop.body, inside), tensor=self.nests.labels[first]),)

    def _first(self, bounds: Sequence[Expr], around: Mapping[Var, Expr]) -> Expr:
        """The smallest of them, without those that never are."""
        found = bounds[0]
        for other in bounds[1:]:
            if self._holds(compare("<", other, found), around):
                found = other
            elif not self._holds(compare("<=", found, other), around):
                found = minimum(found, other)
        return found

    def _last(self, bounds: Sequence[Expr], around: Mapping[Var, Expr]) -> Expr:
        """The largest of them, without those that never are."""
        found = bounds[0]
        for other in bounds[1:]:
            if self._holds(compare(">", other, found), around):
                found = other
            elif not self._holds(compare(">=", found, other), around):
                found = maximum(found, other)
        return found

    def _holds(self, condition: Expr, around: Mapping[Var, Expr]) -> bool:
        return poly.always(
            condition, [Axis(v, index(0), extent) for v, extent in around.items()], self.program.requires
        )


def _all_wait(equation: Equation) -> bool:
    """True if elements read others of their tensor along every axis, so that no two of them need be
    side by side.
    """
    target, at = equation.target, equation.indices
    reads = [n.indices for n in walk(equation.value) if isinstance(n, Read) and n.tensor is target]
    apart = {
        v
        for indices in reads
        for i, own in zip(indices, at, strict=True)
        if not same_value(i, own)
        for v in variables(own)
    }
    return apart >= {a.var for a in equation.axes}


def _name(form: Linear, equation: Equation) -> str:
    """Name of a loop: the axis it runs along, or the axes of a sum."""
    return "".join(a.var.name for a in equation.axes if form.coefficient(a.var)) or "t"
