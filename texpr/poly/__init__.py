"""Proofs about programs and loop nests: the only user of isl, which no signature here shows.

`constraints.conversion` turns expressions into integer constraints, over-approximating what is not
affine; `constraints.solver` asks isl whether a conjunction of constraints has a solution, and which
is the smallest. Everything above is made of such questions: a proof is "no solution", a
counterexample the smallest solution. `dependence.kernel_model` sees a kernel as statements with
domains, accesses and order; `dependence.legality` asks whether a step keeps all dependences, those
first whose `constraints.distances` the indices say; `dependence.value_flow` where a temporary's
values live; `constraints.conditions` whether a condition always holds; `dependence.footprint` which
box of a tensor one iteration of some loops touches:

    footprint(kernel, tensor, loops, kinds=("read", "write")) -> Footprint(bases, extents) | None

`asynchronous.copy_arrival` asks whether asynchronous copies arrive before they are read and
overwrite nothing that is wanted, `asynchronous.products` the same of asynchronous products.
`program.affine_schedule` finds an order for equations that need each other, `constraints.extents`
the bounds of its loops.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from texpr.support.late import offer_late

if TYPE_CHECKING:
    from texpr.poly.asynchronous.copy_arrival import unproven_copy
    from texpr.poly.asynchronous.products import unproven_product
    from texpr.poly.asynchronous.timeline import Unproven
    from texpr.poly.constraints.conditions import always, fails_somewhere, never
    from texpr.poly.constraints.extents import extent_of
    from texpr.poly.constraints.solver import effort
    from texpr.poly.dependence.footprint import Footprint, footprint, unclamped
    from texpr.poly.dependence.legality import (
        Conflict,
        anti_dependence,
        carried_dependence,
        dependence_on,
        later_read,
        read_after_write,
        reads_after_writes,
        reassociable,
        reversed_dependence,
        runs_in_order,
        runs_same_instances,
        written_once,
    )
    from texpr.poly.dependence.permutable_band import permutable
    from texpr.poly.dependence.prefetch_addresses import unproven_prefetches
    from texpr.poly.dependence.storage import Overwrite, Storage
    from texpr.poly.dependence.value_flow import flow_stays_within
    from texpr.poly.program.affine_schedule import Loop, Order, order_of
    from texpr.poly.program.program_checks import check_program

__all__ = [
    "Conflict",
    "Footprint",
    "Loop",
    "Order",
    "Overwrite",
    "Storage",
    "Unproven",
    "always",
    "anti_dependence",
    "carried_dependence",
    "check_program",
    "dependence_on",
    "effort",
    "extent_of",
    "fails_somewhere",
    "flow_stays_within",
    "footprint",
    "later_read",
    "never",
    "order_of",
    "permutable",
    "read_after_write",
    "reads_after_writes",
    "reassociable",
    "reversed_dependence",
    "runs_in_order",
    "runs_same_instances",
    "unclamped",
    "unproven_copy",
    "unproven_prefetches",
    "unproven_product",
    "written_once",
]

offer_late(__name__)
