"""A stop of the interpreter at one element: `tx.interpret(op, ..., break_at="m[3, 4]")`.

The debugger that `breakpoint()` starts (`sys.breakpointhook`) stops in a frame of its own. Its
listing is the equation, its names are:

* the indices and sizes, as integers;
* the tensors, as arrays, as far as they are computed;
* `value`, what is about to be stored, and `reads`, the value of each element that the equation
  reads outside of reductions, by its text.

What is assigned there changes nothing.
"""

from __future__ import annotations

import linecache
import re
from collections.abc import Sequence

import numpy as np

from texpr.ir.expr import Read, Reduce
from texpr.ir.interpreter.tensor import Instance, Stop, interpret
from texpr.ir.printing.expr import show
from texpr.ir.tensor import Program
from texpr.ir.traverse import children
from texpr.support.errors import CallError
from texpr.support.spelling import counted
from texpr.support.suggest import did_you_mean

_ELEMENT = re.compile(r"\s*([A-Za-z_]\w*)\s*(?:\[([\s\d,]*)\])?\s*")


def interpret_to(program: Program, arrays: Sequence[np.ndarray], place: str) -> tuple[np.ndarray, ...]:
    """The outputs of a program, with a stop at each computation of an element.

    Raises:
        CallError: the text is no element, or no equation computes it.
    """
    name, element = _parsed(program, place)
    met: list[Instance] = []

    def stopped(instance: Instance) -> None:
        met.append(instance)
        _debug(instance, place.strip())

    results = interpret(program, arrays, stop=Stop(name, element, stopped))
    if not met:
        raise CallError(
            f"no equation computes {place}",
            code="break",
            help="give an element inside the shape, which some instance computes",
        )
    return results


def _parsed(program: Program, place: str) -> tuple[str, tuple[int, ...]]:
    found = _ELEMENT.fullmatch(place) if isinstance(place, str) else None
    if found is None:
        raise CallError(f"`{place}` is no element of a tensor", code="break", help='such as "m[3, 4]"')
    computed = {t.name: t for t in (*program.outputs, *program.temporaries)}
    name = found[1]
    if name not in computed:
        raise CallError(
            f"{program.name} computes no `{name}`", code="break", help=did_you_mean(name, computed)
        )
    element = tuple(int(k) for k in (found[2] or "").split(",") if k.strip())
    rank = len(computed[name].shape)
    if len(element) != rank:
        raise CallError(
            f"`{name}` has {counted(rank, 'axis', 'axes')}, {place} has "
            f"{counted(len(element), 'index', 'indices')}",
            code="break",
            help=f"such as {name}[{', '.join('0' * rank)}]" if rank else f"it is {name}",
        )
    return name, element


def _debug(instance: Instance, place: str) -> None:
    """Start the debugger in a frame with the names of the instance."""
    equation = instance.equation
    text = equation.span.text if equation.span is not None else show(equation.value)
    file = f"<{place}>"
    lines = [
        f"breakpoint()  # {line.strip()}" if k == 0 else f"# {line.strip()}"
        for k, line in enumerate(text.splitlines())
    ]
    source = "\n".join([*lines, f"{place.partition('[')[0].strip()}, value", ""])
    linecache.cache[file] = len(source), None, source.splitlines(keepends=True), file
    names: dict[str, object] = {t.name: values for t, values in instance.tensors.items()}
    names |= {v.name: n for v, n in instance.indices.items()}
    names |= {"value": instance.value, "reads": _reads(instance)}
    exec(compile(source, file, "exec"), names)


def _reads(instance: Instance) -> dict[str, object]:
    """The elements that the equation reads, outside of reductions, with their values."""
    found: dict[str, object] = {}
    stack: list[object] = [instance.equation.value]
    while stack:
        node = stack.pop()
        if isinstance(node, Read):
            found[show(node)] = instance.read(node)
        if not isinstance(node, Reduce):
            stack.extend(children(node))  # type: ignore[arg-type]
    return found
