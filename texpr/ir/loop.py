"""Loop IR: a tree of loops, conditions and stores over the tensors of one kernel.

Loops count from 0; an index is an expression over loop variables. A read is plain (no guard), a sum
is a store with `update`. The value a reduction starts from is a store of its own, of the role
`START`, in the nest of the updates it belongs to.
"""

from __future__ import annotations

from typing import ClassVar, NamedTuple, TypeGuard

from texpr.ir.build import TRUE
from texpr.ir.expr import Const, Expr, Node, Read, Select, Tensor, Var
from texpr.ir.loop_kind import SERIAL, Block, BulkCopy, Cluster, InstructionNest, LoopKind, Thread
from texpr.ir.store_kind import PLAIN, VALUE, StoreMode, StoreRole
from texpr.ir.tensor import Program
from texpr.support.frozen_dataclass import node
from texpr.support.source import Span

ATOMIC_UPDATES = ("add", "max", "min")
"""Updates that may be atomic."""


class Stmt(Node):
    """One statement. What is asked of many of them again and again is remembered in them, as in
    all nodes.
    """

    __slots__ = ("_parted", "_statements")


@node
class For(Stmt):
    """`for var in 0..extent`. The variable is the loop's handle and survives rebuilds.

    Attributes:
        kind: how its iterations run.
        tensor: name of the tensor whose production this loop belongs to; qualifies the loop's name
            (`Y.i`).
        notes: what `annotate` put there: free marks without meaning.
    """

    parts: ClassVar = ("extent", "body")
    var: Var
    extent: Expr
    body: tuple[Stmt, ...]
    kind: LoopKind = SERIAL
    tensor: str = ""
    notes: tuple[tuple[str, str | int | float | bool], ...] = ()


@node
class If(Stmt):
    """`if cond: body`."""

    parts: ClassVar = ("cond", "body")
    cond: Expr
    body: tuple[Stmt, ...]


@node
class Store(Stmt):
    """`tensor[indices] = value`, or `tensor[indices] op= value` where `update` is one of `add mul
    max min`.

    Attributes:
        role: the value of an equation, or the start of a reduction or of a part of a fold; of such
            a part, `at` says the element that it is added to.
        reassoc: the updates may be accumulated in any order (always so for max, min and integers).
        equation: position in the program of the equation this store computes; -1 for a copy.
        mode: how memory is written.
        at: the instance of the equation: its axes, then in an update the binders of its reduction,
            as expressions of the loops here. A hint for the certificate, which does not believe it;
            not part of the structure that `equal` compares, nor of listings.
        span: of the equation or the reduction in the operator's text.
    """

    parts: ClassVar = ("indices", "at", "value")
    tensor: Tensor
    indices: tuple[Expr, ...]
    value: Expr
    update: str | None = None
    role: StoreRole = VALUE
    reassoc: bool = False
    equation: int = 0
    at: tuple[Expr, ...] = ()
    mode: StoreMode = PLAIN
    span: Span | None = None

    @property
    def is_start(self) -> bool:
        """True if this is a start value, of a reduction or of a part of a fold."""
        return self.role is not VALUE


@node
class Alloc(Stmt):
    """A buffer that lives until the end of the body this statement stands in."""

    tensor: Tensor


@node
class Prefetch(Stmt):
    """A hint that the element will be read soon. It has no effect on values, and the element
    need not exist.
    """

    parts: ClassVar = ("indices",)
    tensor: Tensor
    indices: tuple[Expr, ...]


@node
class Poll(Stmt):
    """Leave the kernel if the user interrupted it."""


@node
class Barrier(Stmt):
    """All threads of a block meet here; with `cluster`, those of all blocks of a cluster."""

    cluster: bool = False


@node
class Commit(Stmt):
    """The asynchronous copies that this thread began since its last `Commit` are a group.

    Where one thread begins bulk copies for all, a group is a phase of one of `slots` counters in
    shared memory.

    Attributes:
        slot: of which counter; None where every thread has groups of its own.
        brings: bytes that the group's copies bring: the phase ends when so many have arrived.
    """

    parts: ClassVar = ("slot", "brings")
    slot: Expr | None = None
    brings: Expr | None = None
    slots: int = 0


@node
class Wait(Stmt):
    """This thread goes on once all of its groups but the last `pending` have arrived.

    Attributes:
        slot, phase: of bulk copies: the counter that the last of those groups has, and 0 or 1, the
        parity of its phase there.
    """

    parts: ClassVar = ("slot", "phase")
    pending: int = 0
    slot: Expr | None = None
    phase: Expr | None = None
    slots: int = 0


@node
class CommitProducts(Stmt):
    """The asynchronous products that this thread began since its last `CommitProducts` are a
    group.
    """


@node
class WaitProducts(Stmt):
    """This thread goes on once all of its groups of products but the last `pending` are done."""

    pending: int = 0


@node
class ExternCall(Stmt):
    """`outputs = extern name(inputs)`: code that is not written here reads all of the inputs and
    writes all of the outputs.

    It stands between the nests of a kernel, not in a loop.

    Attributes:
        constants: by name, in the order of the operator's declaration.
        effect: loops that read and write as much: what proofs see of the call. No part of the
            kernel that steps and passes see.
        equation: position in the program of the call; -1 for none.
        ranks: of the arrays, where a pack of the declaration takes several dimensions of the caller:
            code for these is other code.
    """

    name: str
    inputs: tuple[Tensor, ...]
    outputs: tuple[Tensor, ...]
    constants: tuple[tuple[str, int | float | bool], ...] = ()
    effect: tuple[For | Store, ...] = ()
    equation: int = 0
    ranks: tuple[int, ...] = ()


@node
class Kernel(Node):
    """The code of one call: an ordered list of loop nests.

    Attributes:
        temporaries: buffers that live during the call and have no `Alloc`.
        fma: what may be rounded once, as fused multiply-adds: "" nothing, "sums" a product that is
            added to a sum of several terms, "all" every `a * b + c`.
        program: the equations that it was lowered from, if that is known.
        overwrites: positions of inputs and of outputs that callers may place in the memory of these
            inputs.
        scratch: temporaries, and buffers of loops, for which callers give memory, from a whole line
            on.
        prepacked: temporaries that callers keep from call to call, and behind them a byte, 0 until
            they are computed.
    """

    parts: ClassVar = ("body",)
    name: str
    inputs: tuple[Tensor, ...]
    outputs: tuple[Tensor, ...]
    temporaries: tuple[Tensor, ...]
    sizes: tuple[Var, ...]
    body: tuple[Stmt, ...]
    fma: str = ""
    requires: tuple[Expr, ...] = ()
    program: Program | None = None
    overwrites: tuple[tuple[int, int], ...] = ()
    scratch: tuple[Tensor, ...] = ()
    prepacked: tuple[Tensor, ...] = ()


def is_bulk(s: Node) -> TypeGuard[For]:
    """A nest that copies a box as a whole."""
    return isinstance(s, For) and isinstance(s.kind, BulkCopy)


def shared_along(s: Node) -> str:
    """The axes of a cluster along which blocks order a copy together; empty if they do not."""
    return s.kind.multicast if isinstance(s, For) and isinstance(s.kind, BulkCopy) else ""


def is_bound(s: Node) -> TypeGuard[For]:
    """A loop over the blocks or threads of a GPU."""
    return isinstance(s, For) and isinstance(s.kind, Block | Cluster | Thread)


def is_block(s: Node) -> TypeGuard[For]:
    """A loop over the blocks of a grid, or over those of a cluster."""
    return isinstance(s, For) and isinstance(s.kind, Block | Cluster)


def is_thread(s: Node) -> TypeGuard[For]:
    """A loop over the threads of a block."""
    return isinstance(s, For) and isinstance(s.kind, Thread)


def axis_of(s: For) -> str:
    """`x`, `y` or `z` of a loop over blocks or threads."""
    assert isinstance(s.kind, Block | Cluster | Thread), f"{s.var.name} is not bound"
    return s.kind.axis


def instruction_of(s: Node) -> str:
    """The name of the instruction that runs a nest; empty if none does."""
    return s.kind.name if isinstance(s, For) and isinstance(s.kind, InstructionNest) else ""


class Copy(NamedTuple):
    """An element that is stored as it is where `within` holds, and 0 elsewhere."""

    source: Read
    within: Expr


def copy_of(s: Store) -> Copy | None:
    """The copy that a store makes, as asynchronous ones do; None if it computes something."""
    match s.value:
        case _ if s.update is not None:
            return None
        case Read() as read:
            return Copy(read, TRUE)
        case Select(within, Read() as read, Const(0) as zero) if str(zero.value) in (
            "0",
            "0.0",
        ):  # not -0.0, nor False
            return Copy(read, within)
    return None
