"""From a program to an ordered list of kernel launches."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence, Set
from dataclasses import field
from itertools import chain

from texpr.compiler import CompiledKernel
from texpr.graph.fusion.coalesce_dims import coalesced
from texpr.graph.fusion.flops import operations
from texpr.graph.fusion.horizontal import elementwise_program, length_of, merge_elementwise
from texpr.graph.fusion.joined_parts import Part
from texpr.graph.fusion.kernel_groups import Group, as_program, group_equations, order_groups
from texpr.graph.fusion.producer_consumer import Decision
from texpr.graph.lowering.default_kernels import kernel_for
from texpr.graph.passes.flatten_calls import shape_of, view
from texpr.ir.dtypes import U8
from texpr.ir.expr import Tensor, Var, index, plain
from texpr.ir.extern import is_extern
from texpr.ir.shapes import bind_sizes
from texpr.ir.tensor import Invoke, Program
from texpr.runtime.call.kernel_sequence import SWEPT
from texpr.support.frozen_dataclass import frozen_by_identity, replace

KernelOf = Callable[[Program, Mapping[Var, int], Set[str]], CompiledKernel]
"""The kernel of a program at some sizes, with the names of inputs that have the same values from
call to call."""


@frozen_by_identity
class Launch:
    """One kernel of a plan.

    Attributes:
        program: what it computes; its sizes may be symbolic.
        kernel: compiled for the sizes of this call.
        inputs, outputs: tensors of the captured program, in the kernel's order; of a sweep those of
            each part. The kernel may see the same memory with fewer dimensions.
        operations: float operations of one run.
        lengths: of a sweep, how many elements each part has, which is the kernel's only size.
        whole: the same kernel for pieces of `SWEPT` elements, if some part has so many.
        constants: names of the program's inputs that have the same values from run to run.
        scratch: what the kernel needs besides, while it runs.
        prepacked: what it keeps of constant inputs, and behind that a byte that says so.
    """

    program: Program
    kernel: CompiledKernel
    inputs: tuple[Tensor, ...]
    outputs: tuple[Tensor, ...]
    operations: int
    lengths: tuple[int, ...] = ()
    whole: CompiledKernel | None = None
    constants: frozenset[str] = frozenset()
    scratch: tuple[Tensor, ...] = ()
    prepacked: tuple[Tensor, ...] = ()

    @property
    def overwrites(self) -> tuple[tuple[int, int], ...]:
        """Positions of inputs, and of outputs that may lie in their memory."""
        first, *others = (k.native.overwrites for k in self.kernels)
        pairs = [p for p in first if all(p in more for more in others)]
        inputs, outputs = len(self.program.inputs), len(self.program.outputs)
        return tuple(
            (k * inputs + i, k * outputs + j) for k in range(len(self.lengths) or 1) for i, j in pairs
        )

    def with_scratch(self) -> Launch:
        """The same with the tensors that its kernel wants, once that is there."""
        assert not any(k.native.scratch for k in self.kernels) or not self.lengths, (
            "pieces of a sweep share no memory"
        )
        if self.lengths:
            return self
        native = self.kernel.native
        return replace(
            self, scratch=_bytes("scratch", native.scratch), prepacked=_bytes("prepacked", native.prepacked)
        )

    @property
    def is_constant(self) -> bool:
        """True if its outputs have the same values from run to run: so have its inputs, of which there
        are some. Registered functions may give something else in each call.
        """
        constant = bool(self.inputs) and not self.lengths and len(self.constants) == len(self.program.inputs)
        return constant and not _calls_extern(self.program)

    @property
    def packed(self) -> frozenset[int]:
        """Positions of inputs that its kernel no longer reads once it has copies of them."""
        return frozenset(self.kernel.native.packed if self.prepacked else ())

    @property
    def self_contained(self) -> bool:
        """True if a launch cannot fail: it asks neither for memory nor for functions of others."""
        return all(k.native.self_contained for k in self.kernels)

    @property
    def kernels(self) -> tuple[CompiledKernel, ...]:
        """The kernels that run: of a sweep, the one for whole pieces and the one for the rest,
        where there are such.
        """
        if not self.lengths:
            return (self.kernel,)
        rest = any(n % SWEPT for n in self.lengths)
        return (*((self.kernel,) if rest else ()), *((self.whole,) if self.whole else ()))

    def parts(self) -> Iterator[Launch]:
        """The calls of the kernel: one, or one for each part of a sweep."""
        if len(self.lengths) < 2:
            yield self
            return
        inputs, outputs = len(self.program.inputs), len(self.program.outputs)
        for k, length in enumerate(self.lengths):
            yield replace(
                self,
                inputs=self.inputs[k * inputs : (k + 1) * inputs],
                outputs=self.outputs[k * outputs : (k + 1) * outputs],
                operations=self.operations * length // sum(self.lengths),
                lengths=(length,),
            )


@frozen_by_identity
class Launches:
    """The launches of a program.

    Attributes:
        order: the kernels.
        views: tensors that are other tensors' memory, of another shape, or a part of it.
        decisions: which equations share kernels, and why.
        starts: the first elements of views that are parts.
    """

    order: tuple[Launch, ...]
    views: Mapping[Tensor, Tensor]
    decisions: tuple[Decision, ...]
    starts: Mapping[Tensor, int] = field(default_factory=dict)


def _calls_extern(program: Program) -> bool:
    """True if a program is, or calls, an operator that is declared and not written."""
    called = (e.program for e in program.equations if isinstance(e, Invoke))
    return is_extern(program) or any(map(_calls_extern, called))


def _bytes(name: str, sizes: Iterable[int]) -> tuple[Tensor, ...]:
    """Tensors of so many bytes each."""
    return tuple(Tensor(f"{name}{k}", U8, plain(index(n))) for k, n in enumerate(sizes))


def make_launches(
    program: Program,
    join: bool,
    sweep: bool,
    kernel_of: KernelOf = kernel_for,
    constants: Set[Tensor] = frozenset(),
    alignment: int = 1,
) -> Launches:
    """Compile what the outputs of `program` need.

    Args:
        kernel_of: gives the kernel of a program at some sizes.
        join: equations of several tensors may share a kernel.
        sweep: results that are computed alike share a loop.
        constants: inputs that have the same values from run to run.
        alignment: bytes, at multiples of which tensors have to begin.
    """
    groups, decisions = group_equations(program, join, alignment)
    groups, sweeps = merge_elementwise(groups, set(program.outputs)) if sweep else (groups, [])
    groups = order_groups(groups)
    needed, constants = _needed(groups, program), set(constants)
    views: dict[Tensor, Tensor] = {}
    starts: dict[Tensor, int] = {}
    order: list[Launch] = []
    for group in groups:
        source = group.view_of
        (target, *_) = group.targets
        if group.joined and _joins(target, group.joined, order, views, starts):
            continue
        if source is not None and target not in program.outputs:
            views[target] = views.get(source, source)
            starts |= {target: starts[source]} if source in starts else {}
            constants |= {target} if source in constants else set()
            continue
        if source is not None:
            if not _computed_as(target, views.get(source, source), program, order, views):
                order.append(_copy(target, source, kernel_of))
            continue
        if group.parts:
            order.append(_sweep(group, kernel_of))
            continue
        own, inputs, outputs = as_program(group, needed)
        if not isinstance(group.equations[0], Invoke):  # an operator by itself is scheduled as it is written
            own = coalesced(own)
        order.append(_launch(own, inputs, outputs, kernel_of, constants))
        constants |= {*outputs} if order[-1].is_constant else set()
    return Launches(tuple(order), views, (*decisions, *sweeps), starts)


def _joins(
    target: Tensor,
    parts: Sequence[Part],
    order: Sequence[Launch],
    views: dict[Tensor, Tensor],
    starts: dict[Tensor, int],
) -> bool:
    """Let parts lie in the memory of the tensor that joins them; False if one has other memory, as
    have constants that are computed once.
    """
    made = {*chain(*(n.outputs for n in order if not n.is_constant)), *map(views.__getitem__, starts)}
    roots = [views.get(p.tensor, p.tensor) for p in parts]
    if not made.issuperset(roots) or any(p.tensor in starts for p in parts):
        return False
    for part, root in zip(parts, roots):
        for tensor in (root, *(t for t, whole in views.items() if whole is root)):
            views[tensor], starts[tensor] = target, starts.get(tensor, 0) + part.start
    return True


def _launch(
    program: Program,
    inputs: tuple[Tensor, ...],
    outputs: tuple[Tensor, ...],
    kernel_of: KernelOf,
    constants: Set[Tensor] = frozenset(),
) -> Launch:
    sizes = bind_sizes(program.inputs, [shape_of(t) for t in inputs])[0] if program.sizes else {}
    names = frozenset(own.name for own, t in zip(program.inputs, inputs) if t in constants)
    kernel = kernel_of(program, sizes, names)
    return Launch(program, kernel, inputs, outputs, operations(program, sizes), constants=names)


def _copy(target: Tensor, source: Tensor, kernel_of: KernelOf) -> Launch:
    """The copy of a tensor to one of another shape, by loops over its own: they divide by no
    extents.
    """
    same = replace(source, name=target.name)
    program, inputs, _ = as_program(Group((view(same, source),)), {same})
    return _launch(program, inputs, (target,), kernel_of)


def _computed_as(
    target: Tensor, source: Tensor, program: Program, order: list[Launch], views: dict[Tensor, Tensor]
) -> bool:
    """Let the launch that computes `source` write it to `target`, an output of the program that is
    the same memory in another shape. False if no launch does, or `source` is an output too.
    """
    k = next((k for k, launch in enumerate(order) if source in launch.outputs), None)
    if k is None or source in program.outputs:
        return False
    order[k] = replace(order[k], outputs=tuple(target if t is source else t for t in order[k].outputs))
    views.update({t: target for t in (source, *(t for t, root in views.items() if root is source))})
    return True


def _sweep(group: Group, kernel_of: KernelOf) -> Launch:
    lengths = tuple(map(length_of, group.parts))
    program = elementwise_program(group.parts[0])
    assert program is not None
    inputs, outputs = (
        tuple(t for part in group.parts for t in tensors(part)) for tensors in (_sources, _targets)
    )
    return launch_of_sweep(program, inputs, outputs, lengths, kernel_of)


def launch_of_sweep(
    program: Program,
    inputs: tuple[Tensor, ...],
    outputs: tuple[Tensor, ...],
    lengths: tuple[int, ...],
    kernel_of: KernelOf,
) -> Launch:
    """One loop over the elements of parts of these lengths, with the kernels that it needs."""
    (size,) = program.sizes
    whole = kernel_of(program, {size: SWEPT}, frozenset()) if max(lengths) >= SWEPT else None
    return Launch(
        program,
        kernel_of(program, {}, frozenset()),
        inputs,
        outputs,
        operations(program, {size: sum(lengths)}),
        lengths,
        whole,
    )


def _sources(group: Group) -> tuple[Tensor, ...]:
    return tuple(group.sources)


def _targets(group: Group) -> tuple[Tensor, ...]:
    return tuple(group.targets)


def _needed(groups: Sequence[Group], program: Program) -> set[Tensor]:
    """Tensors read outside of the group that computes them."""
    return {*program.outputs, *(t for g in groups for t in g.sources)}


def show_launches(launches: Sequence[Launch], note: Callable[[Launch], str] = lambda launch: "") -> str:
    """One line per launch: results, operator, arguments."""
    lines = []
    for launch in launches:
        arguments = ", ".join(t.name for t in launch.inputs)
        results = ", ".join(f"{t.name}: {t.dtype}{list(shape_of(t))}" for t in launch.outputs)
        lines.append(f"{results} = {launch.program.name}({arguments}){note(launch)}")
    return "\n".join(lines)
