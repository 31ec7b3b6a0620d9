"""The statements that produce a tensor: what `inline`, `compute_at` and `pipeline` move."""

from __future__ import annotations

from collections.abc import Collection, Iterator, Sequence

from texpr import poly
from texpr.ir.affine import Linear, linear
from texpr.ir.expr import Expr, Node, Read, Tensor, Var
from texpr.ir.loop import ExternCall, For, If, Kernel, Stmt, Store
from texpr.ir.traverse import children, kept_statements, mentions, tensors, users, walk
from texpr.schedule.legality.presumption import conflict_of
from texpr.schedule.legality.refusal import refused
from texpr.schedule.structure.loops import paths, stores, text_of
from texpr.schedule.structure.tensors import check_stays
from texpr.support.errors import ScheduleError
from texpr.support.frozen_dataclass import frozen, replace


@frozen
class Production:
    """Statements that compute `tensor`, and nothing that others use.

    Attributes:
        above: the loops and conditions around, outermost first.
        statements: statements of one body, in order.
        private: temporaries that only these statements use, such as accumulators.
    """

    tensor: Tensor
    above: tuple[For | If, ...]
    statements: tuple[Stmt, ...]
    private: frozenset[Tensor]

    @property
    def loops(self) -> tuple[For, ...]:
        """The loops around."""
        return tuple(n for n in self.above if isinstance(n, For))

    @property
    def stores(self) -> list[Store]:
        """The stores below, in textual order."""
        return [s for top in self.statements for s in stores(top)]


def find_tensor(kernel: Kernel, name: object, step: str) -> Tensor:
    """The tensor that the kernel computes under this name.

    Raises:
        ScheduleError: it computes no such tensor.
    """
    known = {t.name: t for t in (*kernel.temporaries, *kernel.outputs)} | {
        s.tensor.name: s.tensor for s in stores(kernel)
    }
    if not isinstance(name, str) or name not in known:
        raise ScheduleError(
            f"the kernel computes no tensor {name!r}",
            code=step,
            notes=[f"tensors: {', '.join(known) or 'none'}"],
        )
    check_stays(kernel, known[name], step)
    return known[name]


def find_production(kernel: Kernel, tensor: Tensor, step: str) -> Production:
    """The outermost statements of one body that compute `tensor` and nothing else that is used
    elsewhere.

    Raises:
        ScheduleError: its statements compute other tensors as well, or there are none.
    """
    if all(s.tensor is not tensor for s in stores(kernel)):
        raise ScheduleError(f"`{tensor.name}` has no elements, so nothing computes it", code=step)
    family = _family(kernel, tensor)
    above: tuple[For | If, ...] = ()
    body = kernel.body
    while True:
        used_by = users(kernel, *family) if body is kernel.body else body
        parts = tuple(s for s in used_by if any(n.tensor in family for n in stores(s)))
        others = {n.tensor: n for s in parts for n in stores(s) if n.tensor is not tensor}
        used = _used_outside(kernel, parts) if others else set()
        shared = [t for t in others if t not in kernel.temporaries or t in used]
        if not shared:
            return Production(tensor, above, parts, frozenset(others))
        if len(parts) != 1 or not isinstance(parts[0], For | If):
            raise ScheduleError(
                f"`{tensor.name}` is computed together with `{shared[0].name}`",
                text_of(kernel, others[shared[0]]),
                code=step,
                help=f"{step} takes a tensor whose statements stand together",
            )
        above, body = (*above, parts[0]), parts[0].body


def _family(kernel: Kernel, tensor: Tensor) -> set[Tensor]:
    """The tensor, and the temporaries that its equations go through, such as accumulators."""
    equations = {s.equation for s in stores(kernel) if s.tensor is tensor and s.equation >= 0}
    writers: dict[Tensor, list[Store]] = {}
    for s in stores(kernel):
        if s.tensor is tensor or s.equation in equations:
            writers.setdefault(s.tensor, []).append(s)
    temporaries = set(kernel.temporaries)
    family, left = {tensor}, [tensor]
    while left:
        for t in (t for s in writers[left.pop()] for t in tensors(s)):
            if (
                t not in family
                and t in temporaries
                and any(s.equation in equations for s in writers.get(t, ()))
            ):
                family.add(t)
                left.append(t)
    return family


def _used_outside(kernel: Kernel, parts: Collection[Stmt]) -> set[Tensor]:
    """Tensors that are read or written outside these statements."""
    found: set[Tensor] = set()
    seen: set[int] = set()
    stack: list[Node] = [kernel]
    while stack:
        node = stack.pop()
        if id(node) in seen or any(node is p for p in parts):
            continue
        seen.add(id(node))
        if isinstance(node, Store | Read):
            found.add(node.tensor)
        elif isinstance(node, ExternCall):
            found.update((*node.inputs, *node.outputs))
        stack += children(node)
    return found


def readers(kernel: Kernel, tensor: Tensor) -> Iterator[tuple[tuple[For | If, ...], Stmt]]:
    """The statements that read `tensor`, in their indices, values or the conditions and extents
    around, with what encloses them.
    """
    for above, s in paths(kernel, tensor):
        if mentions(s, tensor) and any(isinstance(n, Read) and n.tensor is tensor for n in walk(s)):
            yield above, s
            continue
        heads = [n.cond if isinstance(n, If) else n.extent for n in above]
        if any(isinstance(n, Read) and n.tensor is tensor for n in walk(*heads)):
            yield above, s


def check_pure(
    kernel: Kernel, production: Production, step: str, after: Kernel | None = None, depth: int | None = None
) -> None:
    """Prove that what the production reads keeps its values: nothing overwrites it later in the
    same iteration of `depth` loops around.

    Args:
        after: what the step makes, to show what would be wrong with it.
    Raises:
        ScheduleError: it reads its own tensor, or something overwrites what it reads.
    """
    own = next(
        (
            n
            for s in production.stores
            for n in walk(s)
            if isinstance(n, Read) and n.tensor is production.tensor
        ),
        None,
    )
    if own is not None:
        raise ScheduleError(
            f"{step} of `{production.tensor.name}`: it is computed from itself, so it cannot be computed "
            f"anew",
            text_of(kernel, own),
            code=step,
            help="leave it where it is; fold_storage keeps the part of it that is still needed",
        )
    count = len(production.loops) if depth is None else depth
    if not _may_change(kernel, production, count):
        return
    conflict = conflict_of(lambda: poly.anti_dependence(kernel, production.stores, count))
    if conflict is not None:
        raise refused(
            kernel,
            f"{step} of `{production.tensor.name}`: what it is computed from changes before it is used",
            conflict,
            "computed later, it would use the new value",
            help="leave it where it is",
            after=after,
        )


def _may_change(kernel: Kernel, production: Production, depth: int) -> bool:
    """True if something that the production reads is written after it, or in a loop around it that
    repeats.
    """
    own = set(production.stores)
    read = {n.tensor for n in walk(*production.statements) if isinstance(n, Read)} - production.private
    after = depth < len(production.loops)
    for s in (s for top in users(kernel, production.tensor, *read) for s in kept_statements(top)):
        if s in own:
            after = True
        elif (
            after
            and isinstance(s, Store | ExternCall)
            and not read.isdisjoint(s.outputs if isinstance(s, ExternCall) else (s.tensor,))
        ):
            return True
    return False


def linear_index(e: Expr, unknown: Collection[Var]) -> tuple[tuple[tuple[Var, int], ...], Linear] | None:
    """An index as terms in the unknown variables and the rest; None where an unknown is inside
    another expression.
    """
    form = linear(e)
    terms = tuple((t, c) for t, c in form.terms if isinstance(t, Var) and t in unknown)
    rest = tuple((t, c) for t, c in form.terms if not (isinstance(t, Var) and t in unknown))
    if any(isinstance(n, Var) and n in unknown for t, _ in rest for n in walk(t)):
        return None
    return terms, Linear(rest, form.constant)


def replaced(
    kernel: Kernel, above: Sequence[For | If], old: Collection[Stmt], new: dict[int, tuple[Stmt, ...]]
) -> Kernel:
    """The kernel with statements of one body exchanged: each of `old` goes, `new` by `id` of an
    old one stands in its place.
    """
    gone = set(map(id, old))

    def body(node: Kernel | For | If) -> tuple[Stmt, ...]:
        return tuple(n for s in node.body for n in (new.get(id(s), ()) if id(s) in gone else (s,)))

    chain: list[Kernel | For | If] = [kernel, *above]
    result: Kernel | For | If = replace(chain[-1], body=body(chain[-1]))
    for outer, inner in zip(reversed(chain[:-1]), reversed(chain[1:])):
        result = replace(
            outer,
            body=tuple(
                s2 for s in outer.body for s2 in ((result,) if s is inner else (s,)) if not _empty(s2)
            ),
        )  # type: ignore[misc]
    assert isinstance(result, Kernel)
    return result


def _empty(s: Stmt | Kernel) -> bool:
    return isinstance(s, For | If) and not s.body
