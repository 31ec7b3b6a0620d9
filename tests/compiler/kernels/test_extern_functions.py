"""Operators that are declared and not written."""

from __future__ import annotations

import ctypes
import os
import signal
import threading
import time

import numpy as np
import pytest

import texpr as tx
from texpr.ir.dtypes import BF16, stored
from texpr.ir.interpreter.loop import interpret_kernel
from texpr.ir.printing.loop import show_kernel
from texpr.ir.traverse import equal
from texpr.lang import parse_kernel

ARGSORT = "extern op argsort<T>(X: T[*S, N]; down = false) -> p: i64[*S, N] in 0..N distinct\n"
SORTED = tx.op(
    ARGSORT + "op ordered(X: f32[*S, N]) -> Y: f32[*S, N] { p = argsort(X)  Y[*s, i] = X[*s, p[*s, i]] }"
)
BETWEEN = (
    ARGSORT
    + """op between(X: f32[N]) -> Y: f32[N] {
  Z[i] = 2 * X[i]
  p = argsort(Z, down=true)
  Y[i] = Z[p[i]] + 1
}"""
)
DOUBLE = "extern op twice(X: f64[N]) -> Y: f64[N]\n"
X = np.random.default_rng(0).random((2, 3, 5), np.float32)


def argsort(x: np.ndarray, down: bool) -> np.ndarray:
    return np.argsort(-x if down else x, axis=-1)


@pytest.fixture(autouse=True)
def registered():
    tx.register_extern("argsort", argsort)
    tx.register_extern("twice", lambda x: 2 * x)


def test_the_interpreter_runs_it():
    np.testing.assert_array_equal(tx.interpret(SORTED, X), np.sort(X))
    np.testing.assert_array_equal(tx.interpret(tx.op(ARGSORT), X, down=True), np.argsort(-X))


def test_kernels_call_it():
    np.testing.assert_array_equal(SORTED(X), np.sort(X))
    np.testing.assert_array_equal(tx.op(ARGSORT)(X, down=True), np.argsort(-X))
    symbolic = tx.schedule(SORTED).auto().compile()
    for shape in ((4,), (2, 7), (3, 0)):
        x = np.random.default_rng(1).random(shape, np.float32)
        np.testing.assert_array_equal(symbolic(x), np.sort(x))


def test_it_stands_between_nests():
    schedule = tx.schedule(tx.op(BETWEEN))
    assert (
        str(schedule.kernel.body[1:2] and show_kernel(schedule.kernel))
        == """kernel between(X: f32[N]) -> (Y: f32[N])
  let Z: f32[N]
  let p: i64[N] in 0..N distinct
  for Z.i in 0..N
    Z[i] = 2.0 * X[i]
  p = extern argsort(Z; down=True)  eq 1
  for Y.i in 0..N
    Y[i] = Z[p[i]] + 1.0  eq 2
"""
    )
    x = X[0, 0]
    for kernel in (schedule.kernel, schedule.auto().kernel):
        again = parse_kernel(show_kernel(kernel))
        assert show_kernel(again) == show_kernel(kernel) and equal(again, kernel)
        (found,) = interpret_kernel(again, [x], {"N": 5})
        np.testing.assert_array_equal(found, 2 * np.sort(x)[::-1] + 1)
    np.testing.assert_array_equal(schedule.compile()(x), 2 * np.sort(x)[::-1] + 1)


def test_nothing_moves_past_it():
    with pytest.raises(tx.ScheduleError, match="reverses a dependence"):
        tx.schedule(tx.op(BETWEEN)).compute_at("Z", "Y.i", recompute=False)


def test_what_is_wrong_with_functions():
    other = tx.op("extern op missing(X: f32[N]) -> Y: f32[N]")
    mapped = tx.vmap(other)
    for run in (lambda: tx.interpret(other, X[0, 0]), lambda: other(X[0, 0]), lambda: mapped(X[0])):
        with pytest.raises(tx.CallError) as caught:
            run()
        assert (
            str(caught.value)
            == """error[extern]: `missing` is extern and nothing computes it
  help: texpr.register_extern('missing', function)"""
        )
    wrong = {
        "gives float32[4] for `Y`, expected float32[5]": lambda x: x[1:],
        "gives 2 results, expected 1": lambda x: (x, x),
        "gives float64[5] for `Y`, expected float32[5]": lambda x: x.astype(float),
    }
    operator = tx.op("extern op wrong(X: f32[N]) -> Y: f32[N]")
    for text, function in wrong.items():
        tx.register_extern("wrong", function)
        for run in (lambda: tx.interpret(operator, X[0, 0]), lambda: operator(X[0, 0])):
            with pytest.raises(tx.CallError, match="the function of `wrong` ") as caught:
                run()
            assert text in str(caught.value)
    with pytest.raises(tx.CallError, match="nothing is registered for `wrong`"):
        tx.register_extern("wrong")


def test_declared_values_are_checked():
    x = X[0]
    for run in (SORTED, lambda x: tx.interpret(SORTED, x)):
        tx.register_extern("argsort", lambda x, down: np.argsort(x) + 1)
        with pytest.raises(tx.CallError) as caught:
            run(x)
        first = tuple(np.argwhere(np.argsort(x) == 4)[0])
        assert (
            str(caught.value) == f"error[range]: `p[{first[0]}, {first[1]}]` is 5, expected a value in 0..5"
        )
        tx.register_extern("argsort", lambda x, down: np.argsort(x) * 0)
        with pytest.raises(tx.CallError) as caught:
            run(x)
        assert (
            str(caught.value)
            == "error[distinct]: `p[0, 0]` and `p[0, 1]` are both 0, expected distinct values"
        )


def test_it_sees_the_dimensions_of_callers():
    seen: list[tuple[int, ...]] = []

    def shapes(*arrays: np.ndarray, **constants: int) -> np.ndarray:
        seen.extend(a.shape for a in arrays)
        return arrays[0] + 1

    tx.register_extern("shapes", shapes)
    extern = "extern op shapes(X: f32[*A, N], Z: f32[(C, H)]; H = 2) -> Y: f32[*A, N]\n"
    whole = tx.op(extern)
    inner = tx.op(
        extern
        + """op f(X: f32[*S, N], Z: f32[(C, 2)]) -> Y: f32[*S, N] {
  T[*s, i] = 2 * X[*s, i]
  W = shapes(T, Z)
  Y[*s, i] = W[*s, i] }"""
    )
    fixed = tx.op(
        extern
        + """op g(X: f32[M, K, N], Z: f32[P, 2]) -> Y: f32[M, K, N] {
  let U: f32[(P, 2)]
  U[(i, j)] = Z[i, j]
  Y = shapes(X, U) }"""
    )
    z = np.ones(6, np.float32)
    for operator, third in ((whole, z), (inner, z), (fixed, z.reshape(3, 2))):
        for x in (X, X[:, :1], X[0]) if operator is not fixed else (X,):
            for run in (
                operator,
                lambda *a, o=operator: tx.interpret(o, *a),
                tx.schedule(operator).auto().compile(),
            ):
                seen.clear()
                run(x, third)
                assert seen == [x.shape, (6,)]


def test_what_it_raises_reaches_the_caller():
    def fails(x: np.ndarray) -> np.ndarray:
        raise KeyError("from inside")

    tx.register_extern("twice", fails)
    operator = tx.op(DOUBLE)
    with pytest.raises(KeyError, match="from inside"):
        operator(np.ones(3))
    tx.register_extern("twice", lambda x: 2 * x)
    np.testing.assert_array_equal(operator(np.ones(3)), 2)


def test_its_inputs_are_read_only():
    def writes(x: np.ndarray) -> np.ndarray:
        x[0] = 7
        return x

    tx.register_extern("twice", writes)
    with pytest.raises(ValueError, match="read-only"):
        tx.op(DOUBLE)(np.ones(3))


def test_ctrl_c_inside_it():
    pressed, finished = [], []

    def waits(x: np.ndarray) -> np.ndarray:
        pressed.append(True)
        os.kill(os.getpid(), signal.SIGINT)
        time.sleep(0.01)
        finished.append(True)
        return x

    tx.register_extern("twice", waits)
    operator = tx.op(DOUBLE)
    with pytest.raises(KeyboardInterrupt):
        operator(np.ones(3))
    assert pressed and not finished


def test_threads_call_it_at_once():
    operator = tx.op(DOUBLE + "op f(X: f64[N]) -> Z: f64[N] { Y = twice(X)  Z[i] = Y[i] + 1 }")
    wrong: list[int] = []

    def work(k: int) -> None:
        x = np.full(100 + k, float(k))
        for _ in range(50):
            if not np.array_equal(operator(x), 2 * x + 1):
                wrong.append(k)

    threads = [threading.Thread(target=work, args=(k,)) for k in range(4)]
    for t in threads:
        t.start()
    for t in threads:
        t.join()
    assert wrong == []


@pytest.mark.skipif(not hasattr(os, "fork"), reason="no fork")
def test_after_a_fork():
    operator = tx.op(DOUBLE)
    np.testing.assert_array_equal(operator(np.ones(3)), 2)
    child = os.fork()
    if child == 0:
        os._exit(0 if np.array_equal(operator(np.ones(3)), np.full(3, 2.0)) else 1)
    assert os.waitpid(child, 0)[1] == 0


OF_VECTORS = ctypes.CFUNCTYPE(
    ctypes.c_int32,
    ctypes.POINTER(ctypes.c_double),
    ctypes.POINTER(ctypes.c_double),
    ctypes.c_int64,
    ctypes.c_int64,
)
"""Native code of `extern op f(X: f64[N]) -> Y: f64[N]`."""


def test_native_code():
    """No Python runs: the code is called with pointers and extents."""
    seen: list[tuple] = []

    @OF_VECTORS
    def native(x, y, n, m):  # noqa: ANN001, ANN202
        seen.append((n, m))
        for k in range(n):
            y[k] = 3 * x[k]
        return 2 if n == 7 else 0

    tx.register_extern("thrice", address=ctypes.cast(native, ctypes.c_void_p).value)
    operator = tx.op("extern op thrice(X: f64[N]) -> Y: f64[N]")
    np.testing.assert_array_equal(operator(np.arange(4.0)), 3 * np.arange(4.0))
    assert seen == [(4, 4)]
    with pytest.raises(tx.ResourceError):
        operator(np.ones(7))


def test_native_code_by_dtypes():
    """The address is asked for with dtypes and ranks; where there is none, Python runs."""
    asked: list[object] = []

    @OF_VECTORS
    def native(x, y, n, m):  # noqa: ANN001, ANN202
        for k in range(n):
            y[k] = 4 * x[k]
        return 0

    def address(dtypes: tuple[str, ...], ranks: tuple[int, ...]) -> int | None:
        asked.append((dtypes, ranks))
        return ctypes.cast(native, ctypes.c_void_p).value if dtypes == ("f64", "f64") else None

    tx.register_extern("fourfold", lambda x: x * 4 + 1, address=address)
    for dtype, more in (("f64", 0), ("f32", 1)):
        operator = tx.op(f"extern op fourfold(X: {dtype}[N]) -> Y: {dtype}[N]")
        x = np.arange(3, dtype=dtype.replace("f", "float"))
        np.testing.assert_array_equal(operator(x), 4 * x + more)
    assert asked == [(("f64", "f64"), (1, 1)), (("f32", "f32"), (1, 1))]


def test_types_that_numpy_lacks_are_f32_for_functions():
    seen: list[np.dtype] = []

    def thirds(x: np.ndarray) -> np.ndarray:
        seen.append(x.dtype)
        return x / 3

    tx.register_extern("thirds_of_bf16", thirds)
    operator = tx.op("extern op thirds_of_bf16(X: bf16[N]) -> Y: bf16[N]")
    bits = stored(np.float32([-3, 1, 6]), BF16)
    for run in (operator, lambda *a: tx.interpret(operator, *a)):
        np.testing.assert_array_equal(run(bits), stored(np.float32([-1, 1 / 3, 2]), BF16))
    assert seen == [np.dtype("f4")] * 2


@pytest.mark.parametrize(
    ("given", "complaint"),
    [
        ({}, "nothing is registered for `halves`"),
        ({"function": 2}, "`function` of `halves` is 2, expected a function"),
        (
            {"address": "code"},
            "`address` of `halves` is 'code', expected a positive integer, or a function that gives one",
        ),
    ],
    ids=["nothing", "function", "address"],
)
def test_what_cannot_be_registered(given, complaint):
    with pytest.raises(tx.CallError) as caught:
        tx.register_extern("halves", **given)
    assert caught.value.message == complaint


def test_other_targets(tmp_path):
    schedule = tx.schedule(SORTED)
    with pytest.raises(tx.CompileError) as caught:
        _ = schedule.compile("sm_80").ptx
    assert (
        str(caught.value)
        == """error[extern]: `argsort` is extern: a GPU cannot call it
  help: compute argsort on the CPU and pass its result as an input"""
    )
    schedule.compile("aarch64").save(tmp_path / "k.o", header=tmp_path / "k.h")
    prototype = (
        "int32_t texpr_extern_argsort_f32_down_False(const float *X, int64_t *p, "
        "int64_t X_0, int64_t X_1, int64_t p_0, int64_t p_1);"
    )
    assert prototype in (tmp_path / "k.h").read_text()
    assert b"texpr_extern_argsort_f32_down_False" in (tmp_path / "k.o").read_bytes()


def test_its_gradient_has_to_be_given():
    with pytest.raises(tx.CheckError, match="is extern: its gradient has to be given"):
        tx.grad(tx.op("extern op fft(X: f32[N]) -> Y: f32[N]\nop f(X: f32[N]) -> Y: f32[N] { Y = fft(X) }"))


def test_a_gradient_as_text():
    tx.register_extern("cubed", lambda x: x**3)
    tx.register_vjp(
        "cubed", "op cubed_vjp(X: f64[N], dY: f64[N]) -> dX: f64[N] { dX[i] = 3 * X[i] ** 2 * dY[i] }"
    )
    operator = tx.op(
        "extern op cubed(X: f64[N]) -> Y: f64[N]\nop f(A: f64[N]) -> S: f64[] { Y = cubed(A)  S = sum(i: "
        "Y[i] * A[i]) }"
    )
    x = np.arange(1.0, 5.0)
    for run in (tx.grad(operator), lambda *a: tx.interpret(tx.grad(operator), *a)):
        np.testing.assert_allclose(run(x, np.float64(1)), 4 * x**3)


AROUND = tx.op("""extern op more(X: f32[M, N]) -> Y: f32[M, N]
op around(X: f32[M, N]) -> Y: f32[M, N] {
  T[s, i] = 2 * X[s, i]
  W = more(T)
  Y[s, i] = W[s, i] + 1
}""")


@pytest.mark.parametrize("sizes", [{}, {"M": 5, "N": 8}], ids=["symbolic", "fixed"])
@pytest.mark.parametrize(
    "steps",
    [
        'split("T.i", 3, tail="peel")',
        'split("T.s", 3, tail="peel")',
        'split("Y.i", 3, tail="peel")',
        'split("Y.i", 3).partition("Y.io")',
        'split("T.i", 3).partition("T.io")',
        'split("Y.i", 3, tail="pad")',
        'split("T.i", 4, tail="overlap")',
        'peel("T.i", 1, 1)',
        'peel("Y.i", 1, 1)',
        'cache_read("W", "Y.s")',
        'cache_write("T", "T.s")',
        'split("T.i", 3).reorder("T.ii", "T.s", "T.io")',
        'specialize("M % 5 == 0")',
        'specialize("Y.i", "N % 8 == 0")',
    ],
)
def test_steps_around_it_leave_what_it_takes_and_gives_alone(steps, sizes):
    if "specialize" in steps and sizes:
        pytest.skip("there is no symbolic size left")
    tx.register_extern("more", lambda x: x + 1)
    x = np.random.default_rng(0).random((5, 8), np.float32)
    with tx.options(certify=True):
        kernel = eval(f"s.{steps}", {"s": tx.schedule(AROUND, **sizes)}).compile()
    np.testing.assert_array_equal(kernel(x), tx.interpret(AROUND, x))


@pytest.mark.parametrize(
    "steps",
    [
        'layout("T", "s i -> i s")',
        'layout("W", "s i -> i s")',
        'pad("T", 1, 16)',
        'split("T.i", 3, tail="pad")',
        'set_scope("W", "stack")',
        'expand_dim("T", "T.s")',
        'fold_storage("T", 0)',
        'inline("T")',
    ],
)
def test_what_it_takes_and_gives_lies_as_the_program_says(steps):
    with pytest.raises(
        tx.ScheduleError, match=r"`[TW]` passes to or from `more`, which is not written here"
    ) as caught:
        eval(f"s.{steps}", {"s": tx.schedule(AROUND)})
    assert "W = extern more(T)" in str(caught.value)
