"""The default schedule: public steps, chosen from the nests and the machine's record, where legal.

It sees loops, strides and reuse, never names of operators. First, products of several tensors are summed in the order that is least work
(`rewrites.contraction_order`), equations lose terms of 0, quotients of rows and a tanh that is added to 1 (`rewrites.choose`), and what is
cheap to compute again is inlined (`core.cost`). Per nest: join loops that are one run of memory; pick the vector loop with the fewest
gathers; where it reduces, give each lane a partial result (`along`); keep a tile of accumulators in registers over loops along which reads
are reused; leave groups of products to an instruction (`cpu.gemm.dot_instructions`); block large contractions and pack an operand
(`cpu.gemm.packed`); walk along a large operand that is read once (`cpu.reduction.streaming`), or take it by strips of columns where few
rows share it (`cpu.gemm.skinny`); count the rows of a product by one loop (`as_one`); give windows that slide over planes tiles of rows
(`cpu.convolution.depthwise`); turn squares of what is read across (`transposed`, `crossing`); write elements that lie between each other
by whole vectors (`cpu.elementwise.interleaved_stores`); add what tiles of a recurrence need of earlier elements
(`cpu.recurrence.blocked`); let rows of one run side by side or follow each other (`cpu.recurrence.wavefront`), blocks of sums go through
memory in its order (`cpu.reduction.short_runs`). Intermediates are computed in loops of what uses them, so far inside that they stay near
(`cpu.producer_chains`); then the outermost loop is shared among threads, rows that are summed are computed in pairs
(`cpu.finishing.row_pairs`), loops over triangles lose their conditions (`cpu.finishing.partition_triangles`), rows are asked for while
functions of the last one are computed (`cpu.finishing.prefetch`), and elements that wait for memory keep it busy
(`cpu.elementwise.nontemporal`, `cpu.finishing.nontemporal_pipelining`). GPUs have blocks (`gpu.driver`), one kernel for weighted
exponentials (`gpu.attention.driver`).
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from functools import partial
from math import prod

from texpr.autoschedule.core.builder import Plan
from texpr.autoschedule.core.collapsible import are_one
from texpr.autoschedule.core.cost import LEAST_OPERATIONS, cheap, crowded, is_best_alone, operations, stored_alike
from texpr.autoschedule.core.nest import SHORT, Nest, asks_for, constant_extent, edges, extent, find_nests, offsets_of
from texpr.autoschedule.core.numbers import even
from texpr.autoschedule.cpu import scalable_vectors as any_length
from texpr.autoschedule.cpu.convolution.depthwise import slid
from texpr.autoschedule.cpu.convolution.direct import ADDRESSES, windowed
from texpr.autoschedule.cpu.elementwise.interleaved_stores import weave, woven_loops
from texpr.autoschedule.cpu.elementwise.nontemporal import past_caches, rows_together, waits_by_halves
from texpr.autoschedule.cpu.elementwise.transpose import transposed
from texpr.autoschedule.cpu.finishing.nontemporal_pipelining import write_past_caches
from texpr.autoschedule.cpu.finishing.partition_triangles import separated
from texpr.autoschedule.cpu.finishing.prefetch import ask_ahead
from texpr.autoschedule.cpu.finishing.row_pairs import paired
from texpr.autoschedule.cpu.gemm.collapsed_rows import as_one
from texpr.autoschedule.cpu.gemm.dot_instructions import dotted
from texpr.autoschedule.cpu.gemm.matrix_instructions import squared
from texpr.autoschedule.cpu.gemm.packed import in_pairs, packed, product_tile
from texpr.autoschedule.cpu.gemm.remainder_lanes import cut_lanes
from texpr.autoschedule.cpu.gemm.skinny import in_strips
from texpr.autoschedule.cpu.gemm.tile_registers import tiled_product
from texpr.autoschedule.cpu.gemm.transposed_operand import crossing
from texpr.autoschedule.cpu.nest_groups import Scheduled, longest, share_groups
from texpr.autoschedule.cpu.producer_chains import chained, serves_rows
from texpr.autoschedule.cpu.recurrence.blocked import blocked
from texpr.autoschedule.cpu.recurrence.wavefront import side_by_side, wavefront
from texpr.autoschedule.cpu.reduction.across_lanes import along_reduction
from texpr.autoschedule.cpu.reduction.pairwise import in_levels
from texpr.autoschedule.cpu.reduction.split_reduction import FEW, in_parts
from texpr.autoschedule.cpu.reduction.streaming import streamed
from texpr.autoschedule.gpu.attention.driver import attended
from texpr.autoschedule.gpu.driver import on_gpu
from texpr.autoschedule.rewrites.choose import cheaper_elements, on_tensor_cores, rewritten
from texpr.ir.build import integer
from texpr.ir.expr import Compare, Mul, Tensor
from texpr.ir.loop import For, Kernel
from texpr.ir.machine import Machine
from texpr.ir.traverse import walk
from texpr.schedule.script.script import Step
from texpr.schedule.structure.loops import qualified

FEW_ENDS = 2
"""Iterations of a recurrence that may have code of their own."""
CASES = 4
"""Iterations of a loop that are told apart in copies of the statement."""
TILE_ROWS = 8
SQUARE = 32
"""Rows and columns of a product from which on its tiles are as large as registers allow."""
FAR = 4
"""First caches that an operand must fill for its terms to be added in blocks by recurrences."""
LEAST_TERMS = 32
"""Terms for which sums stay in registers, below which fetching them takes as long as adding."""
SHORT_WINDOW = 4
"""Positions of a window that are worth code of their own."""
FEW_TERMS = 9
"""Of a sum along vector lanes: they are written out, so that it stays in a register."""


def auto(kernel: Kernel, machine: Machine) -> tuple[list[Step], Kernel]:
    """The steps of the default schedule for a naive kernel, and the kernel they give.

    It never raises: a part that fails on a nest leaves the nest as it is, under the mark `unscheduled`.
    """
    plan = Plan(kernel, machine)
    plan.step("allow_fma", *(() if machine.fma_of_all else ("sums",)))
    plan.attempt("", partial(rewritten, plan), None)
    if not (machine.gpu_threads and plan.attempt("", partial(attended, plan), False)):
        plan.attempt("", partial(cheaper_elements, plan), None)
        plan.attempt("", partial(on_tensor_cores, plan), None)
        plan.attempt("", partial(_inlined, plan, kernel.temporaries), None)
    if machine.gpu_threads:
        on_gpu(plan)
    else:
        _on_cpu(plan)
    plan.attempt("", partial(write_past_caches, plan), None)
    return plan.steps, plan.kernel


def _inlined(plan: Plan, temporaries: Sequence[Tensor]) -> None:
    """Compute again where it is used what is cheap."""
    for tensor in temporaries:
        if cheap(plan.kernel, tensor, plan.machine):
            plan.step("inline", tensor.name)


def _on_cpu(plan: Plan) -> None:
    """Choose the steps for all nests of a kernel."""
    ends = plan.attempt("", lambda: _ends(find_nests(plan.kernel)), {})
    share_groups(plan, _nests(plan))
    plan.attempt("", partial(paired, plan), None)
    plan.attempt("", partial(separated, plan), None)
    for name, (first, last) in ends.items():
        plan.step("peel", name, first, last)
    plan.attempt("", partial(ask_ahead, plan), None)


def _ends(nests: list[Nest]) -> dict[str, tuple[int, int]]:
    """Of loops that repeat sums, how many iterations at the start and end decide what conditions inside the sums ask, if they are few."""
    found: dict[str, tuple[int, int]] = {}
    for nest in nests:
        for loop in nest.again if nest.reduction else ():
            first, last = edges(nest, loop)
            if 0 < first + last <= FEW_ENDS < extent(loop) // FEW:
                known = found.get(qualified(loop), (0, 0))
                found[qualified(loop)] = max(first, known[0]), max(last, known[1])
    return found


def _nests(plan: Plan) -> list[Scheduled]:
    """Every nest scheduled for itself, inside of the loops that it will have in common with others."""
    depths = plan.attempt("", lambda: chained(plan, find_nests(plan.kernel)), {})
    done: list[Scheduled] = []
    nests = find_nests(plan.kernel)
    into = plan.attempt("", partial(weave, plan, nests), {}) if plan.machine.vector_bytes and not depths else {}
    for nest in nests:
        whole = nest if nest.label in into else plan.current(nest)
        if whole is not None and into.get(whole.label, whole.label) == whole.label:
            as_it_is = Scheduled(whole, [qualified(n) for n in whole.spatial])
            done.append(plan.attempt(whole.label, partial(_scheduled, plan, whole, depths, into), as_it_is))
    return done


def _scheduled(plan: Plan, whole: Nest, depths: Mapping[str, int], into: Mapping[str, str]) -> Scheduled:
    """Schedule one nest, without the outer loops that it has in common with others."""
    if whole.label in into:
        return Scheduled(whole, woven_loops(plan, whole))
    nest = whole.inside(depths.get(whole.label, 0))
    outer = [qualified(n) for n in nest.outer]
    crossed = crossing(plan, nest)
    if crossed is not None:
        return Scheduled(nest, outer + crossed[0], crossed[1])
    return Scheduled(nest, outer + (_reduction(plan, nest) if nest.reduction else _elementwise(plan, nest)))


def _elementwise(plan: Plan, nest: Nest) -> list[str]:
    """Schedule a nest without reduction; names of its outer loops."""
    if not nest.spatial:
        return []
    nest = _joined(plan, nest)
    for structure in (transposed, wavefront, side_by_side):
        found = structure(plan, nest)
        if found is not None:
            return found
    names = [qualified(n) for n in nest.spatial]
    best = min(reversed(nest.spatial), key=lambda n: (nest.cost(n), extent(n) < plan.lanes(nest)))
    if plan.machine.vector_bytes and extent(best) > 1:
        together = None if crowded(nest.main.value, plan.machine) else rows_together(plan, nest, best)
        rows, count = together or (None, 0)
        # As many registers for all tensors of a shape: what is computed element by element runs in one loop then.
        beside = stored_alike(plan.kernel, nest.main.tensor)
        light = rows is None and all(operations(s.value) <= LEAST_OPERATIONS for s in beside)
        name = qualified(best)
        _bare(plan, nest, best)
        # A loop of unknown length ends in a masked iteration, which one register makes cheap.
        far = nest.main.tensor.name in past_caches(plan)
        one = integer(best.extent) is None or any(is_best_alone(s, plan.machine, far) for s in beside)
        halves = light and not one and waits_by_halves(plan, nest)
        registers = 1 if one else 4 if light and not halves else 2
        if any_length.wanted(plan):
            longer = any_length.elements(plan, nest, best, together, 4 if light else registers)
            if longer is not None:
                return longer
        outer, inner = plan.cut(name, registers * plan.lanes(nest))
        rest = [n for n in names if n != name]
        row = ""
        if rows is not None:
            split = qualified(rows)
            row_outer, row = plan.cut(split, count)
            rest[rest.index(split) : rest.index(split) + 1] = [row_outer] if row_outer else []
        rest += [outer] if outer else []
        inside = [row, inner] if row else [inner]
        if (rest or row) and (row or best is not nest.spatial[-1]) and plan.step("reorder", *rest, *inside) and row:
            plan.step("unroll", row)
        strips, inner = plan.cut(inner, plan.lanes(nest) // 2) if halves else ("", inner)
        plan.step("vectorize", inner)
        if strips:
            plan.step("unroll", strips)
        for loop in nest.spatial:
            if loop is not best and loop is not rows and _tells_apart(nest, loop) and plan.step("unroll", qualified(loop)):
                rest.remove(qualified(loop))
        names = rest
    return names


def _tells_apart(nest: Nest, loop: For) -> bool:
    """Whether the statement asks which of a few iterations this is: copies of it then compute what is for theirs alone."""
    return 1 < constant_extent(loop) <= CASES and any(
        isinstance(n, Compare) and n.op == "==" and loop.var in (n.lhs, n.rhs) for n in walk(nest.main.value))


def _bare(plan: Plan, nest: Nest, loop: For) -> None:
    """Peel the edges of a long vector loop off, so that the rest needs no masks and no gathers."""
    first, last = edges(nest, loop)
    if first + last and extent(loop) >= 4 * plan.lanes(nest) + first + last:
        plan.step("peel", qualified(loop), first, last)


def _joined(plan: Plan, nest: Nest) -> Nest:
    """Join neighbouring loops that walk through all memory of the statement as one, if no loops of a user are to be joined with them."""
    while len(nest.spatial) >= 2 and not nest.recurrent and not serves_rows(plan, nest):
        outer, inner = nest.spatial[-2:]
        size = integer(inner.extent)
        if not nest.reduction and size is not None and size >= 2 * plan.lanes(nest) and rows_together(plan, nest, inner) is not None:
            break
        if not are_one(nest, outer, inner):
            break
        both = outer, inner
        if any(edges(nest, loop) != (0, 0) for loop in both) or extent(inner) >= plan.lanes(nest) and asks_for(nest, both):
            break  # joined, guards and clamps at the edges would be everywhere, and what asks for an iteration would divide for it
        name = outer.var.name + inner.var.name
        if not plan.step("fuse", qualified(outer), qualified(inner), name=name):
            break
        found = next(n for n in find_nests(plan.kernel) if n.main.equation == nest.main.equation and n.spatial[0].tensor == outer.tensor)
        nest = found.inside(len(nest.outer))
    return nest


def _reduction(plan: Plan, nest: Nest) -> list[str]:
    """Schedule a nest with a reduction; names of its outer loops."""
    nest, parts = in_parts(plan, nest)
    names = _structured(plan, nest)
    if names is None and (joined := _joined(plan, nest)) is not nest:
        nest, names = joined, _structured(plan, joined)
    if names is not None:
        return names
    lanes, longer = plan.lanes(nest), any_length.wanted(plan)
    register = max(lanes, plan.machine.scalable_bytes // nest.main.tensor.dtype.bytes)

    def cost(loop: For) -> int:
        return nest.cost(loop) + (SHORT if 4 * extent(loop) <= register else 0)

    def worse(loop: For) -> tuple[int, ...]:
        return cost(loop), qualified(loop) == parts, -min(extent(loop), lanes), loop in nest.reduction, -nest.loops.index(loop)

    best = min(nest.loops, key=worse)
    if not plan.machine.vector_bytes or extent(best) < 2:
        return [qualified(n) for n in nest.spatial]
    if any(best is n for n in nest.reduction):
        found = any_length.along(plan, nest, best) if longer else None
        return along_reduction(plan, nest, best, lanes) if found is None else found
    rows = _tile_loop(nest, best)
    masked = plan.machine.scalable_bytes and edges(nest, best) != (0, 0)
    found = any_length.across(plan, nest, best, rows, _window(nest, rows)) if longer or masked else None
    return _across(plan, nest, best, rows, lanes) if found is None else found


def _window(nest: Nest, rows: For | None) -> str:
    """The short window that slides along the rows."""
    return qualified(nest.reduction[-1]) if rows is not None and _is_short_window(nest, rows) else ""


def _structured(plan: Plan, nest: Nest) -> list[str] | None:
    """Schedule a nest whose structure is known; None if it is not."""
    known = (blocked, tiled_product, squared, dotted, in_strips, streamed, as_one, windowed, packed, slid)
    return next((names for schedule in known if (names := schedule(plan, nest)) is not None), None)


def _across(plan: Plan, nest: Nest, best: For, rows: For | None, lanes: int) -> list[str]:
    """Vector lanes over elements of the target; a tile of rows keeps its accumulators in registers while the reduction runs."""
    registers, height, tail = _tile(plan, nest, best, rows, lanes)
    block = _near_terms(plan, nest, best, rows)
    chained = in_levels(plan, nest, [[qualified(n)] for n in nest.reduction], []) if rows is None else None
    _bare(plan, nest, best)
    outer, inner = cut_lanes(plan, nest, best, registers, height if rows is not None else 1)
    spatial = [qualified(n) for n in nest.spatial if n is not best and n is not rows]
    inside: list[str] = []
    if rows is not None:
        row_outer, row_inner = plan.cut(qualified(rows), height, "peel" if block else tail)
        at = 0 if _stays_by_rows(plan, nest, rows) else len(spatial)
        spatial[at:at] = [row_outer] if row_outer else []
        inside.append(row_inner)
    spatial += [outer] if outer else []
    terms = [name for names in chained for name in names] if chained else [qualified(n) for n in nest.reduction]
    order = [*spatial, *terms, *inside, inner]
    again = _repeated(plan, nest, best, rows, row_outer if rows is not None else "")
    if again:
        shares, tiles, blocks, within = again
        before = spatial[: spatial.index(row_outer)]
        shared = [*before, *([shares] if shares else [])]
        order[:] = [*shared, *terms[:-1], blocks, tiles, *([outer] if outer else []), within, *inside, inner]
        spatial = shared or [tiles]
    elif block and rows is not None and row_outer:
        blocks, within = plan.cut(terms[0], block, "exact")
        order[:] = [*spatial[: spatial.index(row_outer)], blocks, *spatial[spatial.index(row_outer) :], within, *inside, inner]
    if plan.step("reorder", *order):
        if rows is not None and _is_short_window(nest, rows):
            window = qualified(nest.reduction[-1])
            # All rows together hold what the window slides over; where there are registers for it, or no operand comes from memory, a row
            # after the other: the window is held then.
            held = plan.machine.loads_apart or plan.machine.vector_registers >= 32
            by_rows = held and plan.step("reorder", *inside, window, inner)
            inside.insert(len(inside) if by_rows else 0, window)
        # Of terms that end with the row, pairs would keep the conditions that loops of their own do without.
        tile = rows is not None and not plan.machine.lane_products and _is_product(nest, best, rows)
        if tile and integer(plan.loop(order[-3]).extent) is not None:
            in_pairs(plan, order[-3])
        if rows is None and 1 < prod(map(constant_extent, nest.reduction)) <= FEW_TERMS:
            inside += terms
        for name in inside:
            plan.step("unroll", name)
    plan.step("vectorize", inner)
    return spatial


def _near_terms(plan: Plan, nest: Nest, best: For, rows: For | None) -> int:
    """How many terms tiles of rows add before others do, where all that moves with the lanes would come from the second cache each time.

    Half of the first cache holds it for so many terms; 0 where it holds it for all, or for few.
    """
    moving = [a for a in nest.accesses[1:] if a.stride(best.var) != 0]
    if rows is None or not nest.outer or len(nest.reduction) != 1 or len(moving) != 1 or not _is_product(nest, best, rows):
        return 0
    terms, each = constant_extent(nest.reduction[0]), constant_extent(best) * moving[0].tensor.dtype.bytes
    near = next(iter(plan.machine.caches), 0)
    block = even(terms, near // 2 // each) if each and terms * each > near and near // 2 // each >= LEAST_TERMS else 0
    return block if block and terms % block == 0 else 0


def _stays_by_rows(plan: Plan, nest: Nest, rows: For) -> bool:
    """Whether cores that have some rows of a recurrence each use what they have computed themselves, and not what others have."""
    computed = [a for a in nest.accesses[1:] if a.tensor in (*plan.kernel.temporaries, *plan.kernel.outputs)]
    return bool(nest.again and computed) and plan.machine.cores > 1 and all(a.stride(rows.var) != 0 for a in computed)


def _repeated(plan: Plan, nest: Nest, best: For, rows: For | None, tiles: str) -> tuple[str, str, str, str] | None:
    """For a product that a recurrence repeats with an operand much larger than the first cache: the names of a loop over as many blocks of
    tiles of rows as there are cores, of that over tiles, of that over blocks of terms for which half of the cache holds the operand,
    and of that over terms. All tiles of a core add these, before others come from the second cache.
    """
    moving = [a for a in nest.accesses[1:] if a.stride(best.var) != 0]
    if not nest.again or nest.outer or not tiles or rows is None or len(moving) != 1 or not _is_product(nest, best, rows):
        return None
    (panel,), near, cores = moving, next(iter(plan.machine.caches), 0), plan.machine.cores
    each, term = constant_extent(best) * panel.tensor.dtype.bytes, nest.reduction[-1]
    whole = prod(constant_extent(n) for n in nest.reduction if panel.stride(n.var) != 0) * each
    most, count = near // 2 // max(1, each), longest(plan, tiles)
    block = even(constant_extent(term), most) if most >= LEAST_TERMS and whole > FAR * near else 0
    if not block or constant_extent(term) % block or count % cores or count // cores < 2:
        return None
    before = plan.here()
    shares, tiles = plan.cut(tiles, count // cores, "exact") if cores > 1 else ("", tiles)
    blocks, within = plan.cut(qualified(term), block, "exact")
    if not blocks or (cores > 1 and not shares):
        plan.back(before)
        return None
    return shares, tiles, blocks, within


def _tile(plan: Plan, nest: Nest, best: For, rows: For | None, lanes: int) -> tuple[int, int, str]:
    """Registers beside each other, rows of them, and what becomes of the rows that are left over."""
    if plan.machine.vector_registers < 32:
        return 2, _few_rows(plan, nest, rows), "peel"
    if rows is not None and not plan.machine.lane_products and _is_product(nest, best, rows):
        return *product_tile(plan, nest, best, rows, lanes), "overlap"
    # Three registers, unless two leave less over, or nothing is loaded for all lanes, which more of them would share.
    shared = any(a.stride(best.var) == 0 for a in nest.accesses[1:])
    wide = rows is not None and shared and extent(best) % (3 * lanes) <= extent(best) % (2 * lanes)
    few = rows is not None and _is_short_window(nest, rows) and any_length.loads_far_ahead(plan, nest, rows)
    return 3 if wide and extent(best) >= 3 * lanes else 2, TILE_ROWS // 2 if few else TILE_ROWS, "peel"


def _few_rows(plan: Plan, nest: Nest, rows: For | None) -> int:
    """Rows of two registers each where registers are few: a window that slides along them takes some, rows with edges an address each."""
    window = constant_extent(nest.reduction[-1]) if rows is not None and _is_short_window(nest, rows) else 0
    taken = 2 * (window + 2) if plan.machine.loads_apart and window else 0
    most = TILE_ROWS // 4 if rows is not None and plan.machine.address_registers < ADDRESSES and any(edges(nest, rows)) else TILE_ROWS // 2
    return min(most, max(1, (plan.machine.vector_registers - taken) // 2))


def _is_product(nest: Nest, lane: For, rows: For) -> bool:
    """Whether one read moves with the lanes and another one with the rows, so that sums take all but a few registers."""
    if len(nest.accesses) != 3 or min(constant_extent(lane), constant_extent(rows)) < SQUARE:
        return False
    along = [(a.stride(lane.var) != 0, a.stride(rows.var) != 0) for a in nest.accesses[1:]]
    return isinstance(nest.main.value, Mul) and sorted(along) == [(False, True), (True, False)]


def _is_short_window(nest: Nest, rows: For) -> bool:
    """Whether the innermost terms are a short window that slides along the rows: together these load once what several of them use."""
    last = nest.reduction[-1]
    return 1 < constant_extent(last) <= SHORT_WINDOW and any(last in offsets_of(nest, a, [rows]) for a in nest.accesses[1:])


def _tile_loop(nest: Nest, vector: For) -> For | None:
    """The spatial loop along which most reads are reused; of several, one along which short windows slide."""
    others = [n for n in nest.spatial if n is not vector and extent(n) > 1]
    best = max(others, key=lambda n: (nest.reuse(n, vector), _is_short_window(nest, n)), default=None)
    return best if best is not None and nest.reuse(best, vector) > 0 else None
