"""Random numbers: the published vectors of Philox, the same bits wherever a program runs, and
what the numbers look like.
"""

from __future__ import annotations

import math

import numpy as np
import pytest

import texpr as tx
from tests.passes.math.evaluate import ulp_error
from tests.targets.cases import Case as TargetCase
from tests.targets.cases import kernel_of, problem
from texpr import ops
from texpr.autodiff import grad
from texpr.ir.dtypes import DTYPES, DType, numpy_dtype
from texpr.ir.interpreter.loop import interpret_kernel
from texpr.ir.interpreter.random import block, philox
from texpr.ir.interpreter.tensor import interpret
from texpr.ir.printing.loop import show_kernel
from texpr.ir.traverse import equal
from texpr.lang import parse_kernel
from texpr.runtime.process import qemu
from texpr.targets import Artifact, compile_kernel, emit_llvm, emulate, find_target, symbol_of

SEED = 0x243F6A8885A308D3
TEXT = """op numbers(seed: u64; N = 20, M = 37) -> (u: f32[N, M], v: f64[N, M], y: f32[N, M], z: f64[N, M]) {
  u[i, j] = uniform(seed, i, j)
  v[i, j] = f64(uniform(seed + 1, j, 7, i))
  y[i, j] = normal(seed, i, j)
  z[i, j] = f64(normal(seed, i, M - j))
}"""
NUMBERS = tx.op(TEXT)
EXPECTED = tx.interpret(NUMBERS, np.uint64(SEED))


def assert_numbers(found) -> None:
    u, v, y, z = found
    np.testing.assert_array_equal(u, EXPECTED[0])
    np.testing.assert_array_equal(v, EXPECTED[1])
    assert ulp_error(y, EXPECTED[2]).max() <= 3 and ulp_error(z, EXPECTED[3]).max() <= 5


@pytest.mark.parametrize(
    ("key", "counter", "expected"),
    [
        ("00000000 00000000", "00000000 00000000 00000000 00000000", "6627e8d5 e169c58d bc57ac4c 9b00dbd8"),
        ("ffffffff ffffffff", "ffffffff ffffffff ffffffff ffffffff", "408f276d 41c83b0e a20bc7c6 6d5451fd"),
        ("a4093822 299f31d0", "243f6a88 85a308d3 13198a2e 03707344", "d16cfe09 94fdcceb 5001e420 24126ea1"),
    ],
)
def test_known_answers(key: str, counter: str, expected: str):
    """The vectors of Salmon et al. for Philox4x32-10."""
    words = philox(*([np.uint64(int(w, 16)) for w in text.split()] for text in (key, counter)))
    assert " ".join(f"{int(w):08x}" for w in words) == expected
    low, high = (
        sum(int(w, 16) << 32 * k for k, w in enumerate(counter.split()[at : at + 2])) for at in (0, 2)
    )
    seed = np.uint64(int(key.split()[1] + key.split()[0], 16))
    indices = [np.int64(n - (1 << 64) if n >> 63 else n) for n in (low, high)]
    assert " ".join(f"{int(w):08x}" for w in block(seed, indices)) == expected
    f = tx.op("op f(seed: u64, i: i64, j: i64) -> y: f64 { y = f64(uniform(seed, i, j)) }")
    w = [int(word, 16) for word in expected.split()]
    for value in (f(seed, *indices), tx.interpret(f, seed, *indices)):
        assert value == ((w[1] << 32 | w[0]) >> 11) / 2**53


def test_indices_in_pairs():
    """A missing index is 0, and a pair before the last makes a key."""
    one, two, three = (
        block(np.uint64(SEED), [np.int64(i) for i in indices]) for indices in ((5,), (5, 0), (5, 0, 9))
    )
    assert one == two != three
    assert three == block(np.uint64(int(two[0]) | int(two[1]) << 32), [np.int64(9)])
    assert block(np.uint64(SEED), []) == block(np.uint64(SEED), [np.int64(0)])


@pytest.mark.parametrize(
    "script",
    [
        "",
        'split("u.j", 8)\nvectorize("u.ji")\nsplit("y.j", 16, tail="guard")\nvectorize("y.ji")',
        'reorder("v.j", "v.i")\nparallel("v.j")\nparallel("u.i")\nunroll("z.j")',
    ],
)
def test_every_schedule_has_the_same_bits(script: str):
    compiled = tx.schedule(NUMBERS).replay(script).compile()
    with tx.options(threads=1):
        first = compiled(np.uint64(SEED))
    with tx.options(threads=2):
        second = compiled(np.uint64(SEED))
    assert_numbers(first)
    for a, b, c in zip(first, second, NUMBERS(np.uint64(SEED))):
        np.testing.assert_array_equal(a, b)
        np.testing.assert_array_equal(a, c)


def test_the_interpreters_agree():
    schedule = tx.schedule(tx.op(TEXT.replace("20", "2").replace("37", "3"))).split("u.j", 2)
    for a, b in zip(interpret_kernel(schedule.kernel, [np.array(SEED, np.uint64)], {}), EXPECTED):
        assert a.shape == (2, 3)
        if b is not EXPECTED[3]:
            np.testing.assert_array_equal(a, b[:2, :3])


CASE = TargetCase("numbers", TEXT, ((),))


@pytest.mark.qemu
@pytest.mark.skipif(bool(qemu.missing_tool()), reason=f"{qemu.missing_tool()} is not installed")
def test_another_processor_has_the_same_bits():
    given, kernel = seeded(), kernel_of(CASE, find_target("aarch64"))
    artifact = compile_kernel(kernel, find_target("aarch64"), alone=True)
    qemu.run(
        artifact.object_code,
        symbol_of(kernel.name),
        given,
        outputs := problem(CASE).empty(),
        [],
        cpu="cortex-a72",
    )
    assert_same_as_here(outputs)


def test_gpus_have_the_same_bits():
    target = find_target("sm_80")
    kernel = kernel_of(CASE, target)
    text, launches = emit_llvm(kernel, target)
    emulate(
        Artifact(target, text, "", "", b"", launches, kernel.temporaries),
        "",
        seeded(),
        outputs := problem(CASE).empty(),
        {},
    )
    assert_same_as_here(outputs)


def seeded() -> tuple[np.ndarray, ...]:
    return (np.array(SEED, np.uint64),)


def assert_same_as_here(outputs) -> None:
    for a, b in zip(outputs, NUMBERS(np.uint64(SEED)), strict=True):
        np.testing.assert_array_equal(a, b)


@pytest.mark.parametrize("name", ["uniform", "normal"])
@pytest.mark.parametrize("t", ["f32", "f64"])
def test_distribution(name: str, t: str):
    """Moments within five deviations, Kolmogorov's distance below its bound for one in 10^6,
    neighbours and seeds unrelated.
    """
    n = 1 << 18
    f = tx.op(f"op f(seed: u64; N) -> x: {t}[N] {{ x[i] = {t}({name}(seed, i)) }}")
    x, other = (np.asarray(f(np.uint64(s), N=n), np.float64) for s in (3, 4))
    mean, variance, kurtosis = (0.5, 1 / 12, 1.8) if name == "uniform" else (0, 1, 3)
    assert abs(x.mean() - mean) < 5 * np.sqrt(variance / n)
    assert abs(x.var() - variance) < 5 * variance * np.sqrt((kurtosis - 1) / n)
    ordered = np.sort(x)
    below = ordered if name == "uniform" else 0.5 * (1 + np.vectorize(math.erf)(ordered / np.sqrt(2)))
    assert np.abs(below - (np.arange(n) + 0.5) / n).max() < 2.7 / np.sqrt(n)
    for a, b in ((x[1:], x[:-1]), (x, other)):
        assert abs(np.corrcoef(a, b)[0, 1]) < 5 / np.sqrt(n)
    if name == "uniform":
        assert x.min() >= 0 and x.max() < 1


def test_packs_count_flat():
    f = tx.op("op f(X: f32[*S], seed: u64) -> Y: f32[*S] { Y[*s] = X[*s] + uniform(seed, *s) }")
    x = np.zeros((3, 4, 5), np.float32)
    g = tx.op("op g(seed: u64; N = 60) -> Y: f32[N] { Y[i] = uniform(seed, i) }")
    np.testing.assert_array_equal(f(x, np.uint64(9)).ravel(), g(np.uint64(9)))


@pytest.mark.parametrize("shape", [(3, 4, 5), (60,), ()])
def test_a_called_operator_counts_flat(shape: tuple[int, ...]):
    """Inlined, its pack becomes dimensions; the numbers stay."""
    callee = "op g(X: f32[*S], seed: u64) -> Y: f32[*S] { Y[*s] = X[*s] + uniform(seed, *s) }"
    dims = ", ".join("ABC"[: len(shape)])
    f = tx.op(f"{callee} op f(X: f32[{dims}], seed: u64) -> Y: f32[{dims}] {{ Y = g(X, seed) }}", "f")
    x = np.zeros(shape, np.float32)
    expected = tx.op(callee)(x, np.uint64(9))
    np.testing.assert_array_equal(f(x, np.uint64(9)), expected)
    np.testing.assert_array_equal(tx.interpret(f, x, np.uint64(9)), expected)


def test_no_gradient_through_the_numbers():
    program = tx.op(
        "op f(X: f64[N], seed: u64) -> Y: f64[N] { Y[i] = X[i] * f64(normal(seed, i)) }"
    ).program()
    x, dy = np.arange(5.0), np.ones(5)
    (dx,) = interpret(grad(program), [x, np.array(1, np.uint64), dy])
    (y,) = interpret(program, [np.ones(5), np.array(1, np.uint64)])
    np.testing.assert_array_equal(dx, y)


@pytest.mark.parametrize("t", [t for t in DTYPES.values() if t.is_int], ids=str)
def test_mulhi(t: DType):
    """The exact product's upper half, in vectors and one by one."""
    kind = numpy_dtype(t)
    values = np.frombuffer(np.random.default_rng(0).bytes(41 * t.bytes), kind)
    values = np.concatenate([values, np.array([0, 1, np.iinfo(kind).max, np.iinfo(kind).min], kind)])
    x, y = (np.ascontiguousarray(v) for v in np.broadcast_arrays(values[:, None], values[None, :]))
    f = tx.op(f"op f(X: {t}[*S], Y: {t}[*S]) -> Z: {t}[*S] {{ Z[*s] = mulhi(X[*s], Y[*s]) }}")
    exact = np.array([[int(a) * int(b) >> t.bits for b in values] for a in values], kind)
    for found in (f(x, y), tx.interpret(f, x, y)):
        np.testing.assert_array_equal(found, exact)


def test_listings_parse_back():
    kernel = tx.schedule(NUMBERS).split("u.j", 8).kernel
    assert equal(parse_kernel(show_kernel(kernel)), kernel)
    kernel = tx.schedule(ops.dropout).kernel
    assert equal(parse_kernel(show_kernel(kernel)), kernel)
