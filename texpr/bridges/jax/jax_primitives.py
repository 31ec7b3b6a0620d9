"""The two primitives of JAX by which operators are called, and their rules.

`texpr` computes a program. `texpr_tangent` computes the tangents of its float outputs: it is linear
in the tangents of the inputs, and its transpose is the backward half of the program, which is
called by `texpr` again. So every rule ends in calls of programs, and derivatives of any order and
direction mix, as far as texpr derives them.

A primitive and not `jax.custom_vjp`, which has no forward mode and so no `jax.hessian`.
"""

from __future__ import annotations

from collections.abc import Sequence
from contextlib import suppress
from functools import cache, lru_cache, partial
from typing import TYPE_CHECKING, Any

from texpr.bridges.derivative_programs import float_outputs, halves, recomputing, tangents
from texpr.bridges.derived import results_of
from texpr.bridges.jax.jax_dtypes import aval_of, has_64_bits, jax_dtype, own_dtype
from texpr.bridges.jax.xla_kernels import TARGET, kernel_number, register_handler
from texpr.ir.dtypes import F64, DType
from texpr.ir.index.overflow import programs_of
from texpr.ir.tensor import Program
from texpr.passes.tensor.batch_axis import vmap
from texpr.passes.tensor.batched_extern import of_one_example
from texpr.support.errors import CheckError
from texpr.support.frozen_dataclass import frozen
from texpr.support.late import late

if TYPE_CHECKING:
    import jax
    import jax.extend.core as jax_core
    import jax.extend.mlir.dialects.stablehlo as stablehlo
    import jax.extend.mlir.ir as mlir_ir
    import jax.interpreters.ad as ad
    import jax.interpreters.batching as batching
    import jax.interpreters.mlir as mlir
    import numpy as np
else:
    jax, jax_core, np = late("jax"), late("jax.extend.core"), late("numpy")
    stablehlo, mlir_ir = late("jax.extend.mlir.dialects.stablehlo"), late("jax.extend.mlir.ir")
    ad, batching = late("jax.interpreters.ad"), late("jax.interpreters.batching")
    mlir = late("jax.interpreters.mlir")


def call(program: Program, arguments: Sequence[Any]) -> list[Any]:
    """The outputs of a program of JAX's arrays."""
    return _call().bind(*arguments, op=_named(program))


@frozen
class _Named:
    """A program as the parameter of a primitive: it prints as its name."""

    program: Program

    def __repr__(self) -> str:
        return self.program.name


@lru_cache(maxsize=4096)
def _named(program: Program) -> _Named:
    return _Named(program)


# ---- texpr: a program ----


@cache
def _call() -> Any:
    register_handler()
    primitive = _primitive("texpr", _call_shapes, _lowered_call, _batched_call)
    ad.primitive_jvps[primitive] = lambda given, directions, *, op: _derived(op.program, given, directions)
    return primitive


def _primitive(name: str, shapes: Any, lowered: Any, batched: Any) -> Any:
    made = jax_core.Primitive(name)
    made.multiple_results = True
    made.def_impl(lambda *given, **options: _compiled(made, tuple(options.items()))(*given))
    made.def_abstract_eval(shapes)
    mlir.register_lowering(made, lowered, platform="cpu")
    batching.primitive_batchers[made] = batched
    return made


@lru_cache(maxsize=4096)
def _compiled(primitive: Any, options: tuple[tuple[str, Any], ...]) -> Any:
    """A primitive outside of `jax.jit`."""
    return jax.jit(partial(primitive.bind, **dict(options)))


def _avals(program: Program, given: Sequence[Any]) -> list[tuple[DType, Any]]:
    """The outputs of a program as JAX knows them, with their dtypes in texpr."""
    results = results_of(program, tuple(tuple(a.shape) for a in given))
    return [(r.dtype, jax.core.ShapedArray(r.shape, jax_dtype(r.dtype))) for r in results]


def _call_shapes(*given: Any, op: _Named) -> list[Any]:
    return [aval for _, aval in _avals(op.program, given)]


def _lowered_call(context: Any, *operands: Any, op: _Named) -> list[Any]:
    """The call in StableHLO. Integers that have 32 bits in JAX and 64 in the kernel are converted
    on both sides.
    """
    program = op.program
    shapes = tuple(tuple(a.shape) for a in context.avals_in)
    types = [_ir_type(a.shape, own_dtype(t.dtype)) for t, a in zip(program.outputs, context.avals_out)]
    given = [
        _converted(x, a, own_dtype(t.dtype)) for x, a, t in zip(operands, context.avals_in, program.inputs)
    ]
    rule = jax.ffi.ffi_lowering(TARGET, result_types=types)
    results = rule(context, *given, kernel=np.int64(kernel_number(program, shapes)))
    return [
        stablehlo.convert(_ir_type(a.shape, a.dtype), x) if own_dtype(t.dtype) != a.dtype else x
        for x, a, t in zip(results, context.avals_out, program.outputs)
    ]


def _converted(operand: Any, aval: Any, dtype: np.dtype) -> Any:
    return operand if aval.dtype == dtype else stablehlo.convert(_ir_type(aval.shape, dtype), operand)


def _ir_type(shape: Sequence[int], dtype: np.dtype) -> Any:
    return mlir_ir.RankedTensorType.get(tuple(shape), mlir.dtype_to_ir_type(np.dtype(dtype)))


def _batched_call(given: Sequence[Any], axes: Sequence[int | None], *, op: _Named) -> tuple[list, list[int]]:
    found = _mapped(op.program, tuple(axes))
    if found is None:
        return _in_turn(partial(_call().bind, op=op), given, axes)
    program, places = found
    results = call(program, _moved(given, axes, places))
    return results, [0] * len(results)


@lru_cache(maxsize=1024)
def _mapped(program: Program, axes: tuple[int | None, ...]) -> tuple[Program, tuple[int | None, ...]] | None:
    """The program with one more index, and where it takes the examples in its inputs: where they
    lie, or in front where that is inside of a pack. None for operators of the runtime that take no
    further dimension, or by a function of Python alone.
    """
    for places in (axes, tuple(None if axis is None else 0 for axis in axes)):
        with suppress(CheckError):
            made = vmap(program, places, (0,) * len(program.outputs))
            return None if any(map(of_one_example, programs_of(made))) else (made, places)
    return None


def _moved(given: Sequence[Any], axes: Sequence[int | None], places: Sequence[int | None]) -> list[Any]:
    return [
        x if axis is None or axis == place else jax.numpy.moveaxis(x, axis, place)
        for x, axis, place in zip(given, axes, places)
    ]


def _in_turn(function: Any, given: Sequence[Any], axes: Sequence[int | None]) -> tuple[list, list[int]]:
    """A function of each element of a batch, one after the other."""
    batch = {
        k: jax.numpy.moveaxis(x, axis, 0) for k, (x, axis) in enumerate(zip(given, axes)) if axis is not None
    }

    def one(elements: dict[int, Any]) -> list[Any]:
        return function(*(elements.get(k, x) for k, x in enumerate(given)))

    results = jax.lax.map(one, batch)
    return results, [0] * len(results)


# ---- Derivatives ----


def _derived(program: Program, given: Sequence[Any], directions: Sequence[Any]) -> tuple[list, list]:
    """The outputs of a program, and their tangents."""
    wrt = tuple(
        k
        for k, (t, d) in enumerate(zip(program.inputs, directions))
        if t.dtype.is_float and not isinstance(d, ad.Zero)
    )
    results = float_outputs(program)
    if not wrt or not results:
        outputs = call(program, given)
        return outputs, [_no_tangent(x) for x in outputs]
    shared = _shares(program, wrt)
    known = call(halves(program, wrt).forward if shared else program, given)
    outputs = known[: len(program.outputs)]
    kept = known if shared else ()
    found = iter(
        _tangent().bind(*given, *kept, *(directions[k] for k in wrt), of=_Linear(program, wrt, shared))
    )
    return outputs, [
        next(found) if t.dtype.is_float else _no_tangent(x) for t, x in zip(program.outputs, outputs)
    ]


@lru_cache(maxsize=1024)
def _has_halves(program: Program, wrt: tuple[int, ...]) -> bool:
    """False where there is no gradient: there may be tangents still."""
    try:
        halves(program, wrt)
    except CheckError:
        return False
    return True


def _shares(program: Program, wrt: tuple[int, ...]) -> bool:
    """True if backward takes residuals of forward: they must be arrays that JAX has."""
    if not _has_halves(program, wrt):
        return False
    residuals = halves(program, wrt).forward.outputs[len(program.outputs) :]
    return has_64_bits() or all(t.dtype != F64 for t in residuals)


def _no_tangent(x: Any) -> Any:
    return ad.Zero(aval_of(x).to_tangent_aval())


# ---- texpr_tangent: tangents of a program, linear in the tangents of its inputs ----


@frozen
class _Linear:
    """The parameter of the primitive. Its arguments are the inputs of the program; where residuals
    are shared, the outputs of its forward half; tangents.

    Attributes:
        wrt: positions of the inputs that have tangents.
        shared: the transpose is the backward half, which takes residuals.
    """

    program: Program
    wrt: tuple[int, ...]
    shared: bool

    def __repr__(self) -> str:
        return f"{self.program.name}[{', '.join(self.program.inputs[k].name for k in self.wrt)}]"

    @property
    def tangents(self) -> Program:
        """The program of the tangents."""
        return tangents(self.program, self.wrt)

    def arguments(self, given: Sequence[Any]) -> list[Any]:
        """The arguments of that program, which has no use for residuals."""
        return [*given[: len(self.program.inputs)], *given[len(given) - len(self.wrt) :]]


@cache
def _tangent() -> Any:
    primitive = _primitive("texpr_tangent", _tangent_shapes, _lowered_tangent, _batched_tangent)
    ad.primitive_jvps[primitive] = _derived_tangent
    ad.primitive_transposes[primitive] = _transposed
    return primitive


def _tangent_shapes(*given: Any, of: _Linear) -> list[Any]:
    found = _avals(of.program, given[: len(of.program.inputs)])
    return [aval for dtype, aval in found if dtype.is_float]


def _lowered_tangent(context: Any, *operands: Any, of: _Linear) -> Any:
    def compute(*given: Any, of: _Linear) -> list[Any]:
        return call(of.tangents, of.arguments(given))

    return mlir.lower_fun(compute, multiple_results=True)(context, *operands, of=of)


def _derived_tangent(given: Sequence[Any], directions: Sequence[Any], *, of: _Linear) -> tuple[list, list]:
    """Tangents of tangents. Residuals are functions of the inputs, which stand beside them."""
    return _derived(of.tangents, of.arguments(given), of.arguments(directions))


def _transposed(cotangents: Sequence[Any], *given: Any, of: _Linear) -> list[Any]:
    """Cotangents of the tangents: the backward half."""
    count, known = len(of.program.inputs), given[: len(given) - len(of.wrt)]
    seeds = [ad.instantiate_zeros(c) for c in cotangents]
    if of.shared:
        parts = halves(of.program, of.wrt)
        results = call(parts.backward, parts.arguments(known[:count], known[count:], seeds))
    else:
        results = call(recomputing(of.program, of.wrt), [*known, *seeds])
    return [*(None for _ in known), *results]


def _batched_tangent(
    given: Sequence[Any], axes: Sequence[int | None], *, of: _Linear
) -> tuple[list, list[int]]:
    """Linear again: an input has the examples where it or its tangent has them. Residuals are left
    behind, as the program of all examples has others.
    """
    count, first = len(of.program.inputs), len(given) - len(of.wrt)
    along = {k for k in range(count) if axes[k] is not None}
    along |= {k for j, k in enumerate(of.wrt) if axes[first + j] is not None}
    found = _mapped(of.program, tuple(0 if k in along else None for k in range(count))) if along else None
    if found is None:
        return _in_turn(partial(_tangent().bind, of=of), given, axes)
    size = next(x.shape[axis] for x, axis in zip(given, axes) if axis is not None)
    inputs = [
        _in_front(x, axis, size) if k in along else x for k, (x, axis) in enumerate(zip(given[:count], axes))
    ]
    moved = [
        _in_front(x, axis, size) if k in along else x
        for k, x, axis in zip(of.wrt, given[first:], axes[first:])
    ]
    results = _tangent().bind(*inputs, *moved, of=_Linear(found[0], of.wrt, False))
    return results, [0] * len(results)


def _in_front(x: Any, axis: int | None, size: int) -> Any:
    """The same with its examples in front: one for all is there `size` times."""
    return jax.numpy.broadcast_to(x, (size, *x.shape)) if axis is None else jax.numpy.moveaxis(x, axis, 0)
