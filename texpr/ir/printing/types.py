"""Types of tensors as text (`f32[N, (C, H), *B:2] in 0..V distinct`) and names that are unique
in a listing.
"""

from __future__ import annotations

from collections.abc import Iterable

from texpr.ir.expr import Dim, Expr, Tensor, Var
from texpr.ir.loop_kind import LOOP_WORDS
from texpr.ir.printing.expr import SUM, Part, show

RESERVED = frozenset(
    "op fn extern use let if then else for in where require distinct and or not inf nan true false "
    "sum prod max min argmax argmin any all".split()
)
MARKS = frozenset({*LOOP_WORDS, "clamp", "wrap", "reflect", "drop"})
"""Words that a listing of loops has where a name could stand. Marks of stores and scopes of
buffers stand apart from all names.
"""


def type_items(tensor: Tensor) -> list[str | Part]:
    """The type of `tensor` as it stands after its name's colon."""
    result: list[str | Part] = [tensor.dtype.name]
    for k, dim in enumerate(tensor.dims):
        result += [", " if k else "[", *_dim(dim)]
    result += ["]"] if tensor.dims else []
    if tensor.value_range is not None:
        lo, hi = tensor.value_range
        result += [" in ", Part(lo, SUM), "..", Part(hi, SUM)]
    return result + ([" distinct"] if tensor.distinct else [])


def type_text(tensor: Tensor) -> str:
    """The type of a tensor in a message."""
    return "".join(x if isinstance(x, str) else show(x.node) for x in type_items(tensor))  # type: ignore[arg-type]


def _dim(dim: Dim) -> list[str | Part]:
    if not dim.pack:
        return separated_sizes(dim.sizes)
    size = dim.sizes[0]
    star: list[str | Part] = (
        ["*", size.name] if isinstance(size, Var) and size.pack else ["*", Part(size, SUM)]
    )
    return star if dim.length is None else [*star, f":{dim.length}"]


def separated_sizes(sizes: tuple[Expr, ...]) -> list[str | Part]:
    """`N` or the group `(C, H)`."""
    if len(sizes) == 1:
        return [Part(sizes[0])]
    inside = [x for k, size in enumerate(sizes) for x in ([", "] if k else []) + [Part(size)]]
    return ["(", *inside, ")"]


def size_variables(tensors: Iterable[Tensor]) -> tuple[Var, ...]:
    """The sizes that stand bare in the dimensions of `tensors`, in order of appearance."""
    return tuple(dict.fromkeys(size for t in tensors for size in t.shape if isinstance(size, Var)))


def unused(name: str, taken: Iterable[str]) -> str:
    """`name`, or `name_1`, `name_2` ... whichever is the first not taken."""
    known = set(taken)
    candidate, k = name, 0
    while candidate in known:
        k += 1
        candidate = f"{name}_{k}"
    return candidate


def claimed(name: str, taken: set[str]) -> str:
    """An unused name like `name`, which then is taken."""
    found = unused(name, taken)
    taken.add(found)
    return found
