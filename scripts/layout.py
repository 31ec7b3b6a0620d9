"""Writes docs/developer/layout.md from the docstrings of the packages: `python
scripts/layout.py`.
"""

from __future__ import annotations

import ast
from pathlib import Path

ROOT = Path(__file__).resolve().parents[1]
PAGE = ROOT / "docs" / "developer" / "layout.md"
HEAD = """# Layout

Where things are in `texpr/`. Written by `python scripts/layout.py`; edit the docstrings of the
packages, or the table in the script.

Parts stand on floors (`tests/repo/floors.py`): a part imports only from lower floors, and folders
of a part only from those that stand before them in the table there.

## Where to add

| what | where |
|---|---|
| an operator of the library | `texpr/ops/library/*.tx`, see `docs/developer/add_an_operator.md` |
| a step of schedules | a file of its name in `texpr/schedule/steps/`: [add a step](add_a_step.md) |
| an algebraic rewrite | `texpr/schedule/steps/algebra/`, `texpr/poly/certificate/rewrites/` (`registry.py`), `texpr/ir/identities.py`: [proofs](proofs.md) |
| a default schedule | a template in `texpr/autoschedule/cpu/` or `gpu/`, listed in `texpr/autoschedule/registry.py`: [autoschedule](autoschedule.md) |
| the CPU schedule of a convolution | `texpr/autoschedule/cpu/convolution/direct.py`, `depthwise.py` |
| a pass over loops | `texpr/passes/loop/`, called in `texpr/compiler/pass_pipeline.py` |
| a function of elements | `texpr/ir/functions.py`, `texpr/passes/math/`, its derivative in `texpr/autodiff/core/rules.py` |
| a target | `texpr/targets/cpu/` or `gpu/`, `texpr/targets/registry.py`: `docs/developer/add_a_target.md` |
| texts of `explain()` | `texpr/compiler/kernels/certified.py` (kernels), `texpr/autoschedule/core/decision.py` (nests), `texpr/poly/certificate/certify.py` (proof) |
| native code of the runtime | `texpr/runtime/native/*.c`, then `python scripts/native.py` |
| a layer, a loss, an optimizer | `texpr/nn/modules/`, `losses/`, `optim/` |
| an operation of NNEF | its declaration in a `.nnef` file of `texpr/nnef/`, its function in `texpr/nnef/operators/` |
| an operator of PyTorch's archives | `texpr/pt2/aten/`, then `python scripts/pt2_operators.py` |
| an operator of ONNX | `texpr/onnx/operators/`, back in `texpr/onnx/writing/` |

## Folders

| folder | what is there |
|---|---|
"""


def page() -> str:
    """The page as it should be."""
    return HEAD + "".join(f"| `{folder}/` | {said} |\n" for folder, said in _folders())


def _folders() -> list[tuple[str, str]]:
    files = sorted((ROOT / "texpr").rglob("__init__.py"), key=lambda file: file.parent.parts)
    return [(file.parent.relative_to(ROOT).as_posix(), _first_paragraph(file)) for file in files]


def _first_paragraph(file: Path) -> str:
    """The first paragraph of a docstring as one line."""
    return " ".join(
        (ast.get_docstring(ast.parse(file.read_text(encoding="utf-8"))) or "").partition("\n\n")[0].split()
    )


if __name__ == "__main__":
    PAGE.write_text(page(), encoding="utf-8")
