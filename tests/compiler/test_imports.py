"""`use`: operators and functions of other files and of the library."""

from __future__ import annotations

import pickle
from pathlib import Path

import numpy as np
import pytest

import texpr as tx

MATH = """fn half(v) = 0.5 * v
fn gelu(v) = half(v) * (1 + erf(v * 0.7071067811865476))
op twice<T: num>(X: T[*S]) -> Y: T[*S] { Y[*s] = 2 * X[*s] }
"""
MAIN = """use "sub/math.tx": gelu, twice
use ops: softmax
op f(X: f32[N, D]) -> Y: f32[N, D] {
  S = softmax(X, axis=1)
  T = twice(S)
  Y[i, j] = gelu(T[i, j])
}
"""
ALONE = "op f(X: f32[N]) -> Y: f32[N] { Y[i] = X[i] }\n"


def written(folder: Path, **texts: str) -> Path:
    (folder / "sub").mkdir(exist_ok=True)
    (folder / "main.tx").write_text(MAIN)
    (folder / "sub" / "math.tx").write_text(MATH)
    for name, text in texts.items():
        (folder / f"{name}.tx").write_text(text)
    return folder


def complaint(path: Path) -> str:
    with pytest.raises(tx.CheckError) as error:
        tx.load(path)
    return str(error.value).replace(str(path.parent), "DIR")


def test_names_of_other_files(tmp_path):
    f = tx.load(written(tmp_path) / "main.tx")
    assert list(vars(f)) == ["f"]
    text = MATH + "op softmax(X: f32[N, D]) -> Y: f32[N, D] { e[i, j] = exp(X[i, j] - max(k: X[i, k]))\n"
    text += "Y[i, j] = e[i, j] / sum(k: e[i, k]) }\n" + MAIN.split("\n", 2)[2].replace(", axis=1", "")
    x = np.random.default_rng(0).standard_normal((3, 5)).astype(np.float32)
    np.testing.assert_allclose(tx.interpret(f.f, x), tx.interpret(tx.op(text), x), rtol=1e-6)


def test_an_operator_travels_without_its_files(tmp_path):
    f = tx.load(written(tmp_path) / "main.tx").f
    packed = pickle.dumps(f)
    (tmp_path / "sub" / "math.tx").unlink()
    again = pickle.loads(packed)
    assert str(again) == str(f)
    assert again.source == f.source
    assert str(tx.op(f.source).program()) == str(tx.op(again.source).program())


def test_texts_use_the_library():
    g = tx.op("use ops: softmax\nop g(X: f32[N]) -> Y: f32[N] { Y = softmax(X, axis=0) }")
    assert np.array_equal(g(np.zeros(4, np.float32)), np.full(4, 0.25, np.float32))


def test_a_private_name_stays_private(tmp_path):
    (tmp_path / "a.tx").write_text('use "b.tx": h\nop softmax(X: f32[N]) -> Y: f32[N] { Y = h(X) }\n')
    (tmp_path / "b.tx").write_text(
        "use ops: softmax\nop h(X: f32[N]) -> Y: f32[N] { Y = softmax(X, axis=0) }\n"
    )
    assert np.array_equal(
        tx.load(tmp_path / "a.tx").softmax(np.zeros(2, np.float32)), np.full(2, 0.5, np.float32)
    )


def test_a_larger_root_allows_more(tmp_path):
    written(tmp_path)
    (tmp_path / "sub" / "up.tx").write_text(
        'use "../main.tx": f\nop g(X: f32[N, D]) -> Y: f32[N, D] { Y = f(X) }\n'
    )
    assert "is outside of DIR" in complaint(tmp_path / "sub" / "up.tx")
    assert tx.load(tmp_path / "sub" / "up.tx", root=tmp_path).g.signature.name == "g"


def test_complaints(tmp_path, golden):
    starts = {
        "circle": 'use "back.tx": g\n',
        "missing": 'use "nowhere.tx": g\n',
        "name": 'use "sub/math.tx": gelo\n',
        "library": "use opps: softmax\n",
        "operator": "use ops: sofmax\n",
        "absolute": 'use "/etc/passwd": g\n',
        "above": 'use "../x.tx": g\n',
        "twice": 'use "sub/math.tx": twice\nop twice(X: f32[N]) -> Y: f32[N] { Y[i] = X[i] }\n',
    }
    written(
        tmp_path,
        **{name: start + ALONE for name, start in starts.items()},
        back='use "circle.tx": f\nop g(X: f32[N]) -> Y: f32[N] { Y = f(X) }\n',
    )
    golden("\n\n".join(f"# {name}\n{complaint(tmp_path / f'{name}.tx')}" for name in starts))


def test_a_text_cannot_use_files():
    with pytest.raises(tx.CheckError, match="a text that is no file cannot use files"):
        tx.op('use "x.tx": a\n' + ALONE)


def test_a_large_file_may_be_proven_operator_by_operator(tmp_path):
    path = tmp_path / "two.tx"
    path.write_text(
        "op good(X: f32[N]) -> Y: f32[N] { Y[i] = X[i] }\nop bad(X: f32[N]) -> Y: f32[N] { Y[i] = X[i + 1] "
        "}\n"
    )
    with pytest.raises(tx.CheckError):
        tx.load(path)
    found = tx.load(path, prove=False)
    assert found.good(np.ones(2, "f4")).tolist() == [1, 1]
    with pytest.raises(tx.CheckError):
        found.bad(np.ones(2, "f4"))
