"""Kernels with fewer dimensions: those of one element are dropped, and neighbours that are always
walked through as one are merged.

    Y[n, k, i, j] = sum(c, r, q: X[n, c, i + r, j + q] * W[k, c, r, q])   with N = R = Q = 1
    Y[k, ij] = sum(c: X[c, ij] * W[k, c])

Tensors of a plan are memory, row by row, so a kernel may see another shape of it. All templates of
schedules see products as products then, and kernels of one form are one kernel. Sums keep their
order. PyTorch's TensorIterator does so for elements alone.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import TypeAlias

from texpr.ir.build import integer
from texpr.ir.expr import Axis, Expr, Node, Read, Reduce, Tensor, Var, index, plain
from texpr.ir.tensor import Equation, Program
from texpr.ir.traverse import children, rewrite, variables, walk
from texpr.passes.analysis.collapsed_dimensions import Joined
from texpr.passes.analysis.substitution import folded, over_tensors
from texpr.support.frozen_dataclass import replace

Places: TypeAlias = "set[tuple[Tensor, int]]"
"""Dimensions of tensors."""


def coalesced(program: Program) -> Program:
    """The program over tensors of fewer dimensions, if all of its equations can see them so.

    Its inputs and outputs are the same memory. Dimensions whose extents are no numbers stay, and so
    does all of a program whose equations have a loop's variable in common.
    """
    if not all(isinstance(e, Equation) for e in program.equations) or not _binds_once(program):
        return program
    program = _without_single_elements(program)
    while (found := _mergeable(program)) is not None:
        program = _merged(program, *found)
    return program


# Dimensions of one element


def _without_single_elements(program: Program) -> Program:
    """The program without dimensions and terms of one iteration. A tensor keeps one dimension, and a
    sum one loop.
    """
    dropped = _single_elements(program)
    values: dict[Var, Expr] = {}
    for e in _equations(program):
        gone = {i for d, i in enumerate(e.indices) if (e.target, d) in dropped}
        unit = [a.var for a in e.axes if a.var in gone and _is_free(e, a.var)]
        for total in _reductions(e):
            once = [a.var for a in total.axes if _is_single(a) and _is_free(total, a.var)]
            unit += once[len(once) == len(total.axes) :]
        values |= dict.fromkeys(unit, index(0))
    # An axis that stays needs its place among the indices of what it defines.
    dropped = {
        (t, d)
        for t, d in dropped
        if all(
            e.indices[d] in values or integer(e.indices[d]) == 0 for e in _equations(program) if e.target is t
        )
    }
    if not dropped and not values:
        return program
    return _reshaped(_substituted(program, values), {t: _kept(t, dropped) for t, _ in dropped})


def _single_elements(program: Program) -> Places:
    """Dimensions of one element, whose index is 0 wherever it is written, but for one of each
    tensor.
    """
    accesses = list(_accesses(program))
    named = {
        t: [d for d, n in enumerate(t.shape) if integer(n) == 1] for t, _, _ in accesses if not t.distinct
    }
    for t, indices, single in accesses:
        if t in named:
            named[t] = [d for d in named[t] if integer(indices[d]) == 0 or indices[d] in single]
    return {(t, d) for t, places in named.items() for d in places[len(places) == t.rank :]}


def _accesses(program: Program) -> Iterator[tuple[Tensor, tuple[Expr, ...], set[Var]]]:
    """All places where tensors are indexed, with the variables of one iteration there."""
    for e in _equations(program):
        single = {a.var for a in _axes(e) if _is_single(a)}
        yield e.target, e.indices, single
        for read in _reads(e):
            yield read.tensor, read.indices, single


def _kept(tensor: Tensor, dropped: Places) -> list[list[int]]:
    """The dimensions that a tensor keeps, each by itself."""
    return [[d] for d in range(tensor.rank) if (tensor, d) not in dropped]


def _substituted(program: Program, values: Mapping[Var, Expr]) -> Program:
    """The program without loops over these variables."""

    def rule(node: Node) -> Node | None:
        if isinstance(node, Equation | Reduce) and any(a.var in values for a in node.axes):
            return replace(node, axes=tuple(a for a in node.axes if a.var not in values))
        return None

    return folded(rewrite(program, rule, kinds={Equation, Reduce}), values)


# Neighbours that are one


def _mergeable(program: Program) -> tuple[Places, dict[Var, Var]] | None:
    """Dimensions that can be merged with the next ones, and of each pair of variables that walk
    through them the inner one by the outer one.
    """
    for e in _equations(program):
        for pair in _neighbours(e).items():
            found = _closure(program, e, pair)
            if found is not None:
                return found
    return None


def _closure(
    program: Program, first: Equation, pair: tuple[Expr, Expr]
) -> tuple[Places, dict[Var, Var]] | None:
    """All that has to be merged if one pair of variables is; None if something prevents it."""
    known = {e: _neighbours(e) for e in _equations(program)}
    places: Places = set()
    inner: dict[Var, Var] = {}
    waiting: list[tuple[Equation, tuple[Expr, Expr]]] = [(first, pair)]
    while waiting:
        equation, (i, j) = waiting.pop()
        if known[equation].get(i) is not j or not isinstance(i, Var) or not isinstance(j, Var):
            return None
        if inner.get(i) is j:
            continue
        if {i, j} & {*inner, *inner.values()}:
            return None
        inner[i] = j
        found = _walked_as_one(equation, i, j)
        if found is None:
            return None
        for tensor, d in found - places:
            if tensor.distinct:
                return None
            places.add((tensor, d))
            waiting += [
                (e, (indices[d], indices[d + 1]))
                for e in _equations(program)
                for t, indices in _indexed(e)
                if t is tensor
            ]
    return places, inner


def _neighbours(equation: Equation) -> dict[Expr, Var]:
    """Of each loop over all of a constant extent the one inside it, if that is such a loop too."""
    groups = [equation.axes, *(r.axes for r in _reductions(equation) if r.op not in ("argmax", "argmin"))]
    return {
        outer.var: inner.var
        for axes in groups
        for outer, inner in zip(axes, axes[1:])
        if _is_whole(outer) and _is_whole(inner)
    }


def _walked_as_one(equation: Equation, i: Var, j: Var) -> Places | None:
    """Places where an equation has two variables beside each other as indices, each over all of a
    dimension; None if it has one of them anywhere else.
    """
    extents = {a.var: integer(a.hi) for a in _axes(equation)}
    found: Places = set()
    for tensor, indices in _indexed(equation):
        rest: list[Expr] = []
        for d, each in enumerate(indices):
            together = each is i and d + 1 < len(indices) and indices[d + 1] is j
            if together and [extents[i], extents[j]] == list(map(integer, tensor.shape[d : d + 2])):
                found.add((tensor, d))
            elif not (each is j and (tensor, d - 1) in found and indices[d - 1] is i):
                rest.append(each)
        if {i, j} & variables(*rest):
            return None
    return None if {i, j} & _outside_of_indices(equation) else found


def _outside_of_indices(equation: Equation) -> set[Var]:
    """Variables that an equation has elsewhere than as indices: as numbers, in conditions, in
    ranges of others.
    """
    found: set[Var] = set()
    stack: list[Node] = [n for n in (equation.value, equation.where, equation.guard) if n is not None]
    stack += [end for a in equation.axes for end in (a.lo, a.hi)]
    seen: set[Node] = set()
    while stack:
        node = stack.pop()
        if node in seen:
            continue
        seen.add(node)
        if isinstance(node, Var):
            found.add(node)
        elif isinstance(node, Read):
            stack += [r for i in node.indices for r in walk(i) if isinstance(r, Read)]
            stack += [] if node.guard is None else [node.guard]
        elif isinstance(node, Axis):
            stack += [node.lo, node.hi]
        else:
            stack += children(node)
    return found


def _merged(program: Program, places: Places, inner: Mapping[Var, Var]) -> Program:
    """The program with one variable for each pair, and one dimension for each pair of them."""
    second = set(inner.values())

    def rule(node: Node) -> Node | None:
        if isinstance(node, Equation | Reduce) and any(a.var in inner for a in node.axes):
            sizes = {a.var: integer(a.hi) or 0 for a in node.axes}
            axes = [
                replace(a, hi=index(sizes[a.var] * sizes[inner[a.var]])) if a.var in inner else a
                for a in node.axes
                if a.var not in second
            ]
            return replace(node, axes=tuple(axes))
        return None

    joined = {t: _pairs(t, places) for t, _ in places}
    return _reshaped(rewrite(program, rule, kinds={Equation, Reduce}), joined)


def _pairs(tensor: Tensor, places: Places) -> list[list[int]]:
    """The dimensions of a tensor, those together that are merged."""
    parts: list[list[int]] = []
    for d in range(tensor.rank):
        if (tensor, d - 1) in places:
            parts[-1].append(d)
        else:
            parts.append([d])
    return parts


# Both


def _reshaped(program: Program, parts: Mapping[Tensor, list[list[int]]]) -> Program:
    """The program over tensors with a dimension for each part, indexed by the first index of it."""

    def rule(node: Node) -> Node | None:
        tensor = (
            node.target if isinstance(node, Equation) else node.tensor if isinstance(node, Read) else None
        )
        if tensor not in parts:
            return None
        return replace(node, indices=tuple(node.indices[p[0]] for p in parts[tensor]))  # type: ignore[union-attr]

    shapes = {t: Joined(t, tuple(map(tuple, kept))).shape for t, kept in parts.items()}
    tensors = {t: replace(t, dims=plain(*shape)) for t, shape in shapes.items()}
    return over_tensors(rewrite(program, rule, kinds={Equation, Read}), tensors)


def _binds_once(program: Program) -> bool:
    """True if no two loops have one variable: what is found for it holds wherever it stands."""
    found = [a.var for e in _equations(program) for a in _axes(e)]
    return len(set(found)) == len(found)


def _equations(program: Program) -> list[Equation]:
    return [e for e in program.equations if isinstance(e, Equation)]


def _reductions(equation: Equation) -> list[Reduce]:
    return [n for n in walk(equation) if isinstance(n, Reduce)]


def _axes(equation: Equation) -> list[Axis]:
    """All loops of an equation."""
    return [*equation.axes, *(a for total in _reductions(equation) for a in total.axes)]


def _reads(equation: Equation) -> list[Read]:
    return [n for n in walk(equation) if isinstance(n, Read)]


def _indexed(equation: Equation) -> Iterator[tuple[Tensor, tuple[Expr, ...]]]:
    """The tensors that an equation defines and reads, with their indices."""
    yield equation.target, equation.indices
    for read in _reads(equation):
        yield read.tensor, read.indices


def _is_whole(axis: Axis) -> bool:
    """True if it runs over all of a constant extent."""
    return integer(axis.lo) == 0 and (integer(axis.hi) or 0) > 0


def _is_single(axis: Axis) -> bool:
    return integer(axis.lo) == 0 and integer(axis.hi) == 1


def _is_free(node: Equation | Reduce, var: Var) -> bool:
    """True if no condition and no range names a variable, and no place is counted by it."""
    ends = [end for a in node.axes for end in (a.lo, a.hi)]
    places = isinstance(node, Reduce) and node.op in ("argmax", "argmin")
    return not places and var not in variables(*ends, *([] if node.where is None else [node.where]))
