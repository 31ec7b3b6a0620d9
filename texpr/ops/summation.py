"""Sums of products in NumPy's notation: `einsum("bij,bjk->bik", A, B)` is an operator made of
that text.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from functools import cache
from typing import Any

import numpy as np

from texpr.compiler import Op, op
from texpr.support.errors import CallError

_ONE = "0"
"""Of a dimension that is repeated."""
_TERM = re.compile(r"[A-Za-z]*(\.\.\.)?[A-Za-z]*")


def einsum(text: str, *arrays: object, out: object = None) -> object:
    """Sums of products of the elements of tensors, over all letters that the result does not have.

    Y[result letters] = sum(other letters: A0[letters of A0] * A1[letters of A1] * ...)

    A letter is one dimension, `...` any number of them, aligned at the last one; where other
    tensors have more, dimensions of extent 1
    are repeated. A letter that occurs twice in a term is a diagonal. Without `->`, the result has the letters that occur once, in
    alphabetical order, after `...`. More than two tensors are one sum: the caller chooses the order
    of products by calls of two. One type for all tensors; f16 and bf16 are summed in f32, integers
    of 8 and 16 bits in i32. The tensors may be one list. Source: numpy.einsum.

    Raises:
        CallError: the text is none, or the arrays do not fit it.
    """
    if len(arrays) == 1 and isinstance(arrays[0], list | tuple) and len(_parsed(text)[0]) > 1:
        arrays = tuple(arrays[0])
    operator = einsum_op(text, _repeated(text, list(map(_shape, arrays))))
    return operator(*arrays) if out is None else operator(*arrays, out=out)


def _shape(array: Any) -> tuple[int, ...]:
    """The shape of an array, or of a list."""
    return array.shape if hasattr(array, "shape") else np.shape(array)


@cache
def einsum_op(text: str, repeated: tuple[tuple[str, ...], ...] | None = None) -> Op:
    """The operator that a text of `einsum` means.

    Args:
        repeated: the names of the dimensions of each tensor, `1` for one that is repeated; None
            where all have one extent per letter.
    """
    terms, result = _parsed(text)
    given: Sequence[Sequence[str]] = [_letters(term) for term in terms] if repeated is None else repeated
    kept: list[str] = _letters(result)
    if repeated is not None and "..." in kept:
        around = sorted(
            {c for names in given for c in names if c.isdigit() and c != _ONE}, key=int, reverse=True
        )
        kept[kept.index("...") : kept.index("...") + 1] = around
    inputs = ", ".join(f"A{k}: {_typed(names)}" for k, names in enumerate(given))
    product = " * ".join(f"A{k}{_at(names)}" for k, names in enumerate(given))
    over = [
        i
        for i in dict.fromkeys(i for names in given for i in _indices(names))
        if i not in (*_indices(kept), "0")
    ]
    value = f"T(sum({', '.join(over)}: {product}))" if over else product
    return op(f"op einsum<T: num>({inputs}) -> Y: {_typed(kept)} {{ Y{_at(kept)} = {value} }}")


def _repeated(text: str, shapes: Sequence[tuple[int, ...]]) -> tuple[tuple[str, ...], ...] | None:
    """The names of the dimensions of tensors of these shapes, if some of them are repeated.

    Dimensions of `...` have numbers, from the last one on; a letter is itself.
    """
    terms, _ = _parsed(text)
    if len(shapes) != len(terms) or any(
        len(_letters(t)) - ("..." in t) > len(s) for t, s in zip(terms, shapes)
    ):
        return None  # which the operator refuses
    names: list[list[str]] = []
    for term, shape in zip(terms, shapes):
        letters = _letters(term)
        around = [str(k + 1) for k in range(len(shape) - len(letters) + 1)][::-1]
        names.append([n for c in letters for n in (around if c == "..." else [c])])
    if any(len(n) != len(s) for n, s in zip(names, shapes)):
        return None
    whole: dict[str, int] = {}
    for n, shape in zip(names, shapes):
        for name, extent in zip(n, shape):
            whole[name] = extent if whole.get(name, 1) == 1 else whole[name]
    made = tuple(
        tuple(_ONE if e == 1 and whole[c] != 1 else c for c, e in zip(n, s)) for n, s in zip(names, shapes)
    )
    ranks = {len(s) - len(_letters(t)) for t, s in zip(terms, shapes) if "..." in t}
    return made if len(ranks) > 1 or any(_ONE in n for n in made) else None


def _parsed(text: str) -> tuple[list[str], str]:
    """The terms of the inputs and that of the result."""
    given, arrow, result = text.replace(" ", "").partition("->")
    terms = given.split(",")
    if any(_TERM.fullmatch(term) is None for term in (*terms, result)):
        raise CallError(
            f"einsum: `{text}` is no sum of products",
            code="arguments",
            help='letters, commas and `->`: "ij,jk->ik"',
        )
    letters = given.replace(",", "").replace("...", "")
    if not arrow:
        result = ("..." if "..." in given else "") + "".join(
            sorted(c for c in set(letters) if letters.count(c) == 1)
        )
    wrong = next((c for c in result.replace("...", "") if c not in letters or result.count(c) > 1), None)
    if wrong is not None or "..." in result and "..." not in given:
        how = "twice" if wrong and wrong in letters else "from nowhere"
        raise CallError(f"einsum: the result of `{text}` has `{wrong or '...'}` {how}", code="arguments")
    return terms, result


def _letters(term: str) -> list[str]:
    return re.findall(r"\.\.\.|[A-Za-z]", term)


def _typed(names: Sequence[str]) -> str:
    sizes = ["*S" if c == "..." else "1" if c == _ONE else f"N{c}" if c.isalpha() else f"S{c}" for c in names]
    return f"T[{', '.join(sizes)}]"


def _at(names: Sequence[str]) -> str:
    return f"[{', '.join(_indices(names))}]" if names else ""


def _indices(names: Sequence[str]) -> list[str]:
    """Names that are no reserved words and no tensors."""
    return [
        "*s_"
        if c == "..."
        else "0"
        if c == _ONE
        else f"s{c}_"
        if c.isdigit()
        else f"{c.lower()}{'_up' if c.isupper() else '_'}"
        for c in names
    ]
