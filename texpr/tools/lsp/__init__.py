"""`python -m texpr lsp`: a language server for editors, over stdin and stdout.

`regions` finds operators in a document, `declarations` parses them, `symbols` resolves their names,
`operator_proofs` elaborates and proves them. `diagnostics`, `hover`, `navigation`, `formatting`,
`completion` and `outline` answer questions; `session` keeps the open documents. All of these are
functions of texts. `protocol` and `server` speak the Language Server Protocol, by pygls.
"""

from __future__ import annotations

import argparse

from texpr.tools.arguments import Commands, add_command


def add_parser(commands: Commands) -> None:
    """Add the command `lsp`."""
    examples = ["texpr lsp    (an editor starts it: see docs/guide/editors.md)"]
    parser = add_command(commands, "lsp", lsp, "answer an editor's questions about operators", examples)
    parser.add_argument("--stdio", action="store_true", help="speak over stdin and stdout (default)")


def lsp(arguments: argparse.Namespace) -> int:
    """Serve one editor until it ends the connection."""
    from texpr.tools.lsp.server import make_server

    make_server().start_io()
    return 0
