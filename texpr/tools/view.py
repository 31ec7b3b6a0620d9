"""`python -m texpr view FILE -o out.html`: equations, loop nest after each step, LLVM IR and
assembly side by side.
"""

from __future__ import annotations

import argparse
import html
from pathlib import Path

from texpr.compiler import Op, schedule
from texpr.compiler.html import Pane, equations_html, highlighted, page, stages_html
from texpr.compiler.pass_pipeline import ready
from texpr.compiler.schedule import Schedule
from texpr.support.errors import CompileError
from texpr.support.files import write_file
from texpr.tools.arguments import Commands, add_command, add_operator, add_schedule, add_sizes
from texpr.tools.operator_selection import applied, chosen_ops, options_of


def add_parser(commands: Commands) -> None:
    """Add the command `view`."""
    parser = add_command(
        commands,
        "view",
        view,
        "write a page of equations, loops after each step, LLVM IR and assembly",
        ["texpr view ops.tx -o ops.html M=64 N=64 K=64"],
    )
    add_operator(parser)
    add_schedule(parser)
    parser.add_argument(
        "-o", "--output", metavar="FILE", help="the page to write (default: the .tx file's name with .html)"
    )
    add_sizes(parser)


def view(arguments: argparse.Namespace) -> int:
    """Write a page that shows each operator on its way to machine code."""
    ops = chosen_ops(arguments)
    rows = [
        (operator.__name__, _panes(operator, arguments, options_of(arguments, operator, ops)))
        for operator in ops
    ]
    path = Path(arguments.output or Path(arguments.file).with_suffix(".html"))
    write_file(path, page(Path(arguments.file).name, rows).encode())
    print(path)
    return 0


def _panes(operator: Op, arguments: argparse.Namespace, options: dict[str, object]) -> list[Pane]:
    scheduled = applied(schedule(operator, **options), arguments.script, arguments.target)
    return [
        Pane("equations", equations_html(ready(scheduled.program))),
        Pane("loop nest", stages_html(scheduled.stages())),
        *_code(scheduled, arguments.target),
    ]


def _code(scheduled: Schedule, target: str) -> list[Pane]:
    kernel = scheduled.compile(target)
    try:
        llvm, assembly = kernel.llvm, kernel.asm
    except CompileError as error:
        return [Pane(f"code for {target}", f"<pre>{html.escape(str(error))}</pre>")]
    language = "ptx" if kernel.target.gpu else "asm"
    return [
        Pane(f"LLVM IR, {target}", f"<pre>{highlighted(llvm, 'llvm')}</pre>"),
        Pane("assembly", f"<pre>{highlighted(assembly, language)}</pre>"),
    ]
