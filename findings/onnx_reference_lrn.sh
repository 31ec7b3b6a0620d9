#!/usr/bin/env bash
# onnx 1.23.2: the reference evaluator computes LRN for as many channels as the batch has samples, and returns the others as they came
# (divided by bias^beta alone).
#
# The definition of LRN sums the squares of the channels from c - floor((size - 1) / 2) to c + ceil((size - 1) / 2) for every channel c.
# onnx/reference/ops/op_lrn.py runs `for c in range(x.shape[0])`, over the batch. ONNX's own node tests have as many samples as channels
# (5 of 5), so that they do not show it. ONNX Runtime 1.32.0 follows the definition.
#
# Seen, for x = 1..5 in five channels of one sample, size 3, alpha = beta = bias = 1:
#   reference    [0.375, 2.0, 3.0, 4.0, 5.0]
#   definition   [0.375, 0.3529, 0.2813, 0.2264, 0.3409]
# Exits with 1 if that changes.
set -euo pipefail
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
python3 -m venv "$folder/env"
"$folder/env/bin/pip" install --quiet onnx==1.23.2 onnxruntime==1.32.0
"$folder/env/bin/python" - <<'PYTHON'
import math
import sys

import numpy as np
import onnxruntime
from onnx import TensorProto, helper
from onnx.reference import ReferenceEvaluator

node = helper.make_node("LRN", ["x"], ["y"], size=3, alpha=1.0, beta=1.0, bias=1.0)
infos = [helper.make_tensor_value_info(n, TensorProto.FLOAT, [1, 5, 1, 1]) for n in "xy"]
model = helper.make_model(helper.make_graph([node], "g", infos[:1], infos[1:]), opset_imports=[helper.make_opsetid("", 13)], ir_version=9)
x = np.arange(1, 6, dtype=np.float32)
sums = [sum(v * v for v in x[max(0, c - math.floor(2 / 2)):c + math.ceil(2 / 2) + 1]) for c in range(5)]
definition = x / (1 + np.array(sums) / 3)
given = {"x": x.reshape(1, 5, 1, 1)}
reference = ReferenceEvaluator(model).run(None, given)[0].ravel()
runtime = onnxruntime.InferenceSession(model.SerializeToString()).run(None, given)[0].ravel()
print("reference   ", reference.tolist())
print("definition  ", definition.tolist())
print("ONNX Runtime", runtime.tolist())
as_seen = np.allclose(reference, [definition[0], *x[1:]]) and np.allclose(runtime, definition)
sys.exit(0 if as_seen else 1)
PYTHON
