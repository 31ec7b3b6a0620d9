"""Names of dtypes from other libraries, calls with wrong arguments, and how NumPy's numbers mix."""

from __future__ import annotations

import numpy as np
import pytest

import texpr as tx
from texpr.graph.arrays.rearranging import filled

X = np.arange(6.0, dtype="f4").reshape(2, 3)
NAMES = {
    "float16": "f16", "half": "f16", "torch.float16": "f16", "bfloat16": "bf16", "torch.bfloat16": "bf16",
    "float32": "f32", "single": "f32", "float64": "f64", "double": "f64", "int8": "i8", "int16": "i16",
    "int32": "i32", "int64": "i64", "long": "i64", "uint8": "u8", "uint64": "u64", "bool": "bool",
    "float8_e4m3fn": "f8e4m3", "float8_e5m2": "f8e5m2", "f16": "f16", "i32": "i32",
}  # fmt: skip


@pytest.mark.parametrize("name", NAMES)
def test_dtypes_by_the_names_of_other_libraries(name: str):
    x = tx.tensor(X)
    for made in (
        x.to(name),
        x.astype(name),
        x.to(dtype=name),
        tx.tensor(X.tolist(), dtype=name),
        tx.zeros(2, dtype=name),
    ):
        assert made.dtype.name == NAMES[name]


def test_dtypes_as_objects():
    x = tx.tensor(X)
    for t in (np.float16, np.dtype("f2"), tx.tensor([1.0], dtype="f16").dtype):
        assert x.to(t).dtype.name == "f16"
    torch = pytest.importorskip("torch")
    assert x.to(torch.bfloat16).dtype.name == "bf16" and x.astype(torch.int32).dtype.name == "i32"


COMPLAINTS = {
    "x.to('flaot16')": "'flaot16' is neither a device nor a dtype\n  help: did you mean `float16`?",
    "x.to('cdua')": "'cdua' is neither a device nor a dtype\n  help: did you mean `cuda`?",
    "x.astype('float33')": "'float33' is no dtype that texpr has\n  help: did you mean `float32`?",
    "x.sum(1, True, 3)": "sum takes from 0 to 2 positional arguments but 3 were given\n"
    "  help: it is sum(axis=None, keepdims=False, *, dtype=None, out=None)",
    "x.topk()": "topk is called without what it needs: missing 1 required positional argument: 'k'\n"
    "  help: it is topk(k, axis=-1, largest=True)",
    "x.matmul()": "matmul is called without what it needs: missing 1 required positional argument: 'other'\n"
    "  help: it is matmul(other)",
    "x.sum(axes=1)": "sum has no argument `axes`\n  help: did you mean `axis`?",
    "np.put(x, [0], 1)": "numpy.put writes into a tensor\n"
    "  help: x[...] = values gives the name another value, tx.where chooses between two",
    "np.add(x, x, out=np.ones((2, 3)))": "numpy.add with out of a tensor\n"
    "  help: use the result: x = x + y; an array is written to by x[...] = np.asarray(y)",
    "np.add.at(x, [0], 1)": "numpy.add.at of a tensor\n"
    "  help: tx.ops.scatter_add gives a tensor with numbers added at places",
    "np.add(x, x, where=False)": "numpy.add with where of a tensor\n"
    "  help: choose from both results: np.where(condition, y, x)",
    "np.gcd(i, i)": "numpy.gcd of a tensor\n  help: use a method of the tensor, texpr.ops, or np.asarray(x)",
}


@pytest.mark.parametrize("text", COMPLAINTS)
def test_complaints(text: str):
    names = {"np": np, "x": tx.tensor(X), "i": tx.tensor([1, 2])}
    with pytest.raises(tx.CallError) as e:
        eval(text, names)
    assert str(e.value).partition(": ")[2] == COMPLAINTS[text]


def test_wrong_calls_are_type_errors_too_and_inner_ones_stay_what_they_are():
    with pytest.raises(TypeError, match="takes from 0 to 2"):
        tx.tensor(X).sum(1, True, 3)
    with pytest.raises(TypeError) as e:
        tx.tensor(object())
    assert not isinstance(e.value, tx.CallError) or "is called without" not in str(e.value)


MIXES = {
    "np.float32(2) * x": None, "x + np.float32(2)": None, "np.float64(2) * x": None, "np.int64(3) * x": None,
    "x + [1, 2, 3]": None, "[1, 2, 3] * x": None, "(1.0, 2.0, 3.0) - x": None, "x / np.int8(2)": None,
    "np.ones(3) + x": None, "x * True": None, "x ** np.float32(2)": None, "np.bool_(True) + x": None,
    "np.float16(2) * x": None, "x // np.uint8(2)": None, "np.maximum(1, x)": None, "x > np.float64(2)": None,
}  # fmt: skip


@pytest.mark.parametrize("text", MIXES)
def test_numbers_of_numpy_and_lists_mix_as_in_numpy(text: str):
    expected, found = (eval(text, {"np": np, "x": x}) for x in (X, tx.tensor(X)))
    assert isinstance(found, tx.Tensor) and found.numpy().dtype == expected.dtype
    np.testing.assert_allclose(found.numpy(), expected)


def test_leaves_of_rank_0_and_parameters_in_numpys_functions():
    x = tx.tensor(2.0, requires_grad=True)
    (np.sin(x) + x * x).backward()
    np.testing.assert_allclose(x.grad.numpy(), np.cos(2.0) + 4)
    w = tx.nn.Parameter(np.array([[3.0, 1.0, 2.0]]))
    (np.sort(w) * np.array([1.0, 2.0, 3.0])).sum().backward()
    assert w.grad.tolist() == [[3, 1, 2]]
    w.grad = None
    (tx.tensor(w).T @ w).sum().backward()  # weights tied
    np.testing.assert_allclose(w.grad.numpy(), [[12.0] * 3])


class Tied(tx.nn.Module):
    """NumPy's functions in `forward`, a weight that is used twice, a parameter of rank 0."""

    def __init__(self) -> None:
        super().__init__()
        self.w = tx.nn.Parameter(np.array([[1.0, -2.0], [0.5, 1.0]]))
        self.s = tx.nn.Parameter(np.float64(0.25))

    def forward(self, x):
        h = np.concatenate([x @ self.w, np.sort(x @ self.w, axis=1)], axis=1)
        return np.exp(self.s) * np.linalg.norm(h @ np.tile(self.w.T, (2, 1)), axis=1)


def test_numpys_functions_in_forward():
    x, model = np.array([[1.0, 2.0], [-1.0, 0.5]]), Tied()
    model(tx.tensor(x)).sum().backward()

    def f(w, s):
        h = np.concatenate([x @ w, np.sort(x @ w, axis=1)], axis=1)
        return float((np.exp(s) * np.linalg.norm(h @ np.tile(w.T, (2, 1)), axis=1)).sum())

    w, step = model.w.numpy(), 1e-6
    np.testing.assert_allclose(model(x).sum(), f(w, 0.25))
    np.testing.assert_allclose(model.s.grad.numpy(), f(w, 0.25), rtol=1e-9)
    for k in np.ndindex(2, 2):
        d = np.zeros((2, 2))
        d[k] = step
        np.testing.assert_allclose(
            model.w.grad.numpy()[k], (f(w + d, 0.25) - f(w - d, 0.25)) / 2 / step, rtol=1e-6
        )


COMPUTED = {
    "argmax": lambda x: x[np.arange(3), x.argmax(axis=1)],
    "argmax of all": lambda x: x.reshape(-1)[x.argmax()],
    "argsort": lambda x: np.take_along_axis(x, np.argsort(x, axis=1), axis=1),
    "argmax, the axis kept": lambda x: np.take_along_axis(x, np.argmax(x, axis=1, keepdims=True), axis=1),
    "pooling": lambda x: x.reshape(-1)[tx.ops.maxpool2d_indices(x.reshape(1, 1, 3, 4), R=1)[1].reshape(-1)],
    "conversion": lambda x: x.reshape(-1)[(x * 3).astype("i64").reshape(-1)],
    "gather": lambda x: tx.ops.gather(x, x.argsort(axis=1), axis=1),
}


@pytest.mark.parametrize("name", COMPUTED)
def test_computed_places_are_indices(name: str):
    """Without `realize()`, of tensors and in traced functions; gradients arrive at the places."""
    a = np.random.default_rng(4).uniform(0.1, 0.9, (3, 4))
    x = tx.tensor(a, requires_grad=True)
    found = COMPUTED[name](x)
    traced = tx.jit(COMPUTED[name])(a)
    np.testing.assert_array_equal(found.detach().numpy(), np.asarray(traced))
    assert np.isin(found.detach().numpy(), a).all()
    found.sum().backward()
    assert x.grad.numpy().sum() == found.size


@pytest.mark.parametrize(
    ("value", "t"), [(3, "i8"), (True, "bool"), (np.inf, "f32"), (np.nan, "bf16"), (-1, "i64")]
)
def test_filled(value, t: str):
    x = filled(tx.tensor(X), value, t, (2,))
    assert x.dtype.name == t and np.array_equal(x.numpy().astype("f8"), [value, value], equal_nan=True)


def test_filled_refuses_what_does_not_fit():
    with pytest.raises(tx.CallError, match="300 does not fit i8"):
        np.full_like(tx.tensor(X), 300, dtype="i8")
