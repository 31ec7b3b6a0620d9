"""Sums whose terms are 0 because a factor is 0: the law of `mask_to_zero`, read off the new
equations.

    specification:   e = f where c,           T = sum(u where c: e[u] * w[u])
    implementation:  e = if c then f else 0,  T = sum(u: e[u] * w[u])

Wherever a term is added, e is 0, so that the term is 0 or -0 if w is finite, which changes no sum
that starts at 0. So conditions may stand in the place of such zeros. Nothing here is shared with
the step.
"""

from __future__ import annotations

from texpr.ir.build import conjunction
from texpr.ir.expr import Const, Expr, Node, Read, Reduce, Select, Tensor, Var
from texpr.ir.tensor import Equation, Invoke, Program
from texpr.ir.traverse import rewrite, substitute, walk
from texpr.poly.certificate.rewrites.derivation import Derivation, factors_of_floats
from texpr.support.frozen_dataclass import replace


def check(derivation: Derivation) -> tuple[Derivation, list[str]]:
    """Undo the rewrite in the implementation: put conditions in the place of zeros of
    intermediates that the specification has not.
    """
    known, implementation = derivation.specified_names(), derivation.implementation
    names: list[str] = []
    for e in implementation.equations:
        match e:
            case Equation(target, indices, _, Select(condition, value, Const(0.0)), None, None) if (
                target.name not in known
            ):
                narrow = _with_conditions(implementation, target, condition, indices, names)
                if narrow is not None:
                    own = replace(e, value=value, where=condition)
                    implementation = replace(
                        narrow, equations=tuple(own if n is e else n for n in narrow.equations)
                    )
    return derivation.implemented(implementation.equations), names


def _with_conditions(
    program: Program, target: Tensor, condition: Expr, indices: tuple[Expr, ...], names: list[str]
) -> Program | None:
    """The program with the condition in all sums of which the tensor is a factor; None if it is
    read elsewhere, too.
    """
    equations: list[Equation | Invoke] = []
    found: list[str] = []
    for e in program.equations:
        if isinstance(e, Invoke):
            if target in e.args:
                return None
            equations.append(e)
            continue
        sums = [
            (n, r)
            for n in walk(e)
            if isinstance(n, Reduce) and n.op == "sum" and n.dtype.is_float
            for r in factors_of_floats(n.body)
            if isinstance(r, Read) and r.tensor is target
        ]
        reads = [n for n in walk(e) if isinstance(n, Read) and n.tensor is target]
        if {id(r) for _, r in sums} != {id(r) for r in reads} or len(sums) != len(reads):
            return None
        shortened = {id(n): _with_condition(n, condition, indices, r) for n, r in sums}

        def rule(n: Node, shortened: dict[int, Reduce] = shortened) -> Node | None:
            return shortened.get(id(n))

        equations.append(rewrite(e, rule) if shortened else e)
        found += [e.target.name] if shortened else []
    names += found
    return replace(program, equations=tuple(equations))


def _with_condition(sums: Reduce, condition: Expr, indices: tuple[Expr, ...], read: Read) -> Reduce:
    here = substitute(condition, {v: i for v, i in zip(indices, read.indices) if isinstance(v, Var)})
    return replace(sums, where=here if sums.where is None else conjunction(sums.where, here))
