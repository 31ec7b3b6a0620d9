"""Asynchronous products (wgmma): proof that sums are used after they are complete, and operands are
unchanged until then.

An asynchronous product reads its operands, which lie in memory of the block or in registers of the
thread, and changes its sums, which lie in registers, until the thread has waited for its group.
Products of one instruction add to one sum in their order. So

* any other use of a sum stands behind a wait of the thread that covers the products for it before
  that;
* what overwrites an operand stands behind a barrier, and that behind a wait that covers the
  products that read it: others, too, have waited then. Registers are the thread's own: its wait
  will do.

Groups and waits are counted as those of copies are (`copy_arrival`).
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from texpr.ir.expr import Read
from texpr.ir.loop import CommitProducts, Kernel, Stmt, Store, WaitProducts, instruction_of
from texpr.ir.store_kind import ASYNCHRONOUS
from texpr.ir.traverse import statements, walk
from texpr.poly.asynchronous.copy_arrival import late, reads_at
from texpr.poly.asynchronous.timeline import TimelineBuilder, TimelinePoint, Unproven, Use, issued_use
from texpr.poly.constraints.proof_thread import one_at_a_time


@one_at_a_time
def unproven_product(kernel: Kernel) -> Unproven | None:
    """The first asynchronous product that is not proven right, for all sizes; None if all are,
    or there are none.
    """
    if not any(isinstance(n, Store) and _begins(n) for n in statements(kernel)):
        return None
    return next((found for top in kernel.body if (found := _of_nest(kernel, top)) is not None), None)


def _begins(s: Stmt) -> bool:
    return isinstance(s, Store) and s.mode is ASYNCHRONOUS and s.update is not None


def _of_nest(kernel: Kernel, top: Stmt) -> Unproven | None:
    places = list(TimelineBuilder(CommitProducts, WaitProducts).places(top))
    products = [p for p in places if _begins(p.node)]
    for p in places if products else ():
        if isinstance(p.node, CommitProducts | WaitProducts) and not p.reached:
            return Unproven("uncounted", p.node, products[0].node)  # type: ignore[arg-type]
    return next((found for p in products if (found := _of_product(kernel, p, places)) is not None), None)


def _of_product(kernel: Kernel, p: TimelinePoint, places: Sequence[TimelinePoint]) -> Unproven | None:
    product = p.node
    assert isinstance(product, Store)
    sums = issued_use(p, product.indices, places)
    for at, use in _others(p, places):
        if late(kernel, sums, use, at, places) == "arrival":
            return Unproven("unfinished", at.node, product)
    read = [(n.tensor, issued_use(p, n.indices, places)) for n in walk(product.value) if isinstance(n, Read)]
    for at in places:
        if not isinstance(at.node, Store) or _begins(at.node):
            continue
        write = Use(at, at.node.indices)
        if any(
            t is at.node.tensor and late(kernel, use, write, at, places) in _LATE[t.scope == "register"]
            for t, use in read
        ):
            return Unproven("operand", at.node, product)
    return None


_LATE = {False: ("arrival", "barrier"), True: ("arrival",)}
"""Reasons from `late` that refuse the overwriting of an operand, by whether it is in registers."""


def _others(product: TimelinePoint, places: Sequence[TimelinePoint]) -> Iterator[tuple[TimelinePoint, Use]]:
    """Uses of a product's sums by other statements, and by other instructions."""
    assert isinstance(product.node, Store)
    tensor, kind = product.node.tensor, _instruction(product)
    for at in places:
        if _begins(at.node) and _instruction(at) == kind:
            continue
        if isinstance(at.node, Store) and at.node.tensor is tensor:
            yield at, Use(at, at.node.indices)
        for n in reads_at(at.node):
            if n.tensor is tensor:
                yield at, Use(at, n.indices)


def _instruction(p: TimelinePoint) -> str:
    return next(filter(None, map(instruction_of, reversed(p.enclosing))), "")
