"""What forward keeps for backward, decided by hand."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

import texpr as tx
from tests.autodiff import operators
from tests.autodiff.checking import check_vjp, random_cotangents
from texpr.autodiff import grad, vjp
from texpr.ir.interpreter.tensor import interpret
from texpr.ir.tensor import Program
from texpr.lang import elaborate, parse
from texpr.poly import check_program
from texpr.support.errors import CheckError

TEXT = (Path(__file__).parents[2] / "lang" / "operators.tx").read_text()


def lstm() -> Program:
    return elaborate(parse(TEXT.replace("f32", "f64"), "operators.tx").ops["lstm"], {}, {})


def normal(*shape: int) -> np.ndarray:
    return np.random.default_rng(sum(shape)).normal(size=shape)


CASES = {
    "softmax": (operators.softmax(), [normal(2, 3, 2)], ("m", "e", "Y")),
    "layernorm": (operators.layernorm(), [normal(2, 3), normal(3), normal(3)], ("mu", "var")),
    "attention": (operators.attention(), [normal(1, 2, 2), normal(1, 3, 2), normal(1, 3, 2)], ("S", "P")),
    "lstm": (
        lstm(),
        [normal(2, 1, 2), normal(4, 2, 2), normal(4, 2, 2), normal(4, 2), normal(1, 2), normal(1, 2)],
        ("h", "c"),
    ),
}


@pytest.mark.parametrize("name", CASES)
def test_the_same_gradient_whatever_is_kept(name: str):
    program, arrays, tensors = CASES[name]
    cotangents = random_cotangents(program, arrays)
    expected = interpret(grad(program), [*arrays, *cotangents])
    for checkpoint in ((), tensors[:1], tensors):
        check_vjp(program, arrays, cotangents, expected, checkpoint=checkpoint)
        forward, backward = vjp(program, checkpoint=checkpoint)
        check_program(backward)
        given = {t.name for t in program.inputs} | set(checkpoint)
        assert {t.name for t in backward.inputs if t.name not in given} == {
            f"d{t.name}" for t in program.outputs
        }
        assert {t.name for t in forward.outputs} <= {t.name for t in program.outputs} | set(checkpoint)


def test_nothing_is_kept_that_is_not_needed():
    forward, _ = vjp(operators.layernorm(), checkpoint=["mu", "Y"])
    assert [t.name for t in forward.outputs] == ["Y", "mu"]


def test_unknown_tensors():
    with pytest.raises(CheckError) as e:
        vjp(operators.softmax(), checkpoint=["q"])
    assert (
        str(e.value)
        == "error[gradient]: `softmax` computes no `q` to store\n  help: it computes Y, Y_sum, e, m"
    )


def test_as_operators():
    op = tx.op("op f(X: f32[N]) -> Y: f32[N] { Z[i] = exp(X[i])  Y[i] = Z[i] * sin(Z[i]) }")
    x, seed = np.array([0.1, 0.5], "f4"), np.ones(2, "f4")
    forward, backward = tx.vjp(op, checkpoint=[])
    np.testing.assert_allclose(forward(x), op(x), rtol=1e-6)
    np.testing.assert_allclose(backward(x, seed), tx.grad(op)(x, seed), rtol=1e-6)
    assert [p.name for p in tx.vjp(op)[1].signature.inputs] == ["Z", "dY"]
    with pytest.raises(tx.CallError, match="expected names of tensors, each once"):
        tx.vjp(op, checkpoint=["Z", "Z"])
