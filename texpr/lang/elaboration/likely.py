"""Shapes and ranges that are probably meant where a text says none: what is advised, and tried
before it is shown.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator

from texpr.ir.affine import linear
from texpr.ir.build import add, integer, neg, sub
from texpr.ir.dtypes import F32, I64, DType
from texpr.ir.expr import Axis
from texpr.ir.printing.expr import show
from texpr.lang.elaboration.name_scope import Names, below, values_in
from texpr.lang.syntax import tree
from texpr.support.fixes import Declare, Fix, Ranges, Shift

_MOST = 4
"""Ranges that are tried."""


def advised_let(begin: str, name: str, shape: str) -> list[Fix]:
    """Advise a declaration, whose shape is left open where the likely one is wrong."""
    return [Fix(f"{begin}let {name}: {shape}", (Declare(name, shape),)), Fix(f"{begin}let {name}")]


def advised_ranges(node: tree.Equation, missing: list[str], names: Names) -> list[Fix]:
    """Advise ranges of indices of a left side."""
    likely = [list(_extents_of(node.value, name, names)) for name in missing]
    fixes = []
    for k in range(min(max(map(len, likely)), _MOST)):
        text = ", ".join(f"{name} in 0..{e[min(k, len(e) - 1)]}" for name, e in zip(missing, likely) if e)
        fixes.append(Fix(f"write its range at the end of the equation: for {text}", (Ranges(text),)))
    return [*fixes, Fix(f"write its range at the end of the equation: for {missing[0]} in lo..hi")]


def advised_binder(node: tree.Reduction, name: str, names: Names) -> list[Fix]:
    """Advise the range of a binder."""
    likely = [f"{name} in 0..{e}" for e in _extents_of(node.body, name, names)]
    return [
        *(Fix(f"write its range: {text}", (Ranges(text),)) for text in likely[:_MOST]),
        Fix(f"write its range: {name} in lo..hi"),
    ]


def _extents_of(root: tree.Tree, name: str, names: Names) -> Iterator[str]:
    """The extents of dimensions that an index stands in, those where it stands alone, or times a
    number, first; then the other sizes.
    """
    found = {True: dict[str, None](), False: dict[str, None]()}
    for access in below(root):
        if isinstance(access, tree.Access) and access.name.text in names.tensors:
            for dim, entry in zip(names.tensors[access.name.text].dims, access.indices):
                if (
                    not dim.pack
                    and len(dim.sizes) == 1
                    and any(isinstance(n, tree.Name) and n.text == name for n in below(entry))
                ):
                    step = _step(entry)
                    extent = show(dim.sizes[0])
                    found[step > 0][extent if step <= 1 else f"({extent} + {step - 1}) // {step}"] = None
    sizes = [n for n, v in names.sizes.items() if not v.pack]
    return iter(dict.fromkeys((*found[True], *found[False], *sizes)))


def _step(entry: tree.Tree) -> int:
    """Stride of an index per value of its variable: 1 for `i`, 2 for `2*i`, 0 for all else."""
    match entry:
        case tree.Name():
            return 1
        case tree.Binary(_, "*", tree.Number(_, int(factor)), tree.Name()) | tree.Binary(
            _, "*", tree.Name(), tree.Number(_, int(factor))
        ):
            return max(factor, 0)
    return 0


def advised_begin(target: tree.Target, axes: Iterable[Axis]) -> list[Fix]:
    """Advise that elements begin at 0, for the axes of an intermediate that begin elsewhere."""
    said, edits = [], []
    for k, (entry, axis) in enumerate(zip(target.indices, axes)):
        if integer(axis.lo) is None or (integer(axis.lo) or 0) < 0:
            begins, count, offset = (
                show(linear(e).expr()) for e in (add(axis.var, axis.lo), sub(axis.hi, axis.lo), neg(axis.lo))
            )
            said.append(f"let `{axis.var.name}` run over 0..{count} and read it as {begins}")
            edits.append(Shift(target.name.text, k, entry.span.text, count, begins, offset))
    return [Fix(f"elements begin at 0: {', '.join(said)}", tuple(edits))] if said else []


def likely_type(node: tree.Equation, names: Names, dtype: DType | None = None) -> str:
    """The probable type, as in `f32[K + 1, N]`; a dimension that nothing tells is `...`."""
    dtype = dtype or _likely_dtype(node.value, names)
    sizes = [_likely_size(e, node, names) for e in node.targets[0].indices]
    return f"{dtype}[{', '.join(sizes)}]" if any(s != "..." for s in sizes) else f"{dtype}[...]"


def named(parts: Iterable[tree.Tree]) -> list[str]:
    """The tensors, sizes and indices among parts of a value."""
    return [
        p.name.text if isinstance(p, tree.Access) else p.text
        for p in parts
        if isinstance(p, tree.Access | tree.Name)
    ]


def _likely_dtype(value: tree.Tree, names: Names) -> DType:
    """The type of what the value is made of; that of whole numbers, where it is made of those."""
    parts = list(values_in(value))
    numbers = [p.value for p in parts if isinstance(p, tree.Number)]
    whole = numbers and all(isinstance(n, int) for n in numbers)
    return next((names.tensors[n].dtype for n in named(parts) if n in names.tensors), I64 if whole else F32)


def _likely_size(entry: tree.Tree, node: tree.Equation, names: Names) -> str:
    """The range of a bare index; one more for `t + 1`."""
    match entry:
        case tree.Name(_, name):
            return _extent(name, node, names)
        case tree.PackName(_, name):
            return f"*{name.upper()}"
        case tree.Access(_, tree.Word(_, name)) if (
            name in names.tensors and (values := names.tensors[name].value_range) is not None
        ):
            return show(values[1])
        case tree.Binary(_, "+", tree.Name(_, name), tree.Number(_, offset)):
            extent = _extent(name, node, names)
            return extent if extent == "..." else f"{extent} + {offset}"
    return "..."


def _extent(name: str, node: tree.Equation, names: Names) -> str:
    written = next((b.range for b in node.ranges if b.name == name), None)
    if written is not None:
        return " ".join(written.hi.span.text.split())
    for access in below(node.value):
        if isinstance(access, tree.Access) and access.guard is None and access.name.text in names.tensors:
            tensor = names.tensors[access.name.text]
            for dim, entry in zip(tensor.dims, access.indices):
                if isinstance(entry, tree.Name) and entry.text == name and len(dim.sizes) == 1:
                    return show(dim.sizes[0])
    return "..."
