"""The file `graph.quant`: operations that round the values of tensors, by the names of these, and what
the integers of quantized variables stand for.

The Khronos NNEF Working Group, Neural Network Exchange Format 1.0.5, section 3.4.
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

import numpy as np

from texpr.graph import Capture
from texpr.nnef.graph_evaluation import Evaluation, Quantization, find, refused
from texpr.nnef.syntax.graph_parser import parse_quantization
from texpr.nnef.syntax.graph_tree import Call, Document
from texpr.support.source import Source
from texpr.support.spelling import suggestion

_ROUNDING = {"signed": False, "symmetric": False}
"""Settings of operations without these parameters."""
_MOST_BITS = 64


def read_quantization(document: Document, source: Source, known: Iterable[str]) -> Quantization:
    """The checked entries of a file.

    Args:
        known: names of the graph's tensors.
    Raises:
        CheckpointError: it is no such file, or names tensors, operations or parameters that are not
            there, with the place.
    """
    calls: dict[str, Call] = {}
    names = set(known)
    for name, call in parse_quantization(source):
        if name not in names:
            error = refused(f"the graph has no tensor `{name}`", call, source)
            error.help = suggestion(name, names)
            raise error
        if name in calls:
            raise refused(f"`{name}` is quantized twice", call, source)
        _check(document, call, source)
        calls[name] = call
    return Quantization(source, calls)


def _check(document: Document, call: Call, source: Source) -> None:
    fragment = find(document, call.name)
    if fragment is None:
        raise refused(f"there is no operation `{call.name}`", call, source)
    first, rest = fragment.parameters[:1], fragment.parameters[1:]
    if not first or not first[0].takes_tensor or len(fragment.results) != 1:
        raise refused(f"`{call.name}` does not make one tensor of one", call, source)
    if call.given:
        raise refused("arguments are given by name, and the tensor itself is not given", call, source)
    for name in call.named:
        if name not in [p.name for p in rest]:
            raise refused(
                f"`{call.name}` has no parameter `{name}`; it has {', '.join(p.name for p in rest)}",
                call,
                source,
            )
    lacking = [p.name for p in rest if p.name not in call.named and p.default is None]
    if lacking:
        raise refused(f"`{call.name}` needs `{lacking[0]}`", call, source)


def dequantized(array: np.ndarray, call: Call, document: Document, source: Source) -> np.ndarray:
    """The numbers that the integers of a variable stand for, in f32.

    Raises:
        CheckpointError: the operation does not say it.
    """
    evaluation = Evaluation(document, Capture("constants"), {})
    given: dict[str, Any] = dict(_ROUNDING)
    given |= {k: evaluation.value(n, {}, source) for k, n in call.named.items()}
    bits = given.get("bits")
    if type(bits) is not int or not 1 <= bits <= _MOST_BITS:
        raise refused(f"bits of an integer are 1 to {_MOST_BITS}", call, source)
    both = int(given["signed"] is True and given["symmetric"] is True)
    held = array.astype(np.float64)

    def number(name: str) -> np.ndarray:
        return _fitting(given[name], array.shape, call, source)

    with np.errstate(all="ignore"):
        if call.name == "zero_point_linear_quantize":
            found = (held - number("zero_point")) * number("scale")
        elif call.name in ("min_max_linear_quantize", "linear_quantize"):
            first = 2.0 ** (bits - 1) - both if given["signed"] is True else 0.0
            low, high = number("min"), number("max")
            found = (held + first) * ((high - low) / (2.0**bits - 1 - both)) + low
        else:
            raise refused(f"integers of `{call.name}` are not read; export floats", call, source)
        return found.astype(np.float32)


def _fitting(value: Any, shape: tuple[int, ...], call: Call, source: Source) -> np.ndarray:
    """A number, or an array of them that broadcasts to a shape: aligned at its first axis, as NNEF has it."""
    try:
        array = np.array(_numbers(value), np.float64)
    except OverflowError:
        array = np.array(np.inf)
    except (TypeError, ValueError):
        array = None
    if array is None or array.ndim > len(shape) or any(n not in (1, m) for n, m in zip(array.shape, shape)):
        raise refused(f"arguments are numbers, or arrays of them that fit {list(shape)}", call, source)
    if not np.isfinite(array).all():
        raise refused("its numbers are not finite", call, source)
    return array.reshape(*array.shape, *[1] * (len(shape) - array.ndim)) if array.ndim else array


def _numbers(value: Any) -> Any:
    """A number or nested lists of them, as they are.

    Raises:
        TypeError: there is something else among them.
    """
    if isinstance(value, list):
        return [_numbers(v) for v in value]
    if type(value) not in (int, float):
        raise TypeError
    return value


def text_of_entries(quantization: Quantization) -> str:
    """The entries as they are written."""
    text = quantization.source.text
    return "".join(
        f'"{name}": {text[call.start : call.stop]};\n' for name, call in quantization.calls.items()
    )
