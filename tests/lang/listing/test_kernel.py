"""Listings of kernels: what is printed parses back to an equal kernel."""

from __future__ import annotations

import pytest
from hypothesis import given

import texpr as tx
from tests import programs
from tests.profiles import examples
from tests.properties.lang.test_round_trip import OPS, instance
from tests.strategies import Case, cases
from texpr.ir.dtypes import BF16, F32, I64
from texpr.ir.expr import Add, Const, Dim, Mul, Read, Tensor, Var, index, plain
from texpr.ir.loop import For, Kernel, Store
from texpr.ir.loop_kind import BULK_COPY
from texpr.ir.printing.loop import full_listing, show_kernel
from texpr.ir.store_kind import ATOMIC, NONTEMPORAL, PARTIAL_START, VALUE, StoreMode, StoreRole
from texpr.ir.traverse import equal
from texpr.ir.verifier.program import verify_kernel
from texpr.lang import parse_kernel
from texpr.passes import desugar, hoist, inline_calls, lower
from texpr.support.errors import Error, ParseError

RECURRENCES = {"cumsum", "cumsum_grad", "lstm", "viterbi"}


def check(kernel: Kernel) -> None:
    text = show_kernel(kernel)
    again = parse_kernel(text)
    assert show_kernel(again) == text
    assert equal(again, kernel)
    full = full_listing(kernel)
    assert full_listing(parse_kernel(full)) == full


@given(cases())
@examples(30)
def test_random_kernels(case: Case):
    check(lower(hoist(desugar(case.program))))


@pytest.mark.parametrize(
    "name", [name for name in OPS if name not in RECURRENCES | {"argsort", "sorted", "two"}]
)
def test_kernels_of_operators(name):
    for floats in (F32, BF16):
        check(lower(hoist(desugar(inline_calls(instance(OPS[name], floats))))))


@pytest.mark.parametrize("make", [programs.matmul, programs.conv2d, programs.softmax, programs.flatten])
def test_kernels_of_programs_built_by_hand(make):
    check(lower(hoist(desugar(make()))))


FULL = """\
kernel all_of_it(A: f32[*S:2, (C, H)], i: i32[*6] in 0..C * H distinct, p: i64) -> (Y: bf16[N]) allow_fma
  sizes N, *S, C, H
  require N >= 1
  require numel(S) == C or H < 2
  let T: f32[4, N // 2 + 1]  stack
  for Y.a in 0..numel(S) parallel
    for Y.b in 0..min(C, N - i64(2) * 3) block.x
      if a + b < N and not b == 0
        for c in 0..4 unroll
          T[c, 0] = if p < b then f32(1.0) + -0.5 else inf  start reassoc eq 3
          T[c, a] max= -A[a, (b, 0)] * f32(i[c] // 2)  reassoc
        let U: f32[2]  stack
        U[0] = 1.0
        barrier
        poll
      Y[a] = bf16(T[0, i64(i[a])])
  for Y.a in 0..N vector
    Y[a] = bf16(T[0, -a + -1])
"""


def test_everything_a_listing_can_hold():
    assert show_kernel(parse_kernel(FULL)) == FULL


def test_comments_and_blank_lines_say_nothing():
    text = FULL.replace(" parallel", " parallel  # independent, says the proof\n\n   # more")
    assert equal(parse_kernel(text), parse_kernel(FULL))


def test_nothing_is_folded():
    n, i = Var("N"), Var("i")
    x, y = Tensor("X", F32, plain(n)), Tensor("Y", F32, (Dim((n,)),))
    store = Store(y, (Add(Mul(i, index(1)), index(0)),), Mul(Read(x, (i,)), Const(1.0, dtype=F32)))
    check(Kernel("same", (x,), (y,), (), (n,), (For(i, Mul(index(2), index(3)), (store,), tensor="Y"),)))


def test_a_negative_integer_is_one_literal():
    y = Tensor("y", I64, ())
    check(Kernel("k", (), (y,), (), (), (Store(y, (), Const(-3, dtype=I64)),)))


@pytest.mark.parametrize(
    "text, message",
    [
        ("", "empty listing"),
        ("op f() -> y: f32 { y = 1 }", "a listing begins with `kernel`"),
        ("kernel k() -> (y: f32)\n  y = x", "`x` is not bound"),
        ("kernel k() -> (y: f32[3])\n  for i in 1..3\n    y[i] = 0.0", "loops count from 0"),
        (
            "kernel k() -> (y: f32[3])\n  for i in 0..3\n    for i in 0..3\n      y[i] = 0.0",
            "the loop variable `i` hides another `i`",
        ),
        (
            "kernel k() -> (y: f32[3])\n  y[0] = 0.0\n    y[1] = 0.0",
            "the line is indented by 4, its block by 2",
        ),
        ("kernel k() -> (y: f32[3])\n  while true", "found `true`, expected `=` or `[`"),
        ("kernel k() -> (y: f32[3])\n  for i 0..3", "a loop is `for i in 0..n`"),
        ("kernel k() -> (y: f32[3])\n  z[0] = 1.0", "unknown tensor `z`"),
        ("kernel k() -> (y: f32[3])\n  y[0] = i64(1)", "the value is i64, the tensor is f32"),
        (
            "kernel k() -> (y: f32[N])\n  let t: f32[N]  \n  y[t] = 1.0",
            "`t` has 1 dimension and stands without indices",
        ),
    ],
)
def test_complaints(text, message):
    with pytest.raises(Error) as e:
        parse_kernel(text)
    assert e.value.message == message


def test_instances_are_in_full_listings_only():
    text = """kernel f(X: f32[N]) -> (y: f32[N])
  let X_copy: f32[N]
  for y.i in 0..N
    X_copy[i] = X[i]  copy
    y[i] = X_copy[i] * 2.0  eq 1  at[i + 1]
"""
    kernel = parse_kernel(text)
    assert full_listing(kernel) == text
    assert show_kernel(kernel) == text.replace("  at[i + 1]", "")


def test_a_prefetch_of_rank_0():
    check(
        tx.schedule(tx.op("op f(a: f32, X: f32[N]) -> Y: f32[N] { Y[i] = a * X[i] }"))
        .prefetch("a", "i", 1)
        .prefetch("X", "i", 2)
        .kernel
    )
    with pytest.raises(ParseError, match=r"what is fetched early is an element, as in prefetch X\[i\]"):
        parse_kernel("kernel f(a: f32) -> (Y: f32)\n  prefetch a + 1\n  Y = a\n")


NAMED_LIKE_MARKS = """kernel f(start: f32[N], copy: f32, nontemporal: f32, stack: f32, contract: f32) -> (reassoc: f32[N]) allow_fma("sums")
  let at: f32[N]  stack
  for i in 0..N
    at[i] = start[i] * copy  copy
    reassoc[i] = nontemporal  part eq 1
    reassoc[i] += at[i] + contract + stack  reassoc nontemporal eq 1
"""


def test_tensors_may_be_named_like_marks():
    kernel = parse_kernel(NAMED_LIKE_MARKS)
    assert show_kernel(kernel) == NAMED_LIKE_MARKS
    check(kernel)
    s = tx.schedule(
        tx.op(
            "op viterbi(start: f32[N], X: f32[N]) -> nontemporal: f32[N] { nontemporal[i] = start[i] + X[i] }"
        )
    )
    assert "nontemporal[i] = start[i] + X[i]\n" in show_kernel(s.kernel)
    check(s.kernel)


@pytest.mark.parametrize("reassoc", (False, True))
@pytest.mark.parametrize(
    ("update", "role", "mode"),
    [(None, role, mode) for role in StoreRole for mode in StoreMode if mode is not ATOMIC]
    + [("add", VALUE, mode) for mode in StoreMode if mode is not NONTEMPORAL],
    ids=str,
)
def test_roles_and_modes_of_stores(update: str | None, role: StoreRole, mode: StoreMode, reassoc: bool):
    """Every pair that the verifier takes is read back as it was printed."""
    X, y = Tensor("X", F32, ()), Tensor("y", F32, ())
    store = Store(y, (), Read(X, ()), update, role, reassoc, 1, mode=mode)
    kernel = Kernel("f", (X,), (y,), (), (), (store,))
    verify_kernel(kernel)
    (found,) = parse_kernel(show_kernel(kernel)).body
    assert isinstance(found, Store)
    assert (found.update, found.role, found.mode, found.reassoc) == (update, role, mode, reassoc)
    assert found.is_start is (role is not VALUE)


def test_modes_exclude_each_other():
    with pytest.raises(ParseError, match="a store is asynchronous or atomic, not both"):
        parse_kernel("kernel f(X: f32) -> (y: f32)\n  y += X  asynchronous atomic\n")


def test_older_words():
    text = "kernel f(X: f32[64]) -> (y: f32[64])\n  for i in 0..64 bulk\n    y[i] = X[i]  stream copy\n"
    (loop,) = parse_kernel(text).body
    assert isinstance(loop, For) and isinstance(loop.body[0], Store)
    assert loop.kind == BULK_COPY and loop.body[0].mode is NONTEMPORAL
    newer = text.replace("bulk", "bulk_copy").replace("stream", "nontemporal")
    assert show_kernel(parse_kernel(text)) == newer == show_kernel(parse_kernel(newer))


def test_a_start_of_a_part_is_a_start():
    """Both words are read as one, as in listings of old."""
    (store,) = parse_kernel("kernel f() -> (y: f32)\n  y = 0.0  start part\n").body
    assert isinstance(store, Store) and store.role is PARTIAL_START


def test_errors_of_a_line_know_only_the_line():
    """Loops have names with points (`for y.i`), which are none of the grammar's."""
    text = "kernel k(X: f32[3]) -> (y: f32[3])\n  for y.i in 0..3\n    y[i] - X[i]"
    with pytest.raises(ParseError, match="found `-`, expected `=`"):
        parse_kernel(text)
