"""Expressions of every kind and type: what is printed parses back to the same expression, once
what folds has folded.
"""

from __future__ import annotations

from functools import cache

from hypothesis import given
from hypothesis import strategies as st

from tests.profiles import examples
from tests.programs import axis
from texpr.ir.dtypes import BOOL, DTYPES, DType, int_range, round_float
from texpr.ir.expr import (
    Add,
    And,
    Axis,
    Call,
    Cast,
    Compare,
    Const,
    Dim,
    Div,
    Expr,
    FloorDiv,
    Guard,
    Max,
    Min,
    Mod,
    Mul,
    Neg,
    Not,
    Or,
    Pow,
    Read,
    Reduce,
    Select,
    Sub,
    Tensor,
    Var,
    index,
)
from texpr.ir.functions import FUNCTIONS
from texpr.ir.printing.expr import default_accumulator
from texpr.ir.printing.tensor import show_program
from texpr.ir.tensor import Equation, Program
from texpr.ir.traverse import equal
from texpr.lang import parse
from texpr.lang.elaboration.elaborate import unproven

N, S = Var("N"), Var("S", pack=True)
AT, P = Var("i"), Var("p", pack=True)
TYPES = [t for t in DTYPES.values() if not t.is_float or t.bits >= 32]  # others are computed in f32
VECTORS = {t: Tensor(f"X_{t}", t, (Dim((N,)),)) for t in TYPES}
PACKED = {t: Tensor(f"P_{t}", t, (Dim((S,), True), Dim((N, index(2))))) for t in TYPES}


def _consts(t: DType) -> st.SearchStrategy[Expr]:
    if t == BOOL:
        return st.sampled_from([Const(True, dtype=BOOL), Const(False, dtype=BOOL)])
    if t.is_int:
        lo, hi = int_range(t)
        return (
            st.sampled_from([0, 1, 2, 7, -1, -3, lo, hi])
            .filter(lambda n: lo <= n <= hi)
            .map(lambda n: Const(n, dtype=t))
        )
    return st.sampled_from([0.0, 1.0, 0.5, -2.0, 1e-30, float("inf"), float("-inf")]).map(
        lambda x: Const(round_float(x, t), dtype=t)
    )


def _index() -> st.SearchStrategy[Expr]:
    leaves: st.SearchStrategy[Expr] = st.sampled_from([AT, N, index(0), index(3)])
    return st.recursive(
        leaves,
        lambda e: st.one_of(
            st.builds(lambda kind, a, b: kind(a, b), st.sampled_from([Add, Sub, Max, Min]), e, e),
            st.builds(
                lambda kind, a, n: kind(a, index(n)),
                st.sampled_from([Mul, FloorDiv, Mod]),
                e,
                st.integers(2, 5),
            ),
            st.builds(Neg, e),
        ),
        max_leaves=4,
    )


def _reads(t: DType) -> st.SearchStrategy[Expr]:
    guards = st.one_of(
        st.none(),
        st.sampled_from(["clamp", "wrap", "reflect"]).map(Guard),
        _consts(t).map(lambda c: Guard("value", c)),
    )
    return st.one_of(
        st.builds(lambda i, g: Read(VECTORS[t], (i,), g), _index(), guards),
        st.builds(lambda i, j, g: Read(PACKED[t], (P, i, j), g), _index(), _index(), guards),
    )


@cache
def expressions(t: DType, depth: int) -> st.SearchStrategy[Expr]:
    """Expressions of a type, of bounded depth."""
    leaves = st.one_of(_reads(t), _reads(t), _consts(t))
    if depth == 0:
        return leaves
    below = st.deferred(lambda: expressions(t, depth - 1))
    conditions = st.deferred(lambda: expressions(BOOL, depth - 1))
    found = [leaves, st.builds(Select, conditions, below, below), _casts(t, depth)]
    if t == BOOL:
        numbers = st.sampled_from(TYPES[1:]).flatmap(
            lambda u: st.tuples(expressions(u, depth - 1), expressions(u, depth - 1))
        )
        found += [
            st.builds(lambda kind, a, b: kind(a, b), st.sampled_from([And, Or]), below, below),
            st.builds(Not, below),
            st.builds(
                lambda op, ab: Compare(op, *ab), st.sampled_from(["<", "<=", ">", ">=", "==", "!="]), numbers
            ),
            st.builds(
                lambda op, e: Reduce(op, (_binder(),), e, None, dtype=BOOL),
                st.sampled_from(["any", "all"]),
                below,
            ),
        ]
        return st.one_of(found)
    binary = [Add, Sub, Mul, Max, Min, FloorDiv, Mod, *([Div, Pow] if t.is_float else [])]
    found += [
        st.builds(lambda kind, a, b: kind(a, b), st.sampled_from(binary), below, below),
        st.builds(Neg, below),
    ]
    functions = [
        f
        for f in FUNCTIONS.values()
        if f.result != "bool" and (f.domain == "num" or (f.domain == "float") == t.is_float)
    ]
    found.append(
        st.sampled_from(functions).flatmap(
            lambda f: st.tuples(*[below] * f.arity).map(lambda args: Call(f.name, args))
        )
    )
    found.append(
        st.builds(
            lambda op, e, c: _reduce(op, e, c),
            st.sampled_from(["sum", "prod", "max", "min"]),
            below,
            conditions,
        ).filter(lambda e: e.dtype == t)
    )
    return st.one_of(found)


def _binder() -> Axis:
    return axis(Var("k"), N)


def _reduce(op: str, body: Expr, where: Expr) -> Expr:
    t = default_accumulator(op, body.dtype)
    body = body if body.dtype == t else Cast(body, dtype=t)
    return Reduce(op, (_binder(),), body, where, dtype=t)


def _casts(t: DType, depth: int) -> st.SearchStrategy[Expr]:
    return (
        st.sampled_from([u for u in TYPES if u != t])
        .flatmap(lambda u: expressions(u, depth - 1))
        .map(lambda e: Cast(e, dtype=t))
    )


def _program(value: Expr) -> Program:
    target = Tensor("Y", value.dtype, (Dim((S,), True), Dim((N,))))
    axes = (axis(P, S), axis(AT, N))
    return Program(
        "f",
        (*VECTORS.values(), *PACKED.values()),
        (target,),
        (Equation(target, (P, AT), axes, value),),
        (N, S),
    )


def again(text: str) -> Program:
    return unproven(parse(text).ops["f"], {}, {})


@given(st.sampled_from(TYPES).flatmap(lambda t: expressions(t, 2)))
@examples(75)
def test_print_parse_is_the_identity(value: Expr):
    parsed = again(show_program(_program(value)))
    text = show_program(parsed)
    once_more = again(text)
    assert equal(parsed, once_more)
    assert show_program(once_more) == text
