"""The page of options, from `texpr.support.options`: docstrings, types, defaults, examples."""

from __future__ import annotations

import re
from dataclasses import MISSING, fields
from inspect import cleandoc

from scripts.pages.examples import refused, run
from scripts.reference.docstrings import fenced, wrapped
from texpr.support.options import Options

PAGE = "docs/reference/options.md"
HEAD = """# Options and environment variables

After this page you can change how texpr compiles and runs, for a process, for a block of code, or
from the shell. Written by `python -m scripts.pages`.

```python
import numpy as np
import texpr as tx
from texpr import ops

tx.options(threads=2)  # for the process
with tx.options(verify=True, cache_dir=None):  # for this block, in this thread or task alone
    ops.relu(np.ones(4, "f4"))
```

From the shell, an option is a variable with its name in capitals:

```sh
TEXPR_THREADS=2 TEXPR_CACHE_DIR= python train.py
```

The innermost block counts, then the process, then the variable, then the default.
`print(tx.options())` shows the values that hold. Names and values are checked:

```python
tx.options(thread=2)
```

%s

In variables, `1`, `true` and `yes` are True; `0`, `false`, `no` and an empty text are False.

| option | type | default | variable |
|---|---|---|---|
%s
"""
TAIL = """## Variables that are no options

* `XDG_CACHE_HOME`: the folder in which the folder of the cache stands, on Linux and macOS.
* `LOCALAPPDATA`: the same on Windows.

See also: [errors](errors.md), [running](../guide/running.md), [the command line](cli.md).
"""
KINDS = {"certify": 'bool or `"warn"`', "print": "texts", "disable": "names"}
"""Types in words, where Python's are long."""
COMPUTED = {"threads": "cores of this process", "cache_dir": "a folder of the user's cache"}
"""Defaults that differ between machines."""
EXAMPLES = {
    "threads": "with tx.options(threads=1):\n    assert (ops.relu(np.ones(4, 'f4')) == 1).all()",
    "cache_dir": "with tx.options(cache_dir=None):\n    kernel = tx.schedule(ops.relu).compile()",
    "verify": "with tx.options(verify=True):\n    kernel = tx.schedule(ops.relu).compile()",
    "certify": "with tx.options(certify=True):\n    print(tx.schedule(ops.relu).compile().certificate)",
    "print": "with tx.options(print='after:lower'):\n    kernel = tx.schedule(ops.relu).compile()",
    "text_limit": "with tx.options(text_limit=100_000):\n"
    "    op = tx.op('op f(X: f32[N]) -> Y: f32[N] { Y[i] = X[i] }')",
    "tuned": "with tx.options(tuned=False):\n    ops.relu(np.ones(4, 'f4'))",
    "specializations": "with tx.options(specializations=1):\n"
    "    for n in range(1, 5):\n        ops.relu(np.ones(n, 'f4'))",
    "opt": "with tx.options(opt=0):\n    print((tx.tensor(np.ones(4, 'f4')) * 2).numpy())",
    "disable": "with tx.options(disable='fuse'):\n    print((tx.tensor(np.ones(4, 'f4')) * 2).numpy())",
    "reassociate": "with tx.options(reassociate=True):\n"
    "    print((tx.tensor(np.ones(4, 'f4')) * 2 * 3).numpy())",
    "tf32": "with tx.options(tf32=True):\n"
    "    print('tf32' in tx.schedule(ops.matmul, M=512, N=512, K=512).auto('sm_80').script())",
    "fma": "with tx.options(fma=True):\n    print(tx.schedule(ops.gelu_tanh).auto().script())",
    "device": "with tx.options(device='cpu'):\n    x = tx.tensor(np.ones(4, 'f4'))",
    "guard": "with tx.options(guard='end'):\n    kernel = tx.schedule(ops.relu).compile()",
    "perf_map": "with tx.options(perf_map=True):\n    kernel = tx.schedule(ops.relu).compile()",
    "traceback": "with tx.options(traceback='full'):\n    ops.relu(np.ones(4, 'f4'))",
}
WRONG = {
    "threads": "threads=0",
    "cache_dir": "cache_dir=3",
    "verify": "verify=1",
    "certify": "certify='yes'",
    "print": "print='lower'",
    "text_limit": "text_limit='many'",
    "tuned": "tuned='no'",
    "specializations": "specializations=0",
    "opt": "opt=4",
    "disable": "disable=3",
    "reassociate": "reassociate=1",
    "tf32": "tf32='on'",
    "fma": "fma=None",
    "device": "device='gpu 0'",
    "guard": "guard='middle'",
    "perf_map": "perf_map='yes'",
    "traceback": "traceback='long'",
}
"""A value that is refused, by option."""


def page() -> str:
    """The page. Examples are run."""
    names: dict[str, object] = {}
    setup = re.search(r"```python\n(.*?)```", HEAD, re.DOTALL)
    assert setup is not None
    run(setup[1], names)
    unknown = fenced(refused("tx.options(thread=2)\n", names), "error")
    head = HEAD % (unknown, "\n".join(map(_row, fields(Options))))
    return "\n\n".join([head.rstrip(), *(_section(f.name, names) for f in fields(Options)), TAIL])


def meanings() -> dict[str, str]:
    """The meaning of each option: the attributes of the docstring."""
    _, _, attributes = cleandoc(Options.__doc__ or "").partition("Attributes:\n")
    found: dict[str, str] = {}
    name = ""
    for line in attributes.splitlines():
        if match := re.match(r"    (\w+): (.*)", line):
            name, found[match[1]] = match[1], match[2]
        else:
            found[name] += f" {line.strip()}"
    return found


def _row(f) -> str:
    kind = KINDS.get(f.name, str(f.type)).replace(" | ", " or ")
    return f"| [`{f.name}`](#{f.name}) | {kind} | {_default(f)} | `TEXPR_{f.name.upper()}` |"


def _default(f) -> str:
    return COMPUTED[f.name] if f.default is MISSING else f"`{f.default!r}`"


def _section(name: str, names: dict[str, object]) -> str:
    run(EXAMPLES[name], names)
    wrong = f"tx.options({WRONG[name]})"
    text = meanings()[name]
    return "\n\n".join(
        [
            f"## {name}",
            wrapped(text[0].upper() + text[1:]),
            fenced(EXAMPLES[name].replace("'", '"'), "python"),
            fenced(wrong.replace("'", '"'), "python"),
            fenced(refused(wrong, names), "error"),
        ]
    )
