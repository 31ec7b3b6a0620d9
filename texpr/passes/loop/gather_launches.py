"""Nests that one block of threads runs in order become one launch on a GPU."""

from __future__ import annotations

from texpr.ir.build import integer, product
from texpr.ir.expr import Read, Tensor, Var, index
from texpr.ir.loop import Alloc, ExternCall, For, Kernel, Stmt, Store, is_block
from texpr.ir.loop_kind import Block
from texpr.ir.traverse import statements, walk
from texpr.support.frozen_dataclass import replace

SMALL = 4096
"""Bytes of a temporary that one block keeps to itself."""


def gather_launches(kernel: Kernel) -> Kernel:
    """s = 0;  for j thread.x: p[j] = f;  for j: s += p[j]   ->   for once in 0..1 block.x: { let p; s = 0; for j ...; for j ... }

    Neighbouring nests without loops over blocks. Temporaries that only they use live in their
    launch if they are small or registers.
    """
    body: list[Stmt] = []
    group: list[Stmt] = []
    gone: set[Tensor] = set()

    def finish() -> None:
        if len(group) > 1:
            own = _own(kernel, group)
            gone.update(own)
            body.append(For(Var("once"), index(1), (*map(Alloc, own), *group), Block("x")))
        else:
            body.extend(group)
        group.clear()

    for s in kernel.body:
        if isinstance(s, ExternCall) or any(map(is_block, statements(s))):
            finish()
            body.append(s)
        else:
            group.append(s)
    finish()
    if len(body) == len(kernel.body):
        return kernel
    return replace(
        kernel, body=tuple(body), temporaries=tuple(t for t in kernel.temporaries if t not in gone)
    )


def _own(kernel: Kernel, group: list[Stmt]) -> list[Tensor]:
    outside = {
        n.tensor
        for s in kernel.body
        if not any(s is g for g in group)
        for n in walk(s)
        if isinstance(n, Read | Store)
    }
    inside = {n.tensor for n in walk(*group) if isinstance(n, Read | Store)}
    return [
        t
        for t in kernel.temporaries
        if t in inside and t not in outside and (t.scope in ("register", "shared") or _is_small(t))
    ]


def _is_small(t: Tensor) -> bool:
    count = integer(product(t.shape))
    return count is not None and count * t.dtype.bytes <= SMALL
