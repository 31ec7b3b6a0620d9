"""Laws on equations that no step makes: they hold of whatever loops implement."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace

import texpr as tx
from texpr.ir.build import compare, conjunction
from texpr.ir.expr import Expr, Node, Reduce, index
from texpr.ir.tensor import Invoke, Program
from texpr.ir.traverse import equal, rewrite, walk
from texpr.poly.certificate.engine.isl_frame import Frame, Parameters
from texpr.poly.certificate.rewrites import drop_padding, reciprocal, tanh_to_sigmoid
from texpr.poly.certificate.rewrites.derivation import Derivation

TWO_SUMS = """op f(X: f32[N], w: f32[Q]) -> Y: f32[N] {
  Y[i] = sum(q: X[i + q - 1 | 0] * w[q]) + max(p in 0..3: X[i + p | 1]) }"""
TWICE = "op f(X: f32[N]) -> Y: f32[N] { Y[i] = 1 + tanh(X[i]) }"


def derivation(specification: Program, implementation: Program) -> Derivation:
    """The question whether one program computes what another says, of any sizes."""
    parameters = Parameters(specification.sizes, specification.inputs)
    return Derivation(specification, implementation, parameters, Frame(parameters, ()).universe().params())


def trimmed(program: Program, conditions: Callable[[Reduce], Expr | None]) -> Program:
    """The program with conditions of its sums; with the same sum where they are None."""

    def rule(n: Node) -> Node | None:
        where = conditions(n) if isinstance(n, Reduce) else None
        return None if where is None else replace(n, where=where)

    return rewrite(program, rule)


def within(n: Reduce) -> Expr | None:
    """The condition that the first factor of a sum is an element."""
    if n.op != "sum":
        return None
    read = next(r for r in walk(n.body) if getattr(r, "guard", None) is not None)
    return conjunction(
        compare("<=", index(0), read.indices[0]), compare("<", read.indices[0], read.tensor.shape[0])
    )


def test_a_shortened_sum_beside_a_whole_one():
    program = tx.op(TWO_SUMS).program()
    new = trimmed(program, within)
    found, names = drop_padding.check(derivation(program, new))
    assert names == ["Y"] and equal(found.specification.equations, new.equations)


def called(program: Program) -> Program:
    """A program that calls another for its result."""
    return replace(program, equations=(Invoke(program.outputs, program, program.inputs),))


def test_calls_are_no_sums():
    """An equation that is a call in the other program differs, and nothing is proven of it."""
    for text in (TWO_SUMS, TWICE):
        program = tx.op(text).program()
        call = called(program)
        for law in (drop_padding.check, reciprocal.check, tanh_to_sigmoid.check):
            for old, new in ((program, call), (call, program), (call, call)):
                found, names = law(derivation(old, new))
                assert names == [] and found.specification.equations == old.equations


def test_a_shortened_sum_in_another_equation():
    """Fewer terms prove nothing of what else was changed."""
    program, other = (tx.op(text).program() for text in (TWO_SUMS, TWO_SUMS.replace("+ max", "- max")))
    shorter = trimmed(other, within)
    found, names = drop_padding.check(derivation(program, replace(program, equations=shorter.equations)))
    assert names == [] and found.specification.equations == program.equations
