"""NumPy's functions as operators applied to tensors: dtypes by `promotion`, texts by `written`."""

from __future__ import annotations

from collections.abc import Sequence
from math import prod
from typing import Any

import numpy as np

from texpr.compiler import Op
from texpr.graph.arrays import written
from texpr.graph.arrays.indexing import selection
from texpr.graph.arrays.promotion import of_elementary, of_quotient, of_sum, promoted, with_number
from texpr.ir.dtypes import BOOL, F32, I32, I64, DType, accumulator, from_numpy, numpy_dtype
from texpr.ir.shapes import Shape
from texpr.support.errors import CallError

_SIGNED_REMAINDER = "if R != 0 and (R < 0) != ({1} < 0) then R + {1} else R".replace("R", "fmod({0}, {1})")
_BINARY = {"add": "{0} + {1}", "subtract": "{0} - {1}", "multiply": "{0} * {1}", "divide": "{0} / {1}", "floor_divide": "{0} // {1}",
           "remainder": "{0} % {1}", "power": "{0} ** {1}", "maximum": "max({0}, {1})", "minimum": "min({0}, {1})",
           "arctan2": "atan2({0}, {1})", "bitwise_and": "bit_and({0}, {1})", "bitwise_or": "bit_or({0}, {1})",
           "bitwise_xor": "bit_xor({0}, {1})"}
_OF_FLOATS = {"floor_divide": f"round(({{0}} - ({_SIGNED_REMAINDER})) / {{1}})", "remainder": _SIGNED_REMAINDER}
_OF_BOOLS = {"add": "{0} or {1}", "multiply": "{0} and {1}", "maximum": "{0} or {1}", "minimum": "{0} and {1}",
             "bitwise_and": "{0} and {1}", "bitwise_or": "{0} or {1}", "bitwise_xor": "{0} != {1}"}
_COMPARISONS = {"equal": "==", "not_equal": "!=", "less": "<", "less_equal": "<=", "greater": ">", "greater_equal": ">="}
MOST_FACTORS = 16
"""Whole exponents up to this one are part of the operator's text, so that powers become products."""


def is_operand(value: object) -> bool:
    """Whether a tensor can be compared with a value; it is different from others."""
    return not (value is None or isinstance(value, str | bytes | dict | set))


def operand(value: object) -> Any:
    """A tensor or a number as it is, what else NumPy takes as an array.

    Raises:
        CallError: neither a number nor an array of a dtype that texpr has.
    """
    if isinstance(getattr(value, "dtype", None), DType) or type(value) in (bool, int, float):
        return value
    if value is None or isinstance(value, str | bytes | dict | set | complex):
        raise CallError(f"{value!r:.40} is no operand of tensors", code="arguments", help="operands are tensors, arrays and numbers")
    try:
        array = np.asarray(value)
    except (ValueError, TypeError, RuntimeError) as error:
        raise CallError(f"an operand is no array: {error}", code="arguments") from None
    if from_numpy(array.dtype) is None:
        raise CallError(f"an operand has dtype {array.dtype}, which texpr does not have", code="dtype", help="convert it: .astype(...)")
    return array


def dtype_of(x: Any) -> DType:
    """The dtype of an operand that is no number."""
    return x.dtype if isinstance(x.dtype, DType) else from_numpy(x.dtype)  # type: ignore[return-value]


def common_dtype(*operands: Any) -> DType:
    """The dtype that operands have together; numbers are weak."""
    weak = [x for x in operands if is_weak(x)]
    strong = [dtype_of(x) for x in operands if not is_weak(x)] or [dtype_of(x) for x in weak if not _is_number(x)]
    result = strong[0]
    for t in strong[1:]:
        result = promoted(result, t)
    for x in weak:
        result = with_number(result, x if _is_number(x) else _like(x.dtype))
    return result


def is_weak(x: object) -> bool:
    """Whether an operand is a number of Python, or stands for one."""
    return _is_number(x) or getattr(x, "weak", False)


def _like(t: DType) -> bool | int | float:
    """A number of Python of the kind of a dtype."""
    return 0.0 if t.is_float else False if t == BOOL else 0


def _is_number(x: object) -> bool:
    return type(x) in (bool, int, float)


def _shape(x: Any) -> Shape:
    return () if _is_number(x) else tuple(x.shape)


def _elementwise(name: str, text: str, operands: Sequence[Any], computed: DType, result: DType) -> Any:
    # There is no number of Python in what NumPy lacks; f32 holds what its own rounding needs.
    numbers = F32 if computed.as_bits else computed
    dtypes = [numbers if _is_number(x) else dtype_of(x) for x in operands]
    found: Any = written.elementwise(name, text, [_shape(x) for x in operands], dtypes, result, computed)(*operands)
    if all(map(is_weak, operands)):
        found.weak = True
    return found


def binary(name: str, a: object, b: object) -> Any:
    """An operation on two operands, one of them a tensor, element by element.

    Raises:
        CallError: shapes do not fit each other, or the dtype has no such operation.
    """
    x, y = operand(a), operand(b)
    t = common_dtype(x, y)
    if name == "power":
        return _power(x, y, t)
    if name in ("divide", "arctan2"):
        t = of_quotient(t) if name == "divide" else of_elementary(t)
    if t == BOOL:
        if name not in _OF_BOOLS:
            raise CallError(f"{name} of booleans", code="dtype", help='convert one: .astype("i64")')
        return _elementwise(name, _OF_BOOLS[name], (x, y), t, t)
    if t.is_float and name.startswith("bitwise"):
        raise CallError(f"{name} of {t}", code="dtype", help="it is for integers and booleans")
    text = _OF_FLOATS.get(name, _BINARY[name]) if t.is_float else _BINARY[name]
    return _elementwise(name, text, (x, y), t, t)


def _power(x: Any, y: Any, t: DType) -> Any:
    if t == BOOL:
        raise CallError("power of booleans", code="dtype", help='convert one: .astype("i64")')
    if type(y) is int and 0 <= y <= MOST_FACTORS or (type(y) in (int, float) and y in (-1, -2, 0.5, -0.5, 2.0, 3.0) and t.is_float):
        text = f"{{0}} ** {y}" if t.is_float and y >= 0 else f"1 / {{0}} ** {-y}" if t.is_float else _factors(y)  # type: ignore[arg-type]
        return _elementwise("power", text, (x,), t, t)
    if t.is_int:
        raise CallError("powers of integers need a whole exponent of 0 to 16", code="dtype", help='convert one: .astype("f64")')
    return _elementwise("power", _BINARY["power"], (x, y), t, t)


def _factors(n: int) -> str:
    """A whole power as a product; 1 is of the element's dtype too."""
    return " * ".join(["{0}"] * n) if n else "{0} * 0 + 1"


def compare(name: str, a: object, b: object) -> Any:
    """A comparison, element by element: a boolean tensor."""
    x, y = operand(a), operand(b)
    t = common_dtype(x, y)
    if t == BOOL and _COMPARISONS[name] not in ("==", "!="):
        t = I32  # False < True
    text = f"{{0}} {_COMPARISONS[name]} {{1}}"
    return _elementwise(name, text, (x, y), t, BOOL)


def unary(name: str, text: str, x: Any, computed: DType) -> Any:
    """An expression of the elements of a tensor; `{0}` is one."""
    return _elementwise(name, text, (x,), computed, computed)


def elementary(name: str, x: Any, text: str = "") -> Any:
    """A scalar function of the language; integers become floats first."""
    return unary(name, text or f"{name}({{0}})", x, of_elementary(dtype_of(x)))


def test(name: str, x: Any) -> Any:
    """isnan, isinf or isfinite."""
    return _elementwise(name, f"{name}({{0}})", (x,), of_elementary(dtype_of(x)), BOOL)


def where(condition: object, a: object, b: object) -> Any:
    """`a` where the condition holds, `b` elsewhere."""
    c, x, y = operand(condition), operand(a), operand(b)
    if _is_number(c) or dtype_of(c) != BOOL:
        raise CallError("the condition of `where` is no tensor of booleans", code="dtype", help="compare it with something")
    t = I64 if type(x) is int and type(y) is int else common_dtype(x, y) if not (_is_number(x) and _is_number(y)) else F32
    shapes, numbers = [_shape(v) for v in (c, x, y)], F32 if t.as_bits else t
    dtypes = [BOOL, *(numbers if _is_number(v) else dtype_of(v) for v in (x, y))]
    reads = [f"{{{k}}}" if d == t else f"{t}({{{k}}})" for k, d in enumerate(dtypes)]
    return written.elementwise("choose", f"if {{0}} then {reads[1]} else {reads[2]}", shapes, dtypes, t)(c, x, y)


def cast(x: Any, t: DType) -> Any:
    """The same values in another dtype; towards zero where integers are made of floats."""
    if x.dtype == t:
        return x
    text = "{0} != 0" if t == BOOL else f"{t}({{0}})"
    return written.elementwise("astype", text, [x.shape], [x.dtype], t)(x)


_REDUCTIONS = {
    "sum": "sum({over}: {x})", "prod": "prod({over}: {x})", "max": "max({over}: {x})", "min": "min({over}: {x})",
    "any": "any({over}: {x})", "all": "all({over}: {x})",
    "mean": "sum({over}: {x}) / {t}({count})",
    "var": "m{kept} = sum({over}: {x}) / {t}({count}) ;; sum({over}: ({x} - m{kept}) ** 2) / {t}({count} - DDOF)",
}


def reduce(name: str, x: Any, axis: object, keepdims: bool, ddof: int = 0) -> Any:
    """A reduction over one axis, several, or all of them (None).

    Raises:
        CallError: an axis that the tensor does not have, or twice; the largest of no elements.
    """
    t = dtype_of(x)
    axes = axes_of(axis, x.ndim)
    if name in ("any", "all") and t != BOOL:
        x = cast(x, BOOL)
    if not axes:
        return x if name in ("max", "min", "any", "all") else cast(x, _reduced(name, t)) if name != "var" else x - x
    if name in ("max", "min") and t == BOOL:
        return reduce("any" if name == "max" else "all", x, axis, keepdims)
    result = _reduced(name, t)
    computed = accumulator(result) if result.is_float else result
    text = _REDUCTIONS[name].replace("DDOF", str(ddof))
    if computed != result:
        before, mark, last = text.rpartition(" ;; ")
        text = f"{before}{mark}{result}({last})"
    return written.reduction(f"reduce_{name}", text, x.ndim, axes, keepdims, x.dtype, result, computed)(x)


def _reduced(name: str, t: DType) -> DType:
    if name in ("any", "all"):
        return BOOL
    if name in ("sum", "prod"):
        return of_sum(t)
    return of_quotient(t) if name in ("mean", "var") else t


def place(name: str, x: Any, axis: int | None, keepdims: bool) -> Any:
    """argmax or argmin along one axis, or of all elements."""
    if axis is None:
        found = place(name, reshape(x, (-1,)), 0, False)
        return reshape(found, (1,) * x.ndim) if keepdims else found
    if dtype_of(x) == BOOL:
        x = cast(x, I32)
    (k,) = axes_of(axis, x.ndim)
    return written.reduction(f"reduce_{name}", f"{name}({{over}}: {{x}})", x.ndim, [k], keepdims, x.dtype, I64, x.dtype)(x)


def axes_of(axis: object, rank: int) -> list[int]:
    """Axes counted from the start, in order.

    Raises:
        CallError: there is no such axis, or one is given twice.
    """
    given = range(rank) if axis is None else axis if isinstance(axis, tuple | list) else (axis,)
    found = []
    for k in given:
        if isinstance(k, bool) or not hasattr(k, "__index__") or not -rank <= k.__index__() < rank:  # type: ignore[attr-defined]
            raise CallError(f"axis {k!r} of a tensor with {rank} axes", code="axis")
        found.append(k.__index__() % rank)  # type: ignore[attr-defined]
    if len(set(found)) < len(found):
        raise CallError(f"an axis is given twice: {axis!r}", code="axis")
    return sorted(found)


def matmul(a: object, b: object) -> Any:
    """A @ B of NumPy: rows by columns of the last two axes, leading ones broadcast; a single axis is a row, or a column.

    Raises:
        CallError: extents do not fit.
    """
    x, y = operand(a), operand(b)
    if _is_number(x) or _is_number(y) or not x.shape or not y.shape:
        raise CallError("@ needs at least one axis on each side", code="shape", help="multiply by numbers with *")
    if x.shape[-1] != y.shape[-2 if len(y.shape) > 1 else 0]:
        raise CallError(f"{list(x.shape)} @ {list(y.shape)}: {x.shape[-1]} columns and {y.shape[-2 if len(y.shape) > 1 else 0]} rows",
                        code="shape")
    t = common_dtype(x, y)
    left, right = (cast(v, t) if isinstance(v.dtype, DType) else v.astype(numpy_dtype(t)) for v in (x, y))
    if t == BOOL:
        return cast(matmul(cast(left, I32), cast(right, I32)), BOOL)
    left = left.reshape(1, -1) if len(x.shape) == 1 else left
    right = right.reshape(-1, 1) if len(y.shape) == 1 else right
    found = written.product(tuple(left.shape), tuple(right.shape), t)(left, right)
    gone = [k for k, v in ((-2, x), (-1, y)) if len(v.shape) == 1]
    return reshape(found, tuple(n for k, n in enumerate(found.shape, -len(found.shape)) if k not in gone)) if gone else found


def select(x: Any, key: object) -> Any:
    """`x[key]`; arrays in the key are of integers.

    Raises:
        CallError: an index out of bounds, or booleans, whose number would be the extent of the result.
    """
    found = selection(x.shape, normal(key))
    whole = [f"i{k}" for k in range(len(x.shape))]
    if found.at == whole and tuple(found.result) == x.shape and not found.places:
        return x
    places = [(tuple(p.shape), n) for p, n in found.places]  # type: ignore[attr-defined]
    op: Op = written.taken(x.shape, found.at, tuple(found.result), x.dtype, places)
    return op(x, *(_as_i64(p) for p, _ in found.places))


def normal(key: object) -> object:
    """The key with lists as arrays, and where arrays of booleans choose, with the places where they hold."""
    parts = [p for k in (key if isinstance(key, tuple) else (key,)) for p in _places(k)]
    return tuple(parts) if isinstance(key, tuple) or len(parts) != 1 else parts[0]


def _places(key: object) -> Sequence[object]:
    if isinstance(key, list):
        key = np.asarray(key, None if key else np.int64)
    if not isinstance(key, np.ndarray):
        return [key]
    if key.dtype == bool:
        return np.nonzero(key)
    if key.dtype.kind not in "iu":
        raise CallError(f"an index of {key.dtype}", code="index", help="index with integers or booleans")
    return [key]


def _as_i64(p: Any) -> Any:
    return p.astype(np.int64) if isinstance(p, np.ndarray) else cast(p, I64)


def reshape(x: Any, shape: Sequence[int]) -> Any:
    """The same elements in the order of memory; one extent may be -1.

    Raises:
        CallError: the number of elements is another one.
    """
    wanted = _whole_shape(x.shape, shape)
    if wanted == x.shape:
        return x
    line = x if len(x.shape) == 1 else written.flattened(x.shape, x.dtype)(x) if x.shape else written.stretched((), (1,), x.dtype)(x)
    if len(wanted) == 1:
        return line
    return written.unflattened(wanted, x.dtype)(line) if wanted else select(line, 0)


def _whole_shape(shape: Shape, given: Sequence[int]) -> Shape:
    wanted = [n.__index__() for n in given]
    open_, known = wanted.count(-1), prod(tuple(n for n in wanted if n != -1))
    total = prod(shape)
    fits = not any(n < -1 for n in wanted) and (open_ == 0 and known == total or open_ == 1 and known and total % known == 0)
    if not fits:
        raise CallError(f"{total} elements of {list(shape)} do not become {wanted}", code="shape", help="one extent may be -1")
    return tuple(total // known if n == -1 else n for n in wanted)


def permute(x: Any, order: Sequence[int]) -> Any:
    """Axis k of the result is axis `order[k]`."""
    axes = [axes_of(k, x.ndim)[0] for k in order]
    if sorted(axes) != list(range(x.ndim)):
        raise CallError(f"{tuple(order)} is no order of {x.ndim} axes", code="axis")
    return x if axes == list(range(x.ndim)) else written.permuted(axes, x.dtype)(x)


def broadcast_to(x: Any, shape: Sequence[int]) -> Any:
    """The tensor repeated along axes of extent 1, and along new ones in front."""
    wanted = tuple(n.__index__() for n in shape)
    if written.broadcast([x.shape, wanted]) != wanted:
        raise CallError(f"{list(x.shape)} does not broadcast to {list(wanted)}", code="shape")
    return x if wanted == x.shape else written.stretched(x.shape, wanted, x.dtype)(x)
