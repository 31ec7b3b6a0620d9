"""Asynchronous copies: waits and barriers stand where they must, for all sizes; a fault is found
by the proof and seen by the emulator.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from functools import cache

import numpy as np
import pytest

import texpr as tx
from tests.runtime.emulator.test_fibers import SM80
from tests.targets.cases import Case, emitted, problem, sizes_of
from texpr import poly
from texpr.compiler import pass_pipeline
from texpr.ir.build import add, mod
from texpr.ir.expr import Expr, Mod, Node, Read, index
from texpr.ir.interpreter.loop import interpret_kernel
from texpr.ir.loop import Barrier, Commit, For, If, Kernel, Stmt, Store, Wait
from texpr.ir.printing.loop import show_kernel
from texpr.ir.store_kind import ASYNCHRONOUS
from texpr.ir.traverse import equal, rewrite
from texpr.lang import parse_kernel
from texpr.passes.loop.check_async import check_arrivals
from texpr.runtime.emulator import fibers
from texpr.support.errors import CompileError, ScheduleError
from texpr.targets import Artifact, emit_llvm, find_target, plan

MIRRORED = "op mirrored(X: f32[T, 64]) -> Y: f32[64] { Y[i] = sum(t: X[t, 63 - i]) }"
COPIES = """
reorder("t", "i")
set_scope("Y_acc", "register")
cache_read("X", "t")
set_scope("X_cache", "shared")
bind("X_cache.d1", "thread.x")
bind("i", "thread.x")
"""


def mirrored(t: int) -> Case:
    """Each thread reads what another one has copied."""
    return Case("mirrored", MIRRORED, ((t, 64),), fixed=False)


@cache
def scheduled(buffers: int = 3, sizes: tuple[tuple[str, int], ...] = ()) -> tx.Schedule:
    return (
        tx.schedule(tx.op(MIRRORED), **dict(sizes)).replay(COPIES).pipeline("t", buffers, asynchronous=True)
    )


def computed(kernel: Kernel, case: Case, backwards: bool) -> np.ndarray:
    """What the emulator makes of a kernel of which nothing was proven."""
    given = problem(case)
    text, launches = emitted(kernel, SM80)
    sizes = sizes_of(case, kernel)
    ready = plan(Artifact(SM80, "", "", "", b"", launches, kernel.temporaries), sizes)
    out = given.empty()
    fibers.run(
        text, ready.launches, given.inputs, out, ready.scratch, list(sizes.values()), backwards=backwards
    )
    return out[0]


def unproven(kernel: Kernel, monkeypatch: pytest.MonkeyPatch) -> Kernel:
    monkeypatch.setattr(pass_pipeline, "check_arrivals", lambda kernel: kernel)
    return pass_pipeline.prepared(kernel, SM80)


def test_picture(golden):
    golden(show_kernel(scheduled().kernel))


@pytest.mark.parametrize("buffers", (2, 3, 4))
@pytest.mark.parametrize("backwards", (False, True))
def test_any_number_of_iterations(buffers: int, backwards: bool):
    """One kernel for all sizes, fewer iterations than buffers included. Sums are in order, and
    exact to the last bit.
    """
    kernel = pass_pipeline.prepared(scheduled(buffers).kernel, SM80)
    assert emit_llvm(kernel, SM80)[0].count("call void @texpr.copy.4(") == 2
    for t in (0, 1, 2, 5, 9):
        np.testing.assert_array_equal(
            computed(kernel, mirrored(t), backwards), problem(mirrored(t)).expected[0]
        )


@pytest.mark.parametrize("t", (2, 3, 7))
def test_a_known_number_of_iterations(t: int):
    kernel = pass_pipeline.prepared(scheduled(3, (("T", t),)).kernel, SM80)
    np.testing.assert_array_equal(computed(kernel, mirrored(t), False), problem(mirrored(t)).expected[0])


TWICE = "op twice(X: f32[R, T, 64]) -> Y: f32[64] { Y[i] = sum(r, t: X[r, t, 63 - i]) }"


def twice() -> tx.Schedule:
    """The loop that is pipelined runs again and again."""
    copies = COPIES.replace('reorder("t", "i")', 'reorder("r", "t", "i")').replace("X_cache.d1", "X_cache.d2")
    return tx.schedule(tx.op(TWICE)).replay(copies).pipeline("t", 3, asynchronous=True)


@pytest.mark.parametrize("backwards", (False, True))
def test_a_loop_that_runs_again(backwards: bool):
    """Before its buffers are filled anew, all threads have read the last ones."""
    kernel = pass_pipeline.prepared(twice().kernel, SM80)
    for r, t in ((3, 1), (2, 2), (3, 5), (2, 0)):
        given = Case("twice", TWICE, ((r, t, 64),), fixed=False)
        np.testing.assert_array_equal(computed(kernel, given, backwards), problem(given).expected[0])


def test_a_loop_that_runs_again_waits_first():
    """The first wait is for whatever the last run has left under way, and the barrier behind it
    for those who still read.
    """

    def without_first(node: Node) -> Node | None:
        if isinstance(node, For) and isinstance(node.body[0], Wait) and node.body[0].pending == 0:
            return replace(node, body=node.body[2:])
        return None

    changed = rewrite(twice().kernel, without_first)
    assert not equal(changed, twice().kernel)
    assert poly.unproven_copy(changed) is not None


def test_certified():
    assert scheduled().certificate().bit_exact


def test_a_listing_says_it_all():
    kernel = scheduled().kernel
    assert equal(parse_kernel(show_kernel(kernel)), kernel)


def test_a_cpu_copies_where_it_stands():
    x = np.random.default_rng(0).standard_normal((5, 64)).astype("f4")
    kernel = scheduled().kernel
    np.testing.assert_array_equal(
        interpret_kernel(kernel, [x], {kernel.sizes[0]: 5})[0], tx.interpret(tx.op(MIRRORED), x)
    )


# Faults.


def without(kind: type[Stmt]) -> Callable[[Node], Node | None]:
    def rule(node: Node) -> Node | None:
        if isinstance(node, For | If) and any(isinstance(s, kind) for s in node.body):
            return replace(node, body=tuple(s for s in node.body if not isinstance(s, kind)))
        return None

    return rule


def later(node: Node) -> Node | None:
    return Wait(node.pending + 1) if isinstance(node, Wait) else None


def swapped(node: Node) -> Node | None:
    """The wait behind the barrier: others' copies may be under way."""
    match node:
        case For(body=(Wait() as wait, Barrier() as barrier, *rest)):
            return replace(node, body=(barrier, wait, *rest))
    return None


def _turned(e: Expr) -> Expr:
    return mod(add(e.lhs, index(1)), e.rhs) if isinstance(e, Mod) else e


def wrong_stage_read(node: Node) -> Node | None:
    """The buffer that is being filled."""
    if isinstance(node, Read) and node.tensor.scope == "shared":
        return replace(node, indices=(_turned(node.indices[0]), *node.indices[1:]))
    return None


def wrong_stage_written(node: Node) -> Node | None:
    """The buffer of which others may still read."""
    if isinstance(node, Store) and node.mode is ASYNCHRONOUS:
        return replace(node, indices=(_turned(node.indices[0]), *node.indices[1:]))
    return None


def late_barrier(node: Node) -> Node | None:
    """A barrier behind the copies, where the one in front of them was."""
    match node:
        case For(body=(Wait() as wait, Barrier() as barrier, copies, Commit() as commit, *rest)):
            return replace(node, body=(wait, copies, commit, barrier, *rest))
    return None


FAULTS = {
    "no wait": (without(Wait), "arrival"),
    "no barrier": (without(Barrier), "barrier"),
    "waits too little": (later, "arrival"),
    "no commit": (without(Commit), "arrival"),
    "wait behind the barrier": (swapped, "barrier"),
    "reads the wrong buffer": (wrong_stage_read, "arrival"),
    "fills the wrong buffer": (wrong_stage_written, "arrival"),
    "copies before the barrier": (late_barrier, "overwritten"),
}


@pytest.mark.parametrize("fault", FAULTS)
def test_a_fault_is_found(fault: str, monkeypatch: pytest.MonkeyPatch):
    """The proof refuses it before code is made; where code is made all the same, another result
    shows it.
    """
    change, kind = FAULTS[fault]
    kernel = rewrite(scheduled().kernel, change)
    found = poly.unproven_copy(kernel)
    assert found is not None and found.kind == kind
    with pytest.raises(ScheduleError, match="asynchronous=True"):
        pass_pipeline.prepared(kernel, SM80)
    wrong = unproven(kernel, monkeypatch)
    expected = problem(mirrored(9)).expected[0]
    assert not all(
        np.array_equal(computed(wrong, mirrored(9), backwards), expected) for backwards in (False, True)
    )


def test_a_wait_for_all_covers_what_is_in_a_group(monkeypatch: pytest.MonkeyPatch):
    """With two buffers no group may be under way where the wait is; copies that are in none are
    not waited for.
    """
    kernel = rewrite(scheduled(2).kernel, without(Commit))
    found = poly.unproven_copy(kernel)
    assert found is not None and found.kind == "arrival"
    assert not np.array_equal(
        computed(unproven(kernel, monkeypatch), mirrored(9), False), problem(mirrored(9)).expected[0]
    )


def test_a_fault_is_told():
    with pytest.raises(ScheduleError) as error:
        check_arrivals(rewrite(scheduled().kernel, without(Barrier)))
    assert (
        str(error.value)
        == """\
error[arrival]: copies to X_cache by other threads are not proven to have arrived here: there is no barrier behind the wait
  --> kernel:18:7
  18 |       Y_acc[i] += X_cache[t % 3, 0, 63 - i]
     |       ^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^
    copied by: X_cache[(t + 2) % 3, 0, d1] = X[t + 2, d1]  asynchronous copy
  help: pipeline(..., asynchronous=True) places waits and barriers; steps after it must leave them where they are"""
    )


def test_the_source_must_not_change():
    """A nest that writes what it copies: the copy may be made before or after."""
    text = "op shift(X: f32[T, 64]) -> Y: f32[T, 64] { Y[t, i] = X[t, i] + Y[t-1, 63 - i | 0] }"
    s = tx.schedule(tx.op(text)).cache_read("Y", "t").set_scope("Y_cache", "shared")
    with pytest.raises(ScheduleError, match="reverses a dependence"):
        s.pipeline("Y_cache", asynchronous=True)


def refusal(text: str, script: str) -> str:
    with pytest.raises(ScheduleError) as error:
        tx.schedule(tx.op(text)).replay(script)
    return str(error.value)


def test_only_copies():
    text = "op f(X: f32[T, 64]) -> Y: f32[T, 64] {\n  h[t, i] = 2 * X[t, i]\n  Y[t, i] = h[t, 63 - i]\n}"
    script = 'compute_at("h", "Y.t")\nset_scope("h", "shared")\npipeline("h", asynchronous=True)'
    assert (
        refusal(text, script)
        == """\
error[pipeline]: only copies are asynchronous, and `h` is computed
  --> <op>:2:3
  2 |   h[t, i] = 2 * X[t, i]
    |   ^^^^^^^^^^^^^^^^^^^^^
    step 3, script:3: pipeline("h", asynchronous=True)
  help: cache_read makes copies; without asynchronous=True anything is computed ahead"""
    )


def test_only_to_shared_memory():
    assert (
        refusal(MIRRORED, 'reorder("t", "i")\ncache_read("X", "t")\npipeline("t", asynchronous=True)')
        == """\
error[pipeline]: only copies to shared memory are asynchronous, and `X_cache` lives elsewhere
    step 3, script:3: pipeline("t", asynchronous=True)
  help: set_scope("X_cache", "shared") first"""
    )


def test_a_processor_without_such_copies():
    with pytest.raises(CompileError) as error:
        pass_pipeline.prepared(scheduled().kernel, find_target("sm_75"))
    assert (
        str(error.value)
        == """\
error[target]: this target has no asynchronous copies, and X_cache is filled by them
  help: newer processors have them; pipeline without asynchronous=True runs anywhere"""
    )


def test_copies_that_are_too_small():
    s = tx.schedule(tx.op(MIRRORED.replace("f32", "f16"))).replay(COPIES).pipeline("t", asynchronous=True)
    with pytest.raises(CompileError) as error:
        emit_llvm(pass_pipeline.prepared(s.kernel, SM80), SM80)
    assert (
        str(error.value)
        == """\
error[target]: X is copied to X_cache asynchronously, which threads do with 4, 8 or 16 bytes that begin at a multiple of that, \
from memory to shared memory
  help: vectorize the innermost loop of the copy, or pipeline without asynchronous=True"""
    )


def test_newer_processors_have_them():
    assert [
        name
        for name in ("sm_70", "sm_75", "sm_80", "sm_86", "sm_90a")
        if find_target(name).machine.has_async_copy
    ] == ["sm_80", "sm_86", "sm_90a"]
