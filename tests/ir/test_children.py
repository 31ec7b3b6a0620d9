"""Children of nodes of all shapes, and copies over others."""

from __future__ import annotations

from dataclasses import fields

import pytest

from texpr.ir.children import children, with_children
from texpr.ir.dtypes import F32
from texpr.ir.expr import Axis, Call, Compare, Const, Guard, Node, Read, Reduce, Tensor, Var, index, plain
from texpr.ir.loop import Barrier, Commit, For, If, Store, Wait
from texpr.ir.tensor import Equation

i, j, k = Var("i"), Var("j"), Var("k")
X = Tensor("X", F32, plain(index(4), index(4)))
one, zero = Const(1.0, dtype=F32), Const(0.0, dtype=F32)
condition = Compare("<", i, j)
clamp, padded = Guard("clamp"), Guard("value", zero)
plain_read, guarded = Read(X, (i, j)), Read(X, (i, j), padded)
store = Store(X, (i, j), one, at=(k,))
axis = Axis(i, index(0), j)
total = Reduce("sum", (axis,), one, dtype=F32)
some = Reduce("sum", (axis,), one, condition, dtype=F32)
NODES: list[tuple[Node, tuple[Node, ...]]] = [
    (i, ()),
    (condition, (i, j)),
    (Call("exp", (one,)), (one,)),
    (clamp, ()),
    (padded, (zero,)),
    (plain_read, (i, j)),
    (guarded, (i, j, padded)),
    (axis, (axis.lo, j)),
    (total, (axis, one)),
    (some, (axis, condition, one)),
    (store, (i, j, k, one)),
    (For(i, j, (store, Barrier())), (j, store)),
    (If(condition, (store,)), (condition, store)),
    (Wait(1, phase=i), (i,)),
    (Commit(i, j), (i, j)),
    (Equation(X, (i, j), (axis,), one, guard=clamp), (i, j, axis, one, clamp)),
]


@pytest.mark.parametrize(("node", "below"), NODES, ids=[type(n).__name__ for n, _ in NODES])
def test_children_and_copies(node: Node, below: tuple[Node, ...]):
    found = children(node)
    assert found[: len(below)] == below
    other = tuple(with_children(n, children(n)) for n in found)
    copy = with_children(node, other)
    assert type(copy) is type(node) and copy is not node
    assert children(copy) == other
    assert all(
        getattr(copy, f.name) is getattr(node, f.name) for f in fields(node) if f.name not in node.parts
    )  # type: ignore[arg-type]
    assert all((getattr(copy, name) is None) == (getattr(node, name) is None) for name in node.parts)


def test_a_copy_takes_as_many_as_there_are():
    with pytest.raises(AssertionError):
        with_children(store, (i, j, k, one, zero))
