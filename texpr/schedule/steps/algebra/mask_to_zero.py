"""`mask_to_zero`: a factor that exists under a condition becomes 0 elsewhere, and its sums take all
terms: a rewrite of the equations.

Instructions that multiply tiles have no conditions. The certificate derives the old equations from
the new ones (`poly.certificate.rewrites.mask_to_zero`).
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from texpr.ir.affine import linear
from texpr.ir.build import compare, conjunction, conjuncts, literal, select, sub
from texpr.ir.expr import Axis, Cast, Compare, Expr, Mul, Node, Read, Reduce, Tensor, Var, index
from texpr.ir.loop import Kernel
from texpr.ir.tensor import Equation, Program
from texpr.ir.traverse import equal, rewrite, substitute, walk
from texpr.passes.lowering.lower import loops_of
from texpr.passes.tensor.short_circuit import lazy_logic
from texpr.poly import always
from texpr.schedule.steps.registry import step
from texpr.schedule.structure.equations import equations_of
from texpr.schedule.structure.tensors import find_tensor
from texpr.support.errors import ScheduleError
from texpr.support.frozen_dataclass import replace

STEP = "mask_to_zero"


@step("widen")
def mask_to_zero(kernel: Kernel, tensor: str, *, finite: bool = False) -> Kernel:
    """Let sums take all terms of a factor that is defined under a condition: it is 0 where it was
    not defined.

    e[i,u] = f(i,u) where u < i + 1;  T[i] = sum(u where u < i + 1: e[i,u] * V[u])
    ->  e[i,u] = if u < i + 1 then f(i,u) else 0;  T[i] = sum(u: e[i,u] * V[u])

    Legal with `finite=True`, which permits to add 0 times infinity or NaN, where all that the terms
    read exists. No bit of a sum changes while the other factors are finite, as with `drop_padding`.
    It comes before steps that change loops, after `online_softmax` for one.

    Args:
        tensor: the factor, an intermediate that is read by such sums alone.
        finite: whatever 0 times a float gives may be added.
    Raises:
        ScheduleError: loops were changed, the tensor or its uses are not such, or the step needs
            `finite=True`.
    Example:
        op = tx.op('''op lower(X: f32[N, N], V: f32[N, M]) -> O: f32[N, M] {
          let e: f32[N, N]
          e[i, j] = X[i, j] * 2 where j <= i
          O[i, v] = sum(j where j <= i: e[i, j] * V[j, v])
        }''')
        s = tx.schedule(op)
        s.mask_to_zero("e", finite=True)
    Refused:
        tx.schedule(op).mask_to_zero("e")
    Elsewhere: Halide none; TVM none; Exo none; MLIR none.
    """
    if not isinstance(finite, bool):
        raise ScheduleError(f"`finite` is True or False, not {finite!r}", code=STEP)
    program, target = equations_of(kernel, STEP), find_tensor(kernel, tensor)
    own = [e for e in program.equations if isinstance(e, Equation) and e.target.name == target.name]
    if len(own) != 1 or own[0].where is None or own[0].update is not None or not own[0].target.dtype.is_float:
        raise _refused(
            f"`{tensor}` is not defined by one equation under a condition", own[0] if own else None
        )
    changed = {
        id(e): _widened(program, e, own[0])
        for e in program.equations
        if isinstance(e, Equation) and e is not own[0]
    }
    if not finite:
        raise ScheduleError(
            f"mask_to_zero of `{tensor}` adds 0 times what else is in its sums, which is NaN for infinity",
            own[0].span,
            code="exact",
            help=f'mask_to_zero("{tensor}", finite=True) permits it',
        )
    zero = literal(0, own[0].value.dtype)
    changed[id(own[0])] = replace(own[0], value=select(own[0].where, own[0].value, zero), where=None)
    new = replace(program, equations=tuple(changed.get(id(e), e) for e in program.equations))
    return replace(loops_of(lazy_logic(new)), program=new, fma=kernel.fma)


def under_conditions(kernel: Kernel) -> Iterator[str]:
    """The intermediates that are defined under a condition."""
    program = kernel.program
    for e in () if program is None else program.equations:
        if (
            isinstance(e, Equation)
            and e.where is not None
            and any(e.target is t for t in program.temporaries)  # type: ignore[union-attr]
        ):
            yield e.target.name


def _refused(why: str, e: Equation | None) -> ScheduleError:
    return ScheduleError(
        why,
        None if e is None else e.span,
        code=STEP,
        help="name a factor such as e[i, j] = exp(s[i, j]) where j < i + 1",
    )


def _widened(program: Program, e: Equation, own: Equation) -> Equation:
    """An equation with all terms in the sums that have the tensor as a factor.

    Raises:
        ScheduleError: it reads the tensor elsewhere, or without that condition, or terms read what
            does not exist.
    """

    def rule(n: Node) -> Node | None:
        reads = list(_factors(n.body, own.target)) if isinstance(n, Reduce) and n.op == "sum" else []
        return _all_terms(program, e, n, reads[0], own) if len(reads) == 1 and isinstance(n, Reduce) else None

    changed = rewrite(e, rule)
    wanted = sum(isinstance(n, Read) and n.tensor is own.target for n in walk(e))
    had = [
        n
        for n in walk(e)
        if isinstance(n, Reduce) and n.op == "sum" and len(list(_factors(n.body, own.target))) == 1
    ]
    if wanted != len(had):
        raise _refused(
            f"`{own.target.name}` is read by `{e.target.name}` otherwise than as a factor of a sum", e
        )
    return changed


def _all_terms(program: Program, e: Equation, sums: Reduce, read: Read, own: Equation) -> Reduce:
    at = {v: i for v, i in zip(own.indices, read.indices) if isinstance(v, Var)}
    assert own.where is not None
    wanted = [substitute(c, at) for c in conjuncts(own.where)]
    left = [] if sums.where is None else conjuncts(sums.where)
    for c in wanted:
        known = next((k for k in left if _alike(k, c)), None)
        if known is None:
            raise _refused(
                f"the sum of `{e.target.name}` is not under the condition of `{own.target.name}`", e
            )
        left.remove(known)
    new = replace(sums, where=conjunction(*left) if left else None)
    axes = (*e.axes, *sums.axes)
    for other in walk(sums.body):
        if (
            isinstance(other, Read)
            and other.guard is None
            and not _exists(other, axes, [*program.requires, *left])
        ):
            raise _refused(
                f"terms that the sum of `{e.target.name}` would have more read `{other.tensor.name}` outside",
                e,
            )
    return new


def _exists(read: Read, axes: Sequence[Axis], facts: Sequence[Expr]) -> bool:
    return all(
        always(c, axes, facts)
        for i, n in zip(read.indices, read.tensor.shape)
        for c in (compare("<=", index(0), i), compare("<", i, n))
    )


def _alike(a: Expr, b: Expr) -> bool:
    """True if two conditions are the same, however their sums are written."""
    match a, b:
        case Compare(p, l, r), Compare(q, m, s) if p == q:
            apart = linear(sub(sub(l, r), sub(m, s)))
            return not apart.terms and not apart.constant
    return equal(a, b)


def _factors(term: Expr, tensor: Tensor) -> Iterator[Read]:
    """Reads of a tensor that a term is 0 with. Depth is that of the product."""
    match term:
        case Mul(lhs, rhs):
            yield from _factors(lhs, tensor)
            yield from _factors(rhs, tensor)
        case Cast(operand) if term.dtype.is_float and operand.dtype.is_float:
            yield from _factors(operand, tensor)
        case Read(t) if t is tensor:
            yield term
