"""From a captured program to its kernels: all passes that are wanted, fusion, groups, or what the disk has of them."""

from __future__ import annotations

from collections.abc import Collection, Mapping

import numpy as np

from texpr.graph.execution.placement import Place
from texpr.graph.fusion.layouts import laid_out
from texpr.graph.fusion.materialize import with_kept
from texpr.graph.fusion.producer_consumer import fused
from texpr.graph.lowering import plan_cache
from texpr.graph.lowering.launches import Launches, make_launches
from texpr.graph.passes import FUSE, SWEEP, by_laws, optimized
from texpr.ir.expr import Tensor
from texpr.ir.tensor import Program
from texpr.support.options import current


def compiled(program: Program, constants: Mapping[Tensor, np.ndarray], place: Place, opt: int | None, disable: Collection[str] | None,
              reassociate: bool | None) -> tuple[Program, Launches]:
    """The program after all passes that are wanted, and its kernels, made now or found on disk."""
    level, left_out, loose = wanted(opt, disable, reassociate)
    key = plan_cache.key_of(program, constants, (level, sorted(left_out), loose, place.name, place.sweeps))
    found = plan_cache.find(key, program, place.kernel) if key else None
    if found is None:
        found = _made(program, constants, place, level, left_out, loose)
        if key:
            plan_cache.keep(key, program, *found)
    return found


def _made(program: Program, constants: Mapping[Tensor, np.ndarray], place: Place, level: int, left_out: Collection[str], loose: bool
          ) -> tuple[Program, Launches]:
    """The program after all passes of a level, and its kernels."""
    better = optimized(program, constants, level, left_out, loose)
    if level < 3 or FUSE in left_out:
        return better, make_launches(better, False, False, place.kernel)
    better, kept = with_kept(better)
    better, decisions = fused(better)
    if "algebra" not in left_out:
        better = by_laws(better, loose)
    better, layouts = laid_out(better)
    made = make_launches(better, True, place.sweeps and SWEEP not in left_out, place.kernel)
    return better, Launches(made.order, made.views, (*kept, *decisions, *layouts, *made.decisions))


def wanted(opt: int | None, disable: Collection[str] | None, reassociate: bool | None) -> tuple[int, Collection[str], bool]:
    """What is not given, from the options."""
    options = current()
    return (options.opt if opt is None else opt, options.disable if disable is None else disable,
            options.reassociate if reassociate is None else reassociate)
