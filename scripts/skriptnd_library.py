"""Reads the standard library of NNEF 2.0 (SkriptND) from a folder, makes an operator of each definition,
and writes `docs/reference/skriptnd.md`: which are accepted, proven and differentiated, and why others
are not.

    PYTHONPATH=. python scripts/skriptnd_library.py --library DIR [--page] [--only NAME...] [--texts]

DIR holds `math.sknd`, `nn.sknd` and so on: the folder `skriptnd-pyproject/skriptnd/stdlib` of
https://github.com/KhronosGroup/NNEF-Tools, branch `v2.0`, revision d9d6d427 (May 2026).
"""

from __future__ import annotations

import argparse
import re
import sys
from collections.abc import Iterator
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import texpr as tx
from texpr.nnef.skriptnd.skript_library import SkriptOperator

PAGE = Path(__file__).parents[1] / "docs" / "reference" / "skriptnd.md"
REVISION = "d9d6d427bf9c5db69419e813450e465799548382"

Case = tuple[list[Any], dict[str, Any], dict[str, str]]
"""Shapes, attributes and types that a definition is tried with."""


def _case(*shapes: Any, types: dict[str, str] | None = None, **attributes: Any) -> Case:
    return list(shapes), attributes, types or {}


_POOL = _case(4, axes=[2, 3], size=[3, 3], stride=[2, 2], padding=[1, 1, 1, 1])
_BLOCKS: dict[str, Any] = dict(block_size=[2, 2])
CASES: dict[str, Case] = {
    "algo.top_k": _case(2, k=3),
    "algo.nonmax_suppress": _case(3, 3, max_outputs_per_class=10),
    "image.area_downsample": _case(4, axes=[2, 3], factor=[2, 2]),
    "image.avg_roi_pool": _case(4, 2, 1, output_size=[2, 2]),
    "image.cubic_resize": _case(4, axes=[2, 3], size=[6, 6]),
    "image.grid_sample": _case(4, (None, None, None, 2)),
    "image._cubic_grid_sample": _case(4, (None, None, None, 2)),
    "image._linear_grid_sample": _case(4, (None, None, None, 2)),
    "image._nearest_grid_sample": _case(4, (None, None, None, 2)),
    "image.linear_resize": _case((None, None, 4, 4), axes=[2, 3], size=[6, 6]),
    "image.linear_upsample": _case(4, axes=[2, 3], factor=[2, 2]),
    "image.max_roi_pool": _case(4, 2, 1, output_size=[2, 2]),
    "image.nearest_downsample": _case(4, axes=[2, 3], factor=[2, 2]),
    "image.nearest_resize": _case((None, None, 4, 4), axes=[2, 3], size=[6, 6]),
    "image.nearest_upsample": _case(4, axes=[2, 3], factor=[2, 2]),
    "image.rescale": _case((None, None, 4, 4), axes=[2, 3], factor=[1.5, 1.5], mode="LINEAR"),
    "image.resize": _case((None, None, 4, 4), axes=[2, 3], size=[6, 6], mode="LINEAR"),
    "layer.batch_norm": _case((None, 8, None, None)),
    "layer.conv": _case((None, 8, None, None), channels=16, size=[3, 3], padding=[1, 1, 1, 1]),
    "layer.deconv": _case(
        (None, 8, None, None), channels=4, size=[3, 3], stride=[2, 2], padding=[1, 1, 1, 1]
    ),
    "layer.linear": _case((None, 8), channels=16),
    "layout.batch_to_space": _case((None, None, 4, 6), **_BLOCKS),
    "layout.broadcast": _case((None, 1, None), axes=[1], shape=[5]),
    "layout.cast": _case(2, types={"T": "int", "R": "real"}),
    "layout.concat": _case([2, 2, 2], axis=1),
    "layout.depth_to_space": _case((None, 8, 4, 6), **_BLOCKS),
    "layout.flatten": _case(3, axis=1, rank=2),
    "layout.gather": _case(3, 2, axis=1),
    "layout.gather_nd": _case(3, (None, None, 2)),
    "layout.pad": _case(4, axes=[2, 3], padding=[1, 2, 1, 2]),
    "layout.range": _case(first=0, last=10, stride=2),
    "layout.reshape": _case((None, 4, 6), axis=1, rank=2, shape=[3, -1]),
    "layout.scatter": _case(3, 3, 3, axis=1),
    "layout.scatter_nd": _case(3, (None, 2), 2),
    "layout.shuffle": _case((None, 8, None, None), axis=1, groups=2),
    "layout.slice": _case((None, None, 9), axes=[2], begin=[1], end=[8], stride=[2]),
    "layout.space_to_batch": _case((None, None, 4, 6), **_BLOCKS),
    "layout.space_to_depth": _case((None, None, 4, 6), **_BLOCKS),
    "layout.split": _case(3, axis=1, count=3),
    "layout.squeeze": _case((None, 1, None), axes=[1]),
    "layout.stack": _case([2, 2, 2], axis=1),
    "layout.tensor": _case(shape=[2, 3], value=[float(k) for k in range(6)]),
    "layout.tile": _case(2, axes=[1], repeats=[3]),
    "layout.transpose": _case(4, perm=[0, 2, 3, 1]),
    "layout.unflatten": _case((None, 12, None), axis=1, shape=[3, 4]),
    "layout.uniform": _case(0, shape=[2, 3]),
    "layout.unsqueeze": _case(2, axes=[1]),
    "layout.unstack": _case((None, 3, None), axis=1),
    "linalg.matmul": _case(3, 3, None),
    "math.argmax": _case(3, axis=1),
    "math.argmax_nd": _case(3, axes=[1, 2]),
    "math.argmin": _case(3, axis=1),
    "math.argmin_nd": _case(3, axes=[1, 2]),
    "math.cumsum": _case(3, axis=1),
    "math.lp_reduce": _case(3, axes=[1], p=2.0),
    "misc.mesh_grid": _case([1, 1]),
    "nn.batch_norm": _case(4, 1, 1, 1, 1),
    "nn.conv": _case(4, 4, 1, padding=[1, 1, 1, 1]),
    "nn.deconv": _case(4, (None, None, 3, 3), 1, stride=[2, 2], padding=[1, 1, 1, 1]),
    "nn.l1_norm": _case(3, axes=[1], bias=1.0, epsilon=1e-5),
    "nn.l2_norm": _case(3, axes=[1], bias=1.0, epsilon=1e-5),
    "nn.local_response_norm": _case(4, size=[5]),
    "nn.avg_pool": _POOL,
    "nn.lp_pool": (_POOL[0], {**_POOL[1], "p": 2.0}, {}),
    "nn.max_pool": _POOL,
    "nn.rms_pool": _POOL,
    "nn.sum_pool": _POOL,
    "nn.lstm": _case(3, 2, 2, 1),
    "nn.lstm_loop": _case(3, 2, 2, 1, 2, 2),
    "nn._jagged_lstm_loops": _case((5, 2, None), 2, 2, 1, 2, 2, 1),
    "nn.mean_variance_norm": _case(4, 1, 1),
    "nn.relu": _case(2, alpha=0.1, max=6.0),
    "quant.min_max_linear_quantize": _case(4, min=-1.0, max=1.0, bits=8),
    "quant.zero_point_linear_quantize": _case(4, zero_point=0, scale=0.1, bits=8),
    "rand.bernoulli": _case(prob=0.5, shape=[2, 3]),
    "rand.normal": _case(shape=[2, 3]),
    "rand.uniform": _case(shape=[2, 3]),
}


@dataclass
class Verdict:
    """What became of a definition.

    Attributes:
        accepted: it is an operator, whose text is proven.
        proven: the kernel of its default schedule has a certificate, for open sizes.
        differentiated: `yes`, `-` where no output is a float of a float input, or `no`.
    """

    name: str
    case: str
    accepted: bool = False
    proven: bool = False
    differentiated: str = "no"
    reasons: list[str] = field(default_factory=list)


def default_case(operator: SkriptOperator) -> Case:
    """Ranks: 2 for what has any number of dimensions."""
    shapes: list[Any] = []
    for each in operator._definition.block("input"):
        extents = each.type.shape or []
        rank = sum(2 if e.packed else 1 for e in extents)
        shapes.append([rank] * 3 if each.type.packed else rank)
    return shapes, {}, {}


def verdict(operator: SkriptOperator, texts: bool) -> Verdict:
    """Try a definition."""
    name = f"{operator.module}.{operator.name}"
    shapes, attributes, types = CASES.get(name) or default_case(operator)
    found = Verdict(name, _said(shapes, attributes, types))
    try:
        made = operator(*shapes, types=types, **attributes)
    except tx.Error as error:
        found.reasons.append(_reason(error))
        if texts:
            print(error, file=sys.stderr)
            _print_text(operator, shapes, attributes, types)
        return found
    found.accepted = True
    if texts:
        print(made)
    _certify(found, made)
    _differentiate(found, made)
    return found


def _print_text(operator: SkriptOperator, shapes: Any, attributes: Any, types: Any) -> None:
    try:
        print(operator.text(*shapes, types=types, **attributes))
    except tx.Error:
        return


def _certify(found: Verdict, made: tx.Op) -> None:
    """Prove the kernel for open sizes: that of the default schedule, else that of none."""
    try:
        found.proven = bool(tx.schedule(made).auto().certificate())
    except tx.Error as error:
        try:
            found.proven = bool(tx.schedule(made).certificate())
        except tx.Error:
            found.reasons.append(_reason(error))
        else:
            found.reasons.append("open sizes: proven without a schedule, with the default one not")


def _differentiate(found: Verdict, made: tx.Op) -> None:
    try:
        found.differentiated = "yes" if tx.grad(made) else "no"
    except tx.Error as error:
        message = _reason(error)
        nothing = "has no float" in message
        found.differentiated = "-" if nothing else "no"
        found.reasons.append(message.partition("` ")[2] if nothing else message)


def _reason(error: tx.Error) -> str:
    message = re.sub(r"^\w+: ", "", error.message)
    return message.replace("|", "\\|").replace("\n", " ")


def _said(shapes: list[Any], attributes: dict[str, Any], types: dict[str, str]) -> str:
    parts = [str(s) for s in shapes] + [f"{n}={v}" for n, v in attributes.items()]
    parts += [f"types={types}"] if types else []
    return ", ".join(parts).replace("None", "~").replace("|", "\\|")


def rows(verdicts: list[Verdict]) -> Iterator[str]:
    """The table."""
    yield "| operator | tried with | accepted | proven | differentiated | notes |"
    yield "|---|---|---|---|---|---|"
    for v in verdicts:
        marks = [("yes" if v.accepted else "no"), ("yes" if v.proven else "no")]
        grad = v.differentiated if v.accepted else "no"
        yield f"| `{v.name}` | `{v.case}` | {marks[0]} | {marks[1]} | {grad} | {'; '.join(v.reasons)} |"


def main() -> None:
    """The command."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--library", required=True, help="the folder of the files .sknd")
    parser.add_argument("--page", action="store_true", help="write the page")
    parser.add_argument("--only", nargs="*", default=[], help="operators, as in nn.conv")
    parser.add_argument("--texts", action="store_true", help="print the texts and the errors")
    given = parser.parse_args()
    verdicts = []
    for operator in tx.nnef.load_skriptnd(given.library):
        if not given.only or f"{operator.module}.{operator.name}" in given.only:
            verdicts.append(verdict(operator, given.texts))
            if not given.page:
                print(list(rows(verdicts[-1:]))[-1], flush=True)
    print(summary(verdicts))
    if given.page:
        PAGE.write_text(page(verdicts), encoding="utf-8")


def summary(verdicts: list[Verdict]) -> str:
    """The counts."""
    accepted, proven = sum(v.accepted for v in verdicts), sum(v.proven for v in verdicts)
    gradients = sum(v.differentiated == "yes" for v in verdicts)
    without = sum(v.differentiated == "-" for v in verdicts)
    return (
        f"{len(verdicts)} operators: {accepted} accepted, {proven} proven, {gradients} differentiated; "
        f"{without} have nothing to differentiate"
    )


HEAD = f"""# Operators of NNEF 2.0

Written by `scripts/skriptnd_library.py`, which reads the standard library from a folder of yours:

```text
git clone -b v2.0 https://github.com/KhronosGroup/NNEF-Tools
PYTHONPATH=. python scripts/skriptnd_library.py --library NNEF-Tools/skriptnd-pyproject/skriptnd/stdlib
```

The table is of revision {REVISION[:8]} (May 2026) and of revision 8 of the draft.
[Operators in SkriptND](../guide/skriptnd.md) shows how to use them.

* *tried with*: ranks, or shapes where `~` is a size that stays open; attributes.
* *accepted*: it is an operator, whose text is proven for all sizes: reads inside, every element
  defined once, an order of recurrences.
* *proven*: the loops of a kernel for open sizes have a certificate.
* *differentiated*: `tx.grad` gives an operator; `-` where no input or no output is a float.

`TEXPR_SKRIPTND=DIR python -m pytest tests/nnef/test_skriptnd_standard.py` compares 88 of them with
NumPy, by the interpreter, within 1e-5. `scripts/skriptnd_peer.py` compares 75 outputs of one graph
with Khronos' own executor, within 1e-5.

"""


def page(verdicts: list[Verdict]) -> str:
    """The text of the page."""
    parts = [HEAD + f"**{summary(verdicts)}.**\n".replace("to differentiate", "to\ndifferentiate")]
    for module in dict.fromkeys(v.name.partition(".")[0] for v in verdicts):
        parts += [f"## {module}\n", *rows([v for v in verdicts if v.name.startswith(f"{module}.")]), ""]
    return "\n".join(parts)


if __name__ == "__main__":
    main()
