"""`tx.debug`: values of tensors inside an operator."""

from __future__ import annotations

from collections.abc import Callable, Sequence

import numpy as np

from texpr.compiler.op import Op, default_kernel, instance, sizes_of
from texpr.ir.interpreter.tensor import interpret as interpret_program
from texpr.ir.tensor import Program
from texpr.support.errors import CallError
from texpr.support.frozen_dataclass import replace
from texpr.support.suggest import did_you_mean, known_arguments
from texpr.support.tracebacks import boundary, forwards

__all__ = ["Watched", "watch"]
MOST_SHOWN = 10
"""Elements of a tensor that are printed with a call."""
Condition = Callable[[np.ndarray], object]


class Watched:
    """An operator whose tensors are looked at with each call: see `watch`.

    Attributes:
        values: for each call, the watched tensors by name.
        exact: False once the kernel that also gives intermediates had another result than the
            operator's own. Then its sums are in another order, and watched values differ by
            rounding from those inside of the operator's kernel.
    Raises:
        CallError: in a call, arrays that the operator does not take.
    Example:
        >>> scaled = tx.op("op scaled(X: f32[N]) -> Y: f32[N] { m = max(i: X[i])  Y[i] = X[i] / m }")
        >>> seen = tx.debug.watch(scaled, "m", to=None)
        >>> y, z = seen(np.float32([1, 2])), seen(np.float32([3]))
        >>> [float(values["m"]) for values in seen.values]
        [2.0, 3.0]
    """

    def __init__(
        self,
        operator: Op,
        names: tuple[str, ...],
        where: Condition | None,
        to: Callable[[str], object] | None,
    ) -> None:
        self.values: list[dict[str, np.ndarray]] = []
        self.exact = True
        self._operator, self._names, self._where, self._to = operator, names, where, to

    @boundary
    def __call__(self, *arrays: object, **options: object) -> object:
        """Result of the operator, by its own kernel."""
        out = {"out": options.pop("out")} if "out" in options else {}
        program, given = instance(self._operator, arrays, options)  # before `out` may be written to
        seeing = self._seeing(program)
        kernel = default_kernel(seeing, sizes_of(seeing, tuple(a.shape for a in given)))
        found = _listed(kernel(*given), len(seeing.outputs))
        result = self._operator(*arrays, **options, **out)
        self._keep(seeing, given, found)
        self.exact &= all(map(_same, _listed(result, len(program.outputs)), found))
        return result

    @boundary
    def interpret(self, *arrays: object, **options: object) -> object:
        """Result of `tx.interpret`, which also gives the watched values."""
        program, given = instance(self._operator, arrays, options)
        seeing = self._seeing(program)
        found = interpret_program(seeing, given)
        self._keep(seeing, given, found)
        own = found[: len(program.outputs)]
        return own[0] if len(own) == 1 else own

    def _seeing(self, program: Program) -> Program:
        """The program with the watched intermediates as further outputs."""
        known = {t.name: t for t in (*program.inputs, *program.outputs, *program.temporaries)}
        for name in self._names:
            if name not in known:
                raise CallError(
                    f"{program.name} has no tensor `{name}`", code="watch", help=did_you_mean(name, known)
                )
        inside = tuple(t for t in program.temporaries if t.name in self._names)
        return replace(program, outputs=(*program.outputs, *inside)) if inside else program

    @forwards
    def _keep(self, program: Program, given: Sequence[np.ndarray], found: Sequence[object]) -> None:
        every = {t.name: a for t, a in zip((*program.inputs, *program.outputs), (*given, *found))}
        values = {name: np.array(every[name]) for name in self._names}
        self.values.append(values)
        for name, value in values.items() if self._to is not None else ():
            for line in self._lines(program.name, name, value):
                self._to(line)  # type: ignore[misc]

    def _lines(self, operator: str, name: str, value: np.ndarray) -> list[str]:
        """The elements where the condition holds, or the whole tensor without one."""
        if self._where is None:
            shown = np.array2string(value, threshold=100) if value.ndim else str(value[()])
            return [f"{operator}: {name} = {shown}"]
        places = np.argwhere(self._chosen(name, value, self._where))
        lines = [
            f"{operator}: {name}[{', '.join(map(str, at))}] = {value[tuple(at)]}"
            if len(at)
            else f"{operator}: {name} = {value[()]}"
            for at in places[:MOST_SHOWN]
        ]
        rest = len(places) - len(lines)
        return [*lines, *([f"{operator}: {name}: {rest} more of {value.size}"] if rest else [])]

    @staticmethod
    @forwards
    def _chosen(name: str, value: np.ndarray, where: Condition) -> np.ndarray:
        chosen = np.asarray(where(value), bool)
        if chosen.shape not in ((), value.shape):
            raise CallError(
                f"`where` gives {list(chosen.shape)} for `{name}` of shape {list(value.shape)}",
                code="watch",
                help="give a boolean for each element: lambda values: ~np.isfinite(values)",
            )
        return np.broadcast_to(chosen, value.shape)


@known_arguments
def watch(
    operator: Op, *names: str, where: Condition | None = None, to: Callable[[str], object] | None = print
) -> Watched:
    """An operator that tells the values of its tensors with each call: inputs, outputs, and
    intermediates.

    Its results are those of the operator, computed by the operator's own kernel. Intermediates come
    from a second kernel, which has them as further outputs. In the operator's own one an intermediate
    may be no array at all, because it is fused or inlined: then its value is the one that each reader
    computes, as the equation says. `exact` says whether both kernels gave the same bits.

    Args:
        names: of the tensors.
        where: given the values, says which are told: a boolean for each, or one for all of them. All
            are told unless it is given.
        to: is called with each line of text; None only collects them in `values`.
    Raises:
        CallError: there is no such tensor; arguments that do not fit; `where` gives another shape.
    Example:
        >>> scaled = tx.op("op scaled(X: f32[N]) -> Y: f32[N] { m = max(i: X[i])  Y[i] = X[i] / m }")
        >>> seen = tx.debug.watch(scaled, "m", "Y", where=lambda v: ~np.isfinite(v))
        >>> y = seen(np.float32([0, -1, 0]))
        scaled: Y[0] = nan
        scaled: Y[1] = -inf
        scaled: Y[2] = nan
        >>> seen.values[0]["m"], seen.exact
        (array(0., dtype=float32), True)
    """
    if not isinstance(operator, Op):
        raise CallError(
            f"watch takes an operator, not {type(operator).__name__}", code="arguments", help="tx.op(text)"
        )
    if not names or not all(isinstance(name, str) for name in names):
        raise CallError("watch takes names of tensors", code="arguments", help='tx.debug.watch(op, "m")')
    return Watched(operator, names, where, to)


def _listed(results: object, count: int) -> tuple[object, ...]:
    return (results,) if count == 1 else tuple(results)  # type: ignore[arg-type]


def _same(a: object, b: object) -> bool:
    """True if two results have the same bits, NaN for NaN."""
    x, y = np.asarray(a), np.asarray(b)
    return x.dtype == y.dtype and x.shape == y.shape and x.tobytes() == y.tobytes()
