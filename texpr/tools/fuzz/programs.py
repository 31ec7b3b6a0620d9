"""Random programs of the language that mostly mean something, as text."""

from __future__ import annotations

from dataclasses import dataclass, field
from random import Random

_FLOATS = ("f32", "f32", "f64", "f16", "bf16", "f8e4m3", "f8e5m2")
_INTEGERS = ("i32", "i64", "u8", "i8", "u32", "i16", "u16", "u64")
_FUNCTIONS = ("exp", "tanh", "abs", "sqrt", "sigmoid", "sin", "floor", "sign", "erf", "log1p", "rint")
_NAMES = "ijklmn"


@dataclass(slots=True)
class _Writer:
    """A program as far as it is written.

    Attributes:
        tensors: name -> its sizes, all of type `dtype`.
        indices: name -> the size it runs over, those in scope.
    """

    rng: Random
    dtype: str
    sizes: list[str]
    tensors: dict[str, tuple[str, ...]] = field(default_factory=dict)
    indices: dict[str, str] = field(default_factory=dict)
    opaque: str = ""
    binders: int = 0

    @property
    def is_float(self) -> bool:
        return self.dtype[0] in "fb"


def program_text(rng: Random) -> str:
    """A text with one operator, sometimes with another that it calls."""
    if rng.random() < 0.12:
        return rng.choice((_pack, _recurrence, _call, _group))(rng)
    w = _Writer(
        rng,
        rng.choice(_FLOATS if rng.random() < 0.7 else _INTEGERS),
        rng.sample(["N", "M", "K"], rng.randrange(1, 4)),
    )
    inputs = [_input(w, f"X{k}") for k in range(rng.randrange(1, 4))]
    bound = {size for shape in w.tensors.values() for size in shape}
    missing = [size for size in w.sizes if size not in bound]
    if missing:
        w.tensors["Z"] = tuple(missing)
        inputs.append(f"Z: {w.dtype}[{', '.join(missing)}]")
    if rng.random() < 0.25:
        w.opaque = "p"
        inputs.append(
            f"p: {rng.choice(('i32', 'i64', 'u8'))}[{w.sizes[0]}] in "
            f"0..{w.sizes[-1]}{rng.choice(('', '', ' distinct'))}"
        )
    constants = "; c = 2" if rng.random() < 0.3 else ""
    statements = [_intermediate(w, f"T{k}") for k in range(rng.randrange(3))]
    shape = _shape(w)
    statements += _output(w, shape)
    require = f" require {rng.choice(w.sizes)} >= {rng.randrange(1, 4)}" if rng.random() < 0.2 else ""
    return (
        f"op f({', '.join(inputs)}{constants}) -> Y: {_type(w, shape)}{require} {{\n  "
        + "\n  ".join(statements)
        + "\n}\n"
    )


def _type(w: _Writer, shape: tuple[str, ...]) -> str:
    return f"{w.dtype}[{', '.join(shape)}]" if shape else w.dtype


def _shape(w: _Writer) -> tuple[str, ...]:
    return tuple(w.rng.choice(w.sizes) for _ in range(w.rng.choice((0, 1, 1, 2, 2, 3))))


def _input(w: _Writer, name: str) -> str:
    w.tensors[name] = _shape(w)
    return f"{name}: {_type(w, w.tensors[name])}"


def _left(w: _Writer, shape: tuple[str, ...]) -> str:
    w.indices = dict(zip(_NAMES, shape))
    return f"[{', '.join(w.indices)}]" if shape else ""


def _intermediate(w: _Writer, name: str) -> str:
    shape = _shape(w)
    left = _left(w, shape)
    ranges = ", ".join(f"{i} in 0..{size}" for i, size in w.indices.items())
    statement = f"{name}{left} = {_value(w, 3)}" + (f"  for {ranges}" if ranges else "")
    if w.rng.random() < 0.3:
        statement = f"let {name}: {_type(w, shape)}\n  {statement}"
    w.tensors[name] = shape
    return statement


def _output(w: _Writer, shape: tuple[str, ...]) -> list[str]:
    left = _left(w, shape)
    kind = w.rng.random()
    if shape and kind < 0.12:  # two pieces that meet at a place
        cut = w.rng.choice((f"min({w.rng.randrange(4)}, {shape[0]})", f"{shape[0]}//2", "0"))
        return [
            f"Y{left} = {_value(w, 2)}  for i in 0..{cut}",
            f"Y{left} = {_value(w, 2)}  for i in {cut}..{shape[0]}",
        ]
    if shape and kind < 0.2:
        condition = w.rng.choice(("i % 2 == 0", "i < 2", f"i + 1 < {shape[0]}"))
        return [
            f"Y{left} = {_value(w, 2)}  where {condition}",
            f"Y{left} = {_value(w, 2)}  where not {condition}",
        ]
    if shape and kind < 0.35:  # a fold
        rest = "".join(f", {i}" for i in list(w.indices)[1:])
        where = w.rng.choice(("i + 1 | drop", "i - 1 | clamp", "i // 2", "i", "0", "i + 1 | wrap"))
        element, _, guard = where.partition(" |")
        target = f"Y[{element}{rest}{' |' + guard if guard else ''}]"
        ranges = ", ".join(f"{i} in 0..{size}" for i, size in w.indices.items())
        operation = w.rng.choice(("+=", "+=", "*=", "max=", "min="))
        return [f"Y{left} = {_value(w, 1)}", f"{target} {operation} {_value(w, 2)}  for {ranges}"]
    if len(shape) == 1 and kind < 0.42:  # a recurrence
        return [f"Y[i] = {w.rng.choice(('Y[i - 1 | 0]', 'Y[i + 1 | 1]', 'Y[i - 2 | 0]'))} + {_value(w, 2)}"]
    return [f"Y{left} = {_value(w, 4)}"]


def _value(w: _Writer, depth: int) -> str:
    """An expression of the program's type."""
    if depth == 0 or w.rng.random() < 0.2:
        return _leaf(w)
    match w.rng.randrange(8):
        case 0 | 1 | 2:
            symbol = w.rng.choice(("+", "-", "*", "/") if w.is_float else ("+", "-", "*", "//", "%"))
            return f"({_value(w, depth - 1)} {symbol} {_value(w, depth - 1)})"
        case 3:
            return (
                f"if {_condition(w, depth - 1)} then {_value(w, depth - 1)} else {_value(w, depth - 1)}".join(
                    "()"
                )
            )
        case 4:
            return f"{w.rng.choice(('max', 'min'))}({_value(w, depth - 1)}, {_value(w, depth - 1)})"
        case 5 if w.is_float:
            return f"{w.rng.choice(_FUNCTIONS)}({_value(w, depth - 1)})"
        case 5:
            return f"{w.rng.choice(('abs', 'sign'))}({_value(w, depth - 1)})"
        case _:
            return _reduction(w, depth)


def _leaf(w: _Writer) -> str:
    kind = w.rng.random()
    if kind < 0.15:
        return (
            w.rng.choice(("0", "1", "2", "3"))
            if not w.is_float
            else w.rng.choice(("0", "1", "0.5", "2", "-1", "inf", "nan", "1e3"))
        )
    if kind < 0.2 and w.indices:
        return f"{w.dtype}({w.rng.choice(list(w.indices))})"
    name = w.rng.choice(list(w.tensors))
    return _read(w, name)


def _read(w: _Writer, name: str) -> str:
    shape = w.tensors[name]
    if not shape:
        return name
    indices = [_index(w, size) for size in shape]
    outside = ""
    if any(needs for _, needs in indices):
        outside = f" | {w.rng.choice(('clamp', 'clamp', '0', '1'))}"
    return f"{name}[{', '.join(text for text, _ in indices)}{outside}]"


def _index(w: _Writer, size: str) -> tuple[str, bool]:
    """An index into a dimension, and whether it needs a guard."""
    same = [i for i, over in w.indices.items() if over == size]
    if not same:
        other = w.rng.choice(list(w.indices)) if w.indices and w.rng.random() < 0.5 else "0"
        return (other, True) if other != "0" else ("0", False)
    i = w.rng.choice(same)
    if w.opaque and size == w.sizes[-1] and w.rng.random() < 0.3:
        first = [j for j, over in w.indices.items() if over == w.sizes[0]]
        if first:
            return f"{w.opaque}[{w.rng.choice(first)}]", False
    return w.rng.choice(
        (
            (i, False),
            (i, False),
            (i, False),
            (f"{size} - 1 - {i}", False),
            (f"{i} + {w.rng.randrange(1, 3)}", True),
            (f"{i} - 1", True),
            (f"{i} // 2", False),
            (f"min({i} + 1, {size} - 1)", False),
            (f"max({i} - 1, 0)", False),
            (f"2*{i}", True),
            (f"{i} % 2", True),
        )
    )


def _condition(w: _Writer, depth: int) -> str:
    if w.indices and w.rng.random() < 0.5:
        i = w.rng.choice(list(w.indices))
        return w.rng.choice((f"{i} < 2", f"{i} % 2 == 0", f"{i} >= 1", f"0 <= {i} - 1 < 2", f"{i} != 0"))
    text = (
        f"{_value(w, min(depth, 1))} {w.rng.choice(('<', '<=', '==', '!=', '>'))} {_value(w, min(depth, 1))}"
    )
    return text if w.rng.random() < 0.7 else f"not ({text})"


def _reduction(w: _Writer, depth: int) -> str:
    """`sum(k in 0..N where ...: body)`; its index is in scope in the body alone."""
    w.binders += 1
    name, size = f"r{w.binders}", w.rng.choice(w.sizes)
    outer = dict(w.indices)
    w.indices[name] = size
    op = w.rng.choice(("sum", "sum", "sum", "prod", "max", "min"))
    extent = w.rng.choice(
        (f"0..{size}", f"0..{size}", "0..3", f"0..{size} + 1", f"0..2*{size}", f"1..{size} + 1")
    )
    where = (
        f" where {w.rng.choice((f'{name} != 1', f'{name} % 2 == 0', f'{name} < 2'))}"
        if w.rng.random() < 0.2
        else ""
    )
    if extent not in ("0..3", f"0..{size}"):
        w.indices[name] = ""
    body = _value(w, min(depth - 1, 2))
    w.indices = outer
    narrow = w.dtype in ("f16", "bf16", "f8e4m3", "f8e5m2", "i8", "u8", "i16", "u16") and op in (
        "sum",
        "prod",
    )
    text = f"{op}({name} in {extent}{where}: {body})"
    return f"{w.dtype}({text})" if narrow else text


def _pack(rng: Random) -> str:
    axis = rng.randrange(3)
    operation = rng.choice(("sum", "max", "min", "prod"))
    body = rng.choice(("X[*a, d, *b]", "X[*a, d, *b] * X[*a, D - 1 - d, *b]", "exp(X[*a, d, *b])"))
    return (
        f"op f<T: float>(X: T[*A:axis, D, *B], s: T; axis = {axis}) -> Y: T[*A, D, *B] {{\n"
        f"  m[*a, *b] = {operation}(d: {body})\n  Y[*a, i, *b] = X[*a, i, *b] {rng.choice('+-*/')} m[*a, *b] "
        f"* s\n}}\n"
    )


def _recurrence(rng: Random) -> str:
    step = rng.choice(
        (
            "0.5 * h[t, j] + X[t, j]",
            "max(h[t, j], X[t, j])",
            "h[t, j] + sum(k: h[t, k] * W[k, j])",
            "tanh(h[t, 0] + X[t, j])",
        )
    )
    return (
        "op f(X: f32[L, D], W: f32[D, D], h0: f32[D]) -> h: f32[L + 1, D] {\n  h[0, j] = h0[j]\n"
        f"  h[t + 1, j] = {step}  for t in 0..L\n}}\n"
    )


def _call(rng: Random) -> str:
    inner = rng.choice(
        ("X[i, j] * 2", "X[i, j] - max(k: X[i, k])", "sum(k where k <= j: X[i, k])", "X[i, N - 1 - j]")
    )
    outer = rng.choice(("T[i, j] + 1", "sum(k: T[i, k])", "T[M - 1 - i, j]", "max(T[i, j], X[i, j])"))
    return (
        f"op g(X: f32[M, N]) -> Y: f32[M, N] {{ Y[i, j] = {inner} }}\n"
        f"op f(X: f32[M, N]) -> Y: f32[M, N] {{\n  T = g(X)\n  Y[i, j] = {outer}\n}}\n"
    )


def _group(rng: Random) -> str:
    a, b = rng.choice((("r", "c"), ("c", "r")))
    size = {"r": "R", "c": "C"}
    other = rng.choice(("1", "X[n, (0, c)]", "f32(r)", "X[N - 1 - n, (r, c)]"))
    return (
        f"op f(X: f32[N, (R, C)]; R = {rng.randrange(1, 4)}) -> Y: f32[N, ({size[a]}, {size[b]})] {{ "
        f"Y[n, ({a}, {b})] = X[n, (r, c)] {rng.choice('+*')} {other} }}\n"
    )
