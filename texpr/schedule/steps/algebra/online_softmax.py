"""`online_softmax`: sums of exponentials relative to a maximum in blocks, with the maximum so far:
a rewrite of the equations.

This is no reordering of loops: the sums of the first blocks are relative to another maximum than
those of the last. So the equations are rewritten, and the loops are those of the new equations; the
certificate derives the old ones from the new ones (`poly.certificate.rewrites.online_softmax`).
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from math import inf

from texpr.ir.affine import Linear, linear, same_value
from texpr.ir.build import add, compare, floordiv, integer, minimum, mul, sub
from texpr.ir.dtypes import BF16, F16
from texpr.ir.expr import (
    Add,
    Axis,
    Call,
    Cast,
    Compare,
    Const,
    Dim,
    Div,
    Expr,
    Max,
    Mul,
    Node,
    Read,
    Reduce,
    Select,
    Sub,
    Tensor,
    Var,
    index,
    plain,
)
from texpr.ir.loop import Kernel
from texpr.ir.printing.expr import show
from texpr.ir.printing.types import unused
from texpr.ir.tensor import Equation, Invoke, Program
from texpr.ir.traverse import equal, rewrite, substitute, variables, walk
from texpr.passes.analysis.substitution import with_fresh_variables
from texpr.passes.lowering.lower import loops_of
from texpr.passes.tensor.reduction_passes import sums_of_all
from texpr.passes.tensor.short_circuit import lazy_logic
from texpr.poly import always
from texpr.schedule.steps.registry import step
from texpr.schedule.structure.equations import equations_of
from texpr.support.errors import ScheduleError
from texpr.support.frozen_dataclass import frozen, replace

MOST_OF_F16 = 65504
"""The largest finite float of 16 bits."""


@step("online")
def online_softmax(
    kernel: Kernel, maximum: str, factor: int, *, rows: int | None = None, reassoc: bool = False
) -> Kernel:
    """Compute exponentials relative to a maximum, and sums of them, in blocks of `factor` terms
    with the maximum so far.

    m[i] = max(j: X[i,j]);  e[i,j] = exp(X[i,j] - m[i]);  T[i,v] = sum(j: e[i,j] * w[j,v])
    ->  m_run[i,0] = -inf;  m_run[i,c] = max(m_run[i,c-1], max of block c-1);  e_block[i,c,u] = exp(X[i,c*factor+u] - m_run[i,c+1])
        T_run[i,0,v] = 0;  T_run[i,c,v] = T_run[i,c-1,v] * exp(m_run[i,c-1] - m_run[i,c]) + sum(u: e_block[i,c-1,u] * w[...])
        m[i] = m_run[i,last];  T[i,v] = T_run[i,last,v]

    by exp(a - m) * exp(m - n) = exp(a - n), which holds of numbers and not of floats:
    `reassoc=True` permits what is rounded anew. While the maximum is -inf, exponentials are
    relative to 0; where it is -inf, inf or NaN in the end, T is NaN where it was. So X is computed,
    used and forgotten block by block: softmax and attention need one pass over their rows. It is
    the first step of a schedule.

    Where rows have different ranges (`j in 0..i + 1`), all have the blocks of the longest one, most
    of them empty; with `rows`, as many neighbours have the blocks of the longest of them:

        m[i] = m_run[i, (i//rows*rows + rows - 1 + factor) // factor]

    A factor may be rounded to another type of float, as in f32(bf16(e[i,j])) * f32(w[j,v]): each
    is, relative to the maximum so far. Differences may be scaled, as in exp((X[i,j] - m[i]) *
    rsqrt(f32(D))), by a number that is surely above 0.

    A sum in X that is only taken under a condition on indices is computed for all of a block, where
    what it reads exists.

    Legal where `e` is exp(X - m), or that of such a multiple, over the range of `maximum`, and all
    that reads `e` are sums along that range in which `e` is a factor.

    Args:
        maximum: the tensor of maxima, each along one axis.
        factor: terms of a block; at least 1.
        rows: neighbours along the one axis on which the range depends that have as many blocks; all
            of them unless given.
    Raises:
        ScheduleError: another step was applied, the equations have another form, or the step needs
            `reassoc=True`.
    Source: Milakov and Gimelshein, Online normalizer calculation for softmax, 2018; Dao et al.,
    FlashAttention, NeurIPS 2022.
    Example:
        op = tx.op('''op weighted(X: f32[M, N], V: f32[N, K]) -> T: f32[M, K] {
          m[i] = max(j: X[i, j])
          e[i, j] = exp(X[i, j] - m[i])
          T[i, v] = sum(j: e[i, j] * V[j, v])
        }''')
        s = tx.schedule(op)
        s.online_softmax("m", 64, reassoc=True)
    Refused:
        tx.schedule(op).online_softmax("m", 64)
    Elsewhere: Halide none; TVM none; Exo none; MLIR none.
    """
    if isinstance(factor, bool) or not isinstance(factor, int) or factor < 1:
        raise _error(f"a block has at least 1 term, not {factor!r}", 'online_softmax("m", 64, reassoc=True)')
    if not isinstance(reassoc, bool):
        raise _error(f"`reassoc` is True or False, not {reassoc!r}")
    program = equations_of(kernel, "online_softmax")
    found = _running(program, maximum)
    program = sums_of_all(program, {n.tensor for n in walk(found.value) if isinstance(n, Read)})
    last = None if rows is None else _last_of(found.maximum, rows)
    if not reassoc:
        names = ", ".join(s.equation.target.name for s in found.sums)
        raise ScheduleError(
            f"online_softmax of `{maximum}` changes how float sums are rounded: {names}",
            found.maximum.span,
            code="exact",
            help=f'online_softmax("{maximum}", {factor}, reassoc=True) permits it',
        )
    new = _rewritten(program, found, factor, last)
    return replace(loops_of(lazy_logic(new)), program=new, fma=kernel.fma)


def _error(text: str, help: str = "", at: Equation | None = None) -> ScheduleError:
    return ScheduleError(text, None if at is None else at.span, code="online_softmax", help=help or None)


@frozen
class _Sum:
    """An equation with a sum that has the exponential as a factor, and where that is read."""

    equation: Equation
    reduction: Reduce
    read: Read


@frozen
class _Running:
    """The parts of a softmax: its maximum, its exponentials, and the sums over them.

    Attributes:
        axis: the axis of `exponential` along which the maxima and the sums are.
        value: what is exponentiated, before the maximum is taken off.
        scale: what the difference is multiplied by.
    """

    maximum: Equation
    exponential: Equation
    axis: Axis
    value: Expr
    scale: Expr | None
    sums: tuple[_Sum, ...]

    def power(self, value: Expr, base: Expr) -> Expr:
        """The exponential of a value relative to another."""
        difference = Sub(value, base)
        return Call("exp", (difference if self.scale is None else Mul(difference, self.scale),))

    @property
    def position(self) -> int:
        """Position of the softmax's axis among the exponential's indices."""
        return next(k for k, i in enumerate(self.exponential.indices) if i is self.axis.var)

    def others(self, indices: tuple[Expr, ...]) -> tuple[Expr, ...]:
        """The indices of an exponential without the one along which the sums are."""
        return (*indices[: self.position], *indices[self.position + 1 :])


def _running(program: Program, name: str) -> _Running:
    """The equations around the maxima of that name.

    Raises:
        ScheduleError: they have another form.
    """
    maximum = _maximum(program, name)
    readers = [e for e in program.equations if _reads(e, maximum.target)]
    exponential = next(
        (e for e in readers if isinstance(e, Equation) and _difference(e, maximum.target) is not None), None
    )
    if exponential is None or not _is_plain(exponential):
        raise _error(
            f"no equation has the form e[i, j] = exp(X[i, j] - {name}[i])",
            "online_softmax is for exponentials relative to a maximum",
            maximum,
        )
    difference = _difference(exponential, maximum.target)
    assert difference is not None
    value, read, scale = difference
    axes = [a for a in exponential.axes if not any(a.var is i for i in read.indices)]
    if len(axes) != 1 or len(exponential.axes) != len(read.indices) + 1 or not _is_plain(maximum):
        raise _error(
            f"`{exponential.target.name}` is not computed for each term of each maximum of `{name}`",
            "give it the axes of the maxima and the one along which they are, without conditions",
            exponential,
        )
    _same_terms(maximum, exponential, axes[0], value, read)
    found = _Running(maximum, exponential, axes[0], value, scale, ())
    if exponential.target in program.outputs:
        raise _error(
            f"`{exponential.target.name}` is an output, so it is needed relative to the last maximum",
            "online_softmax is for exponentials that are summed and not used again",
            exponential,
        )
    users = [e for e in program.equations if _reads(e, exponential.target)]
    return replace(found, sums=tuple(_sum(found, e) for e in users))


def _maximum(program: Program, name: str) -> Equation:
    made = [e for e in program.equations if isinstance(e, Equation) and e.target.name == name]
    match made:
        case [Equation(value=Reduce("max", (_,), _, None), update=None, target=target) as e] if (
            target.dtype.is_float
        ):
            return e
    names = [
        e.target.name
        for e in program.equations
        if isinstance(e, Equation) and isinstance(e.value, Reduce) and e.value.op == "max"
    ]
    raise _error(
        f"{name!r} is no tensor of maxima of floats along one axis"
        + (f"; these are: {', '.join(names)}" if names else ""),
        "name one that is max(j: X[..., j]), as in m[i] = max(j: X[i, j])",
        made[0] if made else None,
    )


def _last_of(maximum: Equation, rows: int) -> Expr:
    """End of the range of the longest row of each group of neighbours.

    Raises:
        ScheduleError: the range depends on no row, on several, or otherwise than by a multiple of
            it.
    """
    if isinstance(rows, bool) or not isinstance(rows, int) or rows < 1:
        raise _error(
            f"at least 1 row has blocks of its own, not {rows!r}",
            'online_softmax("m", 64, rows=64, reassoc=True)',
        )
    assert isinstance(maximum.value, Reduce)
    end, axes = linear(maximum.value.axes[0].hi), [a.var for a in maximum.axes]
    moving = [(v, c) for v, c in end.terms if v in axes]
    if len(moving) != 1 or variables(*(t for t, _ in end.terms if not isinstance(t, Var))) & set(axes):
        raise _error(
            f"the range of `{maximum.target.name}` does not move with one of its axes",
            "leave out `rows`",
            maximum,
        )
    ((row, by),) = moving
    first = mul(floordiv(row, index(rows)), index(rows))
    return substitute(maximum.value.axes[0].hi, {row: add(first, index(rows - 1)) if by > 0 else first})  # type: ignore[dict-item]


def _reads(e: Equation | Invoke, tensor: Tensor) -> bool:
    if isinstance(e, Invoke):
        return tensor in e.args
    return any(isinstance(n, Read) and n.tensor is tensor for n in walk(e))


def _difference(e: Equation, maximum: Tensor) -> tuple[Expr, Read, Expr | None] | None:
    """The X of exp(scale * (X - m)), the read of m, and the scale, if there is one."""
    match e.value:
        case Call("exp", (Sub(value, Read(tensor) as read),)) if tensor is maximum:
            return value, read, None
        case Call("exp", (Mul(Sub(value, Read(tensor) as read), scale),)) if tensor is maximum and _is_scale(
            scale, e
        ):
            return value, read, scale
    return None


def _is_scale(e: Expr, equation: Equation) -> bool:
    """True if a factor is one number for all elements, and above 0."""
    if variables(e) & {a.var for a in equation.axes}:
        return False
    match e:
        case Const(value):
            return 0 < value < inf
        case Cast(a) if e.dtype.is_float and a.dtype.is_float:
            return e.dtype.bits > 16 and _is_scale(a, equation)
        case Call("rsqrt", (a,)):
            return _is_count(a)
    return False


def _is_count(e: Expr) -> bool:
    """True if a float is an integer that is not too large for its type: above 0, or the reciprocal
    of its root is infinite or NaN.
    """
    match e:
        case Const(value):
            return 0 < value < inf
        case Cast(a) if e.dtype.is_float:
            holds_all = (
                e.dtype.bits > 16
                or e.dtype == BF16
                or e.dtype == F16
                and 0 < (integer(_uncast(a)) or 0) <= MOST_OF_F16
            )
            return holds_all and (a.dtype.is_int or _is_count(a))
    return False


def _uncast(e: Expr) -> Expr:
    return _uncast(e.operand) if isinstance(e, Cast) else e


def _is_plain(e: Equation) -> bool:
    """One element for each value of its axes, which all begin at 0."""
    return (
        e.update is None
        and e.where is None
        and e.guard is None
        and len(e.axes) == len(e.indices)
        and all(any(i is a.var for i in e.indices) for a in e.axes)
        and all(integer(a.lo) == 0 for a in e.axes)
    )


def _same_terms(maximum: Equation, exponential: Equation, axis: Axis, value: Expr, read: Read) -> None:
    """The exponentials are of what the maxima are of."""
    assert isinstance(maximum.value, Reduce)
    binder = maximum.value.axes[0]
    named: dict[Var, Expr] = {i: at for i, at in zip(maximum.indices, read.indices) if isinstance(i, Var)} | {
        binder.var: axis.var
    }
    ranges = ((binder.lo, axis.lo), (binder.hi, axis.hi))
    if not equal(substitute(maximum.value.body, named), value):
        raise _error(
            f"`{maximum.target.name}` is the maximum of {show(maximum.value.body)}, not of {show(value)}",
            "take the maximum of what is exponentiated",
            exponential,
        )
    if not all(same_value(substitute(a, named), b) for a, b in ranges):
        raise _error(
            f"`{maximum.target.name}` and `{exponential.target.name}` have different ranges along "
            f"`{axis.var.name}`",
            "give both the same range",
            exponential,
        )


def _sum(found: _Running, e: Equation | Invoke) -> _Sum:
    """The sum in an equation that uses the exponentials.

    Raises:
        ScheduleError: it uses them otherwise.
    """
    target = found.exponential.target
    if (
        isinstance(e, Equation)
        and _is_plain(e)
        and not {a.var for a in e.axes} & variables(*(a.hi for a in e.axes))
    ):
        sums = [n for n in walk(e.value) if isinstance(n, Reduce)]
        reads = [n for n in walk(e) if isinstance(n, Read) and n.tensor is target]
        if (
            len(sums) == 1
            and len(reads) == 1
            and (read := _factor(sums[0].body, target)) is not None
            and _along(found, sums[0], read)
        ):
            return _Sum(e, sums[0], read)
    name = e.target.name if isinstance(e, Equation) else "an operator"
    raise _error(
        f"`{target.name}` is used by `{name}` outside of a sum along `{found.axis.var.name}` of which it is "
        f"a factor, so it is "
        "needed relative to the last maximum",
        "online_softmax is for exponentials that are summed and not used again",
        e if isinstance(e, Equation) else None,
    )


def _factor(e: Expr, tensor: Tensor) -> Read | None:
    """The read of a tensor that `e` is, or is a multiple of."""
    match e:
        case Read(read) if read is tensor:
            return e
        case Mul(a, b):
            return _factor(a, tensor) or _factor(b, tensor)
        case Div(a, _):
            return _factor(a, tensor)
        case Cast(a) if e.dtype.is_float and a.dtype.is_float:
            return _factor(a, tensor)
    return None


def _along(found: _Running, reduction: Reduce, read: Read) -> bool:
    """True if a sum has the terms of the maximum."""
    if reduction.op != "sum" or len(reduction.axes) != 1 or reduction.where is not None:
        return False
    binder, others = reduction.axes[0], found.others(read.indices)
    named: dict[Var, Expr] = {
        i: at for i, at in zip(found.exponential.indices, read.indices) if isinstance(i, Var)
    }
    return (
        read.indices[found.position] is binder.var
        and binder.var not in variables(*others)
        and integer(binder.lo) == 0
        and same_value(substitute(found.axis.hi, named), binder.hi)
    )


@dataclass(slots=True)
class _Blocks:
    """Makes the new equations.

    Attributes:
        count: of the blocks.
        count: blocks of the longest row.
        own: how many blocks a row of `found.maximum` has.
        names: those taken.
    """

    found: _Running
    factor: int
    count: Expr
    own: Expr
    names: set[str]

    def reach(self, rows: Sequence[Expr]) -> Expr:
        """Number of blocks of a row."""
        return substitute(
            self.own, {i: at for i, at in zip(self.found.maximum.indices, rows) if isinstance(i, Var)}
        )

    def tensor(self, name: str, like: Tensor, dims: tuple[Dim, ...]) -> Tensor:
        name = unused(name, self.names)
        self.names.add(name)
        return Tensor(name, like.dtype, dims)

    def term(self, block: Expr, inside: Var) -> Expr:
        return add(mul(block, index(self.factor)), inside)

    def condition(self, block: Expr, inside: Var, end: Expr, always: bool) -> Expr | None:
        """Condition that a block has a term; None where each has as many as all others."""
        return None if always else compare("<", self.term(block, inside), end)


def _blocks(terms: Expr, factor: int) -> Expr:
    """Number of blocks that hold so many terms; whole blocks of them are taken out of the division."""
    form = linear(terms)
    whole = Linear(tuple((t, c // factor) for t, c in form.terms if c % factor == 0), 0)
    rest = Linear(tuple((t, c) for t, c in form.terms if c % factor), form.constant + factor - 1)
    return add(whole.expr(), floordiv(rest.expr(), index(factor)))


def _own(program: Program, maximum: Equation, reach: Expr, count: Expr) -> Expr:
    """Number of blocks of a row that reaches so far, at most `count`."""
    return (
        reach
        if always(compare("<=", reach, count), maximum.axes, program.requires)
        else minimum(reach, count)
    )


def _rewritten(program: Program, found: _Running, factor: int, last: Expr | None) -> Program:
    position = found.position
    length = found.exponential.target.shape[position]
    names = {t.name for t in (*program.inputs, *program.outputs, *program.temporaries)} | {
        v.name for v in program.sizes
    }
    count = _blocks(length, factor)
    make = _Blocks(
        found,
        factor,
        count,
        count if last is None else _own(program, found.maximum, _blocks(last, factor), count),
        names,
    )
    running = _maxima(make)
    equations: list[Equation | Invoke] = []
    for e in program.equations:
        used = next((s for s in found.sums if s.equation is e), None)
        if e is found.maximum:
            equations += running.equations
        elif e is found.exponential:
            equations.append(running.exponentials)
        elif used is not None:
            equations += _summed(make, running, used)
        else:
            equations.append(e)
    return replace(program, equations=tuple(equations))


@frozen
class _Maxima:
    """The equations of running maxima, what they are stored in, and the exponentials relative to
    them.
    """

    equations: tuple[Equation, ...]
    scale: Tensor
    blocks: Tensor
    exponentials: Equation


def _every(make: _Blocks) -> bool:
    """True if all blocks are full."""
    length = integer(make.found.exponential.target.shape[make.found.position])
    return length is not None and integer(make.found.axis.hi) == length and length % make.factor == 0


def _maxima(make: _Blocks) -> _Maxima:
    m, found = make.found.maximum, make.found
    assert isinstance(m.value, Reduce)
    target, binder, zero, one = m.target, m.value.axes[0], index(0), index(1)
    block, run = (
        make.tensor(f"{target.name}_{what}", target, (*target.dims, *plain(n)))
        for what, n in (("block", make.count), ("run", add(make.count, one)))
    )
    base = make.tensor(f"{target.name}_base", target, (*target.dims, *plain(add(make.count, one))))
    scale = make.tensor(f"{target.name}_scale", target, (*target.dims, *plain(make.count)))

    def made(tensor: Tensor, lo: Expr, hi: Expr, value: Node, c: Var) -> Equation:
        return with_fresh_variables(
            Equation(tensor, (*m.indices, c), (*m.axes, Axis(c, lo, hi)), value, span=m.span)  # type: ignore[arg-type]
        )

    c, u = Var("c"), Var("u")
    before = (*m.indices, sub(c, one))
    body = substitute(m.value.body, {binder.var: make.term(c, u)})
    largest = Reduce(
        "max",
        (Axis(u, zero, index(make.factor)),),
        body,
        make.condition(c, u, binder.hi, _every(make)),
        dtype=m.value.dtype,
    )
    lowest, nothing = Const(-inf, dtype=target.dtype), Const(0.0, dtype=target.dtype)
    now = Read(run, (*m.indices, c))
    reach = make.reach(m.indices)
    last = add(reach, one)
    start = with_fresh_variables(Equation(run, (*m.indices, zero), m.axes, lowest, span=m.span))
    equations = (
        made(block, zero, reach, largest, c),
        start,
        made(run, one, last, Max(Read(run, before), Read(block, before)), c),
        made(base, zero, last, Select(Compare("==", now, lowest), nothing, now), c),
        made(scale, zero, reach, found.power(now, Read(base, (*m.indices, add(c, one)))), c),
        replace(m, value=Read(run, (*m.indices, reach))),
    )
    blocks, exponentials = _exponentials(make, base)
    return _Maxima(equations, scale, blocks, exponentials)


def _exponentials(make: _Blocks, base: Tensor) -> tuple[Tensor, Equation]:
    """The exponentials by blocks, each relative to the maximum up to its block."""
    found, zero, one = make.found, index(0), index(1)
    c, u = Var("c"), Var("u")
    e = found.exponential
    dims = list(e.target.dims)
    at = _dimension(e.target, found.position)
    blocks = make.tensor(
        f"{e.target.name}_block",
        e.target,
        (*dims[:at], *dims[at + 1 :], *plain(make.count, index(make.factor))),
    )
    others = found.others(e.indices)
    axes = tuple(a for a in e.axes if a is not found.axis)
    value = found.power(
        substitute(found.value, {found.axis.var: make.term(c, u)}), Read(base, (*others, add(c, one)))
    )
    exponentials = Equation(
        blocks,
        (*others, c, u),
        (*axes, Axis(c, zero, make.reach(others)), Axis(u, zero, index(make.factor))),
        value,
        where=make.condition(c, u, found.axis.hi, _every(make)),
        span=e.span,
    )
    return blocks, with_fresh_variables(exponentials)


def _dimension(tensor: Tensor, position: int) -> int:
    """The dimension that an index is of.

    Raises:
        ScheduleError: it is one of a group.
    """
    first = 0
    for k, dim in enumerate(tensor.dims):
        if position < first + len(dim.sizes):
            if len(dim.sizes) == 1 and not dim.pack:
                return k
            break
        first += len(dim.sizes)
    raise _error(
        f"`{tensor.name}` runs over a group or a pack along which the maximum is taken",
        "give it an axis of its own",
    )


def _summed(make: _Blocks, running: _Maxima, s: _Sum) -> tuple[Equation, ...]:
    e, found, zero, one = s.equation, make.found, index(0), index(1)
    others = found.others(s.read.indices)
    inside = max((k for k, a in enumerate(e.axes) if a.var in variables(*others)), default=-1) + 1
    lengths = tuple(a.hi for a in e.axes)
    run = make.tensor(
        f"{e.target.name}_run", e.target, plain(*lengths[:inside], add(make.count, one), *lengths[inside:])
    )
    run = replace(run, dtype=s.reduction.dtype)
    c, u = Var("c"), Var("u")

    def at(block: Expr) -> tuple[Expr, ...]:
        own = tuple(a.var for a in e.axes)
        return (*own[:inside], block, *own[inside:])

    binder, before = s.reduction.axes[0], sub(c, one)
    term = {binder.var: make.term(before, u)}
    read = Read(running.blocks, (*others, before, u))
    body = substitute(rewrite(s.reduction.body, lambda n: read if n is s.read else None), term)
    more = replace(
        s.reduction,
        axes=(Axis(u, zero, index(make.factor)),),
        body=body,
        where=make.condition(before, u, binder.hi, _every(make)),
    )
    scaled = Mul(Read(run, at(before)), Read(running.scale, (*others, before)))
    reach = make.reach(others)
    axes = (*e.axes[:inside], Axis(c, one, add(reach, one)), *e.axes[inside:])
    last = Read(found.maximum.target, others)
    whole = Mul(Read(run, at(reach)), Call("exp", (Sub(last, last),)))
    return (
        with_fresh_variables(Equation(run, at(zero), e.axes, Const(0.0, dtype=run.dtype), span=e.span)),
        with_fresh_variables(Equation(run, at(c), axes, Add(scaled, more), span=e.span)),
        replace(e, value=rewrite(e.value, lambda n: whole if n is s.reduction else None)),
    )
