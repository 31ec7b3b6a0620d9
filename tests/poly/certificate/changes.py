"""Small changes of loops, most of which are faults: each takes a number of the place and a step
of 1 or -1.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace

from texpr.ir.build import add, sub
from texpr.ir.dtypes import BOOL, I64
from texpr.ir.expr import (
    Add,
    And,
    Binary,
    Call,
    Compare,
    Const,
    Expr,
    FloorDiv,
    Max,
    Min,
    Mod,
    Mul,
    Neg,
    Node,
    Not,
    Or,
    Read,
    Select,
    Sub,
    Tensor,
    Var,
    index,
)
from texpr.ir.loop import Alloc, For, If, Kernel, Store
from texpr.ir.loop_kind import PARALLEL, SERIAL, VECTOR
from texpr.ir.store_kind import START, VALUE
from texpr.ir.traverse import rewrite, substitute, walk


def shifted_index(kernel: Kernel, number: int, by: int) -> Kernel:
    """One index of one access, off by one."""
    spots = [(n, k) for n in walk(kernel) if isinstance(n, Read | Store) for k in range(len(n.indices))]
    if not spots:
        return kernel
    node, k = spots[number % len(spots)]
    moved = tuple(add(i, index(by)) if p == k else i for p, i in enumerate(node.indices))
    return rewrite(kernel, lambda n: replace(n, indices=moved) if n is node else None)  # type: ignore[arg-type]


def changed_extent(kernel: Kernel, number: int, by: int) -> Kernel:
    """One loop, an iteration longer or shorter."""
    loops = [n for n in walk(kernel) if isinstance(n, For)]
    if not loops:
        return kernel
    chosen = loops[number % len(loops)].var
    return rewrite(
        kernel,
        lambda n: (
            replace(n, extent=add(n.extent, index(by))) if isinstance(n, For) and n.var is chosen else None
        ),
    )


def dropped_condition(kernel: Kernel, number: int, by: int) -> Kernel:
    """One condition that always holds now."""
    conditions = [n.cond for n in walk(kernel) if isinstance(n, If)]
    if not conditions:
        return kernel
    chosen = conditions[number % len(conditions)]
    true = Const(True, dtype=chosen.dtype)
    return rewrite(
        kernel, lambda n: replace(n, cond=true) if isinstance(n, If) and n.cond is chosen else None
    )


def marked(kernel: Kernel, number: int, by: int) -> Kernel:
    """One loop whose iterations run at once."""
    loops = [n for n in walk(kernel) if isinstance(n, For) and n.kind == SERIAL]
    if not loops:
        return kernel
    chosen = loops[number % len(loops)].var
    return rewrite(
        kernel, lambda n: replace(n, kind=PARALLEL) if isinstance(n, For) and n.var is chosen else None
    )


def lanes(kernel: Kernel, number: int, by: int) -> Kernel:
    """One loop whose iterations are lanes of a vector."""
    loops = [n for n in walk(kernel) if isinstance(n, For) and n.kind == SERIAL]
    if not loops:
        return kernel
    chosen = loops[number % len(loops)].var
    return rewrite(
        kernel, lambda n: replace(n, kind=VECTOR) if isinstance(n, For) and n.var is chosen else None
    )


def swapped(kernel: Kernel, number: int, by: int) -> Kernel:
    """Two neighbours in one body, in the other order."""
    bodies = [n for n in walk(kernel) if isinstance(n, For | If | Kernel) and len(n.body) > 1]
    spots = [(n.body, k) for n in bodies for k in range(len(n.body) - 1) if not isinstance(n.body[k], Alloc)]
    if not spots:
        return kernel
    body, k = spots[number % len(spots)]
    new = (*body[:k], body[k + 1], body[k], *body[k + 2 :])
    return rewrite(
        kernel,
        lambda n: replace(n, body=new) if isinstance(n, For | If | Kernel) and _same(n.body, body) else None,
    )


def removed(kernel: Kernel, number: int, by: int) -> Kernel:
    """One statement less."""
    bodies = [n for n in walk(kernel) if isinstance(n, For | If | Kernel)]
    spots = [(n.body, k) for n in bodies for k in range(len(n.body)) if isinstance(n.body[k], For | Store)]
    if not spots:
        return kernel
    body, k = spots[number % len(spots)]
    new = (*body[:k], *body[k + 1 :])
    return rewrite(
        kernel,
        lambda n: replace(n, body=new) if isinstance(n, For | If | Kernel) and _same(n.body, body) else None,
    )


def reversed_loop(kernel: Kernel, number: int, by: int) -> Kernel:
    """One loop that runs from its end."""
    loops = [n for n in walk(kernel) if isinstance(n, For)]
    if not loops:
        return kernel
    chosen = loops[number % len(loops)]
    there = Var(chosen.var.name)
    body = tuple(substitute(s, {chosen.var: sub(sub(chosen.extent, index(1)), there)}) for s in chosen.body)
    return rewrite(
        kernel,
        lambda n: replace(n, var=there, body=body) if isinstance(n, For) and n.var is chosen.var else None,
    )


def shifted_constant(kernel: Kernel, number: int, by: int) -> Kernel:
    """One number in an index or in a condition on indices, off by one."""
    hints = {id(n) for s in walk(kernel) if isinstance(s, Store) for n in walk(*s.at)}
    inside = [
        n
        for n in walk(kernel)
        if isinstance(n, Compare | Add | Sub | Min) and n.lhs.dtype == I64 and id(n) not in hints
    ]
    spots = [(n, name) for n in inside for name in ("lhs", "rhs") if isinstance(getattr(n, name), Const)]
    if not spots:
        return kernel
    node, name = spots[number % len(spots)]
    new = replace(node, **{name: index(getattr(node, name).value + by)})
    return rewrite(kernel, lambda n: new if n is node else None)


def _same(a: tuple[Node, ...], b: tuple[Node, ...]) -> bool:
    return len(a) == len(b) and all(x is y for x, y in zip(a, b))


def without(kernel: Kernel, number: int, by: int) -> Kernel:
    """One `reassoc`, start or place of an instance less, of what is no copy."""
    stores = [n for n in walk(kernel) if isinstance(n, Store) and n.equation >= 0]
    chosen = stores[number % len(stores)]
    new = (
        replace(chosen, reassoc=False)
        if chosen.reassoc
        else replace(chosen, at=chosen.at[:-1])
        if by > 0
        else replace(chosen, role=VALUE if chosen.is_start else START)
    )
    return rewrite(kernel, lambda n: new if n is chosen else None)  # type: ignore[arg-type]


def instance(kernel: Kernel, number: int, by: int) -> Kernel:
    """Another instance that a store says it is."""
    spots = [(n, k) for n in walk(kernel) if isinstance(n, Store) for k in range(len(n.at))]
    node, k = spots[number % len(spots)]
    at = tuple(Add(e, Const(by, dtype=e.dtype)) if p == k else e for p, e in enumerate(node.at))
    return rewrite(kernel, lambda n: replace(n, at=at) if n is node else None)  # type: ignore[arg-type]


def value(kernel: Kernel, number: int, by: int) -> Kernel:
    """Another operand, constant, comparison or choice."""
    roots = [e for s in walk(kernel) if isinstance(s, Store) for e in (s.value, *s.indices)]
    spots = [n for n in walk(*roots) if isinstance(n, Const | Compare | Select | Add | Sub)]
    if not spots:
        return kernel
    node = spots[number % len(spots)]
    return rewrite(kernel, lambda n: _other(n, by) if n is node else None)  # type: ignore[arg-type]


def _other(e: Node, by: int) -> Expr:
    match e:
        case Const(v):
            return replace(e, value=not v if e.dtype == BOOL else v + by)
        case Compare(op):
            return replace(e, op={"<": "<=", "<=": "<", ">": ">=", ">=": ">", "==": "!=", "!=": "=="}[op])
        case Select(_, then, orelse):
            return replace(e, then=orelse, orelse=then) if by > 0 else then
        case Add(a, b) | Sub(a, b):
            return a if by > 0 else b
    raise AssertionError("one of these")


def operation(kernel: Kernel, number: int, by: int) -> Kernel:
    """Another operation on the same operands, or the same on another tensor."""
    spots = [
        n
        for n in walk(kernel)
        if isinstance(n, Add | Mul | Max | Min | And | Or | Not | FloorDiv | Mod | Neg | Call | Read)
    ]
    if not spots:
        return kernel
    node = spots[number % len(spots)]
    return rewrite(kernel, lambda n: _operated(n, kernel, by) if n is node else None)  # type: ignore[arg-type]


def _operated(e: Node, kernel: Kernel, by: int) -> Expr:
    match e:
        case Neg(a) | Not(a):
            return a
        case Call(function, args) if len(args) == 1 and e.dtype.is_float:
            return replace(e, function="exp" if function != "exp" else "sqrt") if by > 0 else args[0]
        case Read(t, indices):
            all_tensors = (*kernel.inputs, *kernel.outputs, *_buffers(kernel))
            others = [u for u in all_tensors if (u.rank, u.dtype) == (t.rank, t.dtype) and u is not t]
            return (
                replace(e, tensor=others[by % len(others)]) if others else replace(e, indices=indices[::-1])
            )
        case (
            Add(a, b) | Mul(a, b) | Max(a, b) | Min(a, b) | And(a, b) | Or(a, b) | FloorDiv(a, b) | Mod(a, b)
        ):
            return OTHER[type(e)](a, b) if by > 0 else a
    return e  # type: ignore[return-value]


OTHER: dict[type, type[Binary]] = {
    Add: Sub,
    Mul: Add,
    Max: Min,
    Min: Max,
    And: Or,
    Or: And,
    FloorDiv: Mod,
    Mod: FloorDiv,
}


def _buffers(kernel: Kernel) -> list[Tensor]:
    return [*kernel.temporaries, *(n.tensor for n in walk(kernel) if isinstance(n, Alloc))]


def store(kernel: Kernel, number: int, by: int) -> Kernel:
    """A store of another kind, of another equation, to another tensor, or a copy of it right
    behind it.
    """
    stores = [n for n in walk(kernel) if isinstance(n, Store)]
    chosen, way = stores[number % len(stores)], number // len(stores) % 4
    others = [
        u
        for u in (*kernel.outputs, *_buffers(kernel))
        if u.rank == chosen.tensor.rank and u is not chosen.tensor
    ]
    match way:
        case 0:
            new = replace(
                chosen, update={None: "add", "add": "max" if by > 0 else None}.get(chosen.update, "add")
            )
        case 1:
            new = replace(chosen, equation=chosen.equation + by)
        case 2 if others:
            new = replace(chosen, tensor=others[by % len(others)])
        case _:
            return _twice(kernel, chosen)
    return rewrite(kernel, lambda n: new if n is chosen else None)  # type: ignore[arg-type]


def _twice(kernel: Kernel, chosen: Store) -> Kernel:
    def again(n: Node) -> Node | None:
        if not isinstance(n, For | If | Kernel) or not any(s is chosen for s in n.body):
            return None
        return replace(
            n, body=tuple(each for s in n.body for each in ((s, replace(chosen)) if s is chosen else (s,)))
        )

    return rewrite(kernel, again)  # type: ignore[arg-type]


def shared(kernel: Kernel, number: int, by: int) -> Kernel:
    """One buffer that all iterations of the loops around it have in common."""
    found = [n for n in walk(kernel) if isinstance(n, Alloc)]
    if not found:
        return kernel
    chosen = found[number % len(found)]
    rest = rewrite(
        kernel,
        lambda n: (
            replace(n, body=tuple(s for s in n.body if s is not chosen))
            if isinstance(n, For | If | Kernel) and any(s is chosen for s in n.body)
            else None
        ),
    )
    assert isinstance(rest, Kernel)
    return replace(rest, body=(chosen, *rest.body))


def smaller(kernel: Kernel, number: int, by: int) -> Kernel:
    """One buffer of which a dimension is an element shorter or longer."""
    found = [(t, k) for t in _buffers(kernel) for k in range(t.rank)]
    if not found:
        return kernel
    chosen, at = found[number % len(found)]
    new = replace(
        chosen,
        dims=tuple(
            replace(d, sizes=(add(chosen.shape[at], index(-by)),)) if k == at else d
            for k, d in enumerate(chosen.dims)
        ),
    )

    def exchanged(n: Node) -> Node | None:
        match n:
            case Store() | Read() | Alloc() if n.tensor is chosen:
                return replace(n, tensor=new)  # type: ignore[type-var]
            case Kernel() if chosen in n.temporaries:
                return replace(n, temporaries=tuple(new if t is chosen else t for t in n.temporaries))
        return None

    return rewrite(kernel, exchanged)  # type: ignore[arg-type]


Change = Callable[[Kernel, int, int], Kernel]
CHANGES: list[Change] = [
    shifted_index,
    shifted_constant,
    changed_extent,
    dropped_condition,
    marked,
    swapped,
    removed,
    reversed_loop,
    without,
    instance,
    value,
    operation,
    store,
    shared,
    smaller,
    lanes,
]
