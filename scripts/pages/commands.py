"""The page of the command line, from its parsers. It does not depend on the width of a terminal."""

from __future__ import annotations

import argparse
from collections.abc import Iterator

from scripts.reference.docstrings import fenced, wrapped
from texpr.__main__ import command_line

PAGE = "docs/reference/cli.md"
HEAD = """# The command line

After this page you can run, prove, show, tune and measure operators of a file from the shell.
Written by `python -m scripts.pages`.

```sh
cat > ops.tx <<'END'
op matmul(A: f32[M, K], B: f32[K, N]) -> C: f32[M, N] { C[i, j] = sum(k: A[i, k] * B[k, j]) }
END
texpr check ops.tx
texpr run ops.tx --op matmul M=4 N=3 K=5
```

`texpr` and `python -m texpr` are the same command. It ends with 0 if all went well, with 1 if an
input was refused (the reason is on standard error), with 2 if the arguments make no sense.
`texpr COMMAND --help` prints what stands here.
"""
TAIL = """See also: [the language](language.md), [options and variables](options.md),
[ahead of time](../guide/ahead_of_time.md).
"""
Parser = argparse.ArgumentParser


def page() -> str:
    """The page."""
    parser = command_line()
    options = _options(parser)
    head = [HEAD.rstrip(), *([_table("option", options)] if options else [])]
    return "\n\n".join([*head, *(part for name, each in commands() for part in _section(name, each)), TAIL])


def commands(parser: Parser | None = None, before: str = "texpr") -> Iterator[tuple[str, Parser]]:
    """All commands with their parsers, those of commands too: `texpr bench proofs`."""
    for name, each in _subparsers(parser or command_line()).items():
        yield f"{before} {name}", each
        yield from commands(each, f"{before} {name}")


def examples(parser: Parser) -> list[str]:
    """Command lines that the help of a command shows last."""
    lines = (parser.epilog or "").splitlines()
    return [line.strip() for line in lines if line.strip().startswith("texpr ")]


def _section(name: str, parser: Parser) -> list[str]:
    level = "#" * len(name.split())
    shown = examples(parser) or [" ".join([name, *_needed(parser)])]
    parts = [f"{level} {name}", wrapped(parser.description or "")]
    if _subparsers(parser):
        rows = [(f"`{n}`", p.description or "") for n, p in _subparsers(parser).items()]
        return [*parts, _table("command", rows)]
    parts.append(fenced("\n".join(shown), "sh"))
    rows = [*_arguments(parser), *_options(parser)]
    return [*parts, _table("argument", rows)] if rows else parts


def _needed(parser: Parser) -> list[str]:
    """Arguments of an example: a file where there is one."""
    return ["ops.tx" for action in parser._actions if action.dest == "file" and action.nargs != "?"]


def _arguments(parser: Parser) -> list[tuple[str, str]]:
    found = []
    for action in parser._actions:
        if not action.option_strings and not isinstance(action, argparse._SubParsersAction):
            many = " ..." if action.nargs == "*" else ""
            found.append((f"`{action.metavar or action.dest}{many}`", action.help or ""))
    return found


def _options(parser: Parser) -> list[tuple[str, str]]:
    return [
        (", ".join(f"`{each}{_value(action)}`" for each in action.option_strings), _help(action))
        for action in parser._actions
        if action.option_strings
        and "--help" not in action.option_strings
        and action.help != argparse.SUPPRESS
    ]


def _value(action: argparse.Action) -> str:
    """A value as the help shows it: its choices, or its name."""
    if action.nargs == 0:
        return ""
    if action.choices is not None and not action.metavar:
        return " " + "|".join(map(str, action.choices))
    name = action.metavar or action.dest.upper()
    return f" {name}"


def _help(action: argparse.Action) -> str:
    """The help text with its default."""
    return (action.help or "") % {**vars(action), "prog": "texpr"}


def _table(title: str, rows: list[tuple[str, str]]) -> str:
    lines = [f"| {_cell(first)} | {_cell(text)} |" for first, text in rows]
    return "\n".join([f"| {title} | meaning |", "|---|---|", *lines])


def _cell(text: str) -> str:
    return text.replace("|", "\\|")


def _subparsers(parser: Parser) -> dict[str, Parser]:
    actions = [a for a in parser._actions if isinstance(a, argparse._SubParsersAction)]
    return dict(actions[0].choices) if actions else {}
