"""Calls of operators on whole tensors: matching arguments, the callee's sizes, and the tensors
that come out.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field

from texpr.ir.affine import same_value
from texpr.ir.build import product
from texpr.ir.dtypes import DTYPES, DType
from texpr.ir.expr import Compare, Const, Dim, Expr, Tensor, Var
from texpr.ir.printing.expr import show
from texpr.ir.tensor import Invoke, Program
from texpr.lang.elaboration.declaration import OpDeclaration
from texpr.lang.elaboration.name_scope import OUTSIDE, unknown
from texpr.lang.elaboration.scalars import Scalars, dimensions
from texpr.lang.syntax import tree
from texpr.passes.analysis.substitution import folded, resized
from texpr.support.errors import CheckError
from texpr.support.fixes import Fix, Require
from texpr.support.source import Span
from texpr.support.spelling import counted

Instance = Callable[
    [OpDeclaration, dict[str, DType], dict[str, int | float | bool], frozenset[str], Span], Program
]


@dataclass(slots=True)
class Arguments:
    """The arguments of one call by the callee's names."""

    tensors: dict[str, tuple[Tensor, Span]] = field(default_factory=dict)
    constants: dict[str, int | float | bool] = field(default_factory=dict)


def invoke(
    node: tree.Equation,
    call: tree.Call,
    callee: OpDeclaration,
    s: Scalars,
    requires: Sequence[Expr],
    instance: Instance,
) -> Invoke:
    """`targets = callee(arguments)`. What the callee requires is proven with the caller
    (`poly`), from what the caller `requires`.
    """
    if node.update != "=" or node.ranges or node.where is not None:
        raise CheckError(
            "a call of an operator is a whole right side",
            node.span,
            code="call",
            help=f"T = {callee.name}(...), then use T[...]",
        )
    found = _arguments(call, callee, s)
    absent = _absent(callee, found, call)
    _count_axes(callee, found, call)
    program = instance(callee, _dtypes(callee, found, call), found.constants, absent, call.span)
    arguments = tuple(found.tensors[t.name][0] for t in program.inputs)
    sizes = Sizes(requires)
    for parameter in program.inputs:
        argument, span = found.tensors[parameter.name]
        if argument.dtype != parameter.dtype:
            raise CheckError(
                f"`{parameter.name}` of `{callee.name}` is {parameter.dtype}, `{argument.name}` is "
                f"{argument.dtype}",
                span,
                code="dtype",
            )
        sizes.match(parameter, argument, span)
    for parameter in program.inputs:
        sizes.promised(parameter, *found.tensors[parameter.name])
    return Invoke(_targets(node, program, sizes, s), program, arguments, span=node.span)


def _arguments(call: tree.Call, callee: OpDeclaration, s: Scalars) -> Arguments:
    found = Arguments()
    inputs, constants = [i.name for i in callee.inputs], [c.name for c in callee.constants]
    for k, argument in enumerate(call.arguments):
        keyword = isinstance(argument, tree.Keyword)
        name, value = (
            (argument.name.text, argument.value)
            if keyword
            else (inputs[k] if k < len(inputs) else "", argument)
        )
        if not name:
            raise CheckError(
                f"`{callee.name}` has {counted(len(inputs), 'input')}",
                argument.span,
                code="call",
                help=f"constants are keywords: {', '.join(f'{c}=...' for c in constants)}"
                if constants
                else "",
            )
        if name in found.tensors or name in found.constants:
            raise CheckError(f"`{name}` is given twice", argument.span, code="call")
        if name in constants:
            found.constants[name] = _constant(value, s)
        elif name in inputs:
            found.tensors[name] = _tensor(value, s), value.span
        else:
            raise unknown("input or constant", name, argument.span, (*inputs, *constants))
    return found


def _constant(node: tree.Tree, s: Scalars) -> int | float | bool:
    value = s.value(node, OUTSIDE.as_value())
    if not isinstance(value.expr, Const):
        raise CheckError("a constant of an operator is known when it is compiled", node.span, code="constant")
    return value.expr.value


def _tensor(node: tree.Tree, s: Scalars) -> Tensor:
    if not isinstance(node, tree.Name):
        raise CheckError(
            "an argument of an operator is a whole tensor, by name",
            node.span,
            code="call",
            help="give the expression an equation of its own and pass its name",
        )
    known = s.names.tensors
    if node.text not in known:
        raise unknown("tensor", node.text, node.span, known)
    if node.text in s.names.defaults:
        raise CheckError(
            f"the optional input `{node.text}` is absent here and cannot be passed on", node.span, code="call"
        )
    return known[node.text]


def _dtypes(callee: OpDeclaration, found: Arguments, call: tree.Call) -> dict[str, DType]:
    variables = {v.name for v in callee.type_variables}
    dtypes: dict[str, DType] = {}
    for spec in callee.inputs:
        if spec.name not in found.tensors or spec.dtype not in variables:
            continue
        argument, span = found.tensors[spec.name]
        if dtypes.setdefault(spec.dtype, argument.dtype) != argument.dtype:
            raise CheckError(
                f"`{spec.dtype}` of `{callee.name}` is {dtypes[spec.dtype]} and {argument.dtype}",
                span,
                code="dtype",
            )
    for name in variables - dtypes.keys():
        raise CheckError(
            f"the type `{name}` of `{callee.name}` does not follow from its arguments",
            call.span,
            code="dtype",
            help=f"write an operator with a definite type, one of {', '.join(DTYPES)}",
        )
    return dtypes


def _count_axes(callee: OpDeclaration, found: Arguments, call: tree.Call) -> None:
    """Axes from the end become axes from the start: the arguments' ranks are known."""
    places = {a.name.text: a.span for a in call.arguments if isinstance(a, tree.Keyword)}
    for spec in callee.axes:
        value = found.constants.get(spec.constant, spec.default)
        if type(value) is not int or spec.input not in found.tensors:
            continue
        argument, span = found.tensors[spec.input]
        ranks = [d.length if d.pack else 1 for d in argument.dims]
        if None in ranks:
            if value < 0:
                raise CheckError(
                    f"{spec.constant} = {value} counts from the end of `{argument.name}`, whose packs have "
                    f"any number of "
                    f"dimensions",
                    places.get(spec.constant, span),
                    code="shape",
                    help="count from the start: 0 is the first",
                )
            continue
        rank = sum(n for n in ranks if n is not None)
        first = spec.from_start(value, rank)
        if first is None:
            raise CheckError(
                f"{spec.constant} = {value} is no axis of `{argument.name}`, which has "
                f"{counted(rank, 'dimension')}",
                places.get(spec.constant, span),
                code="shape",
                help=spec.allowed(rank),
            )
        if spec.constant in found.constants or first != spec.default:
            found.constants[spec.constant] = first


def _absent(callee: OpDeclaration, found: Arguments, call: tree.Call) -> frozenset[str]:
    missing = [i for i in callee.inputs if i.name not in found.tensors]
    needed = [f"`{i.name}`" for i in missing if not i.optional]
    if needed:
        raise CheckError(f"`{callee.name}` needs {', '.join(needed)}", call.span, code="call")
    return frozenset(i.name for i in missing)


class Sizes:
    """The callee's sizes in terms of the caller's."""

    def __init__(self, requires: Sequence[Expr]) -> None:
        self.values: dict[Var, Expr] = {}
        self.packs: dict[Var, tuple[Dim, ...]] = {}
        self.requires = requires

    def match(self, parameter: Tensor, argument: Tensor, span: Span) -> None:
        """Bind sizes and packs of a parameter to the dimensions of its argument."""
        given = list(argument.dims)
        todo = list(parameter.dims)
        while todo and self._count(todo[0]) is not None:
            self._take(todo.pop(0), given, parameter, argument, span)
        tail: list[tuple[Dim, list[Dim]]] = []
        while len(todo) > 1 and self._count(todo[-1]) is not None:
            dim = todo.pop()
            count = self._count(dim) or 0
            tail.append((dim, given[len(given) - count :] if count else []))
            del given[len(given) - count :]
        if len(todo) > 1:
            raise CheckError(
                f"the packs of `{parameter.name}` cannot be told apart in `{argument.name}`",
                span,
                code="shape",
            )
        if todo:
            self._bind_pack(todo[0], tuple(given), argument, span)
            given = []
        for dim, taken in tail:
            self._take(dim, taken, parameter, argument, span)
        if given:
            raise self._rank(parameter, argument, span)

    def _count(self, dim: Dim) -> int | None:
        """Number of dimensions that a dimension of the callee takes of the argument; None for a
        pack not yet known.
        """
        if not dim.pack:
            return 1
        var = dim.sizes[0]
        return dim.length if dim.length is not None else len(self.packs[var]) if var in self.packs else None  # type: ignore[index]

    def _rank(self, parameter: Tensor, argument: Tensor, span: Span) -> CheckError:
        least = sum(self._count(d) or 0 for d in parameter.dims)
        return CheckError(
            f"`{parameter.name}` takes {counted(least, 'dimension')}, `{argument.name}` has "
            f"{dimensions(argument)}",
            span,
            code="shape",
        )

    def _take(self, dim: Dim, given: list[Dim], parameter: Tensor, argument: Tensor, span: Span) -> None:
        count = self._count(dim) or 0
        if len(given) < count:
            raise self._rank(parameter, argument, span)
        taken = tuple(given[:count])
        del given[:count]
        if dim.pack:
            self._bind_pack(dim, taken, argument, span)
            return
        (actual,) = taken
        if actual.pack or len(actual.sizes) != len(dim.sizes):
            raise CheckError(
                f"a dimension of `{argument.name}` is {'a pack' if actual.pack else 'grouped differently'} "
                f"and cannot be "
                f"passed as `{parameter.name}`",
                span,
                code="shape",
            )
        for size, value in zip(dim.sizes, actual.sizes):
            self._bind(size, value, argument, span)

    def _bind_pack(self, dim: Dim, taken: tuple[Dim, ...], argument: Tensor, span: Span) -> None:
        var = dim.sizes[0]
        assert isinstance(var, Var)
        if dim.length is not None and any(d.pack and d.length is None for d in taken):
            raise CheckError(
                f"`{argument.name}` has a pack, so where its dimensions split is not known",
                span,
                code="shape",
            )
        known = self.packs.setdefault(var, taken)
        sizes, others = [s for d in known for s in d.sizes], [s for d in taken for s in d.sizes]
        if len(sizes) != len(others):
            raise CheckError(
                f"`*{var.name}` has {len(sizes)} and {counted(len(others), 'dimension')}", span, code="shape"
            )
        for a, b in zip(sizes, others):
            self.same(a, b, argument, span)
        self.values[var] = product(tuple(sizes))

    def _bind(self, size: Expr, value: Expr, argument: Tensor, span: Span) -> None:
        if isinstance(size, Var) and size not in self.values:
            self.values[size] = value
        else:
            self.same(folded(size, self.values), value, argument, span)

    def same(self, a: Expr, b: Expr, argument: Tensor, span: Span) -> None:
        """Two sizes must be equal, by arithmetic or because the caller requires it."""
        if same_value(a, b):
            return
        for r in self.requires:
            if (
                isinstance(r, Compare)
                and r.op == "=="
                and (
                    same_value(r.lhs, a)
                    and same_value(r.rhs, b)
                    or same_value(r.lhs, b)
                    and same_value(r.rhs, a)
                )
            ):
                return
        equal = f"{show(a)} == {show(b)}"
        raise CheckError(
            f"a size of `{argument.name}` is {show(b)} where {show(a)} is needed",
            span,
            code="shape",
            fixes=[
                Fix(f"give both one name, or state it: require {equal}", (Require(equal),)),
                Fix("give both one name"),
            ],
        )

    def promised(self, parameter: Tensor, argument: Tensor, span: Span) -> None:
        """Elements that the callee assumes distinct must be declared so."""
        if parameter.distinct and not argument.distinct:
            raise CheckError(
                f"`{parameter.name}` must be distinct, `{argument.name}` need not be", span, code="shape"
            )
        last = parameter.dims[-1] if parameter.distinct and parameter.dims else None
        if last is not None and last.pack and len(self.packs[last.sizes[0]]) > 1:  # type: ignore[index]
            raise CheckError(
                f"all of `{parameter.name}` must be distinct, of `{argument.name}` only each row is",
                span,
                code="shape",
            )

    def result(self, output: Tensor, name: str, span: Span) -> Tensor:
        """An output of the callee as a tensor of the caller."""
        dims: list[Dim] = []
        for dim in output.dims:
            dims += self.packs[dim.sizes[0]] if dim.pack else [dim]  # type: ignore[index]
        whole = Tensor(name, output.dtype, tuple(dims), output.value_range, output.distinct, span=span)
        return resized(whole, self.values)


def _targets(node: tree.Equation, program: Program, sizes: Sizes, s: Scalars) -> tuple[Tensor, ...]:
    if len(node.targets) != len(program.outputs):
        raise CheckError(
            f"`{program.name}` has {counted(len(program.outputs), 'result')}, found "
            f"{counted(len(node.targets), 'left side')}",
            node.span,
            code="call",
        )
    result: list[Tensor] = []
    for target, output in zip(node.targets, program.outputs):
        made = sizes.result(output, target.name.text, target.span)
        known = s.names.tensors.get(made.name)
        if known is None:
            s.names.declare(made.name, target.name.span)
            s.names.tensors[made.name] = known = made
        elif known.dtype != made.dtype or known.rank != made.rank:
            raise CheckError(
                f"`{made.name}` is declared as {known.dtype} with {dimensions(known)}, `{program.name}` "
                f"gives {made.dtype} "
                f"with {dimensions(made)}",
                target.span,
                code="shape",
            )
        else:
            for a, b in zip(known.shape, made.shape):
                sizes.same(a, b, known, target.span)
            known = s.names.refine(known, made)
        result.append(known)
    return tuple(result)
