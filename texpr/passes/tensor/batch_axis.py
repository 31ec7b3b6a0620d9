"""Programs over one more index: `vmap` of programs.

Each tensor that depends on a mapped input gets a dimension, and each equation that defines it an
index. All else stays as it is: an instance of an equation reads what the same instance of the
original reads, in the part of each tensor that belongs to its example. So what was proven of the
program (bounds, coverage, no element twice) holds of the other for each example apart.
"""

from __future__ import annotations

from collections.abc import Sequence
from functools import lru_cache

from texpr.ir.expr import Axis, Dim, Expr, Node, Read, Tensor, Var, index
from texpr.ir.extern import is_extern
from texpr.ir.printing.types import RESERVED, claimed, size_variables, type_text
from texpr.ir.tensor import Equation, Invoke, Program
from texpr.ir.traverse import rewrite, tensors, walk
from texpr.passes.analysis.substitution import over_tensors
from texpr.passes.tensor.batched_extern import batched_extern, of_one_example
from texpr.support.errors import CheckError
from texpr.support.frozen_dataclass import frozen, replace
from texpr.support.spelling import counted

Place = int | None
"""Of a tensor: the dimension, as callers count them, that the examples lie along. None: all
examples share the tensor.
"""
SIZES = "B", "Batch"
INDICES = "b", "e", "example"
MOST_KNOWN = 4096


@frozen
class Origin:
    """The program that another was mapped from, and along which axes."""

    program: Program
    in_axes: tuple[Place, ...]
    out_axes: tuple[Place, ...]


_ORIGINS: dict[Program, Origin] = {}


def origin_of(program: Program) -> Origin | None:
    """The program that `vmap` made this one from; None of others."""
    single = of_one_example(program)
    if single is None:
        return _ORIGINS.get(program)
    original, mapped = single
    return Origin(original, tuple(0 if m else None for m in mapped), (0,) * len(program.outputs))


def vmap(program: Program, in_axes: Sequence[Place], out_axes: Sequence[Place]) -> Program:
    """The program `{name}_vmap` that computes `program` for several examples at once.

    Args:
        in_axes: of each input the dimension that its examples lie along; None for one that they
            share. Negative ones count from the end.
        out_axes: of each output the dimension that the results of the examples lie along. None is
            for outputs that no mapped input has a part in.
    Raises:
        CheckError: no input is mapped; a tensor has no such dimension; an operator of the runtime
            (`extern`) takes no further dimension.
    """
    made = _vmap(program, tuple(in_axes), tuple(out_axes))
    while len(_ORIGINS) >= MOST_KNOWN:
        _ORIGINS.pop(next(iter(list(_ORIGINS)), made), None)  # other threads may come first
    _ORIGINS[made] = Origin(program, tuple(in_axes), tuple(out_axes))
    return made


@lru_cache(maxsize=1024)
def _vmap(program: Program, in_axes: tuple[Place, ...], out_axes: tuple[Place, ...]) -> Program:
    return _Mapped(program, in_axes, out_axes).program()


class _Mapped:
    """A program on its way to the mapped one.

    Attributes:
        size: the number of examples.
        places: tensors that differ from example to example, with the dimension that is put in.
        tensors: what stands in the mapped program for tensors of the original.
        equations: of the mapped program so far.
    """

    def __init__(self, program: Program, in_axes: tuple[Place, ...], out_axes: tuple[Place, ...]) -> None:
        self.original, self._names = program, _names(program)
        self.size, self._index = Var(self._free(SIZES)), self._free(INDICES)
        self.places: dict[Tensor, int] = {}
        self.tensors: dict[Tensor, Tensor] = {}
        self.equations: list[Equation | Invoke] = []
        self._moved: dict[Tensor, Tensor] = {}
        for tensor, place in zip(program.inputs, in_axes, strict=True):
            if place is not None:
                self._map(tensor, dimension_at(program, tensor, place))
                self._check_rows(tensor)
        if not self.places:
            raise _refused(program, None, "no input is mapped", "in_axes=0 maps all along their first axis")
        different = _different(program, set(self.places))
        self.outputs = tuple(self._output(t, p, different) for t, p in zip(program.outputs, out_axes))
        for tensor in program.temporaries:
            if tensor in different:
                self._map(tensor, 0)

    def program(self) -> Program:
        """The mapped program."""
        if is_extern(self.original):
            self._call(Invoke(self.original.outputs, self.original, self.original.inputs))
        for equation in self.original.equations:
            if not any(t in self.places for t in equation.targets):
                self.equations.append(over_tensors(equation, self.tensors))
            elif isinstance(equation, Equation):
                self.equations.append(self._equation(equation))
            else:
                self._call(equation)
        for tensor, made in zip(self.original.outputs, self.outputs):
            if tensor not in self.places and self.tensors.get(tensor, made) is not made:
                self._copy(self.tensors[tensor], None, made, _new_dimension(tensor, made))
        inputs = tuple(self.tensors.get(t, t) for t in self.original.inputs)
        return replace(
            self.original,
            name=f"{self.original.name}_vmap",
            inputs=inputs,
            outputs=self.outputs,
            equations=tuple(self.equations),
            sizes=_in_order(inputs, (self.size, *self.original.sizes)),
            doc="",
        )

    def _free(self, wishes: Sequence[str]) -> str:
        """The first name that is not taken."""
        return claimed(next((w for w in wishes if w not in self._names), wishes[-1]), self._names)

    def _map(self, tensor: Tensor, dimension: int) -> None:
        """Let a tensor differ from example to example."""
        self.places[tensor], self.tensors[tensor] = dimension, self._with_dimension(tensor, dimension)

    def _with_dimension(self, tensor: Tensor, at: int) -> Tensor:
        """The tensor over one more dimension. Rows lie along the last one: where another comes to
        be that, nothing is known of them.
        """
        dims = (*tensor.dims[:at], Dim((self.size,)), *tensor.dims[at:])
        return replace(tensor, dims=dims, distinct=tensor.distinct and at < len(tensor.dims))

    def _check_rows(self, tensor: Tensor) -> None:
        if tensor.distinct and not self.tensors[tensor].distinct:
            raise _refused(
                self.original,
                tensor,
                f"`{tensor.name}` is distinct along its last axis, which the examples would be",
                "map it along another axis: its rows stay rows then",
            )

    def _output(self, tensor: Tensor, place: Place, different: set[Tensor]) -> Tensor:
        """The output in the place of one of the original. Where all examples share it, it is
        computed once, under another name, and stands there for each of them.
        """
        if tensor not in different:
            if place is None:
                return tensor
            self.tensors[tensor] = replace(tensor, name=self._free((f"{tensor.name}_once",)), distinct=False)
            return self._with_dimension(tensor, dimension_at(self.original, tensor, place))
        if place is None:
            raise _refused(
                self.original,
                tensor,
                f"`{tensor.name}` differs from example to example, and its out_axes is None",
                "None is for outputs that depend on no mapped input; give it an axis",
            )
        self._map(tensor, dimension_at(self.original, tensor, place))
        return self.tensors[tensor]

    def _equation(self, equation: Equation) -> Equation:
        """An equation for every example."""
        b, target = Var(self._index), equation.target

        def rule(node: Node) -> Node | None:
            if not isinstance(node, Read) or node.tensor not in self.tensors:
                return None
            read = replace(node, tensor=self.tensors[node.tensor])
            place = self.places.get(node.tensor)
            return read if place is None else replace(read, indices=_put(read.indices, node.tensor, place, b))

        made = rewrite(equation, rule, kinds=_READS)
        indices = _put(made.indices, target, self.places[target], b)
        axes, at = made.axes, self._axis_place(equation, indices, b)
        axes = (*axes[:at], Axis(b, index(0), self.size), *axes[at:])
        return replace(made, target=self.tensors[target], indices=indices, axes=axes)

    def _axis_place(self, equation: Equation, indices: tuple[Expr, ...], b: Var) -> int:
        """The place of the new index among the others: where it stands on the left, as in an
        equation that was written with it, if no range before it depends on the example; else first.
        """
        at = indices.index(b)
        others = (*indices[:at], *indices[at + 1 :])
        bare = len(others) == len(equation.axes) and all(i is a.var for i, a in zip(others, equation.axes))
        ranges = tensors(*equation.axes[:at]) if at else ()
        return at if bare and not any(t in self.places for t in ranges) else 0

    def _call(self, call: Invoke) -> None:
        """The call of the mapped callee: with the examples along the first dimension of all that
        differs.
        """
        mapped = [a in self.places for a in call.args]
        if is_extern(call.program):
            callee = batched_extern(call.program, mapped)
        else:
            callee = vmap(call.program, [0 if m else None for m in mapped], [0] * len(call.targets))
        args = [self._first(a) for a in call.args]
        targets = [
            t
            if self.places[o] == 0
            else replace(self._with_dimension(o, 0), name=self._free((f"{o.name}_first",)))
            for o, t in ((o, self.tensors[o]) for o in call.targets)
        ]
        self.equations.append(Invoke(tuple(targets), callee, tuple(args), call.span))
        for original, made in zip(call.targets, targets):
            if made is not self.tensors[original]:
                self._copy(made, 0, self.tensors[original], self.places[original])

    def _first(self, tensor: Tensor) -> Tensor:
        """An argument with its examples along the first dimension."""
        found = self.tensors.get(tensor, tensor)
        if self.places.get(tensor, 0) == 0:
            return found
        if tensor not in self._moved:
            moved = replace(self._with_dimension(tensor, 0), name=self._free((f"{tensor.name}_first",)))
            self._moved[tensor] = moved
            self._copy(found, self.places[tensor], moved, 0)
        return self._moved[tensor]

    def _copy(self, source: Tensor, there: Place, target: Tensor, here: int) -> None:
        """`target[...] = source[...]`, whose dimensions of examples stand in different places."""
        b, names = Var(self._index), set(self._names)
        sizes = [s for k, d in enumerate(target.dims) if k != here for s in d.sizes]
        packs = [d.pack for k, d in enumerate(target.dims) if k != here for _ in d.sizes]
        others: list[Var] = []
        for k, pack in enumerate(packs):
            others.append(Var(claimed(f"i{k}", names), pack))
        at = sum(len(d.sizes) for d in target.dims[:here])
        axes = [Axis(v, index(0), s) for v, s in zip(others, sizes)]
        axes.insert(at, Axis(b, index(0), self.size))
        read = list(others)
        if there is not None:
            read.insert(sum(len(d.sizes) for d in source.dims[:there]), b)
        indices = tuple(a.var for a in axes)
        self.equations.append(Equation(target, indices, tuple(axes), Read(source, tuple(read))))


_READS = frozenset({Read})


def _put(indices: tuple[Expr, ...], tensor: Tensor, dimension: int, b: Var) -> tuple[Expr, ...]:
    """Indices of a tensor with that of the example among them."""
    at = sum(len(d.sizes) for d in tensor.dims[:dimension])
    return (*indices[:at], b, *indices[at:])


def _new_dimension(tensor: Tensor, made: Tensor) -> int:
    """The dimension that was put in."""
    return next((k for k, d in enumerate(tensor.dims) if made.dims[k] is not d), len(tensor.dims))


def _different(program: Program, mapped: set[Tensor]) -> set[Tensor]:
    """The tensors that depend on mapped ones, and these."""
    if is_extern(program):
        return mapped | set(program.outputs)
    readers: dict[Tensor, list[Equation | Invoke]] = {}
    for equation in program.equations:
        for tensor in tensors(equation) if isinstance(equation, Equation) else equation.args:
            readers.setdefault(tensor, []).append(equation)
    found, left = set(mapped), list(mapped)
    while left:
        for equation in readers.get(left.pop(), ()):
            new = set(equation.targets) - found
            found |= new
            left += new
    return found


def _names(program: Program) -> set[str]:
    """All names in a program, and the words of the language."""
    things = (*program.inputs, *program.outputs, *program.temporaries, *program.sizes)
    equations = [e for e in program.equations if isinstance(e, Equation)]
    indices = {n.var.name for n in walk(*equations) if isinstance(n, Axis)}
    return {t.name for t in things} | {n for n, _ in program.constants} | indices | RESERVED


def _in_order(inputs: Sequence[Tensor], sizes: Sequence[Var]) -> tuple[Var, ...]:
    """Sizes in the order in which inputs show them, as those of a text are."""
    shown = [s for s in size_variables(inputs) if s in set(sizes)]
    return tuple(dict.fromkeys((*shown, *sizes)))


def dimension_at(program: Program, tensor: Tensor, place: int) -> int:
    """The dimension of a type before which the one of the examples stands, so that callers see it
    at `place`.

    Raises:
        CheckError: there is no such place, or it is inside of a pack.
    """
    lengths = [d.length if d.pack else 1 for d in tensor.dims]
    steps = lengths if place >= 0 else lengths[::-1]
    wanted, at = (place if place >= 0 else -1 - place), 0
    for k, length in enumerate((*steps, 0)):
        if at == wanted:
            return k if place >= 0 else len(lengths) - k
        if k == len(steps):
            break
        if length is None or at + length > wanted:
            raise _refused(
                program,
                tensor,
                f"axis {place} of `{tensor.name}: {type_text(tensor)}` is inside of a pack",
                "map along 0 or -1, and move the axis there: np.moveaxis, Tensor.movedim",
            )
        at += length
    last = sum(n or 0 for n in lengths)
    raise _refused(
        program,
        tensor,
        f"axis {place} of `{tensor.name}`, which has {counted(last, 'axis', 'axes')} without the examples",
        f"it is {-last - 1} to {last}" if last else "it is 0",
    )


def _refused(program: Program, tensor: Tensor | None, what: str, way: str) -> CheckError:
    span = program.span if tensor is None else tensor.span or program.span
    return CheckError(f"vmap of `{program.name}`: {what}", span, code="vmap", help=way)
