"""Write-back buffers: copy-in, update, copy-out is the same as an update in place.

    let T;  T[d] = A[f(d)];  ... T[d] += v ...;  A[f(d)] = T[d]   ->   ... A[f(d)] += v ...
    let T;  T[d] = v;  A[f(d)] = T[d]   ->   A[f(d)] = v
    let T;  T[d] = A[f(d)];  ... T[d] += v ...   ->   ... A[f(d)] += v ...

A is the *owner* of the elements. The forms are equivalent if
* nothing else uses the owner in the lifetime of the buffer,
* different elements of the buffer are different elements of the owner,
* an element is copied in before it is changed, if anything is copied in,
* it is copied out after the change, or nothing uses this element of the owner again.

The second form is only looked for where the owner is updated elsewhere, and the copy-out is no
instance of an equation: reads are traced through other copies anyway (`value_tracing`).
"""

from __future__ import annotations

from collections.abc import Sequence
from itertools import product, takewhile

import islpy as isl

from texpr.ir.build import conjunction
from texpr.ir.expr import Expr, Node, Read, Tensor, Var
from texpr.ir.loop import For, If, Kernel, Store
from texpr.ir.traverse import rewrite, variables, walk
from texpr.poly.certificate.engine.buffer_accesses import access, read_domains
from texpr.poly.certificate.engine.exposed_uses import uncovered
from texpr.poly.certificate.engine.instance_pairs import Access, InstancePair, dependence, same_element
from texpr.poly.certificate.engine.isl_frame import Parameters, structurally_equal
from texpr.poly.certificate.engine.program_semantics import index_in_bounds
from texpr.poly.certificate.engine.reindexing import Invariant, recombine_quotients, reindex
from texpr.poly.certificate.engine.statement_extraction import Buffer, Nest, Statement, as_written, reads
from texpr.support.frozen_dataclass import frozen_by_identity, replace

Uses = dict[Tensor, list[tuple[Statement, Read]]]


@frozen_by_identity
class WriteBack:
    """A buffer that stands for elements of another one in each iteration of the loops around all
    its uses.

    Attributes:
        buffer: with these loops as those of its allocation, wherever it is allocated: it has to be
            filled there, then.
        owner: the tensor to which the elements belong.
        index_vars: variables for the indices of the buffer.
        owner_indices: indices of the owner, over `index_vars`.
        copy_ins: the definitions that copy elements of the owner.
        computed: the other definitions.
        readers: the statements that read the buffer.
        copy_outs: those of the readers that copy elements back.
    """

    buffer: Buffer
    owner: Tensor
    index_vars: tuple[Var, ...]
    owner_indices: tuple[Expr, ...]
    copy_ins: Sequence[Statement]
    computed: Sequence[Statement]
    readers: Sequence[Statement]
    copy_outs: Sequence[Statement]

    @property
    def copies(self) -> list[Statement]:
        """The statements that are removed once elements are changed in the owner."""
        return [*self.copy_ins, *self.copy_outs]

    @property
    def changes(self) -> list[Statement]:
        """The statements that change the owner then."""
        return [*self.computed, *self.buffer.updates]


def remove_write_back(
    kernel: Kernel, parameters: Parameters, facts: isl.Set
) -> tuple[Kernel, dict[Store, Store]]:
    """Replace write-back buffers by the elements that they stand for; returned with the kernel:
    which store each of its stores was.
    """
    origin: dict[Store, Store] = {}
    while (write_back := _find(kernel, parameters, facts)) is not None:
        removed = {id(s.node) for s in write_back.copies}
        before = [n for n in walk(kernel) if isinstance(n, Store) and id(n) not in removed]
        kernel = _remove_copies(kernel, write_back, removed)
        after = [n for n in walk(kernel) if isinstance(n, Store)]
        origin = {new: origin.get(old, old) for new, old in zip(after, before)}
    return kernel, origin


def _find(kernel: Kernel, parameters: Parameters, facts: isl.Set) -> WriteBack | None:
    nest, found = as_written(kernel, parameters)
    uses: Uses = {}
    for s, read in found:
        uses.setdefault(read.tensor, []).append((s, read))
    for buffer in nest.buffers.values():
        if buffer.tensor in kernel.outputs:
            continue  # Callers see its elements.
        for owner in _candidates(nest, uses, buffer):
            write_back = _match(nest, uses, buffer, owner)
            if write_back is not None and _is_valid(nest, uses, write_back, facts):
                return write_back
    return None


def _candidates(nest: Nest, uses: Uses, buffer: Buffer) -> list[Tensor]:
    """The tensors whose elements a buffer may stand for: it is copied to them, or updated after
    it was copied from them.
    """
    passed = {t for call, _ in nest.calls for t in (*call.inputs, *call.outputs)}
    copied = dict.fromkeys(
        s.store.tensor for s, _ in uses.get(buffer.tensor, ()) if _copies(s, buffer.tensor)
    )
    if buffer.updates:
        copied |= dict.fromkeys(
            c.tensor
            for d in buffer.definitions
            if (c := _copied_element(d)) is not None and _is_private(nest, c.tensor)
        )
    return (
        [] if buffer.tensor in passed else [t for t in copied if t not in passed and t is not buffer.tensor]
    )


def _match(nest: Nest, uses: Uses, buffer_as_written: Buffer, owner: Tensor) -> WriteBack | None:
    """The write-back that a buffer looks like; None if it looks like none."""
    copy_ins = [d for d in buffer_as_written.definitions if _copies(d, owner)]
    readers = [s for s, _ in uses.get(buffer_as_written.tensor, ())]
    copy_outs = [s for s in readers if s.store.tensor is owner and _copies(s, buffer_as_written.tensor)]
    if not copy_ins and (not nest.buffers[owner].updates or any(s.store.equation >= 0 for s in copy_outs)):
        return None
    around = [s.loops for s in (*buffer_as_written.definitions, *buffer_as_written.updates, *readers)]
    common = takewhile(lambda loops: all(n.var is loops[0].var for n in loops), zip(*around))
    buffer = replace(buffer_as_written, allocation_loops=tuple(same[0] for same in common))
    index_vars = tuple(Var(f"c{k}") for k in range(buffer_as_written.tensor.rank))
    invariant: Invariant = buffer.private | set(nest.parameters.variables) | _unmodified_tensors(nest, buffer)
    pairs = [(_source(d).indices, d.indices) for d in copy_ins] + [
        (s.indices, _source(s).indices) for s in copy_outs
    ]
    owner_indices = [
        tuple(p for i in indices if (p := reindex(i, at, invariant, index_vars)) is not None)
        for indices, at in pairs
    ]
    if not all(
        len(p) == owner.rank and all(map(structurally_equal, p, owner_indices[0])) for p in owner_indices
    ):
        return None
    computed = [d for d in buffer_as_written.definitions if d not in copy_ins]
    return WriteBack(buffer, owner, index_vars, owner_indices[0], copy_ins, computed, readers, copy_outs)


def _copies(s: Statement, tensor: Tensor) -> bool:
    """True if a store copies elements of a tensor."""
    found = _copied_element(s)
    return found is not None and found.tensor is tensor


def _copied_element(s: Statement) -> Read | None:
    """The element that a store copies unchanged; None if it computes."""
    return s.store.value if s.store.update is None and isinstance(s.store.value, Read) else None


def _source(copy: Statement) -> Read:
    found = _copied_element(copy)
    assert found is not None, "a copy"
    return found


def _is_valid(nest: Nest, uses: Uses, write_back: WriteBack, facts: isl.Set) -> bool:
    """True if the buffer is proven to stand for elements of the owner."""
    buffer, owner, depth = (
        write_back.buffer,
        nest.buffers[write_back.owner],
        len(write_back.buffer.allocation_loops),
    )
    copies = {id(s.node) for s in write_back.copies}
    others = [
        s
        for s in (*owner.definitions, *owner.updates, *(s for s, _ in uses.get(write_back.owner, ())))
        if id(s.node) not in copies
    ]
    around = [n.var for n in buffer.allocation_loops]
    if any([n.var for n in s.loops[:depth]] == around for s in others) or _depends_on_data(nest, write_back):
        return False
    fetched = [access(buffer, d, d.indices, writes=True) for d in write_back.copy_ins]
    owned = [access(buffer, d, _source(d).indices, writes=True) for d in write_back.copy_ins] or [
        access(buffer, r, r.indices, writes=True) for r in write_back.copy_outs
    ]
    # Whether it is read there does not depend on the data that says where the value goes.
    used = [
        access(buffer, replace(s, indices=(), _domain=None), read.indices, when=when)
        for s, read in uses.get(buffer.tensor, ())
        for when in read_domains(s, read)
    ]
    returned = [u for u in used if id(u.statement.node) in copies]
    changes = [access(buffer, c, c.indices) for c in write_back.changes]
    # So an element is fetched before any use, then changed, then put back: reads may stand anywhere
    # between.
    injective = all(dependence(*pair, facts) is None for pair in product(owned, owned))
    filled = (
        all(uncovered(u, fetched, facts).is_empty() for u in used)
        if fetched
        else _is_defined_before_use(write_back, used, facts)
    )
    unmodified = all(dependence(u, f, facts) is None for u in changes for f in fetched)
    final = all(dependence(r, u, facts) is None for r in returned for u in changes)
    in_bounds = all(_all_in_bounds(s, facts) for s in write_back.copies)
    released = (
        all(_is_copied_out(u, returned, facts) for u in changes)
        if returned
        else _is_dead(nest, uses, write_back, facts)
    )
    return in_bounds and injective and filled and unmodified and final and released


def _is_defined_before_use(write_back: WriteBack, used: Sequence[Access], facts: isl.Set) -> bool:
    """True if every element that is read was computed before."""
    sources = [access(write_back.buffer, c, c.indices, writes=True) for c in write_back.computed]
    return not any(c.data() for c in write_back.computed) and all(
        uncovered(u, sources, facts).is_empty() for u in used
    )


def _depends_on_data(nest: Nest, write_back: WriteBack) -> bool:
    """True if data decides which elements are copied, except data that decides it for all uses
    of the buffer at once.
    """
    places = [at for d in write_back.copy_ins for at in (d.indices, _source(d).indices)]
    places += [at for s in write_back.copy_outs for at in (s.indices, _source(s).indices)]
    if any(reads(i) and not _is_invariant(nest, write_back.buffer, i) for at in places for i in at):
        return True
    uses = [_conditions_of(s) for s in (*write_back.changes, *write_back.readers)]
    return any(
        reads(e) and not all(_is_implied_by(nest, write_back.buffer, e, conditions) for conditions in uses)
        for s in write_back.copies
        for e in _conditions_of(s)
    )


def _is_invariant(nest: Nest, buffer: Buffer, e: Expr) -> bool:
    """True if data in an expression is the same in the whole lifetime of a buffer: loops around
    give the elements, which nothing writes.
    """
    around = buffer.private | nest.parameters.position.keys()
    return all(
        n.tensor in _unmodified_tensors(nest, buffer) and variables(*n.indices) <= around
        for n in walk(e)
        if isinstance(n, Read)
    )


def _unmodified_tensors(nest: Nest, buffer: Buffer) -> set[Tensor]:
    """The tensors that are not written in the lifetime of a buffer."""
    others = (b for b in nest.buffers.values() if buffer.allocation_loops) if not nest.calls else ()
    outer = {n.var for n in buffer.allocation_loops[:1]}
    return nest.parameters.inputs | {
        b.tensor
        for b in others
        if not any(n.var in outer for s in (*b.definitions, *b.updates) for n in s.loops)
    }


def _is_implied_by(nest: Nest, buffer: Buffer, e: Expr, asked: Sequence[Expr]) -> bool:
    """True if a condition is one of `asked`, or equivalent to one of them."""
    return any(
        e is other or structurally_equal(e, other) and _is_invariant(nest, buffer, e) for other in asked
    )


def _conditions_of(s: Statement) -> tuple[Expr, ...]:
    return (*s.conditions, *(n.extent for n in s.loops))


def _all_in_bounds(s: Statement, facts: isl.Set) -> bool:
    """True if all elements that a copy uses are proven to exist: nothing checks them once the
    copy is removed.
    """
    parts = [
        (s.indices, s.store.tensor),
        *((n.indices, n.tensor) for n in walk(*s.indices, s.store.value) if isinstance(n, Read)),
    ]
    inside = s.frame.abstract(
        conjunction(*(index_in_bounds(indices, tensor.shape) for indices, tensor in parts))
    )
    return (s.domain(facts) & s.frame.holds(s.frame.bounds())).is_subset(s.frame.holds(inside))


def _is_copied_out(update: Access, returned: Sequence[Access], facts: isl.Set) -> bool:
    """True if every element that is updated is copied out: afterwards, since no update comes
    after a copy-out.
    """
    remaining = update.domain(facts)
    for r in returned:
        pair = InstancePair(update, r, 0, facts)
        remaining = remaining - pair.project_to_first(pair.also(same_element(pair, update, r)))
    return remaining.is_empty()


def _is_dead(nest: Nest, uses: Uses, write_back: WriteBack, facts: isl.Set) -> bool:
    """True if nothing uses an element of the owner once it is changed, copy-ins in another
    lifetime of the buffer included.
    """
    owner = nest.buffers[write_back.owner]
    if not _is_private(nest, write_back.owner):
        return False
    changes = [access(owner, c, _owner_indices(write_back, c.indices)) for c in write_back.changes]
    wanted = [access(owner, s, read.indices) for s, read in uses[write_back.owner]]
    wanted += [access(owner, u, u.indices) for u in owner.updates]
    return all(dependence(c, w, facts) is None for c, w in product(changes, wanted))


def _is_private(nest: Nest, tensor: Tensor) -> bool:
    """True if a tensor is neither an input nor an output."""
    return tensor not in (*nest.kernel.inputs, *nest.kernel.outputs)


def _owner_indices(write_back: WriteBack, indices: tuple[Expr, ...]) -> tuple[Expr, ...]:
    """The indices in the owner of an element of the buffer."""
    values = dict(zip(write_back.index_vars, indices))
    return tuple(
        recombine_quotients(rewrite(p, lambda n: values.get(n) if isinstance(n, Var) else None))
        for p in write_back.owner_indices
    )  # type: ignore[arg-type]


def _remove_copies(kernel: Kernel, write_back: WriteBack, removed: set[int]) -> Kernel:
    def remove(node: Node) -> Node | None:
        return (
            replace(node, body=tuple(s for s in node.body if id(s) not in removed))
            if isinstance(node, For | If | Kernel)
            else None
        )

    def redirect(node: Node) -> Node | None:
        match node:
            case Read(tensor, indices) | Store(tensor, indices) if tensor is write_back.buffer.tensor:
                return replace(node, tensor=write_back.owner, indices=_owner_indices(write_back, indices))
        return None

    return rewrite(rewrite(kernel, remove), redirect)
