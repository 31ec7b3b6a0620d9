"""`reverse_compute_at`: listings, and refusals with the whole of what is said."""

from __future__ import annotations

import pytest

from tests.schedule.steps.cases import exact, refusals

EXACT = {
    "epilogue": (
        "matmul_relu",
        {},
        's.split("D.i", 4).split("D.j", 4).reorder("D.io", "D.jo", "D.k", "D.ii", "D.ji")'
        '.reverse_compute_at("Y", "D.jo").parallel("D.io")',
    ),
    "element": ("matmul_relu", {}, 's.reverse_compute_at("Y", "D.j")'),
    "halo": ("blur", {}, 's.reverse_compute_at("Y", "h.i")'),
    "halo_of_tile": (
        "blur",
        {},
        's.split("h.i", 4).split("h.j", 4).reorder("h.io", "h.jo", "h.ii", "h.ji")'
        '.reverse_compute_at("Y", "h.jo")',
    ),
    "behind": ("lag", {}, 's.split("h.i", 4).reverse_compute_at("Y", "h.io")'),
    "flip": ("flip", {}, 's.split("h.i", 4).reverse_compute_at("Y", "h.io")'),
    "softmax": (
        "softmax",
        {},
        's.reverse_compute_at("e", "m.i").reverse_compute_at("Y_sum", "m.i").reverse_compute_at("Y", "m.i")'
        '.parallel("m.i")',
    ),
    "output": ("keeps", {}, 's.split("a.i", 4).reverse_compute_at("b", "a.io")'),
    "two_inputs": ("both", {}, 's.compute_at("g", "h.i").reverse_compute_at("Y", "h.i")'),
    "valid": ("valid", {}, 's.split("h.i", 4).reverse_compute_at("Y", "h.io")'),
}


@pytest.mark.parametrize("name", EXACT)
def test_every_bit(name, golden):
    exact(golden, *EXACT[name])


REFUSED = [
    ("both", {}, 's.reverse_compute_at("Y", "g.i")'),
    ("both", {}, 's.reverse_compute_at("h", "g.i")'),
    ("transposed", {}, 's.reverse_compute_at("Y", "h.i")'),
    ("transposed", {}, 's.reverse_compute_at("h", "Y.i")'),
    ("transposed", {}, 's.reverse_compute_at("Y", "Y.i")'),
    ("rest", {}, 's.reverse_compute_at("z", "y.i")'),
    ("rest", {}, 's.reverse_compute_at("z", "h.i")'),
]


def test_refusals(golden):
    golden(refusals(REFUSED))
