"""Writes what follows from the registry of steps: the stub of the methods of schedules, and the pages
of the reference, one a kind, with examples that are run.

    python scripts/steps.py
"""

from __future__ import annotations

import sys
from inspect import Parameter
from pathlib import Path

ROOT = Path(__file__).parents[1]
sys.path.insert(0, str(ROOT))

from scripts.pages.examples import refused, rewrite, run, stepped  # noqa: E402
from scripts.pages.step_docstrings import SYSTEMS, Described, described, summary  # noqa: E402
from scripts.reference.docstrings import fenced, wrapped  # noqa: E402
from texpr.schedule.steps.registry import KINDS, Rule, rules  # noqa: E402

STUB = Path("texpr/schedule/script/step_methods.pyi")
PAGES = Path("docs/reference/steps")
TITLES = {
    "loops": ("Steps on loops", "split, reorder, fuse and mark loops"),
    "placement": ("Steps that place computations", "say where and how long intermediate values exist"),
    "buffers": ("Steps on buffers", "copy data near its use, and choose how it lies in memory"),
    "reductions": ("Steps on reductions", "give parts of a reduction to several iterations"),
    "algebra": ("Algebraic rewrites", "rewrite the equations of an operator before its loops"),
    "hardware": ("Steps for hardware", "use instructions and memory paths of one processor"),
}
HEAD = '''"""Signatures of the steps. Written by `python scripts/steps.py` from `schedule.steps.registry`."""

from collections.abc import Mapping, Sequence
from typing import Self

from texpr.ir.expr import Var
from texpr.schedule.steps.registry import Rule

class StepMethods:
    def _call(self, rule: Rule, args: Sequence[object], options: Mapping[str, object]) -> Self: ...
'''
TAIL = "\ndef add_method(rule: Rule) -> None: ...\n"
INDEX = """# Steps

A schedule is a list of steps. Each one rewrites the loops of an operator, and is proven to keep the
answer before it is accepted. The pages have, for each step: the rewrite, a listing before and after
it, when it is legal, a use that is refused, and its options.

```python
import texpr as tx

op = tx.op("op plain(X: f32[N]) -> Y: f32[N] { Y[i] = X[i] + 1 }")
s = tx.schedule(op).split("i", 16, tail="peel").vectorize("ii").parallel("io")
print(s.script())
```

```{toctree}
:maxdepth: 1

%s
```

## Names in other systems

None stands where the system has no step for it. The names are those of `Func` in
[Halide](https://github.com/halide/Halide/blob/main/src/Func.h), of `Schedule` in
[TVM](https://github.com/apache/tvm/blob/main/python/tvm/s_tir/schedule/schedule.py), of the
scheduling operators and the standard library of
[Exo](https://github.com/exo-lang/exo/blob/main/src/exo/API_scheduling.py), and of the
[transform dialect](https://mlir.llvm.org/docs/Dialects/Transform/) of MLIR (`transform.` stands
before them) where nothing else is said. They were looked up in Halide 21, TVM 0.27, Exo 1.0 and MLIR
of LLVM 23. Legality differs even where names agree.

| step | Halide | TVM | Exo | MLIR |
|---|---|---|---|---|
%s

See also: [scheduling, from the start](../../guide/scheduling.md), [errors](../errors.md),
[how to add a step](../../developer/add_a_step.md).
"""
PAGE = """# {title}

After this page you can {purpose}. Written by `python scripts/steps.py` from the docstrings in
`texpr/schedule/steps/{kind}/`; every listing and every refusal is the result of a run.

```python
import texpr as tx
```

{contents}
"""


def written() -> dict[Path, str]:
    """The files with their texts."""
    return {STUB: stub(), PAGES / "index.md": index(), **{PAGES / f"{kind}.md": page(kind) for kind in KINDS}}


def stub() -> str:
    """Signatures for editors."""
    return HEAD + "".join(map(_stubbed, rules().values())) + TAIL


def index() -> str:
    """The first page: all steps, with their names in other systems."""
    rows = []
    for rule in rules().values():
        there = described(rule).elsewhere
        names = [name.replace("`transform.", "`") for name in there.values()]
        rows.append(f"| [`{rule.name}`]({rule.kind}.md#{rule.name}) | {' | '.join(names)} |")
    return INDEX % ("\n".join(KINDS), "\n".join(rows))


def page(kind: str) -> str:
    """The steps of a kind. Examples are run."""
    steps = [rule for rule in rules().values() if rule.kind == kind]
    title, purpose = TITLES[kind]
    contents = "\n".join(f"* [`{s.name}`](#{s.name}): {_small(summary(s))}" for s in steps)
    names: dict[str, object] = {}
    run("import texpr as tx\n", names)
    head = PAGE.format(title=title, purpose=purpose, kind=kind, contents=contents)
    return "\n\n".join([head.rstrip(), *(_section(s, names) for s in steps)]) + "\n"


def _section(rule: Rule, names: dict[str, object]) -> str:
    told = described(rule)
    before, after = stepped(told.example, names)
    said = refused(told.refused, names)
    parts = [
        f"## {rule.name}",
        f"`{rule.name}{rule.usage}`".replace("'", '"') + _older(rule),
        told.body,
        *_listed("Arguments", told.args),
        "**Example**",
        fenced(told.example, "python"),
        rewrite(before, after),
        "**Refused**",
        *_reasons(told),
        fenced(told.refused, "python"),
        fenced(said, "error"),
        _facts(rule, told),
    ]
    return "\n\n".join(parts)


def _older(rule: Rule) -> str:
    return f" (older name: {', '.join(f'`{a}`' for a in rule.aliases)})" if rule.aliases else ""


def _reasons(told: Described) -> list[str]:
    return [wrapped(f"`{name}`: {reason}") for name, reason in told.raises.items()]


def _listed(title: str, entries: dict[str, str]) -> list[str]:
    if not entries:
        return []
    lines = [wrapped(f"`{name}`: {meaning}", "* ") for name, meaning in entries.items()]
    return [f"**{title}**", "\n".join(lines)]


def _facts(rule: Rule, told: Described) -> str:
    """Facts in a line each: the order of sums, names elsewhere, the source."""
    elsewhere = ", ".join(f"{system} {told.elsewhere[system]}" for system in SYSTEMS)
    lines = [f"Order of sums: {rule.order_of_sums}.", f"Elsewhere: {elsewhere}."]
    if told.source:
        lines.append(f"Source: {told.source}")
    return "\n".join(wrapped(line, "* ") for line in lines)


def _small(text: str) -> str:
    return text[0].lower() + text[1:]


def _stubbed(rule: Rule) -> str:
    parameters = ", ".join(["self", *_parameters(rule)])
    lines = f"    def {rule.name}({parameters}) -> Self: ..."
    if len(lines) > 110:
        lines = f"    def {rule.name}(\n        {parameters},\n    ) -> Self: ..."
    return "\n".join([lines, *(f"    {alias} = {rule.name}" for alias in rule.aliases)]) + "\n"


def _parameters(rule: Rule) -> list[str]:
    found: list[str] = []
    for p in rule.signature.parameters.values():
        if (
            p.kind is Parameter.KEYWORD_ONLY
            and "*" not in found
            and not any(each.startswith("*") for each in found)
        ):
            found.append("*")
        stars = {Parameter.VAR_POSITIONAL: "*", Parameter.VAR_KEYWORD: "**"}.get(p.kind, "")
        found.append(
            f"{stars}{p.name}: {p.annotation}" + ("" if p.default is Parameter.empty else f" = {p.default!r}")
        )
    return found


if __name__ == "__main__":
    for path, text in written().items():
        (ROOT / path).parent.mkdir(parents=True, exist_ok=True)
        (ROOT / path).write_text(text, encoding="utf-8")
        print(path)
