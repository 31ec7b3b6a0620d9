"""Steps around the sizes of their tiles, in native code: 0, 1, one less than a tile, a tile, one
more, and two tiles and one.
"""

from __future__ import annotations

import numpy as np
import pytest

import texpr as tx
from tests.properties.schedule.drawing import TEXTS

OPS = {name: tx.op(TEXTS[name]) for name in ("matmul", "stencil", "wave", "diagonal", "bordered", "ragged")}
WHOLE = {"matmul", "ragged"}
"""Operators that sum: their inputs are whole numbers, so that sums are exact in any order."""

SCHEDULES = [
    ("stencil", 's.split("j", 4, tail="mask").split("i", 4, tail="peel")'),
    ("stencil", 's.split("j", 4, tail="overlap").vectorize("ji").split("i", 4, tail="clip")'),
    ("stencil", 's.split("i", 4, tail="overlap").vectorize("j", 4)'),
    ("stencil", 's.vectorize("j").unroll("i")'),
    ("stencil", 's.peel("i", 1, 1).peel("j", 2, 1).vectorize("j", 4, tail="peel")'),
    ("stencil", 's.tile("i", "j", sizes=(4, 4)).vectorize("ji").parallel("io")'),
    ("stencil", 's.specialize(N=4).vectorize("j_N4").specialize("i", M=4).parallel("i")'),
    ("stencil", 's.reverse("i").reverse("j").vectorize("j")'),
    (
        "bordered",
        's.split("t.j", 4, tail="pad").split("u.j", 4, tail="pad").vectorize("t.ji").vectorize("u.ji")',
    ),
    ("bordered", 's.split("t.j", 4, tail="pad").split("u.i", 4, tail="pad").vectorize("t.ji")'),
    ("bordered", 's.split("u.j", 4, tail="pad").vectorize("u.ji")'),
    (
        "matmul",
        's.split("j", 4, tail="pad").split("i", 4, tail="pad").reorder("io", "jo", "k", "ii", '
        '"ji").unroll("ii").vectorize("ji")',
    ),
    ("bordered", 's.split("t.i", 4, tail="overlap").split("u.i", 4, tail="mask")'),
    ("matmul", 's.unroll_and_jam("i", 4)'),
    ("matmul", 's.unroll_and_jam("i", 4).unroll_and_jam("j", 4, tail="guard")'),
    ("matmul", 's.tile("i", "j", "k", sizes=(4, 4, 4)).vectorize("ji")'),
    ("matmul", 's.tile("i", "j", sizes=(4, 4), tail="peel").parallel("io")'),
    ("matmul", 's.split("j", 4, tail="overlap").reorder("jo", "i", "ji").prefetch("B", "k", 2)'),
    ("matmul", 's.split("j", 4).reorder("i", "jo", "k", "ji").rfactor("k", reassoc=True).vectorize("ji")'),
    ("matmul", 's.fission("i").reverse("j").vectorize("j")'),
    ("matmul", 's.reorder("k", "i", "j").vectorize("j", 4).rfactor("k", reassoc=True)'),
    ("wave", 's.skew("j", "i").reorder("j", "i").parallel("i")'),
    ("wave", 's.skew("j", "i", 2).reorder("j", "i").vectorize("i", 4)'),
    ("wave", 's.tile("i", "j", sizes=(4, 4)).skew("jo", "io").reorder("jo", "io").parallel("io")'),
    ("wave", 's.unroll_and_jam("i", 4)'),
    ("diagonal", 's.skew("j", "i").tile("i", "j", sizes=(4, 4))'),
    ("diagonal", 's.skew("j", "i", -1).vectorize("j", 4)'),
    ("ragged", 's.reorder("j", "i").vectorize("i", 4)'),
    ("ragged", 's.skew("j", "i").reorder("j", "i")'),
    ("ragged", 's.rfactor("j", reassoc=True).vectorize("Y.j", 4)'),
]
SIZES = (0, 1, 3, 4, 5, 9)


@pytest.mark.parametrize("name, steps", SCHEDULES)
def test_around_a_tile(name: str, steps: str):
    op, random = OPS[name], np.random.default_rng(0)
    s = tx.schedule(op)
    exec(steps, {"s": s})
    kernel = s.compile()
    for m in SIZES:
        for n in SIZES:
            shapes = {"matmul": [(m, 3), (3, n)], "ragged": [(m, m)]}.get(name, [(m, n)])
            arrays = [random.standard_normal(shape).astype(np.float32) * 8 for shape in shapes]
            arrays = [np.rint(a) if name in WHOLE else a for a in arrays]
            np.testing.assert_array_equal(kernel(*arrays), tx.interpret(op, *arrays), err_msg=f"{m} by {n}")


@pytest.mark.parametrize("name, steps", SCHEDULES)
def test_the_final_loops_are_certified(name: str, steps: str):
    """Told by the other proof, of the final loops alone: what runs twice is the same instance,
    what runs past the end nobody takes.
    """
    s = tx.schedule(OPS[name])
    exec(steps, {"s": s})
    assert ("bit-exact" in str(s.certificate())) == ("reassoc" not in steps)
