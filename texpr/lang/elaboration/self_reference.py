"""Intermediates that read themselves: their type and shape from the rest of their equation, or
what to declare.
"""

from __future__ import annotations

from texpr.ir.dtypes import BOOL, F64, I64, DType
from texpr.ir.expr import Dim, Tensor, Var
from texpr.lang.elaboration.likely import advised_let, likely_type, named
from texpr.lang.elaboration.name_scope import Names, Scope, names_in, values_in
from texpr.lang.elaboration.scalars import Scalars
from texpr.lang.elaboration.typed_values import Value
from texpr.lang.syntax import tree
from texpr.support.errors import CheckError


def value_reading_itself(
    node: tree.Equation, target: tree.Target, variables: dict[str, Var], s: Scalars
) -> Value:
    """The right side, read with the left one as a tensor of the type that it gives; that tensor's
    own extents count nowhere.

    The type is that of the right side with numbers in the place of the tensor's own elements: they
    take the type of what they meet. Where these have no type of their own (a sum of them is an
    i64), types are tried, those of the values of the right side first.

    Raises:
        CheckError: no type makes the equation right.
    """
    packs = [isinstance(e, tree.PackName) for e in target.indices]
    dims = tuple(Dim((Var("n", pack),), pack) for pack in packs)
    scope = Scope().bind(variables)
    plain = _with_numbers(node, Tensor(target.name.text, I64, dims, span=target.span), scope, s)
    refusals = [plain] if isinstance(plain, CheckError) else []
    tried: set[DType] = set()
    candidates = [
        *([plain.dtype] if isinstance(plain, Value) and plain.dtype != BOOL else []),
        *_types(node, s.names),
    ]
    while candidates:
        dtype = candidates.pop(0)
        if dtype not in tried:
            tried.add(dtype)
            value = _value(node, Tensor(target.name.text, dtype, dims, span=target.span), scope, s)
            if isinstance(value, CheckError):
                refusals.append(value)
            elif value.dtype == dtype:
                return (
                    Value(value.expr, plain.weak)
                    if isinstance(plain, Value) and plain.dtype == dtype
                    else value
                )
            else:
                candidates.insert(0, value.dtype)
    raise max(refusals, key=_reached) if refusals else circular(node, s.names)


def _reached(error: CheckError) -> int:
    """End of the text that elaboration accepted under a type: texts are read from the left, so the
    mistake that stands last is none of that type.
    """
    return error.span.stop if error.span is not None else 0


def _with_numbers(node: tree.Equation, provisional: Tensor, scope: Scope, s: Scalars) -> Value | CheckError:
    """The right side where each element of the tensor is a number, as a literal is; or what is
    wrong with that.
    """
    s.names.defaults[provisional.name] = Value(Var(provisional.name), "literal")
    try:
        return _value(node, provisional, scope, s)
    finally:
        del s.names.defaults[provisional.name]


def _value(node: tree.Equation, provisional: Tensor, scope: Scope, s: Scalars) -> Value | CheckError:
    """The right side, or what is wrong with it where a tensor of this type does not fit.

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
        return error
    finally:
        del s.names.tensors[name]
        for var, uses in s.uses.items():
            s.uses[var] = [u for u in uses if u.tensor != name]


def _types(node: tree.Equation, names: Names) -> list[DType]:
    """Types that an equation may give, those of what its value is made of first; then those of
    what only decides or is an index.
    """
    made_of = [names.tensors[n].dtype for n in named(values_in(node.value)) if n in names.tensors]
    read = [names.tensors[n].dtype for n in names_in(node.value) if n in names.tensors]
    return [t for t in dict.fromkeys((*made_of, I64, F64, *read, BOOL))]


def circular(node: tree.Equation, names: Names) -> CheckError:
    """The shape of a tensor is needed to find it."""
    target = node.targets[0]
    name = target.name.text
    return CheckError(
        f"the shape of `{name}` depends on itself",
        target.span,
        code="shape",
        fixes=advised_let("a recurrence needs a declaration: ", name, likely_type(node, names)),
    )
