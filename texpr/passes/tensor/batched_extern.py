"""Operators of the runtime (`extern`) for several examples at once."""

from __future__ import annotations

from collections.abc import Sequence
from functools import partial

import numpy as np

from texpr.ir.expr import Dim, Tensor, Var
from texpr.ir.extern import function_of, is_extern, is_native_alone, is_of_rows, register_extern, registered
from texpr.ir.printing.types import unused
from texpr.ir.tensor import Program
from texpr.support.errors import CheckError
from texpr.support.frozen_dataclass import replace

_BATCHED: dict[str, tuple[str, tuple[bool, ...]]] = {}
"""Operators that were made here: the name of the original, and which inputs are mapped."""


def batched_extern(program: Program, mapped: Sequence[bool]) -> Program:
    """The operator of the runtime that computes `program` for several examples, which lie along the
    first dimension of mapped inputs and of all outputs.

    Orders along the last axis of the library take any dimensions before it. The function of any
    other operator is called once for each example.

    Raises:
        CheckError: only native code is registered for it, which takes no further dimension.
    """
    if is_of_rows(program.name) and _takes_more(program, mapped):
        return program
    if is_native_alone(program.name):
        raise CheckError(
            f"vmap of `{program.name}`: native code of the runtime computes it, for one example at a time",
            program.span,
            code="vmap",
            help=f"register a function too: tx.register_extern({program.name!r}, function, address=...)",
        )
    pattern = "" if all(mapped) else "_" + "".join("01"[m] for m in mapped)
    name, size = f"{program.name}_vmap{pattern}", Var(_free(program))
    while name not in _BATCHED and function_of(name) is not None:
        name += "_"  # somebody else's
    _BATCHED[name] = program.name, tuple(mapped)
    register_extern(name, partial(_each, program.name, tuple(mapped), len(program.outputs)))
    inputs = tuple(_longer(t, size) if m else t for t, m in zip(program.inputs, mapped))
    outputs = tuple(_longer(t, size) for t in program.outputs)
    return replace(program, name=name, inputs=inputs, outputs=outputs, sizes=(size, *program.sizes), doc="")


def of_one_example(program: Program) -> tuple[Program, tuple[bool, ...]] | None:
    """The operator that `batched_extern` made this one from, and which inputs are mapped."""
    if not is_extern(program) or program.name not in _BATCHED:
        return None
    name, mapped = _BATCHED[program.name]
    inputs = tuple(_shorter(t) if m else t for t, m in zip(program.inputs, mapped))
    outputs = tuple(map(_shorter, program.outputs))
    sizes = tuple(s for s in program.sizes if s is not program.outputs[0].dims[0].sizes[0])
    return replace(program, name=name, inputs=inputs, outputs=outputs, sizes=sizes), mapped


def _takes_more(program: Program, mapped: Sequence[bool]) -> bool:
    """True if all inputs are mapped and begin with one pack, which the examples can be a part of."""
    packs = {
        t.dims[0].sizes[0] if t.dims and t.dims[0].pack else None for t in (*program.inputs, *program.outputs)
    }
    return all(mapped) and len(packs) == 1 and None not in packs


def _longer(tensor: Tensor, size: Var) -> Tensor:
    return replace(tensor, dims=(Dim((size,)), *tensor.dims))


def _shorter(tensor: Tensor) -> Tensor:
    return replace(tensor, dims=tensor.dims[1:])


def _free(program: Program) -> str:
    taken = {x.name for x in (*program.inputs, *program.outputs, *program.sizes)}
    taken |= {n for n, _ in program.constants}
    return "B" if "B" not in taken else unused("Batch", taken)


def _each(
    name: str, mapped: tuple[bool, ...], results: int, *arrays: np.ndarray, **constants: object
) -> object:
    """The function that is registered for an operator, once for each example."""
    function = registered(name)
    count = next(len(a) for a, m in zip(arrays, mapped) if m)
    if not count:  # the shapes of results are those of some example
        arrays = tuple(np.zeros((1, *a.shape[1:]), a.dtype) if m else a for a, m in zip(arrays, mapped))
    found = [
        function(*(a[k] if m else a for a, m in zip(arrays, mapped)), **constants)
        for k in range(max(count, 1))
    ]
    rows = [f if isinstance(f, tuple) else (f,) for f in found]
    made = tuple(np.stack([np.asarray(r[k]) for r in rows])[:count] for k in range(results))
    return made if results != 1 else made[0]
