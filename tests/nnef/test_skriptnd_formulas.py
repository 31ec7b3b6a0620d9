"""Formulas of SkriptND become operators: their texts, and what they compute."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

import texpr as tx
from tests.profiles import examples

GENERATOR = np.random.default_rng(7)


def loaded(folder: Path, text: str) -> Any:
    """The operators of a text."""
    file = folder / "mine.sknd"
    file.write_text(text, encoding="utf-8")
    return tx.nnef.load_skriptnd(file)


def run(op: tx.Op, *arrays: Any) -> Any:
    """What an operator means."""
    return tx.interpret(op, *arrays)


def array(*shape: int) -> np.ndarray:
    """Numbers."""
    return GENERATOR.normal(size=shape).astype("f4")


ELEMENTS = """
operator affine {
    @dtype { T: num; }
    @attrib { by: T = T(2); shift: optional T; }
    @input { x: T[s..]; }
    @output { y: T[s..]; }
    @lower { y[i..] = by * x[i..] + (shift ?? T(0)), i < s; }
}
operator leaky {
    @input { x: real[s..]; slope: real[]; }
    @output { y: real[s..]; }
    @lower { with v = x[i..]: y[i..] = v < 0.0 ? slope[] * v : v, i < s; }
}
operator joined {
    @input { x: real[sx..(r)]; y: real[sy..(r)]; }
    @using { s = sx is 1 ? sy : sx; }
    @output { z: real[s..]; }
    @assert { sx == sy || sx is 1 || sy is 1: "{sx} and {sy} do not fit"; }
    @lower { z[i..] = x[sx is 1 ? 0 : i..] - y[sy is 1 ? 0 : i..], i < s; }
}
operator mixed {
    @dtype { X: num; Y: num; }
    @attrib { axis: int = -1; }
    @input { x: X^(rank)[s..(axis < 0 ? axis + rank : axis),n,t..]; y: Y[n]; }
    @output { z: bool[s..,n,t..]; w: real[int(7.0 \\ 2.0)]; }
    @lower { z[i..,j,k..] = x[i..,j,k..] < y[j,], i < s, j < n, k < t; w[i,] = real(i), i < int(7.0 \\ 2.0); }
}
operator hold {
    @input { x: bool[n]; y: bool[n]; }
    @output { z: bool[n]; }
    @lower { z[i,] = x[i,] ^ !y[i,] && (x[i,] || y[i,]), i < n; }
}
"""


def test_elements(tmp_path):
    mine = loaded(tmp_path, ELEMENTS)
    x = array(3, 4)
    assert np.allclose(run(mine.affine(2), x), 2 * x)
    assert np.allclose(run(mine.affine(2, by=3.0, shift=1.0), x), 3 * x + 1)
    whole = mine.affine(1, by=3, types={"T": "int", "int": "i32"})
    assert run(whole, np.arange(3, dtype="i4")).tolist() == [0, 3, 6]
    assert np.allclose(run(mine.leaky(2, 0), x, np.float32(0.1)), np.where(x < 0, 0.1 * x, x), atol=1e-7)
    a, b = np.array([True, True, False, False]), np.array([True, False, True, False])
    assert run(mine.hold(1, 1), a, b).tolist() == ((a ^ ~b) & (a | b)).tolist()


def test_a_comparison_may_be_of_two_types_and_an_axis_counts_from_the_end(tmp_path):
    mixed, x, y = loaded(tmp_path, ELEMENTS).mixed, np.arange(6).reshape(2, 3), array(3)
    z, w = run(mixed(2, 1, types={"X": "int"}), x, y)
    assert np.array_equal(z, x < y) and w.tolist() == [0, 1, 2, 3]
    z, _ = run(mixed(2, 1, axis=0, types={"X": "int"}), x.T, y)
    assert np.array_equal(z, x.T < y[:, None])


def test_ranks_give_open_sizes_and_one_is_broadcast(tmp_path):
    joined = loaded(tmp_path, ELEMENTS).joined
    assert str(joined(2, 2)) == (
        "op joined(x: f32[sx0, sx1], y: f32[sx0, sx1]) -> z: f32[sx0, sx1] {\n"
        "  z[i0, i1] = x[i0, i1] - y[i0, i1]\n}"
    )
    assert str(joined((None, 1), ("N", 5))) == (
        "op joined(x: f32[N, 1], y: f32[N, 5]) -> z: f32[N, 5] {\n  z[i0, i1] = x[i0, 0] - y[i0, i1]\n}"
    )
    x, y = array(3, 1), array(3, 5)
    assert np.allclose(run(joined((None, 1), (None, 5)), x, y), x - y)


REDUCTIONS = """
operator total {
    @attrib { axes: int..(k) = [0:d]; squeeze: bool = false; }
    @input { x: real[s..(d)]; }
    @using { gone = [0:d] in axes; kept = [0:d][!gone]; }
    @output { y: real[squeeze ? s[kept] : (gone ? 1 : s)..]; }
    @lower { y[squeeze ? i[kept] : (gone ? 0 : i)..] += x[i..], i < s; }
}
operator largest {
    @input { x: real[n,m]; }
    @output { y: real[n]; place: int[n]; both: int[2]; }
    @lower {
        y[i,] >?= x[i,j], i < n, j < m;
        place[i,] = 0, i < n;
        place[i,] := j, i < n, j < m | x[i,j] > x[i,place[i,]];
        both[:,] = 0;
        both[:,] := [i,j], i < n, j < m | x[i,j] < x[both[:,]..];
    }
}
operator product {
    @input { x: real[a..,n,k]; y: real[a..,k,m]; start: optional real[n,m]; }
    @output { z: real[a..,n,m]; }
    @lower {
        z[l..,i,j] = start[i,j] ?? 0.0, l < a, i < n, j < m;
        z[l..,i,j] += x[l..,i,c] * y[l..,c,j], l < a, i < n, j < m, c < k;
    }
}
operator every {
    @input { x: bool[n,m]; }
    @output { all: bool[n]; some: bool[m]; }
    @lower { all[i,] &= x[i,j], i < n, j < m; some[j,] |= x[i,j], i < n, j < m; }
}
"""


def test_reductions(tmp_path):
    mine, x = loaded(tmp_path, REDUCTIONS), array(3, 4, 5)
    assert np.allclose(run(mine.total(3), x), x.sum(keepdims=True), atol=1e-5)
    assert np.allclose(run(mine.total(3, axes=[1]), x), x.sum(1, keepdims=True), atol=1e-5)
    assert np.allclose(run(mine.total(3, axes=[0, 2], squeeze=True), x), x.sum((0, 2)), atol=1e-5)
    y, place, both = run(mine.largest(2), x[0])
    assert np.array_equal(y, x[0].max(1)) and np.array_equal(place, x[0].argmax(1))
    assert tuple(both) == np.unravel_index(x[0].argmin(), x[0].shape)
    b = x > 0
    every, some = run(mine.every(2), b[0])
    assert np.array_equal(every, b[0].all(1)) and np.array_equal(some, b[0].any(0))


def test_products(tmp_path):
    product, x, y, start = loaded(tmp_path, REDUCTIONS).product, array(2, 3, 4), array(2, 4, 5), array(3, 5)
    assert np.allclose(run(product(3, 3), x, y), x @ y, atol=1e-5)
    assert np.allclose(run(product(3, 3, 2), x, y, start), start + x @ y, atol=1e-5)
    op = product(2, 2)
    assert tx.schedule(op).certificate()
    dx, dy = run(tx.grad(op), x[0], y[0], np.ones((3, 5), "f4"))
    assert np.allclose(dx, np.ones((3, 5)) @ y[0].T, atol=1e-5) and dy.shape == (4, 5)


WINDOWS = """
operator correlate {
    @attrib { stride: int..(d) = 1; dilation: int..(d) = 1; before: int..(d) = 0; after: int..(d) = 0; groups: int = 1; }
    @input { x: real[b,c,s..(d)]; w: real[n,g,f..(d)]; }
    @using { span = (f - 1) * dilation + 1; o = (s + before + after - span) / stride + 1; m = n / groups; }
    @output { y: real[b,n,o..]; }
    @assert { stride > 0; c == g * groups; n % groups == 0; s + before + after >= span: "{s} is too small"; }
    @lower {
        y[bi,gi * m + mi,i..] += x[bi,gi * g + ci,|stride * i + dilation * j - before|..] * w[gi * m + mi,ci,j..],
            bi < b, gi < groups, mi < m, ci < g, i < o, j < f;
    }
}
operator spread {
    @attrib { stride: int..(d) = 1; before: int..(d) = 0; }
    @input { x: real[b,c,s..(d)]; w: real[c,n,f..(d)]; }
    @output { y: real[b,n,(s - 1) * stride + f - before..]; }
    @lower {
        y[bi,ni,|stride * i + j - before|..] += x[bi,ci,i..] * w[ci,ni,j..], bi < b, ni < n, ci < c, i < s, j < f;
    }
}
operator pooled {
    @attrib { size: int..(d); before: int..(d) = 0; }
    @input { x: real[s..(d)]; }
    @output { y: real[s..]; z: real[s..]; }
    @lower {
        y[i..] >?= x[|i + j - before|..], i < s, j < size;
        z[i..] += exp(x[|i + j - before|..]), i < s, j < size;
    }
}
operator bordered {
    @attrib { p: int; }
    @input { x: real[n]; }
    @output { same: real[n + 2 * p]; mirror: real[n + 2 * p]; zero: real[n + 2 * p]; }
    @lower {
        with k = i - p: same[i,] = x[|k <> 0 : n - 1|,], i < n + 2 * p;
        with k = i - p: mirror[i,] = x[|k <> -k : 2 * (n - 1) - k|,], i < n + 2 * p;
        with k = i - p: zero[i,] = k >= 0 && k < n ? x[k,] : 0.0, i < n + 2 * p;
    }
}
"""


OUTSIDE = """
operator behind {
    @attrib { by: int; }
    @input { x: real[n]; }
    @output { most: real[n]; least: real[n]; total: real[n]; some: real[n]; }
    @lower {
        most[i,] >?= 2.0 * x[|i + by * n + j|,], i < n, j < 2;
        least[i,] <?= x[|i + by * n|,] + x[i,], i < n;
        total[i,] += exp(x[|i + by * n|,]) * x[|i + j|,], i < n, j < 2;
        some[i,] += exp(x[|i + j|,]) * x[|i + 2 * j - 1|,], i < n, j < 2;
    }
}
"""


@pytest.mark.parametrize("shape", [1, (1,), (3,)])
def test_terms_that_are_outside_are_left_out(tmp_path, shape):
    x = array(3 if shape == (3,) else 1)
    most, least, total, some = run(loaded(tmp_path, OUTSIDE).behind(shape, by=1), x)
    assert (most == -np.inf).all() and (least == np.inf).all() and (total == 0).all()
    there = [(i, j) for i, j in np.ndindex(len(x), 2) if i + j < len(x) and 0 <= i + 2 * j - 1 < len(x)]
    wanted = np.zeros_like(x)
    for i, j in there:  # where one of two factors is outside, neither counts
        wanted[i] += np.exp(x[i + j]) * x[i + 2 * j - 1]
    np.testing.assert_allclose(some, wanted, 1e-5, 1e-6)


@pytest.fixture(scope="module")
def windows(tmp_path_factory):
    """Operators with windows."""
    return loaded(tmp_path_factory.mktemp("windows"), WINDOWS)


@examples(8)
@given(st.integers(1, 3), st.integers(1, 2), st.integers(0, 2), st.sampled_from([1, 2]), st.integers(1, 3))
def test_correlations(windows, stride, dilation, edge, groups, f):
    x, w = array(1, 2, 6), array(4, 2 // groups, f)
    named = dict(stride=stride, dilation=dilation, before=[edge], after=[2 - edge], groups=groups)
    op = windows.correlate((None, 2, None), w.shape, **named)
    padded = np.pad(x, [(0, 0), (0, 0), (edge, 2 - edge)])
    count = (padded.shape[2] - (f - 1) * dilation - 1) // stride + 1
    expected = np.zeros((1, 4, count))
    for n in range(4):
        rows = padded[:, (n // (4 // groups)) * (2 // groups) :][:, : 2 // groups]
        for i in range(count):
            part = rows[:, :, i * stride : i * stride + (f - 1) * dilation + 1 : dilation]
            expected[:, n, i] = (part * w[n]).sum((1, 2))
    assert np.allclose(run(op, x, w), expected, atol=1e-5)


def test_windows_with_open_sizes_are_proven_and_differentiated(tmp_path):
    mine = loaded(tmp_path, WINDOWS)
    op = mine.correlate(4, 4, stride=2, before=1, after=1)
    assert tx.schedule(op).auto().certificate()
    assert str(tx.grad(op)).startswith("op correlate_grad(")
    x = array(1, 3, 6, 6)
    y, z = run(mine.pooled(2, size=[3, 3], before=1), x[0, 0])
    edged = np.pad(x[0, 0], 1, constant_values=-np.inf)
    at = [edged[i : i + 6, j : j + 6] for i in range(3) for j in range(3)]
    assert np.array_equal(y, np.max(at, axis=0)) and np.allclose(z, np.exp(at).sum(0), rtol=1e-5)


def test_scattered_sums(tmp_path):
    op = loaded(tmp_path, WINDOWS).spread((None, 2, None), (2, 3, 4), stride=2, before=[1])
    x, w = array(1, 2, 5), array(2, 3, 4)
    expected = np.zeros((1, 3, 12))
    for i in range(5):
        expected[:, :, 2 * i : 2 * i + 4] += np.einsum("bc,cnj->bnj", x[:, :, i], w)
    assert np.allclose(run(op, x, w), expected[:, :, 1:], atol=1e-5)


def test_names_that_are_words_of_the_language(tmp_path):
    text = (
        "operator f { @input { f16: real[i32]; sum: real[i32]; } @output { let: real[i32]; } "
        "@lower { let[for,] = f16[for,] + sum[for,], for < i32; } }"
    )
    op, x, y = loaded(tmp_path, text).f(1, 1), array(3), array(3)
    assert str(op) == (
        "op f(f16_1: f32[i32_1], sum_1: f32[i32_1]) -> let_1: f32[i32_1] {\n"
        "  let_1[for_1] = f16_1[for_1] + sum_1[for_1]\n}"
    )
    assert np.array_equal(run(op, x, y), x + y)


def test_borders(tmp_path):
    op, x = loaded(tmp_path, WINDOWS).bordered(1, p=2), array(5)
    same, mirror, zero = run(op, x)
    assert "require n >= 3" in str(op)  # which the definition leaves out
    assert np.array_equal(same, np.pad(x, 2, "edge")) and np.array_equal(mirror, np.pad(x, 2, "reflect"))
    assert np.array_equal(zero, np.pad(x, 2))


PLACES = """
operator pick {
    @dtype { T: type; }
    @attrib { axis: int = 0; }
    @input { x: T[s..(axis),n,t..]; at: int[k..]; }
    @output { y: T[s..,k..,t..]; }
    @lower { y[i..,j..,l..] = x[i..,at[j..],l..], i < s, j < k, l < t; }
}
operator put {
    @input { x: real[n,c]; at: int[m]; new: real[m,c]; }
    @output { y: real[n,c]; }
    @lower {
        y[i,j] = x[i,j], i < n, j < c;
        y[at[k,],j] := new[k,j], k < m, j < c;
    }
}
operator bounced {
    @input { x: real[n]; at: real[m]; }
    @output { y: real[m]; }
    @lower { with k = int(floor(at[i,])): y[i,] = x[|k <> -k : 2 * (n - 1) - k|,], i < m; }
}
operator flat {
    @attrib { axis: int = 0; }
    @input { x: real[s..(axis),t..]; }
    @using { weights = ([1, t[::-1]..] * ...)[:-1][::-1]; }
    @output { y: real[s..,t * ..]; }
    @lower { y[i..,(j * weights) + ..] = x[i..,j..], i < s, j < t; }
}
operator together {
    @attrib { axis: int = 0; }
    @input { xs: real[s..(axis),..z,t..]..(n); }
    @using { first = [0, z..] + ...; }
    @output { y: real[s..,z + ..,t..]; }
    @lower { y[i..,first[k] + j,l..] = xs[k][i..,j,l..], k < n, i < s, j < z[k], l < t; }
}
operator parts {
    @attrib { count: int; }
    @input { x: real[n,m]; }
    @output { ys: real[n / count,m]..(count); }
    @assert { n % count == 0: "{n} rows are not {count} parts"; }
    @lower { ys[k][i,j] = x[k * (n / count) + i,j], k < count, i < n / count, j < m; }
}
operator swapped {
    @attrib { perm: int..(d) = [d-1:-1:-1]; }
    @input { x: real[s..(d)]; }
    @output { y: real[s[perm]..]; }
    @assert { perm != ..: "{perm} is no permutation", perm; }
    @lower { y[i[perm]..] = x[i..], i < s; }
}
operator most {
    @input { xs: real[s..]..(n); }
    @output { y: real[s..]; which: int[s..]; }
    @lower {
        y[i..] >?= xs[k][i..], k < n, i < s;
        which[i..] = 0, i < s;
        which[i..] := k, k < n, i < s | xs[k][i..] > xs[which[i..]][i..];
    }
}
"""


def test_places_that_are_data(tmp_path):
    mine, x = loaded(tmp_path, PLACES), array(3, 4)
    at = np.array([[2, 0], [1, 1]])
    pick = mine.pick(2, 2, axis=1)
    assert "at: i64[k0, k1] in 0..n" in str(pick)
    assert np.array_equal(run(pick, x, at), x[:, at])
    with pytest.raises(tx.CallError, match=r"`at\[0\]` is 4, expected a value in 0..4"):
        mine.pick(2, 1, axis=1)(x, np.array([4]))
    bounced = run(mine.bounced(1, 1), x[0], np.array([-2.5, 0.5, 3.0, 4.5], "f4"))
    assert np.array_equal(bounced, x[0][[3, 0, 3, 2]])
    new, to = array(3, 4), np.array([1, 0, 1])
    expected = x.copy()
    expected[0], expected[1] = new[1], new[2]  # the last one stays
    assert np.array_equal(run(mine.put(2, 1, 2), x, to, new), expected)


def test_shapes(tmp_path):
    mine, x = loaded(tmp_path, PLACES), array(2, 3, 4)
    assert np.array_equal(run(mine.flat(3, axis=1), x), x.reshape(2, 12))
    assert "y: f32[s0, (t1, t2)]" in str(mine.flat(3, axis=1))
    assert np.array_equal(run(mine.together([2, 2], axis=1), x[0], x[1]), np.concatenate([x[0], x[1]], 1))
    first, second = run(mine.parts(2, count=2), x[:, 0])
    assert np.array_equal(first, x[:1, 0]) and np.array_equal(second, x[1:, 0])
    assert np.array_equal(run(mine.swapped(3), x), x.transpose())
    assert np.array_equal(run(mine.swapped(3, perm=[1, 2, 0]), x), x.transpose(1, 2, 0))
    y, which = run(mine.most([1, 1, 1]), x[0, 0], x[0, 1], x[0, 2])
    assert np.array_equal(y, x[0].max(0)) and np.array_equal(which, x[0].argmax(0))
