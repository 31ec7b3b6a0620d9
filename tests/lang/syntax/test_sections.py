"""What is read of a text of which one operator is wanted."""

from __future__ import annotations

import pytest

from texpr.lang import parse
from texpr.lang.syntax.definitions import needed
from texpr.support.errors import Error

TEXT = """# A library.

fn half(x) = x / 2

# Not wanted: uses half in a comment only.
op other(X: f32[N]) -> Y: f32[N] { Y[i] = X[i] }

fn quarter(x) = half(half(x))

op quarters(X: f32[N]) -> Y: f32[N] {
  # as other does
  Y[i] = quarter(X[i])
}

op both(X: f32[N]) -> (Y: f32[N], Z: f32[N]) {
  Y = quarters(X)
  Z[i] = X[i]
}
"""


PLAIN = "op f(X: f32) -> Y: f32 { Y = X }"


def names(only: str) -> set[str]:
    module = parse(TEXT, only=only)
    return {*module.ops, *module.functions}


@pytest.mark.parametrize(
    ("only", "expected"),
    [
        ("other", {"other"}),
        ("quarters", {"half", "quarter", "quarters"}),
        ("both", {"half", "quarter", "quarters", "both"}),
        ("absent", {"half", "other", "quarter", "quarters", "both"}),
    ],
)
def test_a_definition_is_read_with_what_it_needs(only: str, expected: set[str]):
    assert names(only) == expected


def test_places_and_comments_are_those_of_the_whole_text():
    alone, whole = parse(TEXT, only="quarters").ops["quarters"], parse(TEXT).ops["quarters"]
    assert (
        alone.span.start == whole.span.start
        and alone.text == whole.text
        and alone.doc == whole.doc == "as other does"
    )


@pytest.mark.parametrize("text", ["", f"X {PLAIN}", f"{PLAIN[:-1]}\n{PLAIN}", f"{PLAIN}\n{PLAIN}"])
def test_mistakes_are_told_as_they_are_of_the_whole_text(text: str):
    found = []
    for only in ("f", None):
        with pytest.raises(Error) as error:
            parse(text, only=only)
        found.append(str(error.value))
    assert found[0] == found[1]


def test_what_is_used_is_read_by_all():
    text = (
        "use ops: softmax\nop a(X: f32[N]) -> Y: f32[N] { Y = softmax(X) }\nop b(X: f32[N]) -> Y: f32[N] { "
        "Y[i] = X[i] }\n"
    )
    assert [text[a:b] for a, b in needed(text, "b")] == [text.splitlines(True)[0], text.splitlines(True)[2]]
