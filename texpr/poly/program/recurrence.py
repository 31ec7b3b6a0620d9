"""Recurrences: a definition that depends on itself is well-founded if an order of loops
(`affine_schedule`) is found for all sizes.

A refutation is a circle of reads that comes back to the same element.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from itertools import islice, product

from texpr.ir.expr import Read, Tensor
from texpr.ir.tensor import Equation, Invoke
from texpr.ir.traverse import variables
from texpr.poly.constraints.linear_forms import Truth, fresh, variable
from texpr.poly.constraints.solver import Question, Region
from texpr.poly.program.affine_schedule import order_of_places
from texpr.poly.program.claims import EquationDomain, Example, ProgramProof, telling
from texpr.poly.program.single_assignment import Element, elements, writes
from texpr.support.errors import CheckError
from texpr.support.frozen_dataclass import frozen_by_identity, replace

ATTEMPTS = 256
"""Cycles of each length that are tried."""
LONGEST_CIRCLE = 4


@frozen_by_identity
class Dependence:
    """A dependence between elements: an element that an equation defines needs one that it reads;
    one case of each.
    """

    place: EquationDomain
    read: Read
    written: Element
    needed: Element


def check_order(proof: ProgramProof) -> None:
    """Check that no element needs itself, and that an order of computation is found."""
    for group in _cyclic(proof):
        _check_calls(proof, group)
        needs = [
            n for place in proof.places if place.equation.target in group for n in _needs(proof, place, group)
        ]
        if not _has_order(proof, group):
            _check_cycles(proof, needs)
            if _has_order(_knowing(proof), group):
                continue  # only a size of zero closed a circle
            at = needs[0]
            raise CheckError(
                f"no order was found in which {_names(group)} can be computed",
                at.read.span or at.place.equation.span,
                code="cycle",
                help="let each element need elements that are earlier along some dimension or sum of "
                "dimensions",
            )


def _has_order(proof: ProgramProof, group: Sequence[Tensor]) -> bool:
    return (
        order_of_places(proof, {k: p for k, p in enumerate(proof.places) if p.equation.target in group})
        is not None
    )


def _knowing(proof: ProgramProof) -> ProgramProof:
    """The proof with the requirements that were found as requirements of the program."""
    return ProgramProof(replace(proof.program, requires=(*proof.program.requires, *proof.required)))


def _names(group: Sequence[Tensor]) -> str:
    return ", ".join(t.name for t in group)


def _cyclic(proof: ProgramProof) -> list[list[Tensor]]:
    """Groups of tensors each of which needs all others of its group, and itself."""
    needs: dict[Tensor, set[Tensor]] = {}
    for place in proof.places:
        needs.setdefault(place.equation.target, set()).update(
            s.node.tensor for s in place.sites if isinstance(s.node, Read)
        )
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


def _check_calls(proof: ProgramProof, group: Sequence[Tensor]) -> None:
    for call in proof.program.equations:
        if isinstance(call, Invoke) and any(t in group for t in call.targets):
            raise CheckError(
                f"{_names(call.targets)} needs itself through a call",
                call.span,
                code="cycle",
                help="a call computes whole tensors: it cannot take part in a recurrence",
            )


def _needs(proof: ProgramProof, place: EquationDomain, group: Sequence[Tensor]) -> Iterator[Dependence]:
    for site in place.sites:
        if isinstance(site.node, Read) and site.node.tensor in group:
            needed, _ = elements(proof, site.condition, site.node.tensor, site.node.indices, site.node.guard)
            for written, other in product(writes(proof, place)[0], needed):
                yield Dependence(place, site.node, written, other)


def _check_cycles(proof: ProgramProof, needs: Sequence[Dependence]) -> None:
    """Refute an element that needs itself in a few steps; the example names the steps."""
    for length in range(1, LONGEST_CIRCLE + 1):
        for path in islice(_cycles(needs, length), ATTEMPTS):
            elements = [fresh(len(n.written[1])) for n in path]
            keys = [*(a.var for a in path[0].place.equation.axes), *(i for e in elements for i in e)]
            question = proof.question([(v, 0) for v in keys])
            _require_cycle(question, path)
            for k, (need, element) in enumerate(zip(path, elements)):
                question.add_all(
                    [question.compare(variable(i), 0, j, k) for i, j in zip(element, need.written[1])]
                )

            def complain(example: Example, path=path) -> CheckError:
                return _cycle(path[0].place.equation, path, example)

            proof.claim(Region(len(proof.program.sizes) + len(keys), [question.system()]), complain)


def _cycles(needs: Sequence[Dependence], length: int) -> Iterator[list[Dependence]]:
    """Cycles of dependences of this length."""
    paths = [[n] for n in needs]
    for _ in range(length - 1):
        paths = list(
            islice(
                (p + [n] for p in paths for n in needs if n.place.equation.target is p[-1].read.tensor),
                ATTEMPTS * 4,
            )
        )
    return (p for p in paths if p[-1].read.tensor is p[0].place.equation.target)


def _require_cycle(question: Question, path: Sequence[Dependence]) -> None:
    """Constrain the question to a cycle: step k runs in copy k, and needs the element that step k +
    1 defines.
    """
    for k, need in enumerate(path):
        question.require(need.written[0] + need.needed[0], k)
        follower = (k + 1) % len(path)
        for i, j in zip(need.needed[1], path[follower].written[1]):
            question.add(question.compare(i, k, j, follower))


def _cycle(equation: Equation, path: Sequence[Dependence], example: Example) -> CheckError:
    used = telling(example, Truth(path[0].place.domain.true, ()), variables(*equation.indices))
    note = example.note(equation.axes, used)
    read = path[0].read
    numbers = iter(example.shown[len(equation.axes) :])
    elements = [
        f"{n.place.equation.target.name}[{', '.join(str(next(numbers)) for _ in n.written[1])}]" for n in path
    ]
    way = " -> ".join([*elements, elements[0]])
    return CheckError(
        f"{equation.target.name} is defined by itself",
        read.span or equation.span,
        code="cycle",
        label="the element that is being defined"
        if len(path) == 1
        else f"comes back to the same element: {way}",
        notes=[note] if note else (),
        help="an element may only need others that do not need it",
    )
