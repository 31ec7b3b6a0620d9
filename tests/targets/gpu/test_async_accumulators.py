"""Which accumulators a wait completes, in nests of any depth."""

from __future__ import annotations

from dataclasses import replace

from tests.poly.nests import ZERO, at, loop, put, tensor
from texpr.ir.expr import Var
from texpr.ir.instructions import INSTRUCTIONS
from texpr.ir.loop import CommitProducts, Stmt, WaitProducts
from texpr.ir.loop_kind import InstructionNest
from texpr.ir.store_kind import ASYNCHRONOUS
from texpr.targets.gpu.async_accumulators import accumulators_of
from texpr.targets.gpu.thread_registers import OwnedElements

SUMS, READER = tensor("C", 4), tensor("D", 4)
OWNED = {SUMS: OwnedElements(SUMS, (0,), (1,), ((0,), (1,)))}


def deep(*body: Stmt) -> Stmt:
    """Sixty loops around statements."""
    for k in range(60):
        body = (loop(Var(f"i{k}"), 4, *body),)
    return body[0]


def product() -> Stmt:
    """An instruction that begins a product."""
    name = next(name for name, made in INSTRUCTIONS.items() if made.asynchronous)
    i = Var("lane")
    return replace(loop(i, 4, put(SUMS, (i,), ZERO, "+", mode=ASYNCHRONOUS)), kind=InstructionNest(name))


USE = put(READER, (0,), at(SUMS, 0))


def test_loops_of_any_depth_take_no_longer():
    """Each loop is gone through twice where its second iteration begins otherwise than the first;
    sixty loops inside each other would be gone through 2^60 times.
    """
    assert accumulators_of(deep(USE), OWNED).returned == {}
    wait = WaitProducts()
    found = accumulators_of(deep(product(), CommitProducts(), wait, USE), OWNED)
    assert found.returned == {wait: [SUMS]} and found.numbers == {(SUMS, (0,)): 0, (SUMS, (1,)): 1}


def test_a_wait_completes_products_of_the_iteration_before():
    wait = WaitProducts()
    assert accumulators_of(deep(wait, USE, product(), CommitProducts()), OWNED).returned == {wait: [SUMS]}
    early = WaitProducts()
    alone = loop(Var("i"), 4, early, USE)
    found = accumulators_of(loop(Var("o"), 1, alone, loop(Var("j"), 4, product())), OWNED)
    assert found.returned == {early: [SUMS]}  # the loop around both may come again


def test_what_no_product_adds_to_is_not_returned():
    wait = WaitProducts()
    assert accumulators_of(deep(wait, USE), OWNED).returned == {wait: []}
