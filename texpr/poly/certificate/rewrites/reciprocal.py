"""Quotients that are computed as products with reciprocals: the law of `reciprocal`, read off the
new equations.

    specification:   Y[i, j] = X[i, j] / d[i]
    implementation:  Y_inv[i] = 1 / d[i],  Y[i, j] = X[i, j] * Y_inv[i]

The LAW holds of numbers. It holds of floats up to two roundings in place of one, where 1 / d is
finite: d is NaN, which both are then, or at least the least normal number, which
`ir.index.float_lower_bounds` derives from the equations (the step asks it too). An infinite d gives
0, or NaN for an infinite X, as the quotient does.
"""

from __future__ import annotations

from texpr.ir.expr import Const, Div, Expr, Mul, Node, Read, Var
from texpr.ir.index.float_lower_bounds import least_of_tensors, reciprocal_is_normal, single_definitions
from texpr.ir.tensor import Equation, Invoke
from texpr.ir.traverse import equal, rewrite, substitute, walk
from texpr.poly.certificate.engine.obligations import Refuted
from texpr.poly.certificate.rewrites.derivation import Derivation, with_counterparts

LAW = "a / d = a * (1 / d)"


def check(derivation: Derivation) -> tuple[Derivation, list[str]]:
    """Apply the rewrite to the specification: put products with the implementation's reciprocals in
    the place of quotients.

    Raises:
        Refuted: a reciprocal may be infinite, or the products are not the quotients of the
            specification.
    """
    specification, implementation = derivation.specification, derivation.implementation
    known = derivation.specified_names()
    inverses = {
        e.target.name: e
        for e in implementation.equations
        if isinstance(e, Equation) and e.target.name not in known and _is_inverse(e)
    }
    if not inverses:
        return derivation, []
    tensors, definitions = least_of_tensors(specification), single_definitions(specification)
    alone = single_definitions(implementation)
    for name, e in inverses.items():
        assert isinstance(e.value, Div)
        if name not in alone or not reciprocal_is_normal(e.value.rhs, tensors, definitions):
            raise Refuted("values", f"a divisor whose reciprocal is {name} may be too small for that", None)
    equations: list[Equation | Invoke] = []
    names: list[str] = []
    for old, new in with_counterparts(specification, implementation):
        if new is None or not isinstance(old, Equation) or not any(_reads(new, name) for name in inverses):
            equations.append(old)
            continue
        changed = _with_products(old, new, inverses)
        equations += [e for name, e in inverses.items() if _reads(changed, name) and e not in equations]
        equations.append(changed)
        names.append(old.target.name)
    return derivation.specified(equations), names


def _with_products(old: Equation, new: Equation, inverses: dict[str, Equation]) -> Equation:
    """An equation with products where another one, of the same element, reads reciprocals of what
    it divides by.

    Raises:
        Refuted: with quotients in the place of those products it would not be what it was.
    """
    own: dict[Var, Expr] = {a.var: b.var for a, b in zip(new.axes, old.axes)}
    reads = [substitute(n, own) for n in walk(new.value) if isinstance(n, Read) and n.tensor.name in inverses]

    def rule(n: Node) -> Node | None:
        if not isinstance(n, Div):
            return None
        found = next((r for r in reads if equal(_divisor(inverses[r.tensor.name], r.indices), n.rhs)), None)
        return None if found is None else Mul(n.lhs, found)

    changed = rewrite(old, rule)
    if not equal(_with_quotients(changed, inverses), old):
        raise Refuted("values", f"the reciprocals in {old.target.name} are those of other numbers", None)
    return changed


def _is_inverse(e: Equation) -> bool:
    match e.value:
        case Div(Const(1.0), _):
            return e.update is None and e.indices == tuple(a.var for a in e.axes)
    return False


def _reads(e: Equation, name: str) -> bool:
    return any(isinstance(n, Read) and n.tensor.name == name for n in walk(e.value))


def _with_quotients(e: Equation, inverses: dict[str, Equation]) -> Equation:
    """The equation with quotients in place of its products with reciprocals."""

    def rule(n: Node) -> Node | None:
        match n:
            case Mul(a, Read(tensor, indices)) if tensor.name in inverses:
                return Div(a, _divisor(inverses[tensor.name], indices))
        return None

    return rewrite(e, rule)


def _divisor(inverse: Equation, indices: tuple[Expr, ...]) -> Expr:
    assert isinstance(inverse.value, Div)
    places: dict[Var, Expr] = {i: at for i, at in zip(inverse.indices, indices) if isinstance(i, Var)}
    return substitute(inverse.value.rhs, places)
