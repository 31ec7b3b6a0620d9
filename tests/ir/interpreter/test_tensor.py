"""The interpreter agrees with the formulas it stands for, and refuses what has no meaning."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from tests import programs
from tests.compare import assert_same_bits
from tests.programs import axis, names, number, reduction
from tests.strategies import LAYOUTS, laid_out
from texpr.ir.dtypes import BF16, F32, I64
from texpr.ir.expr import Add, Compare, Guard, Mul, Read, Select, Sub, Tensor, Var, index, plain
from texpr.ir.interpreter.tensor import interpret
from texpr.ir.tensor import Equation, Invoke, Program
from texpr.ir.verifier.program import verify_program
from texpr.support.errors import CallError


def random(*shape: int, seed: int = 0) -> np.ndarray:
    return np.random.default_rng(seed).standard_normal(shape).astype(np.float32)


def test_matmul_accumulates_in_order():
    a, b = random(7, 33), random(33, 5, seed=1)
    expected = np.zeros((7, 5), np.float32)
    for k in range(33):
        expected = expected + a[:, k, None] * b[None, k, :]
    assert_same_bits(interpret(programs.matmul(), [a, b])[0], expected)


@pytest.mark.parametrize("layout", LAYOUTS)
def test_any_memory_layout(layout: str):
    a, b = random(4, 3), random(3, 4, seed=1)
    assert_same_bits(
        interpret(programs.matmul(), [LAYOUTS[layout](a), b])[0], interpret(programs.matmul(), [a, b])[0]
    )


@given(st.data())
def test_layouts_do_not_matter(data: st.DataObject):
    a = data.draw(laid_out(F32, (2, 3)))
    assert_same_bits(
        interpret(programs.cumsum(), [a])[0], interpret(programs.cumsum(), [np.array(a, "f4", order="C")])[0]
    )


def test_conv2d():
    x, f, b = random(2, 3, 7, 6), random(4, 3, 3, 2, seed=1), random(4, seed=2)
    padded = np.pad(x, ((0, 0), (0, 0), (1, 1), (1, 1)))
    windows = np.lib.stride_tricks.sliding_window_view(padded, (3, 2), axis=(2, 3))[:, :, ::2, ::2]
    expected = np.einsum("ncyxrq,kcrq->nkyx", windows, f) + b[:, None, None]
    np.testing.assert_allclose(interpret(programs.conv2d(), [x, f, b])[0], expected, rtol=1e-5, atol=1e-5)


@pytest.mark.parametrize("shape", [(3, 5), (3, 5, 2), (2, 4, 2, 3), (3, 5, 0)])
def test_softmax_of_any_rank(shape: tuple[int, ...]):
    x = random(*shape)
    expected = np.exp(x - x.max(axis=1, keepdims=True))
    expected /= expected.sum(axis=1, keepdims=True)
    np.testing.assert_allclose(interpret(programs.softmax(), [x])[0], expected, rtol=1e-5)


def test_scatter_folds_in_order_and_repeats():
    g, idx = random(50, 3), np.random.default_rng(1).integers(0, 6, 50).astype(np.int32)
    expected = np.zeros((6, 3), np.float32)
    for row, k in zip(g, idx):
        expected[k] += row
    assert_same_bits(interpret(programs.embed_grad(6), [g, idx])[0], expected)


def test_cumsum_reads_itself():
    x = random(40, 2, 3)
    assert_same_bits(interpret(programs.cumsum(), [x])[0], np.cumsum(x, axis=0, dtype=np.float32))


def test_flatten_returns_the_callers_shape():
    x = random(2, 3, 4)
    assert_same_bits(interpret(programs.flatten(), [x])[0], x.reshape(2, 12))


def test_the_side_not_taken_is_not_read():
    x = random(6)
    expected = np.append(np.float32(0), np.maximum(x[:-1], 0))
    assert_same_bits(interpret(programs.relu_shift(), [x])[0], expected)


def recurrence(backwards: bool) -> Program:
    """c[t+1] = a[t] * h[t]; h[t+1] = c[t+1] + x[t], or the same in falling order of t."""
    n, t, s, r, q = names("L t s r q")
    a, x = Tensor("a", F32, plain(n)), Tensor("x", F32, plain(n))
    h, c = (Tensor(name, F32, plain(Add(n, index(1)))) for name in "hc")
    first = Sub(n, index(0)) if backwards else index(0)

    def after(var: Var, later: bool):
        return var if later == backwards else Add(var, index(1))

    def now(var: Var):
        return after(var, True), after(var, False)

    (c_now, c_before), (h_now, h_before) = now(s), now(r)
    return Program(
        "recurrence",
        (a, x),
        (h, c),
        (
            Equation(h, (first,), (), number(1)),
            Equation(c, (first,), (), number(0)),
            Equation(c, (c_now,), (axis(s, n),), Mul(Read(a, (s,)), Read(h, (c_before,)))),
            Equation(
                h, (h_now,), (axis(r, n),), Add(Read(c, (h_now,)), Mul(Read(x, (r,)), Read(c, (h_before,))))
            ),
        ),
        (n,),
    )


@pytest.mark.parametrize("backwards", [False, True])
def test_recurrences_run_in_either_direction(backwards: bool):
    size, a, x = 9, random(9), random(9, seed=1)
    h, c = np.zeros((2, size + 1), np.float32)
    order = range(size - 1, -1, -1) if backwards else range(size)
    new, old = (0, 1) if backwards else (1, 0)
    h[size if backwards else 0] = 1
    for t in order:
        c[t + new] = a[t] * h[t + old]
        h[t + new] = c[t + new] + x[t] * c[t + old]
    program = recurrence(backwards)
    verify_program(program)
    found = interpret(program, [a, x])
    assert_same_bits(found[0], h)
    assert_same_bits(found[1], c)


def test_a_wavefront():
    n, i, j = names("N i j")
    x, y = Tensor("X", F32, plain(n, n)), Tensor("Y", F32, plain(n, n))
    zero = Guard("value", number(0))
    value = Add(
        Add(Read(y, (Sub(i, index(1)), j), zero), Read(y, (i, Sub(j, index(1))), zero)), Read(x, (i, j))
    )
    program = Program("wave", (x,), (y,), (Equation(y, (i, j), (axis(i, n), axis(j, n)), value),), (n,))
    a = random(6, 6)
    expected = np.zeros((7, 7), np.float32)
    for r in range(6):
        for c in range(6):
            expected[r + 1, c + 1] = expected[r, c + 1] + expected[r + 1, c] + a[r, c]
    assert_same_bits(interpret(program, [a])[0], expected[1:, 1:])


def test_a_triangular_reduction_and_a_condition():
    n, i, k = names("N i k")
    x, y = Tensor("X", F32, plain(n)), Tensor("Y", F32, plain(n))
    value = reduction("sum", [axis(k, i)], Read(x, (k,)), Compare("<", Read(x, (k,)), number(0)))
    a = random(30)
    expected = np.array(
        [np.cumsum(np.append(np.float32(0), a[:r][a[:r] < 0]), dtype="f4")[-1] for r in range(30)], np.float32
    )
    assert_same_bits(
        interpret(Program("t", (x,), (y,), (Equation(y, (i,), (axis(i, n),), value),), (n,)), [a])[0],
        expected,
    )


def arg(op: str, which: int = 0) -> Program:
    m, n, i, j = names("M N i j")
    x, y = Tensor("X", F32, plain(m, n)), Tensor("Y", I64, ())
    e = replace(reduction(op, [axis(i, m), axis(j, n)], Read(x, (i, j))), which=which)
    return Program(op, (x,), (y,), (Equation(y, (), (), e),), (m, n))


@pytest.mark.parametrize(
    ("values", "largest", "smallest"),
    [
        ([[1, 3, 2], [3, 0, 0]], (0, 1), (1, 1)),
        ([[-0.0, 0.0], [0.0, -0.0]], (0, 0), (0, 0)),
        ([[1, 2], [np.nan, np.nan]], (1, 0), (1, 0)),
        ([[-np.inf, -np.inf]], (0, 0), (0, 0)),
        ([[np.inf, np.nan, np.inf]], (0, 1), (0, 1)),
    ],
)
def test_argmax_takes_the_first_and_nan_wins(
    values: list[list[float]], largest: tuple[int, int], smallest: tuple[int, int]
):
    array = np.array(values, np.float32)
    assert tuple(int(interpret(arg("argmax", w), [array])[0]) for w in (0, 1)) == largest
    assert tuple(int(interpret(arg("argmin", w), [array])[0]) for w in (0, 1)) == smallest


@pytest.mark.parametrize(
    ("mode", "numpy_mode"),
    [("clamp", "edge"), ("wrap", "wrap"), ("reflect", "reflect"), ("value", "constant")],
)
def test_guards_are_numpys_padding(mode: str, numpy_mode: str):
    n, i = names("N i")
    x, y = Tensor("X", F32, plain(n)), Tensor("Y", F32, plain(Add(n, index(6))))
    read = Read(x, (Sub(i, index(3)),), Guard(mode, number(0) if mode == "value" else None))
    program = Program("pad", (x,), (y,), (Equation(y, (i,), (axis(i, Add(n, index(6))),), read),), (n,))
    a = random(5)
    assert_same_bits(interpret(program, [a])[0], np.pad(a, 3, mode=numpy_mode))  # type: ignore[call-overload]


def test_a_call_of_another_program_with_packs():
    n, d, m = names("N D M")
    a, b, c = Tensor("A", F32, plain(n, m)), Tensor("B", F32, plain(m, d)), Tensor("C", F32, plain(n, d))
    p = Tensor("P", F32, plain(n, d))
    program = Program(
        "scores",
        (a, b),
        (p,),
        (Invoke((p,), programs.softmax(), (c,)), Invoke((c,), programs.matmul(), (a, b))),
        (n, d, m),
    )
    verify_program(program)
    x, y = random(3, 4), random(4, 5, seed=1)
    assert_same_bits(
        interpret(program, [x, y])[0], interpret(programs.softmax(), interpret(programs.matmul(), [x, y]))[0]
    )


def test_bf16_is_read_and_stored_as_bits():
    x = np.array([[0x3F80, 0x4000]], np.uint16)
    found = interpret(programs.matmul(BF16), [x, x.T])[0]
    assert found.dtype == np.uint16 and found.tolist() == [[0x40A0]]  # 1*1 + 2*2 = 5


def single(value, *, rank: int = 1) -> Program:
    n, i = names("N i")
    x, y = Tensor("X", F32, plain(n)), Tensor("Y", F32, plain(n))
    return Program("f", (x,), (y,), (Equation(y, (i,), (axis(i, n),), value(x, y, i)),), (n,))


def test_a_read_outside_is_a_bug():
    program = single(lambda x, y, i: Read(x, (Add(i, index(1)),)))
    with pytest.raises(
        AssertionError, match="^f: an equation of Y reads or writes what does not exist at i=2$"
    ):
        interpret(program, [random(3)])


def test_equations_that_wait_for_each_other_are_a_bug():
    program = single(lambda x, y, i: Read(y, (i,)))
    with pytest.raises(
        AssertionError, match="^f: the equations of Y wait for each other, or read outside an array$"
    ):
        interpret(program, [random(3)])


def test_an_output_must_be_defined_everywhere():
    n, i = names("N i")
    x, y = Tensor("X", F32, plain(n)), Tensor("Y", F32, plain(n))
    half = Program("f", (x,), (y,), (Equation(y, (i,), (axis(i, n, lo=1),), Read(x, (i,))),), (n,))
    with pytest.raises(AssertionError, match="Y is not defined everywhere"):
        interpret(half, [random(3)])


def test_an_element_is_defined_once():
    n, i = names("N i")
    x, y = Tensor("X", F32, plain(n)), Tensor("Y", F32, plain(n))
    twice = Program("f", (x,), (y,), (Equation(y, (index(0),), (axis(i, n),), Read(x, (i,))),), (n,))
    with pytest.raises(AssertionError, match="an element of Y is defined twice"):
        interpret(twice, [random(3)])


@pytest.mark.parametrize(
    ("arrays", "complaint"),
    [
        ([random(2, 3)], "error[arguments]: `matmul` takes 2 arrays, got 1"),
        ([random(2, 3), random(4, 5)], "error[shape]: axis 0 of `B` has extent 4, expected K = 3"),
        ([random(2, 3), random(3)], "error[rank]: `B` has 1 dimension, expected 2"),
        ([random(2, 3), np.zeros((3, 2))], "error[dtype]: `B` is f64, expected f32"),
    ],
)
def test_arrays_that_do_not_fit(arrays: list[np.ndarray], complaint: str):
    with pytest.raises(CallError) as error:
        interpret(programs.matmul(), arrays)
    assert str(error.value) == complaint


def test_a_select_over_many_shared_levels_is_linear():
    e = None

    def grow(x, y, i):
        nonlocal e
        e = Read(x, (i,))
        for _ in range(60):
            e = Select(Compare("<", e, number(0)), Add(e, e), e)
        return e

    assert interpret(single(grow), [np.ones(3, "f4")])[0].tolist() == [1, 1, 1]
