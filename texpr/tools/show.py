"""`python -m texpr show FILE`: an operator at each stage, from equations to assembly."""

from __future__ import annotations

import argparse
import re
from pathlib import Path

from texpr.compiler import Op, Schedule, load, schedule
from texpr.ir.printing.tensor import show_program
from texpr.support.errors import CallError
from texpr.targets import default_gpu

STAGES = ("tensor", "loop", "scheduled", "llvm", "asm", "ptx")


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Arguments of `show`."""
    add_op_arguments(parser)
    parser.add_argument("--stage", choices=STAGES, default="scheduled", help="what to print (default: the loop nest after auto())")


def add_op_arguments(parser: argparse.ArgumentParser) -> None:
    """Arguments that say which operators, how scheduled, for what target."""
    parser.add_argument("file", help="a .tx file")
    parser.add_argument("--op", help="which operator of the file; all of them unless given")
    parser.add_argument("--target", default="native", help="what to compile for (default: this machine)")
    parser.add_argument("--script", help="a file of steps to apply instead of auto()")
    parser.add_argument("sizes", nargs="*", metavar="NAME=VALUE", help="sizes, constants and dtype variables, such as M=512 S=2 T=f64")


def show(arguments: argparse.Namespace) -> int:
    """Print the stage of each operator."""
    ops = chosen_ops(arguments)
    for operator in ops:
        print(_stage(operator, arguments, options_of(arguments, operator, ops)).rstrip(), end="\n\n" if len(ops) > 1 else "\n")
    return 0


def chosen_ops(arguments: argparse.Namespace) -> list[Op]:
    """The operators that were asked for.

    Raises:
        CallError: the file has no such operator.
    """
    ops, name = vars(load(arguments.file)), arguments.op
    if name is None:
        return list(ops.values())
    if name not in ops:
        raise CallError(f"the file has no operator `{name}`", code="arguments", help=f"it has {', '.join(ops)}")
    return [ops[name]]


def options_of(arguments: argparse.Namespace, operator: Op, ops: list[Op]) -> dict[str, object]:
    """Sizes, constants and dtype variables by name: of several operators, each takes those that stand in its head.

    Raises:
        CallError: an argument is not NAME=VALUE.
    """
    options = dict(_option(text) for text in arguments.sizes)
    elsewhere = {name for other in ops for name in _names(other)} - _names(operator)
    return {name: value for name, value in options.items() if name not in elsewhere}


def _names(operator: Op) -> set[str]:
    return set(re.findall(r"[A-Za-z_]\w*", str(operator.signature)))


def _option(text: str) -> tuple[str, object]:
    name, equals, value = text.partition("=")
    if not equals:
        raise CallError(f"`{text}` is not NAME=VALUE", code="arguments")
    for convert in (int, float):
        try:
            return name, convert(value)
        except ValueError:
            continue
    return name, value


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
    return {"llvm": lambda: kernel.llvm, "asm": lambda: kernel.asm, "ptx": lambda: kernel.ptx}[arguments.stage]()


def applied(scheduled: Schedule, script: str | None, target: str) -> Schedule:
    """The schedule after the steps of a script file, or after the default steps for the target."""
    if script is None:
        return scheduled.auto(target)
    with open(script, encoding="utf-8") as file:
        return scheduled.replay(file.read(), name=Path(script).name)
