"""Networks ahead of time: one C function for a trained module."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from texpr.graph import Capture, Plan
from texpr.nn.core import pytree
from texpr.nn.core.inputs import as_input
from texpr.nn.core.module import Module, as_symbolic
from texpr.support.errors import CompileError
from texpr.support.tracebacks import boundary


@boundary
def export(
    model: Module,
    path: str | Path,
    *example: Any,
    header: str | Path | None = None,
    target: str = "native",
    weights: str = "inside",
    name: str = "network",
) -> None:
    """Write a network's forward pass on inputs of the shapes of `example` as a C function that
    needs neither Python nor texpr.

    Args:
        path: its suffix says what is written: `.o` an object, `.a` a static library, `.so` a shared
            one, `.s` assembly, `.ll` LLVM IR.
        example: arrays; only shapes and dtypes matter.
        header: where to write a C header, which says how to call it.
        target: a CPU, by a name that `python -m texpr doctor` lists; `native` is this one.
        weights: the parameters as they are now are `inside` of the code, or `beside` it in a file
            of its name with `.weights` at its end, which the C program reads and gives as the last
            argument.
        name: of the function, behind `texpr_`.
    Raises:
        CallError: the network does not take the example.
        CompileError: the network is in training mode, the target is unknown or a GPU, or another
            suffix.
        ResourceError: a tool that the form needs is not installed.
        OSError: the files cannot be written.
    Example:
        >>> model = nn.Linear(3, 2).eval()
        >>> nn.export(model, "linear.o", np.zeros((1, 3), np.float32), header="linear.h", name="linear")
        >>> "texpr_linear" in open("linear.h").read()
        True
    """
    trained = next((n or type(model).__name__ for n, m in model.named_modules() if m.training), None)
    if trained is not None:
        raise CompileError(
            f"`{trained}` is in training mode: what it computes depends on its batches",
            code="save",
            help="call model.eval() first",
        )
    capture = Capture(name)
    leaves = list(pytree.leaves(example))
    given = [as_input(x, d) for x, d in zip(leaves, model._example_dtypes(len(leaves)))]
    symbols = [capture.input(f"x{k}" if k else "x", *g.spec) for k, g in enumerate(given)]
    with capture:
        outputs = model(*pytree.rebuild(pytree.skeleton(example), symbols))
    results = [as_symbolic(y, capture, model.dtype) for y in pytree.leaves(outputs)]
    Plan(capture, results).save(path, header=header, target=target, weights=weights)
