"""Steps that move what computes a tensor: laws at sizes around a tile, pictures, complaints."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest

import texpr as tx
from tests.schedule.drawing import TEXTS, Scheduled, check, random_arrays
from texpr.ir.build import integer
from texpr.ir.expr import Const, index
from texpr.ir.interpreter.loop import interpret_kernel
from texpr.ir.loop import Kernel, Store
from texpr.ir.traverse import rewrite
from texpr.passes.loop.place_buffers import place
from texpr.passes.loop.simplify_guards import drop_guards
from texpr.schedule.steps.placement.fold_storage import folded_storage

OPS = {name: tx.op(text) for name, text in TEXTS.items()} | {
    "halves_of": tx.op("op halves_of(X: f32[N]) -> Y: f32[N] { h[i] = X[i] * 2  Y[i] = h[i // 2] + h[N - 1 - i] }"),
    "evens": tx.op("""op evens(X: f32[N]) -> Y: f32[2 * N] {
        let t: f32[2 * N]
        t[2 * i] = X[i]
        t[2 * i + 1] = X[i] * 2  for i in 0..N
        Y[k] = t[2 * N - 1 - k] }"""),
    "half": tx.op("op half(X: f16[N]) -> Y: f16[N] { h[i] = f16(X[i] * 1.1)  Y[i] = f16(h[i] * h[i] + h[i - 1 | 0]) }"),
    "brain": tx.op("op brain(X: bf16[N]) -> Y: f32[N] { h[i] = bf16(X[i] * 1.1)  Y[i] = f32(h[i]) * 3 }"),
    "masked": tx.op("op masked(X: f32[M, N]) -> Y: f32[M] { h[i, j] = X[i, j] * 2  Y[i] = sum(j where h[i, j] > 0: h[i, j]) }"),
    "sums": tx.op("op sums(X: f32[N]) -> (a: f32[N], b: f32[N]) { a[i] = X[i] + 1  b[i] = a[i] * a[N - 1 - i] }"),
    "running": tx.op("op running(X: f32[N]) -> Y: f32[N] { let h: f32[N]  h[i] = h[i - 1 | 0] + X[i]  Y[i] = h[i] * 2 }"),
    "deep": tx.op("""op deep(X: f32[N]) -> Y: f32[N] {
        a[i] = X[i - 2 | 0] + X[i - 1 | 0] + X[i] + X[i + 1 | 0] + X[i + 2 | 0]
        b[i] = a[i - 2 | 0] + a[i - 1 | 0] + a[i] + a[i + 1 | 0] + a[i + 2 | 0]
        c[i] = b[i - 2 | 0] + b[i - 1 | 0] + b[i] + b[i + 1 | 0] + b[i + 2 | 0]
        d[i] = c[i - 2 | 0] + c[i - 1 | 0] + c[i] + c[i + 1 | 0] + c[i + 2 | 0]
        Y[i] = d[i - 2 | 0] + d[i - 1 | 0] + d[i] + d[i + 1 | 0] + d[i + 2 | 0] }"""),
    "flip": tx.op("op flip(X: f32[N]) -> Y: f32[N] { h[i] = X[i] * 2  Y[i] = h[N - 1 - i] }"),
    "keeps": tx.op("op keeps(X: f32[N]) -> (a: f32[N], b: f32[N]) { a[i] = X[i] + 1  b[i] = a[i] * a[i - 1 | 0] }"),
    "both": tx.op("op both(X: f32[N]) -> Y: f32[N] { g[i] = X[i] + 1  h[i] = X[i] * 2  Y[i] = g[i] * h[i] }"),
    "transposed": tx.op("op transposed(X: f32[N, N]) -> Y: f32[N, N] { h[i, j] = X[i, j] * 2  Y[i, j] = h[j, i] + h[i, j] }"),
    "rest": tx.op("op rest(X: f32[N]) -> z: f32[N] { h[i] = X[i] * 2  y[i] = h[i] * 3  z[i] = y[i] + h[i + 1 | 0] + y[0] }"),
    "fibonacci": tx.op("""op fibonacci(X: f32[M, N]) -> y: f32[M] {
        let h: f32[M, N]
        h[t, n] = h[t - 1, n | 0] + h[t - 2, n | 0] + X[t, n]
        y[t] = sum(n: h[t, n]) }"""),
    "vectors": tx.op("op vectors(X: f32[8]) -> Y: f32[8] { t[i] = X[i] * 2  Y[i] = t[i] + 1 }"),
    "valid": tx.op("op valid(X: f32[N]) -> Y: f32[N - 2] require N >= 2 { h[i] = X[i] * 2  Y[i] = h[i] + h[i + 1] + h[i + 2] }"),
    "downwards": tx.op("op downwards(X: f32[N]) -> Y: f32[N] { h[i] = X[i] * 2  Y[i] = h[N - 1 - i] + h[N - 2 - i | 0] }"),
    "chain_of_sums": tx.op("""op chain_of_sums(A: f32[M, K], B: f32[K, N]) -> (Y: f32[M, N], z: f32) {
        D[i, j] = sum(k: A[i, k] * B[k, j])
        Y[i, j] = max(0, D[i, j])
        z = sum(i, j: D[i, j]) }"""),
    "decay": tx.op("""op decay(X: f32[M, N]) -> h: f32[M, N] {
        g[t, n] = X[t, n] + 0.5 * h[t - 1, n | 0] for t in 0..M, n in 0..N
        h[t, n] = if g[t, n] > 1 then 1 else g[t, n] }"""),
    "every_other": tx.op("""op every_other(X: f32[M, N]) -> h: f32[M, N] {
        g[t, n] = X[t, n] + h[t - 2, n | 0] for t in 0..M, n in 0..N
        h[t, n] = g[t, n] * 0.5 }"""),
    "every_fourth": tx.op("""op every_fourth(X: f32[M, N]) -> h: f32[M, N] {
        g[t, n] = X[t, n] + h[t - 4, n | 0] for t in 0..M, n in 0..N
        h[t, n] = g[t, n] * 0.5 }"""),
    "windows": tx.op("""op windows(X: f32[M, N]) -> Y: f32[M, N] {
        h[i, j] = sum(k in 0..3: X[i, j + k | 0]) + X[i, j]
        Y[i, j] = h[i, j] + h[i + 2, j | 0] }"""),
    "matmul_relu": tx.op("""op matmul_relu(A: f32[M, K], B: f32[K, N]) -> Y: f32[M, N] {
        D[i, j] = sum(k: A[i, k] * B[k, j])
        Y[i, j] = max(0, D[i, j]) }"""),
    "pooled": tx.op("op pooled(X: f32[N]) -> Y: f32[N // 2] { h[i] = X[i] * 2  Y[i] = max(h[2 * i], h[2 * i + 1]) }"),
    "doubled": tx.op("op doubled(X: f32[N]) -> Y: f32[2 * N] { h[i] = X[i] * 2  Y[k] = h[k // 2] * 3 for k in 0..2 * N }"),
    "six": tx.op("""op six(X: f32[M, N]) -> Y: f32[M, N] {
        a[i, j] = X[i, j - 1 | clamp] + X[i, j] + X[i, j + 1 | clamp]
        b[i, j] = a[i - 1, j | clamp] + a[i, j] + a[i + 1, j | clamp]
        c[i, j] = b[i, j] * b[i, j]
        d[i, j] = sum(u in 0..3, v in 0..3: c[i + u - 1, j + v - 1 | 0]) + c[i, j]
        e[i, j] = d[i, j] - 0.5 * c[i, j]
        Y[i, j] = if e[i, j] > 0 then e[i, j] else 0 }"""),
    "two_readers": tx.op("""op two_readers(X: f32[N]) -> (Y: f32[N], Z: f32[N]) {
        h[i] = X[i] * 2
        Y[i] = h[i] + h[i + 1 | 0]
        Z[i] = h[i] }"""),
    "tally": tx.op("op tally(X: f32[N], idx: i32[N] in 0..N) -> Y: f32[N] { let h: f32[N]  h[i] = 1  h[idx[i]] += X[i]  Y[i] = h[i] * 2 }"),
}
SIZES = (0, 1, 3, 4, 5, 9)
"""Around tiles of 4 and of 8."""

TILED = 's.split("Y.i", 4).split("Y.j", 8).reorder("Y.io", "Y.jo", "Y.ii", "Y.ji")\n'

INLINE = {
    "blur": ("blur", {}, 's.inline("h")'),
    "chain": ("chain", {}, 's.inline("t")'),
    "choice": ("padded", {}, 's.inline("t")'),
    "flip": ("halves_of", {}, 's.inline("h")'),
    "interleaved": ("evens", {}, 's.inline("t")'),
    "into_a_sum": ("softmax", {}, 's.inline("e")'),
    "into_a_condition": ("masked", {}, 's.inline("h")'),
    "half": ("half", {}, 's.inline("h")'),
    "brain": ("brain", {}, 's.inline("h")'),
    "tiled": ("softmax", {}, 's.split("e.i", 4).split("e.j", 4).inline("e")'),
    "readers_tiled": ("softmax", {}, 's.split("Y.j", 4).inline("e")'),
    "moved": ("lag", {}, 's.compute_at("h", "Y.i").inline("h")'),
    "of_an_output": ("sums", {}, 's.inline("a")'),
}


@pytest.mark.parametrize("name", INLINE)
def test_inline(name, golden):
    picture_and_law(golden, *INLINE[name])


def picture_and_law(golden, op: str, sizes: dict[str, int], text: str) -> None:
    """The picture after the steps, and every bit at every size."""
    s = tx.schedule(OPS[op], **sizes)
    exec(text, {"s": s})
    again = tx.schedule(OPS[op], **sizes).replay(s.script())
    assert str(again) == str(s)
    golden(f"{text}\n\n{s}\n\n{s.script()}")
    for n in SIZES if op != "valid" else (2, 3, 5, 6, 7):
        keeps_every_bit(s, {v: sizes.get(v.name, n) for v in s.program.sizes})


def keeps_every_bit(s: tx.Schedule, sizes: dict) -> None:
    arrays = random_arrays(s.program, sizes)
    case = Scheduled(s.program, sizes, s.kernel, s.steps)
    with np.errstate(all="ignore"):
        check(case, s.kernel, arrays, "shuffled")
        check(case, drop_guards(place(s.kernel)), arrays, "reversed")


COMPUTE_AT = {
    "row": ("blur", {}, 's.compute_at("h", "Y.i")'),
    "element": ("blur", {}, 's.compute_at("h", "Y.j")'),
    "tile": ("blur", {}, TILED + 's.compute_at("h", "Y.jo")'),
    "tile_of_constants": ("blur", {"M": 8, "N": 16}, TILED + 's.compute_at("h", "Y.jo")'),
    "tile_rows": ("blur", {}, TILED + 's.compute_at("h", "Y.io").parallel("Y.io")'),
    "row_of_tile": ("blur", {}, TILED + 's.compute_at("h", "Y.ii")'),
    "peeled_tile": ("blur", {"M": 8, "N": 20}, 's.split("Y.i", 4).split("Y.j", 8, tail="peel").compute_at("h", "Y.io")'),
    "tiles_alike": ("both", {}, 's.split("g.i", 4).split("Y.i", 4).compute_at("g", "Y.ii", recompute=False)'),
    "on_the_way": ("matmul", {"M": 7, "K": 4}, 's.split("C.i", 2, tail="peel").split("C.j", 4)'
                   '.reorder("C.jo", "C.io", "C.k", "C.ii", "C.ji").cache_read("B", "C.jo").peel("C.io", 1, 0)'
                   '.split("B_cache.d0", 4).compute_at("B_cache", "C.k", recompute=False)'),
    "tiles_alike_under_conditions": ("sequence", {}, 's.tile("t.i", "t.j", sizes=(4, 8)).tile("Y.i", "Y.j", sizes=(4, 8))'
                                     '.compute_at("t", "Y.ji", recompute=False)'),
    "fused_under_a_condition": ("blur", {}, 's.tile("Y.i", "Y.j", sizes=(4, 8)).fuse("Y.ii", "Y.ji").compute_at("h", "Y.iiji")'),
    "read_elsewhere": ("two_readers", {}, 's.compute_at("h", "Y.i", recompute=True).compute_at("h", "Z.i")'),
    "read_elsewhere_in_parts": ("rest", {}, 's.split("z.i", 4).compute_at("h", "z.io").parallel("z.io")'),
    "output": ("sums", {}, 's.compute_at("a", "b.i")'),
    "of_a_sum_read_elsewhere": ("chain_of_sums", {}, 's.split("Y.i", 4).compute_at("D", "Y.io")'),
    "peeled": ("blur", {}, 's.split("Y.i", 4, tail="peel").compute_at("h", "Y.ii")'),
    "peeled_alike": ("sequence", {}, 's.split("Y.i", 4, tail="peel").split("t.i", 4, tail="peel").compute_at("t", "Y.ii")'),
    "specialized_alike": ("sequence", {}, 's.specialize(N=4).compute_at("t", "Y.i_N4", recompute=False)'
                          '.compute_at("t", "Y.i", recompute=False)'),
    "peeled_sliding": ("blur", {}, 's.split("Y.i", 4, tail="peel").compute_at("h", "Y.ii", slide=True)'),
    "in_time": ("decay", {}, 's.compute_at("g", "h.n")'),
    "in_time_once": ("decay", {}, 's.compute_at("g", "h.n", recompute=False)'),
    "sliding": ("blur", {}, 's.compute_at("h", "Y.i", slide=True)'),
    "sliding_in_strips": ("blur", {}, 's.split("Y.i", 4).compute_at("h", "Y.ii", slide=True).parallel("Y.io")'),
    "sliding_by_strips": ("blur", {}, 's.split("Y.i", 4).compute_at("h", "Y.io", slide=True)'),
    "sliding_down": ("downwards", {}, 's.compute_at("h", "Y.i", slide=True)'),
    "sliding_sums": ("windows", {}, 's.compute_at("h", "Y.i", slide=True)'),
    "in_parallel": ("lag", {}, 's.parallel("Y.i").compute_at("h", "Y.i")'),
    "on_request": ("lag", {}, 's.compute_at("h", "Y.i", recompute=True).parallel("Y.i")'),
    "several_equations": ("padded", {}, 's.compute_at("t", "Y.i")'),
    "scheduled_producer": ("blur", {"N": 16}, 's.split("h.j", 8).vectorize("h.ji").split("Y.j", 8).split("Y.i", 4)'
                           '.reorder("Y.io", "Y.jo", "Y.ii", "Y.ji").compute_at("h", "Y.jo")'),
    "distributed_producer": ("matmul_relu", {}, 's.reorder("D.k", "D.j").split("Y.i", 4).compute_at("D", "Y.io")'),
    "reduction": ("matmul_relu", {}, 's.split("Y.i", 4).split("Y.j", 4).reorder("Y.io", "Y.jo", "Y.ii", "Y.ji").compute_at("D", "Y.jo")'),
    "softmax": ("softmax", {}, 's.split("Y.i", 4).compute_at("Y_sum", "Y.io").compute_at("e", "Y.io").compute_at("m", "Y.io")'),
    "every_element": ("softmax", {}, 's.compute_at("Y_sum", "Y.j")'),
    "strided": ("pooled", {}, 's.split("Y.i", 4).compute_at("h", "Y.io")'),
    "halves": ("doubled", {}, 's.split("Y.k", 4).compute_at("h", "Y.ko")'),
    "flip": ("halves_of", {}, 's.split("Y.i", 4).compute_at("h", "Y.io")'),
    "chain": ("six", {}, 's.split("Y.i", 4).split("Y.j", 4).reorder("Y.io", "Y.jo", "Y.ii", "Y.ji").compute_at("e", "Y.ji")'
              '.compute_at("d", "Y.jo").compute_at("c", "Y.jo").compute_at("b", "Y.jo").compute_at("a", "Y.jo").parallel("Y.io")'),
    "nested": ("six", {}, 's.compute_at("a", "b.i").compute_at("b", "c.i").split("d.i", 4).compute_at("d", "e.i")'),
}


@pytest.mark.parametrize("name", COMPUTE_AT)
def test_compute_at(name, golden):
    picture_and_law(golden, *COMPUTE_AT[name])


REVERSE = {
    "epilogue": ("matmul_relu", {}, 's.split("D.i", 4).split("D.j", 4).reorder("D.io", "D.jo", "D.k", "D.ii", "D.ji")'
                 '.reverse_compute_at("Y", "D.jo").parallel("D.io")'),
    "element": ("matmul_relu", {}, 's.reverse_compute_at("Y", "D.j")'),
    "halo": ("blur", {}, 's.reverse_compute_at("Y", "h.i")'),
    "halo_of_tile": ("blur", {}, 's.split("h.i", 4).split("h.j", 4).reorder("h.io", "h.jo", "h.ii", "h.ji")'
                     '.reverse_compute_at("Y", "h.jo")'),
    "behind": ("lag", {}, 's.split("h.i", 4).reverse_compute_at("Y", "h.io")'),
    "flip": ("flip", {}, 's.split("h.i", 4).reverse_compute_at("Y", "h.io")'),
    "softmax": ("softmax", {}, 's.reverse_compute_at("e", "m.i").reverse_compute_at("Y_sum", "m.i").reverse_compute_at("Y", "m.i")'
                '.parallel("m.i")'),
    "output": ("keeps", {}, 's.split("a.i", 4).reverse_compute_at("b", "a.io")'),
    "two_inputs": ("both", {}, 's.compute_at("g", "h.i").reverse_compute_at("Y", "h.i")'),
    "valid": ("valid", {}, 's.split("h.i", 4).reverse_compute_at("Y", "h.io")'),
}


@pytest.mark.parametrize("name", REVERSE)
def test_reverse_compute_at(name, golden):
    picture_and_law(golden, *REVERSE[name])


FOLD = {
    "window": ("blur", {}, 's.compute_at("h", "Y.i", slide=True).fold_storage("h", 0)'),
    "window_given": ("blur", {}, 's.compute_at("h", "Y.i", slide=True).fold_storage("h", "Y.i", 4)'),
    "window_of_strips": ("blur", {}, 's.split("Y.i", 4).compute_at("h", "Y.io", slide=True).fold_storage("h", 0)'),
    "strips_of_windows": ("blur", {}, 's.split("Y.i", 4).compute_at("h", "Y.ii", slide=True).fold_storage("h", 0).parallel("Y.io")'),
    "behind": ("lag", {}, 's.compute_at("h", "Y.i").fold_storage("h", "Y.i")'),
    "recurrence": ("fibonacci", {}, 's.reverse_compute_at("y", "h.t").fold_storage("h", 0)'),
    "consumer": ("blur", {}, 's.reverse_compute_at("Y", "h.i").fold_storage("h", 0)'),
    "once_each": ("chain", {}, 's.compute_at("z", "Y.i").compute_at("t", "Y.i").fold_storage("t", 0).fold_storage("z_acc", 0)'),
    "updates": ("softmax", {}, 's.fold_storage("Y_sum_acc", 0)'),
    "downwards": ("downwards", {}, 's.compute_at("h", "Y.i", slide=True).fold_storage("h", 0)'),
    "two_windows": ("six", {}, 's.compute_at("b", "c.i").compute_at("a", "c.i", slide=True).fold_storage("a", 0).fold_storage("b", 0)'),
}


@pytest.mark.parametrize("name", FOLD)
def test_fold(name, golden):
    picture_and_law(golden, *FOLD[name])


@pytest.mark.parametrize("name", FOLD)
def test_one_less_is_too_few(name):
    """A depth that fold finds is the smallest that keeps the answer: with one less, some run is wrong, or the depth is 1."""
    op, sizes, text = FOLD[name]
    if "given" in name:
        return
    s = tx.schedule(OPS[op], **sizes)
    exec(text, {"s": s})
    step = next(each for each in s.steps if each.name == "fold_storage")
    before = tx.schedule(OPS[op], **sizes)
    for each in s.steps[: s.steps.index(step)]:
        before.apply(each)
    tensor, d = next(t for t in s.kernel.temporaries if t.name == step.args[0]), 0
    depth = integer(tensor.shape[d]) or 1
    if depth == 1:
        return
    whole = next(t for t in before.kernel.temporaries if t.name == tensor.name)
    small = folded_storage(before.kernel, whole, d, depth - 1)
    sizes = {v: 9 for v in s.program.sizes}
    with pytest.raises(AssertionError):
        check(Scheduled(s.program, sizes, small, s.steps), small, random_arrays(s.program, sizes))


PIPELINE = {
    "rows": ("blur", {}, 's.compute_at("h", "Y.i", recompute=True).pipeline("h")'),
    "rows_under_a_condition": ("sequence", {}, 's.split("Y.i", 4).split("t.i", 4).compute_at("t", "Y.ii", recompute=False)'
                               '.reverse("Y.ii").pipeline("t")'),
    "steps_before": ("every_other", {}, 's.pipeline("g")'),
    "all_steps_before": ("every_other", {}, 's.pipeline("g.t")'),
    "three_steps_before": ("every_fourth", {}, 's.pipeline("g", 4)'),
    "three_buffers": ("blur", {}, 's.split("Y.i", 4).compute_at("h", "Y.io").pipeline("h", 3)'),
    "tiles": ("blur", {}, TILED + 's.compute_at("h", "Y.jo").pipeline("h").parallel("Y.io")'),
    "constant": ("blur", {"M": 8, "N": 4}, 's.split("Y.i", 2).compute_at("h", "Y.io").pipeline("h")'),
    "few_iterations": ("blur", {"M": 4, "N": 4}, 's.split("Y.i", 2).compute_at("h", "Y.io").pipeline("h", 4)'),
    "reduction": ("matmul_relu", {}, 's.split("Y.i", 4).compute_at("D", "Y.io").pipeline("Y.io")'),
    "reduction_of_constants": ("matmul_relu", {"M": 8}, 's.split("Y.i", 2).compute_at("D", "Y.io").pipeline("Y.io")'),
    "first_of_a_chain": ("chain", {}, 's.compute_at("z", "Y.i").compute_at("t", "Y.i").pipeline("Y.i")'),
    "maximum": ("softmax", {"M": 5}, 's.compute_at("Y_sum", "Y.i").compute_at("e", "Y.i").compute_at("m", "Y.i").pipeline("m")'),
}


@pytest.mark.parametrize("op, sizes, text", [*FOLD.values(), *PIPELINE.values()])
def test_buffers_used_again_are_certified(op, sizes, text):
    s = tx.schedule(OPS[op], **sizes)
    exec(text, {"s": s})
    assert s.certificate().bit_exact


@pytest.mark.parametrize("name", PIPELINE)
def test_pipeline(name, golden):
    picture_and_law(golden, *PIPELINE[name])


def test_one_buffer_less_is_too_few():
    """With the indices of two buffers taken modulo one, what is computed ahead takes the place of what is still needed."""
    s = tx.schedule(OPS["blur"], M=8, N=4).split("Y.i", 2).compute_at("h", "Y.io").pipeline("h")
    buffer = next(t for t in s.kernel.temporaries if t.name == "h")
    small = folded_storage(s.kernel, buffer, 0, 1)
    sizes = dict(zip(s.program.sizes, (8, 4)))
    with pytest.raises(AssertionError):
        check(Scheduled(s.program, sizes, small, s.steps), small, random_arrays(s.program, sizes))


@pytest.mark.parametrize("steps, times", [('s.compute_at("h", "Y.i")', 3), ('s.compute_at("h", "Y.i", slide=True)', 1),
                                          ('s.split("Y.i", 4).compute_at("h", "Y.ii", slide=True)', 1.5)])
def test_how_often_rows_are_computed(steps, times):
    """A row by itself needs three; a sliding window needs it once, but for two more per strip where it starts anew."""
    s = tx.schedule(OPS["blur"], M=64, N=4)
    exec(steps, {"s": s})
    assert abs(stores_of(s.kernel, "h") / (64 * 4) - times) < 0.05


def stores_of(kernel: Kernel, name: str) -> int:
    """How often something is stored to the tensor in one run."""
    counter = next(t for t in kernel.outputs)
    one = Const(1.0, dtype=counter.dtype)

    def rule(node):
        match node:
            case Store(tensor=t) if t.name == name:
                return Store(counter, (index(0), index(0)), one, "add")
            case Store(tensor=t) if t is counter:
                return Store(counter, (index(0), index(0)), Const(0.0, dtype=counter.dtype), "add")
        return None

    counting = rewrite(kernel, rule)
    start = Store(counter, (index(0), index(0)), Const(0.0, dtype=counter.dtype))
    (found,) = interpret_kernel(replace(counting, body=(start, *counting.body)), [np.zeros((64, 4), np.float32)], {})
    return int(found[0, 0])


REFUSED = {
    "every_other": ['s.pipeline("g", 3)', 's.pipeline("g.t", 5)'],
    "matmul_relu": [
        's.pipeline("D")',
        's.pipeline("Y")',
        's.pipeline("Y.i")',
        's.pipeline("D", 1)',
        's.pipeline("D", "2")',
        's.pipeline("Q")',
        's.compute_at("D", "Y.i").parallel("Y.i").pipeline("D")',
    ],
    "chain": [
        's.compute_at("z", "Y.i").compute_at("t", "Y.i").pipeline("z")',
        's.compute_at("z", "Y.i").compute_at("t", "Y.i").pipeline("z_acc")',
    ],
    "lag": [
        's.compute_at("h", "Y.i").pipeline("h")',
        's.fold_storage("h", 0)',
        's.fold_storage("h", 1)',
        's.fold_storage("h", 0, 0)',
        's.fold_storage("h", None)',
        's.fold_storage("h", "X")',
        's.fold_storage("Y", 0)',
        's.compute_at("h", "Y.i").fold_storage("h", 0, 1)',
        's.fold_storage("h", "Y.i", 7)',
    ],
    "vectors": ['s.compute_at("t", "Y.i").vectorize("Y.i").fold_storage("t", 0)'],
    "fibonacci": [
        's.fold_storage("h", 0)',
        's.reverse_compute_at("y", "h.t").fold_storage("h", 0, 1)',
        's.inline("h")',
        's.reverse_compute_at("y", "h.t").fold_storage("h", 0).inline("h")',
    ],
    "both": ['s.reverse_compute_at("Y", "g.i")', 's.reverse_compute_at("h", "g.i")'],
    "transposed": [
        's.reverse_compute_at("Y", "h.i")',
        's.reverse_compute_at("h", "Y.i")',
        's.reverse_compute_at("Y", "Y.i")',
    ],
    "rest": ['s.reverse_compute_at("z", "y.i")', 's.reverse_compute_at("z", "h.i")'],
    "blur": [
        's.compute_at("h", "h.i")',
        's.compute_at("Y", "Y.i")',
        's.compute_at("X", "Y.i")',
        's.compute_at("h", "Y.j", slide=True)',
        's.split("Y.i", 4).split("Y.j", 4).reorder("Y.io", "Y.jo", "Y.ii", "Y.ji").compute_at("h", "Y.jo", slide=True)',
        's.parallel("Y.i").compute_at("h", "Y.i", slide=True)',
        's.compute_at("h", "Y.i", slide=True).parallel("Y.i")',
        's.compute_at("h", "Y.i").compute_at("h", "Y.i")',
    ],
    "softmax": [
        's.compute_at("Y_sum", "Y.i").compute_at("e", "Y.i").compute_at("m", "Y.i").pipeline("e")',
        's.inline("m")',
        's.inline("X")',
        's.inline("Y")',
        "s.inline(3)",
        's.inline("m_acc")',
    ],
    "scatter": ['s.inline("Y")'],
    "tally": ['s.inline("h")', 's.compute_at("h", "Y.i")'],
    "running": ['s.inline("h")', 's.compute_at("h", "Y.i", recompute=True)'],
    "deep": ['s.inline("a").inline("b").inline("c").inline("d")'],
}


@pytest.mark.parametrize("op", REFUSED)
def test_refused(op, golden):
    golden("\n".join(complaint(tx.schedule(OPS[op]), text) for text in REFUSED[op]))


def complaint(s: tx.Schedule, text: str) -> str:
    """What a step that must be refused says, the step on top."""
    with pytest.raises((tx.ScheduleError, tx.ResourceError)) as error:
        exec(text, {"s": s})
    return f"# {text}\n{error.value}\n"
