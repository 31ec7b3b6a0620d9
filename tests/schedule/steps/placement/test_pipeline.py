"""`pipeline`: listings, and refusals with the whole of what is said."""

from __future__ import annotations

import pytest

from tests.schedule.steps.cases import TILED, exact, refusals, scheduled

EXACT = {
    "rows": ("blur", {}, 's.compute_at("h", "Y.i", recompute=True).pipeline("h")'),
    "rows_under_a_condition": (
        "sequence",
        {},
        's.split("Y.i", 4).split("t.i", 4).compute_at("t", "Y.ii", recompute=False)'
        '.reverse("Y.ii").pipeline("t")',
    ),
    "steps_before": ("every_other", {}, 's.pipeline("g")'),
    "all_steps_before": ("every_other", {}, 's.pipeline("g.t")'),
    "three_steps_before": ("every_fourth", {}, 's.pipeline("g", 4)'),
    "three_buffers": ("blur", {}, 's.split("Y.i", 4).compute_at("h", "Y.io").pipeline("h", 3)'),
    "tiles": ("blur", {}, TILED + 's.compute_at("h", "Y.jo").pipeline("h").parallel("Y.io")'),
    "constant": ("blur", {"M": 8, "N": 4}, 's.split("Y.i", 2).compute_at("h", "Y.io").pipeline("h")'),
    "few_iterations": (
        "blur",
        {"M": 4, "N": 4},
        's.split("Y.i", 2).compute_at("h", "Y.io").pipeline("h", 4)',
    ),
    "reduction": ("matmul_relu", {}, 's.split("Y.i", 4).compute_at("D", "Y.io").pipeline("Y.io")'),
    "reduction_of_constants": (
        "matmul_relu",
        {"M": 8},
        's.split("Y.i", 2).compute_at("D", "Y.io").pipeline("Y.io")',
    ),
    "first_of_a_chain": ("chain", {}, 's.compute_at("z", "Y.i").compute_at("t", "Y.i").pipeline("Y.i")'),
    "maximum": (
        "softmax",
        {"M": 5},
        's.compute_at("Y_sum", "Y.i").compute_at("e", "Y.i").compute_at("m", "Y.i").pipeline("m")',
    ),
}


@pytest.mark.parametrize("name", EXACT)
def test_every_bit(name, golden):
    exact(golden, *EXACT[name])


REFUSED = [
    ("every_other", {}, 's.pipeline("g", 3)'),
    ("every_other", {}, 's.pipeline("g.t", 5)'),
    ("matmul_relu", {}, 's.pipeline("D")'),
    ("matmul_relu", {}, 's.pipeline("Y")'),
    ("matmul_relu", {}, 's.pipeline("Y.i")'),
    ("matmul_relu", {}, 's.pipeline("D", 1)'),
    ("matmul_relu", {}, 's.pipeline("D", "2")'),
    ("matmul_relu", {}, 's.pipeline("Q")'),
    ("matmul_relu", {}, 's.compute_at("D", "Y.i").parallel("Y.i").pipeline("D")'),
    ("chain", {}, 's.compute_at("z", "Y.i").compute_at("t", "Y.i").pipeline("z")'),
    ("chain", {}, 's.compute_at("z", "Y.i").compute_at("t", "Y.i").pipeline("z_acc")'),
    ("lag", {}, 's.compute_at("h", "Y.i").pipeline("h")'),
    (
        "softmax",
        {},
        's.compute_at("Y_sum", "Y.i").compute_at("e", "Y.i").compute_at("m", "Y.i").pipeline("e")',
    ),
]


def test_refusals(golden):
    golden(refusals(REFUSED))


@pytest.mark.parametrize("name", EXACT)
def test_certified(name):
    assert scheduled(*EXACT[name]).certificate().bit_exact
