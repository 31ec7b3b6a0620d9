"""Every algebraic law alone, on random and special values."""

from __future__ import annotations

import ast
import itertools

import numpy as np
import pytest

from tests.strategies import special_values
from texpr.graph.passes import EXACT, LAWS, Law
from texpr.graph.passes.law_matcher import LITERALS, _built, _root, simplified
from texpr.ir.build import literal
from texpr.ir.dtypes import BOOL, F16, F32, F64, I8, U8, DType, numpy_dtype
from texpr.ir.expr import Add, And, Call, Compare, Const, Expr, Mul, Not, Or, Var
from texpr.ir.interpreter.arithmetic import quiet
from texpr.ir.interpreter.evaluate import Points, evaluate

RANDOM = np.random.default_rng(7)
NUMBERS = (-3.0, -1.0, -0.5, 0.0, 0.25, 1.0, 1.5, 2.0, 3.0, 4.0, 8.0)


def dtypes(law: Law) -> tuple[DType, ...]:
    """Types to try a law with."""
    if not law.exact:
        return (F64,)
    return {"float": (F32, F64), "narrow": (F16, F32), "int": (I8, U8), "any": (F32, I8)}[law.kind]


def names(law: Law) -> list[str]:
    return sorted(
        {n.id for n in ast.walk(law.before) if isinstance(n, ast.Name)} - {"max", "min"} - functions(law)
    )


def functions(law: Law) -> set[str]:
    return {n.func.id for n in ast.walk(law.before) if isinstance(n, ast.Call)}  # type: ignore[attr-defined]


def values(name: str, count: int, law: Law, t: DType) -> np.ndarray:
    """What a name stands for: everything there is, or a choice of it and of random numbers."""
    if name in "cd":
        return np.array([False, True])
    if t.is_int:
        every = np.arange(-128, 128).astype(numpy_dtype(t))
        return every if count <= 2 else np.concatenate([special_values(t), RANDOM.choice(every, 12)])
    if not law.exact:
        return RANDOM.uniform(0.5, 3.0, 9).astype(numpy_dtype(t))
    return np.concatenate([special_values(t), RANDOM.normal(size=8).astype(numpy_dtype(t))])


def cases(law: Law, t: DType):
    """The left side over variables, for every choice of literals, and the values of the
    variables.
    """
    variables = [n for n in names(law) if n not in LITERALS]
    found: dict[str, Expr] = {n: Var(n, dtype=BOOL if n in "cd" else t) for n in variables}
    grids = np.meshgrid(*(values(n, len(variables), law, t) for n in variables), indexing="ij")
    env = {found[n]: g.ravel() for n, g in zip(variables, grids)}
    given = [n for n in names(law) if n in LITERALS]
    for chosen in itertools.product(NUMBERS, repeat=len(given)):
        numbers = dict(zip(given, chosen))
        if (t.is_int and any(v != int(v) or v < 0 for v in chosen)) or not (
            law.when is None or law.when(numbers)
        ):
            continue
        result = BOOL if _root(law.before) in (Compare, And, Or, Not) else t
        yield _built(law.before, found | {n: literal(v, t) for n, v in numbers.items()}, result, t), env


def evaluated(e: Expr, env: dict[Expr, np.ndarray]) -> np.ndarray:
    shape = next(iter(env.values())).shape
    with quiet():
        found = evaluate(e, Points(env, shape, np.ones(shape, bool)), {}).values  # type: ignore[arg-type]
    return np.broadcast_to(found, shape)


@pytest.mark.parametrize("law", LAWS, ids=str)
def test_a_law_keeps_the_value(law: Law):
    tried = 0
    for t in dtypes(law):
        for before, env in cases(law, t):
            after = law.apply(before)
            assert after is not None, f"{law} does not apply to its own left side"
            assert after.dtype == before.dtype
            old, new = evaluated(before, env), evaluated(after, env)
            if law.exact:
                same = (
                    (old == new) & (np.signbit(old) == np.signbit(new))
                    if old.dtype.kind == "f"
                    else old == new
                )
                bad = ~(same | ((old != old) & (new != new)))
                assert not bad.any(), {v.name: a[bad][:3] for v, a in env.items()}  # type: ignore[attr-defined]
            else:
                np.testing.assert_allclose(new, old, rtol=1e-9, atol=1e-12)
            tried += 1
    assert tried


def test_there_are_enough():
    assert len(LAWS) >= 60 and len(set(map(str, LAWS))) == len(LAWS)
    assert {law.exact for law in LAWS} == {True, False} and set(EXACT) < set(LAWS)


def test_powers_of_two_are_multiplied_at_once():
    x = Var("x", dtype=F32)
    tripled: Expr = x
    for _ in range(3):
        tripled = Mul(tripled, literal(2.0, F32))
    found = simplified(tripled, EXACT)
    assert (
        isinstance(found, Mul) and found.lhs is x and isinstance(found.rhs, Const) and found.rhs.value == 8.0
    )
    inexact = Mul(Mul(x, literal(0.1, F32)), literal(3.0, F32))
    assert simplified(inexact, EXACT) is inexact
    assert simplified(inexact, LAWS) is not inexact


def test_zero_is_added_unless_told_otherwise():
    x = Var("x", dtype=F32)
    plus = Add(x, literal(0.0, F32))
    assert simplified(plus, EXACT) is plus, "-0 + 0 is 0"
    assert simplified(plus, LAWS) is x
    assert simplified(Add(x, literal(-0.0, F32)), EXACT) is x


def test_laws_are_applied_inside_out():
    x = Var("x", dtype=F32)
    one = Mul(Call("abs", (Call("abs", (x,)),)), literal(1.0, F32))
    found = simplified(one, EXACT)
    assert isinstance(found, Call) and found.args == (x,)
