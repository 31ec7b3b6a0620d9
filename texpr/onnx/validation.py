"""Nodes against ONNX's own definitions of their operators, before they are converted: element
types, ranks, attributes, sizes.
"""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from math import prod
from typing import Any, Protocol

from texpr.ir.dtypes import DType
from texpr.onnx.element_types import FROM_ONNX, TO_ONNX, number_of
from texpr.onnx.narrow_types import NARROW, NarrowType
from texpr.onnx.onnx_package import library
from texpr.onnx.text_values import TEXT, TextType
from texpr.onnx.values import Known, NoTensors, Value, is_known
from texpr.support.errors import CallError, ResourceError

MOST_KNOWN = 1 << 30
"""Bytes of a tensor that is computed when the program is made."""
MOST_ELEMENTS = 1 << 48
"""Of any tensor; its bytes and offsets are far from what 64 bits hold."""
MOST_AXIS = 1 << 16
SAID = 1024
"""Constants of so many elements are looked into for the shapes that they say."""
_WORDS = {
    "f32": "float",
    "f64": "double",
    "f16": "float16",
    "bf16": "bfloat16",
    "f8e4m3": "float8e4m3fn",
    "f8e5m2": "float8e5m2",
    "bool": "bool",
}
_NAMES: dict[DType | NarrowType | TextType, str] = {
    TEXT: TEXT.name,
    **{t: _WORDS.get(t.name, t.name.replace("i", "int").replace("u", "uint")) for t in TO_ONNX},
    **{t: t.name for t in NARROW.values()},
}
"""Element types as definitions write them."""


def type_of(value: Value) -> Any:
    """The onnx.TypeProto of a value; an empty one for an optional that is absent."""
    onnx = library()
    if value is None:
        return onnx.TypeProto()
    if isinstance(value, NoTensors):
        return onnx.helper.make_sequence_type_proto(
            onnx.helper.make_tensor_type_proto(TO_ONNX[value.dtype], None)
        )
    if isinstance(value, list):
        return onnx.helper.make_sequence_type_proto(type_of(value[0]))
    return onnx.helper.make_tensor_type_proto(number_of(value.dtype), value.shape)


def check_node(
    proto: Any, version: int, values: Sequence[Value], opsets: Mapping[str, int], inferred: bool
) -> None:
    """Refuse a node that breaks the definition of its operator for these inputs, and results that
    are too large.

    Args:
        inferred: whether ranks, extents and attributes are asked of the definition, besides element
            types.
    Raises:
        CallError: element types, ranks, extents or attributes that the definition does not have.
        ResourceError: a result that is larger than the limits.
    """
    onnx = library()
    schema = onnx.defs.get_schema(proto.op_type, version, "" if proto.domain == "ai.onnx" else proto.domain)
    check_types(schema, values)
    absent = any(name and v is None for name, v in zip(proto.input, values))
    if not inferred or absent or any(a.HasField("g") for a in proto.attribute):
        return  # the library's inference knows no absent optionals
    axis = next((a.i for a in proto.attribute if a.name == "axis"), 0)
    if not -MOST_AXIS <= axis <= MOST_AXIS:  # before the library's inference, which takes 32 bits of it
        raise CallError(f"{proto.op_type}: axis is {axis}", code="onnx")
    _check_equation(proto)
    given = [(name, v) for name, v in zip(proto.input, values) if name and v is not None]
    data = {
        name: onnx.numpy_helper.from_array(v.numbers())
        for name, v in given
        if isinstance(v, Known) and v.array.size <= SAID
    }
    imports = [onnx.helper.make_opsetid(domain, n) for domain, n in opsets.items()]
    try:
        types = {name: type_of(v) for name, v in given}
        found = onnx.shape_inference.infer_node_outputs(schema, proto, types, data, opset_imports=imports)
    except Exception as error:  # what the definition refuses, in the classes of the library
        lines = str(error).strip().splitlines() or [type(error).__name__]
        raise CallError(
            f"{proto.op_type}: {lines[0].removeprefix('[ShapeInferenceError] ')}", code="onnx"
        ) from None
    known = all(map(is_known, values))
    for kind in found.values():
        if kind.HasField("tensor_type"):
            _check_size(proto, kind.tensor_type, known)


def _check_equation(proto: Any) -> None:
    """Refuse other signs than those of an equation, before the library's inference, which never
    ends at some of them.
    """
    text = next((a.s.decode(errors="replace") for a in proto.attribute if a.name == "equation"), "")
    if proto.op_type == "Einsum" and not re.fullmatch(r"[A-Za-z ,]*(->[A-Za-z ]*)?", text.replace("...", "")):
        raise CallError(
            f"Einsum: the equation is `{text}`",
            code="onnx",
            help="it has letters, `...`, a comma between inputs and `->` before the output",
        )


def _check_size(proto: Any, kind: Any, known: bool) -> None:
    extents = [d.dim_value for d in kind.shape.dim]
    if any(n < 0 for n in extents):
        raise CallError(f"{proto.op_type}: the result has dimensions {extents}", code="onnx")
    dtype = TEXT if kind.elem_type == TEXT.number else FROM_ONNX.get(kind.elem_type)
    refuse_large(proto.op_type, extents, dtype, known)


def refuse_large(what: str, extents: Sequence[int], dtype: DType | TextType | None, known: bool) -> None:
    """Raise ResourceError for a tensor beyond the limits.

    Args:
        known: it is computed when the program is made.
    """
    count, item = prod(extents), dtype.bytes if dtype else 1
    if count > MOST_ELEMENTS or known and count * item > MOST_KNOWN:
        most = f"constants of {MOST_KNOWN:,} bytes" if known else f"{MOST_ELEMENTS:,} elements"
        raise ResourceError(
            f"{what}: the result has {' * '.join(map(str, extents))} elements; the limit is {most}",
            code="onnx",
        )


class Typed(Protocol):
    """A tensor that is read or one that is written."""

    @property
    def dtype(self) -> DType | NarrowType | TextType: ...


def check_types(schema: Any, values: Sequence[Typed | list[Any] | None]) -> None:
    """Inputs that share a type of the definition have the same, and it is one that is allowed.

    Raises:
        CallError: another one.
    """
    allowed = {c.type_param_str: set(c.allowed_type_strs) for c in schema.type_constraints}
    bound: dict[str, str] = {}
    for k, value in enumerate(values):
        if value is None or isinstance(value, list) or not schema.inputs:
            continue
        formal = schema.inputs[min(k, len(schema.inputs) - 1)]
        name = f"tensor({_NAMES[value.dtype]})"
        if name not in allowed.get(
            formal.type_str, {formal.type_str}
        ) and f"optional({name})" not in allowed.get(formal.type_str, ()):
            raise CallError(
                f"{schema.name}: input {k} is {value.dtype}, which version {schema.since_version} of it does "
                f"not take",
                code="onnx",
            )
        if (
            formal.type_str in allowed
            and formal.is_homogeneous
            and bound.setdefault(formal.type_str, name) != name
        ):
            raise CallError(
                f"{schema.name}: input {k} is {name}, and another one {bound[formal.type_str]}", code="onnx"
            )
