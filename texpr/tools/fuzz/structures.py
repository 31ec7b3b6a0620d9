"""Random operators that default schedules have structures for: products, windows that slide,
rows that are summed, recurrences.
"""

from __future__ import annotations

from collections.abc import Callable
from random import Random

SIZES = (0, 1, 1, 2, 3, 4, 5, 8, 12, 16, 17, 31, 32, 33, 48, 64, 65, 96, 128, 130)
LARGE = (0, 1, 32, 64, 100, 128, 255, 256, 512, 1000)
_FLOATS = ("f32", "f32", "f32", "f64", "f16", "bf16", "f8e4m3")
_NARROW = {"f16": "f32", "bf16": "f32", "f8e4m3": "f32", "f8e5m2": "f32", "i8": "i32", "u8": "i32"}


def structured_text(rng: Random) -> str:
    """An operator with sizes that are numbers, extents of 0 and 1 among them."""
    return rng.choice(
        (
            _contraction,
            _contraction,
            _windows,
            _windows,
            _windows,
            _rows,
            _attention,
            _recurrence,
            _transposed,
        )
    )(rng)


def short_text(rng: Random) -> str:
    """A contraction, or a convolution over one to four axes, whose extents are 1 to 3 but for one or
    two: the axes of a default schedule's tiles, batches and channels are missing one by one.
    """
    long = rng.choice((4, 16, 33, 64, 100, 300, 2048))
    if rng.random() < 0.4:
        return _contraction(rng, lambda: rng.choice((1, 1, 2, 3, 3, min(long, 100))))
    rank = rng.choice((1, 1, 2, 3, 4))
    field = [rng.choice((1, 2, 3, 3)) for _ in range(rank)]
    if rng.random() < 0.6:
        field[rng.randrange(rank)] = long
    channels = (1, 2, 3, 3, 16, 64) if max(field) <= 100 else (1, 2, 3, 8)
    return _convolution(
        rng,
        window=[min(f, rng.choice((1, 2, 3, 5, 11) if f > 3 else (1, 1, 2, 3))) for f in field],
        field=field,
        batch=rng.choice((1, 1, 2, 3, 32) if long < 300 else (1, 1, 2, 3)),
        channels=(rng.choice((1, 1, 1, 2, 3)), rng.choice(channels), rng.choice(channels)),
    )


def _size(rng: Random, large: float = 0.15) -> int:
    return rng.choice(LARGE if rng.random() < large else SIZES)


def _types(rng: Random) -> tuple[str, str]:
    """Of operands and of the sum of their products."""
    operand = rng.choice((*_FLOATS, "i8", "u8", "i32"))
    return operand, _NARROW.get(operand, operand)


def _cast(e: str, operand: str, total: str) -> str:
    return e if operand == total else f"{total}({e})"


def _operand(rng: Random, name: str, axes: list[str], sizes: dict[str, int], dtype: str) -> tuple[str, str]:
    """The declaration of an operand with its axes in random order, and a read of it."""
    order = rng.sample(axes, len(axes))
    return f"{name}: {dtype}[{', '.join(str(sizes[a]) for a in order)}]", f"{name}[{', '.join(order)}]"


def _end(
    rng: Random, value: str, axes: list[str], sizes: dict[str, int], total: str
) -> tuple[str, list[str]]:
    """The operation on a complete sum: nothing, a bias, a summand, a maximum; and the operands of
    that.
    """
    match rng.randrange(5):
        case 0:
            at = rng.choice(axes) if axes else ""
            return (f"{value} + D[{at}]", [f"D: {total}[{sizes[at]}]"]) if at else (value, [])
        case 1 if axes:
            declared, read = _operand(rng, "D", axes, sizes, total)
            return f"max({value} + {read}, 0)", [declared]
        case 2:
            return f"max({value}, 0)", []
    return value, []


def _contraction(rng: Random, size: Callable[[], int] | None = None) -> str:
    """A product of two tensors with any axes of rows, columns, batches and terms, in any order.

    Args:
        size: draws the extent of an axis.
    """
    groups = {
        kind: [f"{kind}{k}" for k in range(rng.choice(counts))]
        for kind, counts in (
            ("b", (0, 0, 0, 1, 2)),
            ("m", (0, 1, 1, 1, 2)),
            ("n", (0, 1, 1, 1, 2)),
            ("k", (1, 1, 1, 2)),
        )
    }
    batch, rows, columns, terms = groups.values()
    sizes = {a: size() if size else _size(rng) for of in groups.values() for a in of}
    operand, total = _types(rng)
    left, a = _operand(rng, "A", batch + rows + terms, sizes, operand)
    right, b = _operand(rng, "B", batch + columns + terms, sizes, operand)
    out = rng.sample(batch + rows + columns, len(batch + rows + columns))
    bounds = [f"{t} in 0..{sizes[t]}" for t in terms]
    if rng.random() < 0.1 and rows and len(terms) == 1 and sizes[rows[0]] <= sizes[terms[0]]:
        bounds = [f"{terms[0]} in 0..{rows[0]} + 1"]
    total_text = f"sum({', '.join(bounds)}: {_cast(a, operand, total)} * {_cast(b, operand, total)})"
    value, more = _end(rng, total_text, out, sizes, total)
    target = f"C[{', '.join(out)}]" if out else "C"
    shape = f"[{', '.join(str(sizes[i]) for i in out)}]" if out else ""
    return f"op f({', '.join((left, right, *more))}) -> C: {total}{shape} {{ {target} = {value} }}\n"


def _windows(rng: Random) -> str:
    """A convolution over one to three axes, channels first or last."""
    rank = rng.choice((1, 2, 2, 2, 3))
    return _convolution(
        rng,
        window=[rng.choice((1, 1, 2, 3, 3, 4, 5, 7)) for _ in range(rank)],
        field=[rng.choice((1, 5, 8, 14, 16, 28, 32, 33, 56)) for _ in range(rank)],
        batch=rng.choice((0, 1, 1, 2, 16)),
        channels=(
            rng.choice((1, 1, 1, 2, 8)),
            rng.choice((0, 1, 3, 4, 8, 16, 32, 64)),
            rng.choice((0, 1, 3, 8, 16, 32, 40, 64)),
        ),
    )


def _convolution(
    rng: Random, window: list[int], field: list[int], batch: int, channels: tuple[int, int, int]
) -> str:
    """A convolution with strides, dilation, padding and groups, channels first or last.

    Args:
        field: extents, which grow where the window does not fit.
        channels: groups, and the channels of the input and of the output in each.
    """
    rank, (groups, inside, outside) = len(window), channels
    stride, step = rng.choice((1, 1, 1, 2, 3)), rng.choice((1, 1, 1, 2))
    field = [max(f, step * (w - 1) + 1) for f, w in zip(field, window)]
    pad = rng.choice((0, 0, 1, 2))
    out = [(f + 2 * pad - step * (w - 1) - 1) // stride + 1 for f, w in zip(field, window)]
    operand, total = _types(rng)
    at = [f"{stride} * y{d} + {step} * r{d} - {pad}" for d in range(rank)]
    over = [f"c in 0..{inside}", *(f"r{d} in 0..{w}" for d, w in enumerate(window))]
    rng.shuffle(over)
    last = rng.random() < 0.3
    channel, target = ("g, c", "g, k") if groups > 1 else ("c", "k")
    lengths = (
        f"{groups}, {inside}" if groups > 1 else f"{inside}",
        f"{groups}, {outside}" if groups > 1 else f"{outside}",
    )

    def placed(batch: object, channels: str, space: list[object]) -> str:
        return ", ".join(map(str, (batch, *space, channels) if last else (batch, channels, *space)))

    filters = f"k, {', '.join(['c', *(f'r{d}' for d in range(rank))])}"
    given = [
        f"X: {operand}[{placed(batch, lengths[0], list(field))}]",
        f"W: {operand}[{f'{groups}, ' if groups > 1 else ''}{outside}, {inside}, "
        f"{', '.join(map(str, window))}]",
    ]
    read = f"X[{placed('n', channel, list(at))}{' | 0' if pad else ''}]"
    weight = f"W[{'g, ' if groups > 1 else ''}{filters}]"
    value = f"sum({', '.join(over)}: {_cast(read, operand, total)} * {_cast(weight, operand, total)})"
    names = placed("n", target, [f"y{d}" for d in range(rank)])
    sizes = dict(zip(names.split(", "), map(int, placed(batch, lengths[1], list(out)).split(", "))))
    value, more = _end(rng, value, list(sizes), sizes, total)
    return (
        f"op f({', '.join((*given, *more))}) -> Y: {total}[{', '.join(map(str, sizes.values()))}] "
        f"{{ Y[{names}] = {value} }}\n"
    )


def _transposed(rng: Random) -> str:
    """A convolution that scatters: each element of the field is added to a window of the result."""
    size, window, stride = (
        rng.choice((1, 4, 7, 16, 31, 32, 33)),
        rng.choice((1, 2, 3, 4)),
        rng.choice((1, 2, 2, 3)),
    )
    batch, inside, outside = rng.choice((0, 1, 2)), rng.choice((0, 1, 3, 16, 64)), rng.choice((1, 3, 16))
    out = (size - 1) * stride + window
    dtype = rng.choice(("f32", "f32", "f64"))
    return (
        f"op f(X: {dtype}[{batch}, {inside}, {size}, {size}], W: {dtype}[{inside}, {outside}, {window}, "
        f"{window}]) "
        f"-> Y: {dtype}[{batch}, {outside}, {out}, {out}] {{\n  Y[n, k, y, x] = 0\n"
        f"  Y[n, k, {stride} * y + r, {stride} * x + q] += sum(c in 0..{inside}: X[n, c, y, x] * W[c, k, r, "
        f"q])"
        f"  for n in 0..{batch}, k in 0..{outside}, y in 0..{size}, x in 0..{size}, r in 0..{window}, q in "
        f"0..{window}\n}}\n"
    )


def _rows(rng: Random) -> str:
    """Rows that are summed and scaled, as softmax and normalizations are."""
    axes = ["a", "b", "c"][: rng.choice((0, 1, 1, 2, 3))]
    sizes = {i: _size(rng) for i in (*axes, "k")}
    sizes["k"] = max(1, sizes["k"])
    dtype = rng.choice(("f32", "f32", "f64", "f16", "bf16"))
    at, read = f"[{', '.join(axes)}]" if axes else "", f"[{', '.join((*axes, 'k'))}]"
    shape = f"[{', '.join(str(sizes[i]) for i in (*axes, 'k'))}]"
    first = rng.choice(
        (
            f"m{at} = max(k: X{read})",
            f"m{at} = {_cast(f'sum(k: X{read})', '' if dtype in _NARROW else dtype, dtype)}",
        )
    )
    total = _cast(f"sum(k: e{read})", "" if dtype in _NARROW else dtype, dtype)
    body = rng.choice(("exp(X{0} - m{1})", "(X{0} - m{1}) * (X{0} - m{1})", "X{0} * X{0} + m{1}")).format(
        read, at
    )
    return (
        f"op f(X: {dtype}{shape}) -> Y: {dtype}{shape} {{\n  {first}\n  e{read} = {body}\n  s{at} = {total}\n"
        f"  Y{read} = e{read} / s{at}\n}}\n"
    )


def _attention(rng: Random) -> str:
    """Rows of weighted exponentials of products."""
    heads, queries, keys, depth, width = (
        rng.choice((0, 1, 2, 8)),
        _size(rng),
        max(1, _size(rng)),
        _size(rng, 0),
        _size(rng, 0),
    )
    dtype = rng.choice(("f32", "f32", "bf16", "f16", "f64"))
    total = _NARROW.get(dtype, dtype)
    causal = " where k <= q" if rng.random() < 0.3 else ""
    q, k, v = (_cast(e, dtype, total) for e in ("Q[h, q, d]", "K[h, k, d]", "V[h, k, c]"))
    return (
        f"op f(Q: {dtype}[{heads}, {queries}, {depth}], K: {dtype}[{heads}, {keys}, {depth}], V: "
        f"{dtype}[{heads}, {keys}, {width}]) "
        f"-> Y: {total}[{heads}, {queries}, {width}] {{\n  S[h, q, k] = sum(d: {q} * {k}) * 0.125\n"
        f"  m[h, q] = max(k in 0..{keys}: S[h, q, k])\n  e[h, q, k] = exp(S[h, q, k] - m[h, q])\n"
        f"  Y[h, q, c] = sum(k in 0..{keys}{causal}: e[h, q, k] * {v}) / sum(k in 0..{keys}: e[h, q, "
        f"k])\n}}\n"
    )


def _recurrence(rng: Random) -> str:
    """Steps in time, the first of which is a part of its own: with one step the other part is
    empty.
    """
    steps, states = rng.choice((1, 1, 2, 3, 16, 100)), max(1, _size(rng))
    dtype = rng.choice(("f32", "f64", "i32"))
    first = rng.choice(
        ("p[s] * B[0, s]", "p[s] * B[0, s] + sum(q: p[q] * B[0, q])", "sum(q: p[q] * A[q, s])")
    )
    then = rng.choice(
        (
            "B[t, s] * sum(q: a[t - 1, q] * A[q, s])",
            "B[t, s] + max(q: a[t - 1, q] + A[q, s])",
            "a[t - 1, s] * p[s] + B[t, s]",
        )
    )
    shape = f"{dtype}[{steps}, {states}]"
    return (
        f"op f(p: {dtype}[{states}], A: {dtype}[{states}, {states}], B: {shape}) -> a: {shape} {{\n"
        f"  a[0, s] = {first}\n  a[t, s] = {then}  for t in 1..{steps}, s in 0..{states}\n}}\n"
    )
