"""Well-known operators built by hand as Programs, without the parser, and small helpers to build
more.
"""

from __future__ import annotations

from collections.abc import Sequence

from texpr.ir.build import add, floordiv, sub
from texpr.ir.dtypes import BOOL, F32, I32, I64, DType
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
    Guard,
    Max,
    Mul,
    Read,
    Reduce,
    Select,
    Sub,
    Tensor,
    Var,
    index,
    plain,
)
from texpr.ir.tensor import Equation, Program


def axis(var: Var, hi: Expr | int, lo: Expr | int = 0) -> Axis:
    """The range `lo <= var < hi`."""
    return Axis(var, index(lo) if isinstance(lo, int) else lo, index(hi) if isinstance(hi, int) else hi)


def names(text: str) -> list[Var]:
    """Variables, one per word."""
    return [Var(name) for name in text.split()]


def number(value: float, dtype: DType = F32) -> Const:
    return Const(float(value) if dtype.is_float else value, dtype=dtype)


def reduction(op: str, axes: Sequence[Axis], body: Expr, where: Expr | None = None) -> Reduce:
    dtype = I64 if op.startswith("arg") else BOOL if op in ("any", "all") else body.dtype
    return Reduce(op, tuple(axes), body, where, dtype=dtype)


def matmul(dtype: DType = F32) -> Program:
    """C[i, j] = sum(k: A[i, k] * B[k, j])"""
    m, n, k, i, j, r = names("M N K i j k")
    a, b, c = (
        Tensor("A", dtype, plain(m, k)),
        Tensor("B", dtype, plain(k, n)),
        Tensor("C", dtype, plain(m, n)),
    )
    value = reduction("sum", [axis(r, k)], Mul(Read(a, (i, r)), Read(b, (r, j))))
    return Program("matmul", (a, b), (c,), (Equation(c, (i, j), (axis(i, m), axis(j, n)), value),), (m, k, n))


def conv2d(stride: int = 2, pad: int = 1) -> Program:
    """Y[n, k, y, x] = b[k] + sum(c, r, q: X[n, c, S*y + r - P, S*x + q - P | 0] * F[k, c, r, q])"""
    n, c, h, w, k, r, q = sizes = names("N C H W K R Q")
    vn, vk, vy, vx, vc, vr, vq = names("n k y x c r q")
    source, f, b = (
        Tensor("X", F32, plain(n, c, h, w)),
        Tensor("F", F32, plain(k, c, r, q)),
        Tensor("b", F32, plain(k)),
    )
    out = [
        add(floordiv(sub(add(size, index(2 * pad)), window), index(stride)), index(1))
        for size, window in ((h, r), (w, q))
    ]
    y = Tensor("Y", F32, plain(n, k, *out))

    def at(o: Var, i: Var) -> Expr:
        return Sub(Add(Mul(o, index(stride)), i), index(pad))

    read = Read(source, (vn, vc, at(vy, vr), at(vx, vq)), Guard("value", number(0)))
    total = reduction("sum", [axis(vc, c), axis(vr, r), axis(vq, q)], Mul(read, Read(f, (vk, vc, vr, vq))))
    axes = (axis(vn, n), axis(vk, k), axis(vy, out[0]), axis(vx, out[1]))
    return Program(
        "conv2d",
        (source, f, b),
        (y,),
        (Equation(y, (vn, vk, vy, vx), axes, Add(Read(b, (vk,)), total)),),
        tuple(sizes),
    )


def softmax(dtype: DType = F32) -> Program:
    """Softmax over D of X: T[*A, D, *B]; `*A` has one dimension."""
    a, d, b = Var("A", pack=True), Var("D"), Var("B", pack=True)
    va, vj, vb, vk, vl = Var("a", pack=True), Var("j"), Var("b", pack=True), Var("k"), Var("l")
    pack_a, pack_b = Dim((a,), pack=True, length=1), Dim((b,), pack=True)
    x, y = (Tensor(name, dtype, (pack_a, Dim((d,)), pack_b)) for name in "XY")
    m, e = Tensor("m", dtype, (pack_a, pack_b)), Tensor("e", dtype, (pack_a, Dim((d,)), pack_b))
    outer, inner = (axis(va, a), axis(vb, b)), (axis(va, a), axis(vj, d), axis(vb, b))
    return Program(
        "softmax",
        (x,),
        (y,),
        (
            Equation(m, (va, vb), outer, reduction("max", [axis(vk, d)], Read(x, (va, vk, vb)))),
            Equation(e, (va, vj, vb), inner, Call("exp", (Sub(Read(x, (va, vj, vb)), Read(m, (va, vb))),))),
            Equation(
                y,
                (va, vj, vb),
                inner,
                Div(Read(e, (va, vj, vb)), reduction("sum", [axis(vl, d)], Read(e, (va, vl, vb)))),
            ),
        ),
        (a, d, b),
    )


def embed_grad(rows: int) -> Program:
    """dE[v, d] = 0; dE[idx[b], d] += G[b, d]"""
    b, d, vv, vd, wb, wd = names("B D v d b e")
    g, idx = Tensor("G", F32, plain(b, d)), Tensor("idx", I32, plain(b), value_range=(index(0), index(rows)))
    de = Tensor("dE", F32, plain(index(rows), d))
    return Program(
        "embed_grad",
        (g, idx),
        (de,),
        (
            Equation(de, (vv, vd), (axis(vv, rows), axis(vd, d)), number(0)),
            Equation(
                de,
                (Cast(Read(idx, (wb,)), dtype=I64), wd),
                (axis(wb, b), axis(wd, d)),
                Read(g, (wb, wd)),
                "add",
            ),
        ),
        (b, d),
    )


def cumsum(dtype: DType = F32) -> Program:
    """Y[t, *d] = Y[t-1, *d | 0] + X[t, *d]"""
    size, pack, t, d = Var("L"), Var("D", pack=True), Var("t"), Var("d", pack=True)
    x, y = (Tensor(name, dtype, (Dim((size,)), Dim((pack,), pack=True))) for name in "XY")
    before = Read(y, (Sub(t, index(1)), d), Guard("value", number(0, dtype)))
    return Program(
        "cumsum",
        (x,),
        (y,),
        (Equation(y, (t, d), (axis(t, size), axis(d, pack)), Add(before, Read(x, (t, d)))),),
        (size, pack),
    )


def flatten() -> Program:
    """Y[n, (c, h)] = X[n, c, h]"""
    n, c, h, i, j, k = names("N C H n c h")
    x, y = Tensor("X", F32, plain(n, c, h)), Tensor("Y", F32, (Dim((n,)), Dim((c, h))))
    return Program(
        "flatten",
        (x,),
        (y,),
        (Equation(y, (i, j, k), (axis(i, n), axis(j, c), axis(k, h)), Read(x, (i, j, k))),),
        (n, c, h),
    )


def relu_shift() -> Program:
    """Y[i] = if i > 0 then max(X[i-1], 0) else 0: the read outside is in the side not taken."""
    n, i = names("N i")
    x, y = Tensor("X", F32, plain(n)), Tensor("Y", F32, plain(n))
    value = Select(Compare(">", i, index(0)), Max(Read(x, (Sub(i, index(1)),)), number(0)), number(0))
    return Program("relu_shift", (x,), (y,), (Equation(y, (i,), (axis(i, n),), value),), (n,))
