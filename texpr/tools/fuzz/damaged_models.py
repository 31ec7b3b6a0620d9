"""Models of ONNX with fields changed, which bytes that are changed seldom reach: sizes, names, types,
places of data.
"""

from __future__ import annotations

from collections.abc import Callable
from random import Random
from typing import Any

INTEGERS = (-1, 0, 1, 2, 7, 255, 65536, 1 << 31, (1 << 62) + 1, (1 << 63) - 1)
TEXTS = (
    "-1",
    "0",
    "4",
    "1e3",
    "",
    "99999999999999999999",
    "../secret",
    "/etc/passwd",
    "m.onnx",
    "a\\b",
    "m.data",
)


def changed(r: Random, data: bytes) -> bytes:
    """The bytes of a model with one to three fields changed."""
    from texpr.onnx.onnx_package import library

    model = library().ModelProto.FromString(data)
    for _ in range(r.choice((1, 1, 2, 3))):
        r.choice(_CHANGES)(r, model)
    return model.SerializeToString()


def _tensor(r: Random, model: Any) -> None:
    tensors = [
        *model.graph.initializer,
        *(a.t for n in model.graph.node for a in n.attribute if a.HasField("t")),
    ]
    if not tensors:
        return
    t = r.choice(tensors)
    how = r.randrange(6)
    if how == 0 and t.dims:
        t.dims[r.randrange(len(t.dims))] = r.choice(INTEGERS)
    elif how == 1:
        t.dims.append(r.choice(INTEGERS))
    elif how == 2:
        t.data_type = r.choice((*range(28), 99))
    elif how == 3 and t.external_data:
        r.choice(t.external_data).value = r.choice(TEXTS)
    elif how == 4:
        t.external_data.add(key=r.choice(("offset", "length", "location")), value=r.choice(TEXTS))
        t.data_location = r.randrange(2)
    else:
        t.name = r.choice(_names(model))


def _node(r: Random, model: Any) -> None:
    n = r.choice(model.graph.node)
    how = r.randrange(5)
    if how == 0 and n.input:
        n.input[r.randrange(len(n.input))] = r.choice(_names(model))
    elif how == 1 and n.output:
        n.output[r.randrange(len(n.output))] = r.choice(_names(model))
    elif how == 2:
        n.op_type = r.choice(("Loop", "If", "Reshape", "Conv", "Identity", "Cast", "", "NoSuch", "Split"))
    elif how == 3:
        model.graph.node.add().CopyFrom(n)
    else:
        n.input.append(r.choice(_names(model)))


def _attribute(r: Random, model: Any) -> None:
    n = r.choice(model.graph.node)
    a = r.choice(n.attribute) if n.attribute and r.random() < 0.7 else n.attribute.add(name="axis", type=2)
    how = r.randrange(5)
    if how == 0:
        a.type = r.randrange(15)
    elif how == 1:
        a.i = r.choice(INTEGERS)
    elif how == 2:
        a.ints.extend(r.choice(INTEGERS) for _ in range(r.randrange(4)))
    elif how == 3:
        a.name = r.choice(("axis", "transB", "to", "value", ""))
    else:
        a.s = r.choice(TEXTS).encode()


def _shape(r: Random, model: Any) -> None:
    kind = r.choice([*model.graph.input, *model.graph.output]).type.tensor_type
    how = r.randrange(4)
    if how == 0:
        kind.elem_type = r.randrange(28)
    elif how == 1:
        kind.shape.dim.add(dim_value=r.choice(INTEGERS))
    elif how == 2 and kind.shape.dim:
        r.choice(kind.shape.dim).dim_param = r.choice(("?", "", "N", "a b"))
    elif kind.shape.dim:
        r.choice(kind.shape.dim).dim_value = r.choice(INTEGERS)


def _whole(r: Random, model: Any) -> None:
    how = r.randrange(4)
    if how == 0 and model.opset_import:
        model.opset_import[0].version = r.choice(INTEGERS)
    elif how == 1:
        model.opset_import.add(domain=r.choice(("", "ai.onnx.ml", "x")), version=r.choice(INTEGERS))
    elif how == 2:
        del model.graph.node[r.randrange(len(model.graph.node))]
        if not model.graph.node:
            model.graph.node.add(op_type="Identity", input=[""], output=["y"])
    else:
        model.ir_version = r.choice(INTEGERS)


def _names(model: Any) -> list[str]:
    graph = model.graph
    return [
        *(v.name for v in (*graph.input, *graph.output, *graph.initializer)),
        *(name for n in graph.node for name in (*n.input, *n.output)),
        "",
        "no such",
    ]


_CHANGES: tuple[Callable[[Random, Any], None], ...] = (_tensor, _tensor, _node, _attribute, _shape, _whole)
