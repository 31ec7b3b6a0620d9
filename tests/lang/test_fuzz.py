"""Whatever is read, only errors of ours come out."""

from __future__ import annotations

from pathlib import Path

from hypothesis import given
from hypothesis import strategies as st

from tests.profiles import examples
from texpr.ir.dtypes import F32
from texpr.lang import elaborate, parse, parse_kernel
from texpr.lang.syntax.parser import tokenize
from texpr.lang.syntax.words import KEYWORDS, REDUCTIONS
from texpr.support.errors import Error
from texpr.support.source import Source

OPERATORS = [text + "}" for text in Path(__file__).with_name("operators.tx").read_text().split("\n}\n")]
SYMBOLS = list("()[]{}<>,:;=|+-*/%") + ["->", "..", "**", "//", "<=", "==", "+=", "max="]
NAMES = ["X", "Y", "i", "j", "N", "f32", "T", "exp", "0", "1", "2.5", "9" * 30, "1e40", "clamp", "\n"]
LINE = [
    "kernel k() -> (y: f32)\n",
    "  let t: f32[3]\n",
    "  for i in 0..3\n",
    "    y = 1.0  start\n",
    "  if true\n",
    "kernel",
    "  ",
    "\n",
]


def survive(text: str) -> None:
    """Reading and elaborating a text gives a Program or an error of ours."""
    try:
        ops = parse(text).ops
    except Error as error:
        assert str(error)
        return
    for op in ops.values():
        try:
            elaborate(
                op, {v.name: F32 for v in op.type_variables}, {c.name: 2 for c in op.constants if c.required}
            )
        except Error as error:
            assert str(error)


@given(st.binary(max_size=200))
@examples(150)
def test_random_bytes(data: bytes):
    survive(data.decode("utf-8", "surrogateescape"))
    survive(data.decode("latin-1"))


@given(st.lists(st.sampled_from([*KEYWORDS, *REDUCTIONS, *SYMBOLS, *NAMES]), max_size=40))
@examples(250)
def test_token_soup(words: list[str]):
    survive(" ".join(words))
    survive("op f(X: f32[N]) -> Y: f32[N] { Y[i] = " + " ".join(words) + " }")


@st.composite
def mutated(draw: st.DrawFn) -> str:
    """A correct operator with a few tokens exchanged, doubled or left out."""
    source = Source("", draw(st.sampled_from(OPERATORS)))
    words = [t.value for t in tokenize(source)]
    for _ in range(draw(st.integers(1, 3))):
        at = draw(st.integers(0, len(words) - 1))
        other = words[draw(st.integers(0, len(words) - 1))]
        words[at : at + 1] = draw(st.sampled_from([[], [other], [words[at], other], [words[at], words[at]]]))
    return " ".join(words)


@given(mutated())
@examples(500)
def test_mutated_operators(text: str):
    survive(text)


@given(st.lists(st.sampled_from([*LINE, *SYMBOLS, *NAMES]), max_size=30))
@examples(150)
def test_listings(words: list[str]):
    for text in ("".join(words), "kernel k(X: f32[N]) -> (Y: f32[N])\n" + "".join(words)):
        try:
            parse_kernel(text)
        except Error as error:
            assert str(error)
