"""`tf32`: factors of sums of f32 rounded for tensor cores, said by the script and the
certificate.
"""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest

import texpr as tx
from texpr.ir.dtypes import F32
from texpr.ir.expr import Call, Const, Mul, Node, Reduce
from texpr.ir.interpreter.loop import interpret_kernel
from texpr.ir.traverse import rewrite
from texpr.passes.lowering.lower import loops_of
from texpr.poly.certificate import certify
from texpr.support.errors import ScheduleError

MATMUL = tx.op(
    "op matmul(A: f32[M, K], B: f32[K, N]) -> C: f32[M, N] { C[i, j] = sum(k: A[i, k] * B[k, j]) }"
)
SAID = tx.op(
    "op said(A: f32[M, K], B: f32[K, N]) -> C: f32[M, N] { C[i, j] = sum(k: tf32(A[i, k]) * tf32(B[k, j])) }"
)
MEAN = tx.op("op mean(X: f32[N, M], w: f32[M]) -> Y: f32[N] { Y[i] = sum(j: X[i, j] * w[j]) / sum(j: w[j]) }")


def inputs(m: int = 5, k: int = 40, n: int = 6) -> list[np.ndarray]:
    rng = np.random.default_rng(0)
    return [rng.standard_normal((m, k)).astype("f4"), rng.standard_normal((k, n)).astype("f4")]


def test_the_picture(golden):
    golden(str(tx.schedule(MATMUL).tf32("k")))


def test_it_computes_what_it_says():
    """Bit for bit: the loops, the compiled loops, and the equations with the rounding written
    down.
    """
    s, given = tx.schedule(MATMUL).tf32("k"), inputs()
    sizes = {"M": 5, "K": 40, "N": 6}
    wanted = tx.interpret(SAID, *given)
    np.testing.assert_array_equal(interpret_kernel(s.kernel, given, sizes)[0], wanted)
    np.testing.assert_array_equal(s.compile()(*given), wanted)
    assert not np.array_equal(wanted, tx.interpret(MATMUL, *given))


def test_what_a_factor_is_wrong_by():
    """Each by 2^-11 of it: a product by 2^-10 and a little."""
    a, b = inputs()
    found = tx.interpret(SAID, a, b).astype("f8")
    bound = (2.0**-10 + 2.0**-22 + 40 * 2.0**-23) * (np.abs(a).astype("f8") @ np.abs(b))
    assert (np.abs(found - a.astype("f8") @ b) <= bound).all()


def test_the_certificate_and_the_script_say_so():
    s = tx.schedule(MATMUL, M=8, K=8, N=8).tf32("k").split("k", 4)
    certificate = s.certificate()
    assert certificate.rounding == "tf32: factors are rounded to tf32 in C" and not certificate.bit_exact
    assert s.script() == 'tf32("k")\nsplit("k", 4)\n'
    again = tx.schedule(MATMUL, M=8, K=8, N=8).replay(s.script())
    assert again.certificate().rewrites["tf32"] == ("C",)


def test_beside_other_laws():
    s = tx.schedule(MEAN).tf32("Y_sum.j")
    assert s.certificate().rewrites["tf32"] == ("Y_sum",)
    x, w = np.random.default_rng(1).random((3, 7), "f4"), np.random.default_rng(2).random(7, "f4")
    np.testing.assert_allclose(s.compile()(x, w), tx.interpret(MEAN, x, w), rtol=2e-3)


def _wrong(rule) -> tx.Schedule:
    """A kernel whose equations are those of the step, changed."""
    s = tx.schedule(MATMUL, M=4, K=4, N=4).tf32("k")
    program = rewrite(s.kernel.program, rule)
    return certify(
        replace(loops_of(program), program=program), tx.schedule(MATMUL, M=4, K=4, N=4).kernel.program
    )


def _one_factor(n: Node) -> Node | None:
    return replace(n, lhs=n.lhs.args[0]) if isinstance(n, Mul) and isinstance(n.lhs, Call) else None


def _doubled(n: Node) -> Node | None:
    return replace(n, body=Mul(n.body, Const(2.0, dtype=F32))) if isinstance(n, Reduce) else None


def _twice(n: Node) -> Node | None:
    return (
        replace(n, rhs=Call("tf32", (Mul(n.rhs, n.rhs),)))
        if isinstance(n, Mul) and isinstance(n.rhs, Call)
        else None
    )


@pytest.mark.parametrize("rule", [_one_factor, _doubled, _twice])
def test_other_equations_are_not_certified(rule):
    with pytest.raises(ScheduleError, match="not proven to compute it"):
        _wrong(rule)


def complaint(s: tx.Schedule, loop: str) -> str:
    with pytest.raises(ScheduleError) as error:
        s.tf32(loop)
    return str(error.value)


def test_refusals(golden):
    f64 = tx.op(str(MATMUL).replace("f32", "f64"))
    golden(
        "\n\n".join(
            [
                complaint(tx.schedule(MATMUL), "i"),
                complaint(tx.schedule(f64), "k"),
                complaint(tx.schedule(SAID), "k"),
                complaint(tx.schedule(MATMUL).split("k", 4), "ki"),
            ]
        )
    )
