"""`specialize`: a copy of nests for one value of a size."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace

from texpr.ir.build import compare, conjunction, negation
from texpr.ir.expr import Expr, Node, Read, Tensor, Var, index
from texpr.ir.loop import For, If, Kernel, Stmt, Store
from texpr.ir.traverse import rewrite, walk
from texpr.passes.guards import drop_guards
from texpr.passes.renew import folded, over_tensors, resized, with_fresh_variables
from texpr.schedule.loops import find_loops, free_name, stores
from texpr.schedule.tensors import unused_name
from texpr.support.errors import ScheduleError

LARGEST = 1 << 40


def specialize(kernel: Kernel, loops: Sequence[str | Var], sizes: Mapping[str, int]) -> Kernel:
    """Run a copy of the nests where sizes have certain values, which are constants there. Always legal. Versioning elsewhere.

    for i in 0..N: S   -- specialize(N=64) -->   if N == 64: for i_N64 in 0..64: S[N := 64];   if not N == 64: for i in 0..N: S

    The loops of the copy are named after the value (`i_N64`), so that both are scheduled on their own.

    Args:
        loops: one of each nest that is copied; all nests unless given.
        sizes: symbolic sizes and their values.
    Raises:
        ScheduleError: no such loop or size, or a value that is no size.
    """
    values = _values(kernel, sizes)
    chosen = [n.var for name in loops for n in find_loops(kernel, name)]
    picked = [s for s in kernel.body if not loops or any(isinstance(n, For) and n.var in chosen for n in walk(s))]
    if not picked:
        raise ScheduleError("the kernel has no loops to copy", code="specialize")
    own = _own_temporaries(kernel, picked, values, sizes)
    condition = conjunction(*(compare("==", v, index(n)) for v, n in sorted(values.items(), key=lambda each: each[0].name)))
    body: list[Stmt] = []
    for s in kernel.body:
        body += _versions(kernel, s, condition, values, sizes, own) if any(s is p for p in picked) else (s,)
    return drop_guards(replace(kernel, body=tuple(body), temporaries=(*kernel.temporaries, *own.values())))


def _values(kernel: Kernel, sizes: Mapping[str, int]) -> dict[Var, int]:
    if not sizes:
        raise ScheduleError("specialize needs the value of a size", code="specialize", help="specialize(N=64)")
    known = {v.name: v for v in kernel.sizes}
    for name, value in sizes.items():
        if name not in known:
            raise ScheduleError(f"`{name}` is no symbolic size of the kernel", code="specialize",
                                help=f"its symbolic sizes: {', '.join(known) or 'none'}")
        if not isinstance(value, int) or isinstance(value, bool) or not 0 <= value <= LARGEST:
            raise ScheduleError(f"{name}={value!r} is not a size from 0 to 2^40", code="specialize")
    return {known[name]: value for name, value in sizes.items()}


def _own_temporaries(kernel: Kernel, picked: Sequence[Stmt], values: Mapping[Var, int], sizes: Mapping[str, int]) -> dict[Tensor, Tensor]:
    """Temporaries that only these nests use, with those of the copy."""
    elsewhere = {n.tensor for s in kernel.body if all(s is not p for p in picked) for n in walk(s) if isinstance(n, Read | Store)}
    fixed: dict[Var, Expr] = {v: index(n) for v, n in values.items()}
    own: dict[Tensor, Tensor] = {}
    for t in dict.fromkeys(s.tensor for p in picked for s in stores(p)):
        if t in kernel.temporaries and t not in elsewhere:
            own[t] = replace(resized(t, fixed), name=unused_name(kernel, f"{t.name}_{_suffix(sizes)}"))
    return own


def _suffix(sizes: Mapping[str, int]) -> str:
    return "".join(f"{name}{value}" for name, value in sorted(sizes.items()))


def _versions(kernel: Kernel, s: Stmt, condition: Expr, values: Mapping[Var, int], sizes: Mapping[str, int],
              own: Mapping[Tensor, Tensor]) -> tuple[Stmt, ...]:
    def renamed(node: Node) -> Node | None:
        return copies.get(node) if isinstance(node, Var) else replace(node, var=copies[node.var]) if isinstance(node, For) else None

    special = over_tensors(with_fresh_variables(folded(s, {v: index(n) for v, n in values.items()})), own)
    copies = {n.var: replace(n.var, name=free_name(kernel, n.tensor, f"{n.var.name}_{_suffix(sizes)}"))
              for n in walk(special) if isinstance(n, For)}
    return If(condition, (rewrite(special, renamed),)), If(negation(condition), (s,))
