"""Devices of tensors: where an operator runs, and the way of arrays there."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from texpr.graph.execution.placement import to_host
from texpr.graph.lazy.tensor_values import TensorValues
from texpr.runtime import gpu
from texpr.support.errors import CallError


def transfer(array: Any, device: str) -> Any:
    """An array where it is wanted: itself, or a copy."""
    found = gpu.find_device(device)
    if found is None:
        return to_host(array)
    return (
        array
        if isinstance(array, gpu.DeviceArray) and array.device is found
        else gpu.to_device(found, to_host(array))
    )


def common_device(name: str, tensors: Sequence[TensorValues]) -> str:
    """The device on which an operator on tensors runs. Single numbers on the host go where the
    others are.

    Raises:
        CallError: tensors lie on different devices.
    """
    if all([t.spec is not None for t in tensors]):  # on the host
        return gpu.HOST
    found = {t.device: t for t in tensors if t.shape or t.device != gpu.HOST}
    if len(found) > 1:
        first, second, *_ = found
        raise CallError(
            f"{name}: a tensor of shape {list(found[first].shape)} lies on {first}, one of "
            f"{list(found[second].shape)} on "
            f"{second}",
            code="device",
            help=f'move one: x.to("{second}")',
        )
    return next(iter(found), gpu.HOST)
