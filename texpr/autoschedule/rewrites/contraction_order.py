"""In which order the indices of a product of several tensors are summed: sums inside of others,
where that is less work (`factor_out`).

sum(j, k: A[i, j] * B[j, k] * C[k, l]) takes I*J*K*L products; over k first it takes J*K*L and
I*J*L. Which order takes least is found by counting what each costs, over all subsets of the indices
(dynamic programming), or one index at a time where there are many. Of what is left, factors that
have few indices together are multiplied beforehand (`premultiply`): sum(k: A[i, k] * w[k] * B[k,
j]) is a product of two then.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from itertools import combinations
from math import prod

from texpr.autoschedule.core.builder import ScheduleBuilder
from texpr.autoschedule.core.cost import operations
from texpr.autoschedule.core.cost_model import COSTS
from texpr.autoschedule.core.nest import Nest, constant_extent, find_nests
from texpr.autoschedule.rewrites.rewrite_costs import REWRITE_COSTS
from texpr.ir.build import integer
from texpr.ir.expr import Var
from texpr.ir.loop import For
from texpr.ir.machine import Machine
from texpr.ir.tensor import Equation
from texpr.ir.traverse import factors, variables
from texpr.schedule.steps.algebra.factor_out import STEP
from texpr.schedule.structure.equations import equations_of, reduction_along


def in_least_order(builder: ScheduleBuilder) -> None:
    """Sum the indices of each product of several tensors in the order that takes the least work,
    where all extents are known.
    """
    if builder.machine.tf32:
        return  # the certificate does not tell rounded sums of rounded factors from their products
    while any(_taken(builder, nest) for nest in find_nests(builder.kernel)):
        pass
    while any(_multiplied(builder, nest) for nest in find_nests(builder.kernel)):
        pass


def _multiplied(builder: ScheduleBuilder, nest: Nest) -> bool:
    """True if two factors of the nest's terms were multiplied beforehand."""
    found = _product(builder, nest)
    if (
        found is None
        or len(found[0].factors) < 3
        or prod(map(constant_extent, nest.reduction)) <= REWRITE_COSTS.unrolled_terms
    ):
        return False
    product, loops = found
    pair, cost = product.best_pair()
    return product.is_worth(cost) and builder.try_apply(
        "premultiply", loops[product.terms[-1]], *pair, reassoc=True
    )


def _taken(builder: ScheduleBuilder, nest: Nest) -> bool:
    """True if a sum of the nest was taken apart."""
    found = _product(builder, nest)
    if found is None:
        return False
    product, loops = found
    first, cost = product.best()
    return (
        bool(first)
        and product.is_worth(cost)
        and builder.try_apply(STEP, *(loops[v] for v in product.terms if v in first), reassoc=True)
    )


def _product(builder: ScheduleBuilder, nest: Nest) -> tuple[_Product, dict[Var, For]] | None:
    """The product that a nest sums, and the loops of its indices; None where orders are not
    compared: two factors, conditions, ranges that depend on each other or on sizes that are not
    known.
    """
    if nest.main.update != "add" or len(nest.reduction) < 1:
        return None
    program = equations_of(builder.kernel, STEP)
    along = [reduction_along(builder.kernel, program, loop) for loop in nest.reduction]
    if along[0] is None or any(each is None or each[1] is not along[0][1] for each in along):
        return None
    number, old, _ = along[0]
    e = program.equations[number]
    if (
        not isinstance(e, Equation)
        or e.where is not None
        or old.where is not None
        or old.op != "sum"
        or len(along) != len(old.axes)
    ):
        return None
    extents = {
        a.var: hi - lo
        for a in (*e.axes, *old.axes)
        if (hi := integer(a.hi)) is not None and (lo := integer(a.lo)) is not None
    }
    if len(extents) < len(e.axes) + len(old.axes) or min(extents.values(), default=1) < 1:
        return None
    given = [(frozenset(variables(f) & extents.keys()), operations(f)) for f in factors(old.body)]
    if len(given) < 3 and not any(v.isdisjoint(a.var for a in old.axes) for v, _ in given):
        return None
    loops = {
        axis.var: loop for loop, each in zip(nest.reduction, along) if each is not None for axis in (each[2],)
    }
    result = frozenset(a.var for a in e.axes)
    return _Product(
        builder.machine, old.dtype.bytes, tuple(given), result, tuple(a.var for a in old.axes), extents
    ), loops


_Factor = tuple[frozenset[Var], int]
"""The indices that a factor depends on, and what an element of it costs."""


@dataclass(frozen=True)
class _Product:
    """A sum of products.

    Attributes:
        bytes: of an element.
        result: the indices that are not summed.
        terms: those that are.
    """

    machine: Machine
    bytes: int
    factors: tuple[_Factor, ...]
    result: frozenset[Var]
    terms: tuple[Var, ...]
    extents: dict[Var, int]

    @property
    def whole(self) -> float:
        """Cost of the contraction as it is written."""
        return self._sum(self.factors, self.result)

    def is_worth(self, cost: float) -> bool:
        """True if an order of this cost is worth another nest."""
        return (
            cost <= REWRITE_COSTS.work_share * self.whole
            and self.whole - cost >= REWRITE_COSTS.saved_operations
        )

    def best_pair(self) -> tuple[tuple[int, int], float]:
        """The positions of two factors to multiply beforehand, and what it all costs then; of equal
        ones the first. If all products are used a few times alone, what it costs as it is.
        """
        ways: list[tuple[float, tuple[int, int]]] = [(self.whole, (0, 1))]
        for pair in combinations(range(len(self.factors)), 2):
            mine, others = (
                [self.factors[k] for k in pair],
                [f for k, f in enumerate(self.factors) if k not in pair],
            )
            over = mine[0][0] | mine[1][0]
            cost = self._sum(mine, over) + self._storage(over) + self._sum([*others, (over, 1)], self.result)
            if self._count(self.result.union(self.terms)) >= REWRITE_COSTS.factor_uses * self._count(over):
                ways.append((cost, pair))
        cost, pair = min(ways, key=lambda way: way[0])
        return pair, cost

    def best(self) -> tuple[frozenset[Var], float]:
        """The indices to sum first, none where nothing is to be taken out, and what it all costs
        then.
        """
        return self._every() if len(self.terms) <= REWRITE_COSTS.searched_indices else self._one_by_one()

    def _every(self) -> tuple[frozenset[Var], float]:
        """By the least cost of each set of indices that are summed already: the factors are the
        same then in whichever order they were. Of equal orders the one that begins with the last
        index, whose terms are likely to lie side by side.
        """
        states: dict[frozenset[Var], tuple[float, frozenset[Var], tuple[_Factor, ...]]] = {
            frozenset(): (0.0, frozenset(), self.factors)
        }
        done: tuple[frozenset[Var], float] = frozenset(), self.whole
        for count in range(len(self.terms)):
            for gone in [g for g in states if len(g) == count]:
                cost, first, left = states[gone]
                total = cost + self._sum(left, self.result)
                done = min(done, (first, total), key=lambda each: each[1])
                for block in _subsets(v for v in reversed(self.terms) if v not in gone):
                    new = self._without(left, block)
                    if new is None:
                        continue
                    then = cost + new[0], first or block, new[1]
                    if gone | block not in states or then[0] < states[gone | block][0]:
                        states[gone | block] = then
        whole = states.get(frozenset(self.terms))
        return (
            done
            if whole is None
            else min(done, (whole[1], whole[0] + self._sum(whole[2], self.result)), key=lambda each: each[1])
        )

    def _one_by_one(self) -> tuple[frozenset[Var], float]:
        """The cheapest block of indices that stand in the same factors, again and again while
        that is less work.
        """
        first, spent, left = frozenset[Var](), 0.0, self.factors
        terms = set(self.terms)
        while True:
            now = self._sum(left, self.result)
            blocks = {
                frozenset(u for u in terms if all((u in f) == (v in f) for f, _ in left)) for v in terms
            }
            known = [(block, new) for block in blocks if (new := self._without(left, block)) is not None]
            ways = [(new[0] + self._sum(new[1], self.result), block, new) for block, new in known]
            if (
                not ways
                or (best := min(ways, key=lambda way: (way[0], sorted(v.name for v in way[1]))))[0] >= now
            ):
                return first, spent + now
            _, block, (cost, left) = best
            first, spent, terms = first or block, spent + cost, terms - block

    def _without(
        self, left: tuple[_Factor, ...], block: frozenset[Var]
    ) -> tuple[float, tuple[_Factor, ...]] | None:
        """Cost to sum the factors that depend on some indices over these, and the factors then;
        None if no others are left.
        """
        mine = tuple(f for f in left if f[0] & block)
        others = tuple(f for f in left if not f[0] & block)
        if not others:
            return None
        over = frozenset[Var]().union(*(v for v, _ in mine)) - block
        stays = over == self.result and not any(f[0] & set(self.terms) for f in others)
        return self._sum(mine, over) + (0 if stays else self._storage(over)), (*others, (over, 1))

    def _storage(self, indices: frozenset[Var]) -> float:
        """Cost to store and read a tensor."""
        count = self._count(indices)
        far = self.machine.caches and count * self.bytes > self.machine.caches[-1]
        return count * (COSTS.memory_round_trip if far else COSTS.store_and_load)

    def _sum(self, left: Sequence[_Factor], result: frozenset[Var]) -> float:
        """Cost of a sum of products: its factors, their products, and the additions."""
        every = result.union(*(v for v, _ in left))
        return self._count(every) * sum(1 + cost for _, cost in left)

    def _count(self, indices: Iterable[Var]) -> int:
        return prod(self.extents[v] for v in indices)


def _subsets(of: Iterable[Var]) -> Iterator[frozenset[Var]]:
    given = list(of)
    for count in range(1, len(given) + 1):
        yield from map(frozenset, combinations(given, count))
