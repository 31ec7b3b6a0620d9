"""Operators that run subgraphs, and sequences of tensors. Loops are unrolled: how often they run
must be known.

The limit on nodes that run ends loops which do not.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from texpr import ops
from texpr.ir.dtypes import numpy_dtype
from texpr.onnx.converters import converter
from texpr.onnx.element_types import FROM_ONNX, name_of
from texpr.onnx.graph_conversion import Node
from texpr.onnx.operators.movement import part
from texpr.onnx.validation import refuse_large
from texpr.onnx.values import Known, NeedsValue, NoTensors, Value


def _spot(node: Node, k: int, count: int) -> int:
    """A place among `count`, which counts from the end where it is negative."""
    place = int(node.one(k))
    if not -count <= place < count:
        raise node.refuse(f"place {place} of a sequence of {count}")
    return place % count


@converter("If", control=True)
def _if(node: Node, condition: Value) -> Any:
    chosen = node.one(0)
    return tuple(
        node.run.graph(node.attr("then_branch" if chosen else "else_branch"), node.names, node.versions)
    )


@converter("Loop", control=True)
def _loop(node: Node, trips: Value, condition: Value, *carried: Value) -> Any:
    body = _checked(node, 2 + len(carried), 1 + len(carried))
    most = None if trips is None else int(node.one(0))
    goes = True if condition is None else bool(node.one(1))
    state, scanned, count = list(carried), [[] for _ in range(len(body.output) - 1 - len(carried))], 0
    while goes and (most is None or count < most):
        given = dict(
            zip(
                (i.name for i in body.input),
                (Known.of(np.array(count, np.int64)), Known.of(np.array(goes)), *state),
            )
        )
        again, *rest = node.run.graph(body, {**node.names, **given}, node.versions)
        state, count = rest[: len(state)], count + 1
        for k, value in enumerate(rest[len(state) :]):
            scanned[k].append(value)
        goes = _truth(node, again)
    return (
        *state,
        *(_stacked(node, body.output[1 + len(state) + k], values, 0) for k, values in enumerate(scanned)),
    )


def _checked(node: Node, inputs: int, outputs: int) -> Any:
    """The body of a loop, which takes so many inputs and gives at least so many outputs."""
    body = node.attr("body")
    if len(body.input) != inputs or len(body.output) < outputs:
        raise node.refuse(
            f"the body takes {len(body.input)} and gives {len(body.output)}; expected are {inputs} and at "
            f"least {outputs}"
        )
    return body


def _truth(node: Node, value: Value) -> bool:
    if isinstance(value, Known):
        return bool(np.ravel(value.array)[0])
    raise NeedsValue(*node.run.origins(value), "whether the loop goes on")


def _stacked(node: Node, declared: Any, values: list[Any], axis: int) -> Any:
    if not values:
        kind = declared.type.tensor_type
        if kind.elem_type not in FROM_ONNX:
            raise node.refuse(f"`{declared.name}` is of {name_of(kind.elem_type)}, which texpr does not have")
        t, shape = FROM_ONNX[kind.elem_type], [0, *(max(0, d.dim_value) for d in kind.shape.dim)]
        return Known(np.zeros(shape, numpy_dtype(t)), t)
    if all(isinstance(v, Known) for v in values):
        refuse_large(node.op, [len(values), *values[0].shape], values[0].dtype, True)
        return Known(np.stack([v.array for v in values], axis), values[0].dtype)
    return ops.stack([node.run.tensor(v) for v in values], axis=axis % (len(values[0].shape) + 1))


def _at(node: Node, x: Any, axis: int, k: int) -> Any:
    if isinstance(x, Known):
        return Known(np.ascontiguousarray(np.take(x.array, k, axis)), x.dtype)
    return x[(*[slice(None)] * axis, k)]


@converter("Scan", control=True)
def _scan(node: Node, *given: Any) -> Any:
    count = node.attr("num_scan_inputs")
    lengths, given = (node.known(0), given[1:]) if node.version < 9 else (None, given)
    if not 1 <= count <= len(given):
        raise node.refuse(f"num_scan_inputs is {count}, and there are {len(given)} inputs")
    body = _checked(node, len(given), len(given) - count)
    state, scanned = list(given[: len(given) - count]), given[len(given) - count :]
    if node.version < 9:
        return _scan_of_batch(node, body, state, scanned, lengths)
    in_axes, outs = node.attr("scan_input_axes") or [0] * count, len(body.output) - len(state)
    if any(not -len(x.shape) <= a < len(x.shape) for a, x in zip(in_axes, scanned)):
        raise node.refuse(f"scan_input_axes are {in_axes}")
    in_axes = [a % len(x.shape) for a, x in zip(in_axes, scanned)]
    length = scanned[0].shape[in_axes[0]]
    if any(x.shape[a] != length for a, x in zip(in_axes, scanned)):
        raise node.refuse("the inputs that are scanned have different lengths")
    state, results = _scanned(
        node, body, state, scanned, in_axes, node.attr("scan_input_directions") or [0] * count, length
    )
    out_axes, turned = (
        node.attr("scan_output_axes") or [0] * outs,
        node.attr("scan_output_directions") or [0] * outs,
    )
    made = [
        _stacked(node, body.output[len(state) + k], r[::-1] if turned[k] else r, out_axes[k])
        for k, r in enumerate(results)
    ]
    return (*state, *made)


def _scanned(
    node: Node,
    body: Any,
    state: list[Any],
    scanned: Sequence[Any],
    axes: Sequence[int],
    back: Sequence[int],
    length: int,
) -> tuple[list[Any], list[list[Any]]]:
    """The last state, and what every step gives besides, by output.

    Args:
        axes: of each input that is scanned.
        back: True for inputs that are scanned from their end.
    """
    results: list[list[Any]] = [[] for _ in range(len(body.output) - len(state))]
    for t in range(length):
        elements = [_at(node, x, a, length - 1 - t if b else t) for x, a, b in zip(scanned, axes, back)]
        found = node.run.graph(
            body,
            {**node.names, **dict(zip((i.name for i in body.input), (*state, *elements)))},
            node.versions,
        )
        state = found[: len(state)]
        for k, value in enumerate(found[len(state) :]):
            results[k].append(value)
    return state, results


def _scan_of_batch(node: Node, body: Any, state: list[Any], scanned: Sequence[Any], lengths: Any) -> Any:
    """Version 8: the first axis of everything is a batch, the second one of what is scanned is
    time. Behind the end of a sequence that is shorter, outputs are 0.
    """
    batch, longest = scanned[0].shape[:2]
    steps = [longest] * batch if lengths is None else [int(n) for n in np.ravel(lengths)]
    if (
        len(steps) != batch
        or any(not 0 <= n <= longest for n in steps)
        or any(x.shape[:2] != (batch, longest) for x in scanned)
    ):
        raise node.refuse(f"sequences of {steps} elements, of shapes {[list(x.shape) for x in scanned]}")
    back, every = node.attr("directions") or [0] * len(scanned), []
    for b, length in enumerate(steps):
        last, results = _scanned(
            node,
            body,
            [_at(node, s, 0, b) for s in state],
            [_at(node, x, 0, b) for x in scanned],
            [0] * len(scanned),
            back,
            length,
        )
        declared = body.output[len(state) :]
        every.append(
            [*last, *(_padded(node, _stacked(node, d, r, 0), longest) for d, r in zip(declared, results))]
        )
    return tuple(
        _stacked(node, d, list(values), 0)
        for d, values in zip(body.output, zip(*every) if every else [()] * len(body.output))
    )


def _padded(node: Node, x: Any, length: int) -> Any:
    """With zeros behind the last element of the first axis."""
    if x.shape[0] == length:
        return x
    zeros = Known(np.zeros((length - x.shape[0], *x.shape[1:]), numpy_dtype(x.dtype)), x.dtype)
    return ops.concat(node.run.tensor(x), node.run.tensor(zeros)) if x.shape[0] else zeros


@converter("SequenceConstruct", control=True)
def _construct(node: Node, *given: Value) -> Any:
    return list(given)


@converter("SequenceEmpty", control=True)
def _empty(node: Node) -> Any:
    return NoTensors(node.dtype("dtype"))


@converter("SequenceAt", control=True)
def _element(node: Node, sequence: Any, _: Value) -> Any:
    return sequence[_spot(node, 1, len(sequence))]


@converter("SequenceLength", control=True)
def _length(node: Node, sequence: Any) -> Any:
    return Known.of(np.array(len(sequence), np.int64))


@converter("SequenceInsert", control=True)
def _insert(node: Node, sequence: Any, value: Value, place: Value = None) -> Any:
    k = (
        len(sequence)
        if place is None
        else _spot(node, 2, len(sequence) + 1)
        if int(node.one(2)) >= 0
        else _spot(node, 2, len(sequence))
    )
    return [*sequence[:k], value, *sequence[k:]]


@converter("SequenceErase", control=True)
def _erase(node: Node, sequence: Any, place: Value = None) -> Any:
    if not sequence:
        raise node.refuse("there are no tensors in the sequence")
    k = len(sequence) - 1 if place is None else _spot(node, 1, len(sequence))
    return [*sequence[:k], *sequence[k + 1 :]] or NoTensors(sequence[k].dtype)


@converter("ConcatFromSequence", control=True)
def _joined(node: Node, sequence: Any) -> Any:
    if not sequence:
        raise node.refuse("there are no tensors in the sequence")
    values = [node.run.tensor(v) for v in sequence]
    if node.attr("new_axis", 0):
        return ops.stack(values, axis=node.axis(node.attr("axis"), values[0].ndim + 1))
    return (
        values[0]
        if len(values) == 1
        else ops.concat(values, axis=node.axis(node.attr("axis"), values[0].ndim))
    )


@converter("SplitToSequence", control=True)
def _apart(node: Node, x: Value, sizes: Value = None) -> Any:
    tensor = node.run.tensor(x)
    axis = node.axis(node.attr("axis", 0), tensor.ndim)
    n, given = tensor.shape[axis], node.known(1)
    if given is None:
        parts = [1] * n
    else:
        parts = (
            [int(v) for v in given]
            if given.ndim
            else [min(int(given), n - k) for k in range(0, n, int(given))]
        )
    ends = np.cumsum(parts)
    if not parts:
        return NoTensors(tensor.dtype)
    found = [part(tensor, axis, int(e - s), int(e)) for s, e in zip(parts, ends)]
    return [v.squeeze(axis) for v in found] if given is None and not node.attr("keepdims", 1) else found


@converter("Optional", "OptionalGetElement", control=True, inferred=False)
def _optional(node: Node, x: Value = None) -> Any:
    if x is None and node.op == "OptionalGetElement":
        raise node.refuse("the optional is absent")
    return (x,) if isinstance(x, list) else x


@converter("OptionalHasElement", control=True, inferred=False)
def _present(node: Node, x: Value = None) -> Any:
    return Known.of(np.array(x is not None))
