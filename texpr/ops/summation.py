"""Sums of products in NumPy's notation: `einsum("bij,bjk->bik", A, B)` is an operator made of that text."""

from __future__ import annotations

import re
from functools import cache

from texpr.compiler import Op, op
from texpr.support.errors import CallError

_TERM = re.compile(r"[A-Za-z]*(\.\.\.)?[A-Za-z]*")


def einsum(text: str, *arrays: object, out: object = None) -> object:
    """Sums of products of the elements of tensors, over all letters that the result does not have.

    Y[result letters] = sum(other letters: A0[letters of A0] * A1[letters of A1] * ...)

    A letter is one dimension, `...` any number of them; a letter that occurs twice in a term is a diagonal. Without `->`, the result
    has the letters that occur once, in alphabetical order, after `...`. More than two tensors are one sum: the caller chooses the
    order of products by calls of two. One type for all tensors; f16 and bf16 are summed in f32. Source: numpy.einsum.

    Raises:
        CallError: the text is none, or the arrays do not fit it.
    """
    operator = einsum_op(text)
    return operator(*arrays) if out is None else operator(*arrays, out=out)


@cache
def einsum_op(text: str) -> Op:
    """The operator that a text of `einsum` means."""
    terms, result = _parsed(text)
    inputs = ", ".join(f"A{k}: T[{', '.join(_sizes(term))}]" for k, term in enumerate(terms))
    product = " * ".join(f"A{k}[{', '.join(_indices(term))}]" if term else f"A{k}" for k, term in enumerate(terms))
    over = [i for i in dict.fromkeys(i for term in terms for i in _indices(term)) if i not in _indices(result)]
    value = f"sum({', '.join(over)}: {product})" if over else product
    left = f"Y[{', '.join(_indices(result))}]" if result else "Y"
    return op(f"op einsum<T: num>({inputs}) -> Y: T[{', '.join(_sizes(result))}] {{ {left} = {value} }}")


def _parsed(text: str) -> tuple[list[str], str]:
    """The terms of the inputs and that of the result."""
    given, arrow, result = text.replace(" ", "").partition("->")
    terms = given.split(",")
    if any(_TERM.fullmatch(term) is None for term in (*terms, result)):
        raise CallError(f"einsum: `{text}` is no sum of products", code="arguments", help='letters, commas and `->`: "ij,jk->ik"')
    letters = given.replace(",", "").replace("...", "")
    if not arrow:
        result = ("..." if "..." in given else "") + "".join(sorted(c for c in set(letters) if letters.count(c) == 1))
    wrong = next((c for c in result.replace("...", "") if c not in letters or result.count(c) > 1), None)
    if wrong is not None or "..." in result and "..." not in given:
        how = "twice" if wrong and wrong in letters else "from nowhere"
        raise CallError(f"einsum: the result of `{text}` has `{wrong or '...'}` {how}", code="arguments")
    return terms, result


def _letters(term: str) -> list[str]:
    return re.findall(r"\.\.\.|[A-Za-z]", term)


def _sizes(term: str) -> list[str]:
    return ["*S" if c == "..." else f"N{c}" for c in _letters(term)]


def _indices(term: str) -> list[str]:
    """Names that are no reserved words and no tensors."""
    return ["*s_" if c == "..." else f"{c.lower()}{'_up' if c.isupper() else '_'}" for c in _letters(term)]
