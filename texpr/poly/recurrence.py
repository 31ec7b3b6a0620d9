"""Definitions that need themselves: an order exists if every element needs only earlier ones, along some dimensions.

The proof is Feautrier's, one dimension at a time: give each tensor a dimension and a direction such that no element needs a later
one; what needs a strictly earlier one is settled, and the rest goes on with the next dimension, until nothing is left that runs in
a circle. A refutation is a circle of reads that comes back to the same element.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from itertools import islice, product

from texpr.ir.expr import Read, Tensor
from texpr.ir.tensor import Equation, Invoke
from texpr.ir.traverse import variables
from texpr.poly.coverage import Element, elements, writes
from texpr.poly.forms import Form, Truth
from texpr.poly.proof import Example, Place, Proof, telling
from texpr.poly.solver import Question, Region, System
from texpr.support.errors import CheckError

ATTEMPTS = 256
"""Choices of dimensions that are tried at each step."""
LONGEST_CIRCLE = 4


@dataclass(frozen=True, slots=True, eq=False)
class Need:
    """An element that an equation defines needs one that it reads; one case of each."""

    place: Place
    read: Read
    written: Element
    needed: Element


def check_order(proof: Proof) -> None:
    """No element needs itself, and an order in which elements can be computed is found."""
    for group in _circular(proof):
        _check_calls(proof, group)
        needs = [n for place in proof.places if place.equation.target in group for n in _needs(proof, place, group)]
        for n in needs:
            if n.place.equation.update is not None and n.read.tensor is n.place.equation.target:
                raise CheckError(f"an update of {n.read.tensor.name} reads it", n.read.span or n.place.equation.span, code="cycle",
                                 help="updates fold values that do not depend on the result; define another tensor")
        if not _well_founded(proof, needs):
            _check_circles(proof, needs)
            at = needs[0]
            raise CheckError(f"no order was found in which {_names(group)} can be computed", at.read.span or at.place.equation.span,
                             code="cycle", help="let each element need elements that are earlier along some dimension")


def _names(group: Sequence[Tensor]) -> str:
    return ", ".join(t.name for t in group)


def _circular(proof: Proof) -> list[list[Tensor]]:
    """Groups of tensors each of which needs all others of its group, and itself."""
    needs: dict[Tensor, set[Tensor]] = {}
    for place in proof.places:
        needs.setdefault(place.equation.target, set()).update(s.node.tensor for s in place.sites if isinstance(s.node, Read))
    for call in proof.program.equations:
        if isinstance(call, Invoke):
            for target in call.targets:
                needs.setdefault(target, set()).update(call.args)
    reach = {t: _reachable(t, needs) for t in needs}
    groups: list[list[Tensor]] = []
    for t in needs:
        if t in reach[t] and not any(t in g for g in groups):
            groups.append([u for u in needs if u in reach[t] and t in reach.get(u, ())])
    return groups


def _reachable(start: Tensor, needs: dict[Tensor, set[Tensor]]) -> set[Tensor]:
    found: set[Tensor] = set()
    stack = [start]
    while stack:
        new = needs.get(stack.pop(), set()) - found
        found |= new
        stack += new
    return found


def _check_calls(proof: Proof, group: Sequence[Tensor]) -> None:
    for call in proof.program.equations:
        if isinstance(call, Invoke) and any(t in group for t in call.targets):
            raise CheckError(f"{_names(call.targets)} needs itself through a call", call.span, code="cycle",
                             help="a call computes whole tensors: it cannot take part in a recurrence")


def _needs(proof: Proof, place: Place, group: Sequence[Tensor]) -> Iterator[Need]:
    for site in place.sites:
        if isinstance(site.node, Read) and site.node.tensor in group:
            needed, _ = elements(proof, site.condition, site.node.tensor, site.node.indices, site.node.guard)
            for written, other in product(writes(proof, place)[0], needed):
                yield Need(place, site.node, written, other)


def _well_founded(proof: Proof, needs: Sequence[Need]) -> bool:
    """Whether needs run backwards, lexicographically along dimensions chosen one after the other."""
    left = list(needs)
    known: dict[tuple[int, Form, Form, int], bool] = {}

    def no_later(need: Need, ours: Form, theirs: Form, gap: int) -> bool:
        """The needed element is earlier by at least `gap`, wherever there is one."""
        at = id(need), ours, theirs, gap
        if at not in known:
            known[at] = _system(proof, need, ours, theirs, gap).is_empty
        return known[at]

    while left := _in_circles(left):
        ranks = {t: t.rank for n in left for t in (n.place.equation.target, n.read.tensor)}
        choices = product(*([(k, sign) for k in range(rank) for sign in (1, -1)] for rank in ranks.values()))
        for choice in islice(_alike_first(list(ranks.values()), choices), ATTEMPTS):
            chosen = dict(zip(ranks, choice))
            pairs = [(n, *_along(n, chosen)) for n in left]
            if all(no_later(n, a, b, 0) for n, a, b in pairs):
                rest = [n for n, a, b in pairs if not no_later(n, a, b, 1)]
                if len(rest) < len(left):
                    left = rest
                    break
        else:
            return False
    return True


def _alike_first(ranks: Sequence[int], choices: Iterator[tuple]) -> Iterator[tuple]:
    """The same dimension and direction for all tensors, before all other choices."""
    for k in range(min(ranks)):
        for sign in (1, -1):
            yield ((k, sign),) * len(ranks)
    yield from choices


def _along(need: Need, chosen: dict[Tensor, tuple[int, int]]) -> tuple[Form, Form]:
    """The places of the written and of the needed element along the chosen dimensions."""
    (k, sign), (m, other) = chosen[need.place.equation.target], chosen[need.read.tensor]
    return need.written[1][k].times(sign), need.needed[1][m].times(other)


def _system(proof: Proof, need: Need, ours: Form, theirs: Form, gap: int) -> System:
    """Instances in which the needed element is not earlier by `gap`."""
    question = proof.question(())
    question.require(need.written[0] + need.needed[0])
    question.add(question.compare(theirs, 0, ours, 0, gap=1 - gap))
    return question.system()


def _in_circles(needs: list[Need]) -> list[Need]:
    """The needs that lie on a circle of tensors."""
    edges: dict[Tensor, set[Tensor]] = {}
    for n in needs:
        edges.setdefault(n.place.equation.target, set()).add(n.read.tensor)
    return [n for n in needs if n.place.equation.target in _reachable(n.read.tensor, edges) | {n.read.tensor}]


def _check_circles(proof: Proof, needs: Sequence[Need]) -> None:
    """An element that needs itself in a few steps."""
    for length in range(1, LONGEST_CIRCLE + 1):
        for path in islice(_circles(needs, length), ATTEMPTS):
            keys = [a.var for a in path[0].place.equation.axes]
            question = proof.question([(v, 0) for v in keys])
            _require_circle(question, path)

            def complain(example: Example, path=path) -> CheckError:
                return _circle(path[0].place.equation, path, example)

            proof.claim(Region(len(proof.program.sizes) + len(keys), [question.system()]), complain)


def _circles(needs: Sequence[Need], length: int) -> Iterator[list[Need]]:
    """Paths of needs that end at the tensor they begin with."""
    paths = [[n] for n in needs]
    for _ in range(length - 1):
        paths = list(islice((p + [n] for p in paths for n in needs if n.place.equation.target is p[-1].read.tensor), ATTEMPTS * 4))
    return (p for p in paths if p[-1].read.tensor is p[0].place.equation.target)


def _require_circle(question: Question, path: Sequence[Need]) -> None:
    """Step k runs in copy k, and what it needs is what step k + 1 defines."""
    for k, need in enumerate(path):
        question.require(need.written[0] + need.needed[0], k)
        follower = (k + 1) % len(path)
        for i, j in zip(need.needed[1], path[follower].written[1]):
            question.add(question.compare(i, k, j, follower))


def _circle(equation: Equation, path: Sequence[Need], example: Example) -> CheckError:
    used = telling(example, Truth(path[0].place.domain.true, ()), variables(*equation.indices))
    note = example.note(equation.axes, used)
    read = path[0].read
    way = " -> ".join(n.place.equation.target.name for n in path) + f" -> {equation.target.name}"
    return CheckError(f"{equation.target.name} is defined by itself", read.span or equation.span, code="cycle",
                      label="the element that is being defined" if len(path) == 1 else f"comes back to the same element: {way}",
                      notes=[note] if note else (), help="an element may only need others that do not need it")

