"""`split`: listings, and refusals with the whole of what is said."""

from __future__ import annotations

import pytest

from tests.schedule.steps.cases import EIGHT, listing, refusals

LISTINGS = {
    "split": ("stencil", {"M": 8, "N": 8}, 's.split("i", 4)'),
    "split_guard": ("stencil", {"M": 7, "N": 8}, 's.split("i", 4)'),
    "split_symbolic": ("stencil", {}, 's.split("j", 4)'),
    "split_peel": ("stencil", {"M": 7, "N": 8}, 's.split("i", 4, tail="peel")'),
    "split_clip": ("stencil", {"M": 7}, 's.split("i", 4, tail="clip").split("j", 8, tail="clip")'),
    "split_peel_symbolic": ("stencil", {"N": 8}, 's.split("i", 4, tail="peel", names=("tile", "row"))'),
    "split_peel_reduction": ("softmax", {"M": 7, "N": 5}, 's.split("m.i", 4, tail="peel")'),
    "split_peel_short": ("stencil", {"M": 3}, 's.split("i", 4, tail="peel")'),
    "split_mask": ("stencil", {}, 's.split("j", 8, tail="mask")'),
    "split_overlap": ("stencil", {}, 's.split("j", 8, tail="overlap")'),
    "split_overlap_constant": ("matmul", {"N": 20}, 's.split("j", 8, tail="overlap")'),
    "split_pad": ("bordered", {"N": 20}, 's.split("t.j", 8, tail="pad").split("u.j", 8, tail="pad")'),
}


@pytest.mark.parametrize("name", LISTINGS)
def test_listing(name, golden):
    listing(golden, *LISTINGS[name])


REFUSED = [
    ("matmul", EIGHT, 's.split("x", 4)'),
    ("matmul", EIGHT, 's.split("ii", 4)'),
    ("matmul", EIGHT, 's.split("C.ii", 4)'),
    ("matmul", EIGHT, "s.split(3, 4)"),
    ("matmul", EIGHT, "s.split(None, 4)"),
    ("matmul", EIGHT, 's.split("", 4)'),
    ("matmul", EIGHT, 's.split("i", 4, names=("a",))'),
    ("matmul", EIGHT, 's.split("i", 4, names=("a", "a"))'),
    ("matmul", EIGHT, 's.split("i", 4, names=("k", "l"))'),
    ("matmul", EIGHT, 's.split("i", 4, names=("A", "l"))'),
    ("matmul", EIGHT, 's.split("i", 4, names=("a b", "1;"))'),
    ("matmul", EIGHT, 's.split("i", 4, names="ab")'),
    ("matmul", EIGHT, 's.split("i", 4, names=(1, 2))'),
    ("matmul", EIGHT, 's.split("i", 4, names=("for", "l"))'),
    ("matmul", EIGHT, 's.split("i", 4).split("j", 4, names=("io", "ii"))'),
    ("matmul", EIGHT, 's.split("i", 4).split("i", 2)'),
    ("matmul", EIGHT, 's.split("i", 0)'),
    ("matmul", EIGHT, 's.split("i", -1)'),
    ("matmul", EIGHT, 's.split("i", 2**40)'),
    ("matmul", EIGHT, 's.split("i", "8")'),
    ("matmul", EIGHT, 's.split("i", True)'),
    ("matmul", EIGHT, 's.split("i", 4.0)'),
    ("matmul", EIGHT, 's.split("i", 3, tail="exact")'),
    ("matmul", EIGHT, 's.split("i", 4, tail="cut")'),
    ("matmul", EIGHT, 's.split("k", 3, tail="overlap")'),
    ("matmul", EIGHT, 's.split("j", 9, tail="overlap")'),
    ("matmul", EIGHT, 's.split("k", 3, tail="mask")'),
    ("matmul", {}, 's.fuse("i", "j").split("ij", 8, tail="peel")'),
    ("matmul", {}, 's.split("j", 4, tail="exact")'),
    ("matmul", {}, 's.specialize("N % 2 == 0").split("j_Nx2", 4, tail="exact")'),
    ("softmax", {}, 's.split("i", 4)'),
    ("ragged", {}, 's.rfactor("j", reassoc=True).split("Y.i", 4, tail="pad")'),
    ("lengths", {}, 's.split("i", 4, tail="pad")'),
    ("padded", {}, 's.split("t", 2)'),
    ("shifted", {}, 's.split("Y.1.i", 4, tail="overlap")'),
    ("shifted", {}, 's.split("Y.i", 4, tail="pad")'),
    ("lagging", {}, 's.split("i", 4, tail="overlap")'),
    ("scalar", {}, 's.split("i", 2)'),
]


def test_refusals(golden):
    golden(refusals(REFUSED))
