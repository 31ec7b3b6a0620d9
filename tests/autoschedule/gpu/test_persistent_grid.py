"""Blocks that walk over all tiles: loops bound to at most so many, copies that run on from one
tile to the next, and what auto() makes.
"""

from __future__ import annotations

import re
from dataclasses import replace
from functools import cache
from pathlib import Path

import numpy as np
import pytest

import texpr as tx
from tests.autoschedule.gpu.test_gemm import HALF, LINEAR
from tests.autoschedule.gpu.test_warpgroup_gemm import BATCHED, LAYER, WINDOWS, right, scheduled
from tests.schedule.steps.hardware.test_async_mma import computed, without
from tests.schedule.steps.hardware.test_bulk_copy import warpgroups
from tests.targets.cases import Case, emitted, kernel_of, problem
from tests.targets.gpu.sass import count, instructions
from tests.targets.gpu.test_ptx import assemble
from tests.targets.gpu.test_warpgroups import SM90, script
from texpr import poly
from texpr.autoschedule.gpu import shared_memory as staging
from texpr.autoschedule.gpu import warpgroup_gemm as by_warpgroups
from texpr.autoschedule.gpu.gpu_costs import GpuCosts
from texpr.autoschedule.gpu.persistent_grid import Way, at_once, order_of_rounds, rows_together
from texpr.compiler import pass_pipeline
from texpr.ir.expr import Expr, Node, Read, Var, index
from texpr.ir.interpreter.loop import interpret_kernel
from texpr.ir.loop import Barrier, Kernel, Store, Wait, WaitProducts
from texpr.ir.printing.loop import show_kernel
from texpr.ir.store_kind import ASYNCHRONOUS
from texpr.ir.traverse import equal, rewrite, substitute, variables
from texpr.lang import parse_kernel
from texpr.runtime.emulator import fibers
from texpr.support.errors import ScheduleError
from texpr.targets import Artifact, compile_kernel, emit_llvm, find_target, plan

BOUND = 'bind("jo", "block.x")\nbind("io", "block.y")\n'
ROWS = 'bind("jo", "block.x")\nbind("io", "block.y", max_blocks=2)\nreorder("ioi", "jo", "ioo")\n'
BOTH = (
    'bind("jo", "block.x", max_blocks=2)\nbind("io", "block.y", max_blocks=2)\nreorder("ioi", "joi", "ioo", '
    '"joo")\n'
)
AHEAD = 'pipeline("ko", 4, asynchronous=True, lead=2, through="ioo")\nasync_mma("ko", 1)\nbulk_copy("ko")\n'
BY_THREADS = 'pipeline("ko", 3, asynchronous=True, lead=1, through="ioo")\nasync_mma("ko", 1)\n'


def walking(loops: str, ahead: str = AHEAD) -> str:
    return (
        warpgroups()
        .replace(BOUND, loops)
        .replace('pipeline("ko", 3, asynchronous=True)\nbulk_copy("ko")\n', ahead)
    )


CASES = {
    "rows": (Case("linear", LINEAR, ((320, 192), (64, 192))), walking(ROWS)),
    "both": (Case("linear", LINEAR, ((320, 256), (256, 256))), walking(BOTH)),
    "few terms": (Case("linear", LINEAR, ((192, 128), (64, 128))), walking(ROWS)),
    "one tile of terms": (
        Case("linear", LINEAR, ((192, 64), (64, 64))),
        walking(ROWS, AHEAD.replace("4", "3").replace("2", "1")),
    ),
    "without products in flight": (
        Case("linear", LINEAR, ((320, 320), (64, 320))),
        walking(ROWS, 'pipeline("ko", 3, asynchronous=True, through="ioo")\nbulk_copy("ko")\n'),
    ),
    "by threads": (
        Case("linear", LINEAR, ((320, 192), (64, 192))),
        script(pipelined=BY_THREADS).replace(BOUND, ROWS),
    ),
}
"""Among them three tiles of terms in four buffers, and five of rows, two of them at once."""


@cache
def schedule(which: str) -> tx.Schedule:
    case, lines = CASES[which]
    return tx.Schedule(problem(case).program, problem(case).sizes).replay(lines)


@pytest.mark.parametrize("which", CASES)
def test_emulated(which: str):
    """Copies late and products early, and the other way round."""
    case, lines = CASES[which]
    kernel = kernel_of(case, SM90, lines)
    assert all(
        right(computed(kernel, case, backwards), problem(case).expected[0]) for backwards in (False, True)
    )


@pytest.mark.parametrize("which", CASES)
def test_certified(which: str):
    assert schedule(which).certificate().flushed == ("C",)


def test_picture(golden):
    golden(show_kernel(schedule("both").kernel))


def test_a_listing_says_it_all():
    kernel = schedule("both").kernel
    assert equal(parse_kernel(show_kernel(kernel)), kernel)


def test_elsewhere_it_is_done_where_it_stands():
    case, _ = CASES["one tile of terms"]
    assert right(
        interpret_kernel(schedule("one tile of terms").kernel, problem(case).inputs, {})[0],
        problem(case).expected[0],
    )


# Faults.


def _counted(node: Node) -> Node | None:
    """The parity that a wait would ask for if counting began anew with each tile."""
    return (
        replace(node, phase=_in_first_tile(node.phase))
        if isinstance(node, Wait) and node.phase is not None
        else None
    )


def _in_turn(node: Node) -> Node | None:
    """Buffers are used in turn from the first one on in each tile."""
    if not isinstance(node, Store | Read) or not node.tensor.name.endswith("_cache"):
        return None
    return replace(node, indices=(_in_first_tile(node.indices[0]), *node.indices[1:]))


def _in_first_tile(e: Expr) -> Expr:
    return substitute(e, {v: index(0) for v in variables(e) if v.name == "ioo"})


def _of_this_tile(node: Node) -> Node | None:
    """What is copied for the next tile is of this one again."""
    match node:
        case Store(value=Read(tensor) as read) if (
            node.mode is ASYNCHRONOUS and tensor.name == "A" and variables(read) & _walks(node)
        ):
            return replace(node, value=_in_first_tile(read))
    return None


def _walks(s: Store) -> set[Var]:
    return {v for v in variables(s) if v.name == "ioo"}


FAULTS = {
    "phases from 0 on in each tile": (_counted, poly.unproven_copy, "phase"),
    "buffers from 0 on in each tile": (_in_turn, poly.unproven_copy, "arrival"),
    "no wait in front of what sums become": (
        without(WaitProducts, lambda s: s.pending == 0),
        poly.unproven_product,
        "unfinished",
    ),  # type: ignore[attr-defined]
    "no barrier": (without(Barrier), poly.unproven_copy, "turn"),
}


def seen(kernel: Kernel) -> bool:
    """Whether the emulator finds fault with what is made of a kernel, in one of the orders of
    threads.
    """
    case, _ = CASES["rows"]

    def wrong(backwards: bool) -> bool:
        try:
            return not right(computed(kernel, case, backwards), problem(case).expected[0])
        except AssertionError as error:
            return (
                re.search(
                    "a phase of copies that does not end|told twice in one phase|under way when|threads",
                    str(error),
                )
                is not None
            )

    return any(map(wrong, (False, True)))


@pytest.mark.parametrize("fault", FAULTS)
def test_a_fault_is_found(fault: str, monkeypatch: pytest.MonkeyPatch):
    """By the proof, before code is made, and by the emulator where code is made all the same."""
    change, proof, kind = FAULTS[fault]
    kernel = rewrite(schedule("rows").kernel, change)
    assert not equal(kernel, schedule("rows").kernel)
    found = proof(kernel)
    assert found is not None and found.kind == kind
    monkeypatch.setattr(pass_pipeline, "check_arrivals", lambda kernel: kernel)
    assert seen(pass_pipeline.prepared(kernel, SM90))


def test_copies_of_another_tile_are_found():
    """They arrive in time; that they are not those that are wanted is what the certificate
    finds.
    """
    kernel = rewrite(schedule("rows").kernel, _of_this_tile)
    assert poly.unproven_copy(kernel) is None
    case, _ = CASES["rows"]
    with pytest.raises(
        ScheduleError, match="is used where another value of it was written last|not proven to compute it"
    ):
        pass_pipeline.certificate(kernel, problem(case).program, problem(case).sizes)
    assert seen(pass_pipeline.prepared(kernel, SM90))


def _refusal(loops: str, ahead: str, which: str = "rows") -> str:
    case, _ = CASES[which]
    with pytest.raises(ScheduleError) as error:
        tx.Schedule(problem(case).program, problem(case).sizes).replay(walking(loops, ahead))
    return re.sub(r"(test_\w+\.py|<\w+>):\d+", r"\1:LINE", str(error.value))


def test_refusals(golden):
    golden(
        "\n\n".join(
            [
                _refusal(ROWS, 'pipeline("ko", 3, through="ioo")\n'),
                _refusal(ROWS, 'pipeline("ko", 3, asynchronous=True, through="ii")\n'),
                _refusal(ROWS, 'pipeline("ko", 3, asynchronous=True, through="ioi")\n'),
                _refusal(ROWS, 'pipeline("ko", 5, asynchronous=True, through="ioo")\n'),
                _refusal(
                    BOTH.replace('"ioo", "joo"', '"joo", "ioo"'),
                    'pipeline("ko", 3, asynchronous=True, through="joo")\n',
                    "both",
                ),
                _refusal(ROWS.replace("max_blocks=2", "max_blocks=0"), ""),
                _refusal(ROWS.replace("max_blocks=2", 'max_blocks=2, names=("jo", "b")'), ""),
            ]
        )
    )


# Default schedules.


@pytest.mark.parametrize(
    ("most", "walks", "given"),
    [
        (4, 1, Case("linear", LINEAR, ((500, 192), (1000, 192)))),
        (4, 0, Case("layer", LAYER, ((1024, 136), (512, 136), (512,)))),
        (3, 1, Case("layer", LAYER, ((640, 136), (250, 136), (250,)))),
        (
            3,
            0,
            Case(
                "batched",
                BATCHED.replace("B: f16[H, K, N]", "B: f16[H, N, K]").replace("B[h, k, j]", "B[h, j, k]"),
                ((3, 130, 128), (3, 256, 128)),
            ),
        ),
    ],
    ids=lambda e: str(e) if isinstance(e, Case) else "",
)
def test_by_default(most: int, walks: int, given: Case, monkeypatch: pytest.MonkeyPatch):
    """On a processor where few blocks run at once: they walk over all tiles, two of each cluster
    where there are two by two.
    """
    monkeypatch.setattr(by_warpgroups, "GPU_COSTS", GpuCosts(few_tiles=1))
    monkeypatch.setattr(by_warpgroups, "at_once", lambda ways, _: at_once(ways, most))
    s = scheduled(given)
    assert s.script().count("max_blocks") == walks and "through=" in s.script() and "bulk_copy" in s.script()
    assert s.script().count("cluster.x") == s.script().count('multicast("B_cache"') == (most == 4)
    s.certificate()
    kernel = kernel_of(given, SM90, s)
    (launch,) = emitted(kernel, SM90)[1]
    assert np.prod([n.value for n in launch.grid]) <= most  # type: ignore[union-attr]
    assert all(
        right(computed(kernel, given, backwards), problem(given).expected[0]) for backwards in (False, True)
    )


def test_windows_run_on():
    """Copies for the next position of a window begin before the last products of this one, and
    are boxes.
    """
    lines = scheduled(WINDOWS[0][2]).script()
    assert 'through="Y.r"' in lines and 'bulk_copy("Y.co")' in lines


def test_assembled(tmp_path: Path):
    """A block for each processor of an H100, about, in clusters of two; as many registers as
    without walking, and the same products in the loop.
    """
    s = tx.schedule(tx.op(LINEAR), M=4096, N=4096, K=4096).auto("sm_90a")
    made = compile_kernel(pass_pipeline.prepared(s.kernel, SM90), SM90)
    (launch,) = made.launches
    assert [n.value for n in launch.grid] == [16, 8, 1] and ".reqnctapercluster 2, 1, 1" in made.assembly  # type: ignore[union-attr]
    said = assemble(made.assembly, "sm_90a", tmp_path)
    registers = re.search(r"Used (\d+) registers", said)
    assert (
        registers is not None
        and int(registers[1]) <= 168
        and " 0 bytes spill stores" in said
        and "C75" not in said
    )
    code = instructions(made.assembly, "sm_90a", tmp_path)
    assert (
        count(code, "HGMMA") == 4
        and sum(op.endswith("MULTICAST") for op, _ in code) == count(code, "UTMALDG") // 2 > 0
    )


# Grids.


def test_boxes_of_tiles():
    """Where the tiles of 4096 squared run on 132 processors: 16 x 8 at once, so that few rows
    are read, in four rounds.
    """
    assert at_once([Way(32, 128, 0), Way(16, 0, 256)], 132) == (16, 8)
    assert at_once([Way(40, 128, 0), Way(20, 0, 256)], 132) == (
        6,
        20,
    )  # 7 rounds; rows do not fill the last one
    assert at_once([Way(32, 128, 0), Way(4, 0, 256)], 132) is None  # all run at once
    assert (
        at_once([Way(56, 128, 0), Way(28, 0, 256)], 132) is None
    )  # any box takes more rounds than single tiles would


@pytest.mark.parametrize("most", (1, 4, 132))
@pytest.mark.parametrize("counts", [(1, 9), (7, 7), (3, 40, 20), (2, 3, 5, 31)])
def test_laws_of_boxes(counts: tuple[int, ...], most: int):
    ways = [Way(n, 128 * (k % 2), 64) for k, n in enumerate(counts)]
    box = at_once(ways, most)
    if box is None:
        return
    rounds = [-(-w.count // n) for w, n in zip(ways, box)]
    ragged = [k for k, (w, n) in enumerate(zip(ways, box)) if w.count % n]
    assert np.prod(box) <= most and sum(n > 1 for n in box) <= 3 and len(ragged) <= 1
    assert np.prod(rounds) <= -(-np.prod(counts) // most) * 33 / 32
    order = order_of_rounds(ways, box)
    assert sorted(order) == [k for k, n in enumerate(rounds) if n > 1] and (
        not ragged or order[0] == ragged[0]
    )


# Single tiles, in an order in which blocks that run at once read few rows.


def test_orders_of_tiles():
    assert rows_together(64, 64, 128, 128, 216) == 16  # 16 x 14 tiles at once, in place of 4 x 64
    assert rows_together(8, 64, 128, 128, 216) == 8  # column after column
    assert rows_together(64, 8, 128, 128, 216) == 1  # row after row
    assert rows_together(31, 32, 128, 128, 216) == 1  # no number of rows fits
    assert rows_together(8, 8, 128, 128, 216) == 1  # all run at once


@pytest.mark.parametrize("target", ("sm_75", "sm_80", "sm_90a"))
@pytest.mark.parametrize(("group", "places"), [(2, ["C.ioi", "C.jo", "C.ioo"]), (4, ["C.io", "C.jo"])])
def test_tiles_in_groups_of_rows(group: int, places: list[str], target: str, monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setattr(staging, "rows_together", lambda *_: group)
    given = Case("half", HALF, ((250, 72), (72, 200)))
    program, sizes = problem(given).program, problem(given).sizes
    s = tx.Schedule(program, sizes).auto(target)
    bound = re.findall(r'bind\("(\S+)", "block\.', s.script())
    assert bound == places
    s.certificate()
    where = find_target(target)
    text, launches = emit_llvm(kernel_of(given, where, s), where)
    out = problem(given).empty()
    ready = plan(Artifact(where, "", "", "", b"", launches, ()), {})
    fibers.run(text, ready.launches, problem(given).inputs, out, ready.scratch, [], maps=ready.maps)
    assert right(out[0], problem(given).expected[0])


def test_default_products_have_groups_of_rows():
    s = tx.schedule(tx.op(HALF), M=4096, N=4096, K=1024).auto("sm_80")
    assert (
        re.findall(r'bind\("(\S+)", "block\.', s.script()) == ["C.ioi", "C.jo", "C.ioo"]
        and 'split("C.io", 16' in s.script()
    )
    listing = str(s)
    assert (
        "for C.ioi in 0..16 block.x" in listing
        and "for C.jo in 0..32 block.y" in listing
        and "for C.ioo in 0..2 block.z" in listing
    )
