"""Bands: nested loops that can be tiled and permuted in any way, whatever the tile sizes.

If every dependence between iterations that are equal in the loops around goes forward (or stays) in each loop of a band, then so it does
in the loops over tiles and inside tiles, for tiles of any size. Asked once per nest, so that tuning of tile sizes proves nothing again.
"""

from __future__ import annotations

from collections import OrderedDict
from collections.abc import Sequence

from texpr.ir.expr import Var
from texpr.ir.loop import Kernel
from texpr.poly.forms import variable
from texpr.poly.legality import SINK, SOURCE, Pair, access_pairs, meetings, reassociable
from texpr.poly.nest import Nest, holds, model, part
from texpr.poly.order import in_order
from texpr.poly.solver import OutOfQuota, Question, asked

_MEMO: OrderedDict[tuple[int, tuple[Var, ...]], tuple[Kernel, bool]] = OrderedDict()
_MEMO_SIZE = 256


def permutable(kernel: Kernel, band: Sequence[Var]) -> bool:
    """Whether the loops of these variables, which follow each other inwards, are a band. False where that cannot be proven."""
    top = next(s for s in kernel.body if holds(s, band[0]))
    alone = part(kernel, (top,))
    key = id(alone), tuple(band)
    if key not in _MEMO:
        try:
            _MEMO[key] = alone, asked(lambda: _permutable(model(alone), tuple(band)))
        except OutOfQuota:
            _MEMO[key] = alone, False
        while len(_MEMO) > _MEMO_SIZE:
            _MEMO.popitem(last=False)
    return _MEMO[key][1]


def _permutable(nest: Nest, band: tuple[Var, ...]) -> bool:
    inside = [s for s in nest.statements if any(n.var is band[0] for n in s.loops)]
    return all(_forward(nest, pair, band) for pair in access_pairs(inside, reassociable, ()))


def _forward(nest: Nest, pair: Pair, band: tuple[Var, ...]) -> bool:
    """No dependence of the pair goes backward in a loop of the band that both statements are in.

    Statements that share only some of the band are set apart by the step, in textual order: a dependence may not need the other one.
    """
    first = next(k for k, n in enumerate(pair.source.loops) if n.var is band[0])
    shared = [v for v in band if all(any(n.var is v for n in s.loops) for s in (pair.source, pair.sink))]
    apart = len(shared) < len(band)
    for question, _ in meetings(nest, nest, pair):
        _equal_outside(question, pair, first)
        for ordered in in_order(question.system(), question, pair.source, pair.sink, SOURCE, SINK):
            backward = (ordered.also([question.compare(variable(v), SOURCE, variable(v), SINK, gap=1)]) for v in shared)
            wrong = [ordered] if apart and pair.source.order > pair.sink.order else backward
            if any(True for system in wrong for _ in question.cases(system)):
                return False
    return True


def _equal_outside(question: Question, pair: Pair, first: int) -> None:
    """Only iterations that are equal in the loops around the band: others keep their order."""
    for n in pair.source.loops[:first]:
        question.add(question.compare(variable(n.var), SOURCE, variable(n.var), SINK))
