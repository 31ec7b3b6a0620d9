"""Updates in which threads meet: only where they may, proven, and equal to the interpreter's."""

from __future__ import annotations

import re
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest

import texpr as tx
from tests.schedule.steps.cases import listing
from tests.targets.gpu.sass import count, instructions
from tests.targets.gpu.test_ptx import assemble
from texpr.ir.loop import Kernel, Store
from texpr.ir.printing.loop import full_listing
from texpr.ir.store_kind import ATOMIC, PLAIN
from texpr.ir.traverse import rewrite
from texpr.lang import parse_kernel
from texpr.poly.certificate import certify
from texpr.schedule.structure.loops import stores

HISTOGRAM = "op histogram(X: i32[N] in 0..5, w: {t}[N]) -> H: {t}[5] {{ H[b] = 1  H[X[i]] {update} w[i] }}"
ROWS = (
    "op rows(G: f32[B, D], idx: i32[B] in 0..7) -> dE: f32[7, D] { dE[v, d] = 0  dE[idx[b], d] += G[b, d] }"
)
TOTAL = "op total(X: f32[N]) -> s: f32 { s = sum(i: X[i]) }"
GENERATOR = np.random.default_rng(0)
PLACES = GENERATOR.integers(0, 5, 100).astype(np.int32)
TYPES = {
    "i8": np.int8,
    "u8": np.uint8,
    "i16": np.int16,
    "i32": np.int32,
    "u32": np.uint32,
    "i64": np.int64,
    "u64": np.uint64,
    "f16": np.float16,
    "f32": np.float32,
    "f64": np.float64,
}


def histogram(t: str = "f32", update: str = "+=") -> tx.Op:
    return tx.op(HISTOGRAM.format(t=t, update=update))


@pytest.mark.parametrize("processor", ["sm_70", "sm_90a"])
@pytest.mark.parametrize("update", ["+=", "max=", "min="])
@pytest.mark.parametrize("t", TYPES)
def test_every_type(t: str, update: str, processor: str, tmp_path: Path):
    op, weights = histogram(t, update), GENERATOR.integers(0, 90, 100).astype(TYPES[t])
    kernel = tx.schedule(op).auto(processor).compile(processor)
    assert "reassoc atomic" in str(kernel) and ("atom" in kernel.ptx or "red." in kernel.ptx)
    np.testing.assert_array_equal(kernel.emulate(PLACES, weights), tx.interpret(op, PLACES, weights))
    assemble(kernel.ptx, processor, tmp_path)


@pytest.mark.parametrize("value", [np.nan, np.inf, -np.inf, -0.0])
@pytest.mark.parametrize("update", ["+=", "max=", "min="])
def test_special_numbers(update: str, value: float):
    op, weights = histogram(update=update), np.array([0.0, value, 2, value, 1], np.float32)
    places = np.array([0, 0, 1, 1, 2], np.int32)
    found, expected = (
        tx.schedule(op).auto("sm_80").compile("sm_80").emulate(places, weights),
        tx.interpret(op, places, weights),
    )
    np.testing.assert_array_equal(found, expected)
    assert isinstance(found, np.ndarray) and isinstance(expected, np.ndarray)
    np.testing.assert_array_equal(
        np.signbit(found) & ~np.isnan(found), np.signbit(expected) & ~np.isnan(expected)
    )


@pytest.mark.parametrize(("rows", "width"), [(20, 13), (1, 1), (0, 3), (9, 64)])
def test_lanes_add_one_after_the_other(rows: int, width: int):
    """Vectors of the gradient, with a condition that differs between lanes where no whole number
    of them fits.
    """
    steps = (
        'atomic("dE", reassoc=True)\nbind("b", "block.x")\nsplit("dE.1.d", 4)\nbind("dE.1.do", '
        '"thread.x")\nvectorize("dE.1.di")'
    )
    op, s = tx.op(ROWS), tx.schedule(tx.op(ROWS)).replay(steps)
    gradient, index = (
        GENERATOR.standard_normal((rows, width), dtype=np.float32),
        GENERATOR.integers(0, 7, rows).astype(np.int32),
    )
    s.certificate()
    np.testing.assert_allclose(
        s.compile("sm_80").emulate(gradient, index), tx.interpret(op, gradient, index), rtol=1e-5, atol=1e-5
    )
    np.testing.assert_array_equal(s.compile()(gradient, index), tx.interpret(op, gradient, index))


@pytest.mark.parametrize("place", ["thread.x", "thread.y"])
def test_in_shared_memory(place: str):
    s = tx.schedule(tx.op(TOTAL), N=37).atomic("s_acc", reassoc=True).bind("i", place)
    assert "atom.shared.add.f32" in s.compile("sm_80").ptx and s.certificate().reassociated == ("s",)
    x = GENERATOR.standard_normal(37, dtype=np.float32)
    np.testing.assert_allclose(s.compile("sm_80").emulate(x), x.sum(), rtol=1e-5)


def test_no_barriers_between_updates():
    """Threads that only add go on; those that read what was added wait."""
    s = (
        tx.schedule(tx.op(ROWS), B=64, D=3)
        .split("b", 8)
        .atomic("dE", reassoc=True)
        .bind("bi", "thread.x")
        .bind("v", "block.x")
    )
    assert "atom" in s.compile("sm_80").ptx and "bar.sync" not in s.compile("sm_80").ptx
    total = tx.schedule(tx.op(TOTAL), N=64).atomic("s_acc", reassoc=True).bind("i", "thread.x")
    assert total.compile("sm_80").ptx.count("bar.sync") == 2, "behind the start, and in front of the result"


def test_the_certificate_says_what_may_differ():
    found = tx.schedule(histogram()).auto("sm_80").certificate()
    assert (found.reassociated, found.flushed) == (("H",), ("H",))
    assert tx.schedule(histogram("f64")).auto("sm_80").certificate().flushed == ()
    whole = tx.schedule(histogram("i32")).auto("sm_80").certificate()
    assert (whole.reassociated, whole.flushed) == ((), ())


def without(kernel: Kernel, **changes: object) -> Kernel:
    return rewrite(
        kernel, lambda n: replace(n, **changes) if isinstance(n, Store) and n.mode is ATOMIC else None
    )


@pytest.mark.parametrize("changes", [{"mode": PLAIN}, {"reassoc": False}], ids=str)
def test_a_fault_is_found(changes: dict[str, object]):
    """Fibers take turns at barriers alone, so the emulator does not see it; the proof does."""
    s = tx.schedule(histogram()).auto("sm_80")
    certify(s.kernel, s.program)
    with pytest.raises(tx.ScheduleError, match="iterations of the block.x loop io use one element of H"):
        certify(without(s.kernel, **changes), s.program)


GRAND = tx.op("op grand(X: f32[64, 32]) -> y: f32 { y = sum(i, j: X[i, j]) }")


def test_instructions_are_not_atomic():
    """A warp reads the total and writes it: another block may do so in between."""
    run, mark = 'tensorize("y.j", "warp_add_f32", reassoc=True)', 'atomic("y_acc", reassoc=True)'
    with pytest.raises(tx.ScheduleError, match="by the instruction warp_add_f32, which is not atomic"):
        tx.schedule(GRAND).replay(f"{run}\n{mark}")
    with pytest.raises(tx.ScheduleError, match="it does not update memory atomically"):
        tx.schedule(GRAND).replay(f"{mark}\n{run}")
    s = tx.schedule(GRAND).replay(f'{mark}\nbind("y.i", "block.x")')
    certify(s.kernel, s.program)
    text = full_listing(s.kernel).replace("for y.j in 0..32", "for y.j in 0..32 instruction.warp_add_f32")
    assert "instruction" in text
    with pytest.raises(tx.ScheduleError, match="iterations of the block.x loop i use one element of y_acc"):
        certify(parse_kernel(text), s.program)


def test_listings_are_read_back():
    s = tx.schedule(histogram()).auto("sm_80")
    assert [n.tensor.name for n in stores(parse_kernel(str(s))) if n.mode is ATOMIC] == ["H"]
    assert "proven independent but for atomic updates of H" in str(s)
    assert tx.schedule(histogram()).replay(s.script()).script() == s.script()


def test_the_default_schedule_takes_it_where_it_must():
    assert 'atomic("dE", reassoc=True)' in tx.schedule(tx.op(ROWS)).auto("sm_80").script()
    assert "atomic" not in tx.schedule(tx.op(ROWS)).auto("x86-64-v3").script()
    fixed = tx.op("op f(X: f32[N]) -> Y: f32[N] { Y[i] = 0  Y[i] += X[i] }")
    assert "atomic" not in tx.schedule(fixed).auto("sm_80").script()


def test_one_instruction(tmp_path: Path):
    """Nobody needs what was there before: a reduction, which waits for nothing."""
    code = instructions(
        tx.schedule(tx.op(ROWS), B=4096, D=64).auto("sm_80").compile("sm_80").ptx, "sm_80", tmp_path
    )
    assert count(code, "RED") == 1 and count(code, "ATOMG") == count(code, "ATOM") == 0


@pytest.mark.parametrize(
    ("text", "steps", "said"),
    [
        (
            HISTOGRAM.format(t="f32", update="+="),
            's.atomic("H")',
            """error[atomic]: `H` is a sum of floats, which would be added in an order that is not known
  --> <op>:1:69
  1 | op histogram(X: i32[N] in 0..5, w: f32[N]) -> H: f32[5] { H[b] = 1  H[X[i]] += w[i] }
    |                                                                     ^^^^^^^^^^^^^^^
    step 1, test_atomic.py:LINE: atomic("H")
  help: atomic("H", reassoc=True) permits it""",
        ),
        (
            HISTOGRAM.format(t="f32", update="*="),
            's.atomic("H", reassoc=True)',
            "no processor has atomic updates of `H`: mul",
        ),
        (
            HISTOGRAM.format(t="bf16", update="+="),
            's.atomic("H", reassoc=True)',
            "no processor has atomic updates of `H`: bf16",
        ),
        (
            HISTOGRAM.format(t="i32", update="+="),
            's.atomic("w")',
            "nothing is added to `w`: only updates are atomic",
        ),
        (HISTOGRAM.format(t="i32", update="+="), 's.atomic("Q")', "there is no tensor `Q`"),
        (
            HISTOGRAM.format(t="i32", update="+="),
            's.atomic("H", reassoc=1)',
            "`reassoc` is True or False, not 1",
        ),
        (
            HISTOGRAM.format(t="i32", update="+="),
            's.atomic("H").parallel("i")',
            "parallel of `i`: its iterations depend on each other",
        ),
        (
            "op f(X: i32[N]) -> Y: i32[N] { Y[i] = 0  Y[i] += X[i] }",
            's.atomic("Y")',
            "no two iterations of a loop update one element of `Y`",
        ),
        (
            "op f(X: i32[N]) -> (S: i32[N], t: i32) { S[i] = S[i - 1 | 0] + X[i]  t = sum(i: X[i]) }",
            's.merge("S.i", "t.i").atomic("t_acc")',
            "iterations of `i` use what others write in other statements too",
        ),
    ],
)
def test_complaints(text: str, steps: str, said: str):
    with pytest.raises(tx.Error) as error:
        eval(steps, {"s": tx.schedule(tx.op(text))})
    assert said in re.sub(r"test_atomic.py:\d+|<string>:\d+", "test_atomic.py:LINE", str(error.value))


def test_bind_names_it_as_a_way_out():
    with pytest.raises(tx.ScheduleError) as error:
        tx.schedule(histogram("i32")).bind("i", "thread.x")
    assert 'atomic("H").bind("i", "thread.x")' in str(error.value)


LISTINGS = {"atomic": ("scatter", {}, 's.atomic("Y", reassoc=True).bind("i", "block.x")')}


@pytest.mark.parametrize("name", LISTINGS)
def test_listing(name, golden):
    listing(golden, *LISTINGS[name])
