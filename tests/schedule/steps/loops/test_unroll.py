"""`unroll`: listings, and refusals with the whole of what is said."""

from __future__ import annotations

import pytest

from tests.schedule.steps.cases import EIGHT, LARGE, listing, refusals

LISTINGS = {
    "unroll": ("stencil", {"N": 4}, 's.unroll("j")'),
    "unroll_symbolic": ("stencil", {}, 's.unroll("j")'),
}


@pytest.mark.parametrize("name", LISTINGS)
def test_listing(name, golden):
    listing(golden, *LISTINGS[name])


REFUSED = [
    ("matmul", EIGHT, "s.split(s.split(s.loops[0], 4).loops[0], 2).unroll(handle)"),
    ("matmul", EIGHT, 's.unroll("j", 0)'),
    ("matmul", LARGE, 's.unroll("j")'),
    ("matmul", LARGE, 's.split("j", 100).unroll("ji").split("i", 100).unroll("ii")'),
    ("matmul", LARGE, 's.split("j", 1024).vectorize("ji").split("k", 64).unroll("ki")'),
]


def test_refusals(golden):
    golden(refusals(REFUSED))
