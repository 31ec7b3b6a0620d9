"""The loop nest after each step. The pictures are in `golden/test_pictures/`."""

from __future__ import annotations

import pytest

import texpr as tx
from tests.schedule.drawing import TEXTS
from texpr.autoschedule.driver import auto
from texpr.ir.machine import Machine

MACHINE = Machine(vector_bytes=32, vector_registers=16, caches=(32 << 10, 1 << 20), cores=4)
"""The same wherever the tests run."""

OPS = {name: tx.op(text) for name, text in TEXTS.items()}

STEPS = {
    "split": ("stencil", {"M": 8, "N": 8}, 's.split("i", 4)'),
    "split_guard": ("stencil", {"M": 7, "N": 8}, 's.split("i", 4)'),
    "split_symbolic": ("stencil", {}, 's.split("j", 4)'),
    "split_peel": ("stencil", {"M": 7, "N": 8}, 's.split("i", 4, tail="peel")'),
    "split_clip": ("stencil", {"M": 7}, 's.split("i", 4, tail="clip").split("j", 8, tail="clip")'),
    "split_peel_symbolic": ("stencil", {"N": 8}, 's.split("i", 4, tail="peel", names=("tile", "row"))'),
    "split_peel_reduction": ("softmax", {"M": 7, "N": 5}, 's.split("m.i", 4, tail="peel")'),
    "split_peel_short": ("stencil", {"M": 3}, 's.split("i", 4, tail="peel")'),
    "fuse": ("stencil", {"N": 8}, 's.fuse("i", "j")'),
    "fuse_named": ("stencil", {"M": 3, "N": 8}, 's.fuse("i", "j", name="pixel")'),
    "reorder": ("stencil", {}, 's.reorder("j", "i")'),
    "reorder_distributes": ("matmul", {}, 's.reorder("i", "k", "j")'),
    "reorder_outward": ("matmul", {}, 's.reorder("k", "i", "j")'),
    "unroll": ("stencil", {"N": 4}, 's.unroll("j")'),
    "vectorize": ("stencil", {"N": 4}, 's.vectorize("j")'),
    "vectorize_masked": ("triangle", {"M": 8}, 's.split("i", 3).vectorize("ii")'),
    "parallel": ("stencil", {}, 's.parallel("i")'),
    "bind": ("stencil", {"M": 64, "N": 64}, 's.bind("i", "block.x").bind("j", "thread.x")'),
    "bind_at_most": ("stencil", {"M": 70, "N": 64}, 's.bind("i", "block.x", max_blocks=16).bind("j", "thread.x", max_blocks=32)'),
    "bind_at_most_symbolic": ("stencil", {}, 's.bind("i", "block.x", max_blocks=16, names=("round", "block"))'),
    "rfactor": ("matmul", {"K": 64}, 's.split("k", 8).rfactor("ki", reassoc=True)'),
    "rfactor_max": ("largest", {}, 's.rfactor("k")'),
    "rfactor_around_elements": ("matmul", {}, 's.split("j", 8).reorder("i", "jo", "k", "ji").rfactor("k", reassoc=True)'),
    "rfactor_triangle": ("ragged", {}, 's.rfactor("j", reassoc=True)'),
    "rfactor_beside": ("pair", {}, 's.compute_at("s", "p.i").rfactor("s.j", reassoc=True).rfactor("p.j")'),
    "peel": ("stencil", {"M": 8, "N": 8}, 's.peel("i", 1, 0).peel("j", 0, 1)'),
    "compute_at": ("softmax", {}, 's.compute_at("Y_sum", "Y.i").compute_at("e", "Y.i").compute_at("m", "Y.i")'),
    "compute_at_inner": ("sequence", {}, 's.compute_at("t", "Y.j")'),
    "allow_fma": ("matmul", {}, "s.allow_fma()"),
    "allow_fma_of_sums": ("matmul", {}, 's.allow_fma("sums")'),
    "split_mask": ("stencil", {}, 's.split("j", 8, tail="mask")'),
    "split_overlap": ("stencil", {}, 's.split("j", 8, tail="overlap")'),
    "split_overlap_constant": ("matmul", {"N": 20}, 's.split("j", 8, tail="overlap")'),
    "split_pad": ("bordered", {"N": 20}, 's.split("t.j", 8, tail="pad").split("u.j", 8, tail="pad")'),
    "fuse_imperfect": ("matmul", {"N": 4, "K": 5}, 's.fuse("i", "j").fuse("ij", "k")'),
    "vectorize_symbolic": ("stencil", {}, 's.vectorize("j")'),
    "vectorize_lanes": ("stencil", {"N": 20}, 's.vectorize("j", 8, tail="peel")'),
    "vectorize_triangle": ("ragged", {"M": 8}, 's.vectorize("i")'),
    "unroll_symbolic": ("stencil", {}, 's.unroll("j")'),
    "peel_symbolic": ("stencil", {}, 's.peel("i", 1, 1).peel("j", 0, 1)'),
    "separate": ("triangle", {"M": 40, "N": 40}, 's.split("j", 8).partition("jo")'),
    "separate_symbolic": ("triangle", {}, 's.split("j", 8).partition("jo")'),
    "separate_both_ends": ("wave", {"M": 9, "N": 20}, 's.skew("j", "i").split("j", 4).reorder("jo", "i", "ji").partition("i")'),
    "separate_copies": ("matmul", {}, 's.split("i", 8).reorder("k", "j", "io", "ii").partition("C.io")'),
    "specialize": ("sequence", {}, 's.specialize("Y.i", N=8).vectorize("j_N8").specialize(M=4)'),
    "specialize_condition": ("stencil", {}, 's.specialize("N % 8 == 0 and M >= 64").split("j_Nx8_Mge64", 8, tail="exact").split("j", 8)'),
    "annotate": ("stencil", {}, 's.annotate("i", tuned=16, by="hand, twice").parallel("i").annotate("j", w=0.5).annotate("i", tuned=8)'),
    "prefetch": ("matmul", {"N": 16}, 's.reorder("i", "k", "j").vectorize("C.j").prefetch("B", "k", 8).prefetch("A", "i", 2)'),
    "stream": ("matmul", {"N": 16}, 's.cache_write("C", "i").vectorize("C_tile.d1").nontemporal("C")'),
    "atomic": ("scatter", {}, 's.atomic("Y", reassoc=True).bind("i", "block.x")'),
    "prefetch_gather": ("gather", {}, 's.prefetch("E", "k", 4)'),
    "tile": ("matmul", {}, 's.tile("i", "j", sizes=(4, 8))'),
    "tile_skewed": ("diagonal", {}, 's.skew("j", "i", 1).tile("i", "j", sizes=(4, 8))'),
    "jam": ("matmul", {"M": 6}, 's.unroll_and_jam("i", 4)'),
    "fission": ("softmax", {}, 's.compute_at("m", "e.i").fission("e.i")'),
    "fission_once": ("matmul", {}, 's.fission("i", "C_acc")'),
    "fission_named": ("matmul", {}, 's.fission("i", "k", name="r")'),
    "expand": ("ragged", {}, 's.split("i", 4).expand_dim("Y_acc", "ii")'),
    "skew": ("wave", {}, 's.skew("j", "i").reorder("j", "i").parallel("i")'),
    "skew_back": ("diagonal", {"M": 4}, 's.skew("j", "i", -1)'),
    "reverse": ("ragged", {}, 's.reverse("i")'),
    "reorder_triangle": ("ragged", {}, 's.reorder("j", "i")'),
    "tiled": ("matmul", {"M": 64, "N": 64, "K": 64}, """s.split("i", 32).split("j", 64).reorder("io", "jo", "k", "ii", "ji")
s.vectorize("ji").parallel("io")"""),
}


@pytest.mark.parametrize("name", STEPS)
def test_step(name, golden):
    op, sizes, text = STEPS[name]
    s = tx.schedule(OPS[op], **sizes)
    exec(text, {"s": s})
    golden(f"{text}\n\n{s}\n\n{s.script()}")


@pytest.mark.parametrize("op, sizes", [("matmul", {"M": 64, "N": 64, "K": 64}), ("matmul", {}), ("softmax", {"M": 64, "N": 100}),
                                       ("blur", {"M": 200, "N": 300}), ("scalar", {}), ("scatter", {"M": 9, "N": 9})])
def test_auto(op, sizes, golden):
    s = tx.schedule(OPS[op], **sizes)
    s.steps[:], s.kernel = auto(s.kernel, MACHINE)
    golden(f"{s.script()}\n{s}")
