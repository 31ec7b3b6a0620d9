"""`tx.vmap` of operators: one more index."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from functools import lru_cache
from typing import Any

from texpr.compiler.derived_operators import derived
from texpr.compiler.op import Op
from texpr.compiler.operator_signature import Signature, signature_of
from texpr.ir.dtypes import DType
from texpr.ir.tensor import Program
from texpr.passes.tensor.batch_axis import Place
from texpr.passes.tensor.batch_axis import vmap as mapped_program
from texpr.support.errors import CallError
from texpr.support.frozen_dataclass import replace
from texpr.support.spelling import counted
from texpr.support.suggest import did_you_mean

InAxes = int | None | Sequence[Place] | Mapping[str, Place]
OutAxes = int | None | Sequence[Place]


def map_operator(operator: Op, in_axes: InAxes = 0, out_axes: OutAxes = 0) -> Op:
    """`tx.vmap` of an operator.

    Raises:
        CallError: axes that are none, or not as many as there are inputs or outputs; no input is
            mapped.
        CheckError: the operator cannot be mapped along them.
    """
    base = signature_of(operator)
    return mapped(operator, in_axes_of(base, in_axes), out_axes_of(base, out_axes))


@lru_cache(maxsize=1024)
def mapped(operator: Op, in_axes: tuple[tuple[str, Place], ...], out_axes: tuple[Place, ...]) -> Op:
    """The operator over one more index; the same for the same arguments."""
    places = dict(in_axes)
    base = signature_of(operator)

    def make(dtypes: Mapping[str, DType], constants: Mapping[str, object], absent: frozenset[str]) -> Program:
        program = operator.program(dtypes, constants, absent)
        inner = [places[t.name] for t in program.inputs]
        return mapped_program(program, inner, out_axes)

    axes = tuple(replace(a, outside=a.outside + 1) if places[a.input] is not None else a for a in base.axes)
    along = [p for p in base.inputs if places[p.name] is not None]
    given = frozenset(p.name for p in along) if all(p.optional for p in along) else frozenset()
    return derived(operator, make, (mapped, (operator, in_axes, out_axes)), axes, given)


def in_axes_of(base: Signature, axes: InAxes) -> tuple[tuple[str, Place], ...]:
    """The axis of each input, by name.

    Raises:
        CallError: see `map_operator`.
    """
    names = [p.name for p in base.inputs]
    if axes is None or is_axis(axes):
        found: dict[str, Place] = dict.fromkeys(names, axes)  # type: ignore[arg-type]
    elif isinstance(axes, Mapping):
        for name in axes:
            if name not in names:
                raise CallError(
                    f"in_axes: {base.name} has no input `{name}`",
                    code="arguments",
                    help=did_you_mean(name, frozenset(names)) or f"its inputs are {', '.join(names)}",
                )
        found = {n: axes.get(n) for n in names}
    elif isinstance(axes, Sequence) and not isinstance(axes, str):
        least = sum(not p.optional for p in base.inputs)
        if not least <= len(axes) <= len(names):
            raise _wrong_number("in_axes", axes, base.name, "input", names)
        found = dict(zip(names, axes)) | dict.fromkeys(names[len(axes) :])
    else:
        raise _no_axes("in_axes", axes)
    if not all(v is None or is_axis(v) for v in found.values()):
        raise _no_axes("in_axes", axes)
    if all(v is None for v in found.values()):
        raise CallError(
            f"vmap of {base.name}: in_axes is {axes!r}, so no input is mapped",
            code="arguments",
            help="in_axes=0 maps all inputs along their first axis",
        )
    return tuple(found.items())


def out_axes_of(base: Signature, axes: OutAxes) -> tuple[Place, ...]:
    """The axis of each output.

    Raises:
        CallError: see `map_operator`.
    """
    names = [p.name for p in base.outputs]
    if axes is None or is_axis(axes):
        return (axes,) * len(names)  # type: ignore[return-value]
    if not isinstance(axes, Sequence) or isinstance(axes, str):
        raise _no_axes("out_axes", axes)
    if len(axes) != len(names):
        raise _wrong_number("out_axes", axes, base.name, "output", names)
    if not all(v is None or is_axis(v) for v in axes):
        raise _no_axes("out_axes", axes)
    return tuple(axes)


def is_axis(value: Any) -> bool:
    """True for a number of an axis."""
    return isinstance(value, int) and not isinstance(value, bool)


def _no_axes(what: str, axes: object) -> CallError:
    form = "an int, None, a tuple of these" + (" or a dict by name" if what == "in_axes" else "")
    return CallError(f"{what} is {axes!r}, expected {form}", code="arguments", help=f"{what}=0")


def _wrong_number(what: str, axes: Sequence[object], name: str, kind: str, names: list[str]) -> CallError:
    return CallError(
        f"{what} has {counted(len(axes), 'axis', 'axes')}, {name} has {counted(len(names), kind)}: "
        f"{', '.join(names)}",
        code="arguments",
        help="give one for each, None for those that all examples share"
        if kind == "input"
        else "give one for each, or an int for all",
    )
