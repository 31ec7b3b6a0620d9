"""Torch's tensors as memory of kernels: dtypes, arrays that share it, the number of threads."""

from __future__ import annotations

import numpy as np
import torch

from texpr.bridges.derived import Described
from texpr.ir.dtypes import DTYPES, ML_DTYPES, DType, numpy_dtype
from texpr.runtime.native import native_library
from texpr.support.errors import CallError
from texpr.support.extras import needs

_NAMES = {
    "f16": "float16",
    "f32": "float32",
    "f64": "float64",
    "bf16": "bfloat16",
    "f8e4m3": "float8_e4m3fn",
    "f8e5m2": "float8_e5m2",
    "bool": "bool",
    **{
        f"{kind}{bits}": f"{word}{bits}"
        for kind, word in (("i", "int"), ("u", "uint"))
        for bits in (8, 16, 32, 64)
    },
}
OF_TORCH: dict[torch.dtype, DType] = {
    getattr(torch, written): DTYPES[name] for name, written in _NAMES.items()
}
TO_TORCH: dict[DType, torch.dtype] = {own: theirs for theirs, own in OF_TORCH.items()}
_WORDS = {1: torch.uint8, 2: torch.int16}


def conversion(dtype: DType | None) -> str:
    """The code that converts a tensor, for error messages."""
    return f"x.to({'y.dtype' if dtype is None else TO_TORCH[dtype]})"


def described(operator: str, name: str, tensor: torch.Tensor) -> Described:
    """Shape and dtype of a tensor.

    Raises:
        CallError: it is none, or of a dtype that texpr does not have.
    """
    if not isinstance(tensor, torch.Tensor):
        raise CallError(
            f"{operator}: `{name}` is a {type(tensor).__name__}, expected a tensor",
            code="type",
            help="torch.as_tensor(...) makes one",
        )
    dtype = OF_TORCH.get(tensor.dtype)
    if dtype is None:
        raise CallError(
            f"{operator}: `{name}` is {tensor.dtype}, which texpr does not have",
            code="dtype",
            help="convert it: x.to(torch.float32)",
        )
    return Described(tuple(tensor.shape), dtype)


def readable(operator: str, tensor: torch.Tensor) -> torch.Tensor:
    """A tensor whose memory a kernel can read: itself, or a copy where it is not C-contiguous.

    Raises:
        CallError: it is on another device than the CPU, or sparse.
    """
    if tensor.device.type != "cpu":
        raise CallError(
            f"{operator}: an input is on the device {tensor.device}, and operators inside PyTorch run on "
            "the CPU",
            code="device",
            help="move it: x.cpu()",
        )
    if tensor.layout != torch.strided:
        raise CallError(
            f"{operator}: an input has the layout {tensor.layout}, expected {torch.strided}",
            code="type",
            help="x.to_dense() stores all elements",
        )
    return tensor.detach().resolve_neg().contiguous()


def as_stored(tensor: torch.Tensor) -> np.ndarray:
    """An array of NumPy's on the memory of a tensor, as texpr stores it: what NumPy lacks as its
    bits.
    """
    dtype = OF_TORCH[tensor.dtype]
    if not dtype.as_bits:
        return tensor.numpy()
    return tensor.view(_WORDS[dtype.bytes]).numpy().view(numpy_dtype(dtype))


def as_array(tensor: torch.Tensor) -> np.ndarray:
    """The same with the dtype of ml_dtypes where NumPy has none.

    Raises:
        MissingExtra: NumPy has not the dtype, and ml_dtypes is not installed.
    """
    dtype = OF_TORCH[tensor.dtype]
    if not dtype.as_bits:
        return tensor.numpy()
    with needs("torch", f"a tensor of {tensor.dtype}"):
        import ml_dtypes
    return as_stored(tensor).view(getattr(ml_dtypes, ML_DTYPES[dtype]))


def as_tensor(array: np.ndarray, dtype: DType) -> torch.Tensor:
    """A tensor on the memory of an array that texpr made."""
    if not dtype.as_bits:
        return torch.from_numpy(np.asarray(array))
    bits = np.asarray(array).view({1: np.uint8, 2: np.int16}[dtype.bytes])
    return torch.from_numpy(bits).view(TO_TORCH[dtype])


def follow_torchs_threads() -> None:
    """Let parallel loops run on as many threads as torch's do."""
    wanted = min(torch.get_num_threads(), native_library.LARGEST_POOL)
    if wanted != native_library.pool_threads:
        native_library.set_threads(wanted)
