"""Elements that all lanes of a vector have in common, where conditions turn every lane off: they
are neither read nor written.
"""

from __future__ import annotations

from functools import cache

import numpy as np
import pytest

import texpr as tx
from tests.guarded import SIDES, run, run_loops
from texpr.compiler.pass_pipeline import prepared
from texpr.lang import parse_kernel
from texpr.runtime import host
from texpr.targets import compile_kernel, emit_llvm, find_target

HEAD = (
    "kernel f(X: f32[N, M], V: f32[M], k: i64[N], c: i32[8 * N], b: bool[M], h: f16[M], s: u8[M]) -> (Y: "
    "f32[N, 8], Z: i32[N]) {}"
)
LOOPS = {
    "element in a condition": """
  for i in 0..N
    for v in 0..8 vector
      Y[i, v] = if c[i * 8 + v] > 0 and k[i] >= 0 and k[i] < M then V[k[i]] else 1.0
    Z[i] = 0
""",
    "behind the end": """
  for i in 0..N
    for v in 0..8 vector
      Y[i, v] = 0.0
    for j in 0..M + 5
      for v in 0..8 vector
        if j + v < M
          Y[i, v] += V[j]
    Z[i] = 0
""",
    "far away": """
  for i in 0..N
    for v in 0..8 vector
      Y[i, v] = if k[i] * 1073741824 + v < 0 - 99 then V[k[i] * 1073741824 + 4294967296] else 2.0
    Z[i] = 0
""",
    "bool, f16 and u8": """
  for i in 0..N
    for v in 0..8 vector
      Y[i, v] = 0.0
    for j in 0..M + 3
      for v in 0..8 vector
        if j + v < M
          Y[i, v] = if b[j] then f32(h[j]) else f32(s[j])
    Z[i] = 0
""",
    "one element is updated": """
  for i in 0..N
    Z[i] = 0
    for v in 0..8 vector
      Y[i, v] = 0.0
  for i in 0..N + 9
    for v in 0..8 vector
      if i * 8 + v < N * 8
        Z[i] += c[i * 8 + v]
""",
    "the largest of lanes": """
  for i in 0..N
    Z[i] = -7
    for v in 0..8 vector
      Y[i, v] = 0.0
  for i in 0..N + 9
    for v in 0..8 vector
      if i * 8 + v < N * 8 - 3
        Z[i] max= c[i * 8 + v]
""",
    "a loop inside lanes": """
  for i in 0..N + 4
    for v in 0..8 vector
      if i * 8 + v < N * 8
        Y[i, v] = 0.0
        for j in 0..M
          Y[i, v] += X[i, j]
  for i in 0..N
    Z[i] = 0
""",
}
SIZES = ({"N": 1, "M": 1}, {"N": 3, "M": 7}, {"N": 2, "M": 9})
LEVELS = {"x86-64": "sse2", "x86-64-v2": "sse4.2", "x86-64-v3": "avx2", "x86-64-v4": "avx512f"}


@cache
def levels() -> tuple[str, ...]:
    """The targets whose code runs here."""
    has = host.cpu_features()
    return "native", *(name for name, feature in LEVELS.items() if feature in has)


def text_of(name: str) -> str:
    return HEAD.format(LOOPS[name])


def run_everywhere(name: str) -> None:
    for target in levels():
        if "h[" in LOOPS[name] and target in ("x86-64", "x86-64-v2"):
            continue  # f16 is converted by the C compiler's library there
        for sizes in SIZES:
            run_loops(text_of(name), sizes, target)


@pytest.mark.parametrize("name", LOOPS)
def test_loops_stay_inside(name: str):
    run("tests.targets.emit.test_active_lanes:run_everywhere", name, text=text_of(name))


OPERATORS = {
    "gather below the diagonal": """op f(L: f32[N, N], p: i32[N] in 0..N, b: f32[N]) -> y: f32[N] {
      y[i] = sum(j in 0..i + 1: L[i, j] * b[p[j]])
    }""",
    "index that is never right": """op f(X: f32[N, M], c: i32[M], k: i64[N]) -> Y: f32[N, M] {
      Y[i, j] = if c[j] == 100 and k[i] >= 0 and k[i] < M then X[i, k[i]] else 1
    }""",
}


def run_operator(text: str) -> None:
    """Each size by a kernel for symbolic sizes."""
    operator = tx.op(text)
    for n in (1, 3, 4, 8, 13):
        random = np.random.default_rng(n)
        made = {
            "L": random.random((n, n), np.float32),
            "p": random.permutation(n).astype(np.int32),
            "b": random.random(n, np.float32),
            "X": random.random((n, 9), np.float32),
            "c": np.ones(9, np.int32),
            "k": np.full(n, 1 << 40),
        }
        arrays = [made[p.name] for p in operator.signature.inputs]
        for side in SIDES:
            with tx.options(guard=side, specializations=1):
                np.testing.assert_allclose(operator(*arrays), tx.interpret(operator, *arrays), rtol=1e-5)


@pytest.mark.parametrize("name", OPERATORS)
def test_operators_stay_inside(name: str):
    run("tests.targets.emit.test_active_lanes:run_operator", OPERATORS[name], text=OPERATORS[name])


CLAMPED = {
    "beside a condition": "op f(X: f32[16], C: i32[K], D: f32[N]) -> Y: f32[N] { "
    "Y[i] = if i < K then X[C[i] | clamp] else D[i] }",
    "sums of lanes": "op f(X: f32[16], C: i32[N]) -> Y: f32 { Y = sum(i: X[C[i] | clamp]) }",
    "twice": "op f(X: f32[16], D: i64[N] in 0..100000000, C: i32[K]) -> Y: f32[N] { "
    "Y[i] = if D[i] < K then X[C[D[i]] | clamp] else 0 }",
}


def run_clamped(text: str) -> None:
    operator = tx.op(text)
    for n in (1, 8, 13, 16, 100, 4099):
        d = np.where(np.arange(n) % 3 == 0, 2, 99_999_999)
        made = {
            "X": np.arange(16, dtype="f4"),
            "C": np.arange(n if "C: i32[N]" in text else 5, dtype="i4") % 20,
            "D": d if "D: i64" in text else d.astype("f4"),
        }
        arrays = [made[p.name] for p in operator.signature.inputs]
        for side in SIDES:
            with tx.options(guard=side):
                np.testing.assert_allclose(operator(*arrays), tx.interpret(operator, *arrays), rtol=1e-5)


@pytest.mark.parametrize("name", CLAMPED)
def test_places_that_are_read_for_lanes_that_are_on(name: str):
    """A tensor has the elements of all lanes, since their places are clamped; where these are read
    has not.
    """
    run("tests.targets.emit.test_active_lanes:run_clamped", CLAMPED[name], text=CLAMPED[name])


def run_scheduled(steps: str) -> None:
    operator = tx.op(
        "op h(X: f32[N, N], V: f32[N]) -> y: f32[N] { y[i] = sum(j in 0..i + 1: X[i, j] * V[j]) }"
    )
    with tx.options(guard="end"):
        kernel = tx.schedule(operator).replay(steps).compile()
        for n in range(1, 12):
            x, v = np.ones((n, n), np.float32), np.arange(n, dtype=np.float32)
            np.testing.assert_array_equal(kernel(x, v), np.cumsum(v))


@pytest.mark.parametrize(
    "steps",
    [
        ["reorder('io', 'j', 'ii')", "vectorize('ii')"],
        ["reorder('io', 'j', 'ii')", "vectorize('ii')", "parallel('io')"],
    ],
)
def test_lanes_of_rows_below_the_diagonal(steps: list[str]):
    run("tests.targets.emit.test_active_lanes:run_scheduled", "\n".join(["split('i', 4)", *steps]))


@pytest.mark.parametrize(
    "target", ["x86-64", "x86-64-v3", "x86-64-v4", "aarch64", "aarch64+sve", "a64fx", "armv7"]
)
@pytest.mark.parametrize("name", ["behind the end", "one element is updated"])
def test_all_targets_ask(target: str, name: str):
    emitted, _ = emit_llvm(prepared(parse_kernel(text_of(name)), find_target(target)), find_target(target))
    asked = "br i1" if name == "one element is updated" else "select i1"
    words = [line for line in emitted.splitlines() if "vector.reduce.or" in line and " = call" in line]
    assert words
    assert all(f"{asked} {line.split()[0]}" in emitted for line in words)


KNOWN = {
    "the first lane is always on": """kernel f(X: f32[N], V: f32[N]) -> (Y: f32[N])
  for io in 0..(N + 7) // 8
    for ii in 0..8 vector
      if io * 8 + ii < N
        Y[io * 8 + ii] = X[io * 8 + ii] * V[io * 8]
""",
    "the element is always there": """kernel f(A: f32[N, M], B: f32[M, N]) -> (Y: f32[N, N])
  for i in 0..N
    for jo in 0..N + 3
      for ji in 0..8 vector
        if jo * 8 + ji < N
          Y[i, jo * 8 + ji] = 0.0
          for k in 0..M
            Y[i, jo * 8 + ji] += A[i, k] * B[k, jo * 8 + ji]
""",
    "a condition around says so": """kernel f(V: f32[N], X: f32[8 * N]) -> (Y: f32[8 * N])
  for i in 0..N + 5
    if i < N
      for v in 0..8 vector
        if X[i * 8 + v] > 0.0
          Y[i * 8 + v] = V[i]
""",
}


@pytest.mark.parametrize("name", KNOWN)
def test_what_is_known_is_not_asked(name: str):
    emitted, _ = emit_llvm(
        prepared(parse_kernel(KNOWN[name]), find_target("x86-64-v4")), find_target("x86-64-v4")
    )
    assert "vector.reduce.or" not in emitted.replace("declare", "")


ON_A_GPU = HEAD.format("""
  for i in 0..N block.x
    for t in 0..4 thread.x
      for v in 0..2 vector
        Y[i, t * 2 + v] = if c[i * 8 + t * 2 + v] > 0 and k[i] >= 0 and k[i] < M then V[k[i]] else 1.0
      if t == 0
        Z[i] = 0
""")


@pytest.mark.parametrize("name", ("sm_80", "sm_90a"))
def test_on_a_gpu_nothing_lies_in_global_memory(name: str):
    """LLVM takes an address from the memory that the tensor is in, and none of another."""
    target = find_target(name)
    artifact = compile_kernel(prepared(parse_kernel(ON_A_GPU), target), target)
    assert (
        "@tx_nothing = internal addrspace(1) constant" in artifact.emitted
        and "ld.global" in artifact.assembly
    )


WHOLE = """kernel f(X: f32[N, 16], c: u8[N, 16]) -> (Y: f32[N, 16])
  for i in 0..N
    for v in 0..{lanes} vector
      if v < 16
        Y[i, v] = if X[i, v] > 0.0 then if c[i, v] == 1 then X[i, 15 - v] else 1.0 else 2.0
"""


@pytest.mark.parametrize("target", ["x86-64-v2", "x86-64-v3", "x86-64-v4", "aarch64"])
def test_elements_that_all_lanes_have_are_loaded_without_a_mask(target: str):
    """A mask of bytes is a branch for each lane where processors have none."""
    machine = find_target(target)
    for lanes, masked in ((16, False), (19, True)):
        text = WHOLE.format(lanes=lanes)
        emitted, _ = emit_llvm(prepared(parse_kernel(text), machine), machine)
        assert ("call <" in emitted and "masked.load" in emitted.replace("declare", "")) == masked


def test_values_under_conditions_of_lanes():
    op = tx.op(
        "op f(X: f32[N, 16], c: u8[N, 16], d: i32[N, 16]) -> Y: f32[N, 16] { Y[i, j] = if c[i, j] == 1 "
        "then f32(100 // d[i, j]) + sqrt(X[i, j]) else 2 }"
    )
    rng = np.random.default_rng(0)
    x, c, d = (
        rng.normal(size=(9, 16)).astype("f4"),
        rng.integers(0, 2, (9, 16)).astype("u1"),
        np.zeros((9, 16), "i4"),
    )
    d[c == 1], x[c == 1] = rng.integers(1, 9, int((c == 1).sum())), 4
    expected = np.where(c == 1, 100 // np.maximum(d, 1) + 2.0, 2).astype("f4")
    np.testing.assert_array_equal(op(x, c, d), expected)
