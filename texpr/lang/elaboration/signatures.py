"""Signatures: type variables, constants, sizes and the tensors that are declared."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from numbers import Integral, Real

from texpr.ir.build import integer
from texpr.ir.dtypes import DType
from texpr.ir.expr import Call, Const, Dim, Expr, Read, Reduce, Tensor, Var
from texpr.ir.traverse import walk
from texpr.lang.elaboration.name_scope import OUTSIDE, Names, Scope, shown, unknown
from texpr.lang.elaboration.scalars import Scalars
from texpr.lang.elaboration.typed_values import Value, literal, materialize
from texpr.lang.syntax import tree
from texpr.support.errors import CheckError
from texpr.support.source import Span

MAX_RANK = 64
"""Dimensions of an array of NumPy."""


def bind_dtypes(op: tree.Operator, dtypes: Mapping[str, DType], names: Names) -> None:
    """Fill in the type variables."""
    for v in op.type_variables:
        names.declare(v.name.text, v.name.span)
        kind = v.kind.text if v.kind else "any"
        t = dtypes.get(v.name.text)
        if t is None:
            raise CheckError(f"`{op.name.text}` needs a type for `{v.name.text}`", v.span, code="dtype")
        if not {"float": t.is_float, "int": t.is_int, "num": t.is_float or t.is_int, "any": True}[kind]:
            raise CheckError(f"`{v.name.text}` is a {kind} type; {t} is not", v.span, code="dtype")
        names.dtypes[v.name.text] = t


def bind_constants(
    op: tree.Operator, given: Mapping[str, int | float | bool], s: Scalars
) -> tuple[tuple[str, object], ...]:
    """Fill in the constants: as given, else their defaults."""
    known = [c.name.text for c in op.constants]
    for name in given:
        if name not in known:
            raise unknown("constant", name, op.name.span, known)
    bound: list[tuple[str, object]] = []
    for c in op.constants:
        name = c.name.text
        if name in given:
            value = _given(given[name], c)
        elif c.default is not None:
            value = s.value(c.default, OUTSIDE.as_value())
        else:
            raise CheckError(
                f"`{op.name.text}` needs a value for the constant `{name}`",
                c.span,
                code="constant",
                help=f"pass {name}=...",
            )
        if c.dtype is not None:
            dtype = s.names.dtype(c.dtype)
            value = Value(
                materialize(value, dtype, c.span) if value.weak else s.arithmetic.store(value, dtype, c.span)
            )
        if not isinstance(value.expr, Const):
            raise CheckError(f"the constant `{name}` is not a number", c.span, code="constant")
        s.names.declare(name, c.name.span)
        s.names.constants[name] = value
        bound.append((name, value.expr.value))
    return tuple(bound)


def _given(value: object, c: tree.Constant) -> Value:
    match value:
        case bool():
            return literal(value)
        case Integral() if -(1 << 63) <= int(value) < 1 << 64:
            return literal(int(value))
        case Real() if not isinstance(value, Integral):
            return literal(float(value))
    if type(value).__name__ == "bool":
        return literal(bool(value))
    raise CheckError(
        f"the constant `{c.name.text}` is {str(value)[:40]}, not a number", c.span, code="constant"
    )


def bind_sizes(inputs: Iterable[tree.Declaration], names: Names) -> tuple[Var, ...]:
    """The sizes that stand bare in the inputs' dimensions; each pack is one size."""
    found: dict[str, tuple[Var, Span]] = {}
    for d in inputs:
        for dim in d.type.dims:
            for node, pack in _bare(dim):
                if node.text in names.constants or node.text in names.sizes:
                    continue
                known = found.get(node.text)
                if known is not None and known[0].pack != pack:
                    raise CheckError(
                        f"`{node.text}` is a pack in one place and a size in another",
                        node.span,
                        code="name",
                        notes=shown("first", known[1]),
                    )
                if known is None:
                    names.declare(node.text, node.span)
                    found[node.text] = Var(node.text, pack), node.span
    names.sizes.update({name: var for name, (var, _) in found.items()})
    return tuple(var for var, _ in found.values())


def _bare(dim: tree.Tree) -> list[tuple[tree.Name, bool]]:
    match dim:
        case tree.Name():
            return [(dim, False)]
        case tree.Group(_, items):
            return [(item, False) for item in items if isinstance(item, tree.Name)]
        case tree.PackDim(_, tree.Name() as name):
            return [(name, True)]
    return []


def check_factors(inputs: Iterable[tree.Declaration], names: Names) -> None:
    """Every size can be solved for: it stands alone in a dimension, or is the one unknown factor
    of a group.
    """
    inputs = tuple(inputs)
    dims = [dim for d in inputs for dim in d.type.dims]
    solved = {dim.text for dim in dims if isinstance(dim, tree.Name)} | {
        n for n, v in names.sizes.items() if v.pack
    }
    groups = [dim for dim in dims if isinstance(dim, tree.Group)]
    while groups:
        unsolved = {
            id(g): [n for n, _ in _bare(g) if n.text in names.sizes and n.text not in solved] for g in groups
        }
        ready = [g for g in groups if len({n.text for n in unsolved[id(g)]}) <= 1]
        if not ready:
            first = unsolved[id(groups[0])]
            raise CheckError(
                f"the sizes of {groups[0].span.text} cannot be found from its product",
                groups[0].span,
                code="shape",
                help=f"at most one factor is unknown; make `{first[0].text}` a constant after `;`",
            )
        solved |= {n.text for g in ready for n in unsolved[id(g)]}
        groups = [g for g in groups if g not in ready]


def check_packs(declarations: Iterable[tree.Declaration]) -> None:
    """A pack is a name; only in listings, where sizes are numbers, it may be `*6`."""
    for d in declarations:
        for dim in d.type.dims:
            if isinstance(dim, tree.PackDim) and not isinstance(dim.size, tree.Name):
                raise CheckError("a pack is a name: *S", dim.span, code="shape")


def tensor(d: tree.Declaration, s: Scalars, place: str = "global") -> Tensor:
    """The tensor that a declaration describes."""
    scope = OUTSIDE
    dtype = s.names.dtype(d.type.dtype)
    bounds = None
    if d.type.range is not None:
        if not dtype.is_int:
            raise CheckError(
                f"a value range belongs to integers; `{d.name.text}` is {dtype}",
                d.type.range.span,
                code="dtype",
            )
        bounds = _known_before(d.type.range.lo, s, scope), _known_before(d.type.range.hi, s, scope)
    dims = tuple(_dim(dim, s, scope) for dim in d.type.dims)
    check_rank(d.name.text, len(dims), d.span)
    return Tensor(d.name.text, dtype, dims, bounds, d.type.distinct, place, span=d.span)


def check_rank(name: str, rank: int, span: Span) -> None:
    """Refuse tensors of more dimensions than arrays have."""
    if rank > MAX_RANK:
        raise CheckError(
            f"`{name}` has {rank} dimensions; an array has at most {MAX_RANK}",
            span,
            code="shape",
            help="several indices may share one dimension, a group: f32[(A, B), C]",
        )


def _dim(node: tree.Tree, s: Scalars, scope: Scope) -> Dim:
    if isinstance(node, tree.PackDim):
        return Dim(
            (_pack_size(node.size, s, scope),),
            True,
            None if node.length is None else _length(node.length, s, scope),
        )
    items = node.items if isinstance(node, tree.Group) else (node,)
    return Dim(tuple(_size(item, s, scope) for item in items))


def _pack_size(node: tree.Tree, s: Scalars, scope: Scope) -> Expr:
    if not isinstance(node, tree.Name):
        return s.index(node, scope)
    size = s.names.sizes.get(node.text)
    if size is None or not size.pack:
        raise unknown("pack", node.text, node.span, [n for n, v in s.names.sizes.items() if v.pack])
    return size


def _length(node: tree.Tree, s: Scalars, scope: Scope) -> int:
    length = integer(s.index(node, scope))
    if length is None or length < 0:
        found = "not a constant" if length is None else f"{length}"
        raise CheckError(
            f"the length of a pack is {found}", node.span, code="shape", help="it is a constant, at least 0"
        )
    return length


def _known_before(node: tree.Tree, s: Scalars, scope: Scope) -> Expr:
    """A size or a bound: it follows from shapes and constants alone."""
    e = s.index(node, scope)
    read = next((n for n in walk(e) if isinstance(n, Read)), None)
    if read is not None:
        raise CheckError(
            f"a shape follows from shapes and constants; this one reads `{read.tensor.name}`",
            node.span,
            code="shape",
            help=f"make it a constant: op f(...; {read.tensor.name})",
        )
    opaque = next(
        (n for n in walk(e) if isinstance(n, Reduce) or isinstance(n, Call) and n.function != "abs"), None
    )
    if opaque is not None:
        raise CheckError(
            f"`{opaque.op if isinstance(opaque, Reduce) else opaque.function}` in a size",
            node.span,
            code="shape",
            help="sizes are made of + - * // % min max abs and if",
        )
    return e


def _size(node: tree.Tree, s: Scalars, scope: Scope) -> Expr:
    size = _known_before(node, s, scope)
    if (value := integer(size)) is not None and value < 0:
        raise CheckError(f"a size is {value}", node.span, code="shape", help="sizes are at least 0")
    return size
