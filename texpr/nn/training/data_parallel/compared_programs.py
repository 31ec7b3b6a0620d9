"""Programs of a step as lines that ranks compare: what differs is named by its place."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from itertools import chain
from zlib import crc32

import numpy as np

from texpr.compiler.kernel_cache import program_text
from texpr.graph import Capture, Variable
from texpr.ir.dtypes import readable
from texpr.ir.expr import Tensor
from texpr.ir.tensor import Equation, Invoke
from texpr.nn.core.module import Module

_SHOWN = 4
"""Elements of a constant that a line shows; of others a digest tells them apart."""


def dotted_names(*parts: object) -> dict[Variable, str]:
    """The dotted names of parameters and buffers of a model and of a loss: those of two layers are
    both called `weight`.
    """
    modules = [part for part in parts if isinstance(part, Module)]
    named = chain.from_iterable((*m.named_parameters(), *m.named_buffers()) for m in modules)
    return {variable: name for name, variable in named}


def described(variables: Iterable[Variable], names: Mapping[Variable, str]) -> list[str]:
    """A line for each variable: name, dtype and shape."""
    return [f"{names.get(v, v.name)} {v.dtype}{list(v.shape)}" for v in variables]


def program_lines(capture: Capture, names: Mapping[Variable, str]) -> str:
    """A captured program: its variables, the values of its constants, and its calls.

    Whoever captures the same model for batches of the same shapes gets the same lines, in any
    process. The text of an operator is in them as a digest.
    """
    held = zip(capture.variables.values(), described(capture.variables, names))
    return "\n".join(
        [
            *(f"{t.name} is {line}" for t, line in held),
            *(_constant(t, a) for t, a in capture.constants.items()),
            *map(_call, capture.equations),
        ]
    )


def _constant(tensor: Tensor, value: np.ndarray) -> str:
    """A line of which the bits decide, whatever it shows of the values."""
    number = crc32(np.ascontiguousarray(value).tobytes())
    shown = np.array2string(readable(value, tensor.dtype)) if value.size <= _SHOWN else "an array"
    return f"{tensor.name} is {shown} {tensor.dtype}{list(value.shape)}, digest {number:08x}"


def _call(equation: Equation | Invoke) -> str:
    targets = ", ".join(t.name for t in equation.targets)
    if not isinstance(equation, Invoke):
        return f"{targets} = ..."
    program, arguments = equation.program, ", ".join(t.name for t in equation.args)
    constants = "".join(f"; {name}={value}" for name, value in program.constants)
    number = crc32(program_text(program).encode(errors="surrogatepass"))
    return f"{targets} = {program.name}({arguments}{constants}), digest {number:08x}"
