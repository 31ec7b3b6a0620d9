"""Reverse mode as a function from programs to programs."""

from __future__ import annotations

from collections.abc import Sequence
from functools import lru_cache
from typing import NamedTuple

from texpr.autodiff.cleanup.bounds_proofs import inside
from texpr.autodiff.cleanup.formulas import formulas
from texpr.autodiff.cleanup.simplify import Equations, reads, renamed, simplify, without_dead
from texpr.autodiff.core.activity import active_tensors
from texpr.autodiff.core.custom import custom_gradient, remembers_gradients, with_primal
from texpr.autodiff.core.names import Names
from texpr.autodiff.core.primal import Forward
from texpr.autodiff.core.shift_invariance import irrelevant
from texpr.autodiff.core.signature import (
    check_defined,
    floats,
    selected,
    telling_sizes,
    used_sizes,
    varying,
    with_pack_lengths,
    with_range,
)
from texpr.autodiff.reverse.cotangents import Backward
from texpr.ir.dtypes import accumulator
from texpr.ir.expr import Tensor, Var
from texpr.ir.tensor import Program
from texpr.ir.traverse import variables, walk
from texpr.support.errors import CheckError
from texpr.support.frozen_dataclass import replace


def grad(program: Program, wrt: Sequence[str] | None = None, outputs: Sequence[str] | None = None) -> Program:
    """The program `{name}_grad`: primal inputs and a cotangent `d{output}` per output -> a cotangent `d{input}` per input.

    It recomputes what it needs of the primal. Inputs that it does not need stay in the signature.

    Args:
        wrt: names of float inputs, all of them by default; the results come in this order.
        outputs: names of the float outputs whose cotangents are given, all of them by default.
    Raises:
        CheckError: there is no such input or output, it is not a float, or something in between has
            no gradient.
    """
    return _grad(program, *selected(program, wrt, outputs))


class Vjp(NamedTuple):
    """A program that also returns residuals, and the program of its cotangents that takes them.

    Inputs of `backward` that are no cotangents have the names of inputs and outputs of `forward`.
    """

    forward: Program
    backward: Program


def vjp(
    program: Program,
    wrt: Sequence[str] | None = None,
    outputs: Sequence[str] | None = None,
    checkpoint: Sequence[str] | None = None,
) -> Vjp:
    """`program` cut in two where its gradient reads it; nothing is computed twice.

    Stored is every primal tensor, input or intermediate, that an equation of a cotangent reads, and
    inputs that alone tell a size.

    Args:
        checkpoint: names of the tensors that are stored instead, inputs aside; what backward needs
            besides, it computes again.
    Raises:
        CheckError: no equation defines a tensor of such a name.
    """
    return _vjp(program, *selected(program, wrt, outputs), None if checkpoint is None else tuple(checkpoint))


@lru_cache(maxsize=1024)
def _vjp(
    program: Program, wrt: tuple[str, ...], outputs: tuple[str, ...], checkpoint: tuple[str, ...] | None
) -> Vjp:
    by_hand = custom_gradient(program, wrt, outputs)
    if by_hand is not None:
        return Vjp(replace(program, name=f"{program.name}_forward"), by_hand)
    parts = _Reverse(program, wrt, outputs)
    again = [] if checkpoint is None else _computed_again(program, parts.forward, checkpoint)
    backward = simplify([*again, *parts.backward], parts.results, parts.own)
    defined = {t for e in backward for t in e.targets} | set(parts.seeds)
    read = dict.fromkeys(t for e in backward for t in reads(e) if t not in defined)
    order = [*program.inputs, *(t for e in parts.forward for t in e.targets)]
    kept = [t for t in dict.fromkeys(order) if t in read]
    needed = used_sizes(
        (*kept, *parts.seeds, *parts.results, *(t for e in backward for t in e.targets)), backward
    )
    residuals = telling_sizes(kept, parts.seeds, needed, program)
    computed = [t for t in residuals if t not in program.inputs]
    described = {
        t: with_pack_lengths(with_range(t, parts.forward, program.requires), program) for t in computed
    }
    forward = renamed(without_dead(parts.forward, (*program.outputs, *described)), described)
    backward = renamed(backward, described)
    residuals = tuple(described.get(t, t) for t in residuals)
    primal = tuple(described.get(t, t) for t in program.outputs)
    extra = tuple(t for t in residuals if t not in program.inputs and t not in primal)
    return Vjp(
        inside(
            replace(
                program, name=f"{program.name}_forward", outputs=(*primal, *extra), equations=tuple(forward)
            )
        ),
        _backward_program(program, "backward", (*residuals, *parts.seeds), parts.results, backward),
    )


@lru_cache(maxsize=1024)
def _grad(program: Program, wrt: tuple[str, ...], outputs: tuple[str, ...]) -> Program:
    by_hand = custom_gradient(program, wrt, outputs)
    if by_hand is not None:
        return with_primal(program, by_hand, wrt, outputs)
    parts = _Reverse(program, wrt, outputs)
    equations = simplify([*parts.forward, *parts.backward], parts.results, parts.own)
    return _backward_program(program, "grad", (*program.inputs, *parts.seeds), parts.results, equations)


def _computed_again(program: Program, forward: Equations, checkpoint: tuple[str, ...]) -> Equations:
    """The primal equations of what is not stored."""
    names = {t.name for e in forward for t in e.targets}
    for name in checkpoint:
        if name not in names and any(t.name == name for t in program.inputs):
            raise CheckError(
                f"`{name}` is an input of `{program.name}`",
                program.span,
                code="gradient",
                help="backward takes the inputs it reads: checkpoint= names what forward computes",
            )
        if name not in names:
            raise CheckError(
                f"`{program.name}` computes no `{name}` to store",
                program.span,
                code="gradient",
                help=f"it computes {', '.join(sorted(names))}",
            )
    return [e for e in forward if any(t.name not in checkpoint for t in e.targets)]


for _cached in (_vjp, _grad):
    remembers_gradients(_cached.cache_clear)


def _backward_program(
    program: Program,
    suffix: str,
    inputs: tuple[Tensor, ...],
    outputs: tuple[Tensor, ...],
    equations: Equations,
) -> Program:
    """A program over `inputs` with the sizes they tell, in the order in which they do, and the
    requirements on those.
    """
    mentioned = dict.fromkeys(v for t in inputs for size in t.shape for v in walk(size) if isinstance(v, Var))
    sizes = tuple(v for v in mentioned if v in program.sizes)
    requires = tuple(r for r in program.requires if variables(r) <= set(sizes))
    return inside(
        replace(
            program,
            name=f"{program.name}_{suffix}",
            inputs=inputs,
            outputs=outputs,
            equations=tuple(equations),
            sizes=sizes,
            requires=requires,
            doc="",
        )
    )


class _Reverse:
    """The equations of a program's gradient.

    Attributes:
        forward: the primal equations, in the form the backward ones read.
        backward: the equations of the cotangents.
        seeds: the cotangent inputs.
        results: the cotangents asked for.
        own: the tensors that backward equations define, those of a storage type aside: moving them
            would change roundings.
    """

    def __init__(self, program: Program, wrt: tuple[str, ...], outputs: tuple[str, ...]) -> None:
        sources = floats(program, program.inputs, wrt, "input")
        goals = floats(program, program.outputs, outputs, "output")
        if not goals:
            raise CheckError(
                f"`{program.name}` has no float output to differentiate", program.span, code="gradient"
            )
        if not sources:
            raise CheckError(
                f"`{program.name}` has no float input to differentiate by", program.span, code="gradient"
            )
        names = Names(program)
        seeds = {
            t: with_pack_lengths(Tensor(names.fresh(f"d{t.name}"), t.dtype, t.dims), program) for t in goals
        }
        results = {t: Tensor(names.fresh(f"d{t.name}"), t.dtype, t.dims) for t in sources}
        forward = Forward(program, varying(program.equations, sources), names)
        active = active_tensors(forward.equations, sources, goals)
        active -= irrelevant(forward.equations, sources, active, goals)
        check_defined(program, active, forward.equations)
        backward = Backward(forward, names, seeds, results, active, _grad)
        backward.run(program)
        self.forward = forward.equations
        self.seeds, self.results = tuple(seeds.values()), tuple(results.values())
        self.own = {t for e in backward.equations for t in e.targets if accumulator(t.dtype) == t.dtype}
        shorter = simplify(backward.equations, self.results, self.own)
        self.backward = formulas(shorter, self.forward, self.results, self.own, names)
