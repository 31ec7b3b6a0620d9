"""Kernels run instance by instance, and wrong ones are caught."""

from __future__ import annotations

import numpy as np
import pytest

from tests.compare import assert_same_bits
from tests.programs import names, number
from texpr.ir.dtypes import F32, I32, I64
from texpr.ir.expr import Add, Cast, Compare, Mul, Read, Select, Sub, Tensor, Var, index, plain
from texpr.ir.interpreter.loop import ORDERS, interpret_kernel
from texpr.ir.loop import Alloc, Barrier, For, If, Kernel, Stmt, Store
from texpr.ir.loop_kind import PARALLEL, VECTOR, Block, Thread
from texpr.ir.store_kind import START

N, i, j = names("N i j")
X, Y, S = (Tensor(name, F32, plain(N)) for name in "XYS")
VALUES = np.arange(8, dtype=np.float32)


def run(*body: Stmt, order: str = "serial", temporaries: tuple[Tensor, ...] = (S,)) -> np.ndarray:
    return interpret_kernel(Kernel("f", (X,), (Y,), temporaries, (N,), body), [VALUES], {"N": 8}, order)[0]


def test_a_sum_is_sequential():
    terms = np.array([1.0] + [2.0**-24] * 7, np.float32)
    total = Tensor("Y", F32, ())
    body = (Store(total, (), number(0), role=START), For(i, N, (Store(total, (), Read(X, (i,)), "add"),)))
    assert interpret_kernel(Kernel("sum", (X,), (total,), (), (N,), body), [terms], {N: 8})[0] == 1.0


def test_loops_that_carry_a_value_show_when_marked_parallel():
    carried = Store(
        Y, (i,), Select(Compare(">", i, index(0)), Add(Read(Y, (Sub(i, index(1)),)), number(1)), number(0))
    )
    assert_same_bits(run(For(i, N, (carried,))), VALUES)
    for kind in (PARALLEL, VECTOR, Block("x"), Thread("x")):
        assert_same_bits(run(For(i, N, (carried,), kind=kind)), VALUES)
        for order in ("reversed", "shuffled", "apart"):
            assert np.isnan(run(For(i, N, (carried,), kind=kind), order=order)).any()


def test_updates_of_one_element_are_lost_when_they_run_at_once():
    most = Tensor("Y", F32, ())
    body = (
        Store(most, (), number(0), role=START),
        For(i, N, (Store(most, (), Read(X, (i,)), "max"),), kind=PARALLEL),
    )
    kernel = Kernel("most", (X,), (most,), (), (N,), body)
    for order, found in (("serial", 9.0), ("reversed", 9.0), ("shuffled", 9.0), ("apart", 1.0)):
        assert interpret_kernel(kernel, [np.array([3, 9, 1], np.float32)], {N: 3}, order)[0] == found
    # The last write stays, also if it is of the value that was there before.
    assert interpret_kernel(kernel, [np.array([3, 9, 0], np.float32)], {N: 3}, "apart")[0] == 0.0


@pytest.mark.parametrize("order", ORDERS)
def test_threads_meet_at_barriers(order: str):
    body = (Store(S, (i,), Read(X, (i,))), Barrier(), Store(Y, (i,), Read(S, (Sub(Sub(N, index(1)), i),))))
    assert_same_bits(run(For(i, N, body, kind=Thread("x")), order=order), VALUES[::-1])


def test_a_missing_barrier_shows():
    body = (Store(S, (i,), Read(X, (i,))), Store(Y, (i,), Read(S, (Sub(Sub(N, index(1)), i),))))
    assert np.isnan(run(For(i, N, body, kind=Thread("x")))).any()


def test_every_thread_has_its_own_buffers():
    own, shared = Tensor("own", F32, ()), Tensor("shared", F32, plain(N))
    body = (
        Alloc(own),
        Store(own, (), Read(X, (i,))),
        Barrier(),
        Store(shared, (i,), Read(own, ())),
        Barrier(),
        Store(Y, (i,), Add(Read(own, ()), Read(shared, (Sub(Sub(N, index(1)), i),)))),
    )
    assert_same_bits(
        run(Alloc(shared), For(i, N, body, kind=Thread("x")), temporaries=()), np.full(8, 7, np.float32)
    )


def test_a_buffer_is_new_in_every_iteration():
    own = Tensor("own", F32, ())
    first = If(Compare("==", i, index(0)), (Store(own, (), number(1)),))
    found = run(For(i, N, (Alloc(own), first, Store(Y, (i,), Read(own, ())))))
    assert found[0] == 1 and np.isnan(found[1:]).all()


def test_barriers_inside_loops_and_of_two_thread_dimensions():
    at, step = Add(Mul(j, index(4)), i), Var("t")
    previous = Var("p")
    rotate = (
        Store(S, (at,), Read(Y, (at,))),
        Barrier(),
        Store(Y, (at,), Read(S, (Select(Compare("==", at, index(0)), index(7), Sub(at, index(1))),))),
        Barrier(),
    )
    inside = (
        Store(Y, (at,), Read(X, (at,))),
        Barrier(),
        For(step, index(3), rotate),
        For(previous, index(0), (Barrier(),)),
    )
    found = run(For(j, index(2), (For(i, index(4), inside, kind=Thread("x")),), kind=Thread("y")))
    assert_same_bits(found, np.roll(VALUES, 3))


def test_a_barrier_that_not_all_threads_reach():
    body = (If(Compare("<", i, index(3)), (Barrier(),)),)
    with pytest.raises(
        AssertionError, match="some threads of a block do not reach a barrier that others wait at"
    ):
        run(For(i, N, body, kind=Thread("x")))


@pytest.mark.parametrize("offset", [-1, 1])
def test_accesses_outside_are_caught(offset: int):
    with pytest.raises(AssertionError, match=rf"X\[{-1 if offset < 0 else 8}\] is outside its shape \(8,\)"):
        run(For(i, N, (Store(Y, (i,), Read(X, (Add(i, index(offset)),))),)))
    with pytest.raises(AssertionError, match=r"Y\[8\] is outside its shape \(8,\)"):
        run(For(i, N, (Store(Y, (Add(i, index(1)),), number(0)),)))


def test_memory_nobody_wrote_is_poison():
    assert np.isnan(run(For(i, N, (Store(Y, (i,), Add(Read(S, (i,)), number(1))),)))).all()
    whole = Tensor("Y", I32, plain(N))
    assert (
        interpret_kernel(Kernel("f", (), (whole,), (), (N,), ()), [], {N: 2})[0].tolist() == [2**31 - 7] * 2
    )


def test_loops_may_nest_deeper_than_python_allows():
    body: tuple[Stmt, ...] = (Store(Y, (i,), Cast(Cast(Read(X, (i,)), dtype=I64), dtype=F32)),)
    for _ in range(40):
        body = (For(Var("one"), index(1), body),)
    assert_same_bits(run(For(i, N, body)), VALUES)


def test_a_deep_sum_is_translated():
    value = Read(X, (i,))
    for _ in range(3_000):
        value = Add(value, number(1))
    assert_same_bits(run(For(i, N, (Store(Y, (i,), value),))), VALUES + 3_000)
