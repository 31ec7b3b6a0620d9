"""Sizes and packs from shapes, and back."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from texpr.ir.build import add, floordiv, mul
from texpr.ir.dtypes import F32
from texpr.ir.expr import Compare, Dim, Expr, FloorDiv, Mod, Select, Tensor, Var, index
from texpr.ir.shapes import Shape, bind_sizes, caller_shape, evaluate_size, flat_shape
from texpr.support.errors import CallError

M, N, K = Var("M"), Var("N"), Var("K")
A, B = Var("A", pack=True), Var("B", pack=True)


def tensor(*dims: Expr | tuple[Expr, ...] | Dim, name: str = "X") -> Tensor:
    """A tensor: an expression is a plain dimension (a pack variable a pack), a tuple a group."""
    made = [
        d
        if isinstance(d, Dim)
        else Dim(d)
        if isinstance(d, tuple)
        else Dim((d,), pack=isinstance(d, Var) and d.pack)
        for d in dims
    ]
    return Tensor(name, F32, tuple(made))


def bound(tensors: list[Tensor], shapes: list[Shape], known: dict[Var, int] | None = None) -> dict[str, int]:
    return {var.name: n for var, n in bind_sizes(tensors, shapes, known)[0].items()}


@pytest.mark.parametrize(
    ("dims", "shape", "expected"),
    [
        ((M, N), (2, 3), {"M": 2, "N": 3}),
        ((M, A), (2, 3, 4), {"M": 2, "A": 12}),
        ((A, M), (2,), {"A": 1, "M": 2}),
        ((A, M, A), (2, 3, 9, 2, 3), {"A": 6, "M": 9}),
        ((M, (M, N)), (2, 6), {"M": 2, "N": 3}),
        (((M, N), M), (6, 2), {"M": 2, "N": 3}),
        ((add(mul(M, index(2)), index(1)),), (7,), {"M": 3}),
        ((add(M, N), M), (7, 3), {"M": 3, "N": 4}),
        ((Dim((A,), pack=True, length=1), M, B), (2, 3, 4, 5), {"A": 2, "M": 3, "B": 20}),
        ((index(3), M), (3, 4), {"M": 4}),
        (((M, N), M, N), (0, 0, 5), {"M": 0, "N": 5}),
    ],
)
def test_sizes_are_found(dims: tuple[Expr, ...], shape: Shape, expected: dict[str, int]):
    assert bound([tensor(*dims)], [shape]) == expected


def test_the_rank_of_a_pack_may_come_from_another_input():
    sizes, packs = bind_sizes([tensor(A, B), tensor(A, name="Z")], [(2, 3, 4), (2, 3)])
    assert packs == {A: (2, 3), B: (4,)} and sizes == {A: 6, B: 4}


@pytest.mark.parametrize(
    ("tensors", "shapes", "complaint"),
    [
        ([tensor(M, M)], [(2, 3)], "error[shape]: axis 1 of `X` has extent 3, expected M = 2"),
        ([tensor(M, index(4))], [(2, 3)], "error[shape]: axis 1 of `X` has extent 3, expected 4"),
        ([tensor(M, (M, N))], [(2, 5)], "error[shape]: axis 1 of `X` has extent 5, not a multiple of 2"),
        (
            [tensor((M, N))],
            [(6,)],
            "error[shape]: axis 0 of `X`, extent 6, does not tell the sizes M, N apart\n"
            "  help: give all but one of them by name",
        ),
        ([tensor(mul(M, index(2)))], [(5,)], "error[shape]: axis 0 of `X` has extent 5, which no size gives"),
        ([tensor(M)], [(2, 3)], "error[rank]: `X` has 2 dimensions, expected 1"),
        ([tensor(M, N, A)], [(2,)], "error[rank]: `X` has 1 dimension, expected at least 2"),
        (
            [tensor(A), tensor(A, name="Z")],
            [(2, 3), (3, 2)],
            "error[shape]: `Z` has shape (3, 2) for the pack *A, but (2, 3) was found before",
        ),
        (
            [tensor(A, B)],
            [(2, 3)],
            "error[rank]: the 2 dimensions of `X` can be divided between its packs in several ways\n"
            "  help: give the axis where one pack ends as a constant",
        ),
    ],
)
def test_complaints(tensors: list[Tensor], shapes: list[Shape], complaint: str):
    with pytest.raises(CallError) as error:
        bind_sizes(tensors, shapes)
    assert str(error.value) == complaint


def test_sizes_can_be_given():
    assert bound([tensor((M, N))], [(6,)], {M: 2}) == {"M": 2, "N": 3}
    with pytest.raises(CallError, match="axis 0 of `X` has extent 6, expected M = 2"):
        bound([tensor(M)], [(6,)], {M: 2})


@given(
    st.lists(st.integers(1, 4), max_size=3),
    st.integers(1, 4),
    st.lists(st.integers(1, 4), max_size=3),
    st.integers(1, 4),
)
def test_shapes_go_both_ways(front: list[int], middle: int, back: list[int], factor: int):
    x = tensor(Dim((A,), pack=True, length=len(front)), (M, N), B, M)
    shape = (*front, factor * middle, *back, factor)
    sizes, packs = bind_sizes([x], [shape])
    assert caller_shape(x, sizes, packs) == shape
    assert flat_shape(x, sizes)[1:3] == (factor, middle)


@pytest.mark.parametrize(
    ("expr", "expected"),
    [
        (floordiv(M, index(2)), 3),
        (FloorDiv(M, index(0)), 0),
        (Mod(M, index(0)), 0),
        (Select(Compare("<", M, index(3)), index(1), index(2)), 2),
        (mul(M, M), 49),
        (mul(mul(M, index(2**40)), index(2**40)), 7 * 2**80),
    ],
)
def test_sizes_are_exact_integers(expr: Expr, expected: int):
    assert evaluate_size(expr, {M: 7}) == expected
