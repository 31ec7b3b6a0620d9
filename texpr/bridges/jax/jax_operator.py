"""`tx.jax.op`: an operator as a function of JAX's arrays."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

from texpr.bridges.derived import Described
from texpr.bridges.jax.jax_dtypes import aval_of, jax_dtype, refuse_f64
from texpr.compiler import Op
from texpr.compiler.operator_signature import signature_of
from texpr.graph.capture.capture import resolve_program
from texpr.ir.dtypes import DType, from_numpy
from texpr.ir.expr import Tensor
from texpr.ir.tensor import Program
from texpr.runtime.call.fast_path import result_type
from texpr.support.errors import CallError
from texpr.support.extras import needs
from texpr.support.late import late

if TYPE_CHECKING:
    import jax

    from texpr.bridges.jax import jax_primitives
else:
    jax, jax_primitives = late("jax"), late("texpr.bridges.jax.jax_primitives")


def op(operator: Op) -> JaxOp:
    """An operator as a function of JAX's arrays, for `jax.jit`, `jax.grad`, `jax.vmap` and what is
    made of them.

    XLA calls the operator's kernel itself, by its FFI: no Python runs in the call, and arrays are
    taken where they lie. A kernel is compiled for the shapes and dtypes of each trace, and stays
    until the process ends. Derivatives are the operators of `tx.vjp` and `tx.jvp`; second and
    further ones are derivatives of these. Batches are those of `tx.vmap`.

    Arguments are those of the operator: inputs by position or name, constants by name. Numbers take
    the dtype of what they meet. Kernels run on CPUs.

    Raises:
        CallError: it is no operator. When called: arguments that do not fit; an f64 array without
            `jax_enable_x64`.
        CheckError: when differentiated, if something has no derivative.
        CompileError: when called, if the operator is a function of Python.
        MissingExtra: JAX is not installed.
    Example:
        >>> softplus = tx.op("op softplus(X: f32[N]) -> Y: f32[N] { Y[i] = log(1 + exp(X[i])) }")
        >>> f = tx.jax.op(softplus)
        >>> import jax
        >>> jax.grad(lambda x: f(x).sum())(jax.numpy.zeros(3)).tolist()
        [0.5, 0.5, 0.5]
    """
    signature_of(operator)
    with needs("jax", "tx.jax"):
        import jax  # noqa: F401
        import jax.ffi  # noqa: F401, in JAX since 0.5
    return JaxOp(operator)


class JaxOp:
    """An operator as a function of JAX's arrays; `tx.jax.op` makes it.

    Attributes:
        operator: the operator.
    Example:
        >>> double = tx.jax.op(tx.op("op double(X: f32[N]) -> Y: f32[N] { Y[i] = 2 * X[i] }"))
        >>> double, double(1 + np.arange(2, dtype="f4")).tolist()
        (<jax op double(X: f32[N]) -> Y: f32[N]>, [2.0, 4.0])
    """

    def __init__(self, operator: Op) -> None:
        self.operator = operator
        self.__name__, self.__doc__ = operator.__name__, operator.__doc__
        self._functions: dict[tuple, Any] = {}
        self._by_position: dict[int, Any] = {}

    def __call__(self, *arrays: object, **options: object) -> Any:
        """Compute it, or trace it: an array, or a named tuple of several."""
        function = None if options else self._by_position.get(len(arrays))
        if function is None:
            function, arrays = self._function(arrays, options)
        return function(*arrays)

    def _function(
        self, arrays: tuple[object, ...], options: Mapping[str, object]
    ) -> tuple[Any, tuple[object, ...]]:
        """The function that JAX compiles for the inputs and constants of a call, and the inputs in order."""
        signature = self.operator.signature
        constants = {c.name: options[c.name] for c in signature.constants if c.name in options}
        inputs = self.operator.inputs_by_name(
            arrays, {n: v for n, v in options.items() if n not in constants}
        )
        values = signature.checked(constants)
        key = (tuple(inputs), *((n, type(v), repr(v)) for n, v in values.items()))
        function = self._functions.get(key)
        if function is None:
            function = self._functions[key] = jax.jit(self._traced(tuple(inputs), values), inline=True)
        if not options:
            self._by_position[len(arrays)] = function
        return function, tuple(inputs.values())

    def _traced(self, names: tuple[str, ...], constants: Mapping[str, object]) -> Any:
        """The function that JAX traces, of inputs in order."""

        def traced(*values: Any) -> Any:
            given = dict(zip(names, values))
            described = {n: _described(self.__name__, n, x) for n, x in given.items()}
            program = resolve_program(self.operator, described, constants)
            for t in (*program.inputs, *program.outputs):
                refuse_f64(program.name, t.name, t.dtype)
            arguments = [_argument(program.name, t, given[t.name]) for t in program.inputs]
            return _wrapped(program, jax_primitives.call(program, arguments))

        traced.__name__ = self.__name__
        return traced

    def __repr__(self) -> str:
        return f"<jax op {self.operator.signature}>"

    def __reduce__(self) -> tuple:
        return op, (self.operator,)


def _described(operator: str, name: str, value: Any) -> Described | int:
    """An array before it has values; 0 for a number, which has no dtype."""
    aval = aval_of(value)
    if aval.weak_type and not aval.shape:
        return 0
    dtype = from_numpy(aval.dtype)
    if dtype is None:
        raise CallError(
            f"{operator}: `{name}` is {aval.dtype}, which texpr does not have",
            code="dtype",
            help=f'convert it: {name}.astype("float32")',
        )
    return Described(tuple(aval.shape), dtype)


def _argument(operator: str, tensor: Tensor, value: Any) -> Any:
    """An argument in the dtype that it has for JAX.

    Raises:
        CallError: it is of another dtype.
    """
    aval, wanted = aval_of(value), jax_dtype(tensor.dtype)
    if aval.dtype == wanted and not aval.weak_type:
        return value
    if aval.dtype == wanted or aval.weak_type and not aval.shape and _adopts(aval.dtype.kind, tensor.dtype):
        return jax.lax.convert_element_type(value, wanted)
    raise CallError(
        f"{operator}: `{tensor.name}` is {aval.dtype}, expected {wanted}",
        code="dtype",
        help=f'convert it: {tensor.name}.astype("{wanted}")',
    )


def _adopts(kind: str, t: DType) -> bool:
    """True if a number of a kind (`b`, `i`, `f`) may become a dtype: bool -> int -> float."""
    return kind in ("b" if t.kind == "bool" else "bi" if t.is_int else "bif")


def _wrapped(program: Program, outputs: list[Any]) -> Any:
    if len(outputs) == 1:
        return outputs[0]
    return result_type(program.name, tuple(t.name for t in program.outputs))(*outputs)
