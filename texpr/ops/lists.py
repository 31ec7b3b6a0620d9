"""Operators of the library that also take more tensors, `ops.concat(a, b, c, axis=1)`, or a list
of them: their texts, one per length.
"""

from __future__ import annotations

from functools import cache

from texpr.compiler import Op, op
from texpr.support.errors import CallError

WIDEST = 32
"""Of so many tensors one operator is made; more are joined in several steps. Its text and its
proof grow with the square.
"""


class ListOp(Op):
    """An operator of two tensors, and of any number of them, also in a list or tuple."""

    def _general(self, *arrays: object, **options: object) -> object:
        """As `Op`, for any number of tensors; a single list or tuple stands for its elements.

        Raises:
            CallError: the list is empty, or arguments do not fit.
        """
        if len(arrays) > 2:
            arrays = (arrays,)
        if len(arrays) != 1 or not isinstance(arrays[0], list | tuple):
            return super()._general(*arrays, **options)
        if not arrays[0]:
            raise CallError(
                f"{self.__name__} of no tensors", code="arguments", help="give a list of at least one"
            )
        return of_many(self.__name__, list(arrays[0]), options)


def of_many(name: str, given: list[object], options: dict[str, object]) -> object:
    """The operator of any number of tensors: groups of them, whose results follow each other
    along the axis.
    """
    if len(given) <= WIDEST:
        return of_length(name, len(given))(*given, **options)
    apart = {n: v for n, v in options.items() if n != "out"}
    groups = [given[k : k + WIDEST] for k in range(0, len(given), WIDEST)]
    parts = [of_length(name, len(some))(*some, **apart) for some in groups]
    return of_many("concat", parts, options)


@cache
def of_length(name: str, count: int) -> Op:
    """`concat` or `stack` of so many tensors."""
    return op({"concat": _concat, "stack": _stack}[name](count))


def _concat(count: int) -> str:
    inputs = ", ".join(f"X{k}: T[*A{':axis' if k == 0 else ''}, N{k}, *B]" for k in range(count))
    lines = [
        f"  Y[*a, {' + '.join([*(f'N{j}' for j in range(k)), 'i'])}, *b] = X{k}[*a, i, *b]  for i in 0..N{k}"
        for k in range(count)
    ]
    whole = " + ".join(f"N{k}" for k in range(count))
    return "\n".join([f"op concat{count}<T>({inputs}; axis = 0) -> Y: T[*A, {whole}, *B] {{", *lines, "}"])


def _stack(count: int) -> str:
    inputs = ", ".join(f"X{k}: T[*A{':axis' if k == 0 else ''}, *B]" for k in range(count))
    lines = [f"  Y[*a, {k}, *b] = X{k}[*a, *b]" for k in range(count)]
    return "\n".join([f"op stack{count}<T>({inputs}; axis = 0) -> Y: T[*A, {count}, *B] {{", *lines, "}"])


def of_lists(made: Op) -> ListOp:
    """`made`, which takes lists as well."""
    return ListOp(made.signature, made.program, (of_lists, (made,)), str(made))
