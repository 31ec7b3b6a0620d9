"""Writes into tensors that share memory: what is a view in PyTorch, and what is refused.

Values are compared with PyTorch's in `test_load.py`, programs `writes`, `kept` and `in_place`.
"""

from __future__ import annotations

import io
import json
import zipfile
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

import texpr as tx
from tests.pt2.programs import archive
from texpr.ir.dtypes import F32, F64
from texpr.pt2.memory_layouts import part_if_possible, same_if_alike, same_unless_trained
from texpr.pt2.weights import TensorType


def typed(dims: Any, strides: Any, dtype: Any = F32) -> TensorType:
    return TensorType(dtype, tuple(dims), False, tuple(strides))


@st.composite
def shapes_of_one_count(draw: Any) -> tuple[list[int], list[int]]:
    """Two shapes with as many elements."""
    factors = draw(st.lists(st.sampled_from([1, 2, 3]), max_size=5))

    def grouped() -> list[int]:
        shuffled, found = draw(st.permutations(factors)), [1] * draw(st.integers(1, 4))
        for f in shuffled:
            found[draw(st.integers(0, len(found) - 1))] *= f
        return found

    return grouped(), grouped()


@given(shapes_of_one_count(), st.data())
def test_reshapes_are_views_where_numpy_makes_views(shapes: Any, data: Any):
    before, after = shapes
    order = data.draw(st.permutations(range(len(before))))
    apart = data.draw(st.lists(st.sampled_from([1, 2]), min_size=len(before), max_size=len(before)))
    whole = np.zeros([n * s for n, s in zip(before, apart)], np.float32).transpose(order)
    x = whole[tuple(slice(None, None, apart[k]) for k in order)]
    new = x.reshape(after)
    strides = [s // 4 for s in x.strides]
    found = part_if_possible(typed(x.shape, strides), typed(after, ()), {})
    assert found == "maybe"  # nothing says the strides of the result: no program is so
    found = part_if_possible(typed(x.shape, strides), typed(after, [0] * len(after)), {})
    assert found == ("part" if np.shares_memory(x, new) else "no")


def test_what_may_be_the_tensor_itself():
    x, turned, wide = typed((2, 3), (3, 1)), typed((2, 3), (1, 2)), typed((2, 3), (3, 1), F64)
    assert [same_if_alike(x, y, {}) for y in (x, turned, wide)] == ["same", "no", "no"]
    assert same_if_alike(x, x, {"copy": True}) == "no"
    symbols = typed(("n", 3), ("Mul(3, n)", 1))
    assert same_if_alike(symbols, symbols, {}) == "same" and same_if_alike(None, x, {}) == "maybe"
    assert part_if_possible(symbols, typed(("m",), (1,)), {}) == "maybe"
    train = [{"p": p, "train": t} for p, t in ((0.5, True), (0.5, False), (0.0, True))]
    assert [same_unless_trained(x, x, g) for g in train] == ["no", "same", "same"]


def changed(name: str, change: Callable[[list[dict[str, Any]]], None]) -> tx.pt2.ExportedModule:
    """A program of the tests with other nodes."""
    found = io.BytesIO()
    with zipfile.ZipFile(io.BytesIO(archive(name))) as old, zipfile.ZipFile(found, "w") as new:
        for each in old.namelist():
            content = old.read(each)
            if each.endswith("models/model.json"):
                program = json.loads(content)
                change(program["graph_module"]["graph"]["nodes"])
                content = json.dumps(program).encode()
            new.writestr(each, content)
    return tx.pt2.load(found.getvalue())


def refused(model: tx.pt2.ExportedModule) -> str:
    with pytest.raises(tx.CallError) as found:
        model(np.ones(2, np.float32))
    return str(found.value)


def tensor(name: str) -> dict[str, Any]:
    return {"name": "self", "arg": {"as_tensor": {"name": name}}, "kind": 1}


def number(name: str, value: int) -> dict[str, Any]:
    return {"name": name, "arg": {"as_int": value}, "kind": 1}


def test_a_write_that_cannot_be_followed():
    def diagonal(nodes: list[dict[str, Any]]) -> None:
        nodes[1]["target"], nodes[2]["target"] = (
            "torch.ops.aten.diagonal.default",
            "torch.ops.aten.alias.default",
        )
        nodes[1]["inputs"], nodes[2]["inputs"] = [tensor("slice_1")], [tensor("transpose")]

    assert refused(changed("kept", diagonal)) == (
        "error[pt2]: copy_.default: it writes into `select`, which may lie in the memory of `b_rows`\n"
        "    in node 3, copy_.default, which gives copy_,\n"
        "    in the layer ExportedModule(x, 5 nodes)\n"
        "  help: save exported.run_decompositions(): it has no operators that work in place"
    )


def test_a_write_into_an_input():
    def given_itself(nodes: list[dict[str, Any]]) -> None:
        nodes[3]["inputs"][0] = tensor("x")

    assert refused(changed("kept", given_itself)) == (
        "error[pt2]: copy_.default: it writes into the memory of `x`, an input or a parameter\n"
        "    in node 3, copy_.default, which gives copy_,\n"
        "    in the layer ExportedModule(x, 5 nodes)\n"
        "  help: let the network write into a copy, x.clone(), and export it again"
    )


@pytest.mark.parametrize(
    "size, stride, offset, text",
    [
        ((2, 3), (5, 1), 113, "element 120 of 120"),
        ((2, 2**40), (1, 2**40), 0, f"element {1 + (2**40 - 1) * 2**40} of 120"),
        ((2,), (-1,), 0, "negative sizes or strides"),
    ],
)
def test_strides_outside_of_the_memory(size: Any, stride: Any, offset: int, text: str):
    def outside(nodes: list[dict[str, Any]]) -> None:
        node = next(n for n in nodes if "as_strided" in n["target"])
        ints = ({"as_ints": list(size)}, {"as_ints": list(stride)}, {"as_int": offset})
        names = ("size", "stride", "storage_offset")
        node["inputs"][1:] = [{"name": n, "arg": a, "kind": 1} for n, a in zip(names, ints)]

    model = changed("writes", outside)
    with pytest.raises(tx.CallError) as found:
        model(np.ones((4, 5, 6), np.float32))
    assert f"error[pt2]: as_strided.default: {text}\n" in str(found.value)


def test_strides_of_a_tensor_that_is_not_laid_out_by_rows():
    def turned(nodes: list[dict[str, Any]]) -> None:
        node = next(n for n in nodes if "as_strided" in n["target"])
        node["inputs"][0] = tensor(
            next(n for n in nodes if "transpose" in n["target"])["outputs"][0]["as_tensor"]["name"]
        )

    model = changed("writes", turned)
    with pytest.raises(
        tx.CallError, match="the memory of a tensor that is not laid out by rows from its start"
    ):
        model(np.ones((4, 5, 6), np.float32))
