"""Texts from people who mean no good: each is refused in words, or accepted and computed, at once.

Which bad input is tried where: nothing, blanks, comments only, `REFUSED`; brackets and minus signs
without end, `test_complaints.test_deep_nesting_is_refused_at_once`; 10 MB, `test_long_texts`; NUL,
surrogates, BOM, CRLF, tabs, look-alikes, joiners, direction marks, foreign digits, `CHARACTERS` and
`test_line_ends`; literals of 5,000 digits, malformed ones, ones that fit no type, `NUMBERS`; names
of 10,000 characters and of the C library, `test_names`; names twice, indices twice, `REFUSED`;
definitions by themselves, `CIRCLES`; random bytes, `test_fuzz.py` and `python -m texpr fuzz`; text
that goes into errors and pages, `test_texts_are_shown_as_text`.
"""

from __future__ import annotations

import numpy as np
import pytest

import texpr as tx
from tests.work import at_most
from texpr.support.errors import CheckError, Error, ParseError, ResourceError

F, WHOLE, U = (f"op f(X: {t}[N]) -> Y: {t}[N] {{{{ Y[i] = {{}} }}}}" for t in ("f32", "i32", "u8"))


def complaint(text: str, kind: type[Error] = Error) -> str:
    """What is said about a text, at once."""
    with pytest.raises(kind) as e, at_most():
        tx.op(text)
    said = str(e.value)
    assert said.encode("utf-8") and not any(ord(c) < 32 and c != "\n" or 0x7F <= ord(c) < 0xA0 for c in said)
    return said


CHARACTERS = {
    "NUL": ("\x00", "U+0000"),
    "escape": ("\x1b[31m", "U+001B"),
    "C1 escape": ("\x9b31m", "U+009B"),
    "vertical tab": ("\x0b", "U+000B"),
    "form feed": ("\x0c", "U+000C"),
    "surrogate": ("\ud800", "U+D800"),
    "low surrogate": ("\udc80", "U+DC80"),
    "override": ("\u202e", "U+202E"),
    "isolate": ("\u2066", "U+2066"),
    "left to right": ("\u200e", "U+200E"),
    "joiner": ("\u200d", "U+200D"),
    "BOM inside": ("\ufeff", "U+FEFF"),
    "Cyrillic e": ("е", "U+0435"),
    "Greek A": ("Α", "U+0391"),
    "full width": ("Ｘ", "U+FF38"),
    "Arabic digit": ("١", "U+0661"),
    "superscript": ("²", "U+00B2"),
    "no-break space": ("\xa0", "U+00A0"),
    "line separator": ("\u2028", "U+2028"),
    "emoji": ("😀", "U+1F600"),
    "combining": ("e\u0301", "U+0301"),
    "private": ("\ue000", "U+E000"),
    "not a character": ("\uffff", "U+FFFF"),
    "times": ("×", "U+00D7"),
}


@pytest.mark.parametrize("name", CHARACTERS)
def test_strange_characters(name: str):
    character, code = CHARACTERS[name]
    said = complaint(F.format(f"X[i] + {character} 1"), ParseError)
    assert code in said and "<op>:1:" in said


NUMBERS = {
    F.format("9" * 5000): "an integer literal fits no type: it needs more than 64 bits",
    F.format("0." + "1" * 5000): "",
    F.format("1e-999"): "",
    F.format("1e999"): "`1e999` does not fit f64",
    F.format("1e39"): "error[dtype]: 1e+39 does not fit f32",
    F.format("-1e39"): "1e+39 does not fit f32",
    F.format("0x1p4"): "`0x1p4` is not a number",
    F.format("1__0"): "`1__0` is not a number",
    F.format("1_000"): "`1_000` is not a number",
    F.format("."): "found `.` where no number is",
    F.format("1.e"): "`1.e` is not a number",
    F.format("1."): "write 1.0",
    F.format(".5"): "",
    F.format("1e"): "not a number",
    F.format("1e+"): "not a number",
    F.format("0b1"): "not a number",
    F.format("1.2.3"): "",
    F.format("--1"): "",
    F.format("00012"): "",
    F.format("1f"): "`1f` is not a number",
    F.format("1j"): "`1j` is not a number",
    F.format("1e5_0"): "not a number",
    WHOLE.format("2147483648"): "2147483648 does not fit i32 (-2147483648..2147483647)",
    WHOLE.format("-2147483648"): "",
    WHOLE.format("-2147483649"): "does not fit i32",
    WHOLE.format("0.5"): "",
    WHOLE.format("1e3"): "",
    U.format("256"): "256 does not fit u8 (0..255)",
    U.format("-1"): "-1 does not fit u8 (0..255)",
    U.format("X[i] - 300"): "300 does not fit u8",
    WHOLE.format("X[9223372036854775808 | 0]"): "does not fit i64",
    WHOLE.format("X[18446744073709551616 | 0]"): "more than 64 bits",
    WHOLE.format("X[i * 9223372036854775807 | 0]"): "may not fit i64",
    WHOLE.format("9223372036854775807 * 3"): "a constant needs more than 64 bits",
    WHOLE.format("1 // 0"): "`//` by zero",
    WHOLE.format("1 % 0"): "`%` by zero",
}
ACCEPTED = [
    F.format("0." + "1" * 5000),
    F.format("1e-999"),
    F.format("--1"),
    F.format("00012"),
    WHOLE.format("-2147483648"),
]


@pytest.mark.parametrize("text", NUMBERS, ids=range(len(NUMBERS)))
def test_numbers(text: str):
    if text in ACCEPTED:
        assert tx.op(text)(np.ones(2, "i4" if text.startswith(WHOLE[:12]) else "f4")).shape == (2,)
    else:
        assert NUMBERS[text] in complaint(text)


REFUSED = {
    "": "empty program",
    " \n\t ": "empty program",
    "# only\n# comments": "empty program",
    "op f(X: f32[N], X: f32[N]) -> Y: f32[N] { Y[i] = 1 }": "`X` already has a meaning",
    "op f(X: f32[N]) -> X: f32[N] { X[i] = 1 }": "`X` already has a meaning",
    "op f(X: f32[N], N: f32) -> Y: f32[N] { Y[i] = 1 }": "`N` already has a meaning",
    "op f(X: f32[N]) -> Y: f32[N] { Y[i, i] = 1 }": "`Y` has 1 dimension, found 2 indices",
    "op f(X: f32[N, N]) -> Y: f32[N, N] { Y[i, i] = X[i, i] }": "no equation defines Y[0, 1]",
    "op f(X: f32[N]) -> Y: f32[N] { Y[i] = X[i] for i in 0..N, i in 0..N }": "i",
    "op f(X: f32[N]) -> Y: f32[N] { Y[X] = 1 }": "`X`",
    "op f(f: f32[N]) -> Y: f32[N] { Y[i] = f(i) }": "`f`",
    "op f(X: f32[X]) -> Y: f32[X] { Y[i] = 1 }": "`X`",
    "op f(X: f32[-1]) -> Y: f32 { Y = 1 }": "a size is -1",
    "op f(X: f32[N - N - 1]) -> Y: f32 { Y = 1 }": "",
    "op f(X: f32[0.5]) -> y: f32 { y = 1 }": "",
    "op f(X: f32[true]) -> y: f32 { y = 1 }": "",
    "op f(X: f32[N], Z: f32[N // 0]) -> y: f32 { y = 1 }": "`//` by zero",
    "op f(X: f32[max(j: N)]) -> y: f32 { y = 1 }": "",
    "op f(X: f32[N], Z: f32[shl(N, 1)]) -> y: f32 { y = 1 }": "`shl` in a size",
    "op f(X: f32[N], p: i32) -> Y: f32[p] { Y[i] = 1 }": "reads `p`",
    "op f(X: f32[N], p: i32, k: i32[N] in 0..p) -> y: f32 { y = 1 }": "reads `p`",
    "op f(X: f32[N]) -> y: f32 { Z[i, j] = 1 for i in 0..N, j in 0..i + 1  y = X[0] }": "`j` ends at i + 1",
    "op f(X: f32[N], p: i32 in 0..N) -> y: f32 { T[i] = X[i] for i in 0..p  y = X[0] }": "`i` ends at i64(p)",
    "op f(X: f32[N]) -> Y: f32[N] require sum(i in 0..N: i) > 3 { Y[i] = X[i] }": "`sum` in a requirement",
    "op f(X: f32[N]) -> Y: f32[N] require N < 1 { Y[i] = X[i] }": "",
    "op f(X: f32[N]) -> Y: f32[N] require N { Y[i] = X[i] }": "a condition is a bool",
    "op f(X: f32[N]) -> Y: f32[N] { Y[i] = f(X[i]) }": "`f` is an operator",
    "op f(X: f32[N]) -> Y: f32[N] { Y = f(X) }": "`f` calls itself",
    'op f(X: f32[N]) -> Y: f32[N] { Y[i] = "X" }': 'found `"X"`, expected an expression',
    "op f(X: f32[N]) -> Y: f32[N] { Y[i] = 'X' }": "",
    "op f(X: f32[N]) -> Y: f32[N] { Y[i] = X[i]; }": "",
    "op f(X: f32[N]) -> Y: f32[N] { return X }": "",
    "import os": "",
    "{}": "",
    "op": "",
    "op op(X: f32[N]) -> Y: f32[N] { Y[i] = 1 }": "`op` is a reserved word",
    "use ops: softmax": "no operator",
    "fn f(x) = x": "no operator",
    "use os: system\nop f() -> y: f32 { y = 1 }": "there is no library `os`",
    'use "/etc/passwd": x\nop f() -> y: f32 { y = 1 }': "cannot use files",
    "op f(X: f32[*S, *R]) -> y: f32 { y = sum(*s, *r: X[*s, *r]) }": "",
}
HARMLESS = {
    "op f(X: f32[N]) -> Y: f32[N] require N < 1 { Y[i] = X[i] }",
    "op f(X: f32[*S, *R]) -> y: f32 { y = sum(*s, *r: X[*s, *r]) }",
}
"""Operators that no call fits, or not without saying how."""


@pytest.mark.parametrize("text", REFUSED, ids=range(len(REFUSED)))
def test_refused(text: str):
    if text not in HARMLESS:
        assert REFUSED[text] in complaint(text)
        return
    with pytest.raises(Error):
        tx.op(text)(np.ones((2, 2), "f4"))


CIRCLES = [
    "A[i] = A[i] + 1",
    "A[i] = B[i]  B[i] = A[i]",
    "A[i] = B[i] + X[i]  B[i] = A[i] * 2  for i in 0..N",
    "A[i] = A[N - 1 - i]",
    "A[i] = sum(j: A[j])",
    "A[i] = X[i] + A[i - 1 | 0] + A[i + 1 | 0]",
    "A[i] = B[i]  B[i] = C[i]  C[i] = A[i]",
    "A[i] = if X[i] > 0 then A[i] else 0",
    "A[i] = A[i // 2] + 1",
    "A[i] = X[i] + A[0]",
    "A[i] = max(A[i], X[i])",
]


@pytest.mark.parametrize("body", CIRCLES)
def test_circles(body: str):
    said = complaint(f"op f(X: f32[N]) -> A: f32[N] {{ {body} }}", CheckError)
    assert (
        "[cycle]" in said or "[bounds]" in said or "[shape]" in said or "[order]" in said or "[range]" in said
    )


def test_long_texts():
    for text in ("x" * 10_000_000, "op " * 500_000, "#" * 1_000_001):
        assert "characters; at most 1000000 are read" in complaint(text, ResourceError)
    with tx.options(text_limit=10):
        assert "at most 10 are read" in complaint(F.format(1), ResourceError)


@pytest.mark.parametrize(
    "name, text",
    {
        "sum": F.format(" + ".join(["X[i]"] * 3000)),
        "reads": F.format(" + ".join(f"X[i + {k} | 0]" for k in range(200))),
        "conditions": F.format("if " + " and ".join(f"X[i] > {k}" for k in range(300)) + " then 1 else 0"),
        "choices": F.format("if " + " or ".join(f"i == {k}" for k in range(200)) + " then X[i] else 0"),
        "ifs in an index": F.format("X[" + "if i > 0 then i - 1 else " * 20 + "i]"),
        "minima in an index": F.format("X[" + "min(" * 30 + "i" + ", N - 1)" * 30 + "]"),
        "remainders in an index": F.format("X[" + "(" * 15 + "i" + " + 7) % 11" * 15 + " | 0]"),
        "requirements": F.format("X[i]").replace(
            "{", "require " + ", ".join(f"N != {k}" for k in range(1, 40)) + " {", 1
        ),
        "tensors": F.format(" ".join(["X[i]", *(f"T{k}[i] = X[i] + {k}" for k in range(300))])),
        "a chain": F.format(
            " ".join(["T99[i] T0[i] = X[i]", *(f"T{k + 1}[i] = T{k}[i] + {k}" for k in range(99))])
        ),
        "dimensions": f"op f(X: f32[{', '.join(f'N{k}' for k in range(64))}]) -> y: f32 {{ y = 1 }}",
        "operators": "".join(F.format(f"X[i] + {k}").replace("op f", f"op g{k}") + "\n" for k in range(200)),
    }.items(),
)
def test_large_texts_are_read_in_time(name: str, text: str):
    with at_most():
        tx.op(text)


def test_pieces_beyond_the_quota():
    pieces = " ".join(f"Y[i] = {k}  for i in min({k}, N)..min({k + 1}, N)" for k in range(240))
    said = complaint(
        f"op f(X: f32[N]) -> Y: f32[N] {{ {pieces} Y[i] = 1  for i in min(240, N)..N }}", CheckError
    )
    assert said.startswith("error[quota]: f cannot be proven within the quota")


def test_line_ends():
    x = np.arange(3, dtype=np.float32)
    for end in ("\n", "\r\n", "\r", "\t\n", " \n\n"):
        text = "\ufeffop f(X: f32[N]) -> Y: f32[N] {" + end + "\tY[i] = X[i]" + end + " + 1" + end + "}" + end
        np.testing.assert_array_equal(tx.op(text)(x), x + 1)


@pytest.mark.parametrize(
    "name",
    [
        "malloc",
        "memcpy",
        "free",
        "main",
        "exp",
        "printf",
        "abort",
        "tx_alloc",
        "tx_parallel",
        "llvm",
        "entry",
        "__init__",
        "None",
        "class",
        "lambda",
        "self",
        "a" * 10_000,
        "_",
        "__",
        "i1",
        "ptr",
        "define",
    ],
)
def test_names(name: str):
    text = f"op {name}(A: f32[N]) -> B: f32[N] {{ B[i] = A[i] + 1 }}"
    np.testing.assert_array_equal(tx.op(text)(np.ones(3, "f4")), np.full(3, 2, "f4"))
    text = f"op f({name}: f32[N]) -> B: f32[N] {{ B[i] = {name}[i] + 1 }}"
    np.testing.assert_array_equal(tx.op(text)(np.ones(3, "f4")), np.full(3, 2, "f4"))


def test_texts_are_shown_as_text():
    page = tx.op(
        "# <script>alert(1)</script> & {} %s\n" + F.format("if X[i] < 1 then 1 else 2")
    )._repr_html_()
    assert "<script>" not in page and page.count("<") == 2
    for strange in ("{}", "%s", "%(x)s", "{0.__class__}", "<script>", "'; DROP", "\\n", "`", "$(rm)"):
        said = complaint(F.format(f'X["{strange}"]'))
        assert strange in said
    said = complaint("op f(<script>: f32[N]) -> Y: f32[N] { Y[i] = 1 }")
    assert "found `<`" in said
