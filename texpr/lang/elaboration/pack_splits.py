"""Constants that say where a shape splits: in `X: f32[*A:axis, D, *B]` the pack takes the first
`axis` dimensions, as `shape[:axis]` does in Python. So a negative `axis` counts from the end of X,
and is replaced where the rank of X is known: at a call. Where a result has
further dimensions at that place, as in `-> Y: f32[*A, 2, *B]` of `X: f32[*A:axis, *B]`, it counts from the end of the result: the axis is
one of the result alone, as for NumPy's `stack` and `expand_dims`.
"""

from __future__ import annotations

from collections.abc import Sequence

from texpr.lang.elaboration.axis_spec import AxisSpec
from texpr.lang.syntax import tree


def axes_of(op: tree.Operator) -> tuple[AxisSpec, ...]:
    """The constants of an operator that may be counted from the end, each with the first input
    that it splits.
    """
    defaults = {c.name.text: None if c.default is None else _integer(c.default) for c in op.constants}
    found: dict[str, AxisSpec] = {}
    for d in op.inputs:
        match d.type.dims:
            case (tree.PackDim(_, _, tree.Name(_, name)), *rest) if (
                name in defaults and name not in found and d.default is None
            ):
                others = sum(not isinstance(dim, tree.PackDim) for dim in rest)
                found[name] = AxisSpec(name, d.name.text, defaults[name], others, _added(op, d.type.dims))
    return tuple(found.values())


def _added(op: tree.Operator, dims: Sequence[tree.Tree]) -> int:
    """Number of dimensions of the first result between two packs that follow each other in an
    input.
    """
    given, result = _packs(dims), _packs(op.outputs[0].type.dims) if op.outputs else []
    inserted = (
        len(given) == 2
        and None not in given
        and [result[:1], result[-1:]] == [given[:1], given[1:]]
        and not any(result[1:-1])
    )
    return len(result) - 2 if inserted else 0


def _packs(dims: Sequence[tree.Tree]) -> list[str | None]:
    """The names of packs among dimensions, None for the others."""
    return [
        d.size.text if isinstance(d, tree.PackDim) and isinstance(d.size, tree.Name) else None for d in dims
    ]


def _integer(node: tree.Tree) -> int | None:
    match node:
        case tree.Number(_, value) if type(value) is int:
            return value
        case tree.Unary(_, "-", operand):
            value = _integer(operand)
            return None if value is None else -value
    return None
