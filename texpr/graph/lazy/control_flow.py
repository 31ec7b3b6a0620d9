"""Loops and choices over values: `scan`, `cond`, `while_loop`, with the meaning of jax.lax's."""

from __future__ import annotations

import functools
from collections.abc import Callable, Sequence
from numbers import Integral
from typing import Any

import numpy as np

from texpr.graph.arrays.array_functions import is_weak
from texpr.graph.arrays.recording import active_capture
from texpr.graph.capture.symbolic import Symbolic
from texpr.graph.lazy.inner_functions import (
    Body,
    Spec,
    apply,
    as_operand,
    interned,
    is_number,
    name_of,
    traced,
)
from texpr.graph.lazy.making import tensor
from texpr.graph.lazy.pytrees import Tree, flattened
from texpr.graph.lazy.tracing import Number
from texpr.graph.lazy.unbounded_loops import loop_program
from texpr.graph.passes.flatten_calls import flatten
from texpr.ir.dtypes import BOOL
from texpr.ir.tensor import Program
from texpr.passes.tensor.chosen_program import chosen
from texpr.passes.tensor.scanned_program import scanned
from texpr.support.errors import CallError
from texpr.support.suggest import known_arguments
from texpr.support.tracebacks import forwards


@known_arguments
def scan(
    f: Callable[[Any, Any], tuple[Any, Any]],
    init: Any,
    xs: Any = None,
    length: int | None = None,
    reverse: bool = False,
) -> tuple[Any, Any]:
    """Loop that carries a value: `carry, y = f(carry, x)` for each row `x` of `xs`.

    The function runs once, on tensors without values. The loop is one operator, a recurrence: how
    much is compiled does not depend on the number of steps. Works on lazy tensors and in functions
    that `tx.jit` or `tx.vmap` take. Gradients flow to `init`, to `xs`, and to what `f` uses from
    outside. They need the carried value of every step, so memory is that of `length + 1` carried
    values and of what the body computes on its way, which is kept or computed again.

    Args:
        f: a function of the carried value and a row of `xs`; gives the next carried value and a
            result of this step, which may be None. Both may be nested.
        init: the carried value at first: a tensor, or some nested in dicts, lists and tuples. Its
            shapes and dtypes stay the same; numbers of Python take the dtype of what follows.
        xs: what the steps run over, along the first axis; tensors, nested, or None.
        length: the number of steps, needed where `xs` is None.
        reverse: run from the last row to the first; results lie where their rows are.
    Returns:
        The carried value after the last step, and the results of all steps, stacked.
    Raises:
        CallError: shapes or dtypes of the carried value change; lengths differ; `f` asks for
            values, or assigns to variables.
        CheckError: `f` calls an operator of the runtime, such as sorting.
    Example:
        >>> total, sums = tx.scan(lambda c, x: (c + x, c + x), 0.0, tx.tensor([1.0, 2.0, 3.0]))
        >>> float(total), sums.tolist()
        (6.0, [1.0, 3.0, 6.0])
    """
    rows, row_tree = _operands("scan", xs)
    count = _length(rows, length)
    carried, tree = _operands("scan", init)
    if not count:
        return tree.built(iter(carried)), _no_rows(f, tree, carried, row_tree, rows)
    body, carried = _stable("scan", f, tree, carried, row_tree, rows)
    program = _scanned(body.program, len(carried), len(rows), count, bool(reverse))
    results = apply(program, [*carried, *rows, *body.outside])
    return body.nested(results)


def _length(rows: Sequence[Any], length: int | None) -> int:
    """The number of steps."""
    for x in rows:
        if not x.shape:
            raise CallError("scan: xs holds a number, which has no rows", code="shape", help="x[None]")
    if length is not None:
        if not isinstance(length, Integral) or isinstance(length, bool) or length < 0:
            raise CallError(
                f"scan: length is {length!r}, expected a number of steps", code="arguments", help="length=10"
            )
        length = int(length)
    counts = dict.fromkeys([x.shape[0] for x in rows] + ([] if length is None else [length]))
    if not counts:
        raise CallError("scan: there is no xs, and no length", code="arguments", help="length=10")
    if len(counts) > 1:
        found = ", ".join(map(str, counts))
        raise CallError(
            f"scan: the lengths of xs and `length` are {found}",
            code="shape",
            help="all steps run along the first axis",
        )
    return next(iter(counts))


def _stable(
    what: str, f: Callable[..., Any], tree: Tree, carried: list[Any], row_tree: Tree, rows: list[Any]
) -> tuple[Body, list[Any]]:
    """The body, and the carried values at first, in the dtypes that they keep."""
    for _ in range(2):
        body = _body(what, f, tree, carried, row_tree, rows)
        outputs = body.program.outputs[: len(carried)]
        if all(x.dtype == o.dtype for x, o in zip(carried, outputs)):
            break
        carried = [x.astype(o.dtype) if _spec(x).weak else x for x, o in zip(carried, outputs)]
    for x, o in zip(carried, body.program.outputs):
        shape = tuple(int(s.value) for s in o.shape)  # type: ignore[attr-defined]
        if x.dtype != o.dtype or tuple(x.shape) != shape:
            raise CallError(
                f"{what}: a carried value is {x.dtype}{list(x.shape)} before a step and "
                f"{o.dtype}{list(shape)} after it",
                code="shape" if x.dtype == o.dtype else "dtype",
                help="give init that shape and dtype, or convert in the body: .astype(c.dtype)",
            )
    return body, carried


def _body(
    what: str, f: Callable[..., Any], tree: Tree, carried: list[Any], row_tree: Tree, rows: list[Any]
) -> Body:
    """The body on one row; its outputs are the carried values, then the results."""
    specs = [_spec(x) for x in carried] + [Spec(tuple(x.shape[1:]), x.dtype) for x in rows]

    @forwards
    def step(*symbols: Any) -> Any:
        given = iter(symbols)
        returned = f(tree.built(given), row_tree.built(given))
        if not isinstance(returned, tuple) or len(returned) != 2:
            raise CallError(
                f"{what}: {name_of(f)} returned {type(returned).__name__}, expected (carry, y)",
                code="arguments",
                help="return carry, None where there is no result",
            )
        after, y = returned
        return _like(what, f, tree, after, len(carried)), y

    step.__name__ = name_of(f)
    return traced(what, step, specs, tuple, apart=True)


def _like(what: str, f: Callable[..., Any], tree: Tree, value: Any, count: int) -> Any:
    """The carried value, nested as it was."""
    leaves: list[Any] = []
    if flattened(value, leaves) != tree or len(leaves) != count or any(x is None for x in leaves):
        raise CallError(
            f"{what}: {name_of(f)} gives a carried value that is nested in another way than init",
            code="arguments",
            help="return the same dicts, lists and tuples, with a tensor for each one",
        )
    return value


def _no_rows(f: Any, tree: Tree, carried: list[Any], row_tree: Tree, rows: list[Any]) -> Any:
    """The results of no steps."""
    body, _ = _stable("scan", f, tree, carried, row_tree, rows)
    found = [
        tensor(np.zeros((0, *(int(s.value) for s in o.shape))), dtype=o.dtype)  # type: ignore[attr-defined]
        for o in body.program.outputs
    ]
    return body.nested(found)[1]


@functools.lru_cache(maxsize=512)
def _scanned(body: Program, carries: int, xs: int, length: int, reverse: bool) -> Program:
    return interned(scanned(flatten(body), carries, xs, length, reverse))


def _operands(what: str, value: Any) -> tuple[list[Any], Tree]:
    """Tensors nested in a value; None is nothing."""
    if value is None:
        return [], Tree(tuple)
    leaves: list[Any] = []
    tree = flattened(value, leaves)
    return _tensors(what, leaves), tree


def _tensors(what: str, leaves: Sequence[Any]) -> list[Any]:
    return [Number(np.asarray(x)) if is_number(x) else as_operand(what, x) for x in leaves]


def _spec(x: Any) -> Spec:
    return Spec(tuple(x.shape), x.dtype, isinstance(x, Number) or is_weak(x))


@known_arguments
@forwards
def cond(pred: Any, true_fn: Callable[..., Any], false_fn: Callable[..., Any], *operands: Any) -> Any:
    """`true_fn(*operands)` where `pred` holds, else `false_fn(*operands)`.

    With a number of Python, or a lazy tensor outside of every traced function, only the function
    that is chosen runs. While a program is captured both run once, on tensors without values, and
    become equations under the condition. Where it does not hold, nothing is read but what sums of
    products need. No gradient flows there, whatever values there would be.

    Args:
        pred: one boolean.
        true_fn, false_fn: functions of the operands; their results have the same nesting, shapes
            and dtypes.
        operands: tensors, nested in any way.
    Raises:
        CallError: `pred` is no single boolean; the results differ in shape, dtype or nesting; a
            function asks for values, or assigns to variables.
        CheckError: a function that is traced calls an operator of the runtime.
    Example:
        >>> @tx.jit
        ... def root(x):
        ...     return tx.cond(x > 0, lambda x: x.sqrt(), lambda x: x * 0, x)
        >>> float(root(tx.tensor(9.0))), float(root(tx.tensor(-9.0)))
        (3.0, -0.0)
    """
    if isinstance(pred, bool | np.bool_):
        return (true_fn if pred else false_fn)(*operands)
    condition = as_operand("cond", pred)
    if tuple(condition.shape) or condition.dtype != BOOL:
        raise CallError(
            f"cond: the condition is {condition.dtype}{list(condition.shape)}, expected one boolean",
            code="arguments",
            help="compare: x.sum() > 0; element by element it is tx.where",
        )
    leaves: list[Any] = []
    tree = flattened(operands, leaves)
    symbolic = any(isinstance(x, Symbolic) for x in (condition, *leaves))
    if active_capture.get() is None and not symbolic:
        return (true_fn if bool(condition) else false_fn)(*operands)
    given = _tensors("cond", leaves)
    sides = [_side(f, tree, given) for f in (true_fn, false_fn)]
    _check_alike(true_fn, false_fn, *sides)
    first, second = sides
    program = _chosen(first.program, second.program, len(given))
    results = apply(program, [condition, *given, *first.outside, *second.outside])
    return first.nested(results)


def _side(f: Callable[..., Any], tree: Tree, given: Sequence[Any]) -> Body:
    @forwards
    def side(*symbols: Any) -> Any:
        return f(*tree.built(iter(symbols)))

    side.__name__ = name_of(f)
    return traced("cond", side, [_spec(x) for x in given], tuple, apart=True)


def _check_alike(true_fn: Any, false_fn: Any, first: Body, second: Body) -> None:
    def kinds(body: Body) -> list[str]:
        return [
            f"{o.dtype}[{', '.join(str(int(s.value)) for s in o.shape)}]"  # type: ignore[attr-defined]
            for o in body.program.outputs
        ]

    same = first.results == second.results and first.leaves == second.leaves
    if not same or kinds(first) != kinds(second):
        raise CallError(
            f"cond: {name_of(true_fn)} gives {', '.join(kinds(first)) or 'nothing'}, "
            f"{name_of(false_fn)} gives {', '.join(kinds(second)) or 'nothing'}",
            code="shape",
            help="both return the same nesting, shapes and dtypes",
        )


@functools.lru_cache(maxsize=512)
def _chosen(then: Program, orelse: Program, operands: int) -> Program:
    return interned(chosen("cond", flatten(then), flatten(orelse), operands))


@known_arguments
def while_loop(cond: Callable[[Any], Any], body: Callable[[Any], Any], init: Any) -> Any:
    """`value = body(value)` as long as `cond(value)` holds, from `init` on.

    Both functions run once, on tensors without values, and are compiled once; the loop itself runs
    in Python, so a step costs some microseconds beside its arithmetic, and what is saved for C or
    as ONNX cannot hold it. No gradient flows through it: how many steps there are is not known
    before. `tx.scan` has a number of steps, and gradients.

    Args:
        cond: a function of the value that gives one boolean.
        body: a function of the value that gives the next one, of the same nesting, shapes and
            dtypes.
        init: a tensor, or some nested in dicts, lists and tuples.
    Raises:
        CallError: `cond` gives no single boolean; shapes or dtypes change; a function asks for
            values, or assigns to variables.
    Example:
        >>> tx.while_loop(lambda n: n < 100, lambda n: n * 2, tx.tensor(3))
        tensor(192, i64[])
    """
    carried, tree = _operands("while_loop", init)
    if not carried:
        raise CallError("while_loop: init holds no tensor", code="arguments", help="init=tx.tensor(0)")
    nothing = Tree(tuple)
    step, carried = _stable("while_loop", lambda c, _: (body(c), None), tree, carried, nothing, [])

    @forwards
    def test(*symbols: Any) -> Any:
        return cond(tree.built(iter(symbols)))

    test.__name__ = name_of(cond)
    holds = traced("while_loop", test, [_spec(x) for x in carried], tuple)
    found = holds.program.outputs
    if len(found) != 1 or found[0].dtype != BOOL or found[0].shape or holds.results.kind is not None:
        given = ", ".join(f"{o.dtype}[{', '.join(str(s.value) for s in o.shape)}]" for o in found)  # type: ignore[attr-defined]
        raise CallError(
            f"while_loop: {name_of(cond)} gives {given or 'no tensor'}, expected one boolean",
            code="arguments",
            help="compare: x.sum() > 0",
        )
    program = loop_program(holds.program, step.program, len(carried))
    results = apply(program, [*carried, *holds.outside, *step.outside])
    return step.nested(results)[0]
