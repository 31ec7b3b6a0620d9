"""Random operators, differentiated; and that what is wrong would be found."""

from __future__ import annotations

from collections import Counter

import pytest

import texpr.tools.fuzz.gradients as trying
from texpr.__main__ import main
from texpr.lang import elaborate, parse
from texpr.support.errors import Error
from texpr.tools.fuzz.gradients import differentiated, text_of

NEXT = "op f(A: f64[T, V], y: i64[T] in 0..V) -> l: f64[T] { l[t] = A[t - 1, y[t] | 0] * A[0, 0] }"


@pytest.mark.parametrize("block", range(4))
def test_nothing_is_found_among_some_operators(block: int):
    for number in range(4 * block, 4 * (block + 1)):
        text = text_of(20, number)
        finding = differentiated(text, Counter(), native=False, second=number % 4 == 0)
        assert finding is None, f"operator {number}\n{text}\n{finding}"


def test_most_operators_are_accepted():
    def is_accepted(text: str) -> bool:
        try:
            return elaborate(parse(text).ops["f"], {}, {}).name == "f"
        except Error:
            return False

    assert sum(is_accepted(text_of(3, k)) for k in range(60)) >= 45


def test_a_derivative_is_compiled_and_run():
    counts = Counter()
    assert differentiated(NEXT, counts, native=True, second=True) is None
    assert counts["compiled and run"] == 3 and counts["interpreted"] == 2


def test_what_is_wrong_is_found(monkeypatch):
    def kind() -> str:
        found = differentiated(NEXT, Counter(), native=False, second=False)
        return "" if found is None else found.kind

    assert kind() == ""
    with monkeypatch.context() as patch:
        patch.setattr("texpr.autodiff.reverse.vjp.inside", lambda program: program)
        patch.setattr("texpr.autodiff.reverse.gather.at_least", lambda e, lo, axes: True)
        patch.setattr("texpr.autodiff.reverse.gather.below", lambda e, hi, axes: True)
        trying.grad.__globals__["_grad"].cache_clear()
        assert kind().startswith("f_grad is refused: error[bounds]")
    trying.grad.__globals__["_grad"].cache_clear()
    with monkeypatch.context() as patch:
        patch.setattr(trying, "jvp", lambda program: trying.grad(program))
        assert kind() != ""
    with monkeypatch.context() as patch:
        patch.setattr(trying, "check_program", lambda program: program.inputs)
        assert kind() == "f_grad requires more"


def test_the_command(tmp_path, capsys):
    assert (
        main(
            [
                "fuzz",
                "--only",
                "gradients",
                "--gradients",
                "2",
                "--seed",
                "20",
                "--findings",
                str(tmp_path / "found"),
            ]
        )
        == 0
    )
    assert "2 gradients, 0 kinds of findings" in capsys.readouterr().out
    (tmp_path / "one.gradients").write_text(NEXT)
    assert main(["fuzz", "--replay", str(tmp_path / "one.gradients")]) == 0
    assert "nothing goes wrong" in capsys.readouterr().out
