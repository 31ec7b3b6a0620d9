"""Copies by joined and cut loops of what windows with strides read: proven at once, and refused
where an element is left out.
"""

from __future__ import annotations

from dataclasses import replace
from functools import cache
from time import perf_counter

import pytest

import texpr as tx
from texpr.compiler.pass_pipeline import ready
from texpr.ir.printing.loop import show_kernel
from texpr.lang import parse_kernel
from texpr.poly.certificate import certify
from texpr.poly.certificate.engine.buffer_accesses import access
from texpr.poly.certificate.engine.exposed_uses import uncovered
from texpr.poly.certificate.engine.isl_frame import Frame
from texpr.poly.certificate.engine.statement_extraction import as_written, parameters_of

OP = """op windows(X: f32[16, 9, 9], F: f32[4, 16, 3, 2]) -> Y: f32[4, 4, 4] {
  Y[k, y, x] = sum(c, r, q: X[c, 2*y + r, 2*x + q] * F[k, c, r, q])
}"""
STEPS = """
split("c", 8)
reorder("co", "k", "y", "x", "ci", "r", "q")
cache_read("X", "co")
fuse("X_cache.d0", "X_cache.d1", name="d01")
fuse("X_cache.d01", "X_cache.d2", name="v")
split("X_cache.v", 128)
split("X_cache.vi", 4)
split("X_cache.vio", 4)
"""
ELEMENT = "vo * 128 + ((vioo * 4 + vioi) * 4 + vii)"
FAULTS = [
    (f"if {ELEMENT} < 576", f"if {ELEMENT} < 575", "initialised"),  # the last one
    (f"if {ELEMENT} < 576", f"if {ELEMENT} >= 1 and {ELEMENT} < 576", "initialised"),  # the first one
    (f"if {ELEMENT} < 576", f"if {ELEMENT} < 576 and {ELEMENT} != 333", "initialised"),
    ("for X_cache.vioi in 0..4", "for X_cache.vioi in 0..3", "initialised"),
    ("for X_cache.vii in 0..4", "for X_cache.vii in 0..3", "initialised"),
    ("for X_cache.vo in 0..5", "for X_cache.vo in 0..4", "initialised"),
    (f"X_cache[({ELEMENT}) // 8 // 9", f"X_cache[({ELEMENT} - vioi * 4) // 8 // 9", "initialised"),
    (f"({ELEMENT}) % 8] = ", f"({ELEMENT}) % 4] = ", "initialised"),
    (
        f"({ELEMENT}) % 8] = ",
        f"({ELEMENT} + vii // 3) % 8] = ",
        "initialised",
    ),  # two digits of different numbers
]


@cache
def loops() -> str:
    """The listing, with what it leaves out: the instances of the equation that statements
    compute.
    """
    text = show_kernel(tx.schedule(tx.op(OP)).replay(STEPS).kernel)
    at = "  at[k, y, x"
    for line, terms in (
        ("= 0.0  start", "]"),
        (" * F[k, co * 8 + ci, r, q]", ", co * 8 + ci, r, q]"),
        (" = Y_acc[k, y, x]", "]"),
    ):
        text = text.replace(line + "\n", line + at + terms + "\n")
    return text + "\n" if text.endswith("\n") else f"{text}{at}]\n"


def proven(text: str) -> None:
    certify(parse_kernel(text), ready(tx.op(OP).program()))


def test_at_once():
    """isl takes 4 s to find the iteration."""
    program = "op even(X: f32[2, 16, 9, 9], F: f32[16, 16, 3, 2]) -> Y: f32[2, 16, 4, 4] {"
    plan = tx.schedule(
        tx.op(program + " Y[n, k, y, x] = sum(c, r, q: X[n, c, 2*y + r, 2*x + q] * F[k, c, r, q]) }")
    ).auto("sm_80")
    assert "shared" in plan.script()
    start = perf_counter()
    plan.certificate()
    assert perf_counter() - start < 2
    proven(loops())


def test_instances_that_copy_nothing_write_nothing():
    """The iteration that writes an element may be one of those that are taken not to run."""
    kernel = parse_kernel(loops())
    nest, uses = as_written(kernel, parameters := parameters_of(kernel))
    buffer, facts = nest.buffers[kernel.temporaries[1]], Frame(parameters, ()).universe().params()
    (copy,) = buffer.definitions
    ((user, read),) = ((s, r) for s, r in uses if r.tensor is buffer.tensor)
    source, use = access(buffer, copy, copy.indices, writes=True), access(buffer, user, read.indices)
    assert uncovered(use, [source], facts).is_empty()
    nothing = source.domain(facts) - source.domain(facts)
    assert uncovered(use, [replace(source, when=nothing)], facts).is_equal(use.domain(facts))


@pytest.mark.parametrize(("old", "new", "obligation"), FAULTS)
def test_a_fault_is_refused(old: str, new: str, obligation: str):
    assert old in loops()
    with pytest.raises(tx.ScheduleError) as e:
        proven(loops().replace(old, new))
    assert e.value.code == "certificate" and e.value.label == obligation, str(e.value)
