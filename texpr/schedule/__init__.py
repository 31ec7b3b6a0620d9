"""Scheduling steps: checked rewrites of a kernel.

Each step is a function from a kernel to a kernel that computes the same values, or it raises `ScheduleError` with the smallest example of
what would go wrong. Steps that keep the order of execution (`split`, `fuse`, `unroll`) need no proof; `reorder` asks isl whether every
dependence keeps its direction, and so do `tile`, `jam`, `fission`, `join` and `reverse`, which move statements as it does (`leaves`);
`skew` makes them legal where they are not. `vectorize`, `parallel` and `bind` ask whether iterations are independent, but for what is
`atomic`; `rfactor` changes the order of a sum and says so. `cache_read` and `cache_write` put a buffer between a tensor and the loops that
use it, of the size of the box an iteration touches; `layout` and `pad` say how it lies in memory, `scope` where. `tensorize` runs a nest
as one instruction whose meaning is that nest. `online`, `trim`, `reciprocal`, `widen`, `factor_out`, `premultiply`,
`logistic`, `base2` and `tf32` alone rewrite equations: sums of exponentials with a maximum that runs along, sums without terms that are 0
or with them, products with reciprocals for quotients, products of sums for sums of products, products that are made beforehand, quotients
for sums with tanh, powers of 2 for exponentials, rounded factors.

A loop is named by its variable. Where a reduction's start value or final store had to leave a loop (`reorder` distributes loops over
statements), the copies keep the name and belong together: a step by name takes all of them.
"""

from texpr.schedule.atomic import atomic
from texpr.schedule.attach import compute_at
from texpr.schedule.bulk import bulk
from texpr.schedule.cache import cache_read, cache_write
from texpr.schedule.consumer import reverse_compute_at
from texpr.schedule.expand import expand
from texpr.schedule.explain import explain
from texpr.schedule.factor_out import factor_out
from texpr.schedule.fission import fission
from texpr.schedule.fold import fold
from texpr.schedule.fuse import fuse
from texpr.schedule.hints import annotate, prefetch, stream
from texpr.schedule.in_flight import in_flight, together
from texpr.schedule.inline import inline
from texpr.schedule.join import join
from texpr.schedule.lanes import unroll, vectorize
from texpr.schedule.layout import layout, pad
from texpr.schedule.logistic import logistic
from texpr.schedule.loops import find_loops, loop_names, qualified
from texpr.schedule.marks import allow_fma, bind, parallel
from texpr.schedule.multicast import multicast
from texpr.schedule.online import online
from texpr.schedule.order import reorder
from texpr.schedule.peel import peel
from texpr.schedule.pipeline import pipeline
from texpr.schedule.powers import base2
from texpr.schedule.premultiply import premultiply
from texpr.schedule.reciprocal import reciprocal
from texpr.schedule.rfactor import rfactor
from texpr.schedule.scalable import vectorize_scalable
from texpr.schedule.scope import scope
from texpr.schedule.separate import separate
from texpr.schedule.shape import split
from texpr.schedule.skew import reverse, skew
from texpr.schedule.special import specialize
from texpr.schedule.swizzle import swizzle
from texpr.schedule.tensorize import tensorize
from texpr.schedule.tf32 import tf32
from texpr.schedule.tile import jam, tile
from texpr.schedule.trim import trim
from texpr.schedule.widen import widen

__all__ = [
    "allow_fma", "annotate", "atomic", "base2", "bind", "bulk", "cache_read", "cache_write", "compute_at", "expand", "explain",
    "factor_out", "find_loops", "fission", "fold", "fuse", "in_flight", "inline", "jam", "join", "layout", "logistic", "loop_names",
    "multicast", "online", "pad", "parallel", "peel", "pipeline", "prefetch", "premultiply", "qualified", "reciprocal", "reorder",
    "reverse", "reverse_compute_at", "rfactor", "scope", "separate", "skew", "specialize", "split", "stream", "swizzle", "tensorize",
    "tf32", "tile", "together", "trim", "unroll", "vectorize", "vectorize_scalable", "widen",
]
