"""Calls of compiled kernels: arguments, outputs, shapes, places in memory. Machine code for the
common ones stands in `runtime.native`.
"""
