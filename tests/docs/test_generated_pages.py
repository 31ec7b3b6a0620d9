"""Pages that `python -m scripts.pages` writes: current and complete."""

from __future__ import annotations

import re
import shlex
from pathlib import Path

import pytest

from scripts.pages import commands, errors, intermediate, options
from scripts.pages.__main__ import PAGES, written
from scripts.pages.error_codes import CODES
from texpr.__main__ import command_line
from texpr.ir import expr, loop, tensor
from texpr.schedule.steps.registry import rules
from texpr.support import options as process

ROOT = Path(__file__).parents[2]
MACHINES = {"ranks", "import", "gpu", "memory", "emulator", "link", "running", "internal", "rename"}
"""Codes without an example: they depend on the machine, or on threads and signals."""


def text_of(path: str) -> str:
    return (ROOT / path).read_text(encoding="utf-8")


def headings(path: str) -> set[str]:
    return set(re.findall(r"^#{2,4} (.*)$", text_of(path), re.MULTILINE))


@pytest.mark.parametrize("path", PAGES)
def test_pages_are_current(path: str):
    """Every example on them is run, and errors are whole."""
    assert text_of(path) == written(path), "run `python -m scripts.pages`"


def test_every_option_has_an_entry():
    assert set(process.NAMES) <= headings(options.PAGE)
    assert options.EXAMPLES.keys() == options.WRONG.keys() == options.meanings().keys() == set(process.NAMES)
    assert all(f"`TEXPR_{name.upper()}`" in text_of(options.PAGE) for name in process.NAMES)


def test_every_code_of_an_error_has_an_entry():
    described = {code for codes in CODES.values() for code in codes}
    assert errors.raised() - set(rules()) == described and described <= headings(errors.PAGE)
    assert {code for codes in CODES.values() for code, told in codes.items() if not told.example} == MACHINES


def test_every_class_of_errors_has_a_row():
    assert all(f"| `{each.__name__}` |" in text_of(errors.PAGE) for each in errors.classes())


def test_every_command_has_an_entry():
    assert {name for name, _ in commands.commands()} <= headings(commands.PAGE)


@pytest.mark.parametrize("name", dict(commands.commands()))
def test_examples_of_commands_parse(name: str):
    for line in commands.examples(dict(commands.commands())[name]):
        _, *words = shlex.split(line)
        arguments, rest = command_line().parse_known_args(words)
        assert arguments.run is not None and not [w for w in rest if w.startswith("-")], line


@pytest.mark.parametrize("module", (expr, tensor, loop), ids=lambda m: m.__name__)
def test_every_node_has_a_row(module):
    text = text_of(intermediate.PAGE)
    assert intermediate.nodes(module) and all(
        f"| `{n.__name__}` |" in text for n in intermediate.nodes(module)
    )
