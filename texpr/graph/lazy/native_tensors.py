"""Native code for small computations of tensors: calls that were recorded before, and what a
tensor waits for (`runtime/native/tensors`).

It does what `lazy_tensor` and `evaluation` do, in less time. It is linked when some calls have been
recorded, and not in builds of Python without the GIL.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import cache
from struct import pack
from typing import Any

from texpr.graph.arrays import recorded
from texpr.graph.arrays.recording import recording_variable
from texpr.graph.lazy import lazy_tensor, recipes
from texpr.graph.lazy.lazy_tensor import Node, Tensor
from texpr.runtime import gpu
from texpr.runtime.call import tensor_functions
from texpr.support.version import FREE_THREADED

FEW = 50
"""Calls in a row that are walked through by recursion."""
_SLOTS: tuple[tuple[type, str], ...] = (
    (Tensor, "dtype grad index node owner requires_grad shape spec stops users value"),
    (Node, "arguments cache depth device outputs program"),
    (recipes.Call, "origins program results"),
    (recipes.Spec, "dtype is_float shape"),
)
"""Of a Model in `model.h`, in its order."""


Found = tuple[bytes, tuple[recipes.Spec, ...], tuple[Any, ...], tuple[Tensor, ...]]


def _unknown(tensor: Tensor) -> Found | None:
    """Before `install`."""


history: Callable[[Tensor], Found | None] = _unknown
"""The structure of what a tensor waits for, the specs and values of its leaves, and the tensors that
are to be computed, in the order of `evaluation.History`. None where that class has to look.
"""


@cache
def install() -> bool:
    """Let native code look calls up, from now on; False where there is none."""
    if FREE_THREADED:
        return False
    global history
    functions = _functions()
    recorded.look_up_by(functions["tx_recorded"], functions["tx_arithmetic"])
    history = functions["tx_history"]
    return True


@cache
def _functions() -> dict[str, Callable[..., Any]]:
    objects = (
        Tensor,
        Node,
        recipes.RECIPES,
        recipes.observation,
        recording_variable,
        gpu.HOST,
        (),
        lazy_tensor.of_number,
        Tensor.forget_users,
        Tensor.own_spec,
        Tensor.realize,
    )
    limits = lazy_tensor.MOST_WAITING, lazy_tensor.MOST_USERS, FEW
    places = [p for kind, names in _SLOTS for p in tensor_functions.slots(kind, names.split())]
    return tensor_functions.functions(pack("37q", *map(id, objects), *limits, *places), objects)
