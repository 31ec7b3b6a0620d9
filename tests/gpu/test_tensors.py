"""Tensors on a device: what they compute is what they compute on the host, and nothing moves
unless somebody says so.
"""

from __future__ import annotations

import copy
import ctypes
import pickle
from contextvars import copy_context
from typing import Any

import numpy as np
import pytest

import texpr as tx
from texpr import ops
from texpr.graph import Capture, Plan, Variable
from texpr.ir.dtypes import F32, I64
from texpr.runtime import gpu
from texpr.runtime.gpu import EmulatedDriver
from texpr.runtime.gpu.device import Device, _made
from texpr.support.errors import CallError, CompileError

DEVICE = "emulated"
NAME = "emulated:0"
A = np.random.default_rng(0).uniform(-1, 1, (5, 4)).astype(np.float32)
B = np.random.default_rng(1).uniform(-1, 1, (4, 3)).astype(np.float32)


def there(array: Any, **options: Any) -> tx.Tensor:
    return tx.tensor(array, device=DEVICE, **options)


@pytest.mark.parametrize(
    "places", [np.array([2, -1]), tx.tensor([2, -1]), [2, -1]], ids=["array", "tensor", "list"]
)
def test_rows_at_places_that_lie_on_the_host(places: Any):
    found = there(A)[places]
    assert found.device == NAME
    np.testing.assert_array_equal(found.numpy(), A[[2, -1]])
    with pytest.raises(CallError, match="index 9 is out of bounds"):
        there(A)[np.array([9])]


def test_assignment_of_values_that_lie_elsewhere():
    x, y = there(A), tx.tensor(A)
    x[...] = there(A * 2)
    y[1] = tx.tensor(A[0])
    y[...] = y * 2
    np.testing.assert_array_equal(x.numpy(), A * 2)
    np.testing.assert_array_equal(y.numpy(), np.stack([A[0], A[0], *A[2:]]) * 2)


def test_what_is_computed_is_equal():
    def f(x: tx.Tensor, y: tx.Tensor) -> tx.Tensor:
        return ((x @ y).relu() * 2 + np.float32(1)).sum(axis=0)

    found = f(there(A), there(B))
    assert found.device == NAME and found.value is None, "it waits until somebody looks"
    np.testing.assert_allclose(found.numpy(), f(tx.tensor(A), tx.tensor(B)).numpy(), rtol=1e-6)
    traced = tx.jit(f)
    for _ in range(2):
        np.testing.assert_allclose(traced(there(A), there(B)).numpy(), found.numpy(), rtol=1e-6)
    assert traced.traces == 1 and traced(tx.tensor(A), tx.tensor(B)).device == "cpu" and traced.traces == 2


def test_gradients_lie_where_their_leaves_lie():
    w = there(B, requires_grad=True)
    for _ in range(2):
        ((there(A) @ w) ** 2).sum().backward()
    assert w.grad is not None and w.grad.device == NAME
    np.testing.assert_allclose(w.grad.numpy(), 4 * A.T @ (A @ B), rtol=1e-5)


def test_moving():
    x = there(A)
    assert x.to(DEVICE) is x and x.cpu().device == "cpu" and x.to("cpu").to(DEVICE).device == NAME
    assert (
        np.array_equal(x.cpu().numpy(), A)
        and repr(there([1.5])) == 'tensor([1.5], f64[1], device="emulated:0")'
    )
    with pytest.raises(CallError) as error:
        there(A, requires_grad=True).cpu()
    assert str(error.value) == (
        "error[gradient]: a tensor that requires a gradient is moved from emulated:0 to cpu\n"
        "  help: move the data first: x.detach().to(...).requires_grad_()"
    )


def test_the_default_device():
    with tx.options(device=DEVICE):
        x = tx.tensor([1.0, 2.0])
        assert (
            x.device == NAME and (x + 1).tolist() == [2, 3] and tx.tensor([1.0], device="cpu").device == "cpu"
        )
    assert tx.tensor([1.0]).device == "cpu"


def test_devices_do_not_mix():
    with pytest.raises(CallError) as error:
        there(A) @ tx.tensor(B)
    assert str(error.value) == (
        "error[device]: matmul: a tensor of shape [5, 4] lies on emulated:0, one of [4, 3] on cpu\n  help: "
        'move one: x.to("cpu")'
    )
    with pytest.raises(CallError, match="lies on emulated:0, one of"):
        ops.add(there(A), A)
    with pytest.raises(CallError) as error:
        np.asarray(there(A))
    assert (
        str(error.value)
        == "error[device]: a tensor on emulated:0 is asked for as an array of NumPy's\n  help: copy it: "
        "x.numpy()"
    )
    assert (there([1.0]) * tx.tensor(3.0)).tolist() == [3], "single numbers go where the others are"


def test_copies_and_pickles():
    x = there(A)
    for other in (pickle.loads(pickle.dumps(x)), copy.deepcopy(x)):
        assert other.device == NAME and np.array_equal(other.numpy(), A)


def test_elements_are_assigned():
    x = there(A.copy())
    y = x + 0
    x[1] = 7.0
    expected = A.copy()
    expected[1] = 7
    assert np.array_equal(x.numpy(), expected) and np.array_equal(y.numpy(), A) and x.device == NAME


def test_values_that_must_lie_in_a_range_are_checked():
    table, good, bad = there(A), there(np.array([0, 4])), there(np.array([0, 5]))
    assert np.array_equal(ops.embedding(table, good).numpy(), A[[0, 4]])  # type: ignore[union-attr]
    with pytest.raises(CallError, match="range"):
        ops.embedding(table, bad).numpy()  # type: ignore[union-attr]


matmul = tx.op(
    "op matmul(A: f32[M, K], B: f32[K, N]) -> C: f32[M, N] { C[i, j] = sum(k: A[i, k] * B[k, j]) }"
)


@pytest.fixture(scope="module")
def kernel() -> tx.CompiledKernel:
    return tx.schedule(matmul, M=5, N=3, K=4).auto("sm_80").compile("sm_80")


def test_a_kernel_on_tensors(kernel: tx.CompiledKernel):
    x, y, out = there(A), there(B), there(np.zeros((5, 3), np.float32))
    found = kernel(x, y)
    assert found.device == NAME
    assert kernel(x, y, out=out) is out
    for each in (found, out, kernel(x, y, there(np.zeros((5, 3), np.float32)))):
        np.testing.assert_allclose(each.numpy(), A @ B, rtol=1e-6)
    with tx.options(device=DEVICE):
        np.testing.assert_allclose(kernel(A, B), A @ B, rtol=1e-6)  # copies there and back


def test_a_kernel_of_symbolic_sizes():
    general = tx.schedule(matmul).auto("sm_80").compile("sm_80")
    for rows in (5, 2):
        np.testing.assert_allclose(general(there(A[:rows]), there(B)).numpy(), A[:rows] @ B, rtol=1e-6)


MISTAKES = {
    "shape": (lambda k: k(there(A), there(A)), "B` has"),
    "dtype": (lambda k: k(there(A.astype("f8")), there(B)), "`A` is float64, expected float32"),
    "device": (lambda k: k(there(A), B), "one of"),
    "output": (
        lambda k: k(there(A), there(B), out=there(np.zeros((3, 3), np.float32))),
        r"is \[3, 3\], expected \[5, 3\]",
    ),
    "host output": (
        lambda k: k(there(A), there(B), out=np.zeros((5, 3), np.float32)),
        "an output is no tensor on emulated:0",
    ),
}


@pytest.mark.parametrize("call, text", MISTAKES.values(), ids=MISTAKES)
def test_mistakes(call: Any, text: str, kernel: tx.CompiledKernel):
    with pytest.raises(CallError, match=text if text != "B` has" else "K|axis|extent"):
        call(kernel)


# Plans.


def plan(device: str, factor: Variable | None = None) -> tuple[Plan, Variable]:
    """y = x @ w, and w becomes w * factor."""
    w, capture = Variable(B, "w", device=device), Capture()
    x = capture.input("x", A.shape, F32)
    with capture:
        y = ops.matmul(x, w)
        capture.assign(w, capture.variable(w) * (2.0 if factor is None else capture.variable(factor)))
    return Plan(capture, [y], device=device), w


def test_a_plan_runs_again_and_again():
    """From the second run on, its launches are a graph; variables alternate between two arrays,
    and there is a graph for each.
    """
    made, w = plan(DEVICE)
    made.fill(0, A)
    for k in range(6):
        made.run()
        np.testing.assert_allclose(made.value(0), A @ B * 2.0**k, rtol=1e-6)
    np.testing.assert_allclose(w.numpy(), B * 64, rtol=1e-6)
    assert len(made.runner._bindings) == 2 and w.device == NAME


def test_numbers_on_the_host_are_copied_before_each_run():
    factor = Variable(np.float32(3), "factor")
    made, w = plan(DEVICE, factor)
    made.fill(0, A)
    for value in (3.0, 0.5, 4.0):
        factor.data[...] = value
        made.run()
    np.testing.assert_allclose(w.numpy(), B * 6, rtol=1e-6)
    assert factor.device == "cpu"


def test_results_are_arrays_of_their_own():
    made, _ = plan(DEVICE)
    (first,) = made(A)
    (second,) = made(gpu.to_device(gpu.find_device(DEVICE), A))
    np.testing.assert_allclose(first.numpy() * 2, second.numpy(), rtol=1e-6)


def test_runs_on_several_streams_take_turns():
    made, _ = plan(DEVICE)
    found, x = gpu.find_device(DEVICE), there(A)
    results = []
    for stream in (0, found.driver.make_stream(), 0):
        with found.on(stream):
            results += made(x.value)
    for k, r in enumerate(results):
        np.testing.assert_allclose(r.numpy(), A @ B * 2.0**k, rtol=1e-6)


def test_runs_of_several_threads_take_turns():
    """Two threads with streams of their own, which nothing else orders. The emulated device does
    the work of the second one first.
    """
    made, _ = plan(DEVICE)
    found, x = gpu.find_device(DEVICE), there(A)
    found.synchronize()
    threads = [copy_context(), copy_context()]
    for thread in threads:
        thread.run(found._current.set, found.driver.make_stream())
    results = [thread.run(made, x.value)[0] for thread in threads]
    np.testing.assert_allclose(threads[1].run(results[1].numpy), A @ B * 2, rtol=1e-6)
    np.testing.assert_allclose(threads[0].run(results[0].numpy), A @ B, rtol=1e-6)


def test_a_profile_of_a_device():
    made, _ = plan(DEVICE)
    made.fill(0, A)
    with tx.profile() as p:
        made.run()
    assert {r.name for r in p.rows} and len(p.events) == len(made.launches) == len(made.profile(2))


def test_variables_on_another_device():
    capture = Capture()
    with capture:
        y = ops.matmul(capture.input("x", A.shape, F32), Variable(B, "w"))
    with pytest.raises(CallError) as error:
        Plan(capture, [y], device=DEVICE)
    assert str(error.value) == (
        "error[device]: `w` lies on cpu, and the program runs on emulated:0\n"
        '  help: move what belongs together to one device, such as model.to("emulated:0")'
    )


def test_a_plan_of_a_device_is_no_file(tmp_path: Any):
    with pytest.raises(CompileError, match="the program runs on emulated:0, and files are for CPUs"):
        plan(DEVICE)[0].save(tmp_path / "f.o")


def test_ranges_of_what_a_plan_is_filled_with():
    capture = Capture()
    with capture:
        y = ops.embedding(capture.constant(A), capture.input("i", (2,), I64))
    made = Plan(capture, [y], device=DEVICE)
    made.fill(0, np.array([1, 2]))
    made.run()
    with pytest.raises(CallError, match="range"):
        made.fill(0, np.array([1, 9]))
    made.inputs[0].set(np.array([-1, 0]))
    with pytest.raises(CallError, match="range"):
        made.run()


# Other libraries.


class Producer:
    """Another library's tensor: gives a capsule of ours on, as DLPack asks it to."""

    def __init__(self, array: gpu.DeviceArray) -> None:
        self.array, self.streams = array, []

    def __dlpack_device__(self) -> tuple[int, int]:
        return self.array.device.facts.dlpack

    def __dlpack__(self, stream: int) -> object:
        self.streams.append(stream)
        return gpu.exported(self.array, stream)


def test_dlpack_shares_memory():
    x = there(A)
    y = tx.from_dlpack(x)
    assert y.device == NAME and y.value.address == x.value.address
    address = x.value.address
    del x
    assert np.array_equal(y.numpy(), A), "the memory lives as long as somebody holds it"
    del y
    assert there(A).value.address == address


def test_dlpack_that_is_refused():
    """The capsule ends while the exception is on its way, and so does its hold on the memory."""
    x = there(A)
    address = x.value.address
    for _ in range(3):
        with pytest.raises((RuntimeError, BufferError), match="device"):
            np.from_dlpack(x)
    capsule = x.__dlpack__()
    del capsule, x
    assert there(A).value.address == address


def test_dlpack_and_streams():
    found = gpu.find_device(DEVICE)
    producer = Producer(gpu.to_device(found, A))
    assert np.array_equal(tx.from_dlpack(producer).numpy(), A)
    stream = found.driver.make_stream()
    with found.on(stream):
        assert np.array_equal(tx.tensor(producer).numpy(), A)
    assert producer.streams == [1, stream]


def test_dlpack_of_other_layouts():
    class Strided(Producer):
        def __dlpack__(self, stream: int) -> object:
            capsule = gpu.exported(self.array, stream)
            record = ctypes.cast(
                gpu.dlpack._pointer(id(capsule), b"dltensor"), ctypes.POINTER(gpu.dlpack._Managed)
            )
            self.strides = (ctypes.c_int64 * 2)(1, 5)
            record.contents.tensor.strides = self.strides
            return capsule

    with pytest.raises(CallError) as error:
        tx.from_dlpack(Strided(gpu.to_device(gpu.find_device(DEVICE), A)))
    assert str(error.value) == (
        "error[layout]: a tensor of shape [5, 4] on a device has strides [1, 5]\n"
        "  help: make it contiguous: x.contiguous()"
    )


def test_dlpack_of_the_middle_of_an_array():
    array = gpu.to_device(gpu.find_device(DEVICE), A)
    assert np.array_equal(tx.from_dlpack(Producer(array.view(16, (4,), np.float32))).numpy(), A[1])
    with pytest.raises(CallError) as error:
        tx.from_dlpack(Producer(array.view(4, (4,), np.float32)))
    assert str(error.value) == (
        "error[layout]: a tensor on a device begins 4 bytes behind a multiple of 16\n"
        "  help: copy it: x.clone()"
    )


def test_a_capsule_is_used_once():
    class Stale(Producer):
        def __dlpack__(self, stream: int) -> object:
            self.capsule = getattr(self, "capsule", None) or gpu.exported(self.array, stream)
            return self.capsule

    stale = Stale(gpu.to_device(gpu.find_device(DEVICE), A))
    kept = tx.from_dlpack(stale)
    with pytest.raises(CallError, match="was used already"):
        tx.from_dlpack(stale)
    assert np.array_equal(kept.numpy(), A)


def test_dlpack_goes_nowhere_by_itself():
    with pytest.raises(BufferError, match="is exported as it is; copy it before"):
        there(A).__dlpack__(dl_device=(1, 0))
    small = there(A).astype("bf16")
    assert tx.from_dlpack(small).dtype == small.dtype and tx.from_dlpack(small).tolist() == small.tolist()


def test_the_array_interface(monkeypatch: pytest.MonkeyPatch):
    """Only devices whose addresses other libraries can read have it."""
    assert not hasattr(there(A), "__cuda_array_interface__") and not hasattr(
        tx.tensor(A), "__cuda_array_interface__"
    )
    driver = EmulatedDriver()
    driver.facts = gpu.Facts("test", (8, 0), 1 << 30, "", (2, 0), True)
    monkeypatch.setitem(_made, "cuda:0", Device("cuda:0", driver))
    x = tx.tensor(A, device="cuda")
    about = x.__cuda_array_interface__
    assert about == {
        "shape": (5, 4),
        "typestr": "<f4",
        "data": (x.value.address, False),
        "version": 3,
        "strides": None,
        "stream": 1,
    }

    class Foreign:
        __cuda_array_interface__ = about | {"strides": (16, 4)}

    assert np.array_equal(tx.tensor(Foreign()).numpy(), A) and tx.tensor(Foreign()).device == "cuda:0"
    Foreign.__cuda_array_interface__ = about | {"strides": (4, 20)}
    with pytest.raises(CallError, match="has strides"):
        tx.tensor(Foreign())
