"""Calls: what operators accept, and the whole of what they say otherwise. The pictures are in
`golden/test_calls/`.
"""

from __future__ import annotations

import warnings
from pathlib import Path

import numpy as np
import pytest

import texpr as tx
from tests.compiler.operators import operators
from texpr.compiler.shape_dispatch import Kernels
from texpr.support.options import current

OPS = operators()
A = np.arange(12, dtype=np.float32).reshape(3, 4)
INDEX = np.array([0, 2], np.int32)

CALLS = {
    "arguments": [
        "add()",
        "add(A)",
        "add(A, A, A, A)",
        "add(A, W=A)",
        "add(A, A, X=A)",
        "add(A, A, A, out=A)",
        "scale(A, 2.0, K=3)",
        "scale(A, 2.0, q=3)",
        "scale(A, 2.0, k='5')",
        "scale(A, 2.0, k=None)",
        "scale(A, 2.0, k=np.arange(3))",
        "scale(A, 2.0, k=1j)",
        "scatter(A, INDEX)",
        "conv1d(A, S=2)",
        "scale(A, 2.0, k=True)",
        "statistics(A[0], out=A[0])",
        "statistics(A[0], out=(A[0], A[1]))",
        "statistics(A[0], A[1])",
        "add(A, None)",
        "add('x', A)",
        "add(A, {})",
        "biased(A[0], None)",
        "add(A, [[1, 2], [3]])",
        "add(A, object())",
    ],
    "shapes": [
        "add(A, A.T)",
        "add(A, A[0])",
        "add(A[0], 1.0)",
        "matmul(A, A)",
        "matmul(A[0], A)",
        "diagonal(A)",
        "unflatten(A[:, :3])",
        "scale(A, A)",
        "scale(A, A[:1, 0])",
        "concat(A, A[:2], axis=1)",
        "concat(A, A, axis=2)",
        "concat(A, A, axis=-3)",
        "rows(1.0)",
        "embed(A[0], INDEX)",
        "add(A, A, out=A.T)",
        "add(A, A, out=A[0])",
    ],
    "dtypes": [
        "add(A, A.astype('f8'))",
        "add(A.astype('c8'), A.astype('c8'))",
        "add(A.astype(object), A)",
        "add(A > 0, A > 0)",
        "matmul(A, A.T.astype('i4'))",
        "conv2d(A[None, None].astype('f8'), A[None, None])",
        "softmax(A.astype('i4'))",
        "whole(A, A)",
        "embed(A, INDEX.astype('i8'))",
        "embed(A, [0.5])",
        "scale(A, 1j)",
        "scale(A, 1e300)",
        "window(A[0], 1.5)",
        "window(A[0], 2**40)",
        "add(np.zeros(2, 'M8[s]'), np.zeros(2, 'M8[s]'))",
        "add(np.zeros(2, 'i4,f4'), np.zeros(2, 'i4,f4'))",
        "add(np.zeros(2, 'g'), A)",
        "add(np.ma.masked_array(A), A)",
        "add(A, A, out=A.astype('f8'))",
        "statistics(A[0].astype('f8'))",
    ],
    "values": [
        "embed(A, np.array([0, 3], np.int32))",
        "embed(A, np.array([[0, -1]], np.int32))",
        "embed(A, 7)",
        "embed(A[:0], INDEX)",
        "embed(A, INDEX[::-1] + np.int32(2**31 - 3))",
        "window(A[0], 3)",
        "window(A[0], -1)",
        "window(A[0], 0, L=9)",
        "maxpool(A, R=9)",
        "conv1d(A[None], A[None], S=0)",
        "maxpool(A, R=0)",
        "statistics(A[0, :0])",
        "largest(A[:, :0])",
        "scatter(A, INDEX[[0, 0, 1]], V=2)",
        "scatter(A, INDEX[[0, 0, 1]], V=-1)",
    ],
    "outputs": [
        "add(A, A, out=[[0]])",
        "add(A, A, out=READ_ONLY)",
        "add(A, A, out=np.broadcast_to(np.float32(0), (3, 4)))",
        "add(A, A, out=np.lib.stride_tricks.as_strided(np.zeros(99, 'f4'), (3, 4), (4, 4)))",
        "extremes(A, A, out=(A, A))",
        "extremes(A, A, out=(A, A[:, ::-1]))",
        "add(A, A, out=np.ma.masked_array(A))",
        "add(A, A, out=())",
    ],
    "sizes": [
        "scale(np.broadcast_to(np.float32(1), (2**31, 2**29)), 2.0)",
        "matmul(np.zeros((2**18, 1), 'f4'), np.zeros((1, 2**18), 'f4'))",
        "outer(*3 * [np.ones(2**22, 'u1')])",
        "outer(*3 * [np.ones(2**14, 'u1')])",
    ],
}


def complaint(text: str) -> str:
    read_only = A.copy()
    read_only.flags.writeable = False
    with pytest.raises(tx.Error) as error:
        eval(text, {**OPS, "A": A.copy(), "INDEX": INDEX, "READ_ONLY": read_only, "np": np})
    kind = type(error.value).__name__
    message = str(error.value).partition("; this machine")[0].replace(str(Path(__file__).parent) + "/", "")
    return f"# {text}\n{kind}: {message}\n"


@pytest.mark.parametrize("group", CALLS)
def test_refused(group, golden):
    golden("\n".join(map(complaint, CALLS[group])))


def test_a_call_error_is_a_type_error_and_a_value_error():
    for kind in (TypeError, ValueError, tx.Error):
        with pytest.raises(kind):
            OPS["add"](A)


def same(found: object, expected: object) -> None:
    np.testing.assert_array_equal(np.asarray(found), np.asarray(expected))


def test_what_is_accepted():
    add, scale = OPS["add"], OPS["scale"]
    same(add(A, Z=A), A + A)
    same(add(Z=A, X=A), A + A)
    same(add(1.0, 2), np.float32(3))
    same(add([1.0, 2.0], [3.0, 4.0]), [4.0, 6.0])
    same(add([[1, 2]], [[3, 4]]), [[4, 6]])
    same(add(((1, 2),), [[3, 4]]), [[4, 6]])
    same(add(np.float32(1), np.float32(2)), np.float32(3))
    same(add(memoryview(A), A), A + A)
    for a in (
        2,
        2.0,
        True + 1,
        np.float64(2),
        np.float32(2),
        np.int8(2),
        np.array(2.0),
        np.array(2, np.float16),
    ):
        same(scale(A, a), A * 4)
    same(scale(A, 1.0, k=np.int64(3)), A * 3)
    same(scale(A, 1.0, k=np.array([5])), A * 5)
    same(scale(X=A, a=1.0, k=0.5), A * np.float32(0.5))
    same(scale(A, np.nan), A * np.nan)
    same(OPS["embed"](A, 1), A[1])
    same(OPS["embed"](A, []), A[[]])
    same(OPS["embed"](A, np.array(1, ">i4")), A[1])
    same(OPS["embed"](A, np.zeros((0, 3), np.int32)).shape, (0, 3, 4))
    same(add(np.zeros((1,) * 33, np.float32), np.zeros((1,) * 33, np.float32)).ndim, 33)


def test_constants_of_different_types_are_different():
    for k in (1, 1.0, 0, 0.0, -0.0, 2**40, 1e-300, np.inf):
        found = OPS["scale"](np.full(3, 2.0), 1.0, k=k)
        same(found, np.full(3, 2.0 * k))
        assert np.signbit(found).all() == np.signbit(float(k))


def test_subclasses_of_arrays():
    class Mine(np.ndarray):
        pass

    same(OPS["add"](A.view(Mine), A), A + A)
    assert type(OPS["add"](A.view(Mine), A)) is np.ndarray
    with pytest.warns(UserWarning, match="np.matrix"), warnings.catch_warnings():
        warnings.simplefilter("ignore", PendingDeprecationWarning)
        same(OPS["matmul"](np.matrix(A), A.T), A @ A.T)


def test_objects_with_array():
    class Holds:
        def __array__(self, dtype=None, copy=None):
            return A

    same(OPS["add"](Holds(), Holds()), A + A)


def test_several_outputs_are_a_named_tuple():
    found = OPS["statistics"](A[1])
    assert found._fields == ("lo", "hi", "Z")
    assert (found.lo, found.hi) == (4, 7)
    assert found.lo.shape == ()
    out = np.zeros((), np.float32), np.zeros((), np.float32), np.zeros(4, np.float32)
    found = OPS["statistics"](A[1], out=out)
    assert found.Z is out[2]
    same(out[2], A[1] - 1)
    with pytest.raises(tx.CallError, match="statistics takes X; found 4 arrays"):
        OPS["statistics"](A[1], *out)


def test_an_array_too_many_is_no_output():
    """A bias, or a third matrix, must not be overwritten: not by the first call, nor by native
    code, which serves those after it.
    """
    add, third = OPS["add"], np.zeros_like(A)
    for _ in range(3):
        same(add(A, A), A + A)
        with pytest.raises(tx.CallError, match="add takes X, Z; found 3 arrays"):
            add(A, A, third)
        assert not third.any() and add(A, A, out=third) is third
        same(third, A + A)
        third[...] = 0


def test_inputs_are_not_changed():
    for name, arrays in (
        ("add", (A, A)),
        ("matmul", (A, A.T)),
        ("softmax", (A,)),
        ("scatter", (A, INDEX[[0, 1, 1]])),
    ):
        copies = tuple(a.copy() for a in arrays)
        OPS[name](*arrays, **({"V": 3} if name == "scatter" else {}))
        for a, b in zip(arrays, copies):
            same(a, b)


def test_results_are_new_arrays():
    first, second = OPS["add"](A, A), OPS["add"](A, A)
    first[...] = -1
    same(second, A + A)
    assert first.flags.owndata and first.flags.writeable and first.flags.c_contiguous


def test_a_failed_call_leaves_the_output_alone():
    out = np.full((2, 4), 7, np.float32)
    with pytest.raises(tx.CallError):
        OPS["embed"](A, np.array([0, 9], np.int32), out=out)
    same(out, np.full((2, 4), 7))


@pytest.mark.parametrize(
    "name",
    [
        "malloc",
        "main",
        "exp",
        "memcpy",
        "free",
        "printf",
        "tx_parallel",
        "kernel",
        "declare",
        "llvm",
        "self",
        "__init__",
        "str",
        "a" * 2000,
    ],
)
def test_names_of_operators_clash_with_nothing(name):
    op = tx.op(f"op {name}(X: f32[N]) -> Y: f32[N] {{ Y[i] = exp(X[i]) * 0 + sum(k: X[k]) }}")
    same(op(A[0]), np.full(4, 6))


@pytest.mark.parametrize(
    "names",
    [
        ("i", "io", "X"),
        ("io", "ii", "ioo"),
        ("iji", "ij", "i"),
        ("exp", "ptr", "alloc"),
        ("entry", "args", "undef"),
    ],
)
def test_names_of_indices_sizes_and_tensors_clash_with_nothing(names):
    i, size, tensor = names
    j = i + "o"
    text = (
        f"op f({tensor}: f32[{size}, N]) -> Y: f32[{size}, N] {{ Y[{i}, {j}] = {tensor}[{i}, {j}] + sum(ji: "
        f"{tensor}[{i}, ji]) }}"
    )
    if len({i, j, size, tensor, "ji", "Y", "N"}) < 7:
        pytest.skip("the names of this text are not different")
    x = np.ones((70, 70), np.float32)
    same(tx.op(text)(x), x * 71)


def test_specialisations_are_bounded():
    op = tx.op("op bounded(X: f32[M, N]) -> Y: f32[M, N] { Y[i, j] = X[i, j] * 2 + max(k: X[i, k]) }")
    for n in [*range(1, 25), 3, 40]:
        x = np.ones((n, 2 * n), np.float32)
        same(op(x), x * 3)
    symbolic = [numbers for _, numbers in op._kernels.made if not numbers]
    assert len(op._kernels.made) == current().specializations + 1
    assert len(symbolic) == 1


def test_shapes_earn_a_kernel_once_their_calls_cost_what_compiling_costs(monkeypatch):
    """They are served by the symbolic kernel until then, with the same results."""
    op = tx.op("op earned(X: f32[N]) -> Y: f32[N] { Y[i] = X[i] + 5 * max(k: X[k]) }")
    x = np.ones(5, np.float32)
    with tx.options(specializations=1):
        op(np.ones(3, np.float32))
        for _ in range(3):
            same(op(x), x * 6)
        assert [numbers for _, numbers in op._kernels.made] == [(3,), ()]
        monkeypatch.setattr(
            "texpr.compiler.shape_dispatch.perf_counter", iter(range(0, 10**9, 1000)).__next__
        )
        for _ in range(3):
            same(op(x), x * 6)
        assert [numbers for _, numbers in op._kernels.made] == [(3,), (), (5,)]


def test_the_price_of_a_kernel_is_what_making_it_takes(monkeypatch):
    """Scheduling, proofs and LLVM: all that happens when it is prepared."""
    now = [0.0]
    monkeypatch.setattr("texpr.compiler.shape_dispatch.perf_counter", lambda: now[0])

    class Kernel:
        def prepare(self, shapes: object) -> None:
            now[0] += 10

    def call() -> None:
        now[0] += 1

    program = tx.op("op f(X: f32[N]) -> Y: f32[N] { Y[i] = X[i] }").program()
    [n] = program.sizes
    kernels = Kernels(lambda *_: Kernel())
    with tx.options(specializations=1):
        kernels.kernel_for(program, {n: 3}, [(3,)])
        earned = []
        served = kernels.timed_call(call, program, {n: 5}, lambda: earned.append(now[0]))
        for _ in range(11):
            assert earned == []
            kernels.kernel_for(program, {n: 5}, [(5,)])
            assert [sizes for _, sizes in kernels.made] == [(3,), ()]
            served()
        assert len(earned) == 1
        kernels.kernel_for(program, {n: 5}, [(5,)])
    assert [sizes for _, sizes in kernels.made] == [(3,), (), (5,)]


def test_packs_of_many_shapes_use_one_symbolic_kernel():
    op = tx.op("op packed(X: f32[*A, N]) -> Y: f32[*A, N] { Y[*a, i] = X[*a, i] - max(k: X[*a, k]) }")
    for shape in (
        [(n,) for n in range(1, 12)] + [(2, n) for n in range(1, 9)] + [(2, 3, 4, 5), (0, 3), (1, 1, 1)]
    ):
        x = np.random.default_rng(0).standard_normal(shape).astype(np.float32)
        same(op(x), x - x.max(axis=-1, keepdims=True) if x.size else x)
    assert sum(not numbers for _, numbers in op._kernels.made) == 1


def test_sizes_that_are_refused_at_every_call():
    """Proofs may use that there are none: the order of the recurrence is another one then, and
    nobody sees it.
    """
    back = tx.op("op back(X: f32[N], W: f32[K]) -> Y: f32[N] require K >= 1 { Y[i] = Y[i+1 | 0] + X[i] }")
    kernel = tx.schedule(back, K=0).compile()
    with pytest.raises(tx.CallError, match=r"back requires K >= 1, and K = 0"):
        kernel(np.zeros(2, np.float32), np.zeros(0, np.float32))
    np.testing.assert_array_equal(
        tx.schedule(back, K=1).compile()(np.ones(3, np.float32), np.zeros(1, np.float32)), [3, 2, 1]
    )
