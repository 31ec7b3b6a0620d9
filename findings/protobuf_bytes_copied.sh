#!/usr/bin/env bash
# protobuf 7.36.2 for Python (its default implementation, upb), as onnx 1.23.2 uses it: a field of bytes is copied each
# time that it is read. len(tensor.raw_data) of an initializer of 16 MB takes another 16 MB, and so does
# tensor.ByteSize(), which encodes the whole message to count its bytes; HasField, names and dimensions take nothing.
# The pure Python implementation gives the object that it holds, each time the same.
#
# Seen: raw_data is raw_data: False; bytes allocated by len: 16,777,2xx; by ByteSize: 16,777,3xx; by HasField: < 1,000.
# texpr takes lengths of large values from the file (onnx/large_values.py): a model is not held twice while it is read.
# Exits with 1 if that changes.
set -euo pipefail
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
python3 -m venv "$folder/env"
"$folder/env/bin/pip" install --quiet onnx==1.23.2 protobuf==7.36.2 numpy==2.4.6
"$folder/env/bin/python" - <<'PYTHON'
import sys
import tracemalloc

import numpy as np
from google.protobuf.internal import api_implementation
from onnx import numpy_helper

tensor = numpy_helper.from_array(np.zeros(1 << 22, "f4"), "weights")


def allocated(work):
    tracemalloc.start()
    work()
    _, most = tracemalloc.get_traced_memory()
    tracemalloc.stop()
    return most


size = 1 << 24
same = tensor.raw_data is tensor.raw_data
by_length = allocated(lambda: len(tensor.raw_data))
by_size = allocated(tensor.ByteSize)
by_presence = allocated(lambda: tensor.HasField("raw_data"))
print(f"implementation {api_implementation.Type()}; raw_data is raw_data: {same}")
print(f"bytes allocated by len(raw_data): {by_length:,}, by ByteSize(): {by_size:,}, by HasField: {by_presence:,}")
sys.exit(0 if not same and by_length >= size and by_size >= size and by_presence < 1000 else 1)
PYTHON
