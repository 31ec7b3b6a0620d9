"""NumPy's functions as operators applied to tensors: dtypes by `promotion`, texts by
`operator_texts`.
"""

from __future__ import annotations

from collections.abc import Sequence
from math import prod
from typing import Any

import numpy as np

from texpr.compiler import Op
from texpr.graph.arrays import operator_texts
from texpr.graph.arrays.indexing import selection
from texpr.graph.arrays.promotion import named, of_elementary, of_quotient, of_sum, promoted, with_number
from texpr.graph.arrays.recorded import as_recorded
from texpr.ir.dtypes import (
    BOOL,
    F32,
    I32,
    I64,
    DType,
    accumulator,
    from_numpy,
    int_range,
    known_dtype,
    numpy_dtype,
)
from texpr.ir.shapes import Shape
from texpr.support.errors import CallError
from texpr.support.tracebacks import boundary


def is_operand(value: object) -> bool:
    """True if a tensor can be compared with a value; it differs from all others."""
    return not (value is None or isinstance(value, str | bytes | dict | set))


def operand(value: object) -> Any:
    """A tensor or a number as it is, what else NumPy takes as an array.

    Raises:
        CallError: neither a number nor an array of a dtype that texpr has.
    """
    if hasattr(type(value), "as_tensor"):  # a variable
        return value.as_tensor()  # type: ignore[attr-defined]
    if isinstance(getattr(value, "dtype", None), DType) or type(value) in (bool, int, float):
        return value
    if value is None or isinstance(value, str | bytes | dict | set | complex):
        raise CallError(
            f"{value!r:.40} is no operand of tensors",
            code="arguments",
            help="operands are tensors, arrays and numbers",
        )
    try:
        array = np.asarray(value)
    except CallError:  # of a tensor inside of a list
        raise
    except (ValueError, TypeError, RuntimeError) as error:
        raise CallError(f"an operand is no array: {error}", code="arguments") from None
    known_dtype("an operand", array.dtype, "convert it: .astype(...)")
    return array


def dtype_of(x: Any) -> DType:
    """The dtype of an operand that is no number."""
    return x.dtype if isinstance(x.dtype, DType) else from_numpy(x.dtype)  # type: ignore[return-value]


def common_dtype(*operands: Any) -> DType:
    """The dtype that operands have together; numbers are weak."""
    weak = [x for x in operands if is_weak(x)]
    strong = [dtype_of(x) for x in operands if not is_weak(x)] or [
        dtype_of(x) for x in weak if not is_number(x)
    ]
    result = strong[0]
    for t in strong[1:]:
        result = promoted(result, t)
    for x in weak:
        result = with_number(result, x if is_number(x) else _like(x.dtype))
    return result


def is_weak(x: Any) -> bool:
    """True if an operand is a number of Python, or stands for one."""
    return is_number(x) or hasattr(type(x), "weak") and x.weak  # tensors have none, and would look for it


def _like(t: DType) -> bool | int | float:
    """A number of Python of the kind of a dtype."""
    return 0.0 if t.is_float else False if t == BOOL else 0


def is_number(x: object) -> bool:
    """True for a number of Python."""
    return type(x) in (bool, int, float)


def shape_of(x: Any) -> Shape:
    """The shape of an operand."""
    return () if is_number(x) else tuple(x.shape)


def elementwise(name: str, text: str, operands: Sequence[Any], computed: DType | None, result: DType) -> Any:
    """An expression of the elements of operands; `computed` is the dtype to which they are
    converted first, None for no conversion.
    """
    # There is no number of Python in what NumPy lacks; f32 holds what its own rounding needs.
    numbers = F32 if computed is not None and computed.as_bits else computed
    dtypes: list[Any] = [numbers if is_number(x) else dtype_of(x) for x in operands]
    ranges = [_range_of_weak(x, computed) for x in operands]
    found: Any = operator_texts.elementwise(
        name, text, [shape_of(x) for x in operands], dtypes, result, computed, ranges
    )(*operands)
    if all(map(is_weak, operands)):
        found.weak = True
    return found


def _range_of_weak(x: Any, computed: DType | None) -> str:
    """The range of values of an integer of Python that is given when a traced function is
    called: what the other operand's dtype holds.
    """
    if (
        is_number(x)
        or not is_weak(x)
        or x.dtype != I64
        or computed is None
        or not computed.is_int
        or computed == I64
    ):
        return ""
    lo, hi = int_range(computed)
    return f" in {lo}..{min(hi + 1, int_range(I64)[1])}"


def unary(name: str, text: str, x: Any, computed: DType) -> Any:
    """An expression of the elements of a tensor; `{0}` is one."""
    if computed == BOOL and name != "invert":
        raise CallError(f"{name} of booleans", code="dtype", help='convert it: .astype("i64")')
    return elementwise(name, text, (x,), computed, computed)


def elementary(name: str, x: Any, text: str = "") -> Any:
    """A scalar function of the language; integers become floats first."""
    return unary(name, text or f"{name}({{0}})", x, of_elementary(dtype_of(x)))


def test(name: str, x: Any) -> Any:
    """isnan, isinf or isfinite."""
    return elementwise(name, f"{name}({{0}})", (x,), of_elementary(dtype_of(x)), BOOL)


@boundary
def where(condition: object, a: object, b: object) -> Any:
    """Elements of `a` where the condition holds, of `b` elsewhere; all three broadcast.

    Raises:
        CallError: the condition is no tensor of booleans, or shapes do not fit.
    Example:
        >>> x = tx.tensor([-1, 2])
        >>> tx.where(x > 0, x, 0)
        tensor([0, 2], i64[2])
    """
    return as_recorded(_where, (condition, a, b), {})


def _where(condition: object, a: object, b: object) -> Any:
    c, x, y = operand(condition), operand(a), operand(b)
    if is_number(c) or dtype_of(c) != BOOL:
        raise CallError(
            "the condition of `where` is no tensor of booleans",
            code="dtype",
            help="compare it with something",
        )
    t = _chosen_dtype(x, y)
    shapes, numbers = [shape_of(v) for v in (c, x, y)], F32 if t.as_bits else t
    dtypes = [BOOL, *(numbers if is_number(v) else dtype_of(v) for v in (x, y))]
    reads = [f"{{{k}}}" if d == t else f"{t}({{{k}}})" for k, d in enumerate(dtypes)]
    return operator_texts.elementwise(
        "choose", f"if {{0}} then {reads[1]} else {reads[2]}", shapes, dtypes, t
    )(c, x, y)


def _chosen_dtype(x: object, y: object) -> DType:
    """The dtype of the result of `where`; of two numbers i64 or f32, and booleans of two of these."""
    if not (is_weak(x) and is_weak(y)):
        return common_dtype(x, y)
    if all(isinstance(v, bool) or getattr(v, "dtype", None) == BOOL for v in (x, y)):
        return BOOL
    return I64 if all(isinstance(v, int) or getattr(v, "dtype", None) in (I64, BOOL) for v in (x, y)) else F32


def softmax(operator: Op, x: Any, axis: int) -> Any:
    """Softmax or one of its kin along an axis: one number is a vector of one, and of nothing
    there is nothing.
    """
    if not x.ndim and axis in (-1, 0):
        return operator(x.reshape(1), axis=0).reshape(())
    if not x.size and -x.ndim <= axis < x.ndim:
        return itself(x)
    return operator(x, axis=axis)


def cast(x: Any, t: DType) -> Any:
    """The same values in another dtype; towards zero where integers are made of floats."""
    if x.dtype == t:
        return itself(x)
    text = "{0} != 0" if t == BOOL else f"{t}({{0}})"
    return operator_texts.elementwise("astype", text, [x.shape], [x.dtype], t, values=_kept(x.dtype, t))(x)


def _kept(before: DType, t: DType) -> str:
    """The range of bytes, and of integers of 16 bits, as places: no lookup has to check them then."""
    if t != I64 or not before.is_int or before.bits > 16:
        return ""
    low, high = int_range(before)
    return f" in {low}..{high + 1}"


def cast_any(x: Any, t: DType) -> Any:
    """An operand, which may be an array of NumPy, in a dtype; itself if it has that."""
    if dtype_of(x) == t:
        return x
    return cast(x, t) if isinstance(x.dtype, DType) else x.astype(numpy_dtype(t))


def itself(x: Any) -> Any:
    """The same values as a tensor of its own: elements that are assigned to one stay what they
    are in the other.
    """
    return x.own()


def refuse_out(out: object) -> None:
    """Raise CallError where NumPy's `out` is given."""
    if out is not None:
        raise CallError(
            "methods of tensors take no `out`",
            code="arguments",
            help="use the result, or assign it: x[...] = result",
        )


_MEAN = "sum({over}: {x}) / {t}({count})"
_VAR = f"m{{kept}} = {_MEAN} ;; sum({{over}}: ({{x}} - m{{kept}}) ** 2) / {{t}}(DIVISOR)"
_REDUCTIONS = {
    "sum": "sum({over}: {x})",
    "prod": "prod({over}: {x})",
    "max": "max({over}: {x})",
    "min": "min({over}: {x})",
    "any": "any({over}: {x})",
    "all": "all({over}: {x})",
    "mean": _MEAN,
    "var": _VAR,
    "std": _VAR.replace(";; ", ";; q{kept} = ") + " ;; if q{kept} > 0 then sqrt(q{kept}) else q{kept}",
}


def reduce(
    name: str, x: Any, axis: object, keepdims: bool, dtype: object = None, out: object = None, ddof: float = 0
) -> Any:
    """A reduction over one axis, several, or all of them (None).

    Args:
        dtype: what the elements are converted to first, and the dtype of the result; None for
            NumPy's choice.
    Raises:
        CallError: an axis that the tensor does not have, or twice; the largest of no elements.
    """
    refuse_out(out)
    axes = axes_of(_of_one(axis, x.ndim), x.ndim)
    result = _reduced(name, x.dtype) if dtype is None else named(dtype)
    if name in ("mean", "var", "std") and not result.is_float:
        raise CallError(f"{name} as {result}", code="dtype", help='convert the result: .astype("i64")')
    if dtype is not None or name in ("any", "all"):
        x = cast(x, result)
    _refuse_empty(name, x, axes)
    if name in ("max", "min") and x.dtype == BOOL:
        name = "any" if name == "max" else "all"
    if not axes:  # of each element alone
        x, axes, keepdims = reshape(x, (*x.shape, 1)), [x.ndim], False
    computed = _computed(name, result)
    text = _REDUCTIONS[name].replace("DIVISOR", _divisor(ddof))
    if computed != result:
        before, mark, last = text.rpartition(" ;; ")
        text = f"{before}{mark}{f'{last} != 0' if result == BOOL else f'{result}({last})'}"
    return operator_texts.reduction(
        f"reduce_{name}", text, x.ndim, axes, keepdims, x.dtype, result, computed
    )(x)


def _reduced(name: str, t: DType) -> DType:
    if name in ("any", "all"):
        return BOOL
    if name in ("sum", "prod"):
        return of_sum(t)
    return of_quotient(t) if name in ("mean", "var", "std") else t


def _computed(name: str, result: DType) -> DType:
    """The dtype of the sums behind a result."""
    if name in ("max", "min", "any", "all"):
        return result
    return I64 if result == BOOL else accumulator(result)


def _divisor(ddof: float) -> str:
    """n - ddof, or 0 where that is negative."""
    if type(ddof) is int:
        return f"max({{count}} - {ddof}, 0)"
    if not isinstance(ddof, float | np.number) or not np.isfinite(ddof):
        raise CallError(f"ddof is {ddof!r}, expected a number", code="arguments")
    return f"max(f64({{count}}) - {float(ddof)!r}, 0)"


def _refuse_empty(name: str, x: Any, axes: Sequence[int]) -> None:
    if name in ("max", "min", "argmax", "argmin") and any(x.shape[k] == 0 for k in axes):
        raise CallError(
            f"{name} of no elements: a tensor of shape {list(x.shape)}, axes {list(axes)}",
            code="shape",
            help="reduce other axes, or look at the shape first",
        )


def place(name: str, x: Any, axis: int | None, keepdims: bool, out: object = None) -> Any:
    """argmax or argmin along one axis, or of all elements."""
    refuse_out(out)
    if _of_one(axis, x.ndim) is None:
        found = place(name, reshape(x, (-1,)), 0, False)
        return reshape(found, (1,) * x.ndim) if keepdims else found
    if dtype_of(x) == BOOL:
        x = cast(x, I32)
    (k,) = axes_of(axis, x.ndim)
    _refuse_empty(name, x, [k])
    operator = operator_texts.reduction(
        f"reduce_{name}",
        f"{name}({{over}}: {{x}})",
        x.ndim,
        [k],
        keepdims,
        x.dtype,
        I64,
        x.dtype,
        in_axis=True,
    )
    return operator(x)


def cumulated(operator: Op, x: Any, axis: int | None, dtype: object, out: object) -> Any:
    """Sums or products of the elements up to each one along an axis, or of all in a line."""
    refuse_out(out)
    x = cast(x, of_sum(x.dtype) if dtype is None else named(dtype))
    if _of_one(axis, x.ndim) is None:
        return operator(reshape(x, (-1,)), axis=0)
    (k,) = axes_of(axis, x.ndim)
    return operator(x, axis=k)


def rounded(x: Any, decimals: int, out: object) -> Any:
    """To the nearest multiple of 10^-decimals, ties to even: of a product with a power of ten, as
    NumPy has it.

    Raises:
        CallError: integers at tens, hundreds, ...
    """
    refuse_out(out)
    if not x.dtype.is_float:
        if decimals < 0:
            raise CallError(
                f"integers are rounded to {decimals} decimals",
                code="arguments",
                help='convert them: .astype("f64")',
            )
        return itself(x)
    scale = float(10 ** abs(decimals))
    if not decimals:
        text = "round({0})"
    else:
        text = (
            f"round({{0}} * {scale!r}) / {scale!r}"
            if decimals > 0
            else f"round({{0}} / {scale!r}) * {scale!r}"
        )
    return unary("round", text, x, x.dtype)


def _of_one(axis: object, rank: int) -> object:
    """An axis, or None for the one axis that NumPy and torch let one number have in reductions:
    0 or -1.
    """
    return None if not rank and type(axis) is int and axis in (-1, 0) else axis


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
    """A @ B of NumPy: rows by columns of the last two axes, leading ones broadcast; a single axis
    is a row, or a column.

    Raises:
        CallError: extents do not fit.
    """
    x, y = operand(a), operand(b)
    if is_number(x) or is_number(y) or not x.shape or not y.shape:
        raise CallError(
            "@ needs at least one axis on each side", code="shape", help="multiply by numbers with *"
        )
    if x.shape[-1] != y.shape[-2 if len(y.shape) > 1 else 0]:
        raise CallError(
            f"{list(x.shape)} @ {list(y.shape)}: {x.shape[-1]} columns and "
            f"{y.shape[-2 if len(y.shape) > 1 else 0]} rows",
            code="shape",
        )
    t = common_dtype(x, y)
    left, right = cast_any(x, t), cast_any(y, t)
    if t == BOOL:
        return cast(matmul(cast(left, I32), cast(right, I32)), BOOL)
    left = left.reshape(1, -1) if len(x.shape) == 1 else left
    right = right.reshape(-1, 1) if len(y.shape) == 1 else right
    found = operator_texts.product(tuple(left.shape), tuple(right.shape), t)(left, right)
    gone = [k for k, v in ((-2, x), (-1, y)) if len(v.shape) == 1]
    return (
        reshape(found, tuple(n for k, n in enumerate(found.shape, -len(found.shape)) if k not in gone))
        if gone
        else found
    )


def select(x: Any, key: object) -> Any:
    """`x[key]`; arrays in the key are of integers.

    Raises:
        CallError: an index out of bounds, or booleans, whose number would be the extent of the
            result.
    """
    if (holds := truth_of_all(key)) is not None:  # of the whole tensor: an axis of extent 1, or of 0
        return select(select(x, None), slice(None) if holds else slice(0))
    found = selection(x.shape, normal(key, x.shape))
    whole = [f"i{k}" for k in range(len(x.shape))]
    if found.at == whole and tuple(found.result) == x.shape and not found.places:
        return itself(x)
    places = [(tuple(p.shape), n) for p, n in found.places]  # type: ignore[attr-defined]
    op: Op = operator_texts.taken(x.shape, found.at, tuple(found.result), x.dtype, places)
    return op(x, *(_as_i64(p) for p, _ in found.places))


def truth_of_all(key: object) -> bool | None:
    """The value of a single truth value, as a mask of no axes; None for any other key."""
    if isinstance(key, bool | np.bool_) or isinstance(key, np.ndarray) and key.dtype == bool and not key.ndim:
        return bool(key)
    return None


def normal(key: object, shape: Shape) -> object:
    """The key with lists as arrays, numbers as Python's, and where arrays of booleans choose, with
    the places where they hold.

    Args:
        shape: of the tensor that the key is for.
    Raises:
        CallError: a mask of another shape than the axes that it chooses from; an array of floats; a
            place that is not there.
    """
    items = [_plain(k) for k in (key if isinstance(key, tuple) else (key,))]
    used = sum(map(_axes_used, items))
    parts, axis = [], 0
    for item in items:
        if item is Ellipsis:
            axis += max(len(shape) - used, 0)
        parts += _chosen(item, shape, axis) if isinstance(item, np.ndarray) else [item]
        axis += _axes_used(item)
    return tuple(parts) if isinstance(key, tuple) or len(parts) != 1 else parts[0]


def _plain(item: object) -> object:
    """A list, tuple or range as an array, an integer of NumPy or in an array of no axes as one of
    Python.
    """
    if isinstance(item, list | tuple | range):
        item = np.asarray(item, None if item else np.int64)
    if isinstance(item, np.ndarray | np.generic):
        if item.dtype.kind not in "iub":
            raise CallError(f"an index of {item.dtype}", code="index", help="index with integers or booleans")
        return item.item() if item.ndim == 0 else item
    if isinstance(getattr(item, "dtype", None), DType) and dtype_of(item).is_float:
        raise CallError(f"an index of {dtype_of(item)}", code="index", help="index with integers or booleans")
    return item


def _axes_used(item: object) -> int:
    """Number of axes of a tensor that an item of a key takes."""
    if item is None or item is Ellipsis:
        return 0
    return item.ndim if isinstance(item, np.ndarray) and item.dtype == bool else 1


def mask_fits(mask: Sequence[int], extents: Sequence[int]) -> bool:
    """True if a mask of these extents can choose from axes of `extents`. As NumPy has it, an
    extent of 0 stands for an axis of any extent (`findings/numpy_empty_masks.sh`).
    """
    return len(mask) == len(extents) and all(m in (0, n) for m, n in zip(mask, extents))


def _chosen(item: np.ndarray, shape: Shape, axis: int) -> Sequence[np.ndarray]:
    """The places that an array chooses on axes from `axis` on, one array for each."""
    extents = list(shape[axis : axis + _axes_used(item)])
    if item.dtype == bool:
        if not mask_fits(item.shape, extents):
            raise CallError(
                f"a mask of shape {list(item.shape)} chooses from axes of extents {extents}",
                code="index",
                help="a mask has the extents of the axes that it stands for, from the first one on",
            )
        return np.nonzero(item)
    if extents:  # where there is no such axis, `selection` says so
        check_places(item, shape, axis)
    return [item]


def check_places(places: np.ndarray, shape: Shape, axis: int = 0) -> None:
    """Places along an axis are in bounds; negative ones count from its end.

    Raises:
        CallError: one is not.
    """
    for n in shape[axis : axis + 1] if places.size else ():
        if places.min() < -n or places.max() >= n:
            first = places[(places < -n) | (places >= n)].flat[0]
            raise CallError(f"index {first} is out of bounds for axis {axis} of extent {n}", code="index")


def _as_i64(p: Any) -> Any:
    return p.astype(np.int64) if isinstance(p, np.ndarray) else cast(p, I64)


def reshape(x: Any, shape: Sequence[int]) -> Any:
    """The same elements in the order of memory; one extent may be -1.

    Raises:
        CallError: the number of elements is another one.
    """
    wanted = _whole_shape(x.shape, shape)
    if wanted == x.shape:
        return itself(x)
    line = x
    if not x.shape:
        line = operator_texts.stretched((), (1,), x.dtype)(x)
    elif len(x.shape) > 1:
        line = operator_texts.flattened(x.shape, x.dtype)(x)
    if len(wanted) == 1:
        return line
    return operator_texts.unflattened(wanted, x.dtype)(line) if wanted else select(line, 0)


def _whole_shape(shape: Shape, given: Sequence[int]) -> Shape:
    wanted = [n.__index__() for n in given]
    open_, known = wanted.count(-1), prod(tuple(n for n in wanted if n != -1))
    total = prod(shape)
    fits = not any(n < -1 for n in wanted) and (
        open_ == 0 and known == total or open_ == 1 and known and total % known == 0
    )
    if not fits:
        raise CallError(
            f"{total} elements of {list(shape)} do not become {wanted}",
            code="shape",
            help="one extent may be -1",
        )
    return tuple(total // known if n == -1 else n for n in wanted)


def permute(x: Any, order: Sequence[int]) -> Any:
    """Axis k of the result is axis `order[k]`."""
    axes = [axes_of(k, x.ndim)[0] for k in order]
    if sorted(axes) != list(range(x.ndim)):
        raise CallError(f"{tuple(order)} is no order of {x.ndim} axes", code="axis")
    return itself(x) if axes == list(range(x.ndim)) else operator_texts.permuted(axes, x.dtype)(x)


def broadcast_to(x: Any, shape: Sequence[int]) -> Any:
    """The tensor repeated along axes of extent 1, and along new ones in front."""
    wanted = tuple(n.__index__() for n in shape)
    if operator_texts.broadcast([x.shape, wanted]) != wanted:
        raise CallError(f"{list(x.shape)} does not broadcast to {list(wanted)}", code="shape")
    return itself(x) if wanted == x.shape else operator_texts.stretched(x.shape, wanted, x.dtype)(x)
