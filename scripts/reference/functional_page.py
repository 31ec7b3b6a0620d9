"""The page of `texpr.nn.functional`: a table, since each function is what a module computes."""

from __future__ import annotations

import re

from scripts.reference.docstrings import filled
from texpr import nn
from texpr.nn import functional
from texpr.nn.functional.module_function import ModuleFunction

TEXT = """Functions of tensors by the names of `torch.nn.functional`. Each is what a module computes that is
made with the same settings: formula, shapes and errors stand with the module. They take tensors, parameters
and arrays, in `forward`, in traced functions and in loops by hand. Arguments are torch's; settings that the
module lacks are an error, as are functions that are not here."""
EXAMPLE = """```pycon
>>> from texpr.nn import functional as F
>>> F.relu(tx.tensor([-1.0, 2.0])).tolist()
[0.0, 2.0]
>>> F.cross_entropy(tx.zeros(2, 4), tx.tensor([0, 3])).item() == np.float32(np.log(4))
True
>>> F.linear(tx.ones(2, 3), nn.Parameter(np.ones((4, 3), "f4"))).shape
(2, 4)
```"""


def functional_page() -> str:
    """The page as text."""
    rows = [_row(name) for name in functional.__all__]
    table = "\n".join(["| function | what it computes |", "|---|---|", *rows])
    note = "Written by `python -m scripts.reference` from the functions."
    seeds = """Masks of `dropout` and its kin follow from `nn.manual_seed`. Their seeds belong to no module: a
network whose training is resumed bit for bit takes `nn.Dropout`."""
    return (
        "\n\n".join(["# Functions: `texpr.nn.functional`", filled(TEXT), note, EXAMPLE, filled(seeds), table])
        + "\n"
    )


def _row(name: str) -> str:
    function = getattr(functional, name)
    arguments = str(function.__signature__)[1:-1].replace("*, ", "").replace("|", "\\|")
    return f"| `{name}({arguments})` | {_meaning(function)} |"


def _meaning(function: ModuleFunction) -> str:
    cls = function.cls
    if not hasattr(nn, cls.__name__):
        return " ".join(re.split(r"\.\s", cls.__doc__ or "")[0].split()).rstrip(".") + "."
    place = "losses" if issubclass(cls, nn.Loss) else "layers"
    return f"[`nn.{cls.__name__}`]({place}.md#{cls.__name__.lower()})"
