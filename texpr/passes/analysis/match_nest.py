"""Is a nest of loops an instance of another one, with other tensors for its own?"""

from __future__ import annotations

from collections.abc import Collection, Iterable, Mapping

from texpr.ir.affine import Linear, linear
from texpr.ir.build import integer
from texpr.ir.expr import Add, Call, Cast, Const, Expr, Mul, Read, Tensor, Var
from texpr.ir.instructions import INSTRUCTIONS, meaning
from texpr.ir.loop import For, If, Kernel, Stmt, Store, instruction_of
from texpr.ir.loop_kind import InstructionNest, Vector
from texpr.ir.printing.expr import show
from texpr.ir.printing.loop import source_kernel
from texpr.ir.store_kind import ATOMIC
from texpr.ir.traverse import equal, substitute, variables, walk
from texpr.passes.analysis.row_major import flat_index
from texpr.support.errors import ScheduleError
from texpr.support.frozen_dataclass import frozen


@frozen
class Match:
    """An access of the nest for each tensor of a pattern."""

    loops: Mapping[Var, Var]
    operands: Mapping[str, tuple[Tensor, tuple[Expr, ...]]]


class Mismatch(Exception):
    """The reason why a nest does not match the pattern."""


def instance(name: str, loop: For) -> Match:
    """The nest of `loop` as an instance of what an instruction does.

    Raises:
        Mismatch: it is none.
    """
    return unify(meaning(name), loop, masked=INSTRUCTIONS[name].masked, tiles=INSTRUCTIONS[name].tiles)


def check_instructions(kernel: Kernel) -> Kernel:
    """The kernel itself, once every nest that an instruction is claimed for is proven to be an
    instance of it.

    Raises:
        ScheduleError: one is not, with its loop.
    """
    for loop in walk(kernel):
        if isinstance(loop, For) and isinstance(loop.kind, InstructionNest):
            name = instruction_of(loop)
            try:
                if name not in INSTRUCTIONS:
                    raise Mismatch("there is no such instruction")
                if (around := _vector_around(kernel, loop)) is not None:
                    raise Mismatch(f"the loop `{around.var.name}` around it is vectorized")
                instance(name, loop)
            except Mismatch as why:
                raise ScheduleError(
                    f"the loop `{loop.var.name}` is no instance of `{name}`: {why}",
                    source_kernel(kernel)[1].get(id(loop)),
                    code="certificate",
                    help="apply the other steps on its loops and tensors first, then tensorize",
                ) from None
    return kernel


def _vector_around(kernel: Kernel, nest: For) -> For | None:
    """A loop around a nest whose iterations would be lanes: an instruction has its own."""
    vectors = (n for n in walk(kernel) if isinstance(n, For) and isinstance(n.kind, Vector))
    return next((v for v in vectors if integer(v.extent) != 1 and any(n is nest for n in walk(v))), None)


def unify(pattern: Kernel, loop: For, *, masked: bool = False, tiles: Collection[str] | None = None) -> Match:
    """The nest of `loop` as an instance of the one nest of `pattern`: equal extents, the same
    operations up to the order of operands of sums and products, operands that lie in memory as the
    pattern's do (rows as far apart as they like where the pattern says so by a symbol).

    Args:
        masked: the nest may have conditions.
        tiles: the operands that have to be in tiles; the others must not be, and lie in rows that
            are as far apart everywhere.
    Raises:
        Mismatch: it is none.
    """
    (mine,) = pattern.body
    loops: dict[Var, Var] = {}
    theirs: Stmt = loop
    while isinstance(mine, For):
        theirs = _inside(theirs) if masked else theirs
        if not isinstance(theirs, For) or integer(theirs.extent) != integer(mine.extent):
            raise Mismatch(
                f"its loop `{mine.var.name}` has {show(mine.extent)} iterations, {_instead(theirs)}"
            )
        if len(theirs.body) != 1:
            raise Mismatch(f"`{theirs.var.name}` holds {len(theirs.body)} statements, it has one")
        loops[mine.var] = theirs.var
        mine, theirs = mine.body[0], theirs.body[0]
    assert isinstance(mine, Store)
    theirs = _inside(theirs) if masked else theirs
    if not isinstance(theirs, Store):
        raise Mismatch("a loop or a condition stands inside, it has none")
    if (mine.update, mine.tensor.dtype) != (theirs.update, theirs.tensor.dtype):
        how = theirs.update or "a plain store"
        raise Mismatch(
            f"it updates {mine.tensor.dtype} by {mine.update}, the nest {theirs.tensor.dtype} by {how}"
        )
    if theirs.mode is ATOMIC:
        raise Mismatch(f"it does not update memory atomically, the nest updates {theirs.tensor.name} so")
    operands = {mine.tensor.name: (theirs.tensor, theirs.indices)}
    _same_place(mine.tensor, mine.indices, theirs.tensor, theirs.indices, loops)
    _values(mine.value, theirs.value, loops, operands)
    if any(name != mine.tensor.name and t is theirs.tensor for name, (t, _) in operands.items()):
        raise Mismatch(f"it reads other tensors than it writes, the nest reads {theirs.tensor.name}")
    for name, (tensor, indices) in operands.items() if tiles is not None else ():
        _check_scope(name, name in (tiles or ()), tensor)
        _check_even(tensor, indices, loops.values())
    return Match(loops, operands)


def _check_scope(operand: str, in_tile: bool, tensor: Tensor) -> None:
    if in_tile != (tensor.scope == "tile"):
        raise Mismatch(
            f"its {operand} is in {'a tile' if in_tile else 'memory'}, {tensor.name} is "
            f"{'not' if in_tile else 'in a tile'}"
        )


def _check_even(tensor: Tensor, indices: tuple[Expr, ...], loops: Iterable[Var]) -> None:
    """Each step along a loop moves the element as far as the first one does."""
    for loop in loops:
        if any(_bends(i, loop) for i in indices):
            raise Mismatch(f"rows of {tensor.name} do not lie evenly apart along `{loop.name}`")


def _bends(e: Expr, loop: Var) -> bool:
    return any(loop in variables(term) for term, _ in linear(e).terms if term is not loop)


def _inside(s: Stmt) -> Stmt:
    """The statement that stands alone under conditions."""
    while isinstance(s, If) and len(s.body) == 1:
        s = s.body[0]
    return s


def _instead(s: Stmt) -> str:
    """Description of a statement in the place of a loop."""
    match s:
        case For(var, extent):
            return f"`{var.name}` has {show(extent)} iterations"
        case If(cond):
            return f"the nest has the condition {show(cond)}"
    return "the nest has a statement"


def _values(
    mine: Expr, theirs: Expr, loops: Mapping[Var, Var], operands: dict[str, tuple[Tensor, tuple[Expr, ...]]]
) -> None:
    match mine, theirs:
        case Read(p, at), Read(t, indices) if p.dtype == t.dtype:
            _same_place(p, at, t, indices, loops)
            operands[p.name] = t, indices
        case Cast(a), Cast(b) if mine.dtype == theirs.dtype:
            _values(a, b, loops, operands)
        case (Add(a, b), Add(c, d)) | (Mul(a, b), Mul(c, d)):
            before = dict(operands)
            try:
                _values(a, c, loops, operands)
                _values(b, d, loops, operands)
            except Mismatch as first:
                operands.clear()
                operands.update(before)
                try:
                    _values(a, d, loops, operands)
                    _values(b, c, loops, operands)
                except Mismatch:
                    raise first from None
        case Call(f, given), Call(g, args) if f == g and len(given) == len(args):
            for a, b in zip(given, args):
                _values(a, b, loops, operands)
        case Const(), Const() if equal(mine, theirs):
            return
        case _:
            raise Mismatch(f"it has {show(mine)} where the nest has {show(theirs)}")


def _same_place(
    p: Tensor, at: tuple[Expr, ...], t: Tensor, indices: tuple[Expr, ...], loops: Mapping[Var, Var]
) -> None:
    """The element moves with the loops as the pattern's does; where the pattern's stride is a
    symbol, as it likes.
    """
    mine, theirs = flat_index(p, at), flat_index(t, indices)
    for v, w in loops.items():
        cut = [term for term, _ in mine.terms if v in variables(term) and term is not v]
        if any(not variables(term) <= loops.keys() for term in cut):
            continue  # a row of symbolic length
        if cut:
            if not _same_terms(mine, theirs, v, w):
                raise Mismatch(
                    f"{t.name} does not move with `{w.name}` as {p.name} does with `{v.name}`: "
                    f"{show(mine.expr())}"
                )
            continue
        if any(w in variables(term) for term, _ in theirs.terms if term is not w):
            raise Mismatch(f"{t.name} moves with `{w.name}` in no fixed stride")
        if mine.coefficient(v) != theirs.coefficient(w):
            raise Mismatch(
                f"its {p.name} moves by {mine.coefficient(v)} with `{v.name}`, {t.name} by "
                f"{theirs.coefficient(w)}"
            )


def _same_terms(mine: Linear, theirs: Linear, v: Var, w: Var) -> bool:
    """True if the terms that hold a loop, panels of it and places in these, are the same."""
    wanted = [(substitute(term, {v: w}), c) for term, c in mine.terms if v in variables(term)]
    found = [(term, c) for term, c in theirs.terms if w in variables(term)]
    return len(wanted) == len(found) and all(any(equal(a, b) and c == d for b, d in found) for a, c in wanted)
