"""Scalar expressions: from syntax to typed IR.

Functions that descend are generators run by `support.trampoline`, so that the depth of a text never
meets the depth of Python's stack.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping

from texpr.ir.affine import linear
from texpr.ir.dtypes import BOOL, I64, U64
from texpr.ir.expr import Expr, FloorDiv, Guard, Max, Min, Mod, Read, Select, Tensor, Var
from texpr.ir.index.overflow import LARGEST_FACTOR
from texpr.ir.printing.expr import show
from texpr.ir.traverse import children
from texpr.lang.elaboration.function_calls import call
from texpr.lang.elaboration.name_scope import Names, Scope, Use, unknown
from texpr.lang.elaboration.reduction_elaboration import reduction, widened
from texpr.lang.elaboration.typed_values import Arithmetic, Value, as_i64, at, describe, literal, materialize
from texpr.lang.syntax import tree
from texpr.lang.syntax.advice import GUARDS, NAMES, compared, converted, letters
from texpr.support.errors import CheckError, ResourceError
from texpr.support.fixes import Fix, Write
from texpr.support.source import Span
from texpr.support.spelling import counted
from texpr.support.trampoline import Steps, run

MAX_CHAIN = 200
"""Numbers that are compared in a row."""


class Scalars:
    """Elaborates the expressions of one operator.

    Attributes:
        largest: factor or offset in an index.
        uses: for each index, the unguarded reads in which it stands alone.
        inlined: how many scalar functions have been inlined.
    """

    def __init__(
        self,
        names: Names,
        functions: Mapping[str, tree.Function],
        arithmetic: Arithmetic,
        is_operator: Callable[[str], bool] = lambda name: False,
        largest: int = LARGEST_FACTOR,
        in_library: Callable[[str, Span], bool] = lambda name, span: False,
    ) -> None:
        self.names, self.functions, self.arithmetic = names, functions, arithmetic
        self.is_operator, self.in_library = is_operator, in_library
        self.largest = largest
        self.uses: dict[Var, list[Use]] = {}
        self.inlined = 0

    def value(self, node: tree.Tree, scope: Scope) -> Value:
        """The meaning of an expression."""
        return run(self.steps(node, scope))

    def index(self, node: tree.Tree, scope: Scope) -> Expr:
        """An index, size or bound: an i64 expression."""
        return run(self.index_steps(node, scope))

    def condition(self, node: tree.Tree, scope: Scope) -> Expr:
        """A bool."""
        return run(self.condition_steps(node, scope))

    def steps(self, node: tree.Tree, scope: Scope) -> Steps:
        """The value of an expression, as a generator."""
        match node:
            case tree.Number(span, value):
                return _immediate(literal(value, span))
            case tree.Name(span, text):
                return _immediate(self._name(text, span, scope))
            case tree.Binary(_, "and" | "or"):
                return self._logic(node, scope)
            case tree.Binary():
                return self._binary(node, scope)
            case tree.Unary(_, "not"):
                return self._not(node, scope)
            case tree.Unary():
                return self._minus(node, scope)
            case tree.Comparison():
                return self._comparison(node, scope)
            case tree.Conditional():
                return self._conditional(node, scope)
            case tree.Access():
                return self._access(node, scope)
            case tree.Reduction():
                return reduction(self, node, scope)
            case tree.Call():
                return call(self, node, scope)
            case tree.Group(span):
                raise CheckError(
                    "a group stands only as the index of a grouped dimension", span, code="index"
                )
            case tree.PackName(span, text):
                raise CheckError(f"`*{text}` stands only as an index or a binder", span, code="index")
        raise AssertionError(f"no meaning for {type(node).__name__}")

    def index_steps(self, node: tree.Tree, scope: Scope) -> Steps:
        """An i64 expression, as a generator."""
        value = yield self.steps(node, scope.as_index())
        if value.weak and value.dtype.is_int:
            return materialize(value, I64, node.span)
        if not value.dtype.is_int or value.dtype == U64:
            raise _no_index(node, value)
        return as_i64(value.expr, node.span)

    def condition_steps(self, node: tree.Tree, scope: Scope) -> Steps:
        """A bool, as a generator."""
        value = yield self.steps(node, scope.unwidened())
        if value.dtype != BOOL:
            raise CheckError(
                f"a condition is a bool; found {describe(value)}",
                node.span,
                code="dtype",
                fixes=[compared(node.span.text)],
            )
        return value.expr

    def _binary(self, node: tree.Binary, scope: Scope) -> Steps:
        lhs = yield self.steps(node.lhs, scope)
        rhs = yield self.steps(node.rhs, scope)
        return self.arithmetic.binary(node.operator, lhs, rhs, node.span)

    def _logic(self, node: tree.Binary, scope: Scope) -> Steps:
        lhs = yield self.condition_steps(node.lhs, scope)
        rhs = yield self.condition_steps(node.rhs, scope)
        make = self.arithmetic.conjunction if node.operator == "and" else self.arithmetic.disjunction
        return Value(at(make(lhs, rhs), node.span))

    def _not(self, node: tree.Unary, scope: Scope) -> Steps:
        operand = yield self.condition_steps(node.operand, scope)
        return Value(at(self.arithmetic.negation(operand), node.span))

    def _minus(self, node: tree.Unary, scope: Scope) -> Steps:
        operand = yield self.steps(node.operand, scope)
        return self.arithmetic.negate(operand, node.span)

    def _comparison(self, node: tree.Comparison, scope: Scope) -> Steps:
        if len(node.operands) > MAX_CHAIN:
            raise ResourceError(
                f"a chain of {len(node.operands)} comparisons",
                node.span,
                code="quota",
                help=f"at most {MAX_CHAIN} numbers are compared in a row; of many, all(i in 1..N: X[i - 1] < "
                f"X[i])",
            )
        operands = []
        for operand in node.operands:
            operands.append((yield self.steps(operand, scope.unwidened())))
        result: Expr | None = None
        for symbol, a, b in zip(node.operators, operands, operands[1:]):
            step = self.arithmetic.compare(symbol, a, b, node.span)
            result = step if result is None else at(self.arithmetic.conjunction(result, step), node.span)
        assert result is not None
        return Value(result)

    def _conditional(self, node: tree.Conditional, scope: Scope) -> Steps:
        cond = yield self.condition_steps(node.cond, scope)
        then = yield self.steps(node.then, scope)
        orelse = yield self.steps(node.orelse, scope)
        return self.arithmetic.select(cond, then, orelse, node.span)

    def _name(self, text: str, span: Span, scope: Scope) -> Value:
        found = scope.local.get(text)
        if isinstance(found, Value):
            return found
        if isinstance(found, Var):
            if found.pack:
                raise CheckError(
                    f"`{text}` stands for all indices of a pack and is used whole",
                    span,
                    code="index",
                    help=f"X[*{text}]",
                )
            return self.arithmetic.variable(found)
        if scope.inlining:
            raise unknown("name", text, span, scope.local)
        return self._known(text, span, scope)

    def _known(self, text: str, span: Span, scope: Scope) -> Value:
        """A constant, size or rank-0 tensor."""
        names = self.names
        if text in names.constants:
            return names.constants[text]
        if text in names.sizes:
            if names.sizes[text].pack:
                raise CheckError(
                    f"`{text}` is a pack of dimensions",
                    span,
                    code="name",
                    help=f"its number of elements is numel({text})",
                )
            return self.arithmetic.size(names.sizes[text])
        tensor = names.tensors.get(text)
        if tensor is None:
            raise self._unbound(text, span, scope)
        if tensor.dims:
            raise CheckError(
                f"`{text}` has {dimensions(tensor)} and stands without indices",
                span,
                code="index",
                help=f"its elements are {text}[{', '.join('ijklmn'[: len(tensor.dims)])}]",
            )
        return self._read(tensor, (), None, span, scope)

    def _unbound(self, text: str, span: Span, scope: Scope) -> CheckError:
        if text in NAMES:
            return CheckError(f"`{text}` is not bound", span, code="name", help=NAMES[text])
        error = unknown("name", text, span, [*scope.local, *self.names])
        if scope.outside:
            return CheckError(
                f"`{text}` is not a known size or constant",
                span,
                code="name",
                notes=(error.help,) if error.help.startswith("did you") else (),
                help="a size is bound by a dimension of an input, or is a constant after `;`",
            )
        if error.help.startswith("did you mean") and len(text) > 2:
            return error
        notes = (error.help,) if error.help.startswith("did you") else ()
        if (
            "//"
            in span.source.line(span.source.position(span.start)[0])[: span.source.position(span.start)[1]]
        ):
            notes = (*notes, "`//` divides; a comment begins with `#`")
        return CheckError(
            f"`{text}` is not bound",
            span,
            code="name",
            notes=notes,
            help=f"make it an index of the left side, or run over it: sum({text}: ...)",
        )

    def _access(self, node: tree.Access, scope: Scope) -> Steps:
        name = node.name.text
        tensor = self.names.tensors.get(name)
        if tensor is None or scope.inlining:
            raise unknown("tensor", name, node.name.span, () if scope.inlining else self.names.tensors)
        indices = yield self.indices(tensor, node.indices, node.span, scope, node.guard is None)
        guard = None
        if node.guard is not None:
            value = None
            if node.guard.value is not None:
                self._check_guard(node.guard.value, scope)
                found = yield self.steps(node.guard.value, scope.unwidened())
                value = self.arithmetic.store(found, tensor.dtype, node.guard.span)
            guard = Guard(node.guard.mode, value)
        return self._read(tensor, indices, guard, node.span, scope)

    def _check_guard(self, value: tree.Tree, scope: Scope) -> None:
        """Names that other libraries give to guards."""
        meant = GUARDS.get(value.text) if isinstance(value, tree.Name) else None
        if (
            meant is not None
            and isinstance(value, tree.Name)
            and value.text not in scope.local
            and value.text not in self.names
        ):
            raise CheckError(
                f"`{value.text}` is no guard",
                value.span,
                code="name",
                fixes=[Fix(f"write `| {meant}`", (Write(value.text, meant),))],
            )

    def indices(
        self, tensor: Tensor, nodes: tuple[tree.Tree, ...], span: Span, scope: Scope, infers: bool
    ) -> Steps:
        """The flat indices of an element, one per entry of the tensor's shape."""
        if len(nodes) != len(tensor.dims):
            shape = ", ".join(dimension(tensor, k) for k in range(len(tensor.dims)))
            found = counted(len(nodes), "index", "indices")
            way_out = f"its shape is [{shape}]"
            if not tensor.dims:
                way_out = f"it is one number: {tensor.name}"
            elif not nodes:
                way_out = f"an equation is about elements: {tensor.name}[{letters(len(tensor.dims))}]"
            raise CheckError(
                f"`{tensor.name}` has {dimensions(tensor)}, found {found}", span, code="index", help=way_out
            )
        result: list[Expr] = []
        for axis, (dim, node) in enumerate(zip(tensor.dims, nodes)):
            entries = node.items if isinstance(node, tree.Group) else (node,)
            if len(entries) != len(dim.sizes) or not self.arithmetic.fits_pack(dim.pack, node):
                raise _wrong_kind(tensor, axis, node.span)
            for entry, size in zip(entries, dim.sizes):
                e = yield self.entry(entry, scope)
                if infers and isinstance(e, Var) and isinstance(entry, tree.Name | tree.PackName):
                    self.uses.setdefault(e, []).append(Use(size, tensor.name, axis, entry.span))
                result.append(e)
        return tuple(result)

    def entry(self, node: tree.Tree, scope: Scope) -> Steps:
        """One index: an expression, or `*s` of a pack."""
        if isinstance(node, tree.PackName):
            found = scope.local.get(node.text)
            if not isinstance(found, Var) or not found.pack:
                raise CheckError(
                    f"`*{node.text}` is not bound",
                    node.span,
                    code="name",
                    help=f"make it an index of the left side, or run over it: sum(*{node.text}: ...)",
                )
            return found
        e = yield self.index_steps(node, scope)
        _check_reach(e, node.span, self.largest)
        return e

    def _read(
        self, tensor: Tensor, indices: tuple[Expr, ...], guard: Guard | None, span: Span, scope: Scope
    ) -> Value:
        default = self.names.defaults.get(tensor.name)
        if default is not None:
            return (
                default
                if not (scope.index and default.dtype.is_int)
                else Value(as_i64(default.expr, span), "literal")
            )
        read = Read(tensor, indices, guard, span=span)
        if tensor in self.names.parameters:
            return Value(as_i64(read, span), "parameter")
        if scope.index and tensor.dtype.is_int and tensor.dtype != U64:
            return Value(as_i64(read, span))
        return Value(widened(read, scope.widen))


def _immediate(value: Value) -> Steps:
    return value
    yield


def dimensions(tensor: Tensor) -> str:
    """`1 dimension`, `3 dimensions`."""
    return counted(len(tensor.dims), "dimension")


def dimension(tensor: Tensor, axis: int) -> str:
    """A dimension as it was declared: `N`, `(C, H)`, `*S`."""
    dim = tensor.dims[axis]
    size = dim.sizes[0]
    if dim.pack:
        return f"*{size.name}" if isinstance(size, Var) else f"*{show(size)}"
    inside = ", ".join(show(size) for size in dim.sizes)
    return inside if len(dim.sizes) == 1 else f"({inside})"


def _wrong_kind(tensor: Tensor, axis: int, span: Span) -> CheckError:
    dim = tensor.dims[axis]
    message = f"axis {axis} of `{tensor.name}` is {dimension(tensor, axis)}"
    if dim.pack:
        return CheckError(f"{message}, a pack", span, code="index", help="a pack is indexed whole: *s")
    if len(dim.sizes) > 1:
        return CheckError(
            f"{message}, a group",
            span,
            code="index",
            help=f"index it by a group: ({', '.join('ijklmn'[: len(dim.sizes)])})",
        )
    return CheckError(f"{message}, one dimension", span, code="index", help="index it by one expression")


def _no_index(node: tree.Tree, value: Value) -> CheckError:
    if isinstance(node, tree.Binary) and node.operator == "/":
        rounded = f"{node.lhs.span.text} // {node.rhs.span.text}"
        return CheckError(
            f"an index or a size is an integer; `/` gives {describe(value)}",
            node.span,
            code="dtype",
            fixes=[Fix(f"`//` is the quotient rounded down: {rounded}", (Write(node.span.text, rounded),))],
        )
    return CheckError(
        f"an index is an integer; found {describe(value)}",
        node.span,
        code="dtype",
        fixes=[converted("convert it: ", I64, value.expr)],
    )


def _check_reach(e: Expr, span: Span, largest: int) -> None:
    """The proofs have no largest integer and indices are i64: factors must leave room for any
    size that fits into memory.
    """
    stack: list[Expr] = [e]
    while stack:
        form = linear(stack.pop())
        for number in (form.constant, *(factor for _, factor in form.terms)):
            if abs(number) > largest:
                raise CheckError(
                    f"{number} in an index: the product with a size may not fit i64",
                    span,
                    code="index",
                    help="factors and offsets of indices are at most 2^32",
                )
        stack += [
            c
            for t, _ in form.terms
            if isinstance(t, FloorDiv | Mod | Min | Max | Select)
            for c in children(t)
            if isinstance(c, Expr) and c.dtype == I64
        ]
