"""`inline`: a tensor is computed where it is read, and not stored at all."""

from __future__ import annotations

from collections.abc import Sequence

from texpr import poly
from texpr.ir.affine import Linear, linear
from texpr.ir.build import add, compare, conjunction, floordiv, integer, mod, select, sub
from texpr.ir.expr import Expr, Node, Read, Tensor, Var, index
from texpr.ir.loop import For, If, Kernel, Stmt, Store
from texpr.ir.traverse import children, mentions, postorder, rewrite, users
from texpr.schedule.legality.independence import check_changed
from texpr.schedule.steps.placement.producer import (
    Production,
    check_pure,
    find_production,
    find_tensor,
    linear_index,
    readers,
    replaced,
)
from texpr.schedule.steps.registry import step
from texpr.schedule.structure.indices import put, tidy
from texpr.schedule.structure.loops import stores, text_of
from texpr.support.errors import ResourceError, ScheduleError
from texpr.support.frozen_dataclass import frozen, replace

MOST_OPERATIONS = 4096


@frozen
class _Rule:
    """One equation of the tensor: the loops and conditions around its store, which fixes `loops`
    by the indices.
    """

    loops: tuple[For, ...]
    conditions: tuple[Expr, ...]
    store: Store


@step()
def inline(kernel: Kernel, tensor: str) -> Kernel:
    """Put the value of `tensor` in the place of every read of it. compute_inline, forward
    substitution elsewhere.

    for i: T[i] = f(i);  for i: Y[i] = T[i] + T[i+1]   ->   for i: Y[i] = f(i) + f(i+1)

    Each read computes the value anew, so it costs time where one is read often. A tensor of several
    equations becomes a choice between their values. An output is still stored. Legal if the tensor
    is computed from its indices alone, one value per element, and nothing overwrites what that
    reads before the last use.

    Raises:
        ScheduleError: it is a reduction or computed from itself, it is updated, or what it reads
            changes before it is used.
        ResourceError: a value would have more than 4,096 operations.
    Source: Ragan-Kelley et al., Halide: A Language and Compiler for Optimizing Parallelism,
    Locality, and Recomputation, PLDI 2013.
    Example:
        op = tx.op('''op smooth(X: f32[N]) -> Y: f32[N] {
          h[i] = 2 * X[i]
          Y[i] = h[i] + h[i + 1 | 0]
        }''')
        s = tx.schedule(op)
        s.inline("h")
    Refused:
        op = tx.op('''op running(X: f32[N]) -> Y: f32[N] {
          h[i] = h[i - 1 | 0] + X[i] for i in 0..N
          Y[i] = 2 * h[i]
        }''')
        tx.schedule(op).inline("h")
    Elsewhere: Halide `compute_inline`; TVM `compute_inline`; Exo `inline_assign`; MLIR
    `linalg-fuse-elementwise-ops` (a pass).
    """
    found = find_tensor(kernel, tensor, "inline")
    production = find_production(kernel, found, "inline")
    rules = _rules(kernel, production)
    uses = [(above, s) for above, s in readers(kernel, found) if s not in production.stores]
    if not uses:
        raise ScheduleError(
            f"nothing reads `{found.name}`", text_of(kernel, production.statements[0]), code="inline"
        )
    known = _same_iteration(kernel, production)

    def rule(node: Node) -> Node | None:
        match node:
            case Read(tensor=t, indices=indices) if t is found:
                return _value(kernel, rules, indices, known)
        return None

    kept = production.statements if found in kernel.outputs else ()

    def keep(node: Node) -> bool:
        return isinstance(node, Stmt) and not mentions(node, found) or any(node is s for s in kept)

    changed = {id(s): rewrite(s, rule, keep=keep) for s in users(kernel, found)}
    inlined = replace(kernel, body=tuple(changed.get(id(s), s) for s in kernel.body))
    if not kept:
        inlined = _without(inlined, found)
    _check_size(kernel, inlined, found)
    check_pure(kernel, production, "inline", inlined, len(known))
    check_changed(inlined, set(stores(inlined)) - set(stores(kernel)), "inline")
    return inlined


def _rules(kernel: Kernel, production: Production) -> list[_Rule]:
    """The equations of a tensor that is computed element by element."""
    tensor = production.tensor
    rules: list[_Rule] = []
    stack: list[tuple[Stmt, tuple[For, ...], tuple[Expr, ...]]] = [
        (s, production.loops, ()) for s in reversed(production.statements)
    ]
    while stack:
        node, loops, conditions = stack.pop()
        match node:
            case For():
                stack += [(s, (*loops, node), conditions) for s in reversed(node.body)]
            case If(cond, body):
                stack += [(s, loops, (*conditions, cond)) for s in reversed(body)]
            case Store(tensor=t) if t is not tensor and not node.is_start:
                raise ScheduleError(
                    f"`{tensor.name}` is computed from `{t.name}` right there",
                    text_of(kernel, node),
                    code="inline",
                    help=f'inline("{t.name}") first',
                )
            case Store() if node.is_start or node.update is not None:
                what = "is a reduction" if node.is_start else "is updated"
                raise ScheduleError(
                    f"`{tensor.name}` {what}, so it has no value that one read could compute",
                    text_of(kernel, node),
                    code="inline",
                    help=f'compute_at("{tensor.name}", loop) computes it where it is used',
                )
            case Store():
                rules.append(_Rule(loops, conditions, node))
    return rules


def _same_iteration(kernel: Kernel, production: Production) -> tuple[For, ...]:
    """The loops around the production whose iteration every use shares, if values never leave
    it.
    """
    around = production.loops
    return around if around and poly.flow_stays_within(kernel, production.tensor, around) else ()


def _value(kernel: Kernel, rules: Sequence[_Rule], indices: Sequence[Expr], known: tuple[For, ...]) -> Expr:
    """The value of the tensor at `indices`. Every element that is read was written, so the last
    rule needs no condition.
    """
    choices = [_solved(kernel, r, indices, known) for r in rules]
    condition, value = choices[-1]
    for condition, other in reversed(choices[:-1]):
        value = select(condition, other, value)
    return value


def _solved(
    kernel: Kernel, rule: _Rule, indices: Sequence[Expr], known: tuple[For, ...]
) -> tuple[Expr, Expr]:
    """The condition under which a rule computes the element at `indices`, and its value there."""
    fixed = {n.var for n in known}
    unknown = {n.var: n for n in rule.loops if n.var not in fixed}
    values: dict[Var, Expr] = {}
    conditions: list[Expr] = []
    later: list[tuple[Expr, Expr]] = []
    for at, here in zip(rule.store.indices, indices):
        found = _solve(at, here, unknown, values)
        later += [(at, here)] if found is None else []
        conditions += found or []
    missing = next((v for v in unknown if v not in values), None)
    if missing is not None:
        raise ScheduleError(
            f"the indices of `{rule.store.tensor.name}` do not tell the iteration of `{missing.name}`",
            text_of(kernel, rule.store),
            code="inline",
            help="inline it before its loops are split or moved",
        )
    conditions += [compare("==", here, put(at, values)) for at, here in later]
    for n in rule.loops:
        if n.var in values:
            conditions += [
                compare("<=", index(0), values[n.var]),
                compare("<", values[n.var], put(n.extent, values)),
            ]
    conditions += [put(c, values) for c in rule.conditions]
    return conjunction(*conditions), put(rule.store.value, values)


def _solve(at: Expr, wanted: Expr, unknown: dict[Var, For], values: dict[Var, Expr]) -> list[Expr] | None:
    """Find the loop variables for which the index `at` is `wanted`; what must hold for there to
    be any. None if they cannot be found.
    """
    split = linear_index(at, unknown)
    if split is None:
        return None
    terms, rest = split
    new = sorted(((v, c) for v, c in terms if v not in values), key=lambda t: -t[1])
    offset = rest.expr()
    for v, c in terms:
        if v in values:
            offset = add(offset, _times(values[v], c))
    left = tidy(sub(wanted, offset))
    if not new:
        return [compare("==", wanted, offset)]
    if len(new) == 1 and new[0][1] == -1:
        values[new[0][0]] = tidy(sub(offset, wanted))
        return []
    radix = all(
        outer == inner * (integer(unknown[v].extent) or 0) for (_, outer), (v, inner) in zip(new, new[1:])
    )
    if not radix or new[0][1] < 0:
        return None
    for k, (v, c) in enumerate(new):
        whole = floordiv(left, index(c))
        extent = unknown[v].extent
        values[v] = whole if k == 0 else mod(whole, extent)
    smallest = new[-1][1]
    return [compare("==", mod(left, index(smallest)), index(0))] if smallest > 1 else []


def _times(e: Expr, c: int) -> Expr:
    form = linear(e)
    return Linear(tuple((t, k * c) for t, k in form.terms), form.constant * c).expr()


def _without(kernel: Kernel, gone: Tensor) -> Kernel:
    production = find_production(kernel, gone, "inline")
    new = {id(s): () for s in production.statements}
    after = replaced(kernel, production.above, production.statements, new)
    return replace(after, temporaries=tuple(t for t in kernel.temporaries if t is not gone))


def _check_size(before: Kernel, after: Kernel, tensor: Tensor) -> None:
    same = set(map(id, before.body))
    old = {s for top in users(before, tensor) for s in stores(top)}
    for s in (s for top in after.body if id(top) not in same for s in stores(top)):
        if s in old:
            continue
        sizes: dict[int, int] = {}
        for node in postorder(s.value):
            sizes[id(node)] = 1 + sum(sizes[id(c)] for c in children(node))
        total = sizes[id(s.value)]
        if total > MOST_OPERATIONS:
            raise ResourceError(
                f"inline of `{tensor.name}` would make a value of `{s.tensor.name}` of {total} operations; "
                f"the limit is "
                f"{MOST_OPERATIONS}",
                code="inline",
                help="compute_at keeps what is used often",
            )
