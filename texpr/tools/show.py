"""`python -m texpr show FILE`: an operator at one stage, from equations to assembly."""

from __future__ import annotations

import argparse

from texpr.compiler import Op, schedule
from texpr.ir.printing.tensor import show_program
from texpr.targets import default_gpu
from texpr.tools.arguments import Commands, add_command, add_operator, add_schedule, add_sizes
from texpr.tools.operator_selection import applied, chosen_ops, options_of

STAGES = ("tensor", "loop", "scheduled", "llvm", "asm", "ptx")


def add_parser(commands: Commands) -> None:
    """Add the command `show`."""
    parser = add_command(
        commands,
        "show",
        show,
        "print operators at one stage, from equations to assembly",
        [
            "texpr show ops.tx --op matmul M=64 N=64 K=64",
            "texpr show ops.tx --stage asm --target aarch64 M=64 N=64 K=64",
        ],
    )
    add_operator(parser)
    parser.add_argument(
        "--stage",
        choices=STAGES,
        default="scheduled",
        help="the stage (default: %(default)s, the loops after auto())",
    )
    add_schedule(parser)
    add_sizes(parser)


def show(arguments: argparse.Namespace) -> int:
    """Print the stage of each operator."""
    ops = chosen_ops(arguments)
    for operator in ops:
        print(
            _stage(operator, arguments, options_of(arguments, operator, ops)).rstrip(),
            end="\n\n" if len(ops) > 1 else "\n",
        )
    return 0


def _stage(operator: Op, arguments: argparse.Namespace, options: dict[str, object]) -> str:
    scheduled = schedule(operator, **options)
    target = default_gpu() if arguments.stage == "ptx" and arguments.target == "native" else arguments.target
    match arguments.stage:
        case "tensor":
            return show_program(scheduled.program)
        case "loop":
            return str(scheduled)
    applied(scheduled, arguments.script, target)
    if arguments.stage == "scheduled":
        return str(scheduled)
    kernel = scheduled.compile(target)
    return {"llvm": lambda: kernel.llvm, "asm": lambda: kernel.asm, "ptx": lambda: kernel.ptx}[
        arguments.stage
    ]()
