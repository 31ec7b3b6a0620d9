"""Writes the pages of the operator library, one a file of it, from its texts and comments.

    python scripts/operators.py

Gradients are derived and models of ONNX written on the way, in about a minute.
"""

from __future__ import annotations

import re
import sys
from functools import cache
from pathlib import Path

ROOT = Path(__file__).parents[1]
sys.path.insert(0, str(ROOT))

from scripts.counts import counts  # noqa: E402
from scripts.pages.operator_facts import elsewhere, gradient, in_onnx  # noqa: E402
from scripts.reference.docstrings import fenced, wrapped  # noqa: E402
from texpr import lang, ops  # noqa: E402
from texpr.compiler.imports import library_files  # noqa: E402
from texpr.lang.elaboration.declaration import Module  # noqa: E402

PAGES = Path("docs/reference/operators")
KINDS = {"float": "any float", "int": "any integer", "num": "any float or integer", "any": "any type"}
FOLDED = 12
"""Lines of a text that is folded."""
INDEX = """# Operators

The library has %d operators. Each one is text in [the language](../language.md), with its gradient,
its schedules and its proofs derived from that text. Call them on NumPy arrays, on tensors, and in
networks.

```python
import numpy as np
import texpr as tx
from texpr import ops

x = np.linspace(-2, 2, 5).astype("f4")
print(ops.gelu(x))
print(tx.grad(ops.gelu))
```

An entry has the equations, which are the formula; shapes and types stand in the first line. Sizes
are what arrays have. Constants behind `;` are passed by name. Entries behind "Compared with" name
the functions of NumPy and torch that the results are compared with in tests and by `make peers`.

```{toctree}
:maxdepth: 1

%s
```

| page | operators |
|---|---|
%s

See also: [how to add an operator](../../developer/add_an_operator.md), [tensors](../tensors.md).
"""


def written() -> dict[Path, str]:
    """The pages with their texts."""
    return {PAGES / "index.md": index(), **{PAGES / f"{name}.md": page(name) for name in themes()}}


@cache
def themes() -> dict[str, Module]:
    """The files of the library by name."""
    return {f.name.removesuffix(".tx"): lang.parse(_text(f), f.name) for f in library_files()}


def operators_of(theme: str) -> list[str]:
    """The operators of a file that users call: those of the runtime (`extern`) are called by others."""
    return [name for name in themes()[theme].ops if name in ops.names()]


def index() -> str:
    """The first page: what there is."""
    rows = "\n".join(_rows(theme, operators_of(theme)) for theme in themes())
    return INDEX % (counts()["operators"], "\n".join(themes()), rows)


def page(theme: str) -> str:
    """The operators of a file."""
    module = themes()[theme]
    comment, _, _ = module.source.text.partition("\n\n")
    contents = "\n".join(_listed([f"[`{name}`](#{name})" for name in operators_of(theme)]))
    head = [f"# {theme.capitalize()}", _plain(comment), contents]
    return "\n\n".join([*head, *(section(theme, name) for name in operators_of(theme))]) + "\n"


def section(theme: str, name: str) -> str:
    """The entry of an operator."""
    sentence, text = gradient(name)
    compared = elsewhere(name)
    parts = [described(theme, name)]
    facts = [_dtypes(name), f"* ONNX: {in_onnx(name)}"]
    facts += [f"* Compared with: {', '.join(compared)}."] if compared else []
    facts += [f"* Gradient: {sentence}" if sentence else "* Gradient:"]
    parts += ["\n".join(fact for fact in facts if fact)]
    return "\n\n".join([*parts, fenced(text, "texpr")] if text else parts)


def described(theme: str, name: str) -> str:
    """The first part of an entry, which follows from the text alone: comment and equations."""
    doc = themes()[theme].ops[name].doc or ""
    return "\n\n".join([f"## {name}", wrapped(" ".join(doc.split())), _equations(theme, name)])


def _equations(theme: str, name: str) -> str:
    """The text of an operator, behind the functions that it uses; a long one is folded."""
    module = themes()[theme]
    text = module.ops[name].text.rstrip()
    used = _used(module, text)
    block = fenced("\n".join([*used, text]), "texpr")
    if block.count("\n") - 1 <= FOLDED:
        return block
    first = text.partition(" {")[0]
    return f"{fenced(first, 'text')}\n\n:::{{dropdown}} Equations\n{block}\n:::"


def _used(module: Module, text: str) -> list[str]:
    """The functions and operators of the runtime that a text calls, and those that they call."""
    source = module.source.text
    texts = {name: source[f.span.start : f.span.stop] for name, f in module.functions.items()}
    texts |= {name: op.text.rstrip() for name, op in module.ops.items() if name not in ops.names()}
    found: set[str] = set()
    while True:
        known = " ".join([text, *(texts[name] for name in found)])
        more = {name for name in texts if re.search(rf"\b{name}\(", known)} - found
        if not more:
            return [texts[name] for name in texts if name in found]
        found |= more


def _dtypes(name: str) -> str:
    variables = getattr(ops, name).signature.variables
    return (
        "* Types: " + ", ".join(f"`{v}` is {KINDS[kind]}" for v, kind in variables) + "." if variables else ""
    )


def _rows(theme: str, names: list[str]) -> str:
    """Rows of the table: a page has as many as it takes to keep cells short."""
    links, rows = [f"[`{n}`]({theme}.md#{n})" for n in names], []
    title = f"[{theme.capitalize()}]({theme}.md)"
    for at in range(0, len(links), 8):
        rows.append(f"| {title if at == 0 else ''} | {', '.join(links[at : at + 8])} |")
    return "\n".join(rows)


def _listed(links: list[str]) -> list[str]:
    """Links as items of a list, by ten."""
    return [f"* {', '.join(links[at : at + 10])}" for at in range(0, len(links), 10)]


def _plain(comment: str) -> str:
    return wrapped(" ".join(line.removeprefix("#").strip() for line in comment.splitlines()))


def _text(file: object) -> str:
    return file.read_text(encoding="utf-8")  # type: ignore[attr-defined]


if __name__ == "__main__":
    (ROOT / PAGES).mkdir(parents=True, exist_ok=True)
    for path, text in written().items():
        (ROOT / path).write_text(text, encoding="utf-8")
        print(path)
