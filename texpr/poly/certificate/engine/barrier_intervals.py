"""Threads that meet at barriers, as loops that run one after the other: what the order of values is traced in.

    for t thread: { A; barrier; B }   ->   for t: A;  for t: B
    for t thread: for k: { A; barrier; B; barrier }   ->   for k: { for t: A;  for t: B }

This order is one that the threads may take, and all that they may take give the same, if what stands between two barriers does not
meet: that is asked of the kernel as it is.
"""

from __future__ import annotations

from dataclasses import replace

from texpr.ir.expr import Node, Read, Var, plain
from texpr.ir.loop import Alloc, Barrier, For, If, Kernel, Stmt, Store
from texpr.ir.traverse import rewrite, substitute, variables, walk
from texpr.poly.certificate.engine.obligations import Refuted


def in_phases(kernel: Kernel) -> tuple[Kernel, dict[Store, Store]]:
    """The kernel with its thread loops cut at barriers, and which store each of its stores was.

    Raises:
        Refuted: some threads may not reach a barrier.
    """
    if not any(isinstance(n, Barrier) for n in walk(kernel)):
        return kernel, {}
    after = replace(kernel, body=tuple(s for top in kernel.body for s in _cut(top)))
    before = [n for n in walk(kernel) if isinstance(n, Store)]
    return after, dict(zip((n for n in walk(after) if isinstance(n, Store)), before))


def _meets(s: Stmt) -> bool:
    return any(isinstance(n, Barrier) for n in walk(s))


def _cut(s: Stmt) -> tuple[Stmt, ...]:
    """A statement without barriers inside thread loops. Depth is that of the loop nest."""
    if not isinstance(s, For | If) or not _meets(s):
        return (s,)
    body = tuple(n for b in s.body for n in _cut(b))
    if isinstance(s, For) and s.kind.startswith("thread"):
        return _spread(s, body)
    return (replace(s, body=body),)


def _spread(loop: For, body: tuple[Stmt, ...]) -> tuple[Stmt, ...]:
    """The loop around each part of a body that has no barrier."""
    result: list[Stmt] = []
    group: list[Stmt] = []
    for s in _kept_apart(loop, body, result):
        if not _meets(s):
            group.append(s)
            continue
        result += _around(loop, group)
        group = []
        if isinstance(s, Barrier):
            result.append(s)
            continue
        assert isinstance(s, For | If), "only they have a body"
        head = s.extent if isinstance(s, For) else s.cond
        if loop.var in variables(head) or any(isinstance(n, Read) for n in walk(head)):
            raise Refuted("races", f"not all iterations of {loop.var.name} reach the same barriers", None)
        result.append(replace(s, body=_spread(loop, s.body)))
    return (*result, *_around(loop, group))


def _around(loop: For, group: list[Stmt]) -> list[Stmt]:
    if not group:
        return []
    var = Var(loop.var.name)
    return [replace(loop, var=var, body=tuple(_fresh(substitute(s, {loop.var: var})) for s in group))]


def _fresh(s: Stmt) -> Stmt:
    """Statements of their own, so that each can be told from its copies."""
    return rewrite(s, lambda n: replace(n) if isinstance(n, Store) else None)


def _kept_apart(loop: For, body: tuple[Stmt, ...], result: list[Stmt]) -> tuple[Stmt, ...]:
    """The body with a place per thread in its buffers, which stand outside the loop then."""
    own = {s.tensor: replace(s.tensor, dims=plain(loop.extent, *s.tensor.shape)) for s in body if isinstance(s, Alloc)}
    result += [Alloc(t) for t in own.values()]

    def rule(node: Node) -> Node | None:
        match node:
            case Read(tensor, indices) | Store(tensor, indices) if tensor in own:
                return replace(node, tensor=own[tensor], indices=(loop.var, *indices))
        return None

    rest = [s for s in body if not isinstance(s, Alloc)]
    return tuple(rewrite(s, rule) for s in rest) if own else tuple(rest)


