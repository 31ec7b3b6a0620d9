"""Gradients of small programs, each with one construct of the language."""

from __future__ import annotations

import numpy as np
import pytest

from tests.autodiff.checking import check_gradient
from tests.autodiff.writing import (
    Value,
    array,
    axes,
    call,
    equation,
    iff,
    invoke,
    maximum,
    names,
    or_value,
    program,
    reduce,
    to,
)
from texpr.autodiff import grad, register_vjp, vjp
from texpr.autodiff.core.custom import _GRADIENTS
from texpr.ir.dtypes import F16, F32, F64, I64
from texpr.ir.expr import Guard
from texpr.ir.interpreter.tensor import interpret
from texpr.ir.tensor import Equation, Program
from texpr.ir.traverse import walk
from texpr.support.errors import CheckError


def normal(*shape: int) -> np.ndarray:
    return np.random.default_rng(sum(shape)).normal(size=shape)


def one_dimensional(value, size=lambda n: n, extra=()) -> Program:
    """Y[i] = value(X, i, N) for i in 0..size(N)."""
    N, i = names("N i")
    X, Y = array("X", N), array("Y", size(N))
    return program("f", [X, *extra], [Y], [equation(Y, (i,), axes(i, size(N)), value(X, i, N))], [N])


READS = {
    "shift": lambda X, i, N: X[i - 1, or_value(0)],
    "both sides": lambda X, i, N: X[i - 1, or_value(0)] * X[i] - X[i + 1, or_value(2)],
    "outside is inside": lambda X, i, N: X[i + 2, Guard("value", X[i].expr)],
    "outside is computed": lambda X, i, N: X[i - 2, Guard("value", (X[i] * X[i]).expr)],
    "clamp": lambda X, i, N: X[i + 2, Guard("clamp")] * X[i],
    "wrap": lambda X, i, N: X[i - 1, Guard("wrap")] * X[i],
    "reflect": lambda X, i, N: X[i - 1, Guard("reflect")] * X[i],
    "reverse": lambda X, i, N: X[N - i - 1] * X[i],
    "one element": lambda X, i, N: X[i] * X[Value(N.expr) - 1],
    "halved": lambda X, i, N: X[i // 2] * X[i],
    "triangle": lambda X, i, N: _prefix(X, i),
    "where": lambda X, i, N: _others(X, i, N),
    "lazy": lambda X, i, N: iff(i > 0, X[i - 1] * X[i], X[i]),
    "index as value": lambda X, i, N: X[i] * to(F64, i),
}


def _prefix(X, i):
    (j,) = names("j")
    return reduce("sum", axes(j, i + 1), X[j] * X[i])


def _others(X, i, N):
    (j,) = names("j")
    return reduce("sum", axes(j, N), X[j] * X[j], where=j.ne(i))


@pytest.mark.parametrize("name", READS)
def test_read(name: str):
    check_gradient(one_dimensional(READS[name]), normal(6))


WINDOWS = {
    "strided": (lambda X, i, r, s: X[i * s + r] * to(F64, r), 3, lambda n, s: (n - 3) // s + 1),
    "four strided": (lambda X, i, r, s: X[i * s + r] * to(F64, r), 4, lambda n, s: (n - 4) // s + 1),
    "dilated": (lambda X, i, r, s: X[i + r * s] * to(F64, r), 3, lambda n, s: n - 2 * s),
    "both": (lambda X, i, r, s: X[i * s + r * 2] * X[r], 3, lambda n, s: (n - 5) // s + 1),
    "backwards": (lambda X, i, r, s: X[i * s + 2 - r] * X[i], 3, lambda n, s: (n - 3) // s + 1),
    "two in one": (lambda X, i, r, s: X[i // s + r] * X[i], 2, lambda n, s: n - 1),
    "around": (lambda X, i, r, s: X[i % s] * X[r], 2, lambda n, s: n),
}


@pytest.mark.parametrize("stride", [2, 3])
@pytest.mark.parametrize("name", WINDOWS)
def test_window(name: str, stride: int):
    (r,) = names("r")
    read, length, size = WINDOWS[name]
    p = one_dimensional(
        lambda X, i, N: reduce("sum", axes(r, length), read(X, i, r, stride)), lambda n: size(n, stride)
    )
    gradient = check_gradient(p, normal(11))
    assert all(e.update is None for e in gradient.equations)  # type: ignore[union-attr]


def test_diagonal_and_skew():
    N, i, j = names("N i j")
    X, Y, Z = array("X", N, N), array("Y", N), array("Z", N, N)
    p = program(
        "diagonal",
        [X],
        [Y, Z],
        [
            equation(Y, (i,), axes(i, N), X[i, i] * X[i, 0]),
            equation(Z, (i, j), axes(i, N, j, N), X[i + j, i, or_value(0)] * X[2, j]),
        ],
        [N],
    )
    check_gradient(p, normal(4, 4))


def test_outputs_read_by_equations_and_given_cotangents():
    N, i, j = names("N i j")
    X, s, Y = array("X", N), array("s"), array("Y", N)
    p = program(
        "normalised",
        [X],
        [s, Y],
        [
            equation(s, (), (), reduce("sum", axes(j, N), X[j] * X[j])),
            equation(Y, (i,), axes(i, N), X[i] / s[()]),
        ],
        [N],
    )
    check_gradient(p, normal(4))


def test_only_some_outputs_have_cotangents():
    N, i = names("N i")
    X, Y, Z = array("X", N), array("Y", N), array("Z", N)
    p = program(
        "two",
        [X],
        [Y, Z],
        [equation(Y, (i,), axes(i, N), X[i] * 2), equation(Z, (i,), axes(i, N), X[i] * X[i])],
        [N],
    )
    only = grad(p, outputs=["Z"])
    assert [t.name for t in only.inputs] == ["X", "dZ"]
    assert interpret(only, [np.array([3.0]), np.array([1.0])])[0].tolist() == [6]


def test_maximum_of_a_computed_body():
    N, M, i, j, k = names("N M i j k")
    X, W, Y = array("X", N, M), array("W", M), array("Y", N)
    check_gradient(
        program(
            "f",
            [X, W],
            [Y],
            [
                equation(
                    Y,
                    (i,),
                    axes(i, N),
                    call("tanh", reduce("max", axes(j, M), X[i, j] * W[j]))
                    + reduce("min", axes(k, M), X[i, k]),
                )
            ],
            [N, M],
        ),
        normal(3, 5),
        normal(5),
    )


def test_nested_reductions():
    N, M, K, i, j, k = names("N M K i j k")
    A, B, y = array("A", N, K), array("B", K, M), array("y", N)
    inner = reduce("sum", axes(k, K), A[i, k] * B[k, j])
    p = program(
        "f", [A, B], [y], [equation(y, (i,), axes(i, N), reduce("sum", axes(j, M), inner * inner))], [N, M, K]
    )
    check_gradient(p, normal(3, 4), normal(4, 2))
    inner = reduce("max", axes(k, K), A[i, k] * B[k, j])
    p = program(
        "f", [A, B], [y], [equation(y, (i,), axes(i, N), reduce("prod", axes(j, M), inner))], [N, M, K]
    )
    check_gradient(p, normal(3, 4), normal(4, 2))


def test_product_over_two_binders():
    N, M, i, j = names("N M i j")
    X, y = array("X", N, M), array("y")
    check_gradient(
        program("f", [X], [y], [equation(y, (), (), reduce("prod", axes(i, N, j, M), X[i, j]))], [N, M]),
        normal(2, 3),
    )


def test_first_maximum_gets_the_gradient():
    N, j = names("N j")
    X, y = array("X", N), array("y")
    p = program("f", [X], [y], [equation(y, (), (), reduce("max", axes(j, N), X[j]))], [N])
    assert interpret(grad(p), [np.array([1.0, 3.0, 3.0]), np.array(5.0)])[0].tolist() == [0, 5, 0]


def test_fold():
    N, V, i, v = names("N V i v")
    X, W, ids, T = array("X", N), array("W", V), array("ids", N, dtype=I64, value_range=(0, V)), array("T", V)
    p = program(
        "histogram",
        [X, W, ids],
        [T],
        [
            equation(T, (v,), axes(v, V), W[v] * 2),
            equation(T, (ids[i],), axes(i, N), X[i] * X[i] * W[ids[i]], update="add"),
        ],
        [N, V],
    )
    check_gradient(p, normal(5), normal(3), np.array([2, 0, 2, 2, 0]))


@pytest.mark.parametrize("mode", ["drop", "clamp", "wrap", "reflect"])
def test_fold_with_a_guard(mode: str):
    N, i = names("N i")
    X, T = array("X", N), array("T", N)
    check_gradient(
        program(
            "f",
            [X],
            [T],
            [
                equation(T, (i,), axes(i, N), X[i]),
                equation(T, (i - 1, Guard(mode)), axes(i, N), X[i] * X[i], update="add"),
            ],
            [N],
        ),
        normal(5),
    )


def test_piecewise_with_where():
    N, i = names("N i")
    X, Y = array("X", N), array("Y", N)
    check_gradient(
        program(
            "f",
            [X],
            [Y],
            [
                equation(Y, (i,), axes(i, N), X[i] * X[i], where=(i % 2).eq(0)),
                equation(Y, (i,), axes(i, N), X[i] * X[i - 1], where=(i % 2).eq(1)),
            ],
            [N],
        ),
        normal(5),
    )


def test_integers_and_unused_inputs_have_zero_gradients():
    N, i = names("N i")
    X, Z, k, Y = array("X", N), array("Z", N), array("k", N, dtype=I64), array("Y", N)
    p = program("f", [X, Z, k], [Y], [equation(Y, (i,), axes(i, N), X[i] * to(F64, k[i]))], [N])
    assert [t.name for t in grad(p).outputs] == ["dX", "dZ"]
    check_gradient(p, normal(3), normal(3), np.array([1, 2, 3]))


def test_half_precision_sums_in_single_precision():
    N, j = names("N j")
    b, Y = array("b", dtype=F16), array("Y", N, dtype=F16)
    p = program(
        "f", [b], [Y], [Equation(Y.tensor, (j.expr,), axes(j, N), to(F16, to(F32, b[()]) * 1.0).expr)], [N]
    )  # type: ignore[arg-type]
    ones = np.ones(4096, np.float16)
    assert interpret(grad(p), [np.float16(2), ones])[0] == 4096
    assert all(n.dtype == F32 for n in walk(grad(p)) if type(n).__name__ == "Reduce")


def test_calls():
    N, M, i, j = names("N M i j")
    A, B, P, Q = array("A", N), array("B", N), array("P", N), array("Q")
    callee = program(
        "pair",
        [A, B],
        [P, Q],
        [
            equation(P, (i,), axes(i, N), A[i] * B[i]),
            equation(Q, (), (), reduce("sum", axes(j, N), B[j] * B[j])),
        ],
        [N],
    )
    X, Z, p1, q1, p2, q2, y = (
        array("X", M),
        array("Z", M),
        array("p1", M),
        array("q1"),
        array("p2", M),
        array("q2"),
        array("y", M),
    )
    p = program(
        "f",
        [X, Z],
        [y],
        [
            invoke([p1, q1], callee, X, Z),
            invoke([p2, q2], callee, p1, p1),
            equation(y, (j,), axes(j, M), p1[j] * q2[()] + X[j]),
        ],
        [M],
    )
    check_gradient(p, normal(3), normal(3))


def test_lstm():
    T, B, H, t, n, j, k = names("T B H t n j k")
    X, W, h0, h, c = (
        array("X", T, B, 2, H),
        array("W", H, H),
        array("h0", B, H),
        array("h", T + 1, B, H),
        array("c", T + 1, B, H),
    )
    over = axes(t, T, n, B, j, H)
    g = array("g", T, B, H)
    p = program(
        "cell",
        [X, W, h0],
        [h, c],
        [
            equation(h, (0, n, j), axes(n, B, j, H), h0[n, j]),
            equation(c, (0, n, j), axes(n, B, j, H), 0),
            equation(g, (t, n, j), over, X[t, n, 0, j] + reduce("sum", axes(k, H), h[t, n, k] * W[j, k])),
            equation(
                c, (t + 1, n, j), over, call("sigmoid", g[t, n, j]) * c[t, n, j] + call("tanh", X[t, n, 1, j])
            ),
            equation(h, (t + 1, n, j), over, call("sigmoid", g[t, n, j]) * call("tanh", c[t + 1, n, j])),
        ],
        [T, B, H],
    )
    check_gradient(p, normal(3, 1, 2, 2), normal(2, 2), normal(1, 2))


def test_viterbi():
    L, S, t, s, q = names("L S t s q")
    A, E, V, y = array("A", S, S), array("E", L, S), array("V", L, S), array("y", S)
    p = program(
        "viterbi",
        [A, E],
        [y],
        [
            equation(V, (0, s), axes(s, S), E[0, s]),
            equation(
                V,
                (t + 1, s),
                axes(t, L - 1, s, S),
                reduce("max", axes(q, S), V[t, q] + A[q, s]) + E[t + 1, s],
            ),
            equation(y, (s,), axes(s, S), V[L - 1, s]),
        ],
        [L, S],
    )
    check_gradient(p, normal(3, 3), normal(4, 3))


def test_extern_needs_a_gradient():
    (N,) = names("N")
    X, Y, Z, i = array("X", N), array("Y", N), array("Z", N), names("i")[0]
    extern = program("fft", [X], [Y], [], [N])
    p = program("f", [X], [Z], [invoke([Y], extern, X), equation(Z, (i,), axes(i, N), Y[i] * 3)], [N])
    with pytest.raises(CheckError) as e:
        grad(p)
    assert (
        str(e.value)
        == """error[gradient]: `fft` is extern: its gradient has to be given
  help: register it with texpr.autodiff.register_vjp"""
    )


def test_a_gradient_by_hand():
    N, i = names("N i")
    X, Y, dY, dX = array("X", N), array("Y", N), array("dY", N), array("dX", N)
    by_hand = program("odd_grad", [X, dY], [dX], [equation(dX, (i,), axes(i, N), dY[i] * 7)], [N])
    p = program("odd", [X], [Y], [equation(Y, (i,), axes(i, N), X[i])], [N])
    register_vjp("odd", lambda program, wrt, outputs: by_hand)
    try:
        assert grad(p) is by_hand
    finally:
        del _GRADIENTS["odd"]


def test_a_gradient_by_hand_may_take_outputs():
    N, i, j = names("N i j")
    X, Y, dY, dX = array("X", N), array("Y", N), array("dY", N), array("dX", N)
    by_hand = program("quick_grad", [Y, dY], [dX], [equation(dX, (i,), axes(i, N), dY[i] * Y[i])], [N])
    p = program("quick", [X], [Y], [equation(Y, (i,), axes(i, N), call("exp", X[i]))], [N])
    Z = array("Z", N)
    caller = program("caller", [X], [Z], [invoke([Y], p, X), equation(Z, (j,), axes(j, N), Y[j] * Y[j])], [N])
    register_vjp("quick", lambda program, wrt, outputs: by_hand)
    try:
        check_gradient(p, normal(3))
        check_gradient(caller, normal(3))
        assert vjp(p).backward is by_hand
    finally:
        del _GRADIENTS["quick"]


def test_a_gradient_by_hand_with_a_wrong_input():
    N, i = names("N i")
    X, Y, Q, dX = array("X", N), array("Y", N), array("Q", N), array("dX", N)
    wrong = program("odd_grad", [Q], [dX], [equation(dX, (i,), axes(i, N), Q[i])], [N])
    p = program("odd", [X], [Y], [equation(Y, (i,), axes(i, N), X[i])], [N])
    register_vjp("odd", lambda program, wrt, outputs: wrong)
    try:
        with pytest.raises(CheckError) as e:
            grad(p)
    finally:
        del _GRADIENTS["odd"]
    assert (
        str(e.value)
        == """error[gradient]: the gradient of `odd` has an unknown input `Q`
  help: it may take X, Y, dY"""
    )


COMPLAINTS = {
    "no input": (
        dict(wrt=["Q"]),
        """error[gradient]: `f` has no input `Q`
  help: its inputs are X, k""",
    ),
    "integer input": (
        dict(wrt=["k"]),
        "error[gradient]: input `k` of `f` is i64: only floats have gradients",
    ),
    "no output": (
        dict(outputs=["Q"]),
        """error[gradient]: `f` has no output `Q`
  help: its outputs are Y, a""",
    ),
    "integer output": (
        dict(outputs=["a"]),
        "error[gradient]: output `a` of `f` is i64: only floats have gradients",
    ),
}


@pytest.mark.parametrize("name", COMPLAINTS)
def test_complaints(name: str):
    N, i, j = names("N i j")
    X, k, Y, a = array("X", N), array("k", N, dtype=I64), array("Y", N), array("a", dtype=I64)
    p = program(
        "f",
        [X, k],
        [Y, a],
        [
            equation(Y, (i,), axes(i, N), maximum(X[i], 0)),
            equation(a, (), (), reduce("argmax", axes(j, N), X[j])),
        ],
        [N],
    )
    arguments, text = COMPLAINTS[name]
    with pytest.raises(CheckError) as e:
        grad(p, **arguments)  # type: ignore[arg-type]
    assert str(e.value) == text
