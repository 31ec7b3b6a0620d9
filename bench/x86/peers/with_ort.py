"""ONNX Runtime: models of one or two nodes, with their results bound to memory. Weights of
convolutions are constants of the model.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np

from bench.x86.candidate import Candidate, Columns
from bench.x86.rows import Arrays, Row

THREADS = 1


def columns(threads: int) -> Columns:
    """One column."""
    global THREADS
    import onnx  # noqa: F401 - both are needed
    import onnxruntime  # noqa: F401

    THREADS = threads
    return {
        "ort": {
            "gemm": gemm,
            "gemm_batched": gemm,
            "gemm_int8": gemm_int8,
            "conv": conv,
            "depthwise": conv,
            "softmax": softmax,
            "layernorm": layernorm,
            "gelu": gelu,
            "bias_relu": bias_relu,
            "add": add,
        }
    }


def version() -> str:
    """Of the library."""
    import onnxruntime

    return onnxruntime.__version__


def gemm(row: Row, arrays: Arrays) -> Candidate:
    """MatMul."""
    return _model([("MatMul", ["A", "B"], {})], arrays)


def gemm_int8(row: Row, arrays: Arrays) -> Candidate:
    """MatMulInteger, which wants one operand without signs: A is shifted, and so is its zero."""
    a = (arrays["A"].astype("i2") + 128).astype("u1")
    return _model(
        [("MatMulInteger", ["A", "B", "zero"], {})],
        {"A": a, "B": arrays["B"]},
        {"zero": np.uint8(128)},
        dtype="i4",
    )


def conv(row: Row, arrays: Arrays) -> Candidate:
    """Conv."""
    w = arrays["F"] if row.kind == "conv" else arrays["F"][:, None]
    groups, stride, pad = arrays["X"].shape[1] // w.shape[1], row.constants["S"], row.constants["P"]
    attributes = {
        "strides": [stride] * 2,
        "pads": [pad] * 4,
        "group": groups,
        "kernel_shape": list(w.shape[2:]),
    }
    return _model([("Conv", ["X", "F"], attributes)], {"X": arrays["X"]}, {"F": w})


def softmax(row: Row, arrays: Arrays) -> Candidate:
    """Softmax."""
    return _model([("Softmax", ["X"], {"axis": 1})], arrays)


def layernorm(row: Row, arrays: Arrays) -> Candidate:
    """LayerNormalization."""
    return _model(
        [("LayerNormalization", ["X", "g", "b"], {"axis": 1, "epsilon": 1e-5})],
        {"X": arrays["X"]},
        {name: arrays[name] for name in "gb"},
    )


def gelu(row: Row, arrays: Arrays) -> Candidate:
    """Add and Gelu."""
    return _model([("Add", ["X", "b"], {}), ("Gelu", ["t0"], {})], arrays)


def bias_relu(row: Row, arrays: Arrays) -> Candidate:
    """Add and Relu."""
    return _model([("Add", ["X", "b"], {}), ("Relu", ["t0"], {})], arrays)


def add(row: Row, arrays: Arrays) -> Candidate:
    """Add."""
    return _model([("Add", ["A", "B"], {})], arrays)


def _model(
    nodes: list[tuple[str, list[str], dict[str, Any]]],
    inputs: Arrays,
    constants: Mapping[str, Any] | None = None,
    dtype: str = "",
) -> Candidate:
    """A chain of nodes; node k writes `tk`."""
    import onnx
    import onnxruntime
    from onnx import helper, numpy_helper

    made = [
        helper.make_node(op, names, [f"t{k}"], **attributes)
        for k, (op, names, attributes) in enumerate(nodes)
    ]
    kind = {name: helper.np_dtype_to_tensor_dtype(a.dtype) for name, a in inputs.items()}
    result = helper.np_dtype_to_tensor_dtype(np.dtype(dtype)) if dtype else next(iter(kind.values()))
    last = f"t{len(made) - 1}"
    graph = helper.make_graph(
        made,
        "row",
        [helper.make_tensor_value_info(name, kind[name], a.shape) for name, a in inputs.items()],
        [
            helper.make_tensor_value_info(
                last, result, [f"d{k}" for k in range(next(iter(inputs.values())).ndim)]
            )
        ],
        [numpy_helper.from_array(np.asarray(a), name) for name, a in (constants or {}).items()],
    )
    model = helper.make_model(graph, opset_imports=[helper.make_opsetid("", 20)], ir_version=9)
    onnx.checker.check_model(model)
    settings = onnxruntime.SessionOptions()
    settings.intra_op_num_threads, settings.inter_op_num_threads, settings.log_severity_level = THREADS, 1, 3
    settings.add_session_config_entry("session.force_spinning_stop", "1")
    session = onnxruntime.InferenceSession(
        model.SerializeToString(), settings, providers=["CPUExecutionProvider"]
    )
    first = session.run(None, dict(inputs))[0]
    bound = session.io_binding()
    given = {name: onnxruntime.OrtValue.ortvalue_from_numpy(a) for name, a in inputs.items()}
    out = onnxruntime.OrtValue.ortvalue_from_shape_and_type(first.shape, first.dtype, "cpu", 0)
    for name, value in given.items():
        bound.bind_ortvalue_input(name, value)
    bound.bind_ortvalue_output(last, out)

    def run() -> object:
        session.run_with_iobinding(bound)
        return out

    return Candidate(run, lambda value: value.numpy())
