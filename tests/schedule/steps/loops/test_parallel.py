"""`parallel`: listings, and refusals with the whole of what is said."""

from __future__ import annotations

import pytest

from tests.schedule.steps.cases import EIGHT, listing, refusals

LISTINGS = {"parallel": ("stencil", {}, 's.parallel("i")')}


@pytest.mark.parametrize("name", LISTINGS)
def test_listing(name, golden):
    listing(golden, *LISTINGS[name])


REFUSED = [
    ("matmul", EIGHT, 's.parallel("é")'),
    ("matmul", EIGHT, 's.parallel("k")'),
    ("softmax", {}, 's.parallel("j")'),
    ("lag", {}, 's.compute_at("h", "Y.i").parallel("Y.i")'),
    ("scatter", {}, 's.parallel("i")'),
    ("diagonal", {}, 's.parallel("i")'),
    ("wave", {}, 's.parallel("i")'),
    ("wave", {}, 's.tile("i", "j", sizes=(4, 8)).parallel("jo")'),
    ("blur", {}, 's.compute_at("h", "Y.i", slide=True).parallel("Y.i")'),
    ("scatter", {}, 's.split("n", 4).split("i", 2).cache_write("Y", "io").parallel("io")'),
]


def test_refusals(golden):
    golden(refusals(REFUSED))
