"""Whole networks that others define, beside ONNX Runtime and torch.compile.

`networks` says which, `export` writes them as ONNX files in the environment of the other libraries,
`libraries` loads and calls them, `worker` is the process of one library. `python -m bench.models`
prints the tables.
"""
