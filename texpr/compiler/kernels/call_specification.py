"""Specification of a kernel's call on inputs of some shapes: arguments, sizes, checks."""

from __future__ import annotations

from collections.abc import Mapping
from math import prod

from texpr.compiler.call_checks import (
    check_requirements,
    input_checks,
    refuse_endless,
    refuse_far,
    refuse_huge,
    refuse_many,
)
from texpr.compiler.kernels.certified import CertifiedLoops
from texpr.compiler.kernels.native_code import NativeCode
from texpr.ir.build import integer
from texpr.ir.dtypes import ML_DTYPES, numpy_dtype
from texpr.ir.expr import Expr, Tensor, Var
from texpr.ir.printing.expr import show
from texpr.ir.shapes import Shape, bind_sizes, caller_shape, evaluate_size
from texpr.ir.tensor import Program
from texpr.ir.traverse import variables
from texpr.passes import specialize
from texpr.runtime.call.spec import Argument, CallSpec, Check, Computed, DistinctCheck, Extent, RangeCheck
from texpr.support.errors import CallError
from texpr.support.frozen_dataclass import frozen, replace


@frozen
class Specification:
    """Specification of a call, checked.

    Attributes:
        spec: for native code.
        sizes, packs: what the shapes say.
    """

    spec: CallSpec
    sizes: Mapping[Var, int]
    packs: Mapping[Var, Shape]

    def output_shapes(self, program: Program) -> tuple[Shape, ...]:
        """The shapes of the outputs, as callers see them."""
        return tuple(caller_shape(t, self.sizes, self.packs) for t in program.outputs)


class CallSpecifier:
    """Finds out what calls of a kernel take. The last answer is kept: a call is bound twice."""

    def __init__(self, loops: CertifiedLoops) -> None:
        self._loops = loops
        self._last: tuple[tuple[Shape, ...], Specification | None] = (), None

    def of(self, shapes: tuple[Shape, ...], code: NativeCode | None) -> Specification:
        """The specification of a call on inputs of these shapes.

        Args:
            code: what runs, where that is native.
        Raises:
            CallError: the shapes do not fit the kernel, or one of its requirements.
            ResourceError: an array would be larger than any memory.
        """
        known, found = self._last
        if known != shapes or found is None:
            found = self._specify(shapes, code)
            self._last = shapes, found
        return found

    def pinned(self, found: Specification, shapes: tuple[Shape, ...]) -> CallSpec:
        """The specification for these shapes alone, which were checked: sizes are told, not
        taken from arrays.
        """
        loops, sizes = self._loops, found.sizes
        return replace(
            found.spec,
            arguments=_arguments(loops.program, shapes, found),
            sizes=tuple(sizes[v] for v in loops.symbolic),
            checks=input_checks(loops.program.inputs, sizes),
        )

    def _specify(self, shapes: tuple[Shape, ...], code: NativeCode | None) -> Specification:
        loops, program = self._loops, self._loops.program
        sizes, packs = bind_sizes(program.inputs, shapes)
        self._check(sizes)
        found = Specification(CallSpec(loops.name, (), (), input_checks(program.inputs, sizes)), sizes, packs)
        spec = replace(found.spec, arguments=_arguments(program, shapes, found))
        if code is not None:  # not before sizes are checked: it may be compiled now
            built = code.for_calls.built
            spec = replace(spec, duration=built.duration, short_up_to=built.short_up_to)
            for buffer in built.buffers:
                refuse_many(
                    loops.name, buffer.name, buffer.item, [evaluate_size(e, sizes) for e in buffer.extents]
                )
        return replace(found, spec=self._symbolic(spec, sizes) if loops.symbolic else spec)

    def _check(self, sizes: Mapping[Var, int]) -> None:
        """Refuse sizes that the kernel is not for."""
        loops, program = self._loops, self._loops.program
        for size, n in loops.sizes.items():
            if sizes[size] != n:
                raise CallError(
                    f"{loops.name} was compiled for {size.name} = {n}, and {size.name} = {sizes[size]} here",
                    code="shape",
                    help=f"leave {size.name} out of tx.schedule(...) to keep it symbolic",
                )
        check_requirements(loops.name, program.requires, sizes)
        refuse_huge(loops.name, (*program.inputs, *program.outputs, *program.temporaries), sizes)
        refuse_far(program, sizes)
        if (
            prod(n for n in sizes.values() if n > 1) >= 1 << 62
        ):  # else no product of sizes is so large, and loops need not be made
            refuse_endless(loops.kernel, sizes)

    def _symbolic(self, spec: CallSpec, sizes: Mapping[Var, int]) -> CallSpec:
        """The specification with sizes taken from the arrays, if every dimension that callers see
        is one of the kernel's; otherwise sizes are given.
        """
        loops = self._loops
        program = specialize(loops.program, loops.sizes)
        tensors = (*program.inputs, *program.outputs)
        if any(d.pack or len(d.sizes) > 1 for t in tensors for d in t.dims):
            return replace(spec, sizes=tuple(sizes[v] for v in loops.symbolic))
        arguments = tuple(_argument(t, tuple(map(_extent, t.shape)), t in program.outputs) for t in tensors)
        checks: list[Check] = [
            RangeCheck(k, t.name, _extent(t.value_range[0]), _extent(t.value_range[1]))
            for k, t in enumerate(program.inputs)
            if t.value_range is not None
        ]
        checks += [
            DistinctCheck(k, t.name, _extent(t.shape[-1]))
            for k, t in enumerate(program.inputs)
            if t.distinct and t.dims
        ]
        return replace(
            spec, arguments=arguments, sizes=tuple(v.name for v in loops.symbolic), checks=tuple(checks)
        )


def _arguments(program: Program, shapes: tuple[Shape, ...], found: Specification) -> tuple[Argument, ...]:
    inputs = [_argument(t, shape) for t, shape in zip(program.inputs, shapes)]
    outputs = zip(program.outputs, found.output_shapes(program))
    return (*inputs, *(_argument(t, shape, output=True) for t, shape in outputs))


def _argument(tensor: Tensor, shape: tuple[Extent, ...], output: bool = False) -> Argument:
    return Argument(tensor.name, numpy_dtype(tensor.dtype), shape, output, ML_DTYPES.get(tensor.dtype, ""))


def _extent(e: Expr) -> Extent:
    """A size as the call path takes it: a number, a name, or something to compute."""
    if (n := integer(e)) is not None:
        return n
    if isinstance(e, Var):
        return e.name
    used = variables(e)
    return Computed(show(e), lambda sizes: evaluate_size(e, {v: sizes[v.name] for v in used}))
