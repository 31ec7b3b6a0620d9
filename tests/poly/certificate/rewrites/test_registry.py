"""The registry of laws: a law for each step that rewrites equations, and nothing else to add for
one more.
"""

from __future__ import annotations

import ast
from dataclasses import replace

import pytest

import texpr as tx
from tests.repo.source import ROOT
from tests.schedule.steps.algebra.altered import certified_with
from texpr.ir.expr import Call, Node
from texpr.ir.traverse import rewrite
from texpr.poly.certificate.rewrites import registry
from texpr.poly.certificate.rewrites.derivation import Derivation
from texpr.poly.certificate.rewrites.registry import LAWS, RewriteLaw
from texpr.schedule.steps.registry import rules
from texpr.support.errors import CertificateError

STEPS = ROOT / "texpr" / "schedule" / "steps" / "algebra"
SINE = "op f(X: f32[N]) -> Y: f32[N] { Y[i] = sin(X[i]) }"


def _rewrites_equations(text: str) -> bool:
    """A step that changes equations takes them from `schedule.structure.equations`."""
    return any(
        isinstance(n, ast.ImportFrom) and n.module == "texpr.schedule.structure.equations"
        for n in ast.walk(ast.parse(text))
    )


def test_each_step_that_rewrites_equations_has_a_law():
    steps = {f.stem for f in STEPS.glob("*.py") if _rewrites_equations(f.read_text(encoding="utf-8"))}
    laws = [name for law in LAWS for name in (law.step, *law.also)]
    assert steps == set(laws) and len(laws) == len(steps) == 9
    assert {rule.name for rule in rules().values() if rule.kind == "algebra"} - steps == {"allow_fma"}


def test_checkers_are_named_as_their_steps():
    assert [law.check.__module__.rpartition(".")[2] for law in LAWS] == [law.step for law in LAWS]


def _cosine(n: Node) -> Node | None:
    return Call("cos", n.args) if isinstance(n, Call) and n.function == "sin" else None


def _sine_is_cosine(derivation: Derivation) -> tuple[Derivation, tuple[str, ...]]:
    """A law that does not hold, for the test alone."""
    return derivation.specified(rewrite(e, _cosine) for e in derivation.specification.equations), ("Y",)


def test_a_law_needs_its_record_alone(monkeypatch: pytest.MonkeyPatch):
    def certificate() -> object:
        s = tx.schedule(tx.op(SINE))
        s.kernel = replace(s.kernel, program=s.program)
        return certified_with(s, tx.schedule(tx.op(SINE)), _cosine)

    with pytest.raises(CertificateError, match="is no sum of multiples of exponentials"):
        certificate()
    law = RewriteLaw("sine_as_cosine", _sine_is_cosine, "sin(u) = cos(u) in {}")
    monkeypatch.setattr(registry, "LAWS", (law, *LAWS))
    found = certificate()
    assert str(found).startswith("certificate of f: sine_as_cosine: sin(u) = cos(u) in Y\n")
    assert found.rewrites == {"sine_as_cosine": ("Y",)} and not found.bit_exact


def test_outputs_keep_their_order():
    """A rewrite proves equations; that they are of the same outputs is asked as well."""
    text = "op f(X: f32[N]) -> (Y: f32[N], Z: f32[N]) { Y[i] = exp(X[i])  Z[i] = X[i] + 1 }"
    s = tx.schedule(tx.op(text)).exp_to_exp2("Y")
    assert s.certificate().rewrites == {"exp_to_exp2": ("Y",)}
    program, outputs = s.kernel.program, s.kernel.outputs
    s.kernel = replace(
        s.kernel, program=replace(program, outputs=program.outputs[::-1]), outputs=outputs[::-1]
    )
    with pytest.raises(CertificateError, match="the loops have other inputs or outputs"):
        s.certificate()
