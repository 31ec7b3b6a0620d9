"""Small models, made by the library onnx."""

from __future__ import annotations

import numpy as np
import onnx
from onnx import TensorProto, helper, numpy_helper

import texpr as tx


def model(
    nodes, inputs, outputs, initializers=None, opset: int = 21, functions=(), domains=()
) -> onnx.ModelProto:
    """A model; inputs and outputs are (name, shape) of f32, or (name, shape, element type)."""

    def infos(given):
        return [
            helper.make_tensor_value_info(name, *(kind or [TensorProto.FLOAT]), shape)
            for name, shape, *kind in given
        ]

    data = [numpy_helper.from_array(np.asarray(a), name) for name, a in (initializers or {}).items()]
    graph = helper.make_graph(nodes, "g", infos(inputs), infos(outputs), data)
    sets = [helper.make_opsetid("", opset), *(helper.make_opsetid(d, 1) for d in domains)]
    return helper.make_model(graph, opset_imports=sets, functions=list(functions))


def mlp(seed: int = 0) -> onnx.ModelProto:
    """linear, relu, linear: (batch, 4) to (batch, 3)."""
    rng = np.random.default_rng(seed)
    nodes = [
        helper.make_node("Gemm", ["x", "first.weight", "first.bias"], ["h"], transB=1),
        helper.make_node("Relu", ["h"], ["r"]),
        helper.make_node("Gemm", ["r", "second.weight", "second.bias"], ["y"], transB=1),
    ]
    data = {
        "first.weight": rng.normal(size=(8, 4)),
        "first.bias": rng.normal(size=8),
        "second.weight": rng.normal(size=(3, 8)),
        "second.bias": rng.normal(size=3),
    }
    return model(
        nodes,
        [("x", ["batch", 4])],
        [("y", ["batch", 3])],
        {n: a.astype(np.float32) for n, a in data.items()},
    )


def run(op: str, arrays, version: int = 21, outputs: int = 1, constants=(), domain: str = "", **attributes):
    """What a model of one node gives for arrays, None for inputs that are absent.

    Args:
        outputs: how many of them; a tuple is given for several.
        constants: positions of the arrays that are initializers; others are inputs of the model.
    """
    given = {f"x{k}": np.asarray(a) for k, a in enumerate(arrays) if a is not None}
    names = [f"y{k}" for k in range(outputs)]
    made = helper.make_node(
        op,
        [f"x{k}" if a is not None else "" for k, a in enumerate(arrays)],
        names,
        domain=domain,
        **attributes,
    )
    kept = {f"x{k}" for k in constants}
    kinds = {n: helper.np_dtype_to_tensor_dtype(a.dtype) for n, a in given.items()}
    infos = [helper.make_tensor_value_info(n, kinds[n], a.shape) for n, a in given.items() if n not in kept]
    data = [numpy_helper.from_array(a, n) for n, a in given.items() if n in kept]
    graph = helper.make_graph(
        [made], "g", infos, [helper.make_tensor_value_info(n, 1, []) for n in names], data
    )
    sets = [
        helper.make_opsetid("", 21 if domain else version),
        *([helper.make_opsetid(domain, version)] if domain else []),
    ]
    return tx.onnx.load(helper.make_model(graph, opset_imports=sets))(
        *(a for n, a in given.items() if n not in kept)
    )
