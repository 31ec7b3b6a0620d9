"""Sums weighted by exponentials of scores on a GPU, such as attention: one kernel, in which scores
never reach memory.

The equations are rewritten to blocks with the maximum so far (`online_softmax`). A block of threads
has some rows: it walks along the blocks of terms, computes the scores of each, and adds to sums
that stay in registers. Each warp has rows of its own, whose extremes and sums its lanes fold. Rows
whose terms end at a diagonal walk up to there. Where all factors of both products are of a type
that the machine multiplies in tiles, warps do so.

Source: Dao et al., FlashAttention: Fast and Memory-Efficient Exact Attention with IO-Awareness,
NeurIPS 2022.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from texpr.autoschedule.core.builder import ScheduleBuilder
from texpr.autoschedule.core.nest import Nest, extent, find_nests
from texpr.autoschedule.core.template import Among, NoMatch, Scheduled, Stage
from texpr.autoschedule.gpu.attention.attention_costs import ATTENTION_COSTS
from texpr.autoschedule.gpu.attention.common import Parts, Work
from texpr.autoschedule.gpu.attention.thread_attention import ByThreads
from texpr.autoschedule.gpu.attention.warp_attention import ByWarps
from texpr.autoschedule.gpu.attention.warpgroup_attention import BY_WARPGROUPS
from texpr.autoschedule.gpu.shared_memory import is_product
from texpr.ir.affine import same_value
from texpr.ir.build import add
from texpr.ir.expr import Read, index
from texpr.ir.loop import For
from texpr.ir.traverse import variables, walk
from texpr.schedule.steps.algebra.exp_to_exp2 import with_exponentials
from texpr.schedule.steps.algebra.mask_to_zero import under_conditions


class Attention:
    """Sums weighted by exponentials of scores, around the maximum of a row of scores.

    Args:
        way: how blocks share the work.
    """

    stage = Stage.EQUATIONS

    def __init__(self, way: type[Work]) -> None:
        self.way, self.name = way, f"Attention{way.__name__}"

    def match(self, builder: ScheduleBuilder, subject: Among) -> str | NoMatch:
        """The label of the maximum."""
        if subject.nest.main.update != "max" or not _of_products(builder, subject.nest, subject.nests):
            return NoMatch("no maximum of a row of products")
        return (
            subject.nest.label
            if self.way.known_to(builder.machine)
            else NoMatch("the machine has no such instructions")
        )

    def apply(self, builder: ScheduleBuilder, match: str) -> Scheduled | NoMatch:
        """The steps."""
        return _scheduled(builder, match, self.way)


ATTENTION = tuple(map(Attention, (*BY_WARPGROUPS, ByWarps, ByThreads)))
"""In the order in which they are tried."""


def _of_products(builder: ScheduleBuilder, maximum: Nest, nests: Sequence[Nest]) -> bool:
    """True if these are maxima along rows of an intermediate that is a sum of products."""
    if len(maximum.reduction) != 1 or len(maximum.accesses) != 2:
        return False
    read = maximum.accesses[1].tensor
    scores = [n for n in nests if n.label == read.name]
    if read not in builder.kernel.temporaries or len(scores) != 1:
        return False
    made = scores[0]
    enough = (
        all(extent(n) >= ATTENTION_COSTS.score_side for n in made.spatial[-2:])
        and len(made.spatial) == len(maximum.spatial) + 1
    )
    return enough and made.main.update == "add" and len(made.reduction) == 1 and is_product(made.main.value)


def _moves(terms: For, rows: Sequence[For]) -> bool:
    """True if the number of terms differs from row to row, along the last of these loops alone."""
    return variables(terms.extent) & {n.var for n in rows} == {rows[-1].var}


def _scheduled(builder: ScheduleBuilder, maximum: str, way: type[Work]) -> Scheduled | NoMatch:
    nests = find_nests(builder.kernel)
    before, old = {n.label for n in nests}, next(n for n in nests if n.label == maximum)
    scores, depth = old.accesses[1].tensor.name, len(old.spatial)
    along = {"rows": way.high} if _moves(old.reduction[0], old.spatial) else {}
    builder.apply("online_softmax", maximum, way.wide, **along, reassoc=True)
    for name in dict.fromkeys(under_conditions(builder.kernel)) if way.tiles else ():
        builder.try_apply("mask_to_zero", name, finite=True)
    for name in (
        dict.fromkeys(with_exponentials(builder.kernel))
        if way.tiles and "exp2" in builder.machine.functions
        else ()
    ):
        builder.try_apply("exp_to_exp2", name)
    parts = _parts(builder, before, scores, depth)
    if parts is None:
        return NoMatch("a nest has other loops than rows and blocks")
    work = way(builder, parts, depth)
    return work.steps() if work.suits() else NoMatch("instructions do not multiply these tiles")


def _parts(builder: ScheduleBuilder, before: set[str], scores: str, depth: int) -> Parts | None:
    """The roles of the nests; None if some have other loops than rows and blocks."""
    nests = {n.label: n for n in find_nests(builder.kernel)}
    last = _last_of_running(nests, before)
    running = last.keys()
    lengths = {t.name: t.shape[depth] for t in builder.kernel.temporaries if t.rank > depth}
    ends = [lengths[r] for r in running]

    def along(label: str, beyond: int) -> bool:
        """True if a tensor has one element for each block, and `beyond` more."""
        new = label not in before and len(nests[label].spatial) > depth
        return (
            new
            and label in lengths
            and any(same_value(add(lengths[label], index(1 - beyond)), n) for n in ends)
        )

    for label, n in nests.items():
        if not n.reduction and n.tensor_name not in running and along(label, 1):
            builder.apply("inline", label)
    nests = {n.label: n for n in find_nests(builder.kernel)}
    parts = Parts(nests, scores)
    final = set(running)
    for s in builder.kernel.body:
        assert isinstance(s, For)
        label, read = s.tensor, {n.tensor.name for n in walk(s) if isinstance(n, Read)}
        own = nests[label].tensor_name
        if own in running:
            (parts.runs if label == last[own] else parts.starts).append(label)
        elif along(label, 0):
            parts.inside.append(label)
        elif read & final and _of_rows(nests[label], final, depth):
            parts.ends.append(label)
            final.add(own)
        elif label != scores:
            parts.outside |= read
    return parts if scores in nests and parts.runs and parts.ends else None


def _last_of_running(nests: Mapping[str, Nest], before: set[str]) -> dict[str, str]:
    """The tensors that `online_softmax` made of one start and what follows it, block after block,
    each with the label of the latter.
    """
    labels: dict[str, list[str]] = {}
    for label, nest in nests.items():
        if label not in before:
            labels.setdefault(nest.tensor_name, []).append(label)
    return {name: of[-1] for name, of in labels.items() if len(of) > 1}


def _of_rows(nest: Nest, final: set[str], depth: int) -> bool:
    """True if a nest computes its elements row by row from such tensors."""
    rows = [n.var for n in nest.spatial[:depth]]
    used = [a for a in nest.accesses[1:] if a.tensor.name in final]
    aligned = all(len(a.indices) >= depth and all(i is v for i, v in zip(a.indices, rows)) for a in used)
    return (
        not nest.reduction
        and not nest.enclosing_loops
        and len(nest.spatial) in (depth, depth + 1)
        and aligned
    )
