"""The Python form: the same programs as the text, and whole complaints where it cannot say
something.
"""

# ruff: noqa: F722, F821, UP037, B008

from __future__ import annotations

import copy
import multiprocessing
import pickle
import re
from typing import Annotated

import numpy as np
import pytest

import texpr as tx
from texpr.ir.traverse import equal


def same(operator: tx.Op, text: str, **constants) -> None:
    """The law: a traced operator is the operator of its text."""
    assert equal(operator.program(constants=constants), tx.op(text).program(constants=constants)), str(
        operator
    )
    assert equal(tx.op(operator.source).program(constants=constants), operator.program(constants=constants))


@tx.op
def matmul(A: "f32[M, K]", B: "f32[K, N]") -> "C: f32[M, N]":
    """The matrix product."""
    return lambda i, j: tx.sum(lambda k: A[i, k] * B[k, j])


@tx.op(types="T: float")
def softmax(X: "T[*A:axis, D, *B]", *, axis=0) -> "Y: T[*A, D, *B]":
    m = tx.let("m", lambda a, b: tx.max(lambda j: X[*a, j, *b]))
    e = tx.let("e", lambda a, j, b: tx.exp(X[*a, j, *b] - m[*a, *b]))
    return lambda a, j, b: e[*a, j, *b] / tx.sum(lambda k: e[*a, k, *b])


SOFTMAX = """op softmax<T: float>(X: T[*A:axis, D, *B]; axis = 0) -> Y: T[*A, D, *B] {
  m[*a, *b]    = max(j: X[*a, j, *b])
  e[*a, j, *b] = exp(X[*a, j, *b] - m[*a, *b])
  Y[*a, j, *b] = e[*a, j, *b] / sum(k: e[*a, k, *b])
}"""


def test_matmul():
    same(
        matmul,
        "# The matrix product.\nop matmul(A: f32[M, K], B: f32[K, N]) -> C: f32[M, N] { C[i, j] = sum(k: "
        "A[i, k] * B[k, j]) }",
    )
    assert (
        str(matmul)
        == "op matmul(A: f32[M, K], B: f32[K, N]) -> C: f32[M, N] {\n  C[i, j] = sum(k: A[i, k] * B[k, j])\n}"
    )
    assert matmul.signature.doc == "The matrix product."
    a, b = np.arange(6, dtype=np.float32).reshape(2, 3), np.ones((3, 2), np.float32)
    assert np.array_equal(matmul(a, b), a @ b)


def test_softmax():
    same(softmax, SOFTMAX, axis=1)


def test_conv2d():
    @tx.op(require="S >= 1, R <= H + 2*P, Q <= W + 2*P")
    def conv2d(
        X: "f32[N, C, H, W]", F: "f32[K, C, R, Q]", b: "f32[K]" = 0, *, S=1, P=0
    ) -> "Y: f32[N, K, (H + 2*P - R)//S + 1, (W + 2*P - Q)//S + 1]":
        return lambda n, k, y, x: (
            b[k] + tx.sum(lambda c, r, q: X.at(n, c, S * y + r - P, S * x + q - P, guard=0) * F[k, c, r, q])
        )

    text = """op conv2d(X: f32[N, C, H, W], F: f32[K, C, R, Q], b: f32[K] = 0; S = 1, P = 0)
       -> Y: f32[N, K, (H + 2*P - R)//S + 1, (W + 2*P - Q)//S + 1]
       require S >= 1, R <= H + 2*P, Q <= W + 2*P {
      Y[n, k, y, x] = b[k] + sum(c, r, q: X[n, c, S*y + r - P, S*x + q - P | 0] * F[k, c, r, q])
    }"""
    same(conv2d, text, S=2, P=1)
    assert equal(conv2d.program(absent=frozenset({"b"})), tx.op(text).program(absent=frozenset({"b"})))


def test_layernorm():
    @tx.op
    def layernorm(X: "f32[*S, D]", g: "f32[D]", b: "f32[D]", *, eps=1e-5) -> "Y: f32[*S, D]":
        n = tx.f32(tx.size("D"))
        m = tx.let("m", lambda s: tx.sum(lambda d: X[*s, d]) / n)
        v = tx.let("v", lambda s: tx.sum(lambda d: (X[*s, d] - m[*s]) ** 2) / n)
        return lambda s, d: (X[*s, d] - m[*s]) * tx.rsqrt(v[*s] + eps) * g[d] + b[d]

    same(
        layernorm,
        """op layernorm(X: f32[*S, D], g: f32[D], b: f32[D]; eps = 1e-5) -> Y: f32[*S, D] {
      m[*s] = sum(d: X[*s, d]) / f32(D)
      v[*s] = sum(d: (X[*s, d] - m[*s]) ** 2) / f32(D)
      Y[*s, d] = (X[*s, d] - m[*s]) * rsqrt(v[*s] + eps) * g[d] + b[d]
    }""",
    )


def test_embedding_and_its_gradient():
    @tx.op
    def embed(E: "f32[V, D]", idx: "i32[*B] in 0..V") -> "Y: f32[*B, D]":
        return lambda *b, d: E[idx[b], d]

    @tx.op
    def embed_grad(G: "f32[*B, D]", idx: "i32[*B] in 0..V", *, V) -> "dE: f32[V, D]":
        dE = tx.output("dE")
        tx.eq(lambda v, d: dE[v, d] == 0)
        tx.eq(lambda b, d: dE[idx[*b], d].add(G[*b, d]))

    same(embed, "op embed(E: f32[V, D], idx: i32[*B] in 0..V) -> Y: f32[*B, D] { Y[*b, d] = E[idx[*b], d] }")
    same(
        embed_grad,
        """op embed_grad(G: f32[*B, D], idx: i32[*B] in 0..V; V) -> dE: f32[V, D] {
      dE[v, d] = 0
      dE[idx[*b], d] += G[*b, d]
    }""",
        V=7,
    )


def test_maxpool():
    @tx.op(require="R <= W")
    def maxpool(X: "f32[W]", *, R=2, S=2) -> "Y: f32[(W - R)//S + 1]":
        return lambda x: tx.max(lambda r=tx.range(0, R): X[S * x + r])

    same(
        maxpool,
        "op maxpool(X: f32[W]; R = 2, S = 2) -> Y: f32[(W - R)//S + 1] require R <= W { Y[x] = max(r in "
        "0..R: X[S*x + r]) }",
    )


def test_recurrences():
    @tx.op
    def cumsum(X: "f32[L, *D]") -> "Y: f32[L, *D]":
        Y = tx.output("Y")
        return lambda t, d: Y.at(t - 1, *d, guard=0) + X[t, *d]

    @tx.op(require="L >= 1")
    def viterbi(A: "f32[S, S]", E: "f32[S, O]", o: "i32[L] in 0..O") -> "best: f32[S]":
        L, V = o.shape[0], tx.let("V: f32[L, S]")
        tx.eq(lambda s: V[0, s] == E[s, o[0]])
        tx.eq(
            lambda s, t=tx.range(0, L - 1): (
                V[t + 1, s] == tx.max(lambda p: V[t, p] + A[p, s]) + E[s, o[t + 1]]
            )
        )
        return lambda s: V[L - 1, s]

    same(cumsum, "op cumsum(X: f32[L, *D]) -> Y: f32[L, *D] { Y[t, *d] = Y[t-1, *d | 0] + X[t, *d] }")
    same(
        viterbi,
        """op viterbi(A: f32[S, S], E: f32[S, O], o: i32[L] in 0..O) -> best: f32[S] require L >= 1 {
      let V: f32[L, S]
      V[0, s] = E[s, o[0]]
      V[t+1, s] = max(p: V[t, p] + A[p, s]) + E[s, o[t+1]]  for t in 0..L-1
      best[s] = V[L-1, s]
    }""",
    )


def test_several_outputs():
    @tx.op
    def top1(X: "f32[N, D]") -> ("v: f32[N]", "a: i64[N]"):
        return {"a": lambda i: tx.argmax(lambda j: X[i, j]), "v": lambda i: tx.max(lambda j: X[i, j])}

    @tx.op
    def top2d(X: "f32[H, W]", *, R=2) -> ("ar: i64[H//R, W//R]", "aq: i64[H//R, W//R]"):
        ar, aq = tx.output("ar"), tx.output("aq")
        tx.eq(
            lambda y, x: (
                (ar[y, x], aq[y, x])
                == tx.argmax(lambda r=tx.range(0, R), q=tx.range(0, R): X[R * y + r, R * x + q])
            )
        )

    same(
        top1,
        "op top1(X: f32[N, D]) -> (v: f32[N], a: i64[N]) { a[i] = argmax(j: X[i, j])  v[i] = max(j: X[i, j]) "
        "}",
    )
    same(
        top2d,
        """op top2d(X: f32[H, W]; R = 2) -> (ar: i64[H//R, W//R], aq: i64[H//R, W//R]) {
      ar[y, x], aq[y, x] = argmax(r in 0..R, q in 0..R: X[R*y + r, R*x + q])
    }""",
    )


def test_groups_scalars_and_conditions():
    @tx.op(types="T")
    def flatten(X: "T[N, C, H]") -> "Y: T[N, (C, H)]":
        return lambda n, c, h: X[n, c, h]

    @tx.op
    def saxpy(a: "f32", X: "f32[N]", Y: "f32[N]") -> "Z: f32[N]":
        return lambda i: a * X[i] + np.float32(2) * Y[i]

    @tx.op
    def masked(X: "f32[N]", m: "bool[N]") -> "y: f32":
        return tx.sum(lambda i: X[i], where=lambda i: m[i] & ~(X[i] < 0) | (X[i] == 3))

    same(flatten, "op flatten<T>(X: T[N, C, H]) -> Y: T[N, (C, H)] { Y[n, (c, h)] = X[n, c, h] }")
    same(saxpy, "op saxpy(a: f32, X: f32[N], Y: f32[N]) -> Z: f32[N] { Z[i] = a * X[i] + 2.0 * Y[i] }")
    same(
        masked,
        "op masked(X: f32[N], m: bool[N]) -> y: f32 { y = sum(i where m[i] and not X[i] < 0 or X[i] == 3: "
        "X[i]) }",
    )


def test_parentheses_are_those_of_the_tree():
    @tx.op
    def f(X: "f32[N]") -> "Y: f32[N]":
        return lambda i: (
            -((X[i] - (1 - X[i])) ** 2) / (X[i] / 2) * (-X[i])
            - tx.select((X[i] < 0) | (X[i] > 1) & (X[i] > -0.5), 1, 2)
        )

    same(
        f,
        """op f(X: f32[N]) -> Y: f32[N] {
      Y[i] = -((X[i] - (1 - X[i])) ** 2) / (X[i] / 2) * (-X[i]) - (if X[i] < 0 or X[i] > 1 and X[i] > -0.5 then 1 else 2)
    }""",
    )


def test_operators_are_called_on_whole_tensors():
    @tx.op
    def attend(S: "f32[L, M]", V: "f32[M, D]") -> "O: f32[L, D]":
        T = tx.let("T", lambda i, j: S[i, j] * 2)
        P = softmax(T, axis=1)
        return lambda i, d: tx.sum(lambda j: P[i, j] * V[j, d])

    same(
        attend,
        SOFTMAX
        + """
    op attend(S: f32[L, M], V: f32[M, D]) -> O: f32[L, D] {
      T[i, j] = S[i, j] * 2
      softmax_Y = softmax(T, axis=1)
      O[i, d] = sum(j: softmax_Y[i, j] * V[j, d])
    }""",
    )


def _text_of(operator: tx.Op) -> str:
    return str(operator)


def test_operators_travel():
    for other in (pickle.loads(pickle.dumps(matmul)), copy.copy(matmul), copy.deepcopy(matmul)):
        assert str(other) == str(matmul) and equal(other.program(), matmul.program())
    with multiprocessing.get_context("spawn").Pool(1) as pool:
        assert pool.apply(_text_of, (softmax,)) == str(softmax)


def by_if(X: "f32[N]") -> "Y: f32[N]":
    return lambda i: X[i] if X[i] > 0 else 0


def by_and(X: "f32[N]") -> "Y: f32[N]":
    return lambda i: tx.select(X[i] > 0 and X[i] < 1, 1, 0)


def by_loop(X: "f32[N]") -> "Y: f32[N]":
    return lambda i: sum(x for x in X)


def by_float(X: "f32[N]") -> "Y: f32[N]":
    return lambda i: float(X[i])


def by_numpy(X: "f32[N]") -> "Y: f32[N]":
    return lambda i: np.exp(X[i])


def by_nothing(X: "f32[N]") -> "Y: f32[N]":
    lambda i: X[i]


def by_class(X: int) -> "Y: f32[N]":
    return lambda i: X[i]


def by_no_type(X) -> "Y: f32[N]":
    return lambda i: X[i]


def by_no_output(X: "f32[N]"):
    return lambda i: X[i]


def by_rank(X: "f32[N, M]") -> "Y: f32[N, M]":
    return lambda i: X[i, i]


def by_tensor(X: "f32[N]") -> "Y: f32[N]":
    return lambda i: X + 1


def by_slice(X: "f32[N]") -> "Y: f32[N]":
    return lambda i: tx.sum(X[:])


def by_array(X: "f32[N]") -> "Y: f32[N]":
    return lambda i: X[i] * np.ones(3)


def by_word(X: "f32[N]") -> "Y: f32[N]":
    return lambda op: X[op]


def by_bounds(X: "f32[N]") -> "Y: f32[N]":
    t = tx.let("t", lambda i: X[i] * 2)
    return lambda i: t[i + 1]


def by_annotation(X: "f32[N") -> "Y: f32[N]":
    return lambda i: X[i]


WRONG = (
    by_if,
    by_and,
    by_loop,
    by_float,
    by_numpy,
    by_nothing,
    by_class,
    by_no_type,
    by_no_output,
    by_rank,
    by_tensor,
    by_slice,
    by_array,
    by_word,
    by_bounds,
    by_annotation,
)


def relative(text: str, first: int) -> str:
    """A complaint with lines of this file counted from the function's first one."""
    return re.sub(re.escape(__file__) + ":([0-9]+)", lambda m: f"FILE:{int(m[1]) - first}", text)


def test_complaints(golden):
    said = []
    for function in WRONG:
        with pytest.raises(tx.Error) as error:
            tx.op(function)
        said.append(f"# {function.__name__}\n{relative(str(error.value), function.__code__.co_firstlineno)}")
    golden("\n\n".join(said))


def test_words_outside_of_an_operator():
    for use in (
        lambda: tx.let("m", lambda i: 1),
        lambda: tx.exp(2.0),
        lambda: tx.output("Y"),
        lambda: tx.sum(np.ones(3)),
    ):
        with pytest.raises(tx.Error, match="@tx.op|runs over indices"):
            use()


@pytest.mark.parametrize(
    "annotation",
    [
        "dist: f32[B], idx: i64[B]",
        "(dist: f32[B], idx: i64[B])",
        ("dist: f32[B]", "idx: i64[B]"),
        "dist: f32[B], idx: i64[B] in 0..B",
    ],
)
def test_several_outputs_in_one_annotation(annotation):
    def f(X: "f32[B]"):
        return lambda i: 2 * X[i], lambda i: i

    f.__annotations__["return"] = annotation
    dist, idx = tx.op(f)(np.ones(3, "f4"))
    assert dist.tolist() == [2, 2, 2] and idx.tolist() == [0, 1, 2]


@pytest.mark.parametrize(
    ("annotation", "message"),
    [
        ("dist: f32[B] idx: i64[B]", "found `idx`, expected the end"),
        ("dist: f32[B]; idx: i64[B]", "found `;`, expected the end"),
        ("dist: f32[B]]", "found `]`, expected the end, `distinct` or `in`"),
        ("dist: f32[B],", "found the end of the text, expected a name"),
    ],
)
def test_annotations_that_go_on(annotation, message):
    def f(X: "f32[B]"):
        return lambda i: 2 * X[i]

    f.__annotations__["return"] = annotation
    with pytest.raises(tx.Error) as e:
        tx.op(f)
    assert str(e.value).splitlines()[0] == message


_FUTURE = """
from __future__ import annotations
from typing import Annotated, Any
import typing
import texpr as tx

def twice(X: Annotated[Any, "f32[N]"], *, c: typing.Annotated[int, "i32"] = 2) -> Annotated[Any, "Y: f32[N]"]:
    return lambda i: tx.f32(c) * X[i]
"""


@pytest.mark.parametrize("head", ["", "from __future__ import annotations"])
def test_annotated_types_hold_the_text(head):
    names: dict[str, object] = {}
    exec(compile(_FUTURE.replace("from __future__ import annotations", head), "annotated.py", "exec"), names)
    made = tx.op(names["twice"])
    assert "op twice(X: f32[N]; c: i32 = 2) -> Y: f32[N]" in str(made)
    assert made(np.ones(2, "f4")).tolist() == [2, 2]


def test_an_annotated_type_without_text_is_no_type():
    def f(X: Annotated[int, 3]) -> "Y: f32[N]":
        return lambda i: X[i]

    with pytest.raises(tx.Error, match="the annotation of `X` is"):
        tx.op(f)
