"""`fission`: listings, and refusals with the whole of what is said."""

from __future__ import annotations

import pytest

from tests.schedule.steps.cases import EIGHT, listing, refusals

LISTINGS = {
    "fission": ("softmax", {}, 's.compute_at("m", "e.i").fission("e.i")'),
    "fission_once": ("matmul", {}, 's.fission("i", "C_acc")'),
    "fission_named": ("matmul", {}, 's.fission("i", "k", name="r")'),
}


@pytest.mark.parametrize("name", LISTINGS)
def test_listing(name, golden):
    listing(golden, *LISTINGS[name])


REFUSED = [
    ("matmul", EIGHT, 's.fission("x")'),
    ("matmul", EIGHT, 's.fission("k")'),
    ("matmul", EIGHT, 's.fission("i", "D")'),
    ("matmul", EIGHT, 's.fission("j", "C")'),
    ("matmul", EIGHT, 's.fission("i", 3)'),
    ("matmul", EIGHT, 's.fission("i", name="r")'),
    ("matmul", EIGHT, 's.fission("i", "C_acc", name="k")'),
    ("matmul", EIGHT, 's.fission("i", "C_acc", name="no name")'),
    ("matmul", EIGHT, 's.fission("i", "x")'),
    ("lagging", {}, 's.fission("i")'),
    ("lagging", {}, 's.fission("i", "h")'),
]


def test_refusals(golden):
    golden(refusals(REFUSED))
