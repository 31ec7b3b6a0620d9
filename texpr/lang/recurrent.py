"""Intermediates that read themselves: their type and shape from the rest of their equation, or what to declare."""

from __future__ import annotations

from texpr.ir.dtypes import BOOL, F32, F64, I64, DType
from texpr.ir.expr import Dim, Tensor, Var
from texpr.ir.show_expr import show
from texpr.lang import tree
from texpr.lang.scalars import Scalars
from texpr.lang.scope import Names, Scope, below, names_in
from texpr.lang.values import Value
from texpr.support.errors import CheckError


def value_reading_itself(node: tree.Equation, target: tree.Target, variables: dict[str, Var], s: Scalars) -> Value:
    """The right side, read with the left one as a tensor of the type that it gives; that tensor's own extents count nowhere.

    Raises:
        CheckError: no type makes the equation right.
    """
    packs = [isinstance(e, tree.PackName) for e in target.indices]
    dims = tuple(Dim((Var("n", pack),), pack) for pack in packs)
    tried: set[DType] = set()
    candidates = _types(node, s.names)
    while candidates:
        dtype = candidates.pop(0)
        if dtype not in tried:
            tried.add(dtype)
            value = _value(node, Tensor(target.name.text, dtype, dims, span=target.span), Scope().bind(variables), s)
            if value is not None and value.dtype == dtype:
                return value
            candidates[:0] = [value.dtype] if value is not None else []
    raise circular(node, s.names)


def _value(node: tree.Equation, provisional: Tensor, scope: Scope, s: Scalars) -> Value | None:
    """The right side, None where a tensor of this type does not fit into it.

    Raises:
        CheckError: a mistake that no type of the tensor changes.
    """
    name = provisional.name
    s.names.tensors[name] = provisional
    try:
        return s.value(node.value, scope)
    except CheckError as error:
        if error.code != "dtype" and error.code != "range":
            raise
        return None
    finally:
        del s.names.tensors[name]
        for var, uses in s.uses.items():
            s.uses[var] = [u for u in uses if u.tensor != name]


def _types(node: tree.Equation, names: Names) -> list[DType]:
    """Types that an equation may give, those of what it reads first."""
    read = [names.tensors[n].dtype for n in names_in(node.value) if n in names.tensors]
    return [t for t in dict.fromkeys((*read, I64, F64)) if t != BOOL]


def circular(node: tree.Equation, names: Names) -> CheckError:
    """The shape of a tensor is needed to find it."""
    target = node.targets[0]
    name = target.name.text
    return CheckError(f"the shape of `{name}` depends on itself", target.span, code="shape",
                      help=f"a recurrence needs a declaration: let {name}: {likely_type(node, names)}")


def likely_type(node: tree.Equation, names: Names, dtype: DType | None = None) -> str:
    """What is probably meant: `f32[K + 1, N]`; a dimension that nothing tells is `...`."""
    read = [names.tensors[n].dtype for n in names_in(node.value) if n in names.tensors]
    dtype = dtype or next((t for t in (*read, F32) if t.is_float), F32)
    sizes = [_likely_size(e, node, names) for e in node.targets[0].indices]
    return f"{dtype}[{', '.join(sizes)}]" if any(s != "..." for s in sizes) else f"{dtype}[...]"


def _likely_size(entry: tree.Tree, node: tree.Equation, names: Names) -> str:
    """The range of a bare index; one more for `t + 1`."""
    match entry:
        case tree.Name(_, name):
            return _extent(name, node, names)
        case tree.PackName(_, name):
            return f"*{name.upper()}"
        case tree.Binary(_, "+", tree.Name(_, name), tree.Number(_, offset)):
            extent = _extent(name, node, names)
            return extent if extent == "..." else f"{extent} + {offset}"
    return "..."


def _extent(name: str, node: tree.Equation, names: Names) -> str:
    written = next((b.range for b in node.ranges if b.name == name), None)
    if written is not None:
        return " ".join(written.hi.span.text.split())
    for access in below(node.value):
        if isinstance(access, tree.Access) and access.guard is None and access.name.text in names.tensors:
            tensor = names.tensors[access.name.text]
            for dim, entry in zip(tensor.dims, access.indices):
                if isinstance(entry, tree.Name) and entry.text == name and len(dim.sizes) == 1:
                    return show(dim.sizes[0])
    return "..."
