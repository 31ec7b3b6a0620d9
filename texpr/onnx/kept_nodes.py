"""Nodes that a program was read from, so that it is saved by them again: `Keeping` remembers them
beside the calls of operators that they became, `adapted` gives their form in the version of ONNX
that is written.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from texpr.graph import Capture, Symbolic, Variable
from texpr.ir.dtypes import I64
from texpr.onnx.onnx_package import library
from texpr.onnx.validation import check_types
from texpr.onnx.values import Known, Value
from texpr.support.errors import CallError
from texpr.support.frozen_dataclass import frozen

_ALIKE = (
    (1, "Abs Acos Asin Atan AveragePool Ceil Conv ConvTranspose Cos DepthToSpace Elu Erf Exp Flatten Floor"),
    (1, "Gather GlobalAveragePool GlobalMaxPool HardSigmoid LRN LeakyRelu Log MatMul MaxPool Neg Not"),
    (1, "Reciprocal Relu Sigmoid Sin Softplus Softsign SpaceToDepth Sqrt Tan Tanh ThresholdedRelu Transpose"),
    (1, "GRU LSTM RNN RandomNormal RandomNormalLike RandomUniform RandomUniformLike"),
    (1, "ArgMax ArgMin GlobalLpPool IsNaN LpNormalization MeanVarianceNormalization Sign"),
    (2, "LpPool"),
    (4, "Concat"),
    (6, "InstanceNormalization Selu Tile"),
    (7, "Add And Div Equal Gemm Greater Less Mul Multinomial Or PRelu Pow Sub Xor"),
    (8, "Expand Max Mean Min Sum"),
    (9, "Acosh Asinh Atanh BatchNormalization Cosh EyeLike Shrink Sinh Where"),
    (10, "MatMulInteger Mod QLinearConv QLinearMatMul ConvInteger Slice ReverseSequence IsInf"),
    (11, "BitShift Clip CumSum DynamicQuantizeLinear GatherElements Pad Round ScatterElements ScatterND"),
    (11, "Det OneHot TopK Compress"),
    (12, "Celu Dropout Einsum GatherND GreaterOrEqual LessOrEqual"),
    (
        13,
        "DequantizeLinear Hardmax LogSoftmax QuantizeLinear ReduceSum Resize Softmax Split Squeeze Unsqueeze",
    ),
    (14, "HardSwish Trilu"),
    (15, "Bernoulli"),
    (17, "BlackmanWindow DFT HammingWindow HannWindow LayerNormalization STFT"),
    (18, "CenterCropPad Col2Im Mish BitwiseAnd BitwiseNot BitwiseOr BitwiseXor"),
    (18, "ReduceL1 ReduceL2 ReduceLogSum ReduceLogSumExp ReduceMax ReduceMean ReduceMin ReduceProd"),
    (18, "ReduceSumSquare"),
    (20, "AffineGrid Gelu GridSample"),
    (21, "GroupNormalization"),
)
ALIKE = {name: version for version, names in _ALIKE for name in names.split()}
"""Since which version an operator means what it means in the version that is written. Older forms
of some are brought into the new one; others are written by what they compute.
"""
_DROPPED = {"consumed_inputs", "is_test", "broadcast", "output_sequence"}
"""Attributes of old versions that say nothing of results."""


@frozen
class Kept:
    """A node of a model.

    Attributes:
        place: how many calls were there when it was converted.
        inputs: what it was given; None for those that are absent.
        results: what it gave; None for outputs that nobody asks for.
        fixed: true if none of its inputs decides a shape.
    """

    place: int
    op: str
    version: int
    attributes: dict[str, Any]
    inputs: tuple[Known | Symbolic | None, ...]
    results: tuple[Symbolic | None, ...]
    fixed: bool


class Keeping(Capture):
    """A capture that remembers the nodes which it came from.

    Attributes:
        kept: the nodes.
        seeds: variables that its random nodes draw from, and assign to.
    """

    def __init__(self, name: str) -> None:
        super().__init__(name)
        self.kept: list[Kept] = []
        self.seeds: set[Variable] = set()

    def keep(
        self, proto: Any, version: int, values: Sequence[Value], results: Sequence[Value], fixed: bool
    ) -> None:
        """Remember a node, unless something of it is no tensor of this program, or known, or one
        of its inputs as it is.
        """
        asked = [r if name else None for name, r in zip(proto.output, results)]
        inputs = {id(v.tensor) for v in values if isinstance(v, Symbolic)}
        if proto.domain not in ("", "ai.onnx") or not all(
            v is None or isinstance(v, Known | Symbolic) for v in values
        ):
            return
        made = [r for r in asked if r is not None]
        if not made or any(not isinstance(r, Symbolic) or id(r.tensor) in inputs for r in made):
            return
        read = library().helper.get_attribute_value
        attributes = {a.name: read(a) for a in proto.attribute}
        self.kept.append(
            Kept(len(self.equations), proto.op_type, version, attributes, tuple(values), tuple(asked), fixed)  # type: ignore[arg-type]
        )


@frozen
class Reshaped:
    """An input that is given in another shape."""

    value: Known | Symbolic
    shape: tuple[int, ...]

    @property
    def dtype(self) -> Any:
        return self.value.dtype


Form = tuple[list[Any], dict[str, Any]]
"""Inputs and attributes of a node."""


def origin(value: Known | Symbolic | Reshaped | None) -> Known | Symbolic | None:
    """An input as it was."""
    return value.value if isinstance(value, Reshaped) else value


def adapted(kept: Kept, version: int) -> Form | None:
    """A node in a version of ONNX's operators; None where it means something else there, or has
    element types that the version does not know.
    """
    form = _form(kept)
    if form is None:
        return None
    inputs, attributes = form
    attributes = {n: v for n, v in attributes.items() if n not in _DROPPED}
    try:
        schema = library().defs.get_schema(kept.op, version)
        check_types(schema, inputs)
    except (CallError, library().defs.SchemaError):
        return None
    fits = set(attributes) <= set(schema.attributes) and len(inputs) <= schema.max_input
    return (inputs, attributes) if fits else None


def _form(kept: Kept) -> Form | None:
    """In the newest form, whatever its version is."""
    inputs, attributes = list(kept.inputs), dict(kept.attributes)
    if kept.version >= ALIKE.get(kept.op, 1 << 30):
        if kept.op == "Split" and len(inputs) < 2:
            attributes.setdefault("num_outputs", len(kept.results))
        return inputs, attributes
    older = _OLDER.get(kept.op)
    return None if older is None else older(kept, inputs, attributes)


def _integers(values: Sequence[int]) -> Known:
    return Known(np.array(values, np.int64), I64)


def _list_as_input(name: str) -> Callable[[Kept, list[Any], dict[str, Any]], Form | None]:
    """A list of integers that became the second input."""

    def form(kept: Kept, inputs: list[Any], attributes: dict[str, Any]) -> Form | None:
        given = attributes.pop(name, None)
        if len(inputs) > 1 or given is None and kept.op in ("Unsqueeze", "Pad"):
            return None
        if kept.op == "Split" and given is None:
            attributes["num_outputs"] = len(kept.results)
        return [*inputs, *([] if given is None else [_integers(given)])], attributes

    return form


def _same_shapes(kept: Kept, inputs: list[Any], attributes: dict[str, Any]) -> Form | None:
    """Before version 7 the second operand is repeated where attributes say so."""
    rank, own = len(inputs[0].shape), len(inputs[-1].shape)
    axis = attributes.pop("axis", rank - own)
    behind = rank - own - (axis if axis >= 0 else axis + rank)
    if behind and kept.op != "Gemm":
        inputs[-1] = Reshaped(inputs[-1], (*inputs[-1].shape, *[1] * behind))
    return inputs, attributes


def _slopes(kept: Kept, inputs: list[Any], attributes: dict[str, Any]) -> Form | None:
    """Before version 7 slopes are those of channels."""
    if inputs[1].shape != (1,):
        inputs[1] = Reshaped(inputs[1], (-1, *[1] * (len(inputs[0].shape) - 2)))
    return inputs, attributes


def _along_last(kept: Kept, inputs: list[Any], attributes: dict[str, Any]) -> Form | None:
    """Before version 13 axes from one on were one."""
    axis, rank = attributes.get("axis", 1), len(inputs[0].shape)
    return (inputs, {"axis": rank - 1}) if axis in (-1, rank - 1) else None


def _clip(kept: Kept, inputs: list[Any], attributes: dict[str, Any]) -> Form | None:
    t, found = inputs[0].dtype, [inputs[0], None, None]
    for k, name in enumerate(("min", "max"), 1):
        if name in attributes:
            found[k] = Known.rounded(attributes.pop(name), t)
    return found, attributes


def _pad(kept: Kept, inputs: list[Any], attributes: dict[str, Any]) -> Form | None:
    if "pads" not in attributes:
        return None
    value = Known.rounded(attributes.pop("value", 0.0), inputs[0].dtype)
    return [inputs[0], _integers(attributes.pop("pads")), value], attributes


def _slice(kept: Kept, inputs: list[Any], attributes: dict[str, Any]) -> Form | None:
    starts, ends, axes = (attributes.pop(n, None) for n in ("starts", "ends", "axes"))
    if starts is None or ends is None:
        return None
    return [
        inputs[0],
        *map(_integers, (starts, ends, range(len(starts)) if axes is None else axes)),
    ], attributes


def _batch_norm(kept: Kept, inputs: list[Any], attributes: dict[str, Any]) -> Form | None:
    return (inputs, attributes) if attributes.pop("spatial", 1) and len(kept.results) == 1 else None


_OLDER: dict[str, Callable[[Kept, list[Any], dict[str, Any]], Form | None]] = {
    **{n: _list_as_input("axes") for n in ALIKE if n.startswith(("Reduce", "Squeeze", "Unsqueeze"))},
    "Split": _list_as_input("split"),
    **{
        n: _same_shapes for n in ("Add", "And", "Div", "Equal", "Gemm", "Greater", "Less", "Mul", "Or", "Pow")
    },
    **{n: _same_shapes for n in ("Sub", "Xor", "Max", "Mean", "Min", "Sum")},
    **{n: _along_last for n in ("Softmax", "LogSoftmax", "Hardmax")},
    "PRelu": _slopes,
    "Clip": _clip,
    "Pad": _pad,
    "Slice": _slice,
    "BatchNormalization": _batch_norm,
}
