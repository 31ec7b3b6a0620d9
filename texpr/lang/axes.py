"""Constants that say where a shape splits: in `X: f32[*A:axis, D, *B]` the pack takes the first `axis` dimensions, as `shape[:axis]`
does in Python. So a negative `axis` counts from the end of X, and is replaced where the rank of X is known: at a call.
"""

from __future__ import annotations

from dataclasses import dataclass

from texpr.lang import tree


@dataclass(frozen=True, slots=True)
class AxisSpec:
    """A constant that is the length of the first pack of an input.

    Attributes:
        default: its value where it is not given; None if it must be.
        others: how many dimensions of the input stand behind the pack at least.
    """

    constant: str
    input: str
    default: int | None
    others: int

    def from_start(self, value: object, rank: int) -> int | None:
        """The same axis counted from the start, None where an input of this rank has no such axis."""
        assert isinstance(value, int)
        first = value + rank if value < 0 else value
        return first if 0 <= first <= rank - self.others else None

    def smallest(self, value: object) -> object:
        """An axis from the start that a negative one can mean: the first, where nothing depends on the rank."""
        return max(0, value + self.others) if isinstance(value, int) and value < 0 else value

    def allowed(self, rank: int) -> str:
        """The values that an input of this rank takes."""
        return f"{-rank} to {rank - self.others}" if rank else "0"


def axes_of(op: tree.Operator) -> tuple[AxisSpec, ...]:
    """The constants of an operator that may be counted from the end, each with the first input that it splits."""
    defaults = {c.name.text: None if c.default is None else _integer(c.default) for c in op.constants}
    found: dict[str, AxisSpec] = {}
    for d in op.inputs:
        match d.type.dims:
            case (tree.PackDim(_, _, tree.Name(_, name)), *rest) if name in defaults and name not in found and d.default is None:
                found[name] = AxisSpec(name, d.name.text, defaults[name], sum(not isinstance(dim, tree.PackDim) for dim in rest))
    return tuple(found.values())


def _integer(node: tree.Tree) -> int | None:
    match node:
        case tree.Number(_, value) if type(value) is int:
            return value
        case tree.Unary(_, "-", operand):
            value = _integer(operand)
            return None if value is None else -value
    return None
