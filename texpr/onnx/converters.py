"""The table of converters: for every operator of ONNX a function that computes it by operators
of texpr.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

from texpr.support.frozen_dataclass import frozen

OLDEST, NEWEST = 1, 28
"""Versions of the default operator set that are read; after NEWEST operators may mean what this
table does not know.
"""
DOMAINS = {"": "ai.onnx", "ai.onnx.ml": "ai.onnx.ml", "ai.onnx.preview.training": "ai.onnx.preview.training"}


@frozen
class Converter:
    """The converter of one operator.

    Attributes:
        convert: takes the node and its inputs, gives its outputs: one, or a tuple.
        known: positions of inputs whose values must be known, such as shapes.
        kept: positions of inputs which training does not change, such as running statistics.
        control: it runs subgraphs, or takes inputs as they are instead of as tensors.
        random: it may draw random numbers.
        narrow: it takes tensors of narrow types as they are.
        texts: it takes tensors of texts.
        inferred: ONNX's inference of shapes has to accept a node. It refuses Range of vectors of
            one element, which ONNX's own functions have, and windows of no elements, knows no
            optionals, and some versions of it end the process on a Split that is wrong.
    """

    convert: Callable[..., Any]
    known: tuple[int, ...] = ()
    kept: tuple[int, ...] = ()
    control: bool = False
    random: bool = False
    narrow: bool = False
    inferred: bool = True
    texts: bool = False


CONVERTERS: dict[tuple[str, str], Converter] = {}
"""By domain and name. A converter serves every version of its operator from OLDEST to NEWEST."""


def converter(
    *names: str,
    domain: str = "",
    known: Sequence[int] = (),
    kept: Sequence[int] = (),
    control: bool = False,
    random: bool = False,
    narrow: bool = False,
    inferred: bool = True,
    texts: bool = False,
) -> Callable[[Callable[..., Any]], Callable[..., Any]]:
    """Enter a function in the table."""

    def enter(function: Callable[..., Any]) -> Callable[..., Any]:
        for name in names:
            assert (domain, name) not in CONVERTERS, f"{name} has a converter already"
            CONVERTERS[domain, name] = Converter(
                function, tuple(known), tuple(kept), control, random, narrow, inferred, texts
            )
        return function

    return enter


def find(domain: str, name: str) -> Converter | None:
    """The converter of an operator, if there is one."""
    return CONVERTERS.get(("" if domain == "ai.onnx" else domain, name))


def draws(node: Any) -> bool:
    """True if a node may draw random numbers. A Dropout does so only where its third input asks."""
    found = find(node.domain, node.op_type)
    return found is not None and found.random and (node.op_type != "Dropout" or len(node.input) > 2)
