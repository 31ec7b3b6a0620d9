"""Programs become graphs of ONNX.

* `graph`: nodes and initializers while they are collected.
* `layers`: the operators of the library that ONNX has, by a table.
* `structure`, `indexing`, `scalars`: all others, by their equations: elementwise formulas,
  reductions and products over axes, reads at
places
  that are known or computed.
* `dims`: dimensions that keep a name instead of a number.
"""
