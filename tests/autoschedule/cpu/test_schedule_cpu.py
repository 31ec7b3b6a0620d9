"""What the default schedule is for."""

from __future__ import annotations

import re
from dataclasses import replace

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

import texpr as tx
from bench.inner.assembly import inner_loops
from tests.profiles import examples
from texpr.autoschedule.driver import auto
from texpr.ir.machine import Machine
from texpr.targets import find_target

matmul = tx.op(
    "op matmul(A: f32[M, K], B: f32[K, N]) -> C: f32[M, N] { C[i, j] = sum(k: A[i, k] * B[k, j]) }"
)


def test_the_inner_loop_of_a_matmul_stays_in_registers():
    asm = tx.schedule(matmul, M=64, N=96, K=64).auto("x86-64-v3").compile("x86-64-v3").asm
    loops = re.findall(r"^(\.L\w+):((?:(?!^\.L\w+:).)*?\bj\w+\s+\1\b)", asm, re.M | re.S)
    inner = max((body for _, body in loops), key=lambda body: len(re.findall(r"vfmadd\w+ps.*ymm", body)))
    assert len(re.findall(r"vfmadd\w+ps.*ymm", inner)) >= 8
    assert "(%rsp" not in inner and "(%rbp" not in inner


@pytest.mark.parametrize(
    "target, n, register, sums, loads",
    [("x86-64-v4", 2000, "zmm", 48, 6), ("x86-64-v4", 2048, "zmm", 48, 8), ("x86-64-v3", 2048, "ymm", 12, 2)],
)
def test_the_inner_loop_of_a_packed_matmul_stays_in_registers(target, n, register, sums, loads):
    """Two terms of each sum an iteration, where registers are many. Rows of 2048 elements push each
    other out of the first cache: six of them are read together, where others are eight."""
    s = tx.schedule(matmul, M=n, N=n, K=n).auto(target)
    assert "cache_read" in s.script()
    asm = s.compile(target).asm
    loops = re.findall(r"^(\.L\w+):((?:(?!^\.L\w+:).)*?\bj\w+\s+\1\b)", asm, re.M | re.S)
    inner = max(
        (body for _, body in loops), key=lambda body: len(re.findall(rf"vfmadd231ps.*{register}", body))
    )
    assert len(re.findall(rf"vfmadd231ps.*{register}", inner)) == sums
    assert len(re.findall(rf"vmovups\s+\S+, %{register}", inner)) == loads
    assert "(%rsp" not in inner
    assert not re.search(rf"vmov\w+\s+%{register}\d+, ", inner)


def test_transposing_an_operand_takes_no_register_from_the_sums():
    linear = tx.op(
        "op linear(X: f32[M, K], W: f32[N, K]) -> Y: f32[M, N] { Y[i, j] = sum(k: X[i, k] * W[j, k]) }"
    )
    s = tx.schedule(linear, M=256, N=512, K=512).auto("x86-64-v4")
    assert "transpose16_f32" in s.script()
    asm = s.compile("x86-64-v4").asm
    loops = re.findall(r"^(\.L\w+):((?:(?!^\.L\w+:).)*?\bj\w+\s+\1\b)", asm, re.M | re.S)
    inner = max((body for _, body in loops), key=lambda body: len(re.findall(r"vfmadd231ps.*zmm", body)))
    assert "(%rsp" not in inner and not re.search(r"\bvperm\w", asm)


@pytest.mark.parametrize(("n", "products", "loads", "rows"), [(64, 32, 4, 8), (48, 36, 6, 6), (96, 48, 6, 8)])
def test_rows_of_a_small_product_are_shared_evenly_by_four_cores(n, products, loads, rows):
    s = tx.schedule(matmul, M=n, N=n, K=40).auto("x86-64-v4")
    assert f'split("C.i", {rows}, tail="overlap")' in s.script()
    loops = re.findall(
        r"^(\.L\w+):((?:(?!^\.L\w+:).)*?\bj\w+\s+\1\b)", s.compile("x86-64-v4").asm, re.M | re.S
    )
    inner = max((body for _, body in loops), key=lambda body: len(re.findall(r"vfmadd231ps.*zmm", body)))
    assert (
        len(re.findall(r"vfmadd231ps.*zmm", inner)) == products
        and len(re.findall(r"vmovups\s+\S+, %zmm", inner)) == loads
    )
    A, B = (np.random.default_rng(0).integers(-4, 5, shape).astype("f4") for shape in ((n, 40), (40, n)))
    assert np.array_equal(np.asarray(tx.schedule(matmul, M=n, N=n, K=40).auto().compile()(A, B)), A @ B)


@pytest.mark.parametrize(
    ("m", "n", "copied"),
    [(128, 128, False), (256, 256, False), (128, 120, True), (128, 1024, True), (8192, 128, True)],
    ids=[
        "near",
        "larger than the first cache",
        "vectors are no lines",
        "rows in one place",
        "rows from memory",
    ],
)
def test_what_a_core_fetches_fast_enough_is_not_copied(m, n, copied):
    assert ('cache_read("B"' in tx.schedule(matmul, M=m, N=n, K=256).auto("x86-64-v4").script()) == copied


@pytest.mark.parametrize(("terms", "depth"), [(1024, 0), (1040, 260), (2048, 256), (4096, 256)])
def test_blocks_of_terms_move_least_memory(terms, depth):
    """Half of a second cache of 512 KiB holds 65536 elements of f32: sums of many terms go to
    memory for every 362 at most.
    """
    script = tx.schedule(matmul, M=512, N=1024, K=terms).auto("x86-64-v4").script()
    blocks = [line for line in script.splitlines() if re.match(r'split\("C.k".*"clip"', line)]
    assert blocks == [f'split("C.k", {depth}, tail="clip")'] * bool(depth)


def test_a_packed_matmul_has_the_bits_of_a_plain_one():
    sizes = {"M": 139, "N": 1061, "K": 1031}
    a, b = (
        np.random.default_rng(0).standard_normal(shape, dtype=np.float32)
        for shape in ((139, 1031), (1031, 1061))
    )
    packed = tx.schedule(matmul, **sizes).auto()
    if "cache_read" not in packed.script():
        pytest.skip("this machine's caches hold the operand")
    plain = (
        tx.schedule(matmul, **sizes)
        .contract()
        .split("j", 16, tail="peel")
        .reorder("i", "jo", "k", "ji")
        .vectorize("ji")
    )
    expected = plain.compile()(a, b)
    for threads in (1, 2):
        with tx.options(threads=threads):
            assert (packed.compile()(a, b) == expected).all()


STREAMED = {
    "columns": ("op f(X: f32[K, N]) -> s: f32[N] { s[j] = sum(k: X[k, j]) }", {"K": 2051, "N": 2100}, "k"),
    "vector": (
        "op f(x: f32[K], B: f32[K, N]) -> y: f32[N] { y[j] = sum(k: x[k] * B[k, j]) }",
        {"K": 2051, "N": 2100},
        "k",
    ),
    "rows": (
        "op f(A: f32[M, K], B: f32[K, N]) -> C: f32[M, N] { C[i, j] = sum(k: A[i, k] * B[k, j]) }",
        {"M": 11, "K": 2051, "N": 2100},
        "k",
    ),
}


@pytest.mark.parametrize("name", STREAMED)
def test_a_large_operand_is_walked_along(name):
    """Several rows together: the loop over rows stands outside the one over tiles of lanes. Sums
    of products with rows keep their order.
    """
    text, sizes, depth = STREAMED[name]
    op = tx.op(text)
    s = tx.schedule(op, **sizes).auto("x86-64-v4")
    assert re.search(
        rf'reorder\("\w\.joo", "\w\.{depth}o+", ("\w\.{depth}o+i", )*"\w\.joi", .*"\w\.{depth}i", ',
        s.script(),
    )
    assert ("rfactor" in s.script()) is (name != "rows") and s.certificate()
    arrays = [
        np.random.default_rng(0).integers(-4, 5, [sizes[v.name] for v in t.shape]).astype("f4")
        for t in op.program().inputs
    ]
    expected = tx.interpret(op, *arrays)
    for threads in (1, 2):
        with tx.options(threads=threads):
            assert (tx.schedule(op, **sizes).replay(s.script()).compile()(*arrays) == expected).all()


@pytest.mark.parametrize("shape", [(700, 400), (3, 100_003), (1, 300_000), (300_000, 1)])
def test_few_sums_of_many_terms_are_shared_among_threads(shape):
    """As many parts whatever the number of threads: the same bits."""
    op = tx.op("op f(X: f32[N, M]) -> s: f32[] { s = sum(i, j: X[i, j]) }")
    s = tx.schedule(op, N=shape[0], M=shape[1]).auto()
    assert 'rfactor("s.ijo", reassoc=True)' in s.script() and s.script().endswith('parallel("s.ijo")\n'), (
        s.script()
    )
    assert s.certificate()
    X = np.random.default_rng(0).standard_normal(shape, dtype=np.float32)
    found = []
    for threads in (1, 2):
        with tx.options(threads=threads):
            found.append(tx.schedule(op, N=shape[0], M=shape[1]).auto().compile()(X))
    assert found[0] == found[1]
    np.testing.assert_allclose(found[0], X.sum(dtype="f8"), atol=2**-23 * np.abs(X).sum())


TURNED = {
    "matrix": (
        "op f(X: f32[N, M], b: f32[N]) -> Y: f32[M, N] { Y[j, i] = X[i, j] * 2 + b[i] }",
        {"N": 83, "M": 150},
    ),
    "channels": (
        "op f(X: f32[B, C, H, W]) -> Y: f32[B, H, W, C] { Y[b, y, x, c] = X[b, c, y, x] }",
        {"B": 2, "C": 33, "H": 3, "W": 70},
    ),
    "two": (
        "op f(A: f64[N, M], B: f64[N, M]) -> Y: f64[M, N] { Y[j, i] = A[i, j] - B[i, j] }",
        {"N": 40, "M": 37},
    ),
}


@pytest.mark.parametrize("name", TURNED)
def test_what_is_read_across_is_transposed_in_registers(name):
    text, sizes = TURNED[name]
    op = tx.op(text)
    for target in ("x86-64-v3", "x86-64-v4", "native"):
        s = tx.schedule(op, **sizes).auto(target)
        assert s.certificate()
        assert 'tensorize("' in s.script() or target == "native"
    arrays = [
        np.random.default_rng(0)
        .integers(-9, 9, [sizes[v.name] for v in t.shape])
        .astype("f4" if t.dtype.bits == 32 else "f8")
        for t in op.program().inputs
    ]
    assert (s.compile()(*arrays) == tx.interpret(op, *arrays)).all()


@pytest.mark.parametrize(
    "value, n, m, streams",
    [
        ("X[i, j]", 4096, 4096, True),
        ("X[i, j]", 4096, 1024, False),
        ("exp(X[i, j])", 4096, 1024, True),
        ("X[i, j] * X[i, j] * X[i, j] * X[i, j] * X[i, j]", 4096, 1024, True),
        ("exp(X[i, j])", 2048, 1024, False),
        ("X[i, j]", 512, 512, False),
        ("X[i, j]", 4096, 4095, False),
    ],
)
def test_outputs_that_caches_do_not_hold_are_written_past_them(value, n, m, streams):
    """Where the machine says that this pays, and rows begin at whole lines; behind arithmetic
    also where all caches together might do.
    """
    op = tx.op(f"op f(X: f32[N, M], b: f32[M]) -> Y: f32[N, M] {{ Y[i, j] = {value} + b[j] }}")
    naive = tx.schedule(op, N=n, M=m).kernel
    machine = Machine(64, 32, (32 << 10, 1 << 20, 32 << 20), 2)
    for pays in (False, True):
        steps, _ = auto(naive, replace(machine, prefers_nontemporal_stores=pays))
        assert any(step.name == "nontemporal" for step in steps) == (streams and pays)


def test_what_is_read_along_and_across_is_not():
    s = tx.schedule(tx.op("op f(X: f32[N, N]) -> Y: f32[N, N] { Y[i, j] = X[i, j] + X[j, i] }"), N=100).auto(
        "x86-64-v4"
    )
    assert "cache_read" not in s.script() and s.certificate()


def test_rows_too_short_for_lanes_are_walked_as_one():
    """A product whose vectors would be 14 long: pointwise windows over images with channels
    first.
    """
    op = tx.op(
        "op f(X: f32[C, H, W], F: f32[K, C]) -> Y: f32[K, H, W] { Y[k, y, x] = sum(c: X[c, y, x] * F[k, c]) }"
    )
    s = tx.schedule(op, C=40, H=14, W=14, K=16).auto("x86-64-v4")
    assert 'fuse("Y.y", "Y.x"' in s.script() and s.certificate()
    asm = s.compile("x86-64-v4").asm
    assert "vgather" not in asm and "vscatter" not in asm
    X, F = (np.random.default_rng(0).integers(-9, 9, n).astype("f4") for n in ((40, 14, 14), (16, 40)))
    assert (op(X, F) == tx.interpret(op, X, F)).all()


def test_elements_that_take_long_to_compute_have_code_for_one_row():
    text = "op f(X: f32[N, M], b: f32[M]) -> Y: f32[N, M] { Y[i, j] = tanh(X[i, j] + b[j]) }"
    script = tx.schedule(tx.op(text), N=96, M=128).auto("x86-64-v4").script()
    assert "unroll" not in script and 'split("Y.j", 16' in script


@pytest.mark.parametrize("blocks, chunk", [(15625, 125), (16384, 256), (15629, 256)])
def test_chunks_leave_no_rest_where_some_do(blocks, chunk):
    script = (
        tx.schedule(tx.op("op f(X: f32[N]) -> Y: f32[N] { Y[i] = X[i] + 1 }"), N=64 * blocks)
        .auto("x86-64-v4")
        .script()
    )
    assert f'split("Y.io", {chunk}, tail="peel")' in script


STENCIL = (
    "op f(X: f32[N, M]) -> Y: f32[N - 2, M] require N >= 3 { Y[i, j] = X[i, j] + X[i + 1, j] * 2 + X[i + 2, "
    "j] }"
)
BIAS = "op f(X: f32[N, M], b: f32[M]) -> Y: f32[N, M] { Y[i, j] = max(X[i, j] + b[j], 0) }"
CENTRED = (
    "op f(X: f32[N, M], b: f32[M]) -> Y: f32[N, M] { m[i] = max(j: X[i, j])\n Y[i, j] = X[i, j] - m[i] + "
    "b[j] }"
)


@pytest.mark.parametrize("text, m, rows, loads", [(STENCIL, 128, 4, 4 + 2), (BIAS, 2304, 2, 2 + 1)])
def test_rows_that_share_what_they_read_run_together(text, m, rows, loads):
    """Rows of two registers, more where more is in common: each is loaded once, or added from
    memory; none of it goes to the stack.
    """
    s = tx.schedule(tx.op(text), N=94, M=m).auto("x86-64-v4")
    assert 'unroll("Y.ii")' in s.script() and s.certificate()
    asm = s.compile("x86-64-v4").asm
    inner = max(
        re.findall(r"^\.L\w+:(?:(?!^\.L\w+:).)*", asm, re.M | re.S),
        key=lambda block: len(re.findall(r"vmovup.*zmm\d+, ", block)),
    )
    assert len(re.findall(r"vmovups\s+%zmm\d+, ", inner)) == 2 * rows
    assert len(re.findall(r"\(%r\w+.*%zmm\d+$", inner, re.M)) == 2 * loads and "(%rsp" not in inner
    X = np.random.default_rng(0).integers(-9, 9, (94, m)).astype("f4")
    arrays = (X,) if text is STENCIL else (X, X[0].copy())
    assert (tx.op(text)(*arrays) == tx.interpret(tx.op(text), *arrays)).all()


def test_rows_whose_intermediates_are_near_run_alone():
    assert "unroll" not in tx.schedule(tx.op(CENTRED), N=94, M=128).auto("x86-64-v4").script()


@pytest.mark.parametrize("n, inlined", [(64, False), (4096, True)])
def test_what_would_go_to_memory_is_rather_computed_again(n, inlined):
    op = tx.op("""op blur(X: f32[N, M]) -> Y: f32[N - 2, M - 2] require N >= 3, M >= 3 {
      H[i, j] = (X[i, j] + X[i, j + 1] + X[i, j + 2]) / 3  for i in 0..N, j in 0..M - 2
      Y[i, j] = (H[i, j] + H[i + 1, j] + H[i + 2, j]) / 3
    }""")
    steps, _ = auto(tx.schedule(op, N=n, M=n).kernel, Machine(64, 32, (32 << 10, 1 << 20, 32 << 20), 2))
    assert any(step.name == "inline" for step in steps) == inlined


ATTENTION = """op attention(Q: f32[B, L, D], K: f32[B, M, D], V: f32[B, M, D]) -> O: f32[B, L, D] require M >= 1 {
  S[b, i, j] = sum(d: Q[b, i, d] * K[b, j, d]) * rsqrt(f32(D))
  m[b, i] = max(j: S[b, i, j])
  e[b, i, j] = exp(S[b, i, j] - m[b, i])
  t[b, i] = sum(j: e[b, i, j])
  O[b, i, d] = sum(j: e[b, i, j] * V[b, j, d]) / t[b, i]
}"""
SERVER = Machine(64, 32, (32 << 10, 1 << 20, 32 << 20), 2, instructions=frozenset({"transpose16_f32"}))
RUNS_HERE = find_target("native").machine.instructions >= SERVER.instructions
"""True if this processor has the instructions of `SERVER`: only then a schedule for it runs
here.
"""


@pytest.mark.parametrize(
    "sizes", [{"B": 4, "L": 512, "M": 512, "D": 64}, {"B": 2, "L": 300, "M": 700, "D": 48}]
)
def test_scores_of_a_block_of_rows_stay_near(sizes):
    """All nests run in blocks of rows; what lies along the sum is turned once for all blocks of
    a batch.
    """
    op = tx.op(ATTENTION)
    steps, _ = auto(tx.schedule(op, **sizes).kernel, SERVER)
    script = "".join(f"{step}\n" for step in steps)
    assert all(f'compute_at("{t}", "O.io", recompute=False)' in script for t in "Smet")
    assert 'cache_read("K", "O.b")' in script and ("transpose16_f32" in script) == (sizes["M"] % 32 == 0)
    s = tx.schedule(op, **sizes).replay(script)
    assert s.certificate()
    arrays = [
        np.random.default_rng(k).standard_normal((sizes["B"], sizes[n], sizes["D"]), np.float32)
        for k, n in enumerate("LMM")
    ]
    q, k, v = (a.astype("f8") for a in arrays)
    weights = np.exp(q @ k.swapaxes(1, 2) / sizes["D"] ** 0.5)
    expected = weights @ v / weights.sum(axis=2, keepdims=True)
    for threads in (1, 2) if RUNS_HERE else ():
        with tx.options(threads=threads):
            np.testing.assert_allclose(s.compile()(*arrays), expected, atol=2e-5)


@pytest.mark.parametrize(("terms", "block"), [(512, 64), (128, 0), (509, 0)])
def test_what_moves_with_the_lanes_stays_in_the_first_cache(terms: int, block: int):
    """All tiles of rows add 64 rows of V, half of 32 KiB, before the next; not where V fits, nor
    where blocks are not alike.
    """
    steps, _ = auto(tx.schedule(tx.op(ATTENTION), B=8, L=512, M=terms, D=64).kernel, SERVER)
    script = "".join(f"{step}\n" for step in steps)
    blocks = f'split("O.j", {block}, tail="exact")\nreorder("O.jo", "O.iio", "O.ji", "O.iii", "O.d")\n'
    assert (blocks in script) == bool(block) and ("O.jo" in script) == bool(block)


def test_products_of_attention_keep_their_sums_in_registers():
    naive = tx.schedule(tx.op(ATTENTION), B=4, L=512, M=512, D=64)
    script = "".join(f"{step}\n" for step in auto(naive.kernel, SERVER)[0])
    asm = naive.replay(script).compile("x86-64-v4").asm
    loops = re.findall(r"^(\.L\w+):((?:(?!^\.L\w+:).)*?\bj\w+\s+\1\b)", asm, re.M | re.S)
    inner = [b for _, b in loops if len(re.findall(r"vfmadd231ps.*zmm", b)) >= 16]
    assert len(inner) >= 2 and not any("(%rsp" in b for b in inner) and "vgather" not in asm


@pytest.mark.parametrize(
    ("rows", "terms", "turned"),
    [(64, 32, True), (64, 512, True), (16, 32, True), (16, 512, False), (4, 32, False)],
)
def test_a_small_operand_whose_lanes_lie_apart_is_turned_for_many_rows_or_few_terms(rows, terms, turned):
    """Scores of attention: sums of few terms, which would be added up across vectors."""
    op = tx.op(
        "op s(Q: f32[B, L, D], K: f32[B, M, D]) -> S: f32[B, L, M] { S[b, i, j] = sum(d: Q[b, i, d] * K[b, "
        "j, d]) }"
    )
    s = tx.schedule(op, B=2, L=rows, M=64, D=terms).replay(
        "".join(f"{step}\n" for step in auto(tx.schedule(op, B=2, L=rows, M=64, D=terms).kernel, SERVER)[0])
    )
    assert ("transpose16_f32" in s.script()) is turned and ("rfactor" in s.script()) is not turned
    assert s.certificate()
    q, k = (np.random.default_rng(n).standard_normal((2, n, terms), np.float32) for n in (rows, 64))
    if RUNS_HERE or not turned:
        np.testing.assert_allclose(s.compile()(q, k), q @ k.swapaxes(1, 2), atol=1e-3)


def test_what_is_read_along_and_across_is_turned_for_those_alone_who_read_it_across():
    """The gradient of attention reads K and V both ways: two products gather nothing, the others
    read what is given.
    """
    naive = tx.schedule(tx.grad(tx.op(ATTENTION)), B=8, L=128, M=128, D=64)
    script = "".join(f"{step}\n" for step in auto(naive.kernel, SERVER)[0])
    assert 'cache_read("K", "S.jo")' in script and 'cache_read("V", "de.jo")' in script
    s = naive.replay(script)
    products = [line for line in str(s).splitlines() if "dQ_acc[" in line and "+=" in line]
    assert products and all("K[b, " in line for line in products)
    assert s.certificate()


NORMALIZED = """op normalized(X: f32[N, D], W: f32[D]) -> Y: f32[N, D] require D >= 1 {
  m[i] = sum(k: X[i, k]) / f32(D)
  v[i] = sum(k: (X[i, k] - m[i]) ** 2) / f32(D)
  Y[i, j] = (X[i, j] - m[i]) * rsqrt(v[i] + 1e-5) * W[j]
}"""


@pytest.mark.parametrize(("n", "joined"), [(1024, True), (32, False)])
def test_sums_that_read_the_same_rows_read_them_together(n, joined):
    """Where the second cache does not hold the inputs; the sums along the columns stay apart."""
    naive = tx.schedule(tx.grad(tx.op(NORMALIZED)), N=n, D=512)
    steps, _ = auto(naive.kernel, SERVER)
    script = "".join(f"{step}\n" for step in steps)
    sums = ("m", "v", "v_rsqrt", "dX_sum", "dX_sum_")
    assert all(f'compute_at("{t}", "dX.i", recompute=False)' in script for t in sums) == joined
    s = naive.replay(script)
    assert s.certificate()


def test_small_intermediates_are_not_cut_into_blocks():
    steps, _ = auto(tx.schedule(tx.op(ATTENTION), B=4, L=64, M=64, D=32).kernel, SERVER)
    assert not any(
        step.name == "split" and dict(step.options).get("tail") == "exact" and step.args[1] != 2
        for step in steps
    )


def test_intermediates_are_computed_as_far_inside_as_keeps_them_near():
    op = tx.op("""op softmax(X: f32[B, N, D]) -> Y: f32[B, N, D] require D >= 1 {
      m[b, i] = max(j: X[b, i, j])
      e[b, i, j] = exp(X[b, i, j] - m[b, i])
      Y[b, i, j] = e[b, i, j] / sum(k: e[b, i, k])
    }""")
    for n, at in ((1024, "Y.i"), (32, "Y.b")):
        steps, _ = auto(tx.schedule(op, B=8, N=n, D=512).kernel, SERVER)
        assert [str(s) for s in steps if s.name == "compute_at"][
            -1
        ] == f"compute_at('m', '{at}', recompute=False)".replace("'", '"')


WAVES = {
    "lcs": (
        """op f(X: i32[N], Z: i32[M]) -> L: i32[N, M] {
      L[i, j] = if X[i] == Z[j] then L[i-1, j-1 | 0] + 1 else max(L[i-1, j | 0], L[i, j-1 | 0])
    }""",
        1,
    ),
    "smooth": (
        "op f(A: f64[N, M]) -> Y: f64[N, M] { Y[i, j] = 0.25 * (A[i, j] + Y[i-1, j+1 | 0] + Y[i, j-1 | 0]) }",
        2,
    ),
}


@pytest.mark.parametrize("name", WAVES)
def test_rows_of_a_recurrence_follow_each_other(name):
    """As near as leaves them independent; the remaining rows are computed too."""
    text, behind = WAVES[name]
    op = tx.op(text)
    s = tx.schedule(op, N=21, M=64).auto()
    assert f'skew("{"L" if name == "lcs" else "Y"}.j", ' in s.script() and f", {behind})" in s.script()
    assert s.certificate()
    arrays = [
        np.random.default_rng(0)
        .integers(0, 4, [{"N": 21, "M": 64}[v.name] for v in t.shape])
        .astype("i4" if name == "lcs" else "f8")
        for t in op.program().inputs
    ]
    assert (s.compile()(*arrays) == tx.interpret(op, *arrays)).all()


def test_a_recurrence_that_has_lanes_is_no_wavefront():
    s = tx.schedule(
        tx.op("op f(A: f64[N, M]) -> Y: f64[N, M] { Y[i, j] = A[i, j] + Y[i-1, j | 0] }"), N=40, M=64
    ).auto()
    assert "skew" not in s.script() and "vectorize" in s.script()


BACKWARD = """op f(X: f32[T, B, H], W: f32[2, H, H]) -> (Y: f32[T, B, 2, H], S: f32[T, B, H]) {
  S[t, b, j] = sum(q, k: Y[t + 1, b, q, k | 0] * W[q, k, j])
  Y[t, b, q, j] = (if q == 0 then tanh(X[t, b, j] + S[t, b, j]) else 0) + (if q == 1 then X[t, b, j] * S[t, b, j] else 0)
}"""


def test_the_first_time_of_a_recurrence_that_conditions_of_its_sums_ask_for_has_code_of_its_own():
    """The product in the other iterations has no conditions, is not copied again and again, and
    what is told apart is in copies.
    """
    op = tx.op(BACKWARD)
    s = tx.schedule(op, T=64, B=8, H=64).auto()
    script = s.script()
    assert 'peel("S.t", 1, 0)' in script and 'unroll("Y.q")' in script and 'vectorize("Y.j' in script
    assert "cache_read" not in script
    assert s.certificate()
    arrays = [
        np.random.default_rng(0).standard_normal(shape).astype("f4") / 16
        for shape in ((64, 8, 64), (2, 64, 64))
    ]
    for found, wanted in zip(s.compile()(*arrays), tx.interpret(op, *(a.astype("f4") for a in arrays))):
        np.testing.assert_allclose(found, wanted, rtol=1e-4, atol=1e-5)


DEPTHWISE = """op depthwise(X: f32[N, H, W, C], F: f32[R, Q, C]) -> Y: f32[N, H - R + 1, W - Q + 1, C] require R <= H, Q <= W {
  Y[n, y, x, c] = sum(r, q: X[n, y + r, x + q, c] * F[r, q, c])
}"""


AGAIN = """op again(A: f32[N, K], W: f32[Q, K, K]) -> h: f32[3, N, K] {
  let g: f32[2, N, Q, K]
  h[0, n, j] = A[n, j]
  g[t, n, q, j] = h[t, n, j] * f32(q + 1)
  h[t + 1, n, j] = sum(q in 0..Q, k in 0..K: g[t, n, q, k] * W[q, k, j])  for t in 0..2
}"""


@pytest.mark.parametrize(
    ("q", "near", "cores", "order"),
    [
        (6, 16 << 10, 2, '"h.1.noo", "h.1.q", "h.1.ko", "h.1.noi"'),
        (6, 16 << 10, 1, '"h.1.q", "h.1.ko", "h.1.no"'),
        (2, 16 << 10, 2, '"h.1.no", "h.1.jo", "h.1.q", "h.1.k"'),
        (6, 4 << 10, 2, '"h.1.no", "h.1.jo", "h.1.q", "h.1.k"'),
    ],
)
def test_a_recurrence_adds_blocks_of_terms_whose_operand_the_first_cache_holds(
    q: int, near: int, cores: int, order: str
):
    machine = Machine(vector_bytes=32, vector_registers=32, caches=(near, 1 << 20), cores=cores)
    s = tx.schedule(tx.op(AGAIN), N=32, K=64, Q=q)
    steps, s.kernel = auto(s.kernel, machine)
    s.steps[:] = steps
    assert f"reorder({order}" in s.script()
    assert s.certificate()
    rng = np.random.default_rng(0)
    a, w = rng.standard_normal((32, 64)).astype("f4"), rng.standard_normal((q, 64, 64)).astype("f4") / 8
    expected = [a]
    for _ in range(2):
        expected.append(sum((i + 1) * expected[-1] @ w[i] for i in range(q)))
    np.testing.assert_allclose(s.compile()(a, w), expected, rtol=2e-5, atol=2e-3)


def test_neighbours_under_a_short_window_load_what_they_share_once():
    """8 positions, 2 vectors, windows of 3 columns: 48 products of 10 columns of 2 vectors and 3
    weights of 2.
    """
    s = tx.schedule(tx.op(DEPTHWISE), N=2, H=20, W=26, C=32, R=3, Q=3).auto("x86-64-v4")
    assert s.script().splitlines()[1:] == [
        'split("Y.x", 8, tail="peel")',
        'reorder("Y.n", "Y.y", "Y.xo", "Y.r", "Y.q", "Y.xi", "Y.c")',
        'reorder("Y.xi", "Y.q", "Y.c")',
        'unroll("Y.xi")',
        'unroll("Y.q")',
        'vectorize("Y.c")',
        'reorder("Y.y", "Y.n")',
        'parallel("Y.y")',
    ]
    asm = s.compile("x86-64-v4").asm
    loops = re.findall(r"^(\.L\w+):((?:(?!^\.L\w+:).)*?\bj\w+\s+\1\b)", asm, re.M | re.S)
    inner = max((body for _, body in loops), key=lambda body: body.count("vfmadd"))
    assert (
        inner.count("vfmadd") == 8 * 2 * 3
        and len(re.findall(r"\(%r.*zmm", inner)) == 10 * 2 + 3 * 2
        and "(%rsp" not in inner
    )


def test_longer_windows_are_loops():
    s = tx.schedule(tx.op(DEPTHWISE), N=2, H=20, W=26, C=32, R=5, Q=5).auto("x86-64-v4")
    assert 'unroll("Y.q")' not in s.script()


@given(
    sizes=st.fixed_dictionaries(
        {
            "N": st.integers(1, 2),
            "H": st.integers(4, 7),
            "W": st.integers(4, 19),
            "C": st.integers(8, 35),
            "R": st.integers(1, 4),
            "Q": st.integers(1, 4),
        }
    )
)
@examples(8)
def test_sums_of_short_windows_are_those_of_the_interpreter(sizes):
    random = np.random.default_rng(0)
    X, F = (
        random.integers(-4, 5, [sizes[n] for n in dims]).astype("f4")
        for dims in (("N", "H", "W", "C"), ("R", "Q", "C"))
    )
    s = tx.schedule(tx.op(DEPTHWISE), **sizes).auto()
    assert (
        np.array_equal(np.asarray(s.compile()(X, F)), np.asarray(tx.interpret(tx.op(DEPTHWISE), X, F)))
        and s.certificate()
    )


@pytest.mark.parametrize("reduction", ["sum", "max"])
@pytest.mark.parametrize("length", [100, 256])
def test_sums_along_rows_of_any_length_stay_in_registers(reduction, length):
    """Only the last vector of a row may have lanes that are off: a condition in the loop would
    send all sums to memory and back.
    """
    op = tx.op(f"op f(A: f32[N, M], x: f32[M]) -> y: f32[N] {{ y[i] = {reduction}(j: A[i, j] * x[j]) }}")
    s = tx.schedule(op, N=40, M=length).auto("x86-64-v4")
    assert ('peel("y.jo", 0, 1)' in s.script()) == (length == 100) and s.certificate()
    inner = [
        lines
        for lines in inner_loops(s.compile("x86-64-v4").asm)
        if any("mulps" in line or "fmadd" in line for line in lines)
    ]
    assert inner and not any(re.search(r"\(%rsp|zmm\d+, .*\(%r", line) for lines in inner for line in lines)
    A, x = np.random.default_rng(0).integers(-9, 9, (40, length)).astype("f4"), np.arange(length, dtype="f4")
    assert (op(A, x) == tx.interpret(op, A, x)).all()


def test_recurrences_along_rows_run_side_by_side():
    op = tx.op(
        "op f(X: f64[N, M]) -> Y: f64[N, M] { Y[i, j] = if j == 0 then X[i, 0] else X[i, j] / (2 + Y[i, j - "
        "1]) }"
    )
    s = tx.schedule(op, N=42, M=70).auto("x86-64-v4")
    assert 'reorder("Y.j", "Y.ii")' in s.script() and 'unroll("Y.ii")' in s.script() and s.certificate()
    X = np.random.default_rng(0).random((42, 70)) + 1
    assert (op(X) == tx.interpret(op, X)).all()


def test_rows_are_not_computed_where_they_would_keep_iterations_from_running_at_once():
    """Rows of T that lie between two tiles of rows of Y would be computed by one of them and
    used by both.
    """
    op = tx.op("""op f(X: f64[N, M]) -> Y: f64[N, M] {
      T[i, j] = if j == 0 then X[i, 0] else X[i, j] / (2 + T[i, j - 1])  for i in 0..N - 1
      Y[i, j] = if i == 0 then X[i, j] else if j == 0 then T[i - 1, j] else T[i - 1, j] / (2 + Y[i, j - 1])
    }""")
    s = tx.schedule(op, N=400, M=300).auto("x86-64-v4")
    assert 'parallel("Y.io")' in s.script() and 'parallel("T.io")' in s.script()
