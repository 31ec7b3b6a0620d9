"""`factor_out`: sums of products that are products of sums, the certificate derives the given
ones, and says so.
"""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest

import texpr as tx
from texpr.ir.build import compare
from texpr.ir.expr import Mul, Node, Read, Reduce, index
from texpr.ir.interpreter.loop import interpret_kernel
from texpr.ir.tensor import Equation, Program
from texpr.ir.traverse import rewrite
from texpr.passes.lowering.lower import loops_of
from texpr.poly.certificate import certify
from texpr.support.errors import ScheduleError

CHAIN = tx.op(
    "op chain(A: i32[I, J], B: i32[J, K], C: i32[K, L]) -> Y: i32[I, L] { Y[i, l] = sum(j, k: A[i, j] * B[j, "
    "k] * C[k, l]) }"
)
FLOATS = tx.op(
    "op chain(A: f32[I, J], B: f32[J, K], C: f32[K, L]) -> Y: f32[I, L] { Y[i, l] = sum(j, k: A[i, j] * B[j, "
    "k] * C[k, l]) }"
)
SIZES = {"I": 3, "J": 4, "K": 5, "L": 2}


def _numbers(*shape: int) -> np.ndarray:
    return np.random.default_rng(sum(shape)).integers(-(2**31), 2**31, shape).astype("i4")


def _same(op: tx.Op, s: tx.Schedule, arrays: list[np.ndarray], sizes: dict[str, int]) -> None:
    np.testing.assert_array_equal(interpret_kernel(s.kernel, arrays, sizes)[0], tx.interpret(op, *arrays))


@pytest.mark.parametrize("loop", ["j", "k"])
@pytest.mark.parametrize(
    "sizes",
    [SIZES, dict.fromkeys("IJKL", 1), SIZES | {"K": 0}, SIZES | {"J": 0}, SIZES | {"I": 0}, SIZES | {"L": 0}],
)
def test_integers_are_the_same_however_they_wrap(loop: str, sizes: dict[str, int]):
    s = tx.schedule(CHAIN).factor_out(loop)
    arrays = [_numbers(sizes[a], sizes[b]) for a, b in ("IJ", "JK", "KL")]
    _same(CHAIN, s, arrays, sizes)
    assert s.certificate().bit_exact


def test_sums_have_tensors_of_their_own(golden):
    s = tx.schedule(FLOATS, **SIZES).factor_out("k", reassoc=True)
    golden(str(s))
    found = s.certificate()
    assert found.rewrites["factor_out"] == ("Y",) and not found.bit_exact
    assert found.rounding == "factor_out: sum(a * b) = sum(a) * b in Y"


def test_one_after_the_other():
    op = tx.op(
        "op f(A: i32[I, J], B: i32[J, K], C: i32[K, M], D: i32[M, N]) -> Y: i32[I, N] {"
        " Y[i, n] = 1 + sum(j, k, m: A[i, j] * B[j, k] * C[k, m] * D[m, n]) }"
    )
    s = tx.schedule(op).factor_out("m").factor_out("Y.k")
    assert [t.name for t in s.kernel.temporaries if not t.name.endswith("acc")] == ["Y_sum", "Y_sum_"]
    _same(
        op,
        s,
        [_numbers(2, 3), _numbers(3, 4), _numbers(4, 5), _numbers(5, 2)],
        {"I": 2, "J": 3, "K": 4, "M": 5, "N": 2},
    )
    assert s.certificate().bit_exact


def test_several_indices_at_once():
    op = tx.op(
        "op f(A: i32[I, J, K], B: i32[J, K], c: i32[I], D: i32[I, L]) -> Y: i32[L] {"
        " Y[l] = sum(i, j, k: A[i, j, k] * c[i] * B[j, k] * D[i, l]) }"
    )
    s = tx.schedule(op).factor_out("j", "k")
    assert "let Y_sum: i32[I]" in str(s)
    _same(
        op,
        s,
        [_numbers(2, 3, 4), _numbers(3, 4), _numbers(2), _numbers(2, 3)],
        {"I": 2, "J": 3, "K": 4, "L": 3},
    )
    assert s.certificate().bit_exact


def test_a_factor_of_the_whole_sum_stays_in_the_equation():
    op = tx.op(
        "op f(a: i32[I], A: i32[I, K], x: i32[K]) -> Y: i32[I] { Y[i] = sum(k: a[i] * A[i, k] * x[k]) }"
    )
    s = tx.schedule(op).factor_out("k")
    assert "Y_sum" not in str(s) and "Y[i] = a[i] * Y_acc[i]" in str(s)
    _same(op, s, [_numbers(3), _numbers(3, 4), _numbers(4)], {"I": 3, "K": 4})
    assert s.certificate().bit_exact


@pytest.mark.parametrize(
    "text",
    [
        "sum(j, k where k <= j and j <= i: A[i, j] * B[j, k] * C[k, i])",  # a condition for each sum
        "sum(j in 1..N, k in 0..j: A[i, j] * B[j, k] * C[k, i])",  # a range that depends on an index outside
        "sum(j in 2..N, k in 1..N - 1: A[i, j] * B[j, k] * C[k - 1, i])",  # ranges that do not begin at 0
        "sum(j, k: A[i, j] * B[j, k + 1 | 0] * C[k, i] * B[k, j])",  # two factors of one tensor, one guarded
        "sum(j, k: 3 * A[i, j] * B[j, k])",  # a constant, a factor that is summed alone
        "if i < 2 then sum(j, k: A[i, j] * B[j, k] * C[k, i]) else 7",  # under a condition
    ],
)
def test_forms_of_sums(text: str):
    op = tx.op(f"op f(A: i32[N, N], B: i32[N, N], C: i32[N, N]) -> Y: i32[N] {{ Y[i] = {text} }}")
    for n in (0, 1, 2, 5):
        s = tx.schedule(op)
        s.factor_out(next(v for v in s.loops if v.name == "k"))
        _same(op, s, [_numbers(n, n) + d for d in range(3)], {"N": n})
        assert s.certificate().bit_exact


def test_needs_permissions():
    with pytest.raises(ScheduleError) as e:
        tx.schedule(FLOATS).factor_out("k")
    assert "error[exact]: factor_out of `k` changes the order of a float sum" in str(e.value)
    assert 'help: factor_out("k", reassoc=True) permits it' in str(e.value)
    with pytest.raises(ScheduleError) as e:
        tx.schedule(FLOATS).factor_out("k", reassoc=True)
    assert "error[exact]: the sum over `k` may have no terms, and 0 times infinity is NaN" in str(e.value)
    assert 'help: factor_out("k", reassoc=True, finite=True) permits it' in str(e.value)
    s = tx.schedule(FLOATS).factor_out("k", reassoc=True, finite=True)
    got = interpret_kernel(
        s.kernel,
        [np.full((1, 1), np.inf, "f4"), np.ones((1, 0), "f4"), np.ones((0, 1), "f4")],
        {"I": 1, "J": 1, "K": 0, "L": 1},
    )[0]
    assert np.isnan(got).all()  # the sum as it is written is 0


@pytest.mark.parametrize(
    ("text", "loops", "message"),
    [
        ("sum(j, k: A[i, j] * B[j, k])", ("j", "k"), "all factors of the sum depend on `j`, `k`"),
        ("sum(j, k in 0..N: A[i, j] * B[j, i])", ("k",), "no factor of the sum depends on `k`"),
        ("sum(j, k: A[i, j] + B[j, k])", ("k",), "`k` is no loop over terms of a sum of products"),
        ("max(j, k: A[i, j] * B[j, k])", ("k",), "`k` is no loop over terms of a sum of products"),
        ("sum(j, k: A[i, j] * B[j, k])", ("i",), "`i` is no loop over terms of a sum of products"),
        ("sum(k, j in 0..k: A[i, j] * B[i, k])", ("k",), "the range of `j` depends on `k`"),
        ("sum(j, k where A[j, k] > 0: A[i, j] * B[j, k])", ("k",), "the sum over `k` has conditions on data"),
        (
            "sum(j: A[i, j] * B[j, i]) + sum(k: A[i, k] * B[i, i])",
            ("j", "k"),
            "`k` and `j` are not over terms of one sum",
        ),
        ("sum(j, k: A[i, j] * B[j, k])", (), "factor_out needs a loop over terms"),
    ],
)
def test_refusals(text: str, loops: tuple[str, ...], message: str):
    op = tx.op(f"op f(A: i32[N, N], B: i32[N, N]) -> Y: i32[N] {{ Y[i] = {text} }}")
    s = tx.schedule(op)
    with pytest.raises(ScheduleError) as e:
        s.factor_out(*(next(v for v in s.loops if v.name == loop) for loop in loops))
    assert message in str(e.value) and e.value.help


def test_other_steps_come_later():
    with pytest.raises(
        ScheduleError, match="factor_out rewrites the equations, before their loops are changed"
    ):
        tx.schedule(CHAIN).split("i", 4).factor_out("k")
    with pytest.raises(ScheduleError, match="`reassoc` is True or False, not 1"):
        tx.schedule(CHAIN).factor_out("k", reassoc=1)  # type: ignore[arg-type]
    s = tx.schedule(CHAIN).factor_out("k").split("Y.l", 4).vectorize("Y.li").parallel("Y_sum.j")
    assert s.certificate().bit_exact
    assert tx.schedule(CHAIN).replay(s.script()).script() == s.script()


FAULTS = {
    "another range": lambda n: replace(n, axes=(replace(n.axes[0], hi=index(4)),)),
    "a condition": lambda n: replace(n, where=compare(">=", n.axes[0].var, index(1))),
    "another factor": lambda n: replace(n, body=Mul(n.body.lhs, n.body.lhs)),
    "a factor more": lambda n: replace(n, body=Mul(n.body, n.body.rhs)),
    "no sum": lambda n: replace(n, op="prod"),
}


@pytest.mark.parametrize("fault", FAULTS)
def test_certificate_refuses_other_sums(fault: str):
    kernel, said = (
        tx.schedule(CHAIN, **SIZES).factor_out("k").kernel,
        tx.schedule(CHAIN, **SIZES).naive.program,
    )

    def rule(n: Node) -> Node | None:
        return FAULTS[fault](n) if isinstance(n, Reduce) and n.axes[0].var.name == "k" else None

    assert kernel.program is not None and said is not None
    certify(_with(kernel, kernel.program), said)
    with pytest.raises(ScheduleError, match="not proven"):
        certify(_with(kernel, rewrite(kernel.program, rule)), said)


def test_certificate_refuses_sums_of_other_elements():
    kernel, said = (
        tx.schedule(CHAIN, I=4, J=4, K=4, L=4).factor_out("k").kernel,
        tx.schedule(CHAIN, I=4, J=4, K=4, L=4).naive.program,
    )

    def turned(n: Node) -> Node | None:
        return (
            replace(n, indices=n.indices[::-1]) if isinstance(n, Read) and n.tensor.name == "Y_sum" else None
        )

    assert kernel.program is not None and said is not None
    with pytest.raises(ScheduleError, match="not proven"):
        certify(_with(kernel, rewrite(kernel.program, turned)), said)


def test_certificate_refuses_sums_that_are_defined_twice():
    kernel, said = (
        tx.schedule(CHAIN, **SIZES).factor_out("k").kernel,
        tx.schedule(CHAIN, **SIZES).naive.program,
    )
    assert kernel.program is not None and said is not None
    one = next(e for e in kernel.program.equations if isinstance(e, Equation) and e.target.name == "Y_sum")
    half = replace(one, where=compare("<", one.axes[0].var, index(2)))
    rest = replace(one, where=compare(">=", one.axes[0].var, index(2)))
    others = tuple(e for e in kernel.program.equations if e is not one)
    with pytest.raises(ScheduleError, match="not proven"):
        certify(_with(kernel, replace(kernel.program, equations=(half, rest, *others))), said)


def _with(kernel, program: Program):
    return replace(loops_of(program), program=program)
