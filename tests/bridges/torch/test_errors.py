"""Refusals of operators inside PyTorch: whole texts."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest

import texpr as tx

torch: Any = pytest.importorskip("torch")

from tests.bridges.torch.operators import GATHER, LINEAR, POWER, SILU  # noqa: E402

silu, affine, power, gather = (lambda op=op: tx.torch.op(op) for op in (SILU, LINEAR, POWER, GATHER))
X = torch.zeros(3)
ERRORS: dict[str, tuple[Callable[[], object], str]] = {
    "another dtype": (
        lambda: silu()(X.double()),
        "error[dtype]: silu: `X` is f64, expected f32\n  help: convert it: x.to(torch.float32)",
    ),
    "two dtypes": (
        lambda: affine()(torch.zeros(1, 1), torch.zeros(1, 1, dtype=torch.float64)),
        "error[dtype]: affine: `B` is f64, but `A` is f32, and both are T\n"
        "  help: convert one of them: x.to(y.dtype)",
    ),
    "an unknown dtype": (
        lambda: silu()(X.to(torch.complex64)),
        "error[dtype]: silu: `X` is torch.complex64, which texpr does not have\n"
        "  help: convert it: x.to(torch.float32)",
    ),
    "a list": (
        lambda: silu()([1.0]),
        "error[type]: silu: `X` is a list, expected a tensor\n  help: torch.as_tensor(...) makes one",
    ),
    "rank": (
        lambda: silu()(torch.zeros(2, 2)),
        "error[rank]: silu: `X` has 2 dimensions, expected 1\n    given: X [2, 2]",
    ),
    "shape": (
        lambda: affine()(torch.zeros(2, 3), torch.zeros(4, 5)),
        "error[shape]: affine: axis 0 of `B` has extent 4, expected K = 3\n    given: A [2, 3], B [4, 5]",
    ),
    "values": (
        lambda: gather()(X, torch.tensor([0, 3])),
        "error[range]: `k[1]` is 3, expected a value in 0..3",
    ),
    "a sparse tensor": (
        lambda: silu()(X.to_sparse()),
        "error[type]: silu: an input has the layout torch.sparse_coo, expected torch.strided\n"
        "  help: x.to_dense() stores all elements",
    ),
    "too many": (
        lambda: silu()(X, X),
        "error[arguments]: silu takes X; found 2 tensors\n    silu(X: f32[N]) -> Y: f32[N]\n"
        "  help: give constants by name",
    ),
    "too few": (
        lambda: affine()(X),
        "error[arguments]: affine takes A, B, c; missing: B\n"
        "    affine<T: float>(A: T[N, K], B: T[K, M], c: T[M] = 0) -> Y: T[N, M]",
    ),
    "twice": (
        lambda: silu()(X, X=X),
        "error[arguments]: silu takes X; `X` is given twice\n    silu(X: f32[N]) -> Y: f32[N]",
    ),
    "an unknown name": (
        lambda: power()(torch.zeros(1, 1), shft=1),
        "error[arguments]: power takes X; there is no `shft`\n"
        "    power<T: float>(X: T[N, M]; p = 2, shift = 0.0) -> Y: T[N, M]\n"
        "  help: did you mean `shift`?",
    ),
    "another operator of the name": (
        lambda: (silu(), tx.torch.op(tx.op("op silu(X: f32[N]) -> Y: f32[N] { Y[i] = X[i] }"))),
        "error[name]: PyTorch has another operator `texpr::silu`\n"
        "  help: give this one its own name: tx.torch.op(op, name=...)",
    ),
    "no name": (
        lambda: tx.torch.op(SILU, name="a b"),
        "error[name]: the name of an operator of PyTorch is 'a b'\n"
        "  help: give it letters, digits and `_`: NAME, or NAMESPACE::NAME",
    ),
    "torch's namespace": (
        lambda: tx.torch.op(SILU, name="aten::silu"),
        "error[name]: the name `aten::silu` is in a namespace of PyTorch's own\n"
        "  help: another namespace: texpr::silu",
    ),
    "no operator": (
        lambda: tx.torch.op("op ..."),  # type: ignore[arg-type]
        "error[arguments]: found a str where an operator belongs\n  help: tx.op(text) makes one",
    ),
}


@pytest.mark.parametrize("what", ERRORS)
def test_error(what: str):
    action, text = ERRORS[what]
    with pytest.raises(tx.CallError) as caught:
        action()
    assert str(caught.value) == text


def test_another_device():
    if not torch.cuda.is_available():
        pytest.skip("no device but the CPU")
    with pytest.raises(tx.CallError) as caught:
        silu()(X.cuda())
    assert str(caught.value) == (
        "error[device]: silu: an input is on the device cuda:0, and operators inside PyTorch run on the CPU\n"
        "  help: move it: x.cpu()"
    )


def test_another_name_is_another_operator():
    one, other = silu(), tx.torch.op(SILU, name="mine::silu")
    assert other is not one and torch.equal(torch.ops.mine.silu(X), one(X))
