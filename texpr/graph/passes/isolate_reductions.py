"""Every reduction gets a tensor of its own, so that equal ones are seen; fusion puts back what
stayed alone.
"""

from __future__ import annotations

from texpr.ir.build import integer
from texpr.ir.expr import Node, Read, Reduce, Tensor, Var, plain
from texpr.ir.tensor import Equation, Invoke, Program
from texpr.ir.traverse import rewrite, walk
from texpr.passes.analysis.substitution import with_fresh_variables
from texpr.support.frozen_dataclass import replace


def isolate_reductions(program: Program) -> Program:
    """`Y[i] = b[i] + sum(k: ...)`  ->  `Y_sum[i] = sum(k: ...); Y[i] = b[i] + Y_sum[i]`.

    So does one that is all of an equation but is written to every second element or so: what is
    computed side by side lies side by side then, and what is written between each other is written
    at once. Comes after `hoist`: a reduction runs over all axes of its equation. Recurrences stay
    as they are.
    """
    names = {t.name for t in (*program.inputs, *program.outputs, *program.temporaries)}
    equations: list[Equation | Invoke] = []
    for e in program.equations:
        equations += _apart(e, names) if isinstance(e, Equation) and _can_be(e) else [e]
    return (
        program if len(equations) == len(program.equations) else replace(program, equations=tuple(equations))
    )


def _can_be(equation: Equation) -> bool:
    bare = all(isinstance(i, Var) for i in equation.indices)
    return (
        isinstance(equation.value, Reduce) != bare
        and equation.where is None
        and equation.update is None
        and all(integer(a.lo) == 0 and integer(a.hi) is not None for a in equation.axes)
        and not any(isinstance(n, Read) and n.tensor is equation.target for n in walk(equation.value))
    )


def _apart(equation: Equation, names: set[str]) -> list[Equation]:
    before: list[Equation] = []

    def rule(node: Node) -> Node | None:
        if not isinstance(node, Reduce):
            return None
        name = f"{equation.target.name}_{node.op}"
        while name in names:
            name += "_"
        names.add(name)
        tensor = Tensor(name, node.dtype, plain(*(a.hi for a in equation.axes)))
        own = with_fresh_variables(
            Equation(tensor, tuple(a.var for a in equation.axes), equation.axes, node, span=equation.span)
        )
        before.append(own)
        return Read(tensor, tuple(a.var for a in equation.axes))

    value = rewrite(equation.value, rule)
    return [*before, replace(equation, value=value)] if before else [equation]
