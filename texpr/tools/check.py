"""`python -m texpr check FILES`: parse and prove every operator of files, and say all their errors."""

from __future__ import annotations

import argparse
import json
import sys
from collections.abc import Iterator
from os.path import normpath

from texpr import __version__, lang
from texpr.compiler.imports import read
from texpr.lang.syntax import tree
from texpr.support.errors import VERSION, Error
from texpr.support.frozen_dataclass import frozen_by_identity
from texpr.support.source import Source, Span
from texpr.tools.arguments import Commands, add_command
from texpr.tools.lsp.declarations import Declared, declarations
from texpr.tools.lsp.diagnostics import differences
from texpr.tools.lsp.operator_proofs import Origin, Proofs, excerpt


@frozen_by_identity
class Checked:
    """An operator of a file.

    Attributes:
        needs: constants that must be known before anything can be proven.
        error: None where all is proven.
    """

    name: str
    inputs: tuple[str, ...] = ()
    needs: tuple[str, ...] = ()
    error: Error | None = None


def add_parser(commands: Commands) -> None:
    """Add the command `check`."""
    examples = ["texpr check ops.tx more.tx", "texpr check --json ops.tx"]
    parser = add_command(commands, "check", check, "parse and prove every operator of files", examples)
    parser.add_argument("files", nargs="+", metavar="FILE", help="a .tx file")
    parser.add_argument("--json", action="store_true", help="print operators and errors as JSON")


def check(arguments: argparse.Namespace) -> int:
    """Print each operator whose proofs went through, and all errors of the others; 1 if there are
    some.
    """
    found = {file: list(checked(file)) for file in arguments.files}
    if arguments.json:
        print(json.dumps(as_data(found), indent=2))
    else:
        _print(found)
    return int(any(each.error for operators in found.values() for each in operators))


def _print(found: dict[str, list[Checked]]) -> None:
    for file, operators in found.items():
        if len(found) > 1:
            print(f"{file}:")
        for each in operators:
            if each.error is not None:
                print(each.error, file=sys.stderr)
                continue
            state = f"needs {', '.join(each.needs)}; proven when it is called"
            print(f"{each.name}({', '.join(each.inputs)}): {state if each.needs else 'proven for all sizes'}")


def as_data(found: dict[str, list[Checked]]) -> dict[str, object]:
    """Data that `--json` prints: see `docs/reference/errors.md`."""
    return {
        "version": VERSION,
        "texpr": __version__,
        "files": [
            {
                "file": file,
                "operators": [
                    {"name": each.name, "inputs": list(each.inputs), "needs": list(each.needs)}
                    for each in operators
                    if each.error is None
                ],
                "errors": [error_data(each.error) for each in operators if each.error is not None],
            }
            for file, operators in found.items()
        ],
    }


def error_data(error: Error) -> dict[str, object]:
    """An error as data, its alternatives as edits of the file."""
    found = error.to_dict()
    if error.span is not None:
        source = error.span.source
        found["alternatives"] = [
            {"help": fix.words, "edits": list(_edits(source, program))} for fix, program in error.tried
        ]
    return found


def _edits(source: Source, program: str) -> Iterator[dict[str, object]]:
    for start, stop, new in differences(source.text, program):
        yield {**Span(source, start, stop).to_dict(), "new": new}


def checked(file: str) -> Iterator[Checked]:
    """The operators of a file, in its order, each once, and what is wrong beside them."""
    path = normpath(file)
    try:
        text = read(file)
    except Error as error:
        yield Checked("", error=error)
        return
    except OSError as error:
        yield Checked("", error=Error(f"{file}: {error.strerror}", code="file"))
        return
    told: set[str] = set()
    for each in _of_text(text, path):
        if each.error is not None:
            if str(each.error) in told:
                continue
            told.add(str(each.error))
        yield each


def _of_text(text: str, path: str) -> Iterator[Checked]:
    parts = declarations(text)
    origin = Origin(path)
    broken = [part for part in parts if part.parsed.error is not None]
    for part in broken:
        error = _error_of(_only(text, [part]), path, origin)
        yield Checked("", error=error or part.parsed.error)
    if not broken:
        error = _error_of(text, path, origin)
        if error is not None:
            yield Checked("", error=error)
            return
    whole = [part for part in parts if part.parsed.error is None]
    for part in whole:
        for name in _operators(part):
            needed = excerpt(name, parts)
            if needed.complete:
                yield _proven(_only(text, list(needed.parts)), name, origin)


def _error_of(text: str, path: str, origin: Origin) -> Error | None:
    """The error of a text before anything in it is elaborated."""
    try:
        lang.parse(text, path, origin.uses())
    except Error as error:
        return error
    return None


def _operators(part: Declared) -> list[str]:
    return [item.name.text for item in part.parsed.items if isinstance(item, tree.Operator)]


def _only(text: str, parts: list[Declared]) -> str:
    """The text with blanks in the place of all else: places in it are those of the file."""
    kept = [range(part.start, part.stop) for part in parts]
    blank = ["\n" if c == "\n" else " " for c in text]
    for each in kept:
        blank[each.start : each.stop] = text[each.start : each.stop]
    return "".join(blank)


def _proven(text: str, name: str, origin: Origin) -> Checked:
    proof = Proofs().prove(text, name, origin)
    inputs = () if proof.signature is None else tuple(p.name for p in proof.signature.inputs)
    return Checked(name, inputs, proof.needs, proof.error)
