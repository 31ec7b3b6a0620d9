"""`fold_storage`: a dimension of a temporary becomes a circular buffer."""

from __future__ import annotations

from texpr import poly
from texpr.ir.build import integer, mod
from texpr.ir.expr import Expr, Node, Read, Tensor, Var, index, plain
from texpr.ir.loop import Kernel, Prefetch, Store
from texpr.ir.traverse import rewrite, variables, walk
from texpr.poly import Overwrite
from texpr.schedule.legality.independence import check_changed
from texpr.schedule.legality.refusal import iteration
from texpr.schedule.legality.replay import rerun
from texpr.schedule.steps.placement.producer import find_tensor
from texpr.schedule.steps.registry import step
from texpr.schedule.structure.loops import all_loops, find_loops, qualified, span_of, stores, text_of
from texpr.support.errors import ScheduleError
from texpr.support.frozen_dataclass import replace

DEEPEST = 256
"""The largest depth that is looked for."""


@step("fold", order_of_sums="kept")
def fold_storage(kernel: Kernel, tensor: str, dim: int | str | Var, size: int | None = None) -> Kernel:
    """Keep only `size` elements of `tensor` along a dimension, those that are still needed.
    fold_storage, modulo allocation elsewhere.

    T[i, j]   ->   T[i % size, j],  T: f32[M, N] -> f32[size, N]

    Legal if no element is written over while its value is still to be read. Without a size the
    smallest legal one is taken.

    Args:
        dim: the number of the dimension, or a loop that it is indexed by.
        size: how many elements stay; at least 1.
    Raises:
        ScheduleError: it is no temporary, there is no such dimension, or the size is too small.
    Source: Lefebvre and Feautrier, Automatic Storage Management for Parallel Programs, Parallel
    Computing 1998.
    Example:
        op = tx.op("op lag(X: f32[N]) -> Y: f32[N] { h[i] = 2 * X[i]  Y[i] = h[i] + h[i - 1 | 0] }")
        s = tx.schedule(op).compute_at("h", "Y.i")
        s.fold_storage("h", 0)
    Refused:
        tx.schedule(op).compute_at("h", "Y.i").fold_storage("h", 0, 1)
    Elsewhere: Halide `fold_storage`; TVM `rolling_buffer`; Exo `resize_dim` (with `fold=True`);
    MLIR none.
    """
    found = find_tensor(kernel, tensor, "fold_storage")
    if found not in kernel.temporaries:
        written = next((s for s in stores(kernel) if s.tensor is found), None)
        at = None if written is None else text_of(kernel, written)
        raise ScheduleError(
            f"`{found.name}` is no temporary, so all of it is needed", at, code="fold_storage"
        )
    d = _dimension(kernel, found, dim)
    if size is not None and (not isinstance(size, int) or isinstance(size, bool) or size < 1):
        raise ScheduleError(
            f"fold_storage keeps a number of elements of at least 1, not {size!r}", code="fold_storage"
        )
    storage = poly.Storage(kernel, found, d)
    most = min(integer(found.shape[d]) or DEEPEST + 1, DEEPEST + 1) - 1
    depth = storage.depth(most) if size is None else size
    if depth is None:
        raise _refused(
            kernel,
            f"no depth up to {most} is enough for `{found.name}` along dimension {d}",
            storage.overwrite(most) if most else None,
            "compute it where it is used, or fold another dimension",
            (d, most),
        )
    overwrite = None if size is None else storage.overwrite(depth)
    if overwrite is not None:
        least = storage.depth(DEEPEST)
        raise _refused(
            kernel,
            f'fold_storage("{found.name}", {d}, {depth}) keeps too few elements',
            overwrite,
            f"{least} are enough" if least is not None else "fold another dimension, or none",
            (d, depth),
        )
    after = folded_storage(kernel, found, d, depth)
    check_changed(after, set(stores(after)) - set(stores(kernel)), "fold_storage")
    return after


def folded_storage(kernel: Kernel, tensor: Tensor, d: int, depth: int) -> Kernel:
    """The kernel with index `d` of the tensor taken modulo `depth`."""
    small = replace(tensor, dims=plain(*(index(depth) if k == d else n for k, n in enumerate(tensor.shape))))

    def moved(indices: tuple[Expr, ...]) -> tuple[Expr, ...]:
        return tuple(mod(i, index(depth)) if k == d else i for k, i in enumerate(indices))

    def rule(node: Node) -> Node | None:
        match node:
            case Read(t, indices) | Store(t, indices) | Prefetch(t, indices) if t is tensor:
                return replace(node, tensor=small, indices=moved(indices))
        return None

    after = rewrite(kernel, rule, kinds=(Read, Store, Prefetch))
    return replace(after, temporaries=tuple(small if t is tensor else t for t in kernel.temporaries))


def _dimension(kernel: Kernel, tensor: Tensor, dim: int | str | Var) -> int:
    """The dimension meant by its number or by a loop."""
    if isinstance(dim, int) and not isinstance(dim, bool):
        if not 0 <= dim < tensor.rank:
            raise ScheduleError(
                f"`{tensor.name}` has {tensor.rank} dimensions, and {dim} is none of them",
                code="fold_storage",
                help="dimensions count from 0",
            )
        return dim
    if not isinstance(dim, str | Var):
        raise ScheduleError(
            f"a dimension is a number or the loop that runs along it, not {dim!r}", code="fold_storage"
        )
    own = [n for n in all_loops(kernel) if n.var.name == dim and n.tensor == tensor.name]
    loop = own[0] if own else find_loops(kernel, dim)[0]
    uses = [n for n in walk(kernel) if isinstance(n, Read | Store) and n.tensor is tensor]
    at = {k for n in uses for k, i in enumerate(n.indices) if loop.var in variables(i)}
    if len(at) != 1:
        raise ScheduleError(
            f"`{qualified(loop)}` is in the index of {len(at)} dimensions of `{tensor.name}`",
            span_of(kernel, loop),
            code="fold_storage",
            help="give the number of the dimension",
        )
    return at.pop()


def _refused(
    kernel: Kernel, message: str, overwrite: Overwrite | None, help: str, folded: tuple[int, int]
) -> ScheduleError:
    """The error for a dimension and a depth that lose elements."""
    if overwrite is None:
        return ScheduleError(message, code="fold_storage", help=help)
    (writer, at_writer), (reader, at_reader) = overwrite.writer, overwrite.reader
    here, there = (
        f"{overwrite.tensor.name}[{', '.join(map(str, e))}]" for e in (overwrite.element, overwrite.other)
    )
    sizes = f"at {', '.join(f'{k}={v}' for k, v in overwrite.sizes.items())}: " if overwrite.sizes else ""
    note = (
        f"{sizes}{iteration(at_writer)} writes {there} to the place of {here}, which {iteration(at_reader)} "
        f"reads afterwards"
    )
    witness = {
        "sizes": overwrite.sizes,
        "first": at_writer,
        "second": at_reader,
        "tensor": overwrite.tensor.name,
        "element": overwrite.element,
    }
    after = folded_storage(kernel, overwrite.tensor, *folded)
    return ScheduleError(
        message,
        text_of(kernel, reader),
        code="fold_storage",
        label=f"still needs {here}",
        notes=[note, f"written by: {span_of(kernel, writer).text.strip()}"],
        help=f"{help}; replay() of this error shows both results",
        witness=witness,
        rerun=lambda: rerun(kernel, after, overwrite.sizes),
    )
