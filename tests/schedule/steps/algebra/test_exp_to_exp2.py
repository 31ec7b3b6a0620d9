"""`exp_to_exp2`: powers of 2 for exponentials stay within the stated bound, the certificate
derives them, and says so.
"""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

import texpr as tx
from tests.runtime.emulator.test_fibers import SM80, emulated
from tests.schedule.steps.algebra.altered import certified_with
from tests.targets.cases import Case, problem
from tests.targets.gpu.sass import count, instructions
from texpr.compiler import pass_pipeline
from texpr.ir.expr import Call, Const, Mul, Node
from texpr.support.errors import ScheduleError
from texpr.targets import compile_kernel, emit_llvm
from texpr.targets.gpu.native_conversions import POWER

EXP = "op e(X: f32[N]) -> Y: f32[N] { Y[i] = exp(X[i]) }"
SOFTMAX = tx.op("""op softmax(X: f32[N, M]) -> Y: f32[N, M] {
  m[i] = max(j: X[i, j])
  e[i, j] = exp(X[i, j] - m[i])
  Y[i, j] = e[i, j] / sum(k: e[i, k])
}""")
WEIGHTED = tx.op("""op weighted(S: f32[N, M], V: f32[M, K]) -> O: f32[N, K] {
  m[i] = max(j: S[i, j])
  e[i, j] = exp(S[i, j] - m[i])
  O[i, k] = sum(j: e[i, j] * V[j, k])
}""")


def test_the_bound():
    """|u| * 2^-23 for the product, 1.5 ulp for exp2."""
    x = np.concatenate(
        [np.linspace(-87, 88, 200_001), np.random.default_rng(0).standard_normal(50_000)]
    ).astype("f4")
    exact = np.exp(x.astype("f8"))
    got = tx.schedule(tx.op(EXP), N=len(x)).exp_to_exp2("Y").split("i", 16).vectorize("ii").compile()(x)
    assert (np.abs(got - exact) <= (np.abs(x) + 1.5) * 2.0**-23 * exact).all()


@pytest.mark.parametrize("factor", ["0.3", "rsqrt(f32(80))"])
def test_the_bound_with_one_factor(factor: str):
    """|u| * 2^-22, where u has the factor; one product is left of two."""
    x = np.linspace(-87, 88, 20_001).astype("f4")
    s = tx.schedule(
        tx.op(f"op e(X: f32[N]) -> Y: f32[N] {{ Y[i] = exp((X[i] - 0.0) * {factor}) }}"), N=len(x)
    ).exp_to_exp2("Y")
    assert s.certificate().rewrites["exp_to_exp2"] == ("Y",) and "* (X[i] - 0.0)" in str(s)
    u = (x * np.float32(0.3 if factor == "0.3" else 80**-0.5)).astype("f8")
    assert (np.abs(s.compile()(x) - np.exp(u)) <= (np.abs(u) + 1.5) * 2.0**-22 * np.exp(u)).all()


@pytest.mark.parametrize("factor", ["3.0e38", "1.0e-44"])
def test_a_factor_that_log2_e_would_make_no_normal_number(factor: str):
    """It stays with what it multiplies: 0 times infinity would be NaN."""
    s = tx.schedule(tx.op(f"op e(X: f32[N]) -> Y: f32[N] {{ Y[i] = exp(X[i] * {factor}) }}")).exp_to_exp2("Y")
    x = np.array([0.0, 1e-38, -1e-38], "f4")
    np.testing.assert_allclose(s.compile()(x), np.exp(x * np.float32(factor)), rtol=1e-6)


def test_infinities_and_nan():
    x = np.array([np.inf, -np.inf, np.nan, 0.0, -0.0, 1e30, -1e30], "f4")
    with np.errstate(over="ignore"):
        np.testing.assert_array_equal(tx.schedule(tx.op(EXP)).exp_to_exp2("Y").compile()(x), np.exp(x))


def test_the_certificate_names_the_law():
    certificate = tx.schedule(SOFTMAX).exp_to_exp2("e").certificate()
    assert (
        certificate.rounding == "exp_to_exp2: exp(u) = exp2(log2(e) * u) in e" and not certificate.bit_exact
    )
    assert certificate.rewrites["exp_to_exp2"] == ("e",)


def test_behind_online():
    """Of the exponentials of blocks, and of the factors between them."""
    s = (
        tx.schedule(WEIGHTED)
        .online_softmax("m", 8, reassoc=True)
        .exp_to_exp2("e_block")
        .exp_to_exp2("m_scale")
    )
    said = s.certificate().rounding
    assert (
        "exp_to_exp2: exp(u) = exp2(log2(e) * u) in m_scale, e_block" in said and "online_softmax: " in said
    )
    given = (
        np.random.default_rng(0).standard_normal((3, 40)).astype("f4"),
        np.random.default_rng(1).standard_normal((40, 5)).astype("f4"),
    )
    kernel = (
        tx.schedule(WEIGHTED)
        .online_softmax("m", 8, reassoc=True)
        .exp_to_exp2("e_block")
        .exp_to_exp2("m_scale")
        .compile()
    )
    np.testing.assert_allclose(
        kernel(*given), np.asarray(tx.interpret(WEIGHTED, *given)), rtol=1e-5, atol=1e-6
    )


def test_the_certificate_refuses_another_factor():
    def rule(n: Node) -> Node | None:
        match n:
            case Call("exp2", (Mul(Const() as factor, u),)):
                return Call("exp2", (Mul(Const(1.5, dtype=factor.dtype), u),))
        return None

    assert certified_with(
        tx.schedule(SOFTMAX).exp_to_exp2("e"), tx.schedule(SOFTMAX), lambda n: None
    ).rewrites["exp_to_exp2"] == ("e",)
    with pytest.raises(ScheduleError, match="error\\[certificate\\]"):
        certified_with(tx.schedule(SOFTMAX).exp_to_exp2("e"), tx.schedule(SOFTMAX), rule)


def test_on_a_gpu(tmp_path: Path):
    """One instruction; what is below the normal numbers is 0."""
    script = 'exp_to_exp2("Y")\nbind("i", "thread.x")\n'
    case = Case("e", EXP, ((64,),))
    np.testing.assert_allclose(emulated(case, script)[0], problem(case).expected[0], rtol=1e-6)
    s = tx.schedule(tx.op(EXP), N=64).replay(script)
    code = instructions(
        compile_kernel(pass_pipeline.prepared(s.kernel, SM80), SM80).assembly, "sm_80", tmp_path
    )
    assert count(code, "MUFU.EX2") == 1 and count(code, "FFMA") == 0 and count(code, "FMUL") <= 1


def test_other_powers_of_2_are_as_near_on_a_gpu_as_anywhere():
    """The processor's instruction is coarser than the bound of `exp2`, and 0 too early."""
    operator = EXP.replace("exp(", "exp2(")
    llvm = {
        text: emit_llvm(
            pass_pipeline.prepared(tx.schedule(tx.op(text), N=64).replay(script).kernel, SM80), SM80
        )[0]
        for text, script in (
            (operator, 'bind("i", "thread.x")\n'),
            (EXP, 'exp_to_exp2("Y")\nbind("i", "thread.x")\n'),
        )
    }
    assert POWER not in llvm[operator] and POWER in llvm[EXP]
    found = emulated(Case("e", operator, ((64,),)), 'bind("i", "thread.x")\n')[0]
    exact = np.exp2(problem(Case("e", operator, ((64,),))).inputs[0].astype("f8"))
    assert (np.abs(found - exact) <= 1.5 * np.spacing(exact.astype("f4"))).all()


def test_complaints():
    with pytest.raises(ScheduleError) as error:
        tx.schedule(tx.op(EXP.replace("f32", "f64"))).exp_to_exp2("Y")
    assert "error[exp_to_exp2]: `Y` has no exponential of f32" in str(error.value)
    with pytest.raises(
        ScheduleError, match="exp_to_exp2 rewrites the equations, before their loops are changed"
    ):
        tx.schedule(tx.op(EXP)).split("i", 4).exp_to_exp2("Y")
