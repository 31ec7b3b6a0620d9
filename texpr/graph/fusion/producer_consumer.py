"""Operator fusion: equations are written into their readers, and what is left is put into groups,
each a kernel.

Five kinds, in this order. A tensor that is computed element by element is computed where it is read
(`inline`). A tensor in parts, such as the gradient of a pooling, ends with what is done to it, part
by part (`parts`). Parts of a tensor that joins others are computed where it has them (`place`). A
reduction ends with what is done to its result (`epilogue`). Equations over the same elements, over
the same rows, or of one attention (`attention`), share a kernel (`together`), whose schedule
`auto()` then chooses. What is dear, and wanted several times by the kernel of its
rows, is not computed where it is read. Each is judged by the cost model here, and the judgement is
kept to be read (`Decision`).
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence, Set
from itertools import count
from math import prod

from texpr.autodiff.cleanup.simplify import definitions, in_order, reads
from texpr.autoschedule.core.cost import operations
from texpr.autoschedule.core.cost_model import COSTS
from texpr.graph.fusion.axis_points import points
from texpr.graph.fusion.joined_parts import joined_runs, part_of, whole_source
from texpr.graph.fusion.scaled_operands import scales_operand
from texpr.graph.passes.absorb_views import element_value, inline_values
from texpr.graph.passes.flatten_calls import shape_of, view, viewed
from texpr.ir.affine import linear
from texpr.ir.build import integer
from texpr.ir.expr import Const, Mul, Node, Read, Reduce, Tensor, Var
from texpr.ir.tensor import Equation, Invoke, Program
from texpr.ir.traverse import children, equal, free_variables, rewrite, walk
from texpr.passes.analysis.equation_cycles import in_cycles
from texpr.support.frozen_dataclass import frozen, replace

FLOPS_PER_BYTE = 4
"""Operations that take as long as moving a byte to a cache and back."""
ROW_BYTES = 1 << 20
"""Of a tensor whose rows stay near between two uses."""
MOST_OPERATIONS = 400
"""Of one element: what is longer is not grown any more, for compiling takes longer than it would
save.
"""


@frozen
class Decision:
    """The decision to fuse a tensor into its readers, or not, with the reason.

    Attributes:
        kind: `keep`, `inline`, `parts`, `place`, `epilogue`, `layout`, `winograd`, `together`, `sweep`,
            `batch` or `over`.
        tensor: what is computed.
        readers: the tensors that are computed from it.
        saved: bytes that need not move.
        extra: operations that are done again.
        reason: in words.
    """

    kind: str
    tensor: str
    readers: tuple[str, ...]
    fused: bool
    saved: int
    extra: int
    reason: str

    def __str__(self) -> str:
        into = ", ".join(self.readers)
        numbers = f"; saves {amount(self.saved)}" + (
            f", computes {self.extra:,} operations again" if self.extra else ""
        )
        told = numbers if self.fused and (self.saved or self.extra) else ""
        return f"{self.kind} {self.tensor} -> {into}: {'yes' if self.fused else 'no'}, {self.reason}{told}"


def amount(size: int) -> str:
    """Bytes in words."""
    return (
        f"{size} bytes"
        if size < 1024
        else f"{size / 1024:.1f} KiB"
        if size < 1 << 20
        else f"{size / (1 << 20):.1f} MiB"
    )


def tensor_bytes(tensor: Tensor) -> int:
    """Bytes of a tensor whose extents are numbers."""
    return tensor.dtype.bytes * prod(shape_of(tensor))


def is_reduction(equation: Equation) -> bool:
    """True if its value holds a reduction."""
    return any(isinstance(n, Reduce) for n in walk(equation.value))


@frozen
class Use:
    """A read of a tensor: how often it is made, and by which reduction."""

    read: Read
    times: int
    inside: Reduce | None


def uses(equation: Equation, tensor: Tensor) -> list[Use]:
    """The different reads of a tensor in an equation."""
    found: list[Use] = []
    stack: list[tuple[Node, int, Reduce | None]] = [(equation.value, points(equation.axes), None)]
    seen: set[tuple[int, int]] = set()
    while stack:
        node, times, inside = stack.pop()
        if (id(node), id(inside)) in seen:
            continue
        seen.add((id(node), id(inside)))
        if isinstance(node, Read) and node.tensor is tensor and not any(equal(node, u.read) for u in found):
            found.append(Use(node, times, inside))
        if isinstance(node, Reduce):
            times, inside = times * points(node.axes), node
        stack += [(c, times, inside) for c in children(node)]
    return found


def is_contraction(equation: Equation) -> bool:
    """True if an equation sums products some factors of which serve many elements: such a nest is
    blocked, and its operands are packed.
    """
    for node in walk(equation.value):
        if isinstance(node, Reduce) and node.op == "sum" and isinstance(node.body, Mul):
            factors = [n for n in walk(node.body) if isinstance(n, Read)]
            here = [a.var for a in equation.axes if points([a]) > 1]
            if (
                len(factors) > 1
                and any(not set(here) <= free_variables(f) for f in factors)
                and points(node.axes) > 1
            ):
                return True
    return False


def first_axis(equation: Equation) -> Var | None:
    """The outermost axis, if it is the first index of the target and begins at 0."""
    if (
        not equation.axes
        or not equation.indices
        or integer(equation.axes[0].lo) != 0
        or equation.indices[0] is not equation.axes[0].var
    ):
        return None
    return equation.axes[0].var


class _EquationGraph:
    """Equations in order, with who defines and who reads each tensor: kept while equations take
    each other's places.
    """

    def __init__(self, equations: Sequence[Equation | Invoke]) -> None:
        self._place: dict[Equation | Invoke, tuple[int, ...]] = {}
        self._makers: dict[Tensor, set[Equation | Invoke]] = {}
        self._readers: dict[Tensor, set[Equation | Invoke]] = {}
        for k, equation in enumerate(equations):
            self._add(equation, (k,))

    @property
    def equations(self) -> list[Equation | Invoke]:
        """All equations in order."""
        return self._sorted(self._place)

    def readers(self, tensor: Tensor) -> list[Equation | Invoke]:
        """Equations that read a tensor, in order."""
        return self._sorted(self._readers.get(tensor, ()))

    def makers(self, tensor: Tensor) -> list[Equation | Invoke]:
        """Equations that define or update a tensor, in order."""
        return self._sorted(self._makers.get(tensor, ()))

    def definition(self, tensor: Tensor) -> Equation | None:
        """The equation of a tensor that has exactly one, a definition of all its elements in
        bare indices.
        """
        return definitions(self.makers(tensor)).get(tensor)

    def replace(self, old: Equation | Invoke, *new: Equation | Invoke) -> None:
        """Put equations in the place of one."""
        place = self._place.pop(old)
        for index, tensors in ((self._makers, old.targets), (self._readers, reads(old))):
            for tensor in tensors:
                index[tensor].discard(old)
        for k, equation in enumerate(new):
            self._add(equation, (*place, k))

    def _add(self, equation: Equation | Invoke, place: tuple[int, ...]) -> None:
        self._place[equation] = place
        for index, tensors in ((self._makers, equation.targets), (self._readers, reads(equation))):
            for tensor in tensors:
                index.setdefault(tensor, set()).add(equation)

    def _sorted(self, equations: Iterable[Equation | Invoke]) -> list[Equation | Invoke]:
        return sorted(equations, key=self._place.__getitem__)


def _consumed_row_by_row(producer: Equation, readers: Sequence[Equation]) -> bool:
    """True if a kernel that the producer and its readers share computes a row of the tensor and
    uses it up before the next one.
    """
    row = first_axis(producer)
    if row is None or any(
        r.update is not None or first_axis(r) is None or is_contraction(r) for r in readers
    ):
        return False
    rows = points(producer.axes[:1])
    if (
        rows < 2
        or any(points(r.axes[:1]) != rows for r in readers)
        or tensor_bytes(producer.target) > rows * ROW_BYTES
    ):
        return False
    return all(u.read.indices[0] is first_axis(r) for r in readers for u in uses(r, producer.target))


class Fusion:
    """The decisions about a program, made one after the other, and the equations they give."""

    def __init__(self, program: Program, apart: Set[Tensor], alignment: int, scales: bool) -> None:
        self.program, self._apart, self._alignment, self._scales = program, apart, alignment, scales
        self.decisions: list[Decision] = []
        self._required = {*program.outputs, *program.inputs}
        self._names = {t.name for t in (*self._required, *program.temporaries)}
        self._graph = _EquationGraph(program.equations)

    def run(self) -> Program:
        """The program with equations written into others."""
        self._inline()
        self._fuse_parts()
        self._place_parts()
        self._fuse_epilogues()
        return replace(self.program, equations=tuple(in_order(self._graph.equations)))

    def _inline(self) -> None:
        for tensor in definitions(self._graph.equations):
            producer = self._graph.definition(tensor)
            if (
                tensor in self._required
                or producer is None
                or is_reduction(producer)
                or viewed(producer)
                or tensor in reads(producer)
            ):
                continue
            readers = self._graph.readers(tensor)
            if any(not isinstance(r, Equation) or viewed(r) for r in readers):
                continue
            decision = self._decide_inline(producer, [r for r in readers if isinstance(r, Equation)])
            self.decisions.append(decision)
            if decision.fused:
                self._write_into(producer, readers)

    def _write_into(self, producer: Equation, readers: Sequence[Equation | Invoke]) -> None:
        for reader in readers:
            if isinstance(reader, Equation):
                self._graph.replace(reader, inline_values(reader, {producer.target: producer}))
        self._graph.replace(producer)

    def _decide_inline(self, producer: Equation, readers: Sequence[Equation]) -> Decision:
        """Decide to compute a tensor where it is read, or not."""
        tensor, size = producer.target, points(producer.axes)
        names = tuple(r.target.name for r in readers)
        found = [(r, u) for r in readers for u in uses(r, tensor)]
        cost = operations(producer.value)
        extra = cost * max(0, sum(u.times for _, u in found) - size)
        inputs = sum(
            tensor_bytes(t) for t in reads(producer) if t is not tensor and t.dims
        )  # numbers stay in registers
        saved = tensor_bytes(tensor) * (1 + len(readers)) - inputs * (len(readers) - 1)

        def no(reason: str) -> Decision:
            return Decision("inline", tensor.name, names, False, max(0, saved), extra, reason)

        if any(u.read.guard is not None for _, u in found):
            return no("a reader asks for elements outside of it")
        if any(tensor in reads(replace(r, value=Const(0, dtype=r.value.dtype))) for r in readers):
            return no("a reader's indices or conditions depend on it")
        if any(r.update is not None for r in readers):
            return no("a reader folds it into what is there")
        if self._scales_along_sum(producer, found):
            reason = "the other operand takes the scale"
            return Decision("inline", tensor.name, names, True, saved, 0, reason)
        if any(u.inside is not None and _is_operand(r, u) for r, u in found):
            return no("a product takes it as an operand, again and again")
        if any(operations(r.value) + cost > MOST_OPERATIONS for r in readers):
            return no("the reader is long as it is")
        if (extra or len(found) > 1) and self._ends_reduction(producer):
            return no("it ends a reduction, and would be done again by each reader")
        if extra and cost > COSTS.store_and_load and _consumed_row_by_row(producer, readers):
            return no("its rows are used in turn, by the kernel that computes them")
        if extra > FLOPS_PER_BYTE * max(0, saved):
            return no(f"{extra:,} operations would be done again to save {amount(max(0, saved))}")
        return Decision("inline", tensor.name, names, True, saved, extra, "computed where it is read")

    def _scales_along_sum(self, producer: Equation, found: Sequence[tuple[Equation, Use]]) -> bool:
        """True if the sums of products that read a tensor can take its scales with less work."""
        if not self._scales or len(self._graph.readers(producer.target)) != len(found):
            return False
        return all(
            u.inside is not None and is_contraction(r) and scales_operand(producer, r, u.read, u.inside)
            for r, u in found
        )

    def _fuse_parts(self) -> None:
        """`T[2*i] = a; T[2*i + 1] = b; Y[i] = f(T[i])`  ->  `Y[2*i] = f(a); Y[2*i + 1] = f(b)`."""
        for reader in definitions(self._graph.equations).values():
            if is_reduction(reader) or viewed(reader):
                continue
            for tensor in reads(reader):
                parts = self._parts_of(tensor, reader)
                if parts:
                    into, saved = (reader.target.name,), 2 * tensor_bytes(tensor)
                    self.decisions.append(
                        Decision("parts", tensor.name, into, True, saved, 0, "done to each of its parts")
                    )
                    self._graph.replace(reader, *(_write_epilogue(p, reader) for p in parts))
                    for part in parts:
                        self._graph.replace(part)
                    break

    def _parts_of(self, tensor: Tensor, reader: Equation) -> list[Equation]:
        """The equations that define parts of a tensor, if each can end with the one reader,
        which reads it element by element.
        """
        made = [e for e in self._graph.makers(tensor) if isinstance(e, Equation)]
        readers = self._graph.readers(tensor)
        if (
            len(made) < 2
            or tensor in self._required
            or readers != [reader]
            or not equal(tensor.shape, reader.target.shape)
        ):
            return []
        if any(e.update is not None or e.guard is not None or is_reduction(e) for e in made):
            return []
        found = uses(reader, tensor)
        here = (
            len(found) == 1
            and found[0].read.guard is None
            and all(i is a.var for i, a in zip(found[0].read.indices, reader.axes))
        )
        small = all(operations(e.value) + operations(reader.value) <= MOST_OPERATIONS for e in made)
        return made if here and small else []

    def _place_parts(self) -> None:
        """`Y[i] = f(S[i]); Y[K + i] = B[i]`  ->  `P[i] = f(S[i]); Y[i] = P[i]; Y[K + i] = B[i]`: what
        a tensor joins is computed in its memory, and nothing is copied.
        """
        placed: set[Tensor] = set()
        for tensor in dict.fromkeys(t for e in self._graph.equations for t in e.targets):
            runs = (
                [] if tensor in self._required else joined_runs(self._graph.makers(tensor), self._alignment)
            )
            if not any(self._is_stored(e, placed) or self._ends_sum_in_part(e) for e in runs):
                continue
            for equation in runs:
                part = whole_source(equation)
                if part is None or not self._is_stored(equation, placed):
                    name = self._new_name(tensor)
                    own, copy = part_of(equation, name)
                    self._graph.replace(equation, own, copy)
                    part = own.target
                placed.add(part)
                saved, reason = 2 * tensor_bytes(part), "computed where the tensor that joins it lies"
                self.decisions.append(Decision("place", part.name, (tensor.name,), True, saved, 0, reason))

    def _is_stored(self, equation: Equation, placed: Set[Tensor]) -> bool:
        """True if an equation copies a tensor that is computed here, and lies nowhere yet."""
        source = whole_source(equation)
        if source is None or source in self._required or source in placed:
            return False
        makers = self._graph.makers(source)
        return bool(makers) and not any(map(viewed, makers))

    def _ends_sum_in_part(self, equation: Equation) -> bool:
        """True if a run of elements ends a reduction of its shape."""
        own, _ = part_of(equation, "")
        producers = [self._reduction_read_by(own, t) for t in reads(own)]
        return any(p is not None and self._is_only_reader(p, equation) for p in producers)

    def _new_name(self, tensor: Tensor) -> str:
        name = next(n for k in count(1) if (n := f"{tensor.name}_{k}") not in self._names)
        self._names.add(name)
        return name

    def _fuse_epilogues(self) -> None:
        cycle_of = cycles(self._graph.equations)
        for equation in self._graph.equations:
            if (
                not isinstance(equation, Equation)
                or is_reduction(equation)
                or equation.update is not None
                or viewed(equation)
            ):
                continue
            equation = self._moved_before_view(equation)
            candidates = [
                p for t in reads(equation) if (p := self._reduction_read_by(equation, t)) is not None
            ]
            # A sum that does not wait for the recurrence is done before it, for all times at once.
            candidates = [
                p for p in candidates if cycle_of.get(equation.target) in (None, cycle_of.get(p.target))
            ]
            if not candidates:
                continue
            exclusive = [p for p in candidates if self._is_only_reader(p, equation)]
            best = max(exclusive or candidates, key=lambda p: points(p.axes) * _reduced(p))
            exclusively = bool(exclusive) and equation.target not in self._apart
            saved = 2 * tensor_bytes(best.target)
            reason = (
                "others read it, too"
                if not exclusive
                else "done to the sum when it is complete"
                if exclusively
                else "a new value waits for its gradient, which takes memory that is free by then"
            )
            self.decisions.append(
                Decision("epilogue", best.target.name, (equation.target.name,), exclusively, saved, 0, reason)
            )
            if exclusively:
                self._graph.replace(equation, inline_values(equation, {best.target: best}))
                self._graph.replace(best)

    def _moved_before_view(self, equation: Equation) -> Equation:
        """An equation over elements of a view of a reduction, in the shape of the reduction:
        `T = view of V; E[i] = f(T[i])`  ->  `W[j] = f(V[j]); E = view of W`.
        """
        for tensor in reads(equation):
            seen = self._read_by_element(equation, tensor)
            producer = None if seen is None else self._behind_view(seen)
            if seen is None or producer is None or not is_reduction(producer):
                continue
            if not self._is_only_reader(seen, equation):
                continue
            moved = _before_view(equation, seen, self._new_name(equation.target))
            if moved is not None:
                self._graph.replace(equation, moved, view(equation.target, moved.target))
                self._graph.replace(seen)
                return moved
        return equation

    def _behind_view(self, equation: Equation) -> Equation | None:
        """The definition of what an equation is a view of, if nothing else reads it."""
        source = viewed(equation)
        producer = None if source is None else self._graph.definition(source)
        return producer if producer is not None and self._is_only_reader(producer, equation) else None

    def _is_only_reader(self, producer: Equation, reader: Equation) -> bool:
        """True if the reader alone needs the producer's result."""
        return producer.target not in self._required and all(
            e is reader for e in self._graph.readers(producer.target)
        )

    def _ends_reduction(self, equation: Equation) -> bool:
        """True if an equation alone reads a reduction, element by element, or what ends one."""
        for tensor in reads(equation):
            producer = self._read_by_element(equation, tensor)
            if producer is not None and self._is_only_reader(producer, equation):
                if viewed(producer):
                    seen, producer = producer, self._behind_view(producer)
                    if producer is None or _before_view(equation, seen, "") is None:
                        continue
                if is_reduction(producer) or self._ends_reduction(producer):
                    return True
        return False

    def _reduction_read_by(self, equation: Equation, tensor: Tensor) -> Equation | None:
        """The reduction that defines a tensor, if the equation reads it element by element."""
        producer = self._read_by_element(equation, tensor)
        return producer if producer is not None and is_reduction(producer) else None

    def _read_by_element(self, equation: Equation, tensor: Tensor) -> Equation | None:
        """The definition of a tensor, if the equation reads it element by element."""
        producer = self._graph.definition(tensor)
        if producer is None or tensor in reads(producer):
            return None
        found = uses(equation, tensor)
        same = equal(tensor.shape, equation.target.shape) and equation.target in definitions([equation])
        here = (
            len(found) == 1
            and found[0].read.guard is None
            and all(i is a.var for i, a in zip(found[0].read.indices, equation.axes))
        )
        return producer if same and here else None


def _before_view(equation: Equation, seen: Equation, name: str) -> Equation | None:
    """An equation over elements of a view as one over elements of what is viewed; None where its
    other operands would be read at quotients or remainders.
    """
    source = viewed(seen)
    assert source is not None
    back = view(source, seen.target)
    assert isinstance(back.value, Read)
    here = Read(source, tuple(a.var for a in back.axes))

    def rule(node: Node) -> Node | None:
        return here if isinstance(node, Read) and node.tensor is seen.target else None

    value = rewrite(element_value(equation, back.value.indices), rule)
    places = [i for n in walk(value) if isinstance(n, Read) for i in n.indices]
    if not all(linear(i).is_affine for i in places):
        return None
    target = replace(source, name=name, dtype=equation.target.dtype)
    return Equation(target, back.indices, back.axes, value)  # type: ignore[arg-type]


def _write_epilogue(part: Equation, reader: Equation) -> Equation:
    """The part of the reader's target that is computed from a part of what it reads."""

    def rule(node: Node) -> Node | None:
        return part.value if isinstance(node, Read) and node.tensor is part.target else None

    return replace(part, target=reader.target, value=rewrite(element_value(reader, part.indices), rule))  # type: ignore[arg-type]


def cycles(equations: Sequence[Equation | Invoke]) -> dict[Tensor, int]:
    """For tensors that are computed from each other, a number that they have in common."""
    groups = [
        [e.target for k in group if isinstance(e := equations[k], Equation)] for group in in_cycles(equations)
    ]
    return {t: k for k, targets in enumerate(groups) if len(targets) > 1 for t in targets}


def _reduced(equation: Equation) -> int:
    return prod(points(n.axes) for n in walk(equation.value) if isinstance(n, Reduce))


def _is_operand(reader: Equation, use: Use) -> bool:
    """True if a read stands in a sum of products, whose nest blocks and packs its operands."""
    assert use.inside is not None
    return is_contraction(reader) and use.inside.op == "sum"


def fuse(
    program: Program, apart: Set[Tensor] = frozenset(), alignment: int = 1, scales: bool = False
) -> tuple[Program, list[Decision]]:
    """A program with its equations written into others where that pays, and what was decided.

    Args:
        apart: tensors whose equations end no reduction.
        alignment: bytes, at multiples of which tensors have to begin.
        scales: operands of products take scales of others, as default schedules of CPUs do.
    """
    fusion = Fusion(program, apart, alignment, scales)
    return fusion.run(), fusion.decisions
