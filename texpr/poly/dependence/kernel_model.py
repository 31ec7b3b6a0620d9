"""A kernel as the proofs see it: statements with domains, accesses and their place in the order."""

from __future__ import annotations

from collections import OrderedDict
from collections.abc import Callable, Iterator, Mapping, Sequence
from functools import reduce
from itertools import product, takewhile

from texpr.ir.build import compare, disjunction, integer, sub
from texpr.ir.expr import Expr, Read, Tensor, Var, index
from texpr.ir.index.uncollapse import Parted, parted
from texpr.ir.loop import Alloc, ExternCall, For, If, Kernel, Stmt, Store
from texpr.ir.shapes import evaluate_size
from texpr.ir.traverse import statements, tensors
from texpr.poly.constraints.access_sites import sites
from texpr.poly.constraints.conversion import Converter
from texpr.poly.constraints.linear_forms import (
    CASES_LIMIT,
    Conjunction,
    Constraint,
    Form,
    Key,
    Truth,
    below,
    conjoined,
)
from texpr.poly.constraints.solver import Assumptions
from texpr.support.errors import ScheduleError
from texpr.support.frozen_dataclass import frozen_by_identity, replace


@frozen_by_identity
class Access:
    """An access of a statement to a tensor: in each case, the instances and the element.

    Attributes:
        kind: `read`, `write`, or `update`, which is both.
        exact: the cases are precisely what happens, not only what may happen; so is the domain of
            the statement then.
    """

    tensor: Tensor
    kind: str
    cases: tuple[tuple[Conjunction, tuple[Form, ...]], ...]
    exact: bool


@frozen_by_identity
class Statement:
    """A store with the loops around it.

    Attributes:
        order: place in the text.
        domain: the iterations it runs for, as a disjunction; a superset of them unless `exact`.
    """

    store: Store
    loops: tuple[For, ...]
    order: int
    domain: tuple[Conjunction, ...]
    exact: bool
    accesses: tuple[Access, ...]

    def common(self, other: Statement) -> int:
        """The number of loops that the two share, from the outside in."""
        count = 0
        for a, b in zip(self.loops, other.loops):
            if a is not b:
                break
            count += 1
        return count


@frozen_by_identity
class Nest:
    """The statements of a kernel in textual order, and what is known of its sizes.

    Attributes:
        facts: what holds of the sizes in all cases.
        choices: disjunctions that hold of them: one of the pieces of each.
        private: loops each of whose iterations has a buffer of its own.
        parted: the kernel with joined loops as the two that they were: the loops of the statements
            are its loops, the stores are those of `kernel`.
    """

    kernel: Kernel
    statements: tuple[Statement, ...]
    converter: Converter
    facts: Conjunction
    choices: tuple[tuple[Conjunction, ...], ...]
    private: dict[Tensor, tuple[Var, ...]]
    parted: Parted

    def within(self, s: Statement, depth: int) -> int:
        """Number of loops of a statement that stay the same in an iteration of the `depth`
        outermost loops that the kernel has around it.
        """
        if not self.parted.loops:
            return depth
        return self.parted.within([n.var for n in s.loops], [n.var for n in self.around(s)[:depth]])

    def instance(self, s: Statement, loops: Iterator[int], sizes: Mapping[str, int]) -> dict[str, int]:
        """The values of the loops that the kernel has around a statement, by name, from the next
        values of its own loops.
        """
        known = {v: sizes[v.name] for v in self.kernel.sizes} | {n.var: next(loops) for n in s.loops}
        around = self.around(s) if self.parted.loops else s.loops
        return {n.var.name: evaluate_size(self.parted.values.get(n.var, n.var), known) for n in around}

    def around(self, s: Statement) -> tuple[For, ...]:
        """The loops that the kernel has around a statement."""
        return next(loops for store, loops, _ in placed_stores(self.kernel) if store is s.store)


def shared_by(one: Nest, other: Nest) -> Callable[[Key], bool]:
    """True if all instances of the statements of two nests have the same value of a key."""
    converters = {one.converter, other.converter}
    return (
        one.converter.is_shared
        if len(converters) == 1
        else lambda key: all(c.is_shared(key) for c in converters)
    )


_MEMO: OrderedDict[int, Nest] = OrderedDict()
_MEMO_SIZE = 256


def model(kernel: Kernel) -> Nest:
    """The statements of a kernel; remembered for the last kernels asked about."""
    found = _MEMO.get(id(kernel))
    if found is None:
        found = _MEMO[id(kernel)] = _build_model(kernel)
        while len(_MEMO) > _MEMO_SIZE:
            _MEMO.popitem(last=False)
    return found


_PARTS: OrderedDict[tuple[int, ...], Kernel] = OrderedDict()


def subkernel(kernel: Kernel, statements: Sequence[Stmt]) -> Kernel:
    """The kernel with only some of its top-level statements; the same object for the same
    statements, so that its model is remembered.

    Most steps change one nest of many, and most questions are about one.
    """
    if len(statements) == len(kernel.body):
        return kernel
    key = (id(kernel.inputs), id(kernel.sizes), id(kernel.requires), *map(id, statements))
    if key not in _PARTS:
        _PARTS[key] = replace(kernel, body=tuple(statements))
        while len(_PARTS) > _MEMO_SIZE:
            _PARTS.popitem(last=False)
    return _PARTS[key]


def contains_loop(s: Stmt, var: Var) -> bool:
    """True if a statement contains the loop of a variable."""
    return any(isinstance(n, For) and n.var is var for n in statements(s))


def without_equal_ends(before: Kernel, after: Kernel) -> tuple[Kernel, Kernel]:
    """Both kernels without the equal top-level statements at their beginning and end: nothing
    moves past those.
    """
    old, new = before.body, after.body
    first = _equal_prefix_length(old, new)
    last = _equal_prefix_length(old[first:][::-1], new[first:][::-1])
    return subkernel(before, old[first : len(old) - last]), subkernel(after, new[first : len(new) - last])


def _equal_prefix_length(old: Sequence[Stmt], new: Sequence[Stmt]) -> int:
    """The number of equal statements at the beginning of two sequences."""
    return sum(1 for _ in takewhile(lambda pair: pair[0] is pair[1], zip(old, new)))


def _build_model(kernel: Kernel) -> Nest:
    uncollapsed = parted(kernel)
    nodes = list(
        statements(
            kernel,
            uncollapsed.kernel,
            *(s for call in kernel.body if isinstance(call, ExternCall) for s in call.effect),
        )
    )
    written = {s.tensor for s in nodes if isinstance(s, Store)}
    shared = _shared(kernel, {n.var for n in nodes if isinstance(n, For)})
    converter = shared.converter
    found = tuple(
        shared.statement(store, loops, conditions, order, written)
        for order, (store, loops, conditions) in enumerate(placed_stores(uncollapsed.kernel))
    )
    if uncollapsed.origin:
        found = tuple(replace(s, store=uncollapsed.origin.get(s.store, s.store)) for s in found)
    seen = {s.store for s in found}
    assert len(seen) == len(found), "a store stands in two places"
    known = (
        *kernel.requires,
        *(some for tensor in kernel.inputs if (some := _assume_nonempty_range(tensor)) is not None),
    )
    choices = tuple(pieces for c in known if len(pieces := converter.truth(c).true) > 1)
    return Nest(
        kernel,
        found,
        converter,
        facts_of(converter, known),
        choices,
        _private(uncollapsed.kernel),
        uncollapsed,
    )


def _assume_nonempty_range(tensor: Tensor) -> Expr | None:
    """Condition that an input with a value range may have elements at all: it is empty, or its
    range is not. A call with elements outside their range is refused.
    """
    if tensor.value_range is None or integer(sub(*reversed(tensor.value_range))) is not None:
        return None
    low, high = tensor.value_range
    return reduce(disjunction, (compare("==", n, index(0)) for n in tensor.shape), compare("<", low, high))


class _Shared:
    """Facts about all kernels over the same sizes and inputs: a step leaves most statements as
    they are.
    """

    def __init__(self, stable: Sequence[Tensor]) -> None:
        self.converter = Converter((), stable)
        self._statements: dict[tuple, tuple[Statement, tuple[Expr, ...], set[Tensor], set[Tensor]]] = {}

    def statement(
        self,
        store: Store,
        loops: tuple[For, ...],
        conditions: tuple[Expr, ...],
        order: int,
        written: set[Tensor],
    ) -> Statement:
        """The statement of a store; for the same expressions, loops and conditions it is what it
        was, wherever in the text it stands now and in whatever order the loops stand.
        """
        key = (
            store.tensor,
            store.update,
            id(store.value),
            *map(id, store.indices),
            frozenset((n.var, id(n.extent)) for n in loops),
            *map(id, conditions),
        )
        known = self._statements.get(key)
        if known is None or known[2] & written != known[3]:
            reads = set(tensors(store.value, *store.indices, *conditions, *(n.extent for n in loops)))
            found = _statement(self.converter, store, loops, conditions, order, written)
            self._statements[key] = found, conditions, reads, reads & written
            return found
        return replace(known[0], store=store, loops=loops, order=order)


_SHARED: OrderedDict[tuple[tuple[Var, ...], tuple[Tensor, ...]], _Shared] = OrderedDict()
_MOST_SHARED = 16
_MOST_EXPRESSIONS = 50_000


def _shared(kernel: Kernel, loops: set[Var]) -> _Shared:
    """The record of all kernels over the same sizes and inputs, which nothing writes: no
    variable is of two kernels.
    """
    key = kernel.sizes, kernel.inputs
    found = _SHARED.get(key)
    if found is None or found.converter.expressions > _MOST_EXPRESSIONS:
        found = _SHARED[key] = _Shared(kernel.inputs)
        while len(_SHARED) > _MOST_SHARED:
            _SHARED.popitem(last=False)
    found.converter.bound |= loops
    return found


def facts_of(converter: Converter, conditions: tuple[Expr, ...]) -> Conjunction:
    """The conditions that are conjunctions of affine ones; leaving a fact out is safe. Of sizes
    that are refused, all holds.
    """
    found = [converter.truth(c).true for c in conditions]
    if not all(found):
        return (Constraint(Form((), -1)),)
    return tuple(constraint for pieces in found if len(pieces) == 1 for constraint in pieces[0])


def placed_stores(kernel: Kernel) -> list[tuple[Store, tuple[For, ...], tuple[Expr, ...]]]:
    """Stores in textual order with their loops and conditions."""
    found = []
    stack: list[tuple[Stmt, tuple[For, ...], tuple[Expr, ...]]] = [(s, (), ()) for s in reversed(kernel.body)]
    while stack:
        node, loops, conditions = stack.pop()
        match node:
            case For():
                _require_unmodified(node, node.extent, "a range")
                stack += [(s, (*loops, node), conditions) for s in reversed(node.body)]
            case If():
                _require_unmodified(node, node.cond, "a condition")
                stack += [(s, loops, (*conditions, node.cond)) for s in reversed(node.body)]
            case ExternCall():
                stack += [(s, loops, conditions) for s in reversed(node.effect)]
            case Store():
                found.append((node, loops, conditions))
    return found


def _private(kernel: Kernel) -> dict[Tensor, tuple[Var, ...]]:
    """The loops around each `alloc`."""
    found: dict[Tensor, tuple[Var, ...]] = {}
    stack: list[tuple[Stmt, tuple[Var, ...]]] = [(s, ()) for s in kernel.body]
    while stack:
        node, loops = stack.pop()
        match node:
            case For():
                stack += [(s, (*loops, node.var)) for s in node.body]
            case If():
                stack += [(s, loops) for s in node.body]
            case Alloc(tensor):
                found[tensor] = loops
    return found


def _require_unmodified(node: For | If, asked: Expr, what: str) -> None:
    """Refuse a bound or condition that reads a tensor which the statements under it write. It is
    evaluated once, but modelled as read by each statement below.
    """
    read = tensors(asked)
    if read and any(isinstance(s, Store) and s.tensor in read for s in statements(node)):
        raise ScheduleError(
            f"{what} reads {next(iter(read)).name}, which the statements under it write",
            code="order",
            help=f"compute {what} into a tensor of its own",
        )


def _statement(
    converter: Converter,
    store: Store,
    loops: tuple[For, ...],
    conditions: tuple[Expr, ...],
    order: int,
    written: set[Tensor],
) -> Statement:
    truths = [*[within_extent(converter, n) for n in loops], *map(converter.truth, conditions)]
    plain = [t for t in truths if len(t.true) == 1]
    domain = Truth((tuple([c for t in plain for c in t.true[0]]),), (), all([t.exact for t in plain]))
    for truth in truths:
        domain = domain if len(truth.true) == 1 else _conjoin(converter, domain, truth)
    accesses = [
        _access(converter, store.tensor, "update" if store.update else "write", store.indices, domain)
    ]
    for site in sites(
        (*store.indices, store.value, *conditions, *(n.extent for n in loops)), converter, domain
    ):
        if isinstance(site.node, Read) and site.node.tensor in written:
            accesses.append(_access(converter, site.node.tensor, "read", site.node.indices, site.condition))
    return Statement(store, loops, order, domain.true, domain.exact, _distinct(accesses))


def _conjoin(converter: Converter, domain: Truth, truth: Truth) -> Truth:
    """The conjunction of both conditions, without impossible cases."""
    cases = [(p, Assumptions(converter, p)) for p in domain.true]
    found = tuple(dict.fromkeys(p + q for p, given in cases for q in truth.true if given.allows(q)))
    return (
        Truth(found, (), domain.exact and truth.exact)
        if len(found) <= CASES_LIMIT
        else conjoined(domain, truth)
    )


_START = index(0)


def within_extent(converter: Converter, loop: For) -> Truth:
    """The loop's variable counts from 0 to below its extent."""
    return converter.within(loop.var, _START, loop.extent)


def _access(
    converter: Converter, tensor: Tensor, kind: str, indices: tuple[Expr, ...], condition: Truth
) -> Access:
    given = [Assumptions(converter, p) for p in condition.true]
    cases, exact = converter.tuples(indices, lambda case: any(g.allows(case) for g in given))
    sizes, _ = converter.tuples(tensor.shape)
    bounded = []
    for (p, at), (q, shape) in product(cases, sizes):
        inside = tuple(c for i, n in zip(at, shape) if i.opaque for c in (Constraint(i), below(i, n)))
        bounded.append((p + q + inside if inside else p, at))
    alone = len(given) == len(bounded) == 1
    combined = [
        (c + p, at) for c, g in zip(condition.true, given) for p, at in bounded if alone or g.allows(p)
    ]
    return Access(tensor, kind, tuple(combined), exact and condition.exact)


def _distinct(accesses: list[Access]) -> tuple[Access, ...]:
    return tuple({(a.tensor, a.kind, a.cases): a for a in accesses}.values())
