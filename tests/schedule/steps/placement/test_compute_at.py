"""`compute_at`: listings, and refusals with the whole of what is said."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest

import texpr as tx
from tests.schedule.steps.cases import EIGHT, OPS, TILED, exact, listing, refusals
from texpr.ir.expr import Const, index
from texpr.ir.interpreter.loop import interpret_kernel
from texpr.ir.loop import Kernel, Store
from texpr.ir.traverse import rewrite

LISTINGS = {
    "compute_at": (
        "softmax",
        {},
        's.compute_at("Y_sum", "Y.i").compute_at("e", "Y.i").compute_at("m", "Y.i")',
    ),
    "compute_at_inner": ("sequence", {}, 's.compute_at("t", "Y.j")'),
}


@pytest.mark.parametrize("name", LISTINGS)
def test_listing(name, golden):
    listing(golden, *LISTINGS[name])


EXACT = {
    "row": ("blur", {}, 's.compute_at("h", "Y.i")'),
    "element": ("blur", {}, 's.compute_at("h", "Y.j")'),
    "tile": ("blur", {}, TILED + 's.compute_at("h", "Y.jo")'),
    "tile_of_constants": ("blur", {"M": 8, "N": 16}, TILED + 's.compute_at("h", "Y.jo")'),
    "tile_rows": ("blur", {}, TILED + 's.compute_at("h", "Y.io").parallel("Y.io")'),
    "row_of_tile": ("blur", {}, TILED + 's.compute_at("h", "Y.ii")'),
    "peeled_tile": (
        "blur",
        {"M": 8, "N": 20},
        's.split("Y.i", 4).split("Y.j", 8, tail="peel").compute_at("h", "Y.io")',
    ),
    "tiles_alike": ("both", {}, 's.split("g.i", 4).split("Y.i", 4).compute_at("g", "Y.ii", recompute=False)'),
    "on_the_way": (
        "matmul",
        {"M": 7, "K": 4},
        's.split("C.i", 2, tail="peel").split("C.j", 4)'
        '.reorder("C.jo", "C.io", "C.k", "C.ii", "C.ji").cache_read("B", "C.jo").peel("C.io", 1, 0)'
        '.split("B_cache.d0", 4).compute_at("B_cache", "C.k", recompute=False)',
    ),
    "tiles_alike_under_conditions": (
        "sequence",
        {},
        's.tile("t.i", "t.j", sizes=(4, 8)).tile("Y.i", "Y.j", sizes=(4, 8))'
        '.compute_at("t", "Y.ji", recompute=False)',
    ),
    "fused_under_a_condition": (
        "blur",
        {},
        's.tile("Y.i", "Y.j", sizes=(4, 8)).fuse("Y.ii", "Y.ji").compute_at("h", "Y.iiji")',
    ),
    "read_elsewhere": ("two_readers", {}, 's.compute_at("h", "Y.i", recompute=True).compute_at("h", "Z.i")'),
    "read_elsewhere_in_parts": ("rest", {}, 's.split("z.i", 4).compute_at("h", "z.io").parallel("z.io")'),
    "output": ("sums", {}, 's.compute_at("a", "b.i")'),
    "of_a_sum_read_elsewhere": ("chain_of_sums", {}, 's.split("Y.i", 4).compute_at("D", "Y.io")'),
    "peeled": ("blur", {}, 's.split("Y.i", 4, tail="peel").compute_at("h", "Y.ii")'),
    "peeled_alike": (
        "sequence",
        {},
        's.split("Y.i", 4, tail="peel").split("t.i", 4, tail="peel").compute_at("t", "Y.ii")',
    ),
    "specialized_alike": (
        "sequence",
        {},
        's.specialize(N=4).compute_at("t", "Y.i_N4", recompute=False)'
        '.compute_at("t", "Y.i", recompute=False)',
    ),
    "peeled_sliding": ("blur", {}, 's.split("Y.i", 4, tail="peel").compute_at("h", "Y.ii", slide=True)'),
    "in_time": ("decay", {}, 's.compute_at("g", "h.n")'),
    "in_time_once": ("decay", {}, 's.compute_at("g", "h.n", recompute=False)'),
    "sliding": ("blur", {}, 's.compute_at("h", "Y.i", slide=True)'),
    "sliding_in_strips": (
        "blur",
        {},
        's.split("Y.i", 4).compute_at("h", "Y.ii", slide=True).parallel("Y.io")',
    ),
    "sliding_by_strips": ("blur", {}, 's.split("Y.i", 4).compute_at("h", "Y.io", slide=True)'),
    "sliding_down": ("downwards", {}, 's.compute_at("h", "Y.i", slide=True)'),
    "sliding_sums": ("windows", {}, 's.compute_at("h", "Y.i", slide=True)'),
    "in_parallel": ("lag", {}, 's.parallel("Y.i").compute_at("h", "Y.i")'),
    "on_request": ("lag", {}, 's.compute_at("h", "Y.i", recompute=True).parallel("Y.i")'),
    "several_equations": ("padded", {}, 's.compute_at("t", "Y.i")'),
    "scheduled_producer": (
        "blur",
        {"N": 16},
        's.split("h.j", 8).vectorize("h.ji").split("Y.j", 8).split("Y.i", 4)'
        '.reorder("Y.io", "Y.jo", "Y.ii", "Y.ji").compute_at("h", "Y.jo")',
    ),
    "distributed_producer": (
        "matmul_relu",
        {},
        's.reorder("D.k", "D.j").split("Y.i", 4).compute_at("D", "Y.io")',
    ),
    "reduction": (
        "matmul_relu",
        {},
        's.split("Y.i", 4).split("Y.j", 4).reorder("Y.io", "Y.jo", "Y.ii", "Y.ji").compute_at("D", "Y.jo")',
    ),
    "softmax": (
        "softmax",
        {},
        's.split("Y.i", 4).compute_at("Y_sum", "Y.io").compute_at("e", "Y.io").compute_at("m", "Y.io")',
    ),
    "every_element": ("softmax", {}, 's.compute_at("Y_sum", "Y.j")'),
    "strided": ("pooled", {}, 's.split("Y.i", 4).compute_at("h", "Y.io")'),
    "halves": ("doubled", {}, 's.split("Y.k", 4).compute_at("h", "Y.ko")'),
    "flip": ("halves_of", {}, 's.split("Y.i", 4).compute_at("h", "Y.io")'),
    "chain": (
        "six",
        {},
        's.split("Y.i", 4).split("Y.j", 4).reorder("Y.io", "Y.jo", "Y.ii", "Y.ji").compute_at("e", "Y.ji")'
        '.compute_at("d", "Y.jo").compute_at("c", "Y.jo").compute_at("b", "Y.jo").compute_at("a", '
        '"Y.jo").parallel("Y.io")',
    ),
    "nested": (
        "six",
        {},
        's.compute_at("a", "b.i").compute_at("b", "c.i").split("d.i", 4).compute_at("d", "e.i")',
    ),
}


@pytest.mark.parametrize("name", EXACT)
def test_every_bit(name, golden):
    exact(golden, *EXACT[name])


REFUSED = [
    ("matmul", EIGHT, 's.compute_at("C", "i")'),
    ("matmul", EIGHT, 's.compute_at("D", "i")'),
    ("matmul", EIGHT, "s.compute_at(3, 'i')"),
    ("matmul", EIGHT, 's.peel("i", 1, 1).compute_at("C", "i")'),
    ("softmax", {}, 's.compute_at("e", "j")'),
    ("softmax", {}, 's.compute_at("Y_sum", "Y.j", recompute=False)'),
    ("softmax", {}, 's.compute_at("m", "Y.i").compute_at("m", "Y.i")'),
    ("blur", {}, 's.compute_at("h", "Y.i", recompute=False)'),
    ("blur", {}, 's.compute_at("h", "Y.j", recompute=False)'),
    ("lag", {}, 's.parallel("Y.i").compute_at("h", "Y.i", recompute=False)'),
    ("padded", {}, 's.compute_at("t", "Y.i", recompute=False)'),
    ("padded", {}, 's.compute_at("t.2", "Y.i")'),
    ("stencil", {}, 's.peel("j", 1, 1).compute_at("Y", "j")'),
    ("sequence", {}, 's.specialize("Y.i", N=6).compute_at("t", "i_N6", recompute=False)'),
    ("blur", {}, 's.compute_at("h", "h.i")'),
    ("blur", {}, 's.compute_at("Y", "Y.i")'),
    ("blur", {}, 's.compute_at("X", "Y.i")'),
    ("blur", {}, 's.compute_at("h", "Y.j", slide=True)'),
    (
        "blur",
        {},
        's.split("Y.i", 4).split("Y.j", 4).reorder("Y.io", "Y.jo", "Y.ii", "Y.ji").compute_at("h", "Y.jo", '
        "slide=True)",
    ),
    ("blur", {}, 's.parallel("Y.i").compute_at("h", "Y.i", slide=True)'),
    ("blur", {}, 's.compute_at("h", "Y.i").compute_at("h", "Y.i")'),
    ("tally", {}, 's.compute_at("h", "Y.i")'),
    ("running", {}, 's.compute_at("h", "Y.i", recompute=True)'),
]


def test_refusals(golden):
    golden(refusals(REFUSED))


@pytest.mark.parametrize(
    "steps, times",
    [
        ('s.compute_at("h", "Y.i")', 3),
        ('s.compute_at("h", "Y.i", slide=True)', 1),
        ('s.split("Y.i", 4).compute_at("h", "Y.ii", slide=True)', 1.5),
    ],
)
def test_how_often_rows_are_computed(steps, times):
    """A row by itself needs three; a sliding window needs it once, but for two more per strip
    where it starts anew.
    """
    s = tx.schedule(OPS["blur"], M=64, N=4)
    exec(steps, {"s": s})
    assert abs(stores_of(s.kernel, "h") / (64 * 4) - times) < 0.05


def stores_of(kernel: Kernel, name: str) -> int:
    """How often something is stored to the tensor in one run."""
    counter = next(t for t in kernel.outputs)
    one = Const(1.0, dtype=counter.dtype)

    def rule(node):
        match node:
            case Store(tensor=t) if t.name == name:
                return Store(counter, (index(0), index(0)), one, "add")
            case Store(tensor=t) if t is counter:
                return Store(counter, (index(0), index(0)), Const(0.0, dtype=counter.dtype), "add")
        return None

    counting = rewrite(kernel, rule)
    start = Store(counter, (index(0), index(0)), Const(0.0, dtype=counter.dtype))
    (found,) = interpret_kernel(
        replace(counting, body=(start, *counting.body)), [np.zeros((64, 4), np.float32)], {}
    )
    return int(found[0, 0])
