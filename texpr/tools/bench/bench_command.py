"""The commands of `bench`."""

from __future__ import annotations

from argparse import Namespace

from texpr.tools.arguments import Commands, add_command, add_commands, add_part
from texpr.tools.bench import (
    calling,
    certificates,
    compiling,
    coverage,
    frontend,
    gradient_cost,
    plans,
    proofs,
    scaling,
    targets,
)


def add_parser(commands: Commands) -> None:
    """Add the command `bench` and its parts."""
    parts = add_commands(add_command(commands, "bench", None, "measure texpr, and try the operator library"))
    for part in (frontend, proofs, compiling, calling, plans, gradient_cost, certificates, coverage, targets):
        part.add_parser(parts)
    scaling.add_parser(parts)
    onnx = add_command(parts, "onnx", _onnx, "run the node tests of ONNX, and count those that pass")
    add_part(onnx)
    onnx.add_argument(
        "--models",
        action="store_true",
        help="in their place read the models that the package onnx has of PyTorch, and save them again",
    )
    add_part(
        add_command(
            parts,
            "saving",
            _saving,
            "save all operators and gradients as models in ONNX, and run them elsewhere",
        )
    )


# Imported when they run: the other commands start without networks.
def _onnx(arguments: Namespace) -> int:
    from texpr.tools.bench.onnx_cases import bench_onnx
    from texpr.tools.bench.onnx_models import bench_models

    return (bench_models if arguments.models else bench_onnx)(arguments)


def _saving(arguments: Namespace) -> int:
    from texpr.tools.bench.onnx_saving import bench_saving

    return bench_saving(arguments)
