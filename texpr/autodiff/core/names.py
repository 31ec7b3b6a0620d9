"""Names that do not collide: tensors, sizes and indices share one namespace."""

from __future__ import annotations

from texpr.ir.affine import same_value
from texpr.ir.expr import Axis, Expr, Node, Reduce, Tensor, Var
from texpr.ir.tensor import Equation, Invoke, Program
from texpr.ir.traverse import rewrite, variables, walk
from texpr.support.frozen_dataclass import replace


class Names:
    """The names taken in one program, and its extents; `reserved` are those of tensors, sizes
    and constants, which no index may have.
    """

    def __init__(self, program: Program) -> None:
        tensors: dict[Tensor, None] = dict.fromkeys((*program.inputs, *program.outputs, *program.temporaries))
        self.reserved = (
            {t.name for t in tensors}
            | {v.name for v in program.sizes}
            | {name for name, _ in program.constants}
        )
        indices = variables(*(e for e in program.equations if isinstance(e, Equation)))
        self._taken = self.reserved | {v.name for v in indices}
        self._extents = list(dict.fromkeys(n for t in tensors for n in t.shape))

    def is_extent(self, e: Expr) -> bool:
        """True if some tensor of the program has this extent: then none is negative."""
        return any(same_value(e, n) for n in self._extents)

    def fresh(self, wish: str) -> str:
        """A name for a new tensor: `wish`, or `wish_`, `wish_2`, `wish_3` and so on."""
        name = unique(wish, self._taken)
        self._taken.add(name)
        self.reserved.add(name)
        return name


def unique(wish: str, taken: set[str]) -> str:
    """The first of `wish`, `wish_`, `wish_2`, ... that is not taken."""
    candidates = (wish if n == 0 else f"{wish}_" if n == 1 else f"{wish}_{n}" for n in range(len(taken) + 2))
    return next(name for name in candidates if name not in taken)


def freshen(equation: Equation | Invoke, taken: set[str]) -> Equation | Invoke:
    """The equation over new index variables, each bound once, whose names differ from each other
    and from `taken`.
    """
    if isinstance(equation, Invoke):
        return equation
    equation = _bound_once(equation)
    used, fresh = set(taken), {}
    for axis in (n for n in walk(equation) if isinstance(n, Axis)):
        name = unique(axis.var.name.rstrip("_0123456789") if axis.var.name in used else axis.var.name, used)
        used.add(name)
        fresh[axis.var] = Var(name, axis.var.pack)

    def rule(node: Node) -> Node | None:
        if isinstance(node, Var):
            return fresh.get(node)
        return replace(node, var=fresh[node.var]) if isinstance(node, Axis) else None

    return rewrite(equation, rule)  # type: ignore[return-value]


def _bound_once(equation: Equation) -> Equation:
    """Two reductions over the same variables get different ones."""
    bound: set[Var] = set()

    def rule(node: Node) -> Node | None:
        if not isinstance(node, Reduce):
            return None
        twice = any(axis.var in bound for axis in node.axes)
        bound.update(axis.var for axis in node.axes)
        return renamed(node) if twice else None

    return rewrite(equation, rule)  # type: ignore[return-value]


def renamed(reduction: Reduce) -> Reduce:
    """The same reduction over new binders."""
    fresh = {axis.var: Var(axis.var.name, axis.var.pack) for axis in reduction.axes}

    def rule(node: Node) -> Node | None:
        if isinstance(node, Axis) and node.var in fresh:
            return replace(node, var=fresh[node.var])
        return fresh.get(node) if isinstance(node, Var) else None

    return rewrite(reduction, rule)  # type: ignore[return-value]
