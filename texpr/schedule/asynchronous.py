"""Copies that are begun some iterations ahead and waited for: what `pipeline` makes where threads go on while copies are under way."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import replace

from texpr.ir.build import add, compare, integer
from texpr.ir.copies import copy_of
from texpr.ir.expr import Node, Tensor, index
from texpr.ir.loop import Barrier, Commit, For, Kernel, Stmt, Store, Wait
from texpr.ir.traverse import rewrite
from texpr.passes.nests import guarded
from texpr.schedule.indices import moved_to
from texpr.schedule.loops import path_to, stores, text_of
from texpr.schedule.production import replaced
from texpr.support.errors import ScheduleError


def check_copies(kernel: Kernel, tensors: Iterable[Tensor]) -> None:
    """That these tensors are copies of memory in shared memory.

    Raises:
        ScheduleError: one of them is not.
    """
    for t in tensors:
        computed = next((s for s in stores(kernel) if s.tensor is t and not _copies(s)), None)
        if computed is not None:
            raise ScheduleError(f"only copies are asynchronous, and `{t.name}` is computed", text_of(kernel, computed), code="pipeline",
                                help="cache_read makes copies; without asynchronous=True anything is computed ahead")
        if t.scope != "shared":
            raise ScheduleError(f"only copies to shared memory are asynchronous, and `{t.name}` lives elsewhere", code="pipeline",
                                help=f'scope("{t.name}", "shared") first')


def _copies(s: Store) -> bool:
    """Whether a store takes an element as it is from memory, or 0 outside."""
    copy = copy_of(s)
    return copy is not None and copy.source.tensor.scope == "global" and copy.source.tensor.dtype == s.tensor.dtype


def begun(kernel: Kernel, loop: For, early: Sequence[int], lead: int) -> Kernel:
    """The copies at these places in the loop's body begin `lead` iterations before the rest, which waits for them.

    Each iteration commits one group, and so does each of `lead` before the loop: with all but `lead - 1` of them those of this iteration
    have arrived. The barrier behind the wait also stands between the last reads of a buffer and the next copies to it.
    """
    *around, old = path_to(kernel, loop)
    assert isinstance(old, For)
    copies = [_marked(old.body[k]) for k in early]
    rest = [s for k, s in enumerate(old.body) if k not in early]
    first, later = replace(old.var), add(old.var, index(lead))
    count = integer(old.extent)
    filled = moved_to(copies, old.var, first)
    filled = filled if count is not None and count >= lead else guarded(compare("<", first, old.extent), filled)
    filling = For(first, index(lead), (*filled, Commit()), tensor=old.tensor)
    following = guarded(compare("<", later, old.extent), moved_to(copies, old.var, later))
    main = replace(old, body=(Wait(lead - 1), Barrier(), *following, Commit(), *rest))
    # An iteration of a loop around may still read what the last one copied.
    again = any(isinstance(n, For) and not n.kind.startswith("block") for n in around)
    return replaced(kernel, around, (old,), {id(old): ((Wait(0), Barrier()) if again else ()) + (filling, main)})  # type: ignore[arg-type]


def _marked(s: Stmt) -> Stmt:
    def rule(node: Node) -> Node | None:
        return replace(node, asynchronous=True) if isinstance(node, Store) else None

    return rewrite(s, rule)
