"""Finding tensors by name, names for new ones, and how large they are."""

from __future__ import annotations

from difflib import get_close_matches
from math import prod

from texpr.ir.build import integer
from texpr.ir.expr import Expr, Tensor
from texpr.ir.extern import passed
from texpr.ir.loop import Kernel
from texpr.ir.printing.types import RESERVED, unused
from texpr.schedule.structure.loops import span_of
from texpr.support.errors import ScheduleError


def find_tensor(kernel: Kernel, name: str) -> Tensor:
    """The tensor called `name`.

    Raises:
        ScheduleError: there is none.
    """
    tensors = (*kernel.inputs, *kernel.outputs, *kernel.temporaries)
    if not isinstance(name, str):
        raise ScheduleError(f"a tensor is named by text, not by {name!r}", code="tensor")
    found = next((t for t in tensors if t.name == name), None)
    if found is None:
        names = [t.name for t in tensors]
        close = get_close_matches(name, names, 1)
        raise ScheduleError(
            f"there is no tensor `{name}`",
            code="tensor",
            notes=[f"tensors: {', '.join(names)}"],
            help=f"did you mean `{close[0]}`?" if close else "",
        )
    return found


def find_temporary(kernel: Kernel, name: str, step: str) -> Tensor:
    """The buffer called `name`; inputs and outputs are laid out as their owners have them.

    Raises:
        ScheduleError: there is none, it belongs to the caller, or code that is not written here
            uses it.
    """
    found = find_tensor(kernel, name)
    if found not in kernel.temporaries:
        kind = "input" if found in kernel.inputs else "output"
        how = "cache_read" if kind == "input" else "cache_write"
        raise ScheduleError(
            f"{step} of the {kind} {name}: the caller decides how it lies in memory",
            code=step,
            help=f'{how}("{name}", loop) makes a buffer',
        )
    check_stays(kernel, found, step)
    return found


def check_stays(kernel: Kernel, tensor: Tensor, step: str) -> None:
    """Make sure that no code which is not written here uses the tensor: that sees it as it is.

    Raises:
        ScheduleError: an extern operator takes or gives it.
    """
    call = passed(kernel).get(tensor)
    if call is not None:
        raise ScheduleError(
            f"`{tensor.name}` passes to or from `{call.name}`, which is not written here",
            span_of(kernel, call),
            code=step,
            help="steps move what this kernel itself computes and reads",
        )


def unused_name(kernel: Kernel, name: str) -> str:
    """`name`, or one like it that a new tensor can have.

    Raises:
        ScheduleError: it is no name.
    """
    if not isinstance(name, str) or not (name.isascii() and name.isidentifier()) or name in RESERVED:
        raise ScheduleError(
            f"{name!r} is not a name for a buffer",
            code="name",
            help="letters, digits and underscores, no digit first, no word of the language",
        )
    taken = {t.name for t in (*kernel.inputs, *kernel.outputs, *kernel.temporaries)} | {
        v.name for v in kernel.sizes
    }
    return unused(name, taken | RESERVED)


def bytes_of(tensor: Tensor, shape: tuple[Expr, ...] | None = None) -> int:
    """Of a tensor, or of a part of it that has another shape; 0 if a size is symbolic."""
    return prod(integer(n) or 0 for n in (tensor.shape if shape is None else shape)) * tensor.dtype.bytes
