"""`specialize`: a copy of nests for sizes of which something is known."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence

from texpr.ir.build import compare, conjunction, negation
from texpr.ir.expr import Expr, Node, Tensor, Var, index
from texpr.ir.loop import ExternCall, For, If, Kernel, Stmt
from texpr.ir.traverse import rewrite, tensors, walk
from texpr.passes.analysis.substitution import folded_anew, over_tensors, resized
from texpr.passes.loop.simplify_guards import drop_guards
from texpr.schedule.steps.loops.specialize_conditions import condition_on, in_words
from texpr.schedule.steps.registry import step
from texpr.schedule.structure.loops import find_loops, free_name, stores
from texpr.schedule.structure.tensors import unused_name
from texpr.support.errors import ScheduleError
from texpr.support.frozen_dataclass import replace

LARGEST = 1 << 40
_LOOP = re.compile(r"\w+(\.\w+)*")


@step(order_of_sums="kept")
def specialize(kernel: Kernel, /, *loops: str | Var, **sizes: int) -> Kernel:
    """Run a copy of the nests where something holds of the sizes. Always legal. Versioning
    elsewhere.

    for i in 0..N: S   -- specialize(N=64) -->   if N == 64: for i_N64 in 0..64: S[N := 64];   if not N == 64: for i in 0..N: S
    for i in 0..N: S   -- specialize("N % 16 == 0") -->   if N % 16 == 0: for i_Nx16 in 0..N: S;   if not ...: for i in 0..N: S

    The loops of the copy are named after what holds, so that both are scheduled on their own. Sizes
    with a value are constants there; steps on the copy know the other conditions: no condition is
    left where `split("i_Nx16", 16)` fills its tiles.

    Args:
        loops: one of each nest that is copied, all nests unless given; and conditions on sizes as
            text, which all must hold: comparisons of sums, differences, multiples, `//` and `%` by
            constants, joined by `and`, `or`, `not`.
        sizes: symbolic sizes and their values.
    Raises:
        ScheduleError: no such loop or size, a value that is no size, or text that is no condition.
    Example:
        op = tx.op("op plain(X: f32[N]) -> Y: f32[N] { Y[i] = X[i] + 1 }")
        s = tx.schedule(op)
        s.specialize("N % 16 == 0")
    Refused:
        tx.schedule(op).specialize("N % 16")
    Elsewhere: Halide `specialize`; TVM none; Exo `specialize`; MLIR `scf-for-loop-specialization`
    (a pass).
    """
    asked = [c for c in loops if isinstance(c, str) and not _LOOP.fullmatch(c)]
    values = _values(kernel, sizes, asked)
    chosen = [n.var for name in loops if name not in asked for n in find_loops(kernel, name)]
    nests = [s for s in kernel.body if not isinstance(s, ExternCall)]
    picked = [s for s in nests if not chosen or any(isinstance(n, For) and n.var in chosen for n in walk(s))]
    if not picked:
        raise ScheduleError("the kernel has no loops to copy", code="specialize")
    suffix = "_".join([*(f"{name}{value}" for name, value in sorted(sizes.items())), *map(in_words, asked)])
    equal_to = (compare("==", v, index(n)) for v, n in sorted(values.items(), key=lambda each: each[0].name))
    condition = conjunction(*equal_to, *(condition_on(c, {v.name: v for v in kernel.sizes}) for c in asked))
    own = _own_temporaries(kernel, picked, values, suffix)
    body: list[Stmt] = []
    for s in kernel.body:
        body += _versions(kernel, s, condition, values, suffix, own) if any(s is p for p in picked) else (s,)
    return drop_guards(replace(kernel, body=tuple(body), temporaries=(*kernel.temporaries, *own.values())))


def _values(kernel: Kernel, sizes: Mapping[str, int], asked: Sequence[str]) -> dict[Var, int]:
    if not sizes and not asked:
        raise ScheduleError(
            "specialize needs the value of a size, or a condition",
            code="specialize",
            help='specialize(N=64), specialize("N % 16 == 0")',
        )
    known = {v.name: v for v in kernel.sizes}
    for name, value in sizes.items():
        if name not in known:
            raise ScheduleError(
                f"`{name}` is no symbolic size of the kernel",
                code="specialize",
                help=f"its symbolic sizes: {', '.join(known) or 'none'}",
            )
        if not isinstance(value, int) or isinstance(value, bool) or not 0 <= value <= LARGEST:
            raise ScheduleError(f"{name}={value!r} is not a size from 0 to 2^40", code="specialize")
    return {known[name]: value for name, value in sizes.items()}


def _own_temporaries(
    kernel: Kernel, picked: Sequence[Stmt], values: Mapping[Var, int], suffix: str
) -> dict[Tensor, Tensor]:
    """Temporaries that only these nests use, with those of the copy."""
    elsewhere = tensors(*(s for s in kernel.body if all(s is not p for p in picked)))
    fixed: dict[Var, Expr] = {v: index(n) for v, n in values.items()}
    own: dict[Tensor, Tensor] = {}
    for t in dict.fromkeys(s.tensor for p in picked for s in stores(p)):
        if t in kernel.temporaries and t not in elsewhere:
            own[t] = replace(resized(t, fixed), name=unused_name(kernel, f"{t.name}_{suffix}"))
    return own


def _versions(
    kernel: Kernel,
    s: Stmt,
    condition: Expr,
    values: Mapping[Var, int],
    suffix: str,
    own: Mapping[Tensor, Tensor],
) -> tuple[Stmt, ...]:
    def renamed(node: Node) -> Node | None:
        return (
            copies.get(node)
            if isinstance(node, Var)
            else replace(node, var=copies[node.var])
            if isinstance(node, For)
            else None
        )

    special = over_tensors(folded_anew(s, {v: index(n) for v, n in values.items()}), own)
    copies = {
        n.var: replace(n.var, name=free_name(kernel, n.tensor, f"{n.var.name}_{suffix}"))
        for n in walk(special)
        if isinstance(n, For)
    }
    return If(condition, (rewrite(special, renamed),)), If(negation(condition), (s,))
