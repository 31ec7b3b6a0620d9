"""Buffers: what the steps make, what they refuse, and that tiles of every size keep every bit."""

from __future__ import annotations

import numpy as np
import pytest

import texpr as tx
from tests.properties.schedule.drawing import Scheduled, check, random_arrays
from tests.schedule.steps.cases import OPS, SQUARE, TILES
from texpr.autoschedule.cpu.gemm import packed
from texpr.autoschedule.cpu.gemm.gemm_costs import GemmCosts
from texpr.autoschedule.driver import auto
from texpr.ir.build import integer
from texpr.ir.interpreter.loop import interpret_kernel
from texpr.ir.loop import Alloc
from texpr.ir.machine import Machine
from texpr.ir.printing.loop import show_kernel
from texpr.ir.traverse import walk
from texpr.lang import parse_kernel
from texpr.passes.loop.place_buffers import place


def test_what_has_wrapped_is_not_divided():
    s = tx.schedule(OPS["wrapped"], M=5).split("i", 4).cache_read("X", "io")
    X, p = np.arange(1, 6, dtype=np.float32), np.array([1, -(1 << 63) + 2, 2, -1, (1 << 62) + 1])
    np.testing.assert_array_equal(s.compile()(X, p), np.array([3, 5, 5, 0, 0], np.float32))


SUMS = {
    "twice": ("matmul", f'{TILES}.cache_write("C_acc", "ko").cache_write("C_acc_tile", "ki")'),
    "outermost": ("matmul", 's.reorder("k", "i", "j").cache_write("C_acc", "k")'),
    "rows": (
        "matmul",
        's.split("k", 4).reorder("ko", "i", "j", "ki").cache_write("C_acc", "j").parallel("C.i")',
    ),
    "output": ("matmul", 's.reorder("k", "i", "j").cache_write("C_acc", "i").cache_write("C", "i")'),
    "scatter": ("scatter", 's.cache_write("Y", "i")'),
    "strips": ("scatter", 's.split("i", 4).cache_write("Y", "io")'),
    "halves": ("halves", 's.split("j", 4).cache_write("Y", "jo")'),
}
"""Sums that leave a buffer and come back."""


@pytest.mark.parametrize("name", SUMS)
def test_sums_that_come_back_are_certified(name):
    op, text = SUMS[name]
    for given in ({}, {"M": 7, "N": 30} if op != "matmul" else {"M": 7, "N": 30, "K": 5}):
        s = tx.schedule(OPS[op], **given)
        eval(text, {"s": s})
        assert s.certificate().bit_exact


def test_buffers_are_private_to_threads():
    s = tx.schedule(OPS["matmul"], **SQUARE)
    eval(
        f'{TILES}.cache_read("A", "ko").cache_read("B", "ko").cache_write("C_acc", "ko").parallel("io")',
        {"s": s},
    )
    bound = dict.fromkeys(s.program.sizes, 64)
    check(Scheduled(s.program, bound, s.kernel, s.steps), s.kernel, random_arrays(s.program, bound), "serial")


def test_a_shared_buffer_is_no_buffer_of_each_thread():
    """A parallel loop around statements that use one buffer in turn: the buffer has to be filled
    in each iteration.
    """
    s = tx.schedule(OPS["matmul"], **SQUARE)
    eval(f'{TILES}.parallel("io").cache_read("B", "ko")', {"s": s})
    assert "parallel" in str(s)


TINY = Machine(vector_bytes=16, vector_registers=32, caches=(64, 128), cores=2)
"""Caches so small that every product is a large one."""

CONTRACTIONS = {
    "nn": "op nn(A: f32[M, K], B: f32[K, N]) -> C: f32[M, N] { C[i, j] = sum(k: A[i, k] * B[k, j]) }",
    "nt": "op nt(A: f32[M, K], B: f32[N, K]) -> C: f32[M, N] { C[i, j] = sum(k: A[i, k] * B[j, k]) }",
    "tn": "op tn(A: f32[K, M], B: f32[K, N]) -> C: f32[M, N] { C[i, j] = sum(k: A[k, i] * B[k, j]) }",
    "tt": "op tt(A: f32[K, M], B: f32[N, K]) -> C: f32[M, N] { C[i, j] = sum(k: A[k, i] * B[j, k]) }",
    "batched": "op batched(A: f64[2, M, K], B: f64[2, K, N]) -> C: f64[2, M, N] { C[b, i, j] = sum(k: A[b, "
    "i, k] * B[b, k, j]) }",
    "integers": "op integers(A: i32[M, K], B: i32[K, N]) -> C: i32[M, N] { C[i, j] = sum(k: A[i, k] * B[k, "
    "j]) }",
    "pointwise": "op pointwise(X: f32[M, K, 3], W: f32[K, 3, N]) -> Y: f32[M, N] { Y[i, j] = sum(k, c: X[i, "
    "k, c] * W[k, c, j]) }",
}


@pytest.mark.parametrize("size", [(128, 16, 17), (133, 19, 33), (136, 40, 64), (144, 8, 33)])
@pytest.mark.parametrize("name", CONTRACTIONS)
def test_large_contractions_keep_every_bit(name, size, monkeypatch):
    monkeypatch.setattr(packed, "GEMM_COSTS", GemmCosts(block_terms=32))
    s = tx.schedule(tx.op(CONTRACTIONS[name]), **dict(zip("MNK", size)))
    s.steps[:], s.kernel = auto(s.kernel, TINY)
    assert "cache_read" in s.script(), s.script()
    bound = {v: size["MNK".index(v.name)] for v in s.program.sizes}
    check(
        Scheduled(s.program, bound, s.kernel, s.steps), s.kernel, random_arrays(s.program, bound), "shuffled"
    )


@pytest.mark.parametrize("name", CONTRACTIONS)
def test_large_contractions_are_certified(name):
    s = tx.schedule(tx.op(CONTRACTIONS[name]), M=133, N=35, K=33)
    s.steps[:], s.kernel = auto(s.kernel, TINY)
    assert "cache_read" in s.script()
    assert "every sum has all its terms" in str(s.certificate())


CONVOLUTION = """op convolution(X: f32[B, H, W, C], F: f32[R, S, C, O]) -> Y: f32[B, H - R + 1, W - S + 1, O] require R <= H and S <= W {
    Y[b, y, x, o] = sum(r, s, c: X[b, y + r, x + s, c] * F[r, s, c, o]) }"""


@pytest.mark.parametrize("sizes", [(2, 6, 11, 3, 2, 3, 70), (1, 9, 12, 5, 2, 2, 64)])
def test_a_convolution_is_a_contraction(sizes, monkeypatch):
    monkeypatch.setattr(packed, "GEMM_COSTS", GemmCosts(block_terms=8))
    s = tx.schedule(tx.op(CONVOLUTION), **dict(zip("BHWCRSO", sizes)))
    s.steps[:], s.kernel = auto(s.kernel, TINY)
    assert "cache_read" in s.script(), s.script()
    bound = {v: sizes["BHWCRSO".index(v.name)] for v in s.program.sizes}
    check(
        Scheduled(s.program, bound, s.kernel, s.steps), s.kernel, random_arrays(s.program, bound), "shuffled"
    )


@pytest.mark.parametrize("name", ["nn", "nt"])
def test_auto_of_a_large_product(name, golden):
    s = tx.schedule(tx.op(CONTRACTIONS[name]), M=1000, N=1024, K=2048)
    s.steps[:], s.kernel = auto(
        s.kernel, Machine(vector_bytes=64, vector_registers=32, caches=(32 << 10, 1 << 20), cores=2)
    )
    golden(f"{s.script()}\n{show_kernel(s.kernel)}")


def test_buffers_fit_the_machine(golden):
    tiles = (
        's.split("i", 8).split("j", 32).reorder("io", "jo", "k", "ii", "ji").cache_write("C_acc", "jo", '
        'name="t")'
    )
    marks = '.unroll("C.ii").vectorize("C.ji")'
    texts = {
        "x86-64-v4": [
            f'{tiles}.scope("t", "register")',
            f'{tiles}{marks}.cache_read("A", "io").set_scope("A_cache", "shared")',
        ],
        "x86-64-v3": [f'{tiles}{marks}.scope("t", "register")'],
    }
    found = []
    for target, steps in texts.items():
        for text in steps:
            s = tx.schedule(OPS["matmul"], **SQUARE)
            eval(text, {"s": s})
            with pytest.raises(tx.CompileError) as error:
                _ = s.compile(target).asm
            found.append(f"# {text} on {target}\n{error.value}\n")
    golden("\n".join(found))


def test_a_tile_in_registers_compiles():
    s = tx.schedule(OPS["matmul"], **SQUARE).split("i", 8).split("j", 32).reorder("io", "jo", "k", "ii", "ji")
    s.cache_write("C_acc", "jo", name="t").set_scope("t", "register").unroll("ii").vectorize("ji")
    assert "alloca" not in s.compile("x86-64-v4").llvm


@pytest.mark.parametrize("name", ["t", "t_acc"])
def test_a_buffer_is_not_shared_by_iterations_that_run_at_once(name):
    """Each iteration of a parallel loop computes t for itself, until a buffer around the loop is
    all of theirs.
    """
    operator = tx.op(
        "op f(X: f32[K], Z: f32[M, N]) -> Y: f32[M, N] {\n  t = sum(k: X[k])\n  Y[i, j] = Z[i, j] * t\n}"
    )
    s = tx.schedule(operator).compute_at("t", "Y.j", recompute=True)
    tx.schedule(operator).replay(s.script()).cache_write(name, "Y.i")  # one after the other they may share it
    s.parallel("Y.j")
    with pytest.raises(
        tx.ScheduleError, match="after cache_write, parallel run of `j`: its iterations depend on each other"
    ) as error:
        s.cache_write(name, "Y.i")
    assert error.value.witness
    assert s.cache_write(name, "Y.j").certificate()


def test_conversions_of_what_a_buffer_converted_stay():
    """f32(bf16(X[i])) reads f32 of a buffer of bf16; the interpreter says the same bits."""
    s = tx.schedule(tx.op("op f(X: f32[8]) -> Y: f32[8] { Y[i] = f32(bf16(X[i])) * 3.0 }"))
    s.split("i", 4).cache_read("X", "io", dtype="bf16")
    assert "= bf16(X[" in str(s) and "f32(X_cache[ii]) * 3.0" in str(s)
    x = np.linspace(0, 1, 8, dtype=np.float32)
    np.testing.assert_array_equal(
        interpret_kernel(s.kernel, [x], {})[0], interpret_kernel(s.naive, [x], {})[0]
    )


def test_quotients_of_tiles_are_their_numbers():
    s = (
        tx.schedule(tx.op("op f(X: f32[6], Z: f32[4]) -> Y: f32[24] { Y[i] = X[i // 4] * Z[i % 4] }"))
        .split("i", 8)
        .split("ii", 4)
    )
    assert "Y[io * 8 + (iio * 4 + iii)] = X[io * 2 + iio] * Z[iii]" in str(s)
    s.certificate()


def test_partial_results_under_a_condition_around():
    """What says which rows there are stands around the loop that is reduced, and what says which
    terms there are inside.
    """
    operator = tx.op(
        "op f(X: f32[5, 7]) -> m: f32[5, 2] { m[i, c] = max(u in 0..4 where 4*c + u < 7: X[i, 4*c + u]) }"
    )
    s = tx.schedule(operator).split("i", 4).reorder("io", "c", "ii").rfactor("u")
    s.certificate()
    x = np.random.default_rng(1).standard_normal((5, 7)).astype("f4")
    np.testing.assert_array_equal(interpret_kernel(s.kernel, [x], {})[0], tx.interpret(operator, x))


@pytest.mark.parametrize(
    "how, shape",
    (
        ("", (4, 16)),
        ('.pad("B_cache", 1, 1, extra=3)', (4, 19)),
        ('.pad("B_cache", 1, 32)', (4, 32)),
        ('.pad("B_cache", 0, 1, extra=1)', (5, 16)),
        ('.pad("B_cache", 1, 1, extra=3).pad("B_cache", 0, 8)', (8, 19)),
    ),
)
def test_a_small_buffer_keeps_the_room_between_its_rows(how: str, shape: tuple[int, ...]):
    """`place` makes a buffer of what one iteration of the loops around uses; what `pad` has
    added to its rows stays.
    """
    s = eval(f'{TILES}.cache_read("B", "ko"){how}', {"s": tx.schedule(OPS["matmul"], **SQUARE)})
    made = next(
        n.tensor for n in walk(place(s.kernel)) if isinstance(n, Alloc) and n.tensor.name == "B_cache"
    )
    assert tuple(map(integer, made.shape)) == shape


def test_a_buffer_that_is_left_behind_is_no_padding():
    """Of 100 elements two are used: more room than there is use is no distance between rows."""
    kernel = parse_kernel("""kernel f(X: f32[8]) -> (Y: f32[8])
  let T: f32[100]
  for i in 0..8
    T[0] = X[i]
    T[1] = X[i] * 2.0
    Y[i] = T[0] + T[1]
""")
    made = next(n.tensor for n in walk(place(kernel)) if isinstance(n, Alloc))
    assert tuple(map(integer, made.shape)) == (2,)
