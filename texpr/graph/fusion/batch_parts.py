"""Batches in parts: the first equations of a network take a few examples at a time, so that what
lies between two kernels stays in a cache.

    Y[n, ...] = f(X[n, ...], W)   ->   Y[P*k + n, ...] = f(X[P*k + n, ...], W)  for n in 0..P, for each k

Each part runs the kernels of a smaller batch, and its memory between them is that of one part. What
follows takes the whole batch: layers whose weights are larger than their images, and all that
mixes examples. That an equation keeps examples apart is read off its indices: all tensors of the
batch are read at its own example, and nothing else depends on its number.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence, Set

from texpr.autodiff.cleanup.simplify import in_order, reads
from texpr.graph.fusion.flops import operations_of
from texpr.graph.fusion.producer_consumer import FLOPS_PER_BYTE, Decision, tensor_bytes
from texpr.graph.fusion.winograd import best_tiling, convolution, cost, moving
from texpr.graph.passes.flatten_calls import shape_of, viewed
from texpr.ir.build import integer
from texpr.ir.expr import Node, Read, Tensor, Var, index, plain
from texpr.ir.tensor import Equation, Invoke, Program
from texpr.ir.traverse import children
from texpr.passes.analysis.substitution import over_tensors
from texpr.support.frozen_dataclass import frozen_by_identity, replace

GAIN = 1.03
"""The least quotient of the costs of a program without parts and with them."""
LAUNCH = 1 << 18
"""Operations that take as long as to begin and end a kernel on several threads."""
MOST_PARTS = 64
"""Each part has launches of its own in a plan."""


@frozen_by_identity
class BatchParts:
    """A program that takes its batch in parts first, and as a whole then.

    Attributes:
        part: the program of one part.
        rest: what follows, of the whole batch; what parts compute is among its inputs.
        size, count: examples of a part, and parts.
        wholes: inputs and outputs of `part` that are parts, and what they are parts of.
        constants: outputs of `part` that are computed of constants alone.
        decision: with the reason.
    """

    part: Program
    rest: Program
    size: int
    count: int
    wholes: Mapping[Tensor, Tensor]
    constants: Set[Tensor]
    decision: Decision


def in_parts(
    program: Program, constants: Set[Tensor], others: Set[Tensor] = frozenset()
) -> BatchParts | None:
    """The program in parts of its batch, if that costs less.

    Args:
        constants: inputs that have the same values from run to run, of which kernels keep copies.
        others: inputs that have the same values from run to run, without copies.
    """
    examples = _examples(program, constants | others)
    if examples < 2:
        return None
    batch = _Batch(program, constants, others, examples)
    whole = {t: batch.cost(t, examples) for t in batch.makers}
    sizes = [n for n in range(-(-examples // MOST_PARTS), examples) if examples % n == 0]
    found = [batch.taken(n, whole) for n in sizes]
    total = sum(whole.values())
    saved, size, taken = max(found, key=lambda each: (each[0], each[1]), default=(0.0, 0, set()))
    return batch.split(taken, size) if taken and total >= GAIN * (total - saved) else None


def before_fusion(
    split: BatchParts, program: Program, constants: Set[Tensor], others: Set[Tensor] = frozenset()
) -> BatchParts:
    """The same parts of the program before its fusion: what may be fused differs between a batch and
    its parts, as where channels of one image follow each other. `split`, if fusion made tensors that
    lie between its two programs.
    """
    size, wanted = split.size, [split.wholes[t] for t in split.part.outputs if t in split.wholes]
    batch = _Batch(program, constants, others, size * split.count)
    taken = batch.needed(wanted)
    return replace(batch.split(taken, size), decision=split.decision) if taken else split


def _examples(program: Program, constants: Set[Tensor]) -> int:
    """The extent that all inputs that are no constants have first; 0 if there is none."""
    extents = {
        shape_of(t)[0] if t.dims and not t.dims[0].pack else 0 for t in program.inputs if t not in constants
    }
    return extents.pop() if len(extents) == 1 else 0


class _Batch:
    """The equations of a program by what they compute, and the tensors of the batch among it.

    Attributes:
        makers: the equations of each tensor, in order.
        readers: the tensors that are computed of each.
        apart: tensors each of whose examples is computed of the same example of others.
        shared: tensors that are computed of constants alone.
    """

    def __init__(self, program: Program, constants: Set[Tensor], others: Set[Tensor], examples: int) -> None:
        self.program, self.packed, self.examples = program, constants, examples
        self.constants = constants | others
        self.makers: dict[Tensor, list[Equation | Invoke]] = {}
        for each in in_order(program.equations):
            for target in each.targets:
                self.makers.setdefault(target, []).append(each)
        self.readers: dict[Tensor, set[Tensor]] = {t: set() for t in self.makers}
        for tensor, each in self._made(self.makers.keys()):
            for t in reads(each):
                self.readers.setdefault(t, set()).add(tensor)
        self.inputs = {t for t in program.inputs if t not in self.constants}
        self.apart, self.shared = set[Tensor](), set[Tensor]()
        for tensor, equations in self.makers.items():
            self._sort(tensor, equations)

    def _sort(self, tensor: Tensor, equations: Sequence[Equation | Invoke]) -> None:
        read = {t for e in equations for t in reads(e) if t is not tensor}
        if read and read <= self.constants | self.shared:
            self.shared.add(tensor)
        elif all(t in self.constants or t in self.shared or self._is_apart(t) for t in read):
            self.apart.add(tensor)
            if not all(isinstance(e, Equation) and self._keeps_apart(e) for e in equations):
                self.apart.remove(tensor)

    def _is_apart(self, tensor: Tensor) -> bool:
        return tensor in self.inputs or tensor in self.apart

    def _keeps_apart(self, equation: Equation) -> bool:
        """True if an equation defines all examples, each of the same example of tensors of the batch,
        and nothing else depends on their number.
        """
        first, *others = equation.indices or (None,)
        axis = next((a for a in equation.axes if a.var is first), None)
        if not isinstance(first, Var) or axis is None or integer(axis.lo) != 0:
            return False
        if not integer(axis.hi) == shape_of(equation.target)[0] == self.examples:
            return False
        parts = (*others, equation.value, equation.where, equation.guard)
        bounds = (n for a in equation.axes if a is not axis for n in (a.lo, a.hi))
        return not any(self._depends(n, first) for n in (*parts, *bounds) if n is not None)

    def _depends(self, node: Node, example: Var) -> bool:
        """True if a node depends on the number of the example but by reads of it, or reads others."""
        if node is example:
            return True
        if not isinstance(node, Read) or not self._is_apart(node.tensor):
            return any(self._depends(n, example) for n in children(node))
        first, *_ = node.indices
        return first is not example or any(
            self._depends(n, example) for n in children(node) if n is not first
        )

    def taken(self, size: int, whole: Mapping[Tensor, float]) -> tuple[float, int, set[Tensor]]:
        """The gain of parts of so many examples, and the tensors that are computed in parts: all
        but the last ones that cost more so.
        """
        times = self.examples // size
        saved = {t: whole[t] - times * self.cost(t, size) for t in self.makers if t in self.apart}
        taken = dict(saved)
        for tensor in reversed(self.makers):
            if saved.get(tensor, 0) <= 0 and self.readers[tensor].isdisjoint(taken.keys() - {tensor}):
                taken.pop(tensor, None)
        return sum(taken.values()), size, set(taken)

    def cost(self, tensor: Tensor, size: int) -> float:
        """Operations that compute a tensor for so many examples, with the bytes that move as
        operations.
        """
        made = [e for e in self.makers[tensor] if isinstance(e, Equation) and viewed(e) is None]
        return sum(self._cost(e, size) for e in made)

    def _cost(self, equation: Equation, size: int) -> float:
        given = self._of_size(equation, size) if equation.target in self.apart else equation
        tiling = best_tiling(found) if (found := convolution(given, self.packed)) else None
        work = cost(tiling) if tiling else operations_of(given, {})
        tensors = {*reads(given), given.target}
        own = sum(tensor_bytes(t) for t in tensors if t.dims and t not in self.constants | self.shared)
        weights = 0 if tiling else sum(map(tensor_bytes, tensors & self.constants))
        return LAUNCH + work + FLOPS_PER_BYTE * (moving(own) + weights)

    def _of_size(
        self, equation: Equation | Invoke, size: int, smaller: Mapping[Tensor, Tensor] | None = None
    ) -> Equation:
        """An equation for so many examples."""
        assert isinstance(equation, Equation)  # no others keep examples apart
        batch = filter(self._is_apart, (*reads(equation), equation.target))
        others = {t: _of_examples(t, size) for t in batch} if smaller is None else smaller
        example = equation.indices[0]
        axes = tuple(replace(a, hi=index(size)) if a.var is example else a for a in equation.axes)
        return over_tensors(replace(equation, axes=axes), others)

    def needed(self, wanted: Sequence[Tensor]) -> set[Tensor]:
        """Tensors of the batch that these are computed of, with these; none if some are not computed
        apart.
        """
        found, waiting = set[Tensor](), list(wanted)
        while waiting:
            tensor = waiting.pop()
            if tensor in self.inputs or tensor in self.constants or tensor in self.shared:
                continue
            if tensor not in self.apart:
                return set()
            if tensor not in found:
                found.add(tensor)
                waiting += [t for e in self.makers[tensor] for t in reads(e)]
        return found

    def split(self, taken: Set[Tensor], size: int) -> BatchParts:
        """The program with these tensors computed in parts of so many examples."""
        smaller = {t: _of_examples(t, size) for t in (*self.inputs, *taken)}
        first = {*taken, *self._shared_by(taken)}
        equations = [self._of_size(e, size, smaller) if t in taken else e for t, e in self._made(first)]
        later = list(dict.fromkeys(e for _, e in self._made(self.makers.keys() - first)))
        wanted = {t for e in later for t in reads(e)} | {*self.program.outputs}
        given = [t for t in self.makers if t in first and t in wanted]
        part = replace(
            self.program,
            inputs=tuple(smaller.get(t, t) for t in self.program.inputs),
            outputs=tuple(smaller.get(t, t) for t in given),
            equations=tuple(equations),
        )
        rest = replace(self.program, inputs=(*self.program.inputs, *given), equations=tuple(later))
        wholes = {smaller[t]: t for t in (*self.inputs, *given) if t in smaller}
        count = self.examples // size
        reason = f"{count} parts of {size} of {self.examples} examples stay near"
        names = tuple(t.name for t in given)
        saved = sum(tensor_bytes(t) for t in taken - {*given})
        decision = Decision("batch", ", ".join(t.name for t in self.inputs), names, True, saved, 0, reason)
        return BatchParts(part, rest, size, count, wholes, self.shared & {*given}, decision)

    def _made(self, tensors: Set[Tensor]) -> list[tuple[Tensor, Equation | Invoke]]:
        """Tensors with their equations, in order."""
        return [(t, e) for t, made in self.makers.items() if t in tensors for e in made]

    def _shared_by(self, taken: Set[Tensor]) -> set[Tensor]:
        """Tensors of constants alone that these are computed of, directly or not."""
        found = set[Tensor]()
        waiting = list(taken)
        while waiting:
            new = {t for e in self.makers[waiting.pop()] for t in reads(e)} & self.shared - found
            found |= new
            waiting += new
        return found


def _of_examples(tensor: Tensor, size: int) -> Tensor:
    """A tensor of fewer examples."""
    return replace(tensor, dims=(*plain(index(size)), *tensor.dims[1:]))
