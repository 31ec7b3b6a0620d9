"""`python -m texpr check FILE`: parse and prove every operator of a file."""

from __future__ import annotations

import argparse

from texpr.compiler import load
from texpr.tools.arguments import Commands, add_command


def add_parser(commands: Commands) -> None:
    """Add the command `check`."""
    parser = add_command(commands, "check", check, "parse and prove every operator of a file")
    parser.add_argument("file", help="a .tx file")


def check(arguments: argparse.Namespace) -> int:
    """Print each operator whose proofs went through; the first that fails raises."""
    for name, operator in vars(load(arguments.file)).items():
        needed = [c.name for c in operator.signature.constants if c.required]
        state = f"needs {', '.join(needed)}; proven when it is called" if needed else "proven for all sizes"
        print(f"{name}({', '.join(p.name for p in operator.signature.inputs)}): {state}")
    return 0
