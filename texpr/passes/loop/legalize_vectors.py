"""Vector loops are cut to the width of the machine's registers."""

from __future__ import annotations

from texpr.ir.build import add, integer
from texpr.ir.expr import Add, Expr, Max, Min, Mul, Node, Read, Var, index
from texpr.ir.loop import For, If, Kernel, Prefetch, Stmt, Store
from texpr.ir.loop_kind import VECTOR
from texpr.ir.traverse import is_plain, rewrite, variables, walk
from texpr.passes.analysis.substitution import folded, folded_anew
from texpr.support.frozen_dataclass import replace

COMBINED = {"add": Add, "mul": Mul, "max": Max, "min": Min}


def chunk_vectors(kernel: Kernel, vector_bytes: int) -> Kernel:
    """for v in 0..44 vector: S   ->   16 lanes S[v := 0 + w]; 16 lanes S[v := 16 + w]; 8 lanes ...; 4 lanes ...

    A register holds `vector_bytes` of the widest element in S; what is left runs in powers of two,
    which every machine has. Code generators treat vectors of other lengths badly: LLVM pads 48
    lanes to 64.
    """

    def rule(node: Node) -> Node | None:
        if not isinstance(node, For | If | Kernel):
            return None
        body: list[Stmt] = []
        for s in node.body:
            body += _chunks(s, vector_bytes) if isinstance(s, For) and s.kind == VECTOR else (s,)
        return (
            None
            if len(body) == len(node.body) and all(a is b for a, b in zip(body, node.body))
            else replace(node, body=tuple(body))
        )

    return rewrite(kernel, rule, keep=is_plain)  # type: ignore[return-value]


def _chunks(loop: For, vector_bytes: int) -> list[Stmt]:
    extent = integer(loop.extent)
    assert extent is not None, "a vector loop has a constant extent"
    widest = max((n.tensor.dtype.bytes for n in walk(loop) if isinstance(n, Read | Store)), default=4)
    lanes = max(1, vector_bytes // widest)
    joined = _joined(loop, lanes, extent)
    if joined is not None:
        return [joined]
    chunks: list[Stmt] = []
    at = 0
    while at < extent:
        width = min(lanes, 1 << (extent - at).bit_length() - 1)
        chunks += _chunk(loop, at, width, extent)
        at += width
    return chunks


def _joined(loop: For, lanes: int, extent: int) -> For | None:
    """for v in 0..32 vector: s += f(v)   ->   16 lanes s += f(0 + w) + f(16 + w): whole registers are added before lanes are.

    Sums whose order was given up, at least 32 bits wide: narrower ones are rounded less often than
    their terms.
    """
    match loop.body:
        case (Store(tensor, indices, value, update) as s,) if (
            update in COMBINED and extent % lanes == 0 and extent > lanes
        ):
            free = s.reassoc or update in ("max", "min") or tensor.dtype.is_int
            if not free or loop.var in variables(*indices) or tensor.dtype.bits < 32:
                return None
            var = Var(loop.var.name)
            parts: list[Expr] = [
                folded(value, {loop.var: add(var, index(at))}) for at in range(0, extent, lanes)
            ]
            while len(parts) > 1:
                parts = [COMBINED[update](*pair) for pair in zip(parts[::2], parts[1::2])] + parts[
                    len(parts) & ~1 :
                ]
            return replace(loop, var=var, extent=index(lanes), body=(replace(s, value=parts[0]),))
    return None


def _chunk(loop: For, at: int, width: int, extent: int) -> list[Stmt]:
    """Lanes from `at` on. What is asked for early and is the same for all lanes is asked for
    once. A single lane is no loop.
    """
    if width == extent > 1:
        return [loop]
    own = [s for s in loop.body if not at or not isinstance(s, Prefetch) or loop.var in variables(*s.indices)]
    if width == 1:
        return [folded_anew(s, {loop.var: index(at)}) for s in own]
    if not at:
        return [replace(loop, extent=index(width))]
    var = Var(loop.var.name)
    body = tuple(folded_anew(s, {loop.var: add(var, index(at))}) for s in own)
    return [replace(loop, var=var, extent=index(width), body=body)]
