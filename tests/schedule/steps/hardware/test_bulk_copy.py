"""Bulk copies on sm_90a: boxes of tensors that one thread orders, told of by counters. Faults
are found by proof and by the emulator.
"""

from __future__ import annotations

import re
from collections.abc import Callable
from dataclasses import replace
from functools import cache
from pathlib import Path

import numpy as np
import pytest

import texpr as tx
from tests.autoschedule.gpu.test_gemm import LINEAR
from tests.poly.asynchronous.test_barrier_phases import without
from tests.targets.cases import Case, emitted, kernel_of, problem
from tests.targets.gpu.sass import count, instructions
from tests.targets.gpu.test_ptx import assemble
from tests.targets.gpu.test_warpgroups import SM90, script
from texpr import poly
from texpr.compiler import pass_pipeline
from texpr.ir.build import add, mod, select, sub
from texpr.ir.expr import Node, Select, Var, index
from texpr.ir.interpreter.loop import interpret_kernel
from texpr.ir.loop import Barrier, Commit, For, If, Kernel, Stmt, Wait
from texpr.ir.loop_kind import BULK_COPY, Thread
from texpr.ir.printing.loop import show_kernel
from texpr.ir.traverse import equal, rewrite
from texpr.lang import parse_kernel
from texpr.passes.loop.check_async import check_arrivals
from texpr.runtime import gpu
from texpr.runtime.emulator import fibers
from texpr.runtime.gpu import Code, EmulatedDriver
from texpr.runtime.gpu.device import Device
from texpr.support.errors import CompileError, ScheduleError
from texpr.targets import Artifact, compile_kernel, emit_llvm, find_target, load_on, plan

MIRRORED = "op mirrored(X: f32[H, T, 64]) -> Y: f32[H, 64] { Y[h, i] = sum(t: X[h, t, 63 - i]) }"
ROWS = """
bind("h", "block.x")
reorder("t", "i")
set_scope("Y_acc", "register")
cache_read("X", "t")
set_scope("X_cache", "shared")
bind("i", "thread.x")
"""
BLUR = "op blur(X: f32[H, W]) -> Y: f32[H, W] { Y[i, j] = sum(r in 0..3: X[i + r - 1, j | 0]) }"
WINDOWS = """
split("i", 8, tail="pad")
split("j", 32, tail="exact")
reorder("jo", "io", "ii", "ji")
bind("jo", "block.x")
cache_read("X", "io")
set_scope("X_cache", "shared")
bind("ji", "thread.x")
"""
BATCHED = (
    "op batched(A: f64[H, 24, K], B: f64[H, K, 16]) -> C: f64[H, 24, 16] { C[h, i, j] = sum(k: A[h, i, k] * "
    "B[h, k, j]) }"
)
TILES = """
bind("h", "block.x")
split("k", 8, tail="pad")
reorder("ko", "i", "j", "ki")
set_scope("C_acc", "register")
cache_read("A", "ko")
set_scope("A_cache", "shared")
cache_read("B", "ko")
set_scope("B_cache", "shared")
bind("i", "thread.y")
bind("j", "thread.x")
"""


def warpgroups(n: int = 64, dtype: str = "bf16", tail: str = "exact", buffers: int = 3) -> str:
    """The script of a product of warpgroups, its copies left to one thread."""
    shared = re.compile(r'^(split|fuse|bind|vectorize)\("\w_cache.*\n', re.MULTILINE)
    lines = (
        shared.sub("", script(n, dtype))
        .replace('"exact"', f'"{tail}"')
        .replace('"ki", 16, tail="pad"', '"ki", 16, tail="exact"')
    )
    return f'{lines}pipeline("ko", {buffers}, asynchronous=True)\nbulk_copy("ko")\n'


def ahead(lines: str, loop: str, buffers: int = 3) -> str:
    return f'{lines}pipeline("{loop}", {buffers}, asynchronous=True)\nbulk_copy("{loop}")\n'


FLYING = 'pipeline("ko", 4, asynchronous=True, lead=2)\nasync_mma("ko", 1)\nbulk_copy("ko")\n'
CASES = {
    "in flight": (
        Case("linear", LINEAR, ((64, 512), (64, 512)), fixed=True),
        warpgroups().replace('pipeline("ko", 3, asynchronous=True)\nbulk_copy("ko")\n', FLYING),
    ),
    "linear": (Case("linear", LINEAR, ((128, 256), (64, 256)), fixed=True), warpgroups()),
    "wide": (
        Case("linear", LINEAR.replace("bf16", "f16"), ((64, 320), (256, 320)), fixed=True),
        warpgroups(256, "f16", buffers=4),
    ),
    "ends": (Case("linear", LINEAR, ((100, 200), (72, 200)), fixed=True), warpgroups(tail="pad")),
    "rows": (Case("mirrored", MIRRORED, ((3, 7, 64),), fixed=True), ahead(ROWS, "t")),
    "few rows": (Case("mirrored", MIRRORED, ((1, 2, 64),), fixed=True), ahead(ROWS, "t", 4)),
    "windows": (Case("blur", BLUR, ((37, 64),), fixed=True), ahead(WINDOWS, "io", 2)),
    "batched": (Case("batched", BATCHED, ((2, 24, 36), (2, 36, 16)), fixed=True), ahead(TILES, "ko")),
}


def emulated(
    kernel: Kernel,
    case: Case,
    backwards: bool,
    change: Callable[[str], str] = lambda text: text,
    swizzle: int = -1,
) -> np.ndarray:
    text, launches = emitted(kernel, SM90)
    ready, out = (
        plan(Artifact(SM90, "", "", "", b"", launches, kernel.temporaries), {}),
        problem(case).empty(),
    )
    maps = tuple((*m[:4], swizzle if swizzle >= 0 else m[4]) for m in ready.maps)
    fibers.run(
        change(text),
        ready.launches,
        problem(case).inputs,
        out,
        ready.scratch,
        [],
        backwards=backwards,
        maps=maps,
    )
    return out[0]


def right(found: np.ndarray, case: Case) -> bool:
    return np.allclose(found, problem(case).expected[0], rtol=1e-4, atol=1e-4)


@pytest.mark.parametrize("backwards", (False, True))
@pytest.mark.parametrize("which", CASES)
def test_emulated(which: str, backwards: bool):
    """Copies that come late and early, boxes that lie across the ends of their tensors too."""
    case, lines = CASES[which]
    assert right(emulated(kernel_of(case, SM90, lines), case, backwards), case)


@cache
def schedule(which: str) -> tx.Schedule:
    case, lines = CASES[which]
    return tx.Schedule(problem(case).program, problem(case).sizes).replay(lines)


@pytest.mark.parametrize(
    "which", [c for c in CASES if c != "windows"]
)  # whose both ends certificates do not tell, begun ahead or not
def test_certified(which: str):
    assert schedule(which).certificate().flushed == (
        ("C",) if which in ("in flight", "linear", "wide", "ends") else ()
    )


def test_picture(golden):
    golden(show_kernel(schedule("ends").kernel))


@pytest.mark.parametrize("which", ("ends", "windows"))
def test_a_listing_says_it_all(which: str):
    kernel = schedule(which).kernel
    assert equal(parse_kernel(show_kernel(kernel)), kernel)


def test_elsewhere_the_copies_are_made_where_they_stand():
    case, _ = CASES["windows"]
    kernel = schedule("windows").kernel
    np.testing.assert_array_equal(
        interpret_kernel(kernel, problem(case).inputs, {})[0], problem(case).expected[0]
    )


# Faults.


def _counted(change: Callable[[Commit | Wait], Stmt]) -> Callable[[Node], Node | None]:
    return lambda n: change(n) if isinstance(n, Commit | Wait) and n.slot is not None else None


def _more(n: int) -> Callable[[Node], Node | None]:
    def rule(s: Node) -> Node | None:
        match s:
            case Commit(slot, Select(cond, there, none), slots):
                return Commit(slot, select(cond, add(there, index(n)), none), slots)
            case Commit(slot, brings, slots) if brings is not None:
                return Commit(slot, add(brings, index(n)), slots)
        return None

    return rule


def _other_phase(s: Commit | Wait) -> Stmt:
    return replace(s, phase=sub(index(1), s.phase)) if isinstance(s, Wait) and s.phase is not None else s


def _other_counter(s: Commit | Wait) -> Stmt:
    return (
        replace(s, slot=mod(add(s.slot, index(1)), index(s.slots)))
        if isinstance(s, Wait) and s.slot is not None
        else s
    )


def _late_wait(n: Node) -> Node | None:
    """Copies are begun before all threads have met."""
    match n:
        case For(body=(Wait() as wait, Barrier() as barrier, *rest)):
            place = next(k for k, s in enumerate(rest) if isinstance(s, Commit)) + 1
            return replace(n, body=(*rest[:place], wait, barrier, *rest[place:]))
    return None


def _unconditional(n: Node) -> Node | None:
    """A group whose copies are begun under a condition, and expected in any case."""
    return (
        Commit(n.slot, n.brings.then, n.slots)
        if isinstance(n, Commit) and isinstance(n.brings, Select)
        else None
    )


def _always_begun(n: Node) -> Node | None:
    """Copies that nobody expects."""
    match n:
        case For(body=body) if any(
            isinstance(s, If) and isinstance(s.body[0], For) and s.body[0].kind == BULK_COPY for s in body
        ):
            return replace(n, body=tuple(b for s in body for b in (s.body if isinstance(s, If) else (s,))))
    return None


FAULTS = {
    "no wait": (without(Wait), "turn"),
    "no barrier": (without(Barrier), "turn"),
    "wrong parity": (_counted(_other_phase), "phase"),
    "wrong counter": (_counted(_other_counter), "counter"),
    "too many bytes": (_more(64), "bytes"),
    "too few bytes": (_more(-64), "bytes"),
    "waits late": (_late_wait, "turn"),
    "expects what is not begun": (_unconditional, "bytes"),
    "begins what is not expected": (_always_begun, "bytes"),
}


@pytest.mark.parametrize("fault", FAULTS)
@pytest.mark.parametrize("which", ("linear", "rows", "batched"))
def test_a_fault_is_found_by_the_proof(which: str, fault: str):
    change, kind = FAULTS[fault]
    kernel = schedule(which).kernel
    wrong = rewrite(kernel, change)
    assert not equal(wrong, kernel) and poly.unproven_copy(kernel) is None
    found = poly.unproven_copy(wrong)
    assert found is not None and found.kind == kind


@pytest.mark.parametrize("fault", [f for f in FAULTS if f != "expects what is not begun"])
def test_a_fault_is_seen_by_the_emulator(fault: str, monkeypatch: pytest.MonkeyPatch):
    """In one of the two orders of threads: other numbers, threads that wait for ever, an arrival
    too many, copies that nobody waits for. (A last phase that never ends is seen by nobody.)
    """
    case, _ = CASES["rows"]
    monkeypatch.setattr(pass_pipeline, "check_arrivals", lambda kernel: kernel)
    kernel = pass_pipeline.prepared(rewrite(schedule("rows").kernel, FAULTS[fault][0]), SM90)

    def seen(backwards: bool) -> bool:
        try:
            return not right(emulated(kernel, case, backwards), case)
        except AssertionError as error:
            return (
                re.search(
                    "a phase of copies that does not end|told twice in one phase|under way when|threads",
                    str(error),
                )
                is not None
            )

    assert any(map(seen, (False, True)))


def test_a_corner_of_code_is_seen():
    case, lines = CASES["linear"]
    kernel = kernel_of(case, SM90, lines)

    def change(text: str) -> str:
        return re.sub(r"(tile\.2d\([^\n]*?, ptr %m0, i32 [^,]+), i32 [^,]+", r"\1, i32 1", text)

    assert change(text := emitted(kernel, SM90)[0]) != text
    assert not right(emulated(kernel, case, False, change), case)


@pytest.mark.parametrize("swizzle", (0, 32, 64))
def test_another_swizzle_is_seen(swizzle: int):
    case, lines = CASES["linear"]
    kernel = kernel_of(case, SM90, lines)
    assert right(emulated(kernel, case, False, swizzle=128), case)
    assert not right(emulated(kernel, case, False, swizzle=swizzle), case)


def test_steps_after_it_leave_it_alone():
    with pytest.raises(ScheduleError) as error:
        check_arrivals(rewrite(schedule("rows").kernel, _counted(_other_phase)))
    assert str(error.value).startswith(
        "error[arrival]: this waits for a phase that is not proven to be that of its group, of copies to "
        "X_cache"
    )


# Processors and drivers.


@cache
def assembly(which: str) -> str:
    case, lines = CASES[which]
    return compile_kernel(kernel_of(case, SM90, lines), SM90).assembly


@pytest.mark.parametrize(
    ("which", "dimensions", "copies"),
    [("linear", 2, 4), ("in flight", 2, 4), ("wide", 2, 4), ("rows", 3, 2), ("batched", 3, 4)],
)
def test_assembled(which: str, dimensions: int, copies: int, tmp_path: Path):
    """No spills and no message C75.., maps stay where the launch put them, one thread orders
    each copy, all ask for their arrival.
    """
    text = assembly(which)
    said = assemble(text, "sm_90a", tmp_path)
    assert (
        " 0 bytes stack frame, 0 bytes spill stores, 0 bytes spill loads" in said
        and "C75" not in said
        and ".local" not in text
    )
    assert text.count("cvta.param") == 2 - (which == "rows")
    code = instructions(text, "sm_90a", tmp_path)
    assert (
        count(code, f"UTMALDG.{dimensions}D") == copies and count(code, "LDGSTS") == count(code, "LDG") == 0
    )
    assert count(code, "SYNCS.ARRIVE.TRANS64") == 2 and count(code, "SYNCS.PHASECHK.TRANS64.TRYWAIT") > 0


def test_maps_say_what_is_copied():
    case, lines = CASES["ends"]
    _, launches = emit_llvm(kernel_of(case, SM90, lines), SM90)
    (launch,) = launches
    assert {(m.tensor, m.dtype, m.shape, m.box, m.swizzle) for m in launch.maps} == {
        (0, "bf16", (100, 200), (64, 64), 128),
        (1, "bf16", (72, 200), (64, 64), 128),
    }


def test_on_a_device():
    """By the way of launches, arrays of a device and maps that its driver makes."""
    case, lines = CASES["ends"]
    device = Device("test", EmulatedDriver(capability=(9, 0)))
    kernel = kernel_of(case, SM90, lines)
    text, launches = emit_llvm(kernel, SM90)
    ready = plan(Artifact(SM90, "", "", "", b"", launches, kernel.temporaries), {})
    made = [gpu.empty(device, a.shape, a.dtype) for a in problem(case).empty()]
    arrays = [*(gpu.to_device(device, a) for a in problem(case).inputs), *made]
    load_on(device, SM90, Code(text, lambda: "")).bind(ready.launches, arrays, ready.scratch, [], ready.maps)(
        device.stream
    )
    assert right(made[0].numpy(), case)


def test_kernels_run_and_are_saved(tmp_path: Path):
    case, _ = CASES["linear"]
    kernel = schedule("linear").compile("sm_90a")
    assert right(np.asarray(kernel.emulate(*(a.view("u2") for a in problem(case).inputs))), case)
    kernel.save(tmp_path / "k.ptx")
    assert (
        "a tensor map of argument 0 (bf16[128, 256], boxes of [64, 64], swizzle of 128 bytes)"
        in (tmp_path / "k.ptx").read_text()
    )


def test_a_copy_that_every_thread_would_order():
    def bound(n: Node) -> Node | None:
        return (
            For(Var("u"), index(2), (n,), Thread("y")) if isinstance(n, For) and n.kind == BULK_COPY else None
        )

    found = poly.unproven_copy(rewrite(schedule("linear").kernel, bound))
    assert found is not None and found.kind == "place"


def test_other_processors_lack_it():
    case, lines = CASES["rows"]
    for target in ("sm_80", "sm_90"):
        with pytest.raises(CompileError, match="this target has no bulk copies"):
            kernel_of(case, find_target(target), lines)


# Refusals.


def _refusal(which: str, old: str, new: str, shapes: tuple[tuple[int, ...], ...] | None = None) -> str:
    case, lines = CASES[which]
    assert old in lines
    case = case if shapes is None else replace(case, shapes=shapes)
    with pytest.raises((CompileError, ScheduleError)) as error:
        emit_llvm(kernel_of(case, SM90, lines.replace(old, new)), SM90)
    return re.sub(r"(test_\w+\.py|<\w+>):\d+", r"\1:LINE", str(error.value))


def test_refusals(golden):
    golden(
        "\n\n".join(
            [
                _refusal("rows", 'pipeline("t", 3, asynchronous=True)\n', ""),
                _refusal(
                    "rows",
                    'set_scope("X_cache", "shared")\n',
                    'set_scope("X_cache", "shared")\nbind("X_cache.d2", "thread.x")\n',
                ),
                _refusal(
                    "batched",
                    'set_scope("B_cache", "shared")\n',
                    'set_scope("B_cache", "shared")\nlayout("B_cache", "h k j -> h j k")\n',
                ),
                _refusal("linear", 'swizzle("A_cache", 8, 8, 64)', 'swizzle("A_cache", 8, 4, 64)'),
                _refusal("windows", 'split("j", 32', 'split("j", 24', ((37, 48),)),
                _refusal("windows", 'split("j", 32', 'split("j", 23', ((37, 46),)),
                _refusal("windows", 'split("j", 32', 'split("j", 30', ((37, 60),)),
                _refusal("rows", 'bind("h", "block.x")\n', ""),
                _refusal("batched", 'bind("h", "block.x")\n', ""),
            ]
        )
    )
