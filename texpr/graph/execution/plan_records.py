"""Plans that are found without their program: what it takes and gives, on disk, by everything that
the program would be captured from.

A record leads to the one of the plan (`lowering.plan_cache`), whose key holds the program: whoever asks
for the program reads it from there. So neither is made in a process whose plan is on disk. What is
damaged, incomplete or of another form counts as absent, and the program is captured then.
"""

from __future__ import annotations

import json
import platform
import sys
from collections.abc import Mapping, Sequence
from functools import cache
from itertools import chain
from math import prod
from typing import Any

import numpy as np

from texpr.compiler import kernel_cache
from texpr.graph.capture.variable import Variable
from texpr.graph.execution.compile import Compiled, Settings
from texpr.graph.execution.interface import Interface
from texpr.graph.execution.placement import Host
from texpr.graph.lowering import plan_cache
from texpr.graph.passes.flatten_calls import shape_of
from texpr.ir.dtypes import numpy_dtype
from texpr.ir.expr import Tensor
from texpr.ir.json.program import Decoder, Encoder
from texpr.runtime import disk_cache
from texpr.runtime.processor_answers import answers
from texpr.support.frozen_dataclass import frozen
from texpr.support.options import NAMES, current
from texpr.support.version import identity
from texpr.targets import find_target

MOST_BYTES = 1 << 23
"""Of constants in a record."""
_NO_MATTER = ("cache_dir", "perf_map", "print", "threads", "traceback")
"""Options that programs and plans do not depend on. Those that print or verify passes use no records."""


@frozen
class Origin:
    """An origin of a program that says all of it.

    Attributes:
        key: a text of everything that the program, its constants and its results depend on, but for
            the code of texpr, options and the machine.
        variables: those that the program may read, by name.
    """

    key: str
    variables: Mapping[str, Variable]


@frozen
class Record:
    """A plan that was found.

    Attributes:
        note: the text that was kept with it.
    """

    interface: Interface
    compiled: Compiled
    note: str


def key_of(kind: str, asked: str, settings: Settings) -> str:
    """The key of a record; empty where there is to be none."""
    if not kernel_cache.usable():
        return ""
    options = [(name, getattr(current(), name)) for name in NAMES if name not in _NO_MATTER]
    chosen = settings.level, sorted(settings.disabled), settings.reassociate, options
    return "\0".join((kind, identity(), *_machine(), repr(chosen), asked))


@cache
def _machine() -> tuple[str, ...]:
    """The processor, and the libraries of Python's that compute constants. LLVM's names of it would do
    as well, but they load LLVM where the disk has nothing yet and workers are about to compile.
    """
    said = answers() or (find_target("native").cpu, find_target("native").features)
    python = f"{platform.python_version()} {getattr(sys, 'abiflags', '')} {np.__version__}"
    return platform.system(), platform.machine(), repr(said), python


def keep(origin: Origin, settings: Settings, interface: Interface, plan: str, note: str) -> None:
    """Keep the way from an origin to a plan on this machine, if the program assigns to no variable.

    Args:
        plan: its key.
        note: any text, to be found with it.
    """
    key = key_of("origin", origin.key, settings) if plan else ""
    names = {v: name for name, v in origin.variables.items()}
    size = sum(a.nbytes for a in interface.constants.values())
    if (
        not key
        or interface.updates
        or interface.sent
        or size > MOST_BYTES
        or not names.keys() >= {*interface.variables}
    ):
        return
    encoder = Encoder()
    rows = tuple((t, tuple(sorted(lengths))) for t, lengths in interface.distinct_rows.items())
    variables = tuple((names[v], t) for v, t in interface.variables.items())
    asked = interface.name, interface.data, variables, tuple(interface.constants), interface.results, rows
    try:
        item = encoder.item(asked)
    except ValueError:
        return
    text = plan.encode("utf-8", "surrogatepass")
    line = json.dumps([len(text), encoder.rows, item, note], separators=(",", ":")).encode()
    arrays = (np.ascontiguousarray(a).tobytes() for a in interface.constants.values())
    disk_cache.shared().put(key, b"".join((line, b"\n", text, *arrays)))


def find(origin: Origin, settings: Settings) -> Record | None:
    """The plan that was kept for an origin, on this machine."""
    key = key_of("origin", origin.key, settings)
    found = disk_cache.shared().get(key) if key else None
    if found is None:
        return None
    try:
        return _read(found, origin)
    except (ValueError, TypeError, KeyError):
        return None


def _read(found: bytes, origin: Origin) -> Record | None:
    line, _, rest = found.partition(b"\n")
    length, rows, item, note = json.loads(line)
    plan = rest[:length].decode("utf-8", "surrogatepass")
    name, data, variables, constants, results, distinct = Decoder(rows).item(item)  # type: ignore[misc]
    interface = Interface(
        name,
        lambda: plan_cache.program_of(plan)[0],
        data,
        {origin.variables[n]: t for n, t in variables},
        _arrays(constants, rest[length:]),
        {},
        results,
        {t: set(lengths) for t, lengths in distinct},
        {},
    )
    if not all(_fits(v, t) for v, t in interface.variables.items()) or not isinstance(note, str):
        return None
    known = dict.fromkeys(chain(data, interface.variables.values(), constants, results))
    made = plan_cache.find(plan, tuple(known), Host().kernel)
    return None if made is None else Record(interface, Compiled(plan, *made), note)


def _fits(variable: Variable, tensor: Tensor) -> bool:
    return (variable.shape, variable.dtype) == (shape_of(tensor), tensor.dtype)


def _arrays(tensors: Sequence[Tensor], content: bytes) -> dict[Tensor, Any]:
    """The values of constants, which lie one behind the other.

    Raises:
        ValueError: they are more or fewer bytes.
    """
    found, start = {}, 0
    for t in tensors:
        dtype, shape = np.dtype(numpy_dtype(t.dtype)), shape_of(t)
        end = start + prod(shape) * dtype.itemsize
        found[t] = np.frombuffer(content[start:end], dtype).reshape(shape).copy()
        start = end
    if start != len(content):
        raise ValueError("other constants")
    return found
