"""Writes to an array change no tensor that was made of it, unless memory was asked to be shared."""

from __future__ import annotations

import numpy as np
import pytest

import texpr as tx

COPIES = {
    "tensor": tx.tensor,
    "tensor of a part": lambda a: tx.tensor(a[:]),
    "tensor of a buffer": lambda a: tx.tensor(memoryview(a)),
    "another dtype": lambda a: tx.as_tensor(a, dtype="f32"),
    "with strides": lambda a: tx.as_tensor(np.stack([a, a], 1)[:, 0]),
    "a leaf": lambda a: tx.tensor(a, requires_grad=True),
    "an operand": lambda a: tx.zeros(3, dtype="f64") + a,
    "an operand of an operator": lambda a: tx.ops.add(tx.zeros(3, dtype="f64"), a),
    "an argument of NumPy's": lambda a: np.concatenate([tx.zeros(1, dtype="f64"), a])[1:],
    "an element in a list": lambda a: tx.tensor([a[0], a[1], a[2]]),
}
SHARES = {"as_tensor": tx.as_tensor, "from_numpy": tx.from_numpy, "from_dlpack": tx.from_dlpack}


@pytest.mark.parametrize("make", COPIES.values(), ids=COPIES)
def test_a_write_does_not_change_what_waits(make):
    a = np.ones(3)
    x = make(a)
    waiting = x * 2
    a[:] = 7
    assert waiting.tolist() == [2, 2, 2] and x.tolist() == [1, 1, 1]


@pytest.mark.parametrize("make", SHARES.values(), ids=SHARES)
def test_shared_memory_is_asked_for(make):
    a = np.ones(3)
    x = make(a)
    waiting, computed = x * 2, (x * 2).realize()
    a[:] = 7
    assert (waiting.tolist(), computed.tolist(), x.tolist()) == ([14] * 3, [2] * 3, [7] * 3)
    assert np.shares_memory(x.numpy(), a)


def test_what_nobody_may_write_to_is_shared():
    a = np.ones(3)
    a.flags.writeable = False
    assert np.shares_memory(tx.tensor(a).numpy(), a)


def test_a_view_that_may_not_be_written_to_is_copied_where_its_array_may():
    a = np.ones(3)
    view = a.view()
    view.flags.writeable = False
    x, waiting = tx.tensor(view), tx.tensor([1.0] * 3) + view
    a[:] = 7
    assert (x.tolist(), waiting.tolist()) == ([1] * 3, [2] * 3)


def test_tensors_of_other_libraries():
    torch = pytest.importorskip("torch")
    t = torch.ones(3)
    copied, shared = tx.tensor(t) * 2, tx.from_dlpack(t) * 2
    t[:] = 7
    assert (copied.tolist(), shared.tolist()) == ([2] * 3, [14] * 3)


def test_gradients_read_the_values_of_the_expression():
    a = np.array([1.0, 2.0])
    x = tx.tensor(3.0, requires_grad=True)
    loss = (x * tx.tensor(a)).sum()
    a[:] = 100
    loss.backward()
    assert x.grad.item() == 3


def test_elements_of_known_values_are_copied():
    """Read and written at places: no kernel is compiled for each, and nothing else changes."""
    a = np.arange(12.0).reshape(3, 4)
    x = tx.tensor(a)
    before = x[1, 2], x[-1], x * 1
    for k in range(3):
        x[k, 1] = -k
    assert (before[0].item(), before[1].tolist(), before[2].tolist()) == (6.0, [8, 9, 10, 11], a.tolist())
    assert x[:, 1].tolist() == [0, -1, -2] and x[2, -3].value is not None
    assert [[v.item() for v in row] for row in x][0] == [0, 0, 2, 3]
    for t, number in (("i8", 300), ("u8", -1)):
        with pytest.raises(tx.CallError, match=f"{number} does not fit {t}"):
            tx.zeros(2, dtype=t)[0] = number
    y = tx.zeros(2, dtype="i64")
    y[0] = 2.75  # cut off, as by a kernel
    assert y.tolist() == [2, 0]
    z = tx.zeros(2, dtype="bf16")
    z[1] = 1.5
    assert z.tolist() == [0, 1.5] and z[1].dtype.name == "bf16"


@pytest.mark.parametrize("key", [3, -4, (0, 4), (0, 0, 0)])
def test_places_outside_are_refused_as_before(key):
    x = tx.zeros(3, 4)
    for act in (lambda: x[key], lambda: x.__setitem__(key, 1.0)):
        with pytest.raises(tx.CallError, match=r"is out of bounds for axis|3 indices for a tensor of 2 axes"):
            act()


def test_a_place_of_a_leaf_has_a_gradient():
    x = tx.tensor([1.0, 2.0], requires_grad=True)
    (x[1] * 3).backward()
    assert x.grad.tolist() == [0, 3]


@pytest.mark.parametrize("holds", [True, False])
def test_a_single_truth_value_is_a_mask_of_no_axes(holds: bool):
    for a in (np.array(5.0), np.arange(3.0)):
        for key in (holds, np.bool_(holds), tx.tensor(holds)):
            x = tx.tensor(a)
            np.testing.assert_array_equal(x[key].numpy(), a[holds])
            x[key], expected = 9.0, a.copy()
            expected[holds] = 9.0
            np.testing.assert_array_equal(x.numpy(), expected)


@pytest.mark.parametrize("look", (lambda x: x.numpy(), np.asarray), ids=("numpy", "asarray"))
@pytest.mark.parametrize("make", (lambda: tx.tensor([1.0, 2.0]), lambda: tx.ones(2) + 1), ids=("data", "sum"))
def test_the_array_of_a_tensor_is_not_written_to(make, look):
    x = make()
    before, waiting = x.tolist(), x * 2
    with pytest.raises(ValueError, match="read-only"):
        look(x)[:] = 7
    assert np.shares_memory(look(x), x.numpy())
    np.array(x)[:] = 7
    x.numpy().copy()[:] = 7
    assert (x.tolist(), waiting.tolist()) == (before, [2 * v for v in before])


def test_the_array_of_a_parameter_is_written_to():
    p = tx.nn.Parameter(np.ones(2, "f4"))
    p.numpy()[:] = 7
    assert (p * 1).tolist() == [7, 7]
