"""The language of SkriptND: compositions, loops, modules, its errors with their places."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pytest

import texpr as tx
from tests.nnef.test_skriptnd_formulas import array, loaded, run

PARTS = """
import basic;
operator softened {
    @attrib { axis: int = 1; heat: optional real; }
    @input { x: real[s..(d)]; }
    @output { y: real[s..]; }
    @compose {
        warm = if ?heat then basic.scaled{by=1.0 / heat}(x) else x;
        e = basic.power(warm);
        y = basic.shared{axes=[axis]}(e);
    }
}
operator mixed {
    @input { x: real[n]; y: real[n]; which: bool[]; }
    @output { z: real[n]; }
    @compose { z = if which then basic.scaled{by=2.0}(x) else { t = basic.power(y); yield t; }; }
}
operator cells {
    @input { x: real[t,n]; w: real[n]; h: real[n] = 0.5; }
    @output { y: real[t,n]; last: real[n]; }
    @compose {
        xs..(t) = basic.rows(x);
        last, ys = with state = h for item : xs do {
            mixed = basic.cell(state, item, w);
            yield mixed, mixed;
        };
        y = basic.joined(ys);
    }
}
operator backward {
    @input { x: real[t,n]; }
    @output { y: real[t,n]; }
    @compose {
        xs..(t) = basic.rows(x);
        ~, ys = with total: real[n] = 0.0 for item : xs[::-1] do { next = basic.sum2(total, item); yield next, next; };
        y = basic.joined(ys[::-1]);
    }
}
operator powers {
    @attrib { times: int; }
    @input { x: real[n]; }
    @output { y: real[n]; }
    @compose { y = with total = x do..(times) basic.sum2(total, x); }
}
operator weighted {
    @attrib { channels: int; }
    @input { x: real[b,c]; }
    @output { y: real[b,channels]; }
    @variable { w: real[channels,c]; mean: real[channels]; }
    @constant { eye: real[c,c] = i == j ? 2.0 : 0.0, i < c, j < c; three: real[] = 3.0; listed: real[2] = [1.0, 4.0]; }
    @compose { twice = basic.dense(x, eye); d = basic.dense(twice, w); y = basic.plus(d, three, listed); }
    @update { mean = basic.plus1(mean); }
}
"""
BASIC = """
operator scaled {
    @attrib { by: real; }
    @input { x: real[s..]; }
    @output { y: real[s..]; }
    @lower { y[i..] = by * x[i..], i < s; }
}
operator power {
    @input { x: real[s..]; }
    @output { y: real[s..]; }
    @lower { y[i..] = exp(x[i..]), i < s; }
}
operator shared {
    @attrib { axes: int..; }
    @input { x: real[s..(d)]; }
    @using { over = [0:d] in axes; }
    @output { y: real[s..]; }
    @compose { all = folded{axes=axes}(x); y = part(x, all); }
}
operator folded {
    @attrib { axes: int..; }
    @input { x: real[s..(d)]; }
    @using { over = [0:d] in axes; }
    @output { y: real[over ? 1 : s..]; }
    @lower { y[over ? 0 : i..] += x[i..], i < s; }
}
operator part {
    @input { x: real[s..(d)]; y: real[t..(d)]; }
    @output { z: real[s..]; }
    @lower { z[i..] = x[i..] / y[t is 1 ? 0 : i..], i < s; }
}
operator rows {
    @input { x: real[t,n]; }
    @output { ys: real[n]..(t); }
    @lower { ys[k][i,] = x[k,i], k < t, i < n; }
}
operator joined {
    @input { xs: real[n]..(t); }
    @output { y: real[t,n]; }
    @lower { y[k,i] = xs[k][i,], k < t, i < n; }
}
operator cell {
    @input { h: real[n]; x: real[n]; w: real[n]; }
    @output { y: real[n]; }
    @lower { y[i,] = tanh(w[i,] * h[i,] + x[i,]), i < n; }
}
operator sum2 {
    @input { x: real[n]; y: real[n]; }
    @output { z: real[n]; }
    @lower { z[i,] = x[i,] + y[i,], i < n; }
}
operator dense {
    @input { x: real[b,c]; w: real[n,c]; }
    @output { y: real[b,n]; }
    @lower { y[i,j] += x[i,k] * w[j,k], i < b, j < n, k < c; }
}
operator plus {
    @input { x: real[b,n]; y: real[]; z: real[n]; }
    @output { t: real[b,n]; }
    @lower { t[i,j] = x[i,j] + y[] + z[j,], i < b, j < n; }
}
operator plus1 {
    @input { x: real[n]; }
    @output { y: real[n]; }
    @lower { y[i,] = x[i,] + 1.0, i < n; }
}
"""


@pytest.fixture(scope="module")
def parts(tmp_path_factory) -> Any:
    """Operators that are composed of others."""
    folder = tmp_path_factory.mktemp("parts")
    (folder / "basic.sknd").write_text(BASIC, encoding="utf-8")
    return loaded(folder, PARTS)


def test_compositions(parts):
    x = array(2, 3)
    shares = np.exp(x) / np.exp(x).sum(1, keepdims=True)
    assert np.allclose(run(parts.softened(2), x), shares, atol=1e-6)
    cold = np.exp(x / 2) / np.exp(x / 2).sum(0)
    assert np.allclose(run(parts.softened(2, axis=0, heat=2.0), x), cold, atol=1e-6)
    a, b = array(3), array(3)
    mixed = parts.mixed(1, 1, 0)
    assert np.allclose(run(mixed, a, b, np.True_), 2 * a) and np.allclose(
        run(mixed, a, b, np.False_), np.exp(b)
    )


def test_loops_are_recurrences(parts):
    x, w = array(4, 3), array(3)
    h, expected = np.full(3, 0.5), []
    for row in x:
        h = np.tanh(w * h + row)
        expected.append(h)
    op = parts.cells(2, 1)
    y, last = run(op, x, w)
    assert np.allclose(y, expected, atol=1e-6) and np.allclose(last, h, atol=1e-6)
    assert tx.schedule(op).certificate() and str(tx.grad(op)).startswith("op cells_grad(")
    assert np.allclose(run(parts.backward(2), x), x[::-1].cumsum(0)[::-1], atol=1e-6)
    assert np.allclose(run(parts.powers(1, times=3), w), 4 * w, atol=1e-6)


def test_variables_are_inputs_and_their_updates_outputs(parts):
    op = parts.weighted((None, 3), channels=2)
    x, w, mean = array(2, 3), array(2, 3), array(2)
    y, new = run(op, x, w, mean)
    assert np.allclose(y, 2 * x @ w.T + 3 + [1, 4], atol=1e-5) and np.allclose(new, mean + 1)


def test_libraries_say_what_they_have(parts, tmp_path):
    assert dir(parts.basic) == sorted(o.name for o in parts.basic) and "basic (12)" in repr(parts)
    assert repr(parts.softened) == "mine.softened{axis, heat}(x) -> y"
    with pytest.raises(AttributeError, match="did you mean `softened`"):
        parts.softend  # noqa: B018
    assert parts.basic.power.text(1) == str(parts.basic.power(1)) + "\n"
    with pytest.raises(tx.CheckError, match="has no files that end in .sknd"):
        tx.nnef.load_skriptnd(tmp_path)
    with pytest.raises(tx.CheckError, match="imports `gone`, which is not beside it"):
        loaded(tmp_path, "import gone;")


def refused(folder: Path, text: str, *shapes: Any, **attributes: Any) -> str:
    """The error of an operator without the folder's name."""
    with pytest.raises(tx.Error) as found:
        loaded(folder, text).f(*shapes, **attributes)
    return str(found.value).replace(f"{folder}/", "")


def body(lower: str, more: str = "") -> str:
    """An operator of a vector."""
    return f"operator f {{\n  @input {{ x: real[n]; }}\n  @output {{ y: real[n]; }}\n{more}  @lower {{ {lower} }}\n}}\n"


WRONG = {
    "y[i,] = x[i,] + 1, i < n;": (
        "error[skriptnd]: `+` needs two values of one type; found real and int\n"
        "  --> mine.sknd:4:20\n"
        "  4 |   @lower { y[i,] = x[i,] + 1, i < n; }\n"
        "    |                    ^^^^^^^^^\n"
        "  help: convert one of them: real(...)"
    ),
    "y[i,] = z[i,], i < n;": (
        "error[skriptnd]: `z` is not known here\n"
        "  --> mine.sknd:4:20\n"
        "  4 |   @lower { y[i,] = z[i,], i < n; }\n"
        "    |                    ^\n"
        "  help: known are i, n, x, y"
    ),
    "m[i,] = x[i,], i < n; y[i,] = m[i,], i < n;": (
        "error[skriptnd]: `m` is no output of the operator, which has y\n"
        "  --> mine.sknd:4:12\n"
        "  4 |   @lower { m[i,] = x[i,], i < n; y[i,] = m[i,], i < n; }\n"
        "    |            ^\n"
        "  help: let another operator have it as its output, and call both in @compose"
    ),
    "y[i] = x[i,], i < n;": (
        "error[skriptnd]: an element of a tensor of one dimension is `y[i,]`, with a comma\n"
        "  --> mine.sknd:4:12\n"
        "  4 |   @lower { y[i] = x[i,], i < n; }\n"
        "    |            ^^^^"
    ),
    "y[i,] = x[i], i < n;": (
        "error[skriptnd]: an element of a tensor of one dimension is `x[i,]`, with a comma\n"
        "  --> mine.sknd:4:20\n"
        "  4 |   @lower { y[i,] = x[i], i < n; }\n"
        "    |                    ^^^^"
    ),
    "y[i,] = x[i,], i < n, j < n;": (
        "error[skriptnd]: an element is defined for each `j`\n"
        "  --> mine.sknd:4:12\n"
        "  4 |   @lower { y[i,] = x[i,], i < n, j < n; }\n"
        "    |            ^^^^^"
    ),
    "y[i,] = x[i,] i < n;": (
        "error[skriptnd]: found `i`, which cannot stand here\n"
        "  --> mine.sknd:4:26\n"
        "  4 |   @lower { y[i,] = x[i,] i < n; }\n"
        "    |                          ^"
    ),
    "y[i,] = x[i + 1,], i < n;": (
        "error[bounds]: x is read outside its shape\n"
        "  --> <op>:2:12\n"
        "  2 |   y[i] = x[i + 1]\n"
        "    |            ^^^^^ axis 0 has size n = 1, index is 1\n"
        "    at n=1, i=0\n"
        "  help: guard the read: x[i + 1 | 0]"
    ),
}


BROKEN = {
    "an index is a whole number; found str": ("y['a',] += x[i,], i < n;", ""),
    "the bounds of a range are whole numbers; found [0, 1]": ("y[i,] = [:[0,1], x[i,]], i < n;", ""),
    "f: the constant `v` has no value": ("y[i,] = x[i,], i < n;", "  @constant { v: real[2]; }\n"),
}
"""Texts that changed bytes led to."""


@pytest.mark.parametrize("message", BROKEN)
def test_what_changed_bytes_led_to_is_refused_with_its_place(tmp_path, message):
    found = refused(tmp_path, body(*BROKEN[message]), 1)
    assert found.startswith(f"error[skriptnd]: {message}\n  --> mine.sknd:")


@pytest.mark.parametrize("lower", WRONG)
def test_errors_have_their_places(tmp_path, lower):
    assert refused(tmp_path, body(lower), 1) == WRONG[lower]


def test_what_does_not_fit_is_refused(tmp_path):
    good = body("y[i,] = x[i,], i < n;", '  @attrib { k: int; }\n  @assert { k > 0: "k is {k}", k; }\n')
    for message, shapes, attributes in [
        ("f: the attribute `k` is missing", [1], {}),
        ("f: it has no attribute `m`", [1], {"k": 1, "m": 2}),
        ("f: k is 0; k is 0", [1], {"k": 0}),
        ("f: the attribute `k` is int; found 'a'", [1], {"k": "a"}),
        ("f: `x` has 2 dimensions; its definition has 1", [2], {"k": 1}),
        ("f: the input `x` is missing", [], {"k": 1}),
        ("`f` takes 1 inputs; found 2 shapes", [1, 1], {"k": 1}),
        ("a dimension of `x` is a number, a name or None; found -1", [(-1,)], {"k": 1}),
        ("a dimension of `x` is a number, a name or None; found 'max'", [("max",)], {"k": 1}),
        ("`int` is a type of integers; found f32", [1], {"k": 1, "types": {"int": "float32"}}),
        ("'r32' is no dtype that texpr has", [1], {"k": 1, "types": {"real": "r32"}}),
        ("`f` has no type `T`", [1], {"k": 1, "types": {"T": "int"}}),
    ]:
        assert message in refused(tmp_path, good, *shapes, **attributes)


X, Y = "@input { x: real[n]; }", "@output { y: real[n]; }"
TEST = "operator g { @input { x: real[]; } @output { y: bool[]; } @lower { y[] = x[] < 9.0; } }"
LACKING = {
    "its definition has neither @lower nor @compose": f"operator f {{ {X} {Y} }}",
    "how large an output is depends on data": f"operator f {{ {X} @output {{ y: int[k|n]; }} "
    "@lower { y[k,] = i, i < n | x[i,] > 0.0; } }",
    "a loop that data ends": f"{TEST} operator f {{ @input {{ x: real[]; }} @output {{ y: real[]; }} "
    "@compose { y = with t = x while g(t) do f(t); } }",
    "operators are composed more than 40 deep": f"operator f {{ {X} {Y} @compose {{ y = f(x); }} }}",
    "nesting deeper than 100": body(f"y[i,] = {'-' * 200}x[i,], i < n;"),
    "needs a number": body("y[:,] = x[:,];"),
    "a range of 99999999999 items; 4096 are made": body(
        "y[i,] = x[i,], i < n;", "@using { k = [0:99999999999]; }\n"
    ),
    "a range of 9223372036854775808 items; 4096 are made": body(
        "y[i,] = x[i,], i < n;", "@using { k = [9223372036854775807:-1:-1]; }\n"
    ),
    "the length of a pack is 0 to 4096; found 99999": body(
        "y[i,] = x[i,], i < n;", "@using { k = [1 ..(99999)]; }\n"
    ),
    "there is no operator `gone`": f"operator f {{ {X} {Y} @compose {{ y = gone(x); }} }}",
    "operators of other files are written with their module: module.operator": (
        f"operator f {{ {X} {Y} @compose {{ y = gone{{k=1}}(x); }} }}"
    ),
}


@pytest.mark.parametrize("message", LACKING)
def test_what_the_language_has_not_is_refused(tmp_path, message):
    rank = 0 if "data ends" in message else 1
    assert message in refused(tmp_path, LACKING[message], rank)


@pytest.mark.parametrize(
    ("value", "message"),
    [
        ("(-2.0) ** 0.5", "`**` of -2.0 and 0.5 has no value"),
        ("1.0 / 0.0", "`/` of 1.0 and 0.0 has no value"),
        ("int(1e300)", "int(1e+300) has no value: whole numbers have 64 bits"),
        ("int(1e999)", "int(inf) has no value"),
        ("((3 ** 39) ** 64) ** 64", "`**` of 4052555153018976267 and 64 has no value"),
        ("3 ** 64 ** 64", "`**` of 3 and 64 has no value: whole numbers have 64 bits"),
        ("99999999999999999999", "whole numbers have 64 bits"),
        ("((n + 1) ** 60) ** 60", "whole numbers have 64 bits"),
        ("(n ** 64) ** 64", "`**` has no value: sizes have 1024 terms and products of 64 names at most"),
    ],
)
def test_numbers_without_values_and_large_ones_are_refused(tmp_path, value, message):
    assert message in refused(tmp_path, body("y[i,] = x[i,], i < n;", f"@using {{ k = {value}; }}\n"), 1)


def test_attributes_have_64_bits(tmp_path):
    for kind in ("int", "real"):
        text = body("y[i,] = x[i,], i < n;", f"@attrib {{ k: {kind}; }}\n")
        assert "the attribute `k` has more than 64 bits" in refused(tmp_path, text, 1, k=10**400)


def test_bytes_that_are_no_text(tmp_path):
    (tmp_path / "f.sknd").write_bytes(b"operator \xff {}")
    with pytest.raises(tx.ParseError, match="is no text in UTF-8: byte 9"):
        tx.nnef.load_skriptnd(tmp_path / "f.sknd")


def test_cut_files_are_refused(tmp_path):
    text = PARTS[:900]
    for at in range(1, len(text), 23):
        try:
            loaded(tmp_path, text[:at])
        except tx.Error as error:
            assert error.code == "skriptnd"


@pytest.mark.parametrize(
    "text",
    [
        f"operator f {{ {X} {Y} @constant {{ v: re4; }} @lower {{ y[i,] = x[i,], i < n; }} }}",
        "operator f { @input { x: re4[n]; } @output { y: real[n]; } @lower { y[i,] = 1.0, i < n; } }",
        f"operator f {{ {X} {Y} @compose {{ z: re4[n] = x; y = z; }} }}",
        f"operator f {{ {X} {Y} @compose {{ y = with t: re4 = 0.0 do..(2) t + x; }} }}",
        f"operator f {{ @dtype {{ T: type; }} {X} {Y} @attrib {{ k: optional re4; }} @compose {{ y = x; }} }}",
    ],
)
def test_element_types_that_are_not_there(tmp_path, text):
    with pytest.raises(tx.ParseError, match="there is no element type `re4`") as found:
        loaded(tmp_path, text)
    assert found.value.span.text.endswith("re4")


def test_an_element_type_that_is_almost_one(tmp_path):
    text = "operator f { @dtype { T: num; } @input { x: rael; t: T; } @output { y: T; } @compose { y = t; } }"
    with pytest.raises(tx.ParseError) as found:
        loaded(tmp_path, text)
    assert found.value.help == "did you mean `real`?"
    assert loaded(tmp_path, text.replace("rael", "real")).f.inputs == ("x", "t")
