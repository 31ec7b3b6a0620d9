"""Bands: nested loops that can be tiled and permuted in any way, whatever the tile sizes.

If every dependence between iterations that are equal in the loops around goes forward (or stays) in
each loop of a band, then so it does in the loops over tiles and inside tiles, for tiles of any
size. Asked once per nest, so that tuning of tile sizes proves nothing again.
"""

from __future__ import annotations

from collections import OrderedDict
from collections.abc import Collection, Sequence
from functools import partial

from texpr.ir.expr import Var
from texpr.ir.loop import Kernel, Stmt
from texpr.poly.constraints.distances import distances, order
from texpr.poly.constraints.linear_forms import Form, variable
from texpr.poly.constraints.proof_thread import one_at_a_time
from texpr.poly.constraints.solver import OutOfQuota, run_within_quota
from texpr.poly.dependence.execution_order import in_order
from texpr.poly.dependence.kernel_model import Nest, contains_loop, model, subkernel
from texpr.poly.dependence.legality import (
    SINK,
    SOURCE,
    AccessPair,
    access_pairs,
    conflict_questions,
    reassociable,
)

Band = tuple[frozenset[Var], ...]
"""Loops from the outside in; each may stand in several places."""

_MEMO: OrderedDict[tuple[int, Band], tuple[Kernel, bool]] = OrderedDict()
_MEMO_SIZE = 256


@one_at_a_time
def permutable(kernel: Kernel, band: Sequence[Collection[Var]]) -> bool:
    """True if the loops of these variables, which follow each other inwards, are a band. False
    where that cannot be proven.

    Args:
        band: for each loop its variables in the places where it stands.
    """
    loops = tuple(map(frozenset, band))
    return all(
        _permutable_in(kernel, top, loops)
        for top in kernel.body
        if any(contains_loop(top, v) for v in loops[0])
    )


def _permutable_in(kernel: Kernel, top: Stmt, band: Band) -> bool:
    nest_alone = subkernel(kernel, (top,))
    key = id(nest_alone), band
    if key not in _MEMO:
        try:
            _MEMO[key] = nest_alone, run_within_quota(lambda: _permutable(model(nest_alone), band))
        except OutOfQuota:
            _MEMO[key] = nest_alone, False
        while len(_MEMO) > _MEMO_SIZE:
            _MEMO.popitem(last=False)
    return _MEMO[key][1]


def _permutable(nest: Nest, band: Band) -> bool:
    if any(v in nest.parted.loops for each in band for v in each):
        return False  # The tiles of joined loops are not seen as tiles of theirs.
    inside = [s for s in nest.statements if any(n.var in band[0] for n in s.loops)]
    return all(_is_forward(nest, pair, band) for pair in access_pairs(inside, reassociable, ()))


def _is_forward(nest: Nest, pair: AccessPair, band: Band) -> bool:
    """No dependence of the pair goes backward in a loop of the band that both statements are in.

    Statements that share only some of the band are set apart by the step, in textual order: a
    dependence may not need the other one. Those that share none of it stay as they are to each
    other.
    """
    common = pair.source.loops[: pair.source.common(pair.sink)]
    shared = [n.var for n in common if any(n.var in each for each in band)]
    if not shared:
        return True
    distributed, against = len(shared) < len(band), pair.source.order > pair.sink.order
    if distributed and not against and len(shared) == 1:
        return True  # What runs first is in an earlier iteration of it, or in the same one.
    around = [n.var for n in common].index(shared[0])
    free = partial(_may_be_backward, nest, pair, around, shared, distributed and against)
    for question, _ in conflict_questions(nest, nest, pair, shown=False, wanted=free):
        question.equate((n.var for n in common[:around]), SOURCE, SINK)  # Others keep their order.
        for ordered in in_order(question.system(), question, pair.source, pair.sink, SOURCE, SINK):
            backward = (
                ordered.also([question.compare(variable(v), SOURCE, variable(v), SINK, gap=1)])
                for v in shared[1:]
            )
            if any(
                True
                for system in ([ordered] if distributed and against else backward)
                for _ in question.cases(system)
            ):
                return False
    return True


def _may_be_backward(
    nest: Nest,
    pair: AccessPair,
    around: int,
    shared: Sequence[Var],
    distributed: bool,
    at: Sequence[Form],
    to: Sequence[Form],
) -> bool:
    """True if distances leave it open that a dependence goes backward in a loop of the band.

    Args:
        around: how many loops outside of the band are in the same iteration.
        shared: the loops of the band around both statements.
        distributed: the step distributes the loop over the statements, against their order: there
            may be no dependence at all.
    """
    common = pair.source.loops[: pair.source.common(pair.sink)]
    equal = (*nest.private.get(pair.first.tensor, ()), *(n.var for n in common[:around]))
    known = distances(at, to, common, nest.converter.is_shared, equal)
    if known is None:
        return False
    steps = order((n.var for n in common[around:]), known)
    if steps and isinstance(steps[0], int) and steps[0] < 0:
        return False
    if distributed:
        return bool(steps)
    return any(known[v] < 0 if v in known else v is not steps[0] for v in shared[1:])
