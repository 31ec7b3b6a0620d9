"""Pretrained models that lie in packages, beside ONNX Runtime.

`packaged` says which and where, `memory` is the process of one library. `python -m bench.pretrained`
prints the table.
"""
