"""Invariants of a well-formed scalar expression. A complaint is a bug of ours, so it is an
`AssertionError` with the node printed.
"""

from __future__ import annotations

from collections.abc import Collection

from texpr.ir.dtypes import BOOL, DTYPES, F32, F64, I64, U64, int_range
from texpr.ir.expr import (
    Add,
    And,
    Axis,
    Binary,
    Call,
    Cast,
    Compare,
    Const,
    Div,
    Expr,
    Guard,
    Mul,
    Neg,
    Node,
    Not,
    Or,
    Pow,
    Read,
    Reduce,
    Select,
    Sub,
    Tensor,
    Var,
)
from texpr.ir.functions import FUNCTIONS, PRIMITIVES
from texpr.ir.interpreter.random import RANDOM
from texpr.ir.printing.expr import show
from texpr.ir.traverse import children, postorder

READ_GUARDS = ("value", "clamp", "wrap", "reflect")
WRITE_GUARDS = ("drop", "clamp", "wrap", "reflect")
UPDATES = (None, "add", "mul", "max", "min")
REDUCTIONS = ("sum", "prod", "max", "min", "argmax", "argmin", "any", "all")
COMPARISONS = ("<", "<=", ">", ">=", "==", "!=")


def check(condition: bool, problem: str, node: Node) -> None:
    """Complain about `node` unless the condition holds."""
    if not condition:
        raise AssertionError(f"{problem}: {_printed(node)}")


def _printed(node: Node) -> str:
    name = type(node).__name__
    if not isinstance(node, Expr):
        return name
    try:
        return f"{name} `{show(node)}`"
    except Exception:  # A malformed node need not print; the complaint about it still must.
        return name


def verify_expr(
    expr: Expr, scope: Collection[Var], tensors: Collection[Tensor], *, in_kernel: bool
) -> set[Var]:
    """Check every node of an expression whose free variables must be in `scope`; the variables it
    binds.

    Args:
        tensors: what may be read.
        in_kernel: a kernel has neither reductions nor guards.
    """
    bound: set[Var] = set()
    free: dict[int, frozenset[Var]] = {}
    for node in postorder(expr):
        check(isinstance(node, Expr | Guard | Axis), "not part of an expression", node)
        check(not (in_kernel and isinstance(node, Reduce | Guard)), "not allowed in a kernel", node)
        if isinstance(node, Expr):
            check(node.dtype in DTYPES.values(), f"no dtype {node.dtype}", node)
        if isinstance(node, Read):
            check(node.tensor in tensors, f"{node.tensor.name} is not a tensor that can be read here", node)
        _verify_node(node)
        free[id(node)] = _free(node, free)
        if isinstance(node, Reduce):
            for axis in node.axes:
                check(
                    axis.var not in bound and axis.var not in scope, f"{axis.var.name} is bound twice", node
                )
                bound.add(axis.var)
    loose = free[id(expr)] - set(scope)
    check(not loose, f"{', '.join(sorted(v.name for v in loose))} is not in scope", expr)
    return bound


def _free(node: Node, free: dict[int, frozenset[Var]]) -> frozenset[Var]:
    if isinstance(node, Var):
        return frozenset([node])
    if not isinstance(node, Reduce):
        return frozenset().union(*(free[id(child)] for child in children(node)))
    inside = free[id(node.body)] | (free[id(node.where)] if node.where is not None else frozenset())
    for axis in reversed(node.axes):
        inside = inside - {axis.var} | free[id(axis)]
    return inside


def _verify_node(node: Node) -> None:
    match node:
        case Const():
            _verify_literal(node)
        case Var():
            check(node.dtype == I64, "a variable is i64", node)
        case Axis(_, lo, hi):
            check(lo.dtype == I64 and hi.dtype == I64, "a range is i64", node)
        case Guard(mode, value):
            check(mode in (*READ_GUARDS, *WRITE_GUARDS), f"no guard {mode}", node)
            check((value is not None) == (mode == "value"), "exactly a value guard has a value", node)
        case Read():
            _verify_read(node)
        case Reduce():
            _verify_reduce(node)
        case _:
            _verify_operator(node)


def _verify_literal(node: Const) -> None:
    value, t = node.value, node.dtype
    if t == BOOL:
        check(isinstance(value, bool), "a bool literal holds a bool", node)
    elif t.is_int:
        lo, hi = int_range(t)
        check(
            isinstance(value, int) and not isinstance(value, bool) and lo <= value <= hi,
            f"{value!r} is no {t}",
            node,
        )
    else:
        check(isinstance(value, float), f"a {t} literal holds a float, not {value!r}", node)


def _verify_read(node: Read) -> None:
    tensor = node.tensor
    check(
        len(node.indices) == tensor.rank,
        f"{len(node.indices)} indices for {tensor.name} of rank {tensor.rank}",
        node,
    )
    check(all(i.dtype == I64 for i in node.indices), "an index is i64", node)
    check(node.dtype == tensor.dtype, f"{tensor.name} is {tensor.dtype}", node)
    guard = node.guard
    if guard is not None:
        check(guard.mode in READ_GUARDS, f"no guard {guard.mode} on a read", node)
        check(
            guard.value is None or guard.value.dtype == tensor.dtype,
            f"the guard of a {tensor.dtype} has another dtype",
            node,
        )


def _verify_reduce(node: Reduce) -> None:
    check(node.op in REDUCTIONS, f"no reduction {node.op}", node)
    check(len(node.axes) > 0, "a reduction has an axis", node)
    check(node.where is None or node.where.dtype == BOOL, "a condition is bool", node)
    if node.op in ("argmax", "argmin"):
        check(node.dtype == I64, "argmax and argmin are i64", node)
        check(0 <= node.which < len(node.axes), "argmax and argmin select one of their axes", node)
    elif node.op in ("any", "all"):
        check(node.dtype == BOOL == node.body.dtype, "any and all are bool", node)
    else:
        check(node.dtype == node.body.dtype, f"accumulates {node.body.dtype} in {node.dtype}", node)
        check(node.dtype != BOOL or node.op in ("max", "min"), f"no {node.op} of bools", node)


def _verify_operator(node: Node) -> None:
    match node:
        case Cast():
            pass
        case Not(a):
            check(a.dtype == node.dtype == BOOL, "needs a bool", node)
        case Neg(a):
            check(a.dtype == node.dtype != BOOL, "needs a number", node)
        case And(a, b) | Or(a, b):
            check(a.dtype == b.dtype == node.dtype == BOOL, "needs bools", node)
        case Compare(op, a, b):
            check(op in COMPARISONS, f"no comparison {op}", node)
            check(a.dtype == b.dtype, f"compares {a.dtype} with {b.dtype}", node)
        case Select(cond, then, orelse):
            check(cond.dtype == BOOL, "a condition is bool", node)
            check(
                then.dtype == orelse.dtype == node.dtype,
                f"chooses between {then.dtype} and {orelse.dtype} for {node.dtype}",
                node,
            )
        case Call():
            _verify_call(node)
        case Binary(a, b):
            check(
                a.dtype == b.dtype == node.dtype, f"combines {a.dtype} with {b.dtype} to {node.dtype}", node
            )
            check(node.dtype.is_float or not isinstance(node, Div | Pow), "needs floats", node)
            check(node.dtype != BOOL or not isinstance(node, Add | Sub | Mul), "needs numbers", node)
        case _:
            raise AssertionError(f"an unknown node {type(node).__name__}")


def _verify_call(node: Call) -> None:
    if node.function in PRIMITIVES:
        check(
            len(node.args) == PRIMITIVES[node.function],
            f"{node.function} takes {PRIMITIVES[node.function]} arguments",
            node,
        )
        return
    if node.function in RANDOM:
        seed, *indices = node.args
        check(seed.dtype == U64 and all(i.dtype == I64 for i in indices), "a seed is u64, an index i64", node)
        check(node.dtype in (F32, F64), f"no {node.function} of {node.dtype}", node)
        return
    check(node.function in FUNCTIONS, f"no function {node.function}", node)
    function = FUNCTIONS[node.function]
    check(len(node.args) == function.arity, f"{function.name} takes {function.arity} arguments", node)
    operand = node.args[0].dtype
    check(
        all(a.dtype == operand for a in node.args),
        f"{function.name} of {', '.join(str(a.dtype) for a in node.args)}",
        node,
    )
    fits = {"float": operand.is_float, "int": operand.is_int, "num": operand.is_float or operand.is_int}[
        function.domain
    ]
    check(fits, f"{function.name} is not for {operand}", node)
    check(
        node.dtype == (BOOL if function.result == "bool" else operand),
        f"{function.name} of {operand} is not {node.dtype}",
        node,
    )
