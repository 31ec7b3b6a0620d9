"""Random operators whose loops are worth scheduling: stages that read each other, reductions,
recurrences, pieces, gathers, scatters.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from random import Random

from texpr.tools.fuzz.draft import Draft

_TYPES = (
    "f32",
    "f32",
    "f32",
    "f32",
    "f64",
    "i32",
    "i32",
    "i64",
    "f16",
    "bf16",
    "f8e4m3",
    "f8e5m2",
    "u8",
    "i8",
    "i16",
    "u16",
    "u32",
    "u64",
)
_AXES = "ijklmn"
_NARROW = ("f16", "bf16", "f8e4m3", "f8e5m2", "u8", "i8", "i16", "u16")


@dataclass(slots=True)
class _Operator(Draft):
    """An operator as far as it is written.

    Attributes:
        indirect: the input of indices; empty where there is none.
    """

    indirect: str = ""

    @property
    def is_float(self) -> bool:
        return self.dtype[0] in "fb"


def operator_text(rng: Random) -> str:
    """An operator of one to four equations or families of them, as text that is mostly accepted."""
    w = _Operator(rng, rng.choice(_TYPES), rng.sample(["M", "N", "K"], rng.choice((1, 2, 2, 2, 3))))
    for k in range(rng.choice((1, 1, 2))):
        w.input(f"X{k}", _shape(w, 4))
    w.inputs_for_sizes()
    if w.maybe(0.2):
        w.indirect = "p"
        w.inputs.append(f"p: i32[{w.sizes[0]}] in 0..{w.sizes[-1]}{w.one_of('', '', ' distinct')}")
    stages = rng.choice((0, 0, 1, 1, 1, 2, 2, 3))
    for k in range(stages):
        shape = _shape(w, 3)
        w.lines.append(f"let t{k}: {w.type_of(shape)}")
        _family(w, f"t{k}", shape)
    shape = _shape(w, 6 if stages == 0 else 3)
    _family(w, "Y", shape)
    return _written(w, shape)


def _written(w: _Operator, shape: tuple[str, ...]) -> str:
    unused = [
        t
        for t in w.tensors
        if t[0] == "t"
        and not any(f"{t}[" in line for line in w.lines if not line.startswith((f"{t}[", "let")))
    ]
    outputs = [f"Y: {w.type_of(shape)}", *(f"{t}: {w.type_of(w.tensors[t])}" for t in unused)]
    lines = [line for line in w.lines if not any(line.startswith(f"let {t}:") for t in unused)]
    given = ", ".join(w.inputs)
    result = outputs[0] if len(outputs) == 1 else f"({', '.join(outputs)})"
    return f"op f({given}) -> {result} {{\n" + "".join(f"  {line}\n" for line in lines) + "}\n"


def _shape(w: _Operator, most: int) -> tuple[str, ...]:
    rank = min(most, w.rng.choice((0, 1, 1, 1, 2, 2, 2, 2, 3, 3, 4, 5, 6)))
    return tuple(
        w.rng.choice(w.sizes) if rank < 4 or w.maybe(0.5) else w.one_of("2", "3") for _ in range(rank)
    )


def _family(w: _Operator, name: str, shape: tuple[str, ...]) -> None:
    """The equations of one tensor."""
    w.over = dict(zip(_AXES, shape))
    kinds: list[Callable[[_Operator, str], None]] = [_plain, _plain, _summed, _summed]
    if shape:
        kinds += [_pieces, _recurrent, _recurrent, _scattered]
    w.rng.choice(kinds)(w, name)
    w.tensors[name] = shape
    w.over = {}


def _plain(w: _Operator, name: str) -> None:
    w.lines.append(f"{w.element(name)} = {_value(w, 3)}")


def _summed(w: _Operator, name: str) -> None:
    rest = f" {w.one_of('+', '-', '*')} {_leaf(w)}" if w.maybe(0.3) else ""
    w.lines.append(f"{w.element(name)} = {_reduction(w)}{rest}")


def _pieces(w: _Operator, name: str) -> None:
    at, size = w.rng.choice(list(w.over.items()))
    ranges = w.maybe(0.6)
    first, second = _cut(w, at, size) if ranges else _split(w, at)
    left = w.element(name)
    w.lines.append(f"{left} = {_value(w, 2)}  {first}")
    if w.maybe(0.5) and ranges:  # the second piece is made of what is before it
        before = [f"{at} - {w.rng.randrange(1, 3)}" if i == at else i for i in w.over]
        w.lines.append(f"{left} = {name}[{', '.join(before)} | {_constant(w)}] + {_value(w, 1)}  {second}")
    else:
        w.lines.append(f"{left} = {_value(w, 2)}  {second}")


def _cut(w: _Operator, at: str, size: str) -> tuple[str, str]:
    """Two ranges that meet; where they meet beyond the size, the second one ends before it
    begins.
    """
    other = w.rng.choice([*w.sizes, "1", "2", "5"])
    if w.maybe(0.3) and other != size:
        return f"for {at} in 0..min({size}, {other})", f"for {at} in {other}..{size}"
    cut = w.one_of(f"min(1, {size})", f"min(2, {size})", f"{size} // 2", f"max({size} - 1, 0)")
    return f"for {at} in 0..{cut}", f"for {at} in {cut}..{size}"


def _split(w: _Operator, at: str) -> tuple[str, str]:
    condition = w.one_of(f"{at} % 2 == 0", f"{at} < 2", f"{at} % 3 != 1")
    return f"where {condition}", f"where not ({condition})"


def _recurrent(w: _Operator, name: str) -> None:
    """Elements made of others before them in a random direction; sometimes of a sum of those."""
    axes = list(w.over)
    if len(axes) == 1 and w.maybe(0.2) and w.over[axes[0]] in w.sizes:
        i = axes[0]
        terms = (
            f"sum(r in 0..{i}: {name}[r] * {_read(w, w.one_of(*w.tensors))})"
            if w.is_float or w.dtype in ("i32", "i64")
            else "0"
        )
        w.lines.append(f"{w.element(name)} = {_leaf(w)} - {terms}")
        return
    lead, back = w.rng.choice(axes), w.one_of("-", "-", "-", "+")
    terms = []
    for _ in range(w.rng.choice((1, 1, 2, 3))):
        steps = {i: w.rng.choice((-1, 0, 0, 1)) for i in axes}
        steps[lead] = w.rng.choice((1, 1, 2)) * (-1 if back == "-" else 1)
        at = ", ".join(i if d == 0 else f"{i} {'+' if d > 0 else '-'} {abs(d)}" for i, d in steps.items())
        terms.append(f"{name}[{at} | {_constant(w)}]")
    join = w.one_of(" + ", " + ", " - ")
    body = join.join(terms) if w.maybe(0.8) or len(terms) == 1 else f"max({', '.join(terms[:2])})"
    w.lines.append(f"{w.element(name)} = {body} + {_value(w, 1)}")


def _scattered(w: _Operator, name: str) -> None:
    shape = tuple(w.over.values())
    w.lines.append(f"{w.element(name)} = {_value(w, 1)}")
    axes: dict[str, str] = dict(
        zip("uvw", (*shape[:2], *([w.rng.choice(w.sizes)] if len(shape) < 2 or w.maybe(0.2) else [])))
    )
    names = list(axes)
    targets = []
    for k in range(len(shape)):
        a, b = w.rng.choice(names), w.rng.choice(names)
        targets.append(
            w.one_of(
                names[min(k, len(names) - 1)],
                a,
                f"{a} + {w.rng.randrange(1, 3)}",
                f"({a} + {b}) // 2",
                f"{a} + {b}",
                f"{a} // 2",
                f"{a} % 2",
                f"2 * {a} + {b}",
            )
        )
        if w.indirect and axes[a] == w.sizes[0] and w.maybe(0.5):
            targets[-1] = f"p[{a}]"
    axes = {i: n for i, n in axes.items() if any(i in target for target in targets)}
    w.over = axes
    update = w.one_of("+=", "+=", "*=", "max=", "min=")
    ranges = ", ".join(f"{i} in 0..{n}" for i, n in axes.items())
    w.lines.append(
        f"{name}[{', '.join(targets)} | {w.one_of('drop', 'drop', 'clamp')}] {update} {_value(w, 1)}  for "
        f"{ranges}"
    )


def _value(w: _Operator, depth: int) -> str:
    """An expression of the operator's type."""
    if depth == 0 or w.maybe(0.25):
        return _leaf(w)
    match w.rng.randrange(8):
        case 0 | 1 | 2 | 3:
            return f"({_value(w, depth - 1)} {w.one_of('+', '+', '-', '*')} {_value(w, depth - 1)})"
        case 4:
            return f"(if {_condition(w)} then {_value(w, depth - 1)} else {_value(w, depth - 1)})"
        case 5:
            return f"{w.one_of('max', 'min')}({_value(w, depth - 1)}, {_value(w, depth - 1)})"
        case 6:
            return (
                f"{w.one_of('abs', 'abs', *(('exp', 'sqrt') if w.is_float else ()))}({_value(w, depth - 1)})"
            )
        case _:
            return _reduction(w) if depth > 1 else _leaf(w)


def _constant(w: _Operator) -> str:
    return w.one_of("0", "1", "2", *(("0.5",) if w.is_float else ()))


def _leaf(w: _Operator) -> str:
    kind = w.rng.random()
    if kind < 0.12:
        return _constant(w)
    if kind < 0.17 and w.over:
        return f"{w.dtype}({w.rng.choice(list(w.over))})"
    return _read(w, w.rng.choice(list(w.tensors)))


def _read(w: _Operator, name: str) -> str:
    shape = w.tensors[name]
    if not shape:
        return name
    found = [_index(w, size) for size in shape]
    guard = f" | {w.one_of('clamp', _constant(w), _constant(w))}" if any(loose for _, loose in found) else ""
    return f"{name}[{', '.join(text for text, _ in found)}{guard}]"


def _index(w: _Operator, size: str) -> tuple[str, bool]:
    """An index into a dimension, and whether it may be outside."""
    same = [i for i, over in w.over.items() if over == size]
    if not same:
        other = w.rng.choice(list(w.over)) if w.over and w.maybe(0.6) else "0"
        return other, True
    i = w.rng.choice(same)
    if w.indirect and size == w.sizes[-1] and w.maybe(0.3):
        first = [j for j, over in w.over.items() if over == w.sizes[0]]
        if first:
            return f"p[{w.rng.choice(first)}]", False
    j = w.rng.choice(list(w.over))
    return w.rng.choice(
        (
            (i, False),
            (i, False),
            (i, False),
            (i, False),
            (f"{i} + {w.rng.randrange(1, 3)}", True),
            (f"{i} - 1", True),
            (f"{size} - 1 - {i}", False),
            (f"{i} // 2", False),
            (f"2 * {i}", True),
            (f"{i} + {j}", True),
            (f"{i} - {j}", True),
            (f"{i} % 2", True),
            (f"2 * {i} + {j} - 1", True),
        )
    )


def _condition(w: _Operator) -> str:
    if not w.over or w.maybe(0.2):
        return f"{_leaf(w)} {w.one_of('<', '<=', '>', '!=')} {_leaf(w)}"
    i, j = w.rng.choice(list(w.over)), w.rng.choice(list(w.over))
    return w.one_of(
        f"{i} < 2",
        f"{i} % 2 == 0",
        f"{i} >= 1",
        f"{i} <= {j}",
        f"{i} != {j}",
        f"{i} + {j} < 4",
        f"{i} >= 1 and {j} < 3",
    )


def _maybe_empty(w: _Operator, i: str, size: str) -> list[str]:
    """Ranges that end before they begin at some sizes, in some iterations or for some data."""
    ranges = (
        [f"{i}..3", f"{i} + 1..{size}", f"0..{size} - {i}"]
        if i
        else [f"{w.rng.choice(w.sizes)}..{size}", f"2..{size}"]
    )
    data = [f"p[{i}]..3", f"2..p[{i}]"] if i and w.indirect and w.over[i] == w.sizes[0] else []
    return [w.rng.choice(ranges), *data[:1]]


def _reduction(w: _Operator) -> str:
    """`sum(r in 0..N where ...: body)`; its binders are in scope in the body alone."""
    outer, ranges, operation = dict(w.over), [], w.one_of("sum", "sum", "sum", "max", "min", "prod")
    for _ in range(w.rng.choice((1, 1, 1, 2))):
        w.binders += 1
        name, size = f"r{w.binders}", w.rng.choice(w.sizes)
        others = [i for i, n in outer.items() if n in w.sizes]
        i = w.rng.choice(others) if others else ""
        triangle = (f"0..{i} + 1", f"{i}..{outer[i]}") if i else ()
        maybe_empty = _maybe_empty(w, i, size) if operation in ("sum", "prod") else []
        extent = w.rng.choice((*(f"0..{size}",) * 4, "0..3", f"0..{size} + 1", *triangle, *maybe_empty))
        ranges.append(f"{name} in {extent}")
        w.over[name] = size if extent == f"0..{size}" else outer[i] if extent in triangle else ""
    r = list(w.over)[-1]
    condition = w.one_of(f"{r} != 1", f"{r} % 2 == 0", *(f"{r} <= {i}" for i in outer))
    where = f" where {condition}" if w.maybe(0.2) and operation == "sum" else ""
    body = _read(w, w.rng.choice(list(w.tensors)))
    if w.maybe(0.5):
        body = f"{body} {w.one_of('*', '*', '+', '-')} {_value(w, 1)}"
    w.over = outer
    text = f"{operation}({', '.join(ranges)}{where}: {body})"
    return f"{w.dtype}({text})" if w.dtype in _NARROW and operation in ("sum", "prod") else text
