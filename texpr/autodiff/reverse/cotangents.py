"""The equations of the cotangents: contributions collected per tensor, users before what they
use.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field

from texpr.autodiff.core.activity import all_tensors, components, smooth_sources
from texpr.autodiff.core.adjoint import contributions
from texpr.autodiff.core.algebra import convert, plus, zero
from texpr.autodiff.core.contribution import Contribution, target_axes
from texpr.autodiff.core.fold_counts import Folds
from texpr.autodiff.core.names import Names, freshen
from texpr.autodiff.core.primal import Forward
from texpr.autodiff.reverse.boundary_reads import unfolded
from texpr.autodiff.reverse.gather import gather, scatter, searched
from texpr.autodiff.reverse.rows import in_rows
from texpr.autodiff.reverse.stride_residues import phases
from texpr.ir.dtypes import accumulator
from texpr.ir.expr import Axis, Expr, Read, Tensor
from texpr.ir.tensor import Equation, Invoke, Program

MOST_CASES = 9
"""Ways on which a read through a boundary leads to an element that are worth a term each; more
are a fold.
"""
CalleeGradient = Callable[[Program, tuple[str, ...], tuple[str, ...]], Program]


@dataclass
class _Parts:
    """Summands of a tensor's cotangent: a seed, whole tensors from calls, contributions of reads."""

    whole: list[Tensor] = field(default_factory=list)
    reads: list[Contribution] = field(default_factory=list)

    def __bool__(self) -> bool:
        return bool(self.whole or self.reads)


class Backward:
    """Reverse mode over one program.

    Args:
        seeds: the cotangent inputs, by the output they belong to.
        results: the tensors to define with the cotangents of inputs.
        active: the tensors that need a cotangent.
        callee_gradient: the gradient of a called program for some of its inputs and outputs, by
            name.
    """

    def __init__(
        self,
        forward: Forward,
        names: Names,
        seeds: dict[Tensor, Tensor],
        results: dict[Tensor, Tensor],
        active: set[Tensor],
        callee_gradient: CalleeGradient,
    ) -> None:
        self.forward, self.names, self.seeds, self.results, self.active = (
            forward,
            names,
            seeds,
            results,
            active,
        )
        self.callee_gradient, self.folds = callee_gradient, Folds(forward)
        self.equations: list[Equation | Invoke] = []
        self._parts: dict[Tensor, _Parts] = {}
        self._cotangents: dict[Tensor, Tensor] = {}
        self._definitions: dict[Tensor, list[Equation | Invoke]] = {}
        for equation in forward.equations:
            for target in equation.targets:
                self._definitions.setdefault(target, []).append(equation)

    def run(self, program: Program) -> None:
        """Writes the equations of all cotangents."""
        tensors = dict.fromkeys((*all_tensors(program), *self._definitions))
        for component in components(tensors, self.forward.equations, self.active):
            first = self._definitions.get(component[0], [])
            if not first:
                continue  # an input: its cotangent comes last, in the order asked for
            if isinstance(first[0], Invoke):
                self._call(first[0], component)
            elif self._is_recurrence(component):
                self._recurrence(component)
            elif (cotangent := self._complete(component[0])) is not None:
                self._pull_back(component[0], cotangent)
        for tensor in self.results:
            if tensor not in self._cotangents:
                self._define(tensor, self.results[tensor])

    def _is_recurrence(self, component: list[Tensor]) -> bool:
        own = set(component)
        definitions = (e for t in component for e in self._definitions.get(t, []))
        return len(component) > 1 or any(own & set(smooth_sources(e)) for e in definitions)

    def _pull_back(self, tensor: Tensor, cotangent: Tensor) -> None:
        for equation in self._definitions.get(tensor, []):
            assert isinstance(equation, Equation)
            for found in contributions(equation, cotangent, self.active, self.forward, self.folds):
                self._of(found.tensor).reads.append(found)

    def _of(self, tensor: Tensor) -> _Parts:
        return self._parts.setdefault(tensor, _Parts())

    def _complete(self, tensor: Tensor) -> Tensor | None:
        """The tensor's cotangent, now that all its users are done; None if nothing contributes
        to it.
        """
        parts, seed = self._of(tensor), self.seeds.get(tensor)
        if not parts and seed is None:
            return None
        if tensor in self.results:
            return self._define(tensor, self.results[tensor])
        if not parts or (seed is None and len(parts.whole) == 1 and not parts.reads):
            self._cotangents[tensor] = parts.whole[0] if seed is None else seed
            return self._cotangents[tensor]
        return self._define(tensor, self._new(tensor))

    def _new(self, tensor: Tensor) -> Tensor:
        wish = f"d{tensor.name}_total" if tensor in self.seeds else f"d{tensor.name}"
        return Tensor(self.names.fresh(wish), tensor.dtype, tensor.dims)

    def _recurrence(self, component: list[Tensor]) -> None:
        """Tensors that need each other: so do their cotangents."""
        for tensor in component:
            self._cotangents[tensor] = self.results.get(tensor) or self._new(tensor)
        for tensor in component:
            self._pull_back(tensor, self._cotangents[tensor])
        for tensor in component:
            self._define(tensor, self._cotangents[tensor], recurrent=True)

    def _define(self, tensor: Tensor, cotangent: Tensor, recurrent: bool = False) -> Tensor:
        """Writes the equations of `cotangent`: one sum of gathers, then the folds."""
        parts = self._of(tensor)
        self._cotangents[tensor] = cotangent
        axes = target_axes(tensor, parts.reads)
        element = tuple(axis.var for axis in axes)
        contributions = [
            c
            for read in parts.reads
            for c in (unfolded(read) if recurrent else _unfolded(read, axes, element))
        ]
        inverted = _inverted_in_recurrences if recurrent else gather
        rows = [] if recurrent else [c for c in contributions if in_rows(c, axes, element)]
        gathered = [(c, None if c in rows else inverted(c, axes, element)) for c in contributions]
        folds = [c for c, term in gathered if term is None]
        wide = accumulator(tensor.dtype)
        into = (
            cotangent
            if not folds or wide == tensor.dtype
            else Tensor(self.names.fresh(f"{cotangent.name}_wide"), wide, tensor.dims)
        )
        reads = [c for c in contributions if c not in folds]
        wholes = [*([self.seeds[tensor]] if tensor in self.seeds else []), *parts.whole]
        apart = (
            [(axes, element)]
            if recurrent
            else phases(axes, [term for _, term in gathered if term is not None])
        )
        for part, at in apart:
            terms: list[Expr] = [Read(w, at) for w in wholes]
            terms += [term for c in reads if (term := inverted(c, part, at)) is not None]
            self._emit(Equation(into, at, part, _sum_of(terms, into)))
        for fold in folds:
            self._emit(scatter(fold, into))
        if into is not cotangent:
            self._emit(Equation(cotangent, element, axes, convert(Read(into, element), tensor.dtype)))
        return cotangent

    def _emit(self, equation: Equation | Invoke) -> None:
        self.equations.append(freshen(equation, self.names.reserved))

    def _call(self, call: Invoke, component: list[Tensor]) -> None:
        """dX, dW = f_grad(X, W, dY) for Y = f(X, W)."""
        found = {t: self._complete(t) for t in component}
        cotangents = {formal: found.get(t) for t, formal in zip(call.targets, call.program.outputs)}
        known = {formal: cotangent for formal, cotangent in cotangents.items() if cotangent is not None}
        needed = [
            (a, formal)
            for a, formal in zip(call.args, call.program.inputs)
            if a in self.active and formal.dtype.is_float
        ]
        if not known or not needed:
            return
        gradient = self.callee_gradient(
            call.program, tuple(f.name for _, f in needed), tuple(f.name for f in known)
        )
        results = tuple(Tensor(self.names.fresh(f"d{a.name}"), a.dtype, a.dims) for a, _ in needed)
        self._emit(Invoke(results, gradient, (*call.args, *known.values()), call.span))
        for (argument, _), result in zip(needed, results):
            self._of(argument).whole.append(result)


def _unfolded(read: Contribution, target: tuple[Axis, ...], element: tuple[Expr, ...]) -> list[Contribution]:
    """The contributions in the place of a read through a boundary, where they are few and each
    is a sum over what read an element.
    """
    if in_rows(read, target, element):
        return [read]
    found = unfolded(read)
    return (
        found
        if len(found) <= MOST_CASES and all(gather(c, target, element) is not None for c in found)
        else [read]
    )


def _inverted_in_recurrences(
    contribution: Contribution, target: tuple[Axis, ...], element: tuple[Expr, ...]
) -> Expr:
    found = gather(contribution, target, element)
    return searched(contribution, target, element) if found is None else found


def _sum_of(terms: list[Expr], into: Tensor) -> Expr:
    wide = accumulator(into.dtype)
    result: Expr | None = None
    for term in terms:
        result = plus(result, convert(term, wide if len(terms) > 1 else term.dtype))
    return zero(into.dtype) if result is None else convert(result, into.dtype)
