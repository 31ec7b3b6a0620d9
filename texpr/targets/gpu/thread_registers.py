"""Buffers in registers, distributed over the threads of a block: each thread owns some elements.

    let C: f32[64, 64] register                                 let C: f32[4, 4] register, in each thread
    for y thread.y: for x thread.x: C[4*y + a, 16*b + x] = ..   ->   ... C[a, b] = ...

A thread may use only elements that no other thread uses: which those are follows from the indices
of threads alone, the same in all statements. Both are found by counting: extents are constants.
Instructions that a warp runs say which lane holds which elements.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence, Set
from itertools import product as pairs
from math import gcd

import numpy as np

from texpr.ir.affine import Linear, linear
from texpr.ir.build import integer
from texpr.ir.expr import Expr, Node, Read, Tensor, Var, index, plain
from texpr.ir.interpreter.evaluate import Points, evaluate
from texpr.ir.loop import Alloc, For, If, Stmt, Store, axis_of, instruction_of, is_thread
from texpr.ir.loop_kind import InstructionNest
from texpr.ir.traverse import children, equal, rewrite, statements, substitute, variables, walk
from texpr.passes.analysis.match_nest import instance
from texpr.support.errors import CompileError
from texpr.support.frozen_dataclass import frozen, replace
from texpr.targets.gpu.geometry import AXES, Geometry
from texpr.targets.gpu.warpgroup_instructions import axes_of, fragment_layout

POSITIONS = {axis: Var(f"thread.{axis}") for axis in AXES}
"""The index of a thread along each axis."""
MOST_BYTES = 4 * 255
"""Bytes of registers of one thread."""
MOST_PLACES = 4096


@frozen
class OwnedElements:
    """A thread's part of a buffer.

    Attributes:
        tensor: the part.
        first, step: along each dimension, which of a thread's elements is at 0, and how far apart
        neighbours are.
        places: of the elements that a thread uses, in the part; others are there for the sake of
            simple indices, and take no registers.
    """

    tensor: Tensor
    first: tuple[int, ...]
    step: tuple[int, ...]
    places: tuple[tuple[int, ...], ...]

    def local(self, indices: Sequence[Expr], threads: Set[Var]) -> tuple[Expr, ...]:
        """Indices of an element within the thread's part; terms that hold an index of a thread name
        the owner.
        """
        forms = (linear(i) for i in indices)
        return tuple(
            Linear(
                tuple((t, c // by) for t, c in form.terms if not variables(t) & threads),
                (form.constant - at) // by,
            ).expr()
            for form, at, by in zip(forms, self.first, self.step)
        )


@frozen
class _Use:
    """One access: its indices over the positions of threads and the other loops around it, and the
    extents of these.
    """

    indices: tuple[Linear, ...]
    extents: Mapping[Var, int]
    axes: frozenset[str]


def distribute_over_threads(nest: Stmt, where: Geometry) -> dict[Tensor, OwnedElements]:
    """Distribute buffers in registers over threads: each thread's part of them.

    Raises:
        CompileError: threads use each other's elements, or a thread needs more than it has.
    """
    own = {
        t: _part(t, found, where) for t, found in _uses(nest, where).items() if any(use.axes for use in found)
    }
    for part in own.values():
        size = len(part.places) * part.tensor.dtype.bytes
        if size > MOST_BYTES:
            raise CompileError(
                f"{part.tensor.name} needs {size} bytes of registers in each thread; there are {MOST_BYTES}",
                code="set_scope",
                help="use smaller tiles",
            )
    return own


def with_owned_elements(nest: Stmt, own: Mapping[Tensor, OwnedElements]) -> Stmt:
    """The nest with each thread's part in place of the whole, but for instructions: they know
    which lane holds what.
    """
    threads = {n.var for n in statements(nest) if is_thread(n) and isinstance(n, For)}

    def rule(node: Node) -> Node | None:
        match node:
            case Alloc(t) if t in own:
                return Alloc(own[t].tensor)
            case Read(t, indices) | Store(t, indices) if t in own:
                return replace(node, tensor=own[t].tensor, indices=own[t].local(indices, threads))
        return None

    def rewritten(s: Stmt) -> Stmt:
        if isinstance(s, For) and isinstance(s.kind, InstructionNest):
            return s
        if isinstance(s, For):
            return replace(s, body=tuple(map(rewritten, s.body)))
        if isinstance(s, If):
            return replace(s, cond=rewrite(s.cond, rule), body=tuple(map(rewritten, s.body)))
        return rewrite(s, rule)

    return rewritten(nest) if own else nest


def _uses(nest: Stmt, where: Geometry) -> dict[Tensor, list[_Use]]:
    found: dict[Tensor, list[_Use]] = {}
    homes: dict[Tensor, int] = {}
    stack: list[tuple[Node, tuple[For, ...]]] = [(nest, ())]
    while stack:
        node, above = stack.pop()
        match node:
            case Alloc(t) if t.scope == "register":
                homes[t] = len(above)
            case For(kind=InstructionNest()):
                for t, use in _of_instruction(node, above, homes, where):
                    found.setdefault(t, []).append(use)
            case For():
                stack += [(s, (*above, node)) for s in reversed(node.body)]
            case If():
                stack += [(c, above) for c in reversed(children(node))]
            case _:
                accesses = (n for n in walk(node) if isinstance(n, Read | Store) and n.tensor in homes)
                for n in accesses:
                    found.setdefault(n.tensor, []).append(_use(n.indices, above, homes[n.tensor], {}, {}))
    return found


def _use(
    indices: Sequence[Expr],
    above: tuple[For, ...],
    home: int,
    values: Mapping[Var, Expr],
    more: Mapping[Var, int],
    together: str = "",
) -> _Use:
    """An access. `values` has the loops of an instruction in terms of lanes and other variables,
    `more` how many values these take, `together` the axes whose threads run it.
    """
    threads = {n.var: axis_of(n) for n in above if is_thread(n)}
    moved = {v: POSITIONS[axis] for v, axis in threads.items()} | dict(values)
    axes = {axis_of(n) for n in above[home:] if is_thread(n)} | (set(together) if values else set())
    extents = {n.var: integer(n.extent) or 0 for n in above if not is_thread(n)} | dict(more)
    return _Use(tuple(linear(substitute(i, moved)) for i in indices), extents, frozenset(axes))


def _of_instruction(
    loop: For, above: tuple[For, ...], homes: Mapping[Tensor, int], where: Geometry
) -> list[tuple[Tensor, _Use]]:
    name = instruction_of(loop)
    axes = axes_of(name, where.block) or "x"
    match = instance(name, loop)
    found: list[tuple[Tensor, _Use]] = []
    for operand, (tensor, indices) in match.operands.items():
        if tensor in homes:
            places, extents = fragment_layout(name, operand, POSITIONS, axes)
            values = {w: places[v.name] for v, w in match.loops.items() if v.name in places}
            rest = {
                n.var: integer(n.extent) or 0
                for n in walk(loop)
                if isinstance(n, For) and n.var not in values
            }
            found.append((tensor, _use(indices, above, homes[tensor], values, {**rest, **extents}, axes)))
    return found


def _part(tensor: Tensor, uses: Sequence[_Use], where: Geometry) -> OwnedElements:
    """The part of a buffer that one thread owns."""
    axes = uses[0].axes
    if any(use.axes != axes for use in uses):
        raise _refused(tensor, "not all of its uses stand in the same loops over threads")
    whose = [_split(i)[0] for i in uses[0].indices]
    rests: list[set[tuple[int, ...]]] = []
    for use in uses:
        parts = [_split(i) for i in use.indices]
        if not all(equal(p.expr(), q.expr()) for (p, _), q in zip(parts, whose)):
            raise _refused(tensor, "which thread uses which element differs between its uses")
        rests.append(_values(tensor, [rest for _, rest in parts], use.extents))
    every = set().union(*rests)
    _check_disjoint(tensor, whose, every, axes, where)
    along = list(zip(*every)) if every else [() for _ in whose]
    first = tuple(min(values, default=0) for values in along)
    step = tuple(gcd(*(v - f for v in values)) or 1 for values, f in zip(along, first))
    shape = [index((max(values, default=0) - f) // by + 1) for values, f, by in zip(along, first, step)]
    places = tuple(sorted(tuple((v - f) // by for v, f, by in zip(place, first, step)) for place in every))
    return OwnedElements(replace(tensor, dims=plain(*shape)), first, step, places)


def _split(form: Linear) -> tuple[Linear, Linear]:
    """The terms of an index that hold a position of the thread, and the other terms."""
    positions = set(POSITIONS.values())
    own = [(t, c) for t, c in form.terms if variables(t) & positions]
    return Linear(tuple(own), 0), Linear(
        tuple((t, c) for t, c in form.terms if not variables(t) & positions), form.constant
    )


def _values(tensor: Tensor, forms: Sequence[Linear], extents: Mapping[Var, int]) -> set[tuple[int, ...]]:
    """All values that indices take in one thread."""
    used = sorted({v for form in forms for v in form.variables}, key=lambda v: v.name)
    known = all(form.is_affine for form in forms) and all(extents.get(v) for v in used)
    count = 1
    for v in used:
        count *= extents.get(v, 1)
    if not known or count > MOST_PLACES:
        raise _refused(tensor, "which of its elements a thread uses is not known when it is compiled")
    points = pairs(*(range(extents[v]) for v in used))
    return {
        tuple(form.constant + sum(c * at[used.index(t)] for t, c in form.terms) for form in forms)  # type: ignore[arg-type]
        for at in points
    }


def _check_disjoint(
    tensor: Tensor,
    whose: Sequence[Linear],
    every: set[tuple[int, ...]],
    axes: frozenset[str],
    where: Geometry,
) -> None:
    """Check that no two threads own one element."""
    extents = {axis: integer(where.extent(axis)) for axis in axes}
    if None in extents.values():
        raise _refused(tensor, "the number of threads is not known when it is compiled")
    grids = np.meshgrid(*(np.arange(n) for n in extents.values()), indexing="ij")  # type: ignore[arg-type]
    count = grids[0].size
    # Threads along other axes have buffers of their own.
    env = {v: np.zeros(count, np.int64) for v in POSITIONS.values()} | {
        POSITIONS[a]: grid.ravel() for a, grid in zip(extents, grids)
    }
    points = Points(env, (count,), np.array(True))
    places = np.array(sorted(every), np.int64).reshape(len(every), len(whose))
    flat = np.zeros((count, len(every)), np.int64)
    for d, form in enumerate(whose):
        mine = np.broadcast_to(evaluate(form.expr(), points, {}).values, (count,))
        values, rank = np.unique(mine[:, None] + places[None, :, d], return_inverse=True)
        flat = flat * values.size + rank.reshape(flat.shape)
    if np.unique(flat).size != flat.size:
        raise _refused(tensor, "threads use the same elements of it")


def _refused(tensor: Tensor, why: str) -> CompileError:
    return CompileError(
        f"{tensor.name} lives in registers, and {why}",
        code="set_scope",
        help=f'set_scope("{tensor.name}", "shared") lets threads of a block share it',
    )
