"""NVIDIA: PTX of blocks, warps, asynchronous copies, tensor cores."""
