"""`specialize`: listings, and refusals with the whole of what is said."""

from __future__ import annotations

import pytest

from tests.schedule.steps.cases import EIGHT, listing, refusals

LISTINGS = {
    "specialize": ("sequence", {}, 's.specialize("Y.i", N=8).vectorize("j_N8").specialize(M=4)'),
    "specialize_condition": (
        "stencil",
        {},
        's.specialize("N % 8 == 0 and M >= 64").split("j_Nx8_Mge64", 8, tail="exact").split("j", 8)',
    ),
}


@pytest.mark.parametrize("name", LISTINGS)
def test_listing(name, golden):
    listing(golden, *LISTINGS[name])


REFUSED = [
    ("matmul", EIGHT, "s.specialize()"),
    ("matmul", EIGHT, "s.specialize(N=8)"),
    ("matmul", EIGHT, 's.specialize("x", N=8)'),
    ("matmul", {}, "s.specialize(Q=8)"),
    ("matmul", {}, "s.specialize(N=-1)"),
    ("matmul", {}, "s.specialize(N=True)"),
    ("matmul", {}, "s.specialize(N=2**50)"),
    ("matmul", {}, 's.specialize(N=8).specialize(N="8")'),
    ("matmul", {}, 's.specialize("N % 2")'),
    ("matmul", {}, 's.specialize("Q >= 8")'),
    ("matmul", {}, 's.specialize("N % M == 0")'),
    ("matmul", {}, 's.specialize("N >= 8 if M else N")'),
]


def test_refusals(golden):
    golden(refusals(REFUSED))
