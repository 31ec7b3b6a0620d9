"""The page of both intermediate representations: nodes from their classes, invariants from the
verifier, the grammar from its file.
"""

from __future__ import annotations

import ast
import inspect
import re
from collections.abc import Iterator
from dataclasses import fields, is_dataclass
from pathlib import Path
from types import ModuleType

from scripts.reference.docstrings import fenced, wrapped
from texpr.ir import expr, loop, loop_kind, tensor
from texpr.ir.verifier import expr as verify_expr
from texpr.ir.verifier import program as verify_program

PAGE = "docs/reference/ir.md"
HEAD = """# Intermediate representations

After this page you can print a program or a kernel, read it back, and take it apart in Python.
Written by `python -m scripts.pages`.

texpr has two representations. *Tensor IR* is equations between tensors, in no order: the meaning of
an operator. *Loop IR* is loops and stores, in order: a schedule of it. Both are immutable trees
whose nodes compare by identity; `texpr.ir.traverse` walks and rewrites them.

```python
import texpr as tx
from texpr.ir.printing.loop import show_kernel
from texpr.ir.printing.tensor import show_program
from texpr.ir.traverse import equal
from texpr.lang import parse_kernel

op = tx.op("op rows(X: f32[M, N]) -> y: f32[M] { y[i] = sum(j: X[i, j]) }")
program = op.program()
kernel = tx.schedule(op).split("j", 8).kernel
assert show_program(tx.op(show_program(program)).program()) == show_program(program)
assert equal(parse_kernel(show_kernel(kernel)), kernel)
```

`show_program(program)` is text in the language:

%s

`show_kernel(kernel)` is a listing:

%s

Programs are also written as JSON, one row a node (`texpr.ir.json.program`).

## Expressions

Both representations share them. Every expression has a `dtype`, and a `span` where the user wrote
it.

%s

## Tensor IR

A `Program` is an operator whose types and constants are filled in; sizes stay symbolic.

%s

## Loop IR

A `Kernel` is the code of one call. The kind of a loop says how its iterations run.

%s

### Kinds of loops

%s

## Grammar

Text is read by LALR(1), without conflicts. Operators start at `program`. In a listing of a kernel
each line is a statement, and two more blanks at its start mean one level deeper. The rules
`expression`, `header`, `declaration`, `range` and `store` read parts of these lines.

```{literalinclude} ../../texpr/lang/syntax/grammar.lark
:language: text
```

The other words of listings are matched by patterns, which are these:

```{literalinclude} ../../texpr/lang/listing/kernel.py
:language: python
:start-at: _WORD =
:end-before: class Line
```

## Invariants

Under `tx.options(verify=True)` every pass is followed by these checks. A complaint is a mistake of
texpr, an `AssertionError`. In the lists `...` stands for names and numbers.

### Of expressions

%s

### Of programs and kernels

%s

See also: [the language](language.md), [schedules](../guide/scheduling.md),
[proofs](../developer/proofs.md).
"""
LONGEST = 190
"""Characters of a cell."""
SKIPPED = {"span", "parts"}
FORWARD = ("Node", "Expr", "Stmt", "Unary", "Binary", "LoopKind", "GpuLoop")
"""Base classes."""


def page() -> str:
    """The page."""
    names: dict[str, object] = {}
    setup = re.search(r"```python\n(.*?)```", HEAD, re.DOTALL)
    assert setup is not None
    exec(setup[1], names)
    texts = (names["show_program"](names["program"]), names["show_kernel"](names["kernel"]))  # type: ignore[operator]
    return HEAD % (
        fenced(texts[0], "texpr"),
        fenced(texts[1], "text"),
        _table(expr),
        _table(tensor),
        _table(loop),
        "\n".join(_kinds()),
        "\n".join(complaints(verify_expr)),
        "\n".join(complaints(verify_program)),
    )


def nodes(module: ModuleType) -> list[type]:
    """Classes of nodes that a module defines, in its order."""
    found = [
        each
        for each in vars(module).values()
        if isinstance(each, type) and each.__module__ == module.__name__ and is_dataclass(each)
    ]
    return [each for each in found if each.__name__ not in FORWARD]


def complaints(module: ModuleType) -> Iterator[str]:
    """Items of a list: what a module of the verifier refuses."""
    assert module.__file__ is not None
    found = dict.fromkeys(_messages(ast.parse(Path(module.__file__).read_text(encoding="utf-8"))))
    return (wrapped(text, "* ") for text in found)


def _messages(tree: ast.Module) -> Iterator[str]:
    for node in ast.walk(tree):
        match node:
            case ast.Call(func=ast.Name("check"), args=[_, message, _]):
                yield _text(message)


def _text(message: ast.expr) -> str:
    """A message, with `...` for what is filled in."""
    match message:
        case ast.Constant(value=str(text)):
            return text
        case ast.JoinedStr(values=parts):
            return "".join(part.value if isinstance(part, ast.Constant) else "..." for part in parts)  # type: ignore[misc]
    return "..."


def _table(module: ModuleType) -> str:
    rows = [f"| `{each.__name__}` | {_fields(each)} | {_first(each)} |" for each in nodes(module)]
    return "\n".join(["| node | fields | meaning |", "|---|---|---|", *rows])


def _kinds() -> Iterator[str]:
    for each in vars(loop_kind).values():
        if isinstance(each, type) and each.__module__ == loop_kind.__name__ and each.__name__ not in FORWARD:
            yield f"* `{each.__name__}`: {_first(each)}"


def _fields(each: type) -> str:
    return ", ".join(f"`{f.name}`" for f in fields(each) if f.name not in SKIPPED)


def _first(each: type) -> str:
    """The first paragraph of a docstring in one line, or its first sentence where that is long."""
    text = " ".join((inspect.getdoc(each) or "").split("\n\n")[0].split())
    if len(text) > LONGEST:
        text = re.split(r"(?<=[.])\s+(?=[A-Z`])", text, maxsplit=1)[0]
    return text.replace("|", "\\|")
