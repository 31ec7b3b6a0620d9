"""Operators inside PyTorch: values, what torch checks of operators, compilation, export."""

from __future__ import annotations

import copy
import pickle
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

import texpr as tx
from tests.profiles import examples

torch: Any = pytest.importorskip("torch")

from tests.bridges.torch.operators import GATHER, LINEAR, POWER, SILU, SIZES, TOP  # noqa: E402

FLOATS = [torch.float16, torch.bfloat16, torch.float32, torch.float64]


def rand(*shape: int, dtype: Any = torch.float32, grad: bool = False) -> Any:
    made = torch.randn(*shape, generator=torch.Generator().manual_seed(sum(shape)), dtype=torch.float64)
    return made.to(dtype).requires_grad_(grad)


def interpreted(op: tx.Op, *tensors: Any, **constants: object) -> Any:
    arrays = [t.detach().double().numpy() if t.is_floating_point() else t.numpy() for t in tensors]
    return tx.interpret(op, *arrays, **constants)


@examples(25)
@given(st.integers(0, 5), st.integers(0, 5), st.integers(0, 5), st.booleans(), st.booleans())
def test_values_are_those_of_the_interpreter(n: int, k: int, m: int, turned: bool, bias: bool):
    f = tx.torch.op(LINEAR)
    a, b, c = rand(n, k), rand(k, m), rand(m)
    a = a.T.contiguous().T if turned else a
    extra = [c] if bias else []
    wanted = interpreted(LINEAR, a, b, *extra)
    np.testing.assert_allclose(f(a, b, *extra).numpy(), wanted, rtol=1e-5, atol=1e-6)


@pytest.mark.parametrize("dtype", FLOATS, ids=str)
def test_every_float_keeps_its_dtype(dtype: Any):
    pytest.importorskip("ml_dtypes")
    a, b = rand(3, 4, dtype=dtype), rand(4, 5, dtype=dtype)
    found = tx.torch.op(LINEAR)(a, b)
    assert found.dtype == dtype and found.shape == (3, 5)
    step = torch.finfo(dtype).eps
    np.testing.assert_allclose(found.double().numpy(), interpreted(LINEAR, a, b), rtol=step, atol=4 * step)


@pytest.mark.parametrize("dtype", FLOATS, ids=str)
def test_values_that_are_checked_share_memory_too(dtype: Any):
    pytest.importorskip("ml_dtypes")
    x, k = rand(4, dtype=dtype), torch.tensor([3, 0, 0])
    assert torch.equal(tx.torch.op(GATHER)(x, k), x[k])


def test_integers_and_booleans():
    op = tx.op(
        "op both(X: i32[N], m: bool[N], u: u8[N]) -> Y: i32[N] { Y[i] = if m[i] then X[i] else i32(u[i]) }"
    )
    m, u = torch.tensor([True, False, True]), torch.tensor([7, 8, 9], dtype=torch.uint8)
    found = tx.torch.op(op)(torch.tensor([1, 2, 3], dtype=torch.int32), m, u)
    assert found.tolist() == [1, 8, 3] and found.dtype == torch.int32


def seen_by_kernel(x: Any) -> tuple[int, tuple[int, ...]]:
    """Address and strides of the array that a function of Python in a kernel is given."""
    found: list[tuple[int, tuple[int, ...]]] = []

    def look(X: np.ndarray) -> np.ndarray:  # noqa: N803
        found.append((X.ctypes.data, X.strides))
        return X.copy()

    tx.register_extern("look_at_memory", look)
    op = tx.op("extern op look_at_memory<T>(X: T[N, M]) -> Y: T[N, M]")
    tx.torch.op(op)(x)
    return found[0]


@pytest.mark.parametrize("dtype", FLOATS, ids=str)
def test_arrays_are_the_memory_of_tensors(dtype: Any):
    pytest.importorskip("ml_dtypes")
    from texpr.bridges.torch import tensor_memory

    x = rand(5, 4, dtype=dtype)[1:4]
    for make in (tensor_memory.as_array, tensor_memory.as_stored):
        array = make(tensor_memory.readable("f", x))
        assert array.ctypes.data == x.data_ptr()
        assert array.strides == tuple(n * x.element_size() for n in x.stride())


# A function of Python in a kernel gets copies of what NumPy lacks, as f32.
@pytest.mark.parametrize("dtype", [torch.float16, torch.float32, torch.float64], ids=str)
def test_memory_is_shared(dtype: Any):
    x = rand(3, 4, dtype=dtype)
    item = x.element_size()
    assert seen_by_kernel(x) == (x.data_ptr(), (4 * item, item))
    inner = rand(5, 4, dtype=dtype)[1:4]
    assert seen_by_kernel(inner) == (inner.data_ptr(), (4 * item, item))


def test_what_is_not_contiguous_is_copied():
    x = rand(4, 3).T
    address, strides = seen_by_kernel(x)
    assert address != x.data_ptr() and strides == (16, 4)


def test_results_are_memory_of_their_own():
    copy_of = tx.torch.op(tx.op("op copy_of(X: f32[N]) -> Y: f32[N] { Y[i] = X[i] }"))
    x = rand(5)
    before, found = x.clone(), copy_of(x)
    x.add_(1)
    assert torch.equal(found, before) and found.data_ptr() != x.data_ptr()


def test_negated_views_are_read_as_they_look():
    x = torch._neg_view(rand(5))
    assert torch.allclose(tx.torch.op(SILU)(x), torch.nn.functional.silu(x.clone()))


def test_several_results_are_a_tuple():
    values, places = tx.torch.op(TOP)(torch.tensor([[1.0, 5.0, 2.0]]))
    assert values.tolist() == [5.0] and places.tolist() == [1]


def test_constants_and_names():
    f, x = tx.torch.op(POWER), rand(2, 3)
    assert torch.allclose(f(x, p=3, shift=1.0), x**3 + 1)
    assert torch.allclose(f(X=x), x**2)
    assert torch.allclose(f(x, p=3), x**3)
    g = tx.torch.op(LINEAR)
    assert torch.allclose(g(B=x, A=x.T), x.T @ x, atol=1e-6)
    assert torch.allclose(g(x.T, x, c=None), x.T @ x, atol=1e-6)


SAMPLES: list[tuple[tx.Op, tuple, dict[str, object]]] = [
    (SILU, (rand(7, grad=True),), {}),
    (LINEAR, (rand(3, 4, grad=True), rand(4, 2, grad=True)), {}),
    (LINEAR, (rand(3, 4), rand(4, 2, grad=True), rand(2, grad=True)), {}),
    (POWER, (rand(3, 4, grad=True),), {"p": 3, "shift": 0.5}),
    (GATHER, (rand(4, grad=True), torch.tensor([1, 1, 3])), {}),
    (TOP, (rand(3, 4, grad=True),), {}),
    (SIZES, (rand(2, grad=True), rand(5, grad=True)), {}),
]


@pytest.mark.parametrize("op,inputs,constants", SAMPLES, ids=lambda v: getattr(v, "__name__", ""))
def test_torch_finds_no_fault(op: tx.Op, inputs: tuple, constants: dict[str, object]):
    found = torch.library.opcheck(tx.torch.op(op).overload, inputs, constants)
    assert set(found.values()) == {"SUCCESS"}


def test_torch_finds_no_fault_with_the_gradient():
    f, x = tx.torch.op(SILU), rand(7, grad=True)
    f(x).sum().backward()
    found = torch.library.opcheck(torch.ops.texpr.silu_grad_X.default, (x, rand(7, grad=True)))
    assert set(found.values()) == {"SUCCESS"}


@pytest.mark.parametrize("op,inputs,constants", SAMPLES, ids=lambda v: getattr(v, "__name__", ""))
def test_torch_compiles_it_whole(op: tx.Op, inputs: tuple, constants: dict[str, object]):
    f = tx.torch.op(op)
    compiled = torch.compile(lambda *given: f(*given, **constants), fullgraph=True, backend="aot_eager")
    plain, traced = f(*inputs, **constants), compiled(*inputs)
    for one, other in zip(as_tuple(plain), as_tuple(traced), strict=True):
        assert torch.equal(one, other)
    floats = [x for x in inputs if x.requires_grad]
    wanted = torch.autograd.grad(as_tuple(plain)[0].sum(), floats)
    found = torch.autograd.grad(as_tuple(traced)[0].sum(), floats)
    assert all(map(torch.equal, wanted, found))


def as_tuple(found: Any) -> tuple[Any, ...]:
    return found if isinstance(found, tuple) else (found,)


def test_symbolic_sizes_are_compiled_once():
    f = tx.torch.op(SIZES)
    compiled = torch.compile(f, fullgraph=True, dynamic=True, backend="eager")
    for n in (3, 4, 9):
        x, y = rand(n), rand(2 * n + 1)
        assert torch.equal(compiled(x, y), f(x, y))
    counted = torch._dynamo.utils.counters["stats"]["unique_graphs"]
    torch._dynamo.reset()
    compiled = torch.compile(f, fullgraph=True, dynamic=True, backend="eager")
    for n in (3, 4, 9):
        compiled(rand(n), rand(2 * n + 1))
    assert torch._dynamo.utils.counters["stats"]["unique_graphs"] == counted + 1


class Net(torch.nn.Module):
    def __init__(self) -> None:
        super().__init__()
        self.affine, self.power = tx.torch.op(LINEAR), tx.torch.op(POWER)

    def forward(self, x: Any, w: Any) -> Any:
        return self.affine(self.power(x, p=3), w)


def test_torch_exports_it_for_any_size():
    rows = torch.export.Dim("rows", min=2)
    x, w = rand(4, 3), rand(3, 2)
    exported = torch.export.export(Net(), (x, w), dynamic_shapes={"x": {0: rows}, "w": None})
    assert "texpr.affine" in str(exported.graph)
    assert exported.module()(rand(7, 3), w).shape == (7, 2)
    assert torch.allclose(exported.module()(x, w), x**3 @ w, atol=1e-5)


def test_shapes_without_values():
    f = tx.torch.op(SIZES)
    found = f(torch.empty(3, device="meta"), torch.empty(7, device="meta"))
    assert found.shape == (6,) and found.device.type == "meta"


def test_a_traced_function_has_the_operator():
    f = tx.torch.op(SILU)
    graph = torch.fx.experimental.proxy_tensor.make_fx(lambda x: f(x) + 1)(rand(3)).graph
    assert any(n.target is torch.ops.texpr.silu.default for n in graph.nodes)


def test_a_mode_sees_the_call():
    from torch.utils._python_dispatch import TorchDispatchMode

    class Log(TorchDispatchMode):
        seen: list[Any] = []

        def __torch_dispatch__(self, func: Any, types: Any, args: Any = (), kwargs: Any = None) -> Any:
            self.seen.append(func)
            return func(*args, **(kwargs or {}))

    with Log() as log:
        tx.torch.op(SILU)(rand(3))
    assert torch.ops.texpr.silu.default in log.seen


def test_copies_are_the_operator_itself():
    f = tx.torch.op(SILU)
    assert copy.deepcopy(f) is f and pickle.loads(pickle.dumps(f)) is f
    assert tx.torch.op(SILU) is f
    again = "op silu(X: f32[N]) -> Y: f32[N] { Y[i] = X[i] / (1 + exp(-X[i])) }"
    assert tx.torch.op(tx.op(again)) is f
    assert repr(f) == "<torch op texpr::silu(X: f32[N]) -> Y: f32[N]>"


def test_threads_are_torchs():
    from texpr.runtime.native import native_library

    f, before = tx.torch.op(SILU), torch.get_num_threads()
    try:
        for threads in (1, 3, 2):
            torch.set_num_threads(threads)
            f(rand(5))
            assert native_library.threads() == threads
    finally:
        torch.set_num_threads(before)


def test_many_shapes_are_served():
    f = tx.torch.op(tx.op("op thrice(X: f32[N]) -> Y: f32[N] { Y[i] = 3 * X[i] }"))
    for n in range(40):
        assert torch.equal(f(torch.full((n,), 2.0)), torch.full((n,), 6.0))
