"""Copies of programs over other tensors and fresh index variables."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import TypeVar

from texpr.ir.build import FOLDED, fold
from texpr.ir.expr import Axis, Dim, Expr, Node, Read, Tensor, Var
from texpr.ir.extern import extern_effect
from texpr.ir.loop import ExternCall, For, Kernel, Prefetch, Stmt, Store
from texpr.ir.tensor import Equation, Invoke, Program
from texpr.ir.traverse import children, rewrite, statements, walk, with_children
from texpr.support.frozen_dataclass import replace

N = TypeVar("N", bound=Node)
_OF_TENSORS = frozenset({Read, Store, Prefetch, ExternCall, Equation, Invoke, Program, Kernel})
_BINDING = frozenset({Var, Store, Axis, For})
_FOLDED = FOLDED | {Var}


def over_tensors(root: N, other: Mapping[Tensor, Tensor]) -> N:
    """`root` with tensors replaced, wherever they are read, written or declared."""

    def rule(node: Node) -> Node | None:
        match node:
            case Read(tensor) if tensor in other:
                return replace(node, tensor=other[tensor])
            case Store(tensor) | Prefetch(tensor) if tensor in other:
                return replace(node, tensor=other[tensor])
            case ExternCall(_, inputs, outputs):
                inputs, outputs = _swap(inputs, other), _swap(outputs, other)
                return replace(
                    node, inputs=inputs, outputs=outputs, effect=extern_effect(inputs, outputs, node.equation)
                )
            case Equation(target) if target in other:
                return replace(node, target=other[target])
            case Invoke(targets, _, args):
                return replace(node, targets=_swap(targets, other), args=_swap(args, other))
            case Program():
                return replace(node, inputs=_swap(node.inputs, other), outputs=_swap(node.outputs, other))
            case Kernel():
                swapped = {
                    name: _swap(getattr(node, name), other) for name in ("inputs", "outputs", "temporaries")
                }
                return replace(node, **swapped)
        return None

    return rewrite(root, rule, kinds=_OF_TENSORS) if other else root


def _swap(tensors: tuple[Tensor, ...], other: Mapping[Tensor, Tensor]) -> tuple[Tensor, ...]:
    return tuple(other.get(t, t) for t in tensors)


def with_fresh_variables(root: N) -> N:
    """`root` with new variables for all that it binds, and stores of its own, so that it can
    stand beside the original.
    """
    return _renewed(root, {}, lambda node: None)


def folded_anew(root: N, values: Mapping[Var, Expr]) -> N:
    """`folded`, to stand beside the original."""
    return _renewed(root, values, fold)


def _renewed(root: N, values: Mapping[Var, Expr], otherwise: Callable[[Node], Node | None]) -> N:
    binding = statements(root) if isinstance(root, Stmt | Kernel) else walk(root)
    fresh = {n.var: replace(n.var) for n in binding if isinstance(n, Axis | For)}
    now: dict[Var, Expr] = {**values, **fresh}

    def rule(node: Node) -> Node | None:
        kind = type(node)
        if kind is Var:
            return now.get(node)  # type: ignore[call-overload]
        if kind is Store:
            return with_children(node, children(node))
        if isinstance(node, Axis | For):
            return replace(node, var=fresh[node.var])
        return otherwise(node)

    return rewrite(root, rule, kinds=_BINDING | FOLDED)


def folded(root: N, values: Mapping[Var, Expr]) -> N:
    """`root` with variables replaced and integer arithmetic folded."""
    return rewrite(root, lambda n: values.get(n) if type(n) is Var else fold(n), kinds=_FOLDED)  # type: ignore[return-value,call-overload]


def resized(tensor: Tensor, values: Mapping[Var, Expr]) -> Tensor:
    """`tensor` with sizes replaced in its shape and value range."""
    dims = tuple(Dim(tuple(folded(s, values) for s in d.sizes), d.pack, d.length) for d in tensor.dims)
    bounds = tensor.value_range and tuple(folded(b, values) for b in tensor.value_range)
    return replace(tensor, dims=dims, value_range=bounds)
