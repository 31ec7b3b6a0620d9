"""The steps of a schedule that decide the bits of results: orders in which sums are added, and
algebraic rewrites.

Two kernels of a program whose schedules agree in that give the same bits, whatever else their loops
do. So a kernel of symbolic sizes may serve a call in the place of the one for its shapes.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence

from texpr.compiler.schedule import Schedule
from texpr.compiler.tuning_records import chosen_script
from texpr.ir.expr import Read, Reduce, Var
from texpr.ir.tensor import Equation, Program
from texpr.ir.traverse import walk
from texpr.passes.tensor.inline_calls import inline_calls
from texpr.schedule.script.script import Step, parse_script
from texpr.schedule.steps.registry import rules

Order = tuple[object, ...]


def accumulation_order_of(program: Program, sizes: Mapping[Var, int]) -> Order:
    """The steps that decide the bits of the default kernel for these sizes; equal where kernels
    agree bit for bit.
    """
    script = chosen_script(program, sizes)
    steps = Schedule(program, sizes).auto().steps if script is None else parse_script(script)
    return tuple(_deciding(steps, _Terms(program)))


class _Terms:
    """Loops over terms of sums and products of floats, and over elements that follow from each
    other.
    """

    def __init__(self, program: Program) -> None:
        equations = [e for e in inline_calls(program).equations if isinstance(e, Equation)]
        self._tensors = {e.target.name for e in equations}
        self._loops = {f"{e.target.name}.{v.name}" for e in equations for v in _rounded(e)}
        self._names = {loop.rpartition(".")[2] for loop in self._loops}

    def __contains__(self, loop: object) -> bool:
        around, _, name = str(loop).rpartition(".")
        tensor = around.partition(".")[0]
        if name.endswith("_sum"):  # the loop of `rfactor` that adds partial sums
            return bool(self._loops) and (
                tensor not in self._tensors or any(known.startswith(f"{tensor}.") for known in self._loops)
            )
        return f"{tensor}.{name}" in self._loops if tensor in self._tensors else name in self._names


def _rounded(e: Equation) -> list[Var]:
    """The loops of an equation whose order shows in its results."""
    found = [
        a.var
        for n in walk(e.value)
        if isinstance(n, Reduce) and n.op in ("sum", "prod") and n.dtype.is_float
        for a in n.axes
    ]
    again = e.update is not None or any(isinstance(n, Read) and n.tensor is e.target for n in walk(e.value))
    return found + [a.var for a in e.axes if again and e.target.dtype.is_float]


def _deciding(steps: Sequence[Step], terms: _Terms) -> Iterator[Order]:
    made: dict[str, Order] = {}
    """Of loops that a step made, how."""
    for step in steps:
        if step.name == "split":
            _note_halves(step, made)
        reassoc = dict(step.options).get("reassoc")
        loops = tuple(_origin(a, made) if isinstance(a, str) else a for a in step.args)
        over_terms = any(_root(x) in terms for x in loops if isinstance(x, str | tuple))
        kept = rules()[step.name].order_of_sums
        if kept == "changed" or over_terms and (reassoc or kept != "kept"):
            yield step.name, loops, step.options


def _note_halves(step: Step, made: dict[str, Order]) -> None:
    loop, factor, *_ = step.args
    assert isinstance(loop, str)
    around, _, own = loop.rpartition(".")
    names = dict(step.options).get("names") or (f"{own}o", f"{own}i")
    for side, name in enumerate(names):  # type: ignore[arg-type]
        made[f"{around}.{name}" if around else name] = ("split", _origin(loop, made), factor, side)


def _origin(loop: str, made: Mapping[str, Order]) -> object:
    """The steps that made a loop; its name, if it was there."""
    return made.get(loop, loop)


def _root(origin: object) -> object:
    """The loop that was there at first."""
    while isinstance(origin, tuple):
        origin = origin[1]
    return origin
