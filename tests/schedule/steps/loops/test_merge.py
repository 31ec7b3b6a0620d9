"""`merge`: loops that follow each other run in turns, every bit stays, and what would run too
early is refused.
"""

from __future__ import annotations

import numpy as np
import pytest

import texpr as tx
from tests.properties.schedule.drawing import Scheduled, check, random_arrays
from texpr.ir.interpreter.loop import ORDERS
from texpr.ir.printing.loop import show_kernel
from texpr.lang import parse_kernel
from texpr.schedule.steps.loops.merge import merge

CHAIN = "op chain(X: f32[N]) -> (Y: f32[N], Z: f32[N]) { A[i] = 2 * X[i]  Y[i] = A[i] + 1  Z[i] = A[i] - 1 }"
SHIFTED = (
    "op shifted(X: f32[N]) -> Y: f32[N] { A[i] = 2 * X[i]  Y[i] = A[i] + (if i > 0 then A[i - 1] else 0) }"
)
EARLY = (
    "op early(X: f32[N]) -> Y: f32[N] { A[i] = 2 * X[i]  Y[i] = A[i] + (if i + 1 < N then A[i + 1] else 0) }"
)
ROWS = """
op rows(X: f32[M, N]) -> Y: f32[M, N] { s[i] = sum(j: X[i, j])  E[i, j] = exp(X[i, j])  Y[i, j] = E[i, j] * s[i] }
"""
SUMS = "op sums(X: f32[N, M]) -> (Y: f32[N], Z: f32[N]) { Y[i] = sum(j: X[i, j])  Z[i] = max(j: X[i, j]) }"
LEGAL = {
    "two": (CHAIN, 'merge("Y.i", "Z.i")'),
    "three": (CHAIN, 'merge("A.i", "Y.i")\nmerge("A.i", "Z.i")'),
    "over one between": (CHAIN, 'merge("Y.i", "Z.i")\nmerge("A.i", "Y.i")'),
    "earlier elements": (SHIFTED, 'merge("A.i", "Y.i")'),
    "in loops": (ROWS, 'compute_at("E", "Y.i")\ncompute_at("s", "Y.i")\nmerge("E.j", "Y.j")'),
    "inwards": (ROWS, 'merge("E.i", "Y.i")\nmerge("E.j", "Y.j")\nparallel("E.i")'),
    "copies": (ROWS, 'compute_at("E", "Y.i")\npeel("Y.i", 1, 1)\nmerge("E.j", "Y.j")'),
    "undone": (CHAIN, 'merge("A.i", "Y.i")\nfission("A.i")\nmerge("A.i", "A.i")'),
}


@pytest.mark.parametrize("name", LEGAL)
def test_joined_loops_keep_every_bit(name: str):
    text, script = LEGAL[name]
    s = tx.schedule(tx.op(text)).replay(script)
    assert s.certificate()
    for n in (0, 1, 2, 3, 9):
        sizes = {v: n + k for k, v in enumerate(s.program.sizes)}
        check(
            Scheduled(s.program, sizes, s.kernel, s.steps),
            s.kernel,
            random_arrays(s.program, sizes),
            ORDERS[n % len(ORDERS)],
        )


def test_what_stands_between_runs_first():
    s = tx.schedule(tx.op(CHAIN), N=5).join("Y.i", "Z.i").join("A.i", "Y.i")
    assert (
        show_kernel(s.kernel)
        == """\
kernel chain(X: f32[5]) -> (Y: f32[5], Z: f32[5])
  let A: f32[5]
  for A.i in 0..5
    A[i] = 2.0 * X[i]
    Y[i] = A[i] + 1.0  eq 1
    Z[i] = A[i] - 1.0  eq 2
"""
    )
    s = tx.schedule(tx.op(ROWS), M=2, N=3).join("E.i", "Y.i")
    assert [line.split()[1] for line in show_kernel(s.kernel).splitlines() if line.startswith("  for")] == [
        "s.i",
        "E.i",
    ]


BLOCKS = """
op total(X: f32[M, N]) -> Y: f32[M] { s[i] = sum(k: X[i, k])  Y[i] = 2 * s[i] }
"""


def test_loops_of_one_iteration_around_one_of_both_go():
    """The first block of terms is joined with the start, the last one with what follows; the one
    between has two neighbours like itself. What the last one sums is not kept for anybody.
    """
    s = (
        tx.schedule(tx.op(BLOCKS), M=5, N=12)
        .contract()
        .split("s.k", 4, tail="exact")
        .reorder("s.ko", "s.i", "s.ki")
    )
    s = s.peel("s.ko", 1, 1).join("s.i", "s.i").join("s.i", "Y.i")
    s = s.cache_write("s_acc", "s.i").cache_write("s_acc", "s.i").cache_write("s_acc", "s.i", out=False)
    assert s.certificate()
    assert (
        show_kernel(s.kernel).partition("  for")[2]
        == """\
 s.i in 0..5
    s_acc_tile[0] = 0.0  start
    for s.ki in 0..4
      s_acc_tile[0] += X[i, ki]
    s_acc[i] = s_acc_tile[0]  copy
  for s.ko in 0..1
    for s.i in 0..5
      s_acc_tile_1[0] = s_acc[i]  copy
      for s.ki in 0..4
        s_acc_tile_1[0] += X[i, ko * 4 + ki + 4]
      s_acc[i] = s_acc_tile_1[0]  copy
  for s.i in 0..5
    s_acc_tile_2[0] = s_acc[i]  copy
    for s.ki in 0..4
      s_acc_tile_2[0] += X[i, ki + 8]
    s[i] = s_acc_tile_2[0]
    Y[i] = 2.0 * s[i]  eq 1
"""
    )
    x = np.arange(60, dtype="f4").reshape(5, 12)
    np.testing.assert_array_equal(s.compile()(x), 2 * x.sum(axis=1))


@pytest.mark.parametrize(
    ("text", "step", "message"),
    [
        (
            EARLY,
            's.merge("A.i", "Y.i")',
            """\
error[order]: merge("A.i", "Y.i") reverses a dependence
  --> <op>:1:86
  1 | op early(X: f32[N]) -> Y: f32[N] { A[i] = 2 * X[i]  Y[i] = A[i] + (if i + 1 < N then A[i + 1] else 0) }
    |                                                                                      ^^^^^^^^ reads what iteration (i=1) writes
    at N=2: iteration (i=1) runs before iteration (i=0), and both use A[1]; the new order runs the second first
    first: A[i] = 2.0 * X[i]
    step 1, <string>:1: merge("A.i", "Y.i")
  help: leave the loops apart; replay() of this error shows both results
""",
        ),
        (
            CHAIN,
            's.merge("A.i", "Z.i")',
            """\
error[order]: merge("A.i", "Z.i") reverses a dependence
  --> <op>:1:73
  1 | op chain(X: f32[N]) -> (Y: f32[N], Z: f32[N]) { A[i] = 2 * X[i]  Y[i] = A[i] + 1  Z[i] = A[i] - 1 }
    |                                                                         ^^^^ reads what iteration (i=0) writes
    at N=1: iteration (i=0) runs before iteration (i=0), and both use A[0]; the new order runs the second first
    first: A[i] = 2.0 * X[i]
    step 1, <string>:1: merge("A.i", "Z.i")
  help: leave the loops apart; replay() of this error shows both results
""",
        ),
        (
            CHAIN,
            's.merge("Z.i", "Y.i")',
            """\
error[merge]: `Y.i` does not stand behind `Z.i` in the same body
  --> <op>:1:68
  1 | op chain(X: f32[N]) -> (Y: f32[N], Z: f32[N]) { A[i] = 2 * X[i]  Y[i] = A[i] + 1  Z[i] = A[i] - 1 }
    |                                                                    ^ now `for Y.i in 0..N`
    step 1, <string>:1: merge("Z.i", "Y.i")
  help: name two loops that follow each other, first the one that runs first
""",
        ),
        (
            CHAIN,
            's.split("Y.i", 4).join("Y.io", "Z.i")',
            """\
error[merge]: `Y.io` and `Z.i` run different numbers of iterations
  --> <op>:1:85
  1 | op chain(X: f32[N]) -> (Y: f32[N], Z: f32[N]) { A[i] = 2 * X[i]  Y[i] = A[i] + 1  Z[i] = A[i] - 1 }
    |                                                                                     ^ now `for Z.i in 0..N`
    step 2, <string>:1: merge("Y.io", "Z.i")
  help: split or peel one of them first, so that loops of as many iterations follow each other
""",
        ),
        (
            CHAIN,
            's.parallel("Y.i").merge("Y.i", "Z.i")',
            """\
error[merge]: `Y.i` is marked parallel, and the joined loop would be another one
  --> <op>:1:68
  1 | op chain(X: f32[N]) -> (Y: f32[N], Z: f32[N]) { A[i] = 2 * X[i]  Y[i] = A[i] + 1  Z[i] = A[i] - 1 }
    |                                                                    ^ now `for Y.i in 0..N parallel`
    step 2, <string>:1: merge("Y.i", "Z.i")
  help: merge first, then mark the merged loop
""",
        ),
        (
            SUMS,
            's.merge("Y.i", "Z.i").merge("Y.j", "Z.j")',
            """\
error[order]: merge("Y.j", "Z.j") reverses a dependence
  --> <op>:1:51
  1 | op sums(X: f32[N, M]) -> (Y: f32[N], Z: f32[N]) { Y[i] = sum(j: X[i, j])  Z[i] = max(j: X[i, j]) }
    |                                                   ^^^^^^^^^^^^^^^^^^^^^^ reads what iteration (i=0, j=0) writes
    at N=1, M=1: iteration (i=0, j=0) runs before iteration (i=0), and both use Y_acc[0]; the new order runs the second first
    first: Y_acc[i] += X[i, j]
    second: Y[i] = Y_acc[i]
    step 2, <string>:1: merge("Y.j", "Z.j")
  help: leave the loops apart; replay() of this error shows both results
""",
        ),
    ],
)
def test_what_would_run_too_early_is_refused(text: str, step: str, message: str):
    s = tx.schedule(tx.op(text))
    with pytest.raises(tx.ScheduleError) as caught:
        eval(step, {"s": s})
    assert str(caught.value) == message.rstrip()


def test_nothing_moves_past_a_barrier():
    """Whether a copy has arrived, or other threads are as far, no dependence between elements
    says.
    """
    kernel = parse_kernel("""\
kernel f(X: f32[8]) -> (Y: f32[8])
  let T: f32[8]
  for T.i in 0..8
    T[i] = X[i]
  barrier
  for Y.i in 0..8
    Y[i] = T[i]
""")
    with pytest.raises(
        tx.ScheduleError,
        match="from `T.i` to `Y.i` threads wait for each other or for copies, or a function is called",
    ):
        merge(kernel, "T.i", "Y.i")


def test_rows_meet_in_the_first_cache():
    """A softmax whose rows are written while the next one is computed."""
    x = np.random.default_rng(0).standard_normal((9, 64)).astype("f4")
    op = tx.op(
        "op f(X: f32[N, D]) -> Y: f32[N, D] { e[i, j] = exp(X[i, j])  s[i] = sum(j: e[i, j])  Y[i, j] = e[i, "
        "j] / s[i] }"
    )
    s = (
        tx.schedule(op, N=9, D=64)
        .compute_at("s", "Y.i")
        .compute_at("e", "Y.i")
        .pipeline("e", 2)
        .join("e.j", "Y.j")
    )
    assert np.array_equal(s.compile()(x), tx.schedule(op, N=9, D=64).compile()(x))
