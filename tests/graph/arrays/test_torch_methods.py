"""Methods and arguments by torch's names: values as NumPy has them, gradients, and complaints."""

from __future__ import annotations

import pickle

import numpy as np
import pytest

import texpr as tx
from texpr import nn

A = np.random.default_rng(0).standard_normal((2, 3, 4)).astype("f4")
M = np.array([[1.5, -2.0, 0.5], [0.0, 3.0, -1.0]], "f4")
I = np.array([[0, 1, 1]])  # noqa: E741
SAME = {
    "a.view(6, 4)": "A.reshape(6, 4)",
    "a.view_as(a.T)": "A.reshape(4, 3, 2)",
    "a.permute(2, 0, 1)": "A.transpose(2, 0, 1)",
    "a.permute((2, 0, 1))": "A.transpose(2, 0, 1)",
    "a.mT": "A.swapaxes(-1, -2)",
    "m.t()": "M.T",
    "m.fmod(0.7)": "np.fmod(M, np.float32(0.7))",
    "m.atan2(m + 1)": "np.arctan2(M, M + 1)",
    "m.hypot(m + 1)": "np.hypot(M, M + 1)",
    "m.logaddexp(m + 1)": "np.logaddexp(M, M + 1)",
    "a.select(1, -1)": "A[:, -1]",
    "a.unflatten(-1, (2, -1))": "A.reshape(2, 3, 2, 2)",
    "a.unflatten(0, (1, 2))": "A.reshape(1, 2, 3, 4)",
    "a.unfold(2, 3, 1)": "np.lib.stride_tricks.sliding_window_view(A, 3, 2)",
    "a.unfold(1, 2, 1)": "np.lib.stride_tricks.sliding_window_view(A, 2, 1)",
    "a.unfold(-1, 2, 2)": "np.lib.stride_tricks.sliding_window_view(A, 2, 2)[:, :, ::2]",
    "a.transpose(1, 2)": "A.swapaxes(1, 2)",
    "a.transpose(-2, -1)": "A.swapaxes(1, 2)",
    "a.transpose(2, 0, 1)": "A.transpose(2, 0, 1)",
    "m.transpose(0, 1)": "M",
    "m.addcmul(m, m, value=2)": "M + 2 * M * M",
    "m.addcdiv(m, m * 0 + 2)": "M + M / 2",
    "a.movedim(0, 2)": "np.moveaxis(A, 0, 2)",
    "m.diagonal(5)": "M.diagonal(5)",
    "a.diagonal(-1, 1, 2)": "A.diagonal(-1, 1, 2)",
    "m.take(4)": "M.take(4)",
    "m.repeat(2, 3)": "np.tile(M, (2, 3))",
    "m[0].repeat(2, 3)": "np.tile(M[0], (2, 3))",
    "m.repeat((1, 2, 1))": "np.tile(M, (1, 2, 1))",
    "m.repeat_interleave(2, dim=1)": "np.repeat(M, 2, 1)",
    "m.expand(2, -1, 3)": "np.broadcast_to(M, (2, 2, 3))",
    "m.unbind(1)[2]": "M[:, 2]",
    "a.narrow(2, 1, 2)": "A[:, :, 1:3]",
    "a.narrow(-1, -3, 2)": "A[:, :, 1:3]",
    "a.split(3, 2)[1]": "A[:, :, 3:]",
    "a.split([1, 3], dim=-1)[1]": "A[:, :, 1:]",
    "a.chunk(3, 2)[1]": "A[:, :, 2:4]",
    "a.flatten(1)": "A.reshape(2, 12)",
    "a.flatten(0, 1)": "A.reshape(6, 4)",
    "a.flatten()": "A.reshape(-1)",
    "m.contiguous()": "M",
    "m.clone()": "M",
    "m.double()": "M.astype('f8')",
    "m.half()": "M.astype('f2')",
    "m.long()": "M.astype('i8')",
    "m.int()": "M.astype('i4')",
    "m.short()": "M.astype('i2')",
    "m.bool()": "M != 0",
    "m.long().float()": "M.astype('i8').astype('f4')",
    "m.type_as(a.double())": "M.astype('f8')",
    "m.to('f64')": "M.astype('f8')",
    "m.to(a.double())": "M.astype('f8')",
    "m.clamp(min=0)": "M.clip(0, None)",
    "m.clamp(-1, 1)": "M.clip(-1, 1)",
    "m.add(m, alpha=2)": "3 * M",
    "m.sub(1)": "M - 1",
    "m.mul(m).div(2)": "M * M / 2",
    "m.pow(2).neg()": "-(M**2)",
    "m.remainder(2)": "M % 2",
    "m.eq(0)": "M == 0",
    "m.ne(0)": "M != 0",
    "m.lt(1) & m.ge(0)": "(M < 1) & (M >= 0)",
    "m.gt(1) | m.le(0)": "(M > 1) | (M <= 0)",
    "m.mm(m.t())": "M @ M.T",
    "a.bmm(a.mT)": "A @ A.swapaxes(-1, -2)",
    "m[0].dot(m[1])": "M[0] @ M[1]",
    "m.dot(m.T)": "M.dot(M.T)",
    "m.dot(m[0])": "M.dot(M[0])",
    "m[:, 0].dot(m)": "M[:, 0].dot(M)",
    "m[0].outer(m[1])": "np.outer(M[0], M[1])",
    "a.reciprocal()": "1 / A",
    "m.sign()": "np.sign(M)",
    "m.trunc()": "np.trunc(M)",
    "m.lerp(m * 3, 0.5)": "2 * M",
    "(m / 0).nan_to_num()": "np.nan_to_num(M / np.float32(0))",
    "(m / 0).nan_to_num(1.0, 2.0, 3.0)": "np.nan_to_num(M / np.float32(0), nan=1, posinf=2, neginf=3)",
    "m.isclose(m + 1e-9)": "np.isclose(M, M)",
    "m.isclose(m + 1)": "np.isclose(M, M + 1)",
    "a.amax(dim=1)": "A.max(1)",
    "a.amin((0, 2), keepdim=True)": "A.min((0, 2), keepdims=True)",
    "a.sum(dim=1, keepdim=True)": "A.sum(1, keepdims=True)",
    "a.mean(dim=(0, 2))": "A.mean((0, 2))",
    "a.var(dim=0, correction=1)": "A.var(0, ddof=1)",
    "a.std(dim=-1, correction=0)": "A.std(-1)",
    "a.argmax(dim=2)": "A.argmax(2)",
    "a.cumsum(dim=1)": "A.cumsum(1)",
    "m.softmax(dim=1)": "np.exp(M) / np.exp(M).sum(1, keepdims=True)",
    "m.log_softmax(dim=0)": "M - np.log(np.exp(M).sum(0))",
    "a.logsumexp((0, 2))": "np.log(np.exp(A).sum((0, 2)))",
    "a.logsumexp(1, keepdim=True)": "np.log(np.exp(A).sum(1, keepdims=True))",
    "a.norm()": "np.linalg.norm(A)",
    "m.norm(dim=1)": "np.linalg.norm(M, axis=1)",
    "m.norm(1, dim=0, keepdim=True)": "np.abs(M).sum(0, keepdims=True)",
    "m.norm(3, dim=1)": "np.linalg.norm(M, 3, axis=1)",
    "m.norm(float('inf'))": "np.abs(M).max()",
    "m.norm(0, dim=1)": "(M != 0).sum(1).astype('f4')",
    "m.where(m > 0, 7.0)": "np.where(M > 0, M, np.float32(7))",
    "m.masked_fill(m > 0, 7)": "np.where(M > 0, np.float32(7), M)",
    "m.gather(0, I)": "np.take_along_axis(M, I, 0)",
    "m.index_select(1, [2, 0])": "M[:, [2, 0]]",
    "m.scatter(0, I, m[:1])": "np.array([[1.5, -2, 0.5], [0, -2, 0.5]], 'f4')",
    "m.scatter_add(0, I, m[:1])": "np.array([[3, -2, 0.5], [0, 1, -0.5]], 'f4')",
    "a.flip(0)": "A[::-1]",
    "a.flip(0, 2)": "A[::-1, :, ::-1]",
    "a.flip((0, 2))": "A[::-1, :, ::-1]",
    "a.roll(1, 2)": "np.roll(A, 1, 2)",
    "a.roll((-1, 7), (0, 1))": "np.roll(A, (-1, 7), (0, 1))",
    "a.roll(5)": "np.roll(A, 5)",
    "a.tril()": "np.tril(A)",
    "a.triu(1)": "np.triu(A, 1)",
    "(a > 0).tril()": "np.tril(A > 0)",
    "(a > 0).triu(-1)": "np.triu(A > 0, -1)",
    "a.count_nonzero(dim=1)": "np.count_nonzero(A, 1)",
    "m.count_nonzero()": "np.asarray(5)",
    "(m / 0 * 0).nansum()": "np.float32(0)",
    "(m / m).nansum(dim=1)": "np.float32([3, 2])",
    "(m / m * m).nanmean(dim=1, keepdim=True)": "np.float32([[0], [1]])",
    "m.take([5, 0])": "M.take([5, 0])",
    "m.take([2, 0], dim=1)": "M.take([2, 0], 1)",
    "a.diagonal(0, 1, 2)": "A.diagonal(0, 1, 2)",
    "m.diag(1)": "np.diag(M, 1)",
    "m[0].diag()": "np.diag(M[0])",
    "m.trace()": "np.trace(M)",
    "m.tile(2)": "np.tile(M, 2)",
    "m.tile(2, 1)": "np.tile(M, (2, 1))",
    "m.tile((2, 1, 1))": "np.tile(M, (2, 1, 1))",
    "m.diff()": "np.diff(M)",
    "a.diff(2, dim=2)": "np.diff(A, 2)",
    "m.cummax(dim=1).values": "np.maximum.accumulate(M, 1)",
    "m.long().cummax(1).indices": "np.array([[0, 0, 0], [0, 1, 1]])",
    "m.cummin(-1).values": "np.minimum.accumulate(M, 1)",
    "m.logcumsumexp(dim=0)": "np.logaddexp.accumulate(M, 0)",
}


@pytest.mark.parametrize("text", SAME)
def test_values(text: str):
    names = {"a": tx.tensor(A), "m": tx.tensor(M), "I": I, "A": A, "M": M, "np": np}
    with np.errstate(all="ignore"):
        found, expected = eval(text, names).numpy(), eval(SAME[text], names)
    assert found.shape == np.shape(expected) and found.dtype == np.asarray(expected).dtype
    np.testing.assert_allclose(found, expected, rtol=2e-6, atol=1e-6)


def test_a_roll_of_axes_without_a_number_each_is_refused():
    with pytest.raises(tx.CallError) as e:
        tx.tensor(A).roll((1, 2), 0)
    assert (
        str(e.value) == "error[arguments]: roll of 1 axes by 2 numbers\n  help: give a number for each axis"
    )


def test_sizes():
    a = tx.tensor(A)
    assert (a.size, a.size(), a.size(0), a.size(-1)) == (24, (2, 3, 4), 2, 4)
    assert isinstance(a.size, int) and pickle.loads(pickle.dumps(a.size)) == 24
    assert (a.dim(), a.numel(), a.nelement(), a.element_size()) == (3, 24, 24, 4)
    assert a.nbytes == A.nbytes and len(nn.Parameter(A)) == 2 and nn.Parameter(A[:0])
    assert a.is_floating_point() and not a.argmax(0).is_floating_point()
    parameter = nn.Parameter(A)
    assert (parameter.size, parameter.size(1), parameter.numel()) == (24, 3, 24)


def test_values_that_are_computed_at_once():
    m = tx.tensor(M)
    assert m.allclose(m + 1e-9) is True and m.allclose(m + 1) is False
    assert m.equal(M) and not m.equal(m + 1) and not m.equal(m[:, :2])


@pytest.mark.parametrize(
    "text",
    [
        "w.view(6).norm()",
        "w.permute(1, 0).clamp(-1, 1).sum()",
        "w.norm(3, dim=0).sum()",
        "w.logsumexp(dim=1).sum()",
        "w.masked_fill(w > 0, 1.0).pow(2).sum()",
        "w.gather(0, I).roll(1, 1).flip(0).sum(dim=1).mul(w[0, 0]).sum()",
        "w.lerp(w * w, 0.3).sum()",
    ],
)
def test_gradients_reach_parameters(text: str):
    values = M.astype("f8") + 0.1

    def loss(w: object) -> tx.Tensor:
        return eval(text, {"w": w, "I": I})

    p = nn.Parameter(values)
    loss(p).backward()
    for at in np.ndindex(values.shape):
        step = np.zeros_like(values)
        step[at] = 1e-6
        high, low = (loss(tx.tensor(values + s)).item() for s in (step, -step))
        assert p.grad.numpy()[at] == pytest.approx((high - low) / 2e-6, rel=1e-5, abs=1e-6)


def test_a_norm_of_zero_has_a_gradient_of_zero():
    x = tx.tensor(np.zeros(3), requires_grad=True)
    x.norm().backward()
    np.testing.assert_array_equal(x.grad.numpy(), 0)


def test_operators_of_the_library_pass_gradients_to_parameters():
    p = nn.Parameter(M)
    (tx.ops.softmax(p) * M).sum().backward()
    s = np.exp(M) / np.exp(M).sum(1, keepdims=True)
    np.testing.assert_allclose(p.grad.numpy(), s * (M - (s * M).sum(1, keepdims=True)), atol=1e-6)


COMPLAINTS = {
    "m.sort(dim=1, keepdim=True)": "sort has no `keepdim`; leave `keepdim` out",
    "m.max(dim=1, axis=1)": "max has `dim` and `axis`, which are one argument; ",
    "m.std(dim=1)": "std over `dim` without `correction`: torch divides by n - 1, NumPy by n; "
    "x.std(dim=0, correction=1), or x.std(axis=0)",
    "m.sum(dim=1, axis=1)": "sum has `dim` and `axis`, which are one argument; ",
    "a.t()": "t() of 3 axes; x.T, or x.swapaxes(-1, -2)",
    "m.norm(-1)": "the norm with p = -1; p is 0, 1, 2, ..., or inf",
    "m.split(0)": "parts of 0 places; one place or more",
    "m.split([1, 2])": "parts of [1, 2] places of an axis of 2; ",
    "m.narrow(1, 2, 2)": "2 places from 2 on of an axis of 3; ",
    "m.gather(0, m)": "places of f32; places are integers",
    "a.diagonal(0, 1, 1)": "an axis is given twice: (1, 1); ",
    "a.diagonal(0, 0, 3)": "axis 3 of a tensor with 3 axes; ",
    "m[0].diagonal()": "axis 1 of a tensor with 1 axes; ",
    "m.diagonal(1.5)": "the offset of a diagonal is 1.5, expected an integer; ",
    "m.diagonal(True)": "the offset of a diagonal is True, expected an integer; ",
    "a.diag()": "diag of 3 axes; x.diagonal(0, -2, -1) gives the diagonals of several matrices",
    "m[0].trace()": "trace of 1 axes; x.diagonal(0, -2, -1) gives the diagonals of several matrices",
    "m[0].tril()": "tril of 1 axes; give it a matrix, or several",
    "m.triu(0.5)": "the diagonal is 0.5, expected an integer; ",
    "m.tile(-1, 2)": "an axis is repeated -1 times; 0 times or more",
    "m.tile(1.5)": "how often an axis is repeated is 1.5, expected an integer; ",
    "m.repeat(2)": "repeat of 2 axes by 1 numbers: torch repeats the tensor, NumPy each element; "
    "x.tile(2), or x.repeat_interleave(2)",
    "m[0].repeat(3)": "repeat of 1 axes by 1 numbers: torch repeats the tensor, NumPy each element; "
    "x.tile(3), or x.repeat_interleave(3)",
    "m.diff(n=-1)": "diff with n = -1 of f32; n >= 0, of numbers: x.long()",
    "m.roll(1.5, 0)": "the shift of roll is 1.5, expected an integer; ",
    "m.movedim(0, 5)": "axis 5 of a tensor with 2 axes; ",
    "m.movedim((0, 1), 0)": "2 axes are moved to 1 places; give a place for each axis",
    "m.split(1.5)": "the size of a part is 1.5, expected an integer; ",
    "m.chunk(1.5)": "the number of parts is 1.5, expected an integer; ",
    "m.take(1.5)": "places of f64; places are integers",
    "m.view(4)": "6 elements of [2, 3] do not become [4]; one extent may be -1",
}


@pytest.mark.parametrize("text", COMPLAINTS)
def test_complaints(text: str):
    with pytest.raises(tx.CallError) as e:
        eval(text, {"m": tx.tensor(M), "a": tx.tensor(A)})
    assert f"{e.value.message}; {e.value.help}" == COMPLAINTS[text]


def test_extremes_and_orders_over_dim_are_values_and_places():
    """As torch has them: the gradient goes to the first of equal elements alone."""
    t = tx.tensor(np.float32([[1, 5, 2], [7, 0, 7]]), requires_grad=True)
    values, places = t.max(dim=1)
    assert values.tolist() == [5, 7] and places.tolist() == [1, 0]
    values.sum().backward()
    assert t.grad.tolist() == [[0, 1, 0], [1, 0, 0]]
    assert t.min(dim=0, keepdim=True).values.tolist() == [[1, 0, 2]]
    assert t.sort(dim=1, descending=True).indices.tolist() == [[1, 2, 0], [0, 2, 1]]
    assert nn.Parameter(M).max(dim=0).indices.tolist() == M.argmax(0).tolist()
    assert tx.jit(lambda a: a.min(dim=1).indices)(M).tolist() == M.argmin(1).tolist()
    assert isinstance(t.max(axis=1), tx.Tensor)  # NumPy's


def test_methods_as_functions():
    m = tx.tensor(M)
    assert np.allclose(tx.mean(m, dim=1), M.mean(1)) and tx.mean(M).shape == ()
    assert np.allclose(tx.matmul(m, M.T), M @ M.T, atol=1e-6) and tx.topk(m, 2).values.shape == (2, 2)
    for operands in ((m, m), ([m, m],)):
        assert np.allclose(tx.einsum("ij,kj->ik", *operands), M @ M.T, atol=1e-6)
    assert tx.sort(m, dim=1).indices.tolist() == M.argsort(1).tolist() and tx.allclose(m, M)
    assert tx.softmax(nn.Parameter(M), dim=1).requires_grad and tx.mean.__name__ == "mean"


def test_in_traced_functions():
    f = tx.jit(lambda x: x.view(3, 2).permute(1, 0).norm(dim=1) + x.size(0))
    np.testing.assert_allclose(f(M), np.linalg.norm(M.reshape(3, 2).T, axis=1) + 2, rtol=1e-6)


def test_windows_overlap_in_gradients():
    x = tx.tensor(np.ones(5, "f4"), requires_grad=True)
    x.unfold(0, 3, 1).sum().backward()
    assert x.grad.tolist() == [1, 2, 3, 2, 1]


def test_windows_are_read_without_places():
    plan = tx.jit(lambda x: x.unfold(1, 400, 160)).plan(tx.tensor(np.ones((2, 2000), "f4")))
    assert len(plan.program.inputs) == 1


@pytest.mark.parametrize(
    ("call", "message"),
    {
        "m.unfold(1, 4, 1)": "unfold: windows of 4, 1 apart, of an axis of 3 elements",
        "m.unfold(1, 1, 0)": "unfold: windows of 1, 0 apart, of an axis of 3 elements",
        "m.unflatten(1, (2, 2))": "unflatten: axis 1 has 3 elements, and the sizes are [2, 2]",
        "m.unflatten(1, (-1, 2))": "unflatten: axis 1 has 3 elements, and the sizes are [-1, 2]",
        "tx.stack(m, m)": "stack takes one list of tensors, and two were given",
        "tx.cat(m, m)": "concatenate takes one list of tensors, and two were given",
    }.items(),
)
def test_complaints_about_windows_and_lists(call: str, message: str):
    with pytest.raises(tx.CallError) as caught:
        eval(call, {"m": tx.tensor(M), "tx": tx})
    assert caught.value.message == message


def test_dtypes_show_their_names():
    assert repr(tx.tensor(M).dtype) == "dtype('f32')" and repr(tx.bfloat16) == "dtype('bf16')"
