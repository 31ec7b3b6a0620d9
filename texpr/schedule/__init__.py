"""Scheduling steps: checked rewrites of a kernel.

Each step is a function from a kernel to a kernel that computes the same values, or it raises `ScheduleError` with the smallest example of
what would go wrong. Steps that keep the order of execution (`split`, `fuse`, `unroll`) need no proof; `reorder` asks isl whether every
dependence keeps its direction, and so do `tile`, `jam`, `fission`, `join` and `reverse`, which move statements as it does
(`legality.rearrange`); `skew` makes them legal where they are not. `vectorize`, `parallel` and `bind` ask whether iterations are
independent, but for what is `atomic`; `rfactor` changes the order of a sum and says so. `cache_read` and `cache_write` put a buffer
between a tensor and the loops that use it, of the size of the box an iteration touches; `layout` and `pad` say how it lies in memory,
`scope` where. `tensorize` runs a nest as one instruction whose meaning is that nest. `online`, `trim`, `reciprocal`, `widen`,
`factor_out`, `premultiply`, `logistic`, `base2` and `tf32` alone rewrite equations: sums of exponentials with a maximum that runs along,
sums without terms that are 0 or with them, products with reciprocals for quotients, products of sums for sums of products, products that
are made beforehand, quotients for sums with tanh, powers of 2 for exponentials, rounded factors.

A loop is named by its variable. Where a reduction's start value or final store had to leave a loop (`reorder` distributes loops over
statements), the copies keep the name and belong together: a step by name takes all of them.
"""

from texpr.schedule.analysis.annotations import explain
from texpr.schedule.steps.algebra.allow_fma import allow_fma
from texpr.schedule.steps.algebra.drop_padding import trim
from texpr.schedule.steps.algebra.exp_to_exp2 import base2
from texpr.schedule.steps.algebra.factor_out import factor_out
from texpr.schedule.steps.algebra.mask_to_zero import widen
from texpr.schedule.steps.algebra.online_softmax import online
from texpr.schedule.steps.algebra.premultiply import premultiply
from texpr.schedule.steps.algebra.reciprocal import reciprocal
from texpr.schedule.steps.algebra.round_to_tf32 import tf32
from texpr.schedule.steps.algebra.tanh_to_sigmoid import logistic
from texpr.schedule.steps.buffers.cache import cache_read, cache_write
from texpr.schedule.steps.buffers.layout import layout, pad
from texpr.schedule.steps.buffers.scope import scope
from texpr.schedule.steps.buffers.swizzle import swizzle
from texpr.schedule.steps.hardware.async_mma import in_flight, together
from texpr.schedule.steps.hardware.bulk_copy import bulk
from texpr.schedule.steps.hardware.multicast import multicast
from texpr.schedule.steps.hardware.nontemporal import stream
from texpr.schedule.steps.hardware.prefetch import prefetch
from texpr.schedule.steps.hardware.tensorize import tensorize
from texpr.schedule.steps.loops.annotate import annotate
from texpr.schedule.steps.loops.fission import fission
from texpr.schedule.steps.loops.fuse import fuse
from texpr.schedule.steps.loops.merge import join
from texpr.schedule.steps.loops.parallel import bind, parallel
from texpr.schedule.steps.loops.partition import separate
from texpr.schedule.steps.loops.peel import peel
from texpr.schedule.steps.loops.reorder import reorder
from texpr.schedule.steps.loops.skew import reverse, skew
from texpr.schedule.steps.loops.specialize import specialize
from texpr.schedule.steps.loops.split import split
from texpr.schedule.steps.loops.tile import jam, tile
from texpr.schedule.steps.loops.unroll import unroll
from texpr.schedule.steps.loops.vectorize import vectorize
from texpr.schedule.steps.loops.vectorize_scalable import vectorize_scalable
from texpr.schedule.steps.placement.compute_at import compute_at
from texpr.schedule.steps.placement.expand_dim import expand
from texpr.schedule.steps.placement.fold_storage import fold
from texpr.schedule.steps.placement.inline import inline
from texpr.schedule.steps.placement.pipeline import pipeline
from texpr.schedule.steps.placement.reverse_compute_at import reverse_compute_at
from texpr.schedule.steps.reductions.atomic import atomic
from texpr.schedule.steps.reductions.rfactor import rfactor
from texpr.schedule.structure.loops import find_loops, loop_names, qualified

__all__ = [
    "allow_fma", "annotate", "atomic", "base2", "bind", "bulk", "cache_read", "cache_write", "compute_at", "expand", "explain",
    "factor_out", "find_loops", "fission", "fold", "fuse", "in_flight", "inline", "jam", "join", "layout", "logistic", "loop_names",
    "multicast", "online", "pad", "parallel", "peel", "pipeline", "prefetch", "premultiply", "qualified", "reciprocal", "reorder",
    "reverse", "reverse_compute_at", "rfactor", "scope", "separate", "skew", "specialize", "split", "stream", "swizzle", "tensorize",
    "tf32", "tile", "together", "trim", "unroll", "vectorize", "vectorize_scalable", "widen",
]
