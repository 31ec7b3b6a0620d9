"""Finding loops by name or handle, and replacing them."""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterator, Mapping, Sequence
from difflib import get_close_matches
from functools import lru_cache

from texpr import poly
from texpr.ir.expr import Node, Read, Tensor, Var
from texpr.ir.loop import For, If, Kernel, Stmt, Store
from texpr.ir.loop_kind import InstructionNest
from texpr.ir.printing.loop import source_kernel
from texpr.ir.printing.types import RESERVED, unused
from texpr.ir.traverse import kept_statements, tensors, users, walk
from texpr.support.errors import ScheduleError
from texpr.support.frozen_dataclass import replace
from texpr.support.source import Source, Span
from texpr.support.unread import is_unread


def all_loops(kernel: Kernel) -> list[For]:
    """The loops, outermost and first ones first."""
    return list(_loops(kernel))


@lru_cache(maxsize=64)  # a step asks several times
def _loops(kernel: Kernel) -> tuple[For, ...]:
    return tuple(n for n in kept_statements(kernel) if isinstance(n, For))


@lru_cache(maxsize=64)
def _run_at_once(kernel: Kernel) -> frozenset[int]:
    """The loops that instructions run, by identity."""
    return frozenset(
        id(n)
        for s in _loops(kernel)
        if isinstance(s.kind, InstructionNest)
        for n in walk(s)
        if isinstance(n, For)
    )


def qualified(loop: For) -> str:
    """`Y.i`: a name that is always accepted."""
    return f"{loop.tensor}.{loop.var.name}"


def loop_names(kernel: Kernel) -> list[str]:
    """The shortest name of each loop, in order, copies once."""
    owners: dict[str, set[str]] = {}
    for loop in all_loops(kernel):
        owners.setdefault(loop.var.name, set()).add(loop.tensor)
    return list(
        dict.fromkeys(n.var.name if len(owners[n.var.name]) == 1 else qualified(n) for n in all_loops(kernel))
    )


def shortest(kernel: Kernel, loop: For) -> str:
    """The shortest name of a loop."""
    alone = all(n.tensor == loop.tensor for n in all_loops(kernel) if n.var.name == loop.var.name)
    return loop.var.name if alone else qualified(loop)


def find_loops(kernel: Kernel, name: str | Var, *, run_at_once: bool = False) -> list[For]:
    """The loops called `name`: one, or the copies of one that `reorder` made. A `Var` is a handle
    and names its copies too.

    Args:
        run_at_once: copies that an instruction runs, too; else they are found where there is no
            other one.
    Raises:
        ScheduleError: no loop has the name, or loops of different tensors have it.
    """
    loops = all_loops(kernel)
    if isinstance(name, Var):
        at = next((n for n in loops if n.var is name), None)
        if at is None:
            raise ScheduleError(
                f"the loop `{name.name}` is no longer in the kernel",
                code="loop",
                help=f"loops now: {', '.join(loop_names(kernel))}",
            )
        name = qualified(at)
    if not isinstance(name, str):
        raise ScheduleError(f"a loop is named by text or by its handle, not by {name!r}", code="loop")
    found = [n for n in loops if name in (n.var.name, qualified(n))]
    found = [n for n in found if run_at_once or id(n) not in _run_at_once(kernel)] or found
    if not found:
        close = get_close_matches(name, loop_names(kernel), 1)
        raise ScheduleError(
            f"there is no loop `{name}`",
            code="loop",
            notes=[f"loops: {', '.join(loop_names(kernel)) or 'none'}"],
            help=f"did you mean `{close[0]}`?" if close else "s.loops lists them",
        )
    owners = list(dict.fromkeys(qualified(n) for n in found))
    if len(owners) > 1:
        raise ScheduleError(
            f"`{name}` could be any of {', '.join(owners)}",
            code="loop",
            help=f'name its tensor too, as in "{owners[-1]}"',
        )
    return found


def check_new_names(kernel: Kernel, at: For, names: Sequence[object], step: str) -> None:
    """Loops that a step makes out of `at` get names of their own.

    Raises:
        ScheduleError: one is no name, or stands for something else already.
    """
    loops = {n.var.name for n in all_loops(kernel) if n.tensor == at.tensor}
    for k, name in enumerate(names):
        if not isinstance(name, str) or not (name.isascii() and name.isidentifier()) or name in RESERVED:
            raise ScheduleError(
                f"{name!r} is not a name for a loop",
                span_of(kernel, at),
                code=step,
                help="letters, digits and underscores, no digit first, no word of the language",
            )
        if name in names[:k]:
            raise ScheduleError(
                f"both loops would be called `{name}`",
                span_of(kernel, at),
                code=step,
                help=_OTHER_NAMES[step],
            )
        if name in loops:
            raise ScheduleError(
                f"{at.tensor} already has a loop `{name}`",
                span_of(kernel, at),
                code=step,
                help=_OTHER_NAMES[step],
            )
        if name in _taken(kernel):
            raise ScheduleError(
                f"`{name}` is a tensor or a size", span_of(kernel, at), code=step, help=_OTHER_NAMES[step]
            )


_OTHER_NAMES = {
    "bind": 'give other names: bind(..., names=("inside", "bound"))',
    "split": 'give other names: split(..., names=("outer", "inner"))',
    "fuse": 'give another name: fuse(..., name="both")',
    "fission": 'give another name: fission(..., name="rest")',
}


def free_name(kernel: Kernel, owner: str, name: str) -> str:
    """`name`, or one like it that a new loop of `owner` can have."""
    return unused(
        name, {n.var.name for n in all_loops(kernel) if n.tensor == owner} | _taken(kernel) | RESERVED
    )


def _taken(kernel: Kernel) -> set[str]:
    return {t.name for t in (*kernel.inputs, *kernel.outputs, *kernel.temporaries)} | {
        v.name for v in kernel.sizes
    }


_NOWHERE = Span(Source("kernel", ""), 0, 0)
"""Of errors that nobody reads."""


def span_of(kernel: Kernel, node: Node) -> Span:
    """Source span of `node`: a loop in the operator's text, at the index it comes from; else in the
    kernel as printed now.
    """
    written = node.var.span if isinstance(node, For) else None
    if is_unread():
        return written or _NOWHERE
    listed = source_kernel(kernel)[1][id(node)]
    return listed if written is None else replace(written, now=listed.text.strip())


def text_of(kernel: Kernel, node: Stmt | Read) -> Span:
    """The operator's text that a read, or the last store in a statement, comes from; where it is
    printed now if it comes from none.
    """
    at = node if isinstance(node, Read) else stores(node)[-1]
    return span_of(kernel, node) if at.span is None else at.span


def replace_loops(kernel: Kernel, loops: list[For], make: Callable[[For], Stmt | tuple[Stmt, ...]]) -> Kernel:
    """The kernel with each of `loops` replaced by what `make` gives for its rebuilt form,
    without what is left without statements.
    """
    variables = {n.var for n in loops}

    def over(body: tuple[Stmt, ...]) -> tuple[Stmt, ...]:
        """Depth is that of the loop nest."""
        new: list[Stmt] = []
        for s in body:
            if not isinstance(s, For | If):
                new.append(s)
                continue
            if not (inner := over(s.body)):
                continue
            rebuilt = s if inner is s.body else replace(s, body=inner)
            made = make(rebuilt) if isinstance(rebuilt, For) and rebuilt.var in variables else rebuilt
            new += made if isinstance(made, tuple) else (made,)
        return (
            body
            if len(new) == len(body) and all(one is other for one, other in zip(body, new))
            else tuple(new)
        )

    body = over(kernel.body)
    return kernel if body is kernel.body else replace(kernel, body=body)


def stores(root: Node) -> list[Store]:
    """The stores below `root`, in textual order."""
    return list(_stores(root))


@lru_cache(maxsize=64)
def _stores(root: Node) -> tuple[Store, ...]:
    return tuple(n for n in kept_statements(root) if isinstance(n, Store))


def paths(kernel: Kernel, using: Tensor | None = None) -> Iterator[tuple[tuple[For | If, ...], Stmt]]:
    """Every leaf statement with the loops and conditions around it, outermost first, in textual
    order.

    Args:
        using: only those of statements of the body that use this tensor anywhere.
    """
    tops = kernel.body if using is None else users(kernel, using)
    stack: list[tuple[tuple[For | If, ...], Stmt]] = [((), s) for s in reversed(tops)]
    while stack:
        above, node = stack.pop()
        if isinstance(node, For | If):
            stack += [((*above, node), s) for s in reversed(node.body)]
        else:
            yield above, node


def path_to(kernel: Kernel, loop: For) -> tuple[For | If, ...]:
    """The loops and conditions around `loop`, outermost first, and the loop itself as it is in
    the kernel.
    """
    return _paths_to_loops(kernel)[loop.var]


@lru_cache(maxsize=64)
def _paths_to_loops(kernel: Kernel) -> Mapping[Var, tuple[For | If, ...]]:
    """For every variable the path to its first loop."""
    found: dict[Var, tuple[For | If, ...]] = {}
    for above, _ in paths(kernel):
        for k, n in enumerate(above):
            if isinstance(n, For) and n.var not in found:
                found[n.var] = above[: k + 1]
    return found


def loops_around(kernel: Kernel, loop: For) -> tuple[For, ...]:
    """The loops that enclose `loop`, outermost first."""
    return tuple(n for n in path_to(kernel, loop)[:-1] if isinstance(n, For))


def private_temporaries(
    kernel: Kernel, loop: For, among: Collection[Tensor] | None = None
) -> tuple[Tensor, ...]:
    """Temporaries whose values never leave an iteration of `loop`; of these only, if given."""
    inside = {s.tensor for s in stores(loop)}.intersection(kernel.temporaries if among is None else among)
    around = (*loops_around(kernel, loop), loop)
    return tuple(t for t in kernel.temporaries if t in inside and poly.flow_stays_within(kernel, t, around))


def private_copies(
    kernel: Kernel, loop: For, suffix: str, among: Collection[Tensor] | None = None
) -> dict[Tensor, Tensor]:
    """Temporaries (of these only, if given) whose values stay within an iteration of `loop`, with
    the ones that iterations set apart use instead.
    """
    taken = {t.name for t in (*kernel.inputs, *kernel.outputs, *kernel.temporaries)}
    found: dict[Tensor, Tensor] = {}
    for t in private_temporaries(kernel, loop, among):
        name = f"{t.name}_{suffix}"
        while name in taken:
            name += "_"
        taken.add(name)
        found[t] = replace(t, name=name)
    return found


def with_temporaries(kernel: Kernel, more: list[Tensor]) -> Kernel:
    """The kernel with those of `more` that it uses declared: reads that never happen may be all
    that is left of one.
    """
    if not more:
        return kernel
    used = tensors(*kernel.body)
    return replace(kernel, temporaries=(*kernel.temporaries, *(t for t in more if t in used)))
