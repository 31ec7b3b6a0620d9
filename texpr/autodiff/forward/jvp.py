"""Forward mode as a function from programs to programs."""

from __future__ import annotations

from collections.abc import Sequence
from functools import lru_cache

from texpr.autodiff.cleanup.bounds_proofs import inside
from texpr.autodiff.cleanup.simplify import Equations, simplify
from texpr.autodiff.core.activity import active_tensors
from texpr.autodiff.core.algebra import convert, zero
from texpr.autodiff.core.contribution import whole
from texpr.autodiff.core.fold_counts import Folds
from texpr.autodiff.core.names import Names, freshen
from texpr.autodiff.core.primal import Forward
from texpr.autodiff.core.shift_invariance import irrelevant
from texpr.autodiff.core.signature import check_defined, floats, selected, varying, with_pack_lengths
from texpr.autodiff.forward.tangent import tangent
from texpr.ir.dtypes import accumulator
from texpr.ir.expr import Tensor
from texpr.ir.tensor import Equation, Invoke, Program
from texpr.support.frozen_dataclass import replace


def jvp(program: Program, wrt: Sequence[str] | None = None) -> Program:
    """The program `{name}_jvp`: primal inputs and a tangent `d{input}` per input -> primal outputs and a tangent `d{output}` per output.

    Args:
        wrt: names of the float inputs that have tangents, all of them by default.
    Raises:
        CheckError: there is no such input, it is not a float, or something in between has no
            derivative.
    """
    return _jvp(program, selected(program, wrt, ())[0])


@lru_cache(maxsize=1024)
def _jvp(program: Program, wrt: tuple[str, ...]) -> Program:
    sources = floats(program, program.inputs, wrt, "input")
    names = Names(program)
    vary = varying(program.equations, sources)
    check_defined(program, vary, program.equations)
    tangents = {
        t: with_pack_lengths(Tensor(names.fresh(f"d{t.name}"), t.dtype, t.dims), program) for t in sources
    }
    inputs = (*program.inputs, *tangents.values())
    defined = dict.fromkeys(t for e in program.equations for t in e.targets if t in vary)
    tangents |= {t: Tensor(names.fresh(f"d{t.name}"), t.dtype, t.dims) for t in defined}
    forward = Forward(program, vary, names)
    tangents |= {
        t: Tensor(names.fresh(f"d{t.name}"), t.dtype, t.dims) for t in forward.varying if t not in tangents
    }
    outputs = [t for t in program.outputs if t.dtype.is_float]
    active = active_tensors(forward.equations, sources, outputs)
    for tensor in irrelevant(forward.equations, sources, active, outputs):
        del tangents[tensor]
    equations = _equations(forward, tangents, names)
    constant = {t: Tensor(names.fresh(f"d{t.name}"), t.dtype, t.dims) for t in outputs if t not in tangents}
    equations += [whole(t, zero(t.dtype)) for t in constant.values()]
    results = (*program.outputs, *(tangents.get(t) or constant[t] for t in outputs))
    own = {t for t in tangents.values() if accumulator(t.dtype) == t.dtype}
    simple = simplify(equations, results, own)
    return inside(
        replace(
            program,
            name=f"{program.name}_jvp",
            inputs=inputs,
            outputs=results,
            equations=tuple(simple),
            doc="",
        )
    )


def _equations(forward: Forward, tangents: dict[Tensor, Tensor], names: Names) -> Equations:
    """The primal equations, each followed by that of its tangent; last what they need to know
    about maxima.
    """
    result: Equations = []
    primal, folds = list(forward.equations), Folds(forward)
    for equation in primal:
        if isinstance(equation, Invoke):
            result.append(_call(equation, tangents))
            continue
        result.append(equation)
        if equation.target in tangents:
            result += _tangent_equation(equation, tangents, forward, folds)
    return [*result, *forward.equations[len(primal) :]]


def _tangent_equation(
    equation: Equation, tangents: dict[Tensor, Tensor], forward: Forward, folds: Folds
) -> Equations:
    target = tangents[equation.target]
    value = tangent(equation, tangents, forward)
    if value is None and equation.update is not None:
        return []
    value = zero(target.dtype) if value is None else convert(folds.weighted(equation, value), target.dtype)
    update = None if equation.update is None else "add"
    return [freshen(replace(equation, target=target, value=value, update=update), forward.names.reserved)]


def _call(call: Invoke, tangents: dict[Tensor, Tensor]) -> Invoke:
    """Y, dY = f_jvp(X, W, dX, dW) for Y = f(X, W)."""
    given = [
        (tangents[a], formal.name)
        for a, formal in zip(call.args, call.program.inputs)
        if a in tangents and formal.dtype.is_float
    ]
    if not given:
        return call
    results = (*call.targets, *(tangents[t] for t in call.targets if t.dtype.is_float))
    return Invoke(
        results,
        jvp(call.program, [name for _, name in given]),
        (*call.args, *(t for t, _ in given)),
        call.span,
    )
