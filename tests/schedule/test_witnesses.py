"""Refusals: their smallest sizes are sizes that a call may have, and what they are told is fit to be shown."""

from __future__ import annotations

import pytest

import texpr as tx
from texpr.ir.shapes import evaluate_size
from texpr.schedule.script import Step

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
    assert step.startswith('reverse') or error.value.replay().tensor  # a + b is b + a


def test_the_smallest_sizes_leave_values_for_data():
    """With K = 0 there is no number in 0..K, so M is 0 as well."""
    s = tx.schedule(tx.op("""op far(Z: f32[K], p: i32[M] in 0..K) -> Y: f32[M] {
      Y[i] = sum(r in 0..3, q in i..M: Z[p[i]]) }"""))
    with pytest.raises(tx.ScheduleError) as error:
        s.reorder("q", "r")
    assert error.value.witness["sizes"] == {"K": 1, "M": 2}


def test_text_that_no_terminal_shows_is_no_argument():
    with pytest.raises(tx.ScheduleError) as error:
        Step("split", ("\x00i", 4)).apply(tx.schedule(tx.op(EITHER)).kernel)
    assert str(error.value) == ("error[arguments]: '\\x00i' has characters that no terminal shows\n"
                                "  help: names are letters, digits and underscores")
