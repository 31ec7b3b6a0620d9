"""Steps as data: what a schedule did, as text that can be read, edited and applied again."""

from __future__ import annotations

import ast
from collections.abc import Callable
from dataclasses import dataclass, field
from difflib import get_close_matches
from functools import cache
from inspect import Parameter, Signature, signature

from texpr.ir.expr import Var
from texpr.ir.loop import Kernel
from texpr.passes.loop.drop_hints import drop_hints
from texpr.schedule.steps.algebra.allow_fma import allow_fma
from texpr.schedule.steps.algebra.drop_padding import trim
from texpr.schedule.steps.algebra.exp_to_exp2 import base2
from texpr.schedule.steps.algebra.factor_out import factor_out
from texpr.schedule.steps.algebra.mask_to_zero import widen
from texpr.schedule.steps.algebra.online_softmax import online
from texpr.schedule.steps.algebra.premultiply import premultiply
from texpr.schedule.steps.algebra.reciprocal import reciprocal
from texpr.schedule.steps.algebra.round_to_tf32 import tf32
from texpr.schedule.steps.algebra.tanh_to_sigmoid import logistic
from texpr.schedule.steps.buffers.cache import cache_read, cache_write
from texpr.schedule.steps.buffers.layout import layout, pad
from texpr.schedule.steps.buffers.scope import scope
from texpr.schedule.steps.buffers.swizzle import swizzle
from texpr.schedule.steps.hardware.async_mma import in_flight, together
from texpr.schedule.steps.hardware.bulk_copy import bulk
from texpr.schedule.steps.hardware.multicast import multicast
from texpr.schedule.steps.hardware.nontemporal import stream
from texpr.schedule.steps.hardware.prefetch import prefetch
from texpr.schedule.steps.hardware.tensorize import tensorize
from texpr.schedule.steps.loops.annotate import annotate
from texpr.schedule.steps.loops.fission import fission
from texpr.schedule.steps.loops.fuse import check_parted, fuse
from texpr.schedule.steps.loops.merge import join
from texpr.schedule.steps.loops.parallel import bind, parallel
from texpr.schedule.steps.loops.partition import separate
from texpr.schedule.steps.loops.peel import peel
from texpr.schedule.steps.loops.reorder import reorder
from texpr.schedule.steps.loops.skew import reverse, skew
from texpr.schedule.steps.loops.specialize import specialize
from texpr.schedule.steps.loops.split import split
from texpr.schedule.steps.loops.tile import jam, tile
from texpr.schedule.steps.loops.unroll import unroll
from texpr.schedule.steps.loops.vectorize import vectorize
from texpr.schedule.steps.loops.vectorize_scalable import vectorize_scalable
from texpr.schedule.steps.placement.compute_at import compute_at
from texpr.schedule.steps.placement.expand_dim import expand
from texpr.schedule.steps.placement.fold_storage import fold
from texpr.schedule.steps.placement.inline import inline
from texpr.schedule.steps.placement.pipeline import pipeline
from texpr.schedule.steps.placement.reverse_compute_at import reverse_compute_at
from texpr.schedule.steps.reductions.atomic import atomic
from texpr.schedule.steps.reductions.rfactor import rfactor
from texpr.support.errors import ScheduleError

STEPS: dict[str, Callable[..., Kernel]] = {
    "split": split, "fuse": fuse, "reorder": lambda kernel, *loops, reassoc=False: reorder(kernel, loops, reassoc=reassoc),
    "unroll": unroll, "vectorize": vectorize, "parallel": parallel, "bind": bind, "rfactor": rfactor, "allow_fma": allow_fma,
    "compute_at": compute_at, "peel": peel, "separate": separate, "inline": inline, "reverse_compute_at": reverse_compute_at, "fold": fold,
    "pipeline": pipeline,
    "cache_read": cache_read, "cache_write": cache_write, "layout": layout, "pad": pad, "scope": scope, "tensorize": tensorize,
    "tile": lambda kernel, *loops, sizes, tail="guard": tile(kernel, loops, sizes, tail=tail), "jam": jam, "fission": fission, "skew": skew,
    "reverse": reverse, "specialize": lambda kernel, *loops, **sizes: specialize(kernel, loops, sizes),
    "annotate": lambda kernel, loop, **notes: annotate(kernel, loop, notes), "prefetch": prefetch, "stream": stream,
    "online": online, "swizzle": swizzle, "trim": trim, "expand": expand, "vectorize_scalable": vectorize_scalable,
    "reciprocal": reciprocal, "tf32": tf32, "logistic": logistic, "base2": base2, "widen": widen, "in_flight": in_flight, "bulk": bulk,
    "multicast": multicast, "join": join, "together": together, "atomic": atomic,
    "premultiply": premultiply,
    "factor_out": lambda kernel, *loops, reassoc=False, finite=False: factor_out(kernel, loops, reassoc=reassoc, finite=finite),
}


OTHER_NAMES = {"contract": "allow_fma"}
"""Names of steps that scripts may use too."""


def _fixed(value: object) -> object:
    return tuple(value) if isinstance(value, list) else value


@dataclass(frozen=True, slots=True)
class Step:
    """One applied scheduling request.

    Attributes:
        line: where it stands in a script, from 1; 0 if it was a call.
    """

    name: str
    args: tuple[object, ...] = ()
    options: tuple[tuple[str, object], ...] = ()
    line: int = field(default=0, compare=False)

    def __post_init__(self) -> None:
        object.__setattr__(self, "name", OTHER_NAMES.get(self.name, self.name))
        # A list is a tuple in all forms of a script.
        object.__setattr__(self, "args", tuple(map(_fixed, self.args)))
        object.__setattr__(self, "options", tuple((k, _fixed(v)) for k, v in self.options))

    def __str__(self) -> str:
        given = [_text(a) for a in self.args] + [f"{k}={_text(v)}" for k, v in self.options]
        return f"{self.name}({', '.join(given)})"

    def apply(self, kernel: Kernel) -> Kernel:
        """The kernel after this step.

        Raises:
            ScheduleError: the step does not apply or would change the answer.
        """
        step = STEPS[self.name]
        for value in (*self.args, *(v for _, v in self.options)):
            if isinstance(value, str) and not value.isprintable():
                raise ScheduleError(f"{value[:40]!r} has characters that no terminal shows", code="arguments",
                                    help="names are letters, digits and underscores")
        try:
            bound = _signature(step).bind(kernel, *self.args, **dict(self.options))
        except TypeError as error:
            raise ScheduleError(f"{self} does not fit the step: {error}", code="arguments",
                                help=f"{self.name}{_parameters(step)}") from None
        after = drop_hints(step(*bound.args, **bound.kwargs))
        check_parted(kernel, after, self.name)
        return after


@cache
def _signature(step: Callable[..., Kernel]) -> Signature:
    return signature(step)


def _parameters(step: Callable[..., Kernel]) -> str:
    """What a step takes beside the kernel, as in `(outer, inner, *, name=None)`."""
    _, *rest = _signature(step).parameters.values()
    return str(Signature([p.replace(annotation=Parameter.empty) for p in rest]))


def _text(value: object) -> str:
    text = repr(value.name if isinstance(value, Var) else value)
    return '"' + text[1:-1] + '"' if isinstance(value, str | Var) and '"' not in text else text


def parse_script(text: str) -> list[Step]:
    """The steps of a script: one call per line, literals only. Comments and empty lines are skipped.

    Raises:
        ScheduleError: a line is not a step with literal arguments.
    """
    if not isinstance(text, str):
        raise ScheduleError(f"a script is text, not {type(text).__name__}", code="script")
    steps: list[Step] = []
    for number, line in enumerate(text.splitlines(), 1):
        if not line.strip() or line.strip().startswith("#"):
            continue
        steps.append(_parsed(line.strip(), number))
    return steps


def _parsed(line: str, number: int) -> Step:
    shown = "".join(c if c.isprintable() else repr(c)[1:-1] for c in line[:80]) + " ..." * (len(line) > 80)
    wrong = ScheduleError(f"line {number} of the script is not a step: {shown}", code="script", help='write steps as in split("i", 32)')
    try:
        call = ast.parse(line, mode="eval").body
        if not isinstance(call, ast.Call) or not isinstance(call.func, ast.Name):
            raise wrong
        args = tuple(ast.literal_eval(a) for a in call.args)
        if any(k.arg is None for k in call.keywords):
            raise wrong
        options = tuple((str(k.arg), ast.literal_eval(k.value)) for k in call.keywords)
    except (SyntaxError, ValueError, TypeError, MemoryError, RecursionError):
        raise wrong from None
    known_step(call.func.id, f"line {number} of the script")
    return Step(call.func.id, args, options, number)


def known_step(name: str, where: str) -> None:
    """There is a step of that name.

    Raises:
        ScheduleError: there is none.
    """
    if name not in STEPS and name not in OTHER_NAMES:
        close = get_close_matches(name, STEPS, 1)
        raise ScheduleError(f"{where}: there is no step `{name[:40]}`", code="script",
                            help=f"did you mean `{close[0]}`?" if close else "steps are the methods of a schedule")
