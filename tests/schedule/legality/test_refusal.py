"""Refusals: their smallest sizes are sizes that a call may have, and what they are told is fit
to be shown.
"""

from __future__ import annotations

import pytest

import texpr as tx
from texpr.ir.printing.loop import show_kernel
from texpr.ir.shapes import evaluate_size
from texpr.ir.traverse import equal
from texpr.lang import parse_kernel
from texpr.schedule.script.script import Step

EITHER = """op either(X: f32[M], Z: f32[K]) -> (Y: f32[K], s: f32[K]) {
  s[i] = sum(r in 0..K: X[r | clamp])
  Y[i] = 0
  Y[u // 2] += s[u] }"""


@pytest.mark.parametrize("step", ['compute_at("Y.1", "Y.0.i")', 'parallel("u")', 'reverse("u")'])
def test_the_smallest_sizes_are_allowed(step: str):
    """A requirement that is a disjunction: M may only be 0 where K is."""
    s = tx.schedule(tx.op(EITHER))
    assert "M >= 1 or K == 0" in str(s)
    with pytest.raises(tx.ScheduleError) as error:
        s.replay(step)
    sizes = error.value.witness["sizes"]
    assert all(evaluate_size(c, {v: sizes[v.name] for v in s.kernel.sizes}) for c in s.kernel.requires)  # type: ignore[index]
    assert step.startswith("reverse") or error.value.replay().tensor  # a + b is b + a


def test_the_smallest_sizes_leave_values_for_data():
    """With K = 0 there is no number in 0..K, so M is 0 as well."""
    s = tx.schedule(
        tx.op("""op far(Z: f32[K], p: i32[M] in 0..K) -> Y: f32[M] {
      Y[i] = sum(r in 0..3, q in i..M: Z[p[i]]) }""")
    )
    with pytest.raises(tx.ScheduleError) as error:
        s.reorder("q", "r")
    assert error.value.witness["sizes"] == {"K": 1, "M": 2}


@pytest.mark.parametrize("reduction", ["any(j: X[i, j] > 0)", "all(j: X[i, j] > 0)", "argmax(j: X[i, j])"])
def test_what_is_spelled_out_stands_under_the_text(reduction: str):
    s = tx.schedule(tx.op(f"op f(X: f32[M, N]) -> Y: i64[M] require N >= 1 {{ Y[i] = i64({reduction}) }}"))
    with pytest.raises(tx.ScheduleError) as error:
        s.parallel("Y.j")
    assert error.value.span is not None
    assert error.value.span.text == reduction


def test_a_listing_with_large_sizes_reads_back():
    s = tx.schedule(tx.op("op f(X: f32[N]) -> Y: f32[N] { Y[i] = X[N - 1 - i] }"), N=1 << 40)
    assert equal(parse_kernel(show_kernel(s.kernel)), s.kernel)


def test_text_that_no_terminal_shows_is_no_argument():
    with pytest.raises(tx.ScheduleError) as error:
        Step("split", ("\x00i", 4)).apply(tx.schedule(tx.op(EITHER)).kernel)
    assert str(error.value) == (
        "error[arguments]: '\\x00i' has characters that no terminal shows\n"
        "  help: names are letters, digits and underscores"
    )


def test_examples_have_values_for_inputs_in_a_range():
    """No call has five values from an empty range, so an example has M = 1."""
    s = tx.schedule(
        tx.op("op f(p: i32[K] in 0..M, X: f32[M]) -> y: f32 { y = sum(i in 0..K, j in 0..3: X[p[i]]) }"), K=5
    )
    with pytest.raises(tx.ScheduleError) as refused:
        s.parallel("j")
    assert refused.value.witness["sizes"] == {"M": 1}


def test_examples_that_are_not_certain_say_so():
    """Of choices among many cases the proof knows too little to say which element they read."""
    s = tx.schedule(
        tx.op("""op f(X: f32[N, K, 3, 3]) -> Z: f32[K, K] {
      Z[i, j] = (X[i, i, 0, 0 | clamp] - X[i, 2*j, i, 0 | clamp]) * (if j < 2 then X[0, i, 0, 0] else X[i, 2, j, 0 | 1]) }""")
    )
    with pytest.raises(tx.ScheduleError) as refused:
        s.bind("Z.i", "block.y").cache_read("X", "Z.j")
    (note, *_), label = refused.value.notes, refused.value.label
    assert label == "may read what iteration (i=0, j=0, d0=0, d1=0, d2=0) writes"
    assert note.startswith("at N=1, K=2: ")
    assert ", and it is not disproven that both use X_cache[0, 0, 0, 0]; they may not run at once" in note


def test_examples_that_are_certain_do_not():
    with pytest.raises(tx.ScheduleError) as refused:
        tx.schedule(tx.op("op f(X: f32[K, K]) -> Y: f32[K] { Y[i] = prod(r in 0..K: X[i, r]) }")).parallel(
            "r"
        )
    assert (
        refused.value.label == "updates what iteration (i=0, r=0) writes"
        and "both use Y_acc[0]" in refused.value.notes[0]
    )
