"""`expand_dim`: listings, and refusals with the whole of what is said."""

from __future__ import annotations

import pytest

from tests.schedule.steps.cases import EIGHT, listing, refusals

LISTINGS = {"expand": ("ragged", {}, 's.split("i", 4).expand_dim("Y_acc", "ii")')}


@pytest.mark.parametrize("name", LISTINGS)
def test_listing(name, golden):
    listing(golden, *LISTINGS[name])


REFUSED = [
    ("matmul", EIGHT, 's.expand_dim("A", "i")'),
    ("matmul", EIGHT, 's.expand_dim("C_acc", "k")'),
    ("matmul", EIGHT, 's.expand_dim("C_acc", "x")'),
    ("matmul", EIGHT, 's.expand_dim("x", "i")'),
    ("matmul", EIGHT, 's.expand(3, "i")'),
]


def test_refusals(golden):
    golden(refusals(REFUSED))
