"""Python with its output, as a session at the prompt shows both."""

from __future__ import annotations

import ast
import io
import os
from contextlib import redirect_stdout
from tempfile import TemporaryDirectory
from typing import Any

import numpy as np

import texpr as tx
from scripts.reference.examples import CLASSES
from texpr import nn


def method_example(owner: str, method: str) -> str:
    """The example of a method of a public class, with its output; empty where there is none."""
    setup, examples = CLASSES.get(owner, ("", {}))
    return transcript(setup, examples[method]) if method in examples else ""


def transcript(setup: str, code: str) -> str:
    """Both, statement by statement, each followed by what it prints. Runs in an empty folder."""
    nn.manual_seed(0)
    names: dict[str, Any] = {"tx": tx, "nn": nn, "np": np, "__name__": "__main__"}
    before = os.getcwd()
    with TemporaryDirectory() as folder:
        os.chdir(folder)
        try:
            return "\n".join(
                f"{_typed(each)}{_printed(each, names)}" for each in _statements(f"{setup}\n{code}")
            )
        finally:
            os.chdir(before)


def _statements(code: str) -> list[str]:
    """The statements of a text, as they are written."""
    return [ast.get_source_segment(code, node) or "" for node in ast.parse(code).body]


def _typed(statement: str) -> str:
    first, *others = statement.splitlines()
    return "\n".join([f">>> {first}", *(f"... {line}".rstrip() for line in others)])


def _printed(statement: str, names: dict[str, Any]) -> str:
    """What a statement prints; of an error of texpr the last part, as `doctest` compares it."""
    printed = io.StringIO()
    with redirect_stdout(printed):
        try:
            exec(compile(f"{statement}\n", "<example>", "single"), names)
        except tx.Error as error:
            print(f"Traceback (most recent call last):\n    ...\n{type(error).__qualname__}: {error}")
    return f"\n{text}" if (text := printed.getvalue().rstrip()) else ""
