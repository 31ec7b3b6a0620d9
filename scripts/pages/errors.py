"""The page of errors: classes and codes, with examples that are run."""

from __future__ import annotations

import inspect
import os
import re
import tempfile
from collections.abc import Iterator
from contextlib import chdir
from pathlib import Path

import texpr as tx
from scripts.pages.error_codes import CODES, SETUP, Code
from scripts.pages.examples import FILE, run
from scripts.pages.step_docstrings import described
from scripts.reference.docstrings import fenced, wrapped
from texpr.schedule.steps.registry import rules
from texpr.support import errors
from texpr.support.extras import MissingExtra

PAGE = "docs/reference/errors.md"
PACKAGE = Path(tx.__file__).parent
CODE = re.compile(r"code=\"([a-z_0-9]+)\"|^STEP = \"([a-z_0-9]+)\"", re.MULTILINE)
HEAD = """# Errors

After this page you can tell from an error what is wrong, where, and what to write instead. Written
by `python -m scripts.pages`; every error below is the result of a run.

```python
%s```

An error has a code, a place in the text with its line, the smallest example that shows the mistake,
and a help that was tried:

```python
try:
    tx.op("op f(X: f32[N]) -> Y: f32[N] { Y[i] = X[i + 1] }")
except tx.Error as error:
    print(error)
    print(error.code, error.span, error.help, error.fixed)
```

## Errors as data

`error.to_dict()` has all of it as data that JSON takes: place, code, notes, the smallest example
and the changes that were tried and proven. No later `version` with the same number removes or
changes a key:

| key | value |
|---|---|
| `version` | 1 |
| `class`, `code` | name of the class; the word in `error[code]`, or "" |
| `message`, `label`, `help` | as in the text of the error, or "" |
| `notes` | list of texts |
| `place` | null, or `file`, `line`, `column`, `end_line`, `end_column`, `start`, `stop` |
| `witness` | null, or `sizes`, `instances`, `tensor`, `element` |
| `alternatives` | list of `help` and `program`: changes that were tried and proven |
| `text` | the whole error as it is printed |

Lines and columns count characters from 1, `start` and `stop` from 0; ends are exclusive.
`instances` are maps of indices to values: one of a read or write, two of a refused step.

```python
try:
    tx.op("op f(X: f32[N]) -> Y: f32[N] { Y[i] = X[i + 1] }")
except tx.Error as error:
    found = error.to_dict()
    print(found["code"], found["place"]["line"], found["place"]["column"])
    print(found["witness"]["sizes"], found["witness"]["instances"])
    print(found["alternatives"][0]["help"])
```

`python -m texpr check --json FILES` prints an object with `version`, `texpr` (the version of the
package) and `files`. Each file has `file`, its `operators` that were accepted, and all its
`errors`. Operators have `name`, `inputs`, and in `needs` the constants without which nothing can
be proven. Errors are as `to_dict` has them, but alternatives have `edits` for `program`: each is a
place and its `new` text. The exit code is 0 where there is no error. It is 1 where there is one or
a file cannot be read, and 2 for arguments that make no sense.

Mistakes in the program of texpr itself are an `AssertionError`: report them.

## Classes

| class | raised when |
|---|---|
%s

Each is an `Error`, so `except tx.Error` catches all of them. `CallError` is a `TypeError` and a
`ValueError` as well, `MissingExtra` an `ImportError`.

## Errors without a code

A text that is not in the language gives a `ParseError` that names what was found and what was
expected:

%s
"""
STEPS = """## Codes of steps

A step that does not apply has its own name as the code. Examples stand on the pages of steps:

%s

Some are raised by several steps: `order`, `exact`, `loop`, `tensor` and `cache`, see above.

See also: [steps](steps/index.md), [litmus tests](../guide/litmus.md),
[how to ask for a replay](../guide/scheduling.md).
"""


def page() -> str:
    """The page. Examples are run in an empty folder."""
    with tempfile.TemporaryDirectory() as folder, chdir(folder):
        names: dict[str, object] = {}
        run(SETUP, names)
        broken = "tx.op('op f(X: f32[N] -> Y: f32[N] { Y[i] = X[i] }')"
        head = HEAD % (SETUP, "\n".join(_classes()), _shown(broken, names))
        parts = [head.rstrip()]
        for title, codes in CODES.items():
            parts += [f"## {title}", *(_section(code, told, names) for code, told in codes.items())]
    return "\n\n".join([*parts, STEPS % _steps()])


def raised() -> set[str]:
    """The codes that the package names, as its source says."""
    texts = [path.read_text(encoding="utf-8") for path in sorted(PACKAGE.rglob("*.py"))]
    return {a or b for text in texts for a, b in CODE.findall(text)}


def codes_of_steps() -> set[str]:
    """Codes that are names of steps."""
    return raised() & {*rules(), *(rule.kind for rule in rules().values())}


def classes() -> list[type[BaseException]]:
    """The public classes of errors and warnings."""
    found = [c for _, c in inspect.getmembers(errors, inspect.isclass) if issubclass(c, Exception)]
    return [*sorted(found, key=lambda c: inspect.getsourcelines(c)[1]), MissingExtra]


def _classes() -> Iterator[str]:
    for each in classes():
        first = (each.__doc__ or "").split("\n\n")[0]
        text = " ".join(first.split())
        yield f"| `{each.__name__}` | {text} |"


def _section(code: str, told: Code, names: dict[str, object]) -> str:
    shown = _shown(told.example, names, code) if told.example else ""
    return "\n\n".join(part for part in (f"### {code}", wrapped(told.meaning), shown) if part)


def _shown(example: str, names: dict[str, object], code: str = "") -> str:
    """A block and the whole error it gives."""
    try:
        run(example, names)
    except tx.Error as error:
        text = str(error)
        assert error.code == code, f"{code}: {text}"
        kind = type(error).__name__
    else:
        raise AssertionError(f"{code}: this is accepted: {example}")
    assert os.getcwd() not in text and str(PACKAGE) not in text, f"a path of this machine: {text}"
    return f"A `{kind}`:\n\n{fenced(_quoted(example), 'python')}\n\n{fenced(text, 'error')}"


def _quoted(example: str) -> str:
    """Python as the formatter writes it: double quotes, as far as none stand inside."""
    triple = example.replace("'''", '"""')
    return re.sub(r"'([^'\"\n]*)'", r'"\1"', triple)


def _steps() -> str:
    found = [rule for rule in rules().values() if described(rule)]
    links = [f"[`{r.name}`](steps/{r.kind}.md#{r.name})" for r in found]
    return "\n".join(wrapped(", ".join(links[at : at + 8]), "* ") for at in range(0, len(links), 8))


__all__ = ["CODES", "FILE", "PAGE", "classes", "codes_of_steps", "page", "raised"]
