"""An operator behind torch's dispatcher, where `torch.compile`, `torch.export`, `torch.func` and
modes look for it: its schema, the shapes of its results, its gradient, how it is mapped.
"""

from __future__ import annotations

import keyword
import re
from collections.abc import Mapping, Sequence
from typing import Any, Protocol

import torch

from texpr.bridges.derived import Described
from texpr.bridges.torch.tensor_memory import TO_TORCH
from texpr.compiler.operator_signature import Signature

Tensors = Sequence[torch.Tensor | None]


class Front(Protocol):
    """The operator that is registered: `registered.TorchOp`."""

    qualname: str
    signature: Signature
    overload: Any

    def compute(self, tensors: Tensors, constants: Mapping[str, object]) -> Any:
        """The results, of plain tensors on the CPU: a tensor, or a tuple of several."""
        ...

    def describe(self, tensors: Tensors, constants: Mapping[str, object]) -> tuple[Described, ...]:
        """The results' shapes and dtypes."""
        ...

    def gradients(
        self, tensors: Tensors, constants: Mapping[str, object], cotangents: Tensors, needed: Sequence[bool]
    ) -> list[torch.Tensor | None]:
        """The cotangent of each input that is needed."""
        ...

    def mapped(
        self,
        tensors: Tensors,
        constants: Mapping[str, object],
        axes: Sequence[int | None],
        size: int,
        dispatched: bool = False,
    ) -> Any:
        """The results of every slice along `axes`, stacked in front."""
        ...


def define(front: Front) -> Any:
    """Register an operator with torch.

    Returns:
        the overload that `torch.ops` has.
    """
    signature = front.signature
    names = [c.name for c in signature.constants]
    one = len(signature.outputs) == 1

    def split(given: Sequence[Any], options: Mapping[str, object]) -> tuple[Tensors, dict[str, object]]:
        found = {n: v for n, v in options.items() if v is not None}
        missing = len(signature.inputs) - len(given)
        return (*given, *[None] * missing), {n: as_number(found[n]) for n in names if n in found}

    def run(*given: Any, **options: Any) -> Any:
        return front.compute(*split(given, options))

    def fake(*given: Any, **options: Any) -> Any:
        tensors, constants = split(given, options)
        device = next((t.device for t in tensors if t is not None), None)
        described = front.describe(tensors, constants)
        found = [torch.empty(d.shape, dtype=TO_TORCH[d.dtype], device=device) for d in described]
        return found[0] if one else tuple(found)

    def keep(
        ctx: Any, inputs: Any, output: Any, keyword_only_inputs: Mapping[str, object] | None = None
    ) -> None:
        tensors, ctx.constants = split(inputs, keyword_only_inputs or {})
        ctx.save_for_backward(*tensors)

    def backward(ctx: Any, *cotangents: Any) -> Any:
        needed = [*ctx.needs_input_grad, *[False] * len(signature.inputs)][: len(signature.inputs)]
        return tuple(front.gradients(ctx.saved_tensors, ctx.constants, cotangents, needed))

    def mapped(info: Any, axes: Sequence[int | None], *given: Any, **options: Any) -> Any:
        tensors, constants = split(given, options)
        places = [*axes, *[None] * len(tensors)][: len(tensors)]
        found = front.mapped(tensors, constants, places, info.batch_size, dispatched=True)
        return found, 0 if one else (0,) * len(found)

    defined = torch.library.custom_op(front.qualname, run, mutates_args=(), schema=schema(signature))
    defined.register_fake(fake)
    torch.library.register_autograd(front.qualname, backward, setup_context=keep)
    torch.library.register_vmap(front.qualname, mapped)
    namespace, name = front.qualname.split("::")
    return getattr(getattr(torch.ops, namespace), name).default


def as_number(value: Any) -> object:
    """A constant as a number: what stands for one while torch traces becomes one."""
    if isinstance(value, torch.SymInt):
        return int(value)
    return float(value) if isinstance(value, torch.SymFloat) else value


def schema(signature: Signature) -> str:
    """An operator's signature in torch's words: inputs by position, constants by name."""
    names = [schema_name(p.name, k) for k, p in enumerate(signature.inputs)]
    required = max([k for k, p in enumerate(signature.inputs) if not p.optional], default=-1)
    inputs = [
        f"Tensor {n}" if not p.optional else f"Tensor? {n}{'=None' if k > required else ''}"
        for k, (n, p) in enumerate(zip(names, signature.inputs))
    ]
    constants = [f"Scalar? {c.name}=None" for c in signature.constants]
    outputs = ["Tensor"] * len(signature.outputs)
    listed = ", ".join([*inputs, *(["*", *constants] if constants else [])])
    return f"({listed}) -> {outputs[0] if len(outputs) == 1 else '(' + ', '.join(outputs) + ')'}"


def schema_name(name: str, position: int) -> str:
    """The name of an input, where torch takes it."""
    plain = re.fullmatch(r"[A-Za-z_][A-Za-z0-9_]*", name) and not keyword.iskeyword(name)
    return name if plain else f"input{position}"
