"""`python -m texpr bench`: measurements of texpr with their bars, and trials of the whole library.

Each file is a command: `frontend`, `proofs`, `compile` (`compiling`), `calls` (`calling`), `grad`
(`gradient_cost`), `certificates`, `coverage`, `targets`, `scaling`, `onnx` (`onnx_cases`), `saving`
(`onnx_saving`). `measured` has the operators and schedules that several of them use,
`scaling_networks` the networks of `scaling`, `traced_steps` their measurements.
"""

from texpr.tools.bench.bench_command import add_parser

__all__ = ["add_parser"]
