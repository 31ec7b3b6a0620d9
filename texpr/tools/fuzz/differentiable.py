"""Random operators to differentiate: conditions, ranges and indices of data, at shifted, scaled
and reversed indices.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from random import Random

from texpr.support.frozen_dataclass import frozen
from texpr.tools.fuzz.draft import Draft

_AXES = "ijk"


@dataclass(slots=True)
class _Operator(Draft):
    """An operator as far as it is written.

    Attributes:
        places: data that are indices: name -> its dimensions, and the size that it indexes.
        masks: data that are conditions.
    """

    places: dict[str, tuple[tuple[str, ...], str]] = field(default_factory=dict)
    masks: dict[str, tuple[str, ...]] = field(default_factory=dict)


@frozen
class _Index:
    """An index and what must hold for it to be inside, in the order in which each condition
    protects the next.

    Attributes:
        known: what must hold for it to be read at all.
    """

    text: str
    inside: tuple[str, ...] = ()
    known: tuple[str, ...] = ()

    @property
    def needs(self) -> tuple[str, ...]:
        return self.known + self.inside


def differentiable_text(rng: Random) -> str:
    """An operator of one to three tensors and the data that choose, as text that is mostly
    accepted.
    """
    w = _Operator(
        rng, rng.choice(("f64", "f64", "f64", "f32")), rng.sample(["N", "M", "K"], rng.choice((1, 2, 2, 3)))
    )
    for k in range(rng.choice((1, 1, 2))):
        w.input(f"X{k}", tuple(rng.choice(w.sizes) for _ in range(rng.choice((1, 1, 2, 2, 3)))))
    w.inputs_for_sizes()
    _data(w)
    names = [f"t{k}" for k in range(rng.choice((0, 0, 0, 1, 1, 2)))]
    for name in names:
        shape = _shape(w)
        w.lines.append(f"let {name}: {w.type_of(shape)}")
        _tensor(w, name, shape)
    shape = _shape(w)
    _tensor(w, "Y", shape)
    return _written(w, shape)


def _written(w: _Operator, shape: tuple[str, ...]) -> str:
    body = "".join(f"  {line}\n" for line in w.lines)
    return f"op f({', '.join(w.inputs)}) -> Y: {w.type_of(shape)} {{\n{body}}}\n"


def _shape(w: _Operator) -> tuple[str, ...]:
    rank = w.rng.choice((0, 1, 1, 1, 2, 2))
    return tuple(
        w.rng.choice(w.sizes) if w.maybe(0.9) else w.one_of(f"2*{w.rng.choice(w.sizes)}", "2", "3")
        for _ in range(rank)
    )


def _data(w: _Operator) -> None:
    """Indices, row pointers and masks."""
    for name in ("p", "q")[: w.rng.choice((0, 1, 1, 1, 2))]:
        shape = tuple(w.rng.choice(w.sizes) for _ in range(w.rng.choice((1, 1, 1, 2))))
        size = w.rng.choice(w.sizes)
        w.places[name] = shape, size
        w.inputs.append(f"{name}: {w.one_of('i64', 'i32')}[{', '.join(shape)}] in 0..{size}")
    if w.maybe(0.2):
        shape, size = (w.one_of(w.sizes[0], f"{w.sizes[0]} + 1"),), w.rng.choice(w.sizes)
        w.places["first"] = shape, f"{size} + 1"
        w.inputs.append(f"first: i64[{shape[0]}] in 0..{size} + 1")
    if w.maybe(0.25):
        w.masks["keep"] = (w.rng.choice(w.sizes),)
        w.inputs.append(f"keep: bool[{w.masks['keep'][0]}]")


def _tensor(w: _Operator, name: str, shape: tuple[str, ...]) -> None:
    """The equations of one tensor."""
    w.over = dict(zip(_AXES, shape))
    kinds = [_plain] * 5 + (
        [_pieces, _pieces, _recurrent, _recurrent, _scattered, _scattered] if shape else []
    )
    w.rng.choice(kinds)(w, name)
    w.tensors[name] = shape
    w.over = {}


def _plain(w: _Operator, name: str) -> None:
    w.lines.append(f"{w.element(name)} = {_value(w, w.rng.choice((1, 2, 2, 3)))}")


def _pieces(w: _Operator, name: str) -> None:
    at, size = w.rng.choice(list(w.over.items()))
    left = w.element(name)
    if w.maybe(0.5):
        cut = w.one_of(f"min(1, {size})", f"{size} // 2", f"max({size} - 1, 0)")
        w.lines.append(f"{left} = {_value(w, 2)}  for {at} in 0..{cut}")
        w.lines.append(f"{left} = {_value(w, 2)}  for {at} in {cut}..{size}")
        return
    condition = w.one_of(f"{at} % 2 == 0", f"{at} < 2", f"{at} % 3 != 1")
    w.lines.append(f"{left} = {_value(w, 2)}  where {condition}")
    w.lines.append(f"{left} = {_value(w, 2)}  where not ({condition})")


def _recurrent(w: _Operator, name: str) -> None:
    """Elements made of others before or after them, sometimes of those that data or sums choose."""
    axes = list(w.over)
    lead = w.rng.choice(axes)
    back = w.maybe(0.8)
    steps = {i: w.rng.choice((-1, 0, 0, 1)) for i in axes}
    steps[lead] = w.rng.choice((1, 1, 2)) * (-1 if back else 1)
    at = ", ".join(i if d == 0 else f"{i} {'+' if d > 0 else '-'} {abs(d)}" for i, d in steps.items())
    outside = " or ".join(
        f"{i} < {-d}" if d < 0 else f"{i} >= {w.over[i]} - {d}" for i, d in steps.items() if d
    )
    again = f"{name}[{at}]"
    kind = w.rng.randrange(4)
    if kind == 0 and len(axes) == 1:
        again = f"sum(r in 0..{lead}{_where(w, 'r')}: {name}[r] * 0.25)"
        w.lines.append(f"{w.element(name)} = {again} + {_value(w, 1)}")
    elif kind == 1:
        w.lines.append(
            f"{w.element(name)} = if {outside} then {_value(w, 1)} else {_factor(w)} * {again} + "
            f"{_value(w, 1)}"
        )
    elif kind == 2:
        choose = f"if {_condition(w, 1)} then {again} else {_value(w, 1)}"
        w.lines.append(f"{w.element(name)} = if {outside} then {_value(w, 1)} else ({choose})")
    else:
        w.lines.append(
            f"{w.element(name)} = {_factor(w)} * {again[:-1]} | {w.one_of('0', '0.5', _value(w, 0))}] + "
            f"{_value(w, 1)}"
        )


def _where(w: _Operator, r: str) -> str:
    return f" where {r} % 2 == 0" if w.maybe(0.3) else ""


def _factor(w: _Operator) -> str:
    return w.one_of("0.5", "0.25", f"sin({_leaf(w)})")


def _scattered(w: _Operator, name: str) -> None:
    shape = tuple(w.over.values())
    w.lines.append(f"{w.element(name)} = {_value(w, 1)}")
    w.over = {i: w.rng.choice(w.sizes) for i in "uv"[: w.rng.choice((1, 2))]}
    targets = [_index(w, size) for size in shape]
    used = {i: n for i, n in w.over.items() if any(i in t.text for t in targets)}
    if not used:
        return
    outer, w.over = w.over, used
    if any(i in t.text or any(i in c for c in t.inside) for i in outer.keys() - used.keys() for t in targets):
        return
    needs = [c for t in targets for c in t.known]
    if any("[" in c for c in needs):  # data cannot be a filter of an equation
        return
    affine = not any("[" in c for t in targets for c in t.inside)
    inside = [c for t in targets for c in t.inside] if affine and w.maybe(0.3) else []
    guard = "" if inside or not any(t.inside for t in targets) else f" | {w.one_of('drop', 'drop', 'clamp')}"
    where = " and ".join((*needs, *inside))
    ranges = ", ".join(f"{i} in 0..{n}" for i, n in used.items())
    update = w.one_of("+=", "+=", "+=", "*=", "max=", "min=")
    w.lines.append(
        f"{name}[{', '.join(t.text for t in targets)}{guard}] {update} {_value(w, 1)}  for {ranges}"
        f"{f' where {where}' if where else ''}"
    )


def _value(w: _Operator, depth: int) -> str:
    """A smooth value, or one whose kinks random data do not hit."""
    if depth == 0 or w.maybe(0.2):
        return _leaf(w)
    match w.rng.randrange(10):
        case 0 | 1:
            return f"({_value(w, depth - 1)} {w.one_of('+', '-', '*', '*')} {_value(w, depth - 1)})"
        case 2 | 3:
            return f"(if {_condition(w, depth)} then {_value(w, depth - 1)} else {_value(w, depth - 1)})"
        case 4:
            return f"{w.one_of('max', 'min')}({_value(w, depth - 1)}, {_value(w, depth - 1)})"
        case 5:
            return f"{w.one_of('sin', 'tanh', 'sigmoid', 'abs')}({_value(w, depth - 1)})"
        case _:
            return _reduction(w, depth - 1)


def _leaf(w: _Operator) -> str:
    kind = w.rng.random()
    if kind < 0.08:
        return w.one_of("0", "1", "0.5")
    if kind < 0.12 and w.over:
        return f"{w.dtype}({w.rng.choice(list(w.over))})"
    return _read(w, w.rng.choice(list(w.tensors)))


def _read(w: _Operator, name: str) -> str:
    shape = w.tensors[name]
    if not shape:
        return name
    found = [_index(w, size) for size in shape]
    at = ", ".join(i.text for i in found)
    known, needs = [c for i in found for c in i.known], [c for i in found for c in i.needs]
    if not needs:
        return f"{name}[{at}]"
    if w.maybe(0.5):
        return f"(if {' and '.join(needs)} then {name}[{at}] else {w.one_of('0', '1', '0.5')})"
    read = f"{name}[{at} | {w.one_of('clamp', '0', '0.5')}]"
    return f"(if {' and '.join(known)} then {read} else {w.one_of('0', '1', '0.5')})" if known else read


def _index(w: _Operator, size: str) -> _Index:
    """An index into a dimension."""
    if w.places and w.maybe(0.35):
        name = w.rng.choice(list(w.places))
        shape, into = w.places[name]
        at = [_affine(w, n) for n in shape]
        text = ", ".join(i.text for i in at)
        known = tuple(c for i in at for c in i.inside)
        text, known = (
            (f"{name}[{text} | {w.one_of('0', 'clamp')}]", ())
            if known and w.maybe(0.4)
            else (f"{name}[{text}]", known)
        )
        if into == size:
            return _Index(text, (), known)
        shift = w.one_of("", "", " + 1", " - 1")
        return _Index(f"{text}{shift}", (f"0 <= {text}{shift}", f"{text}{shift} < {size}"), known)
    return _affine(w, size)


def _affine(w: _Operator, size: str) -> _Index:
    same = [i for i, over in w.over.items() if over == size]
    if same and w.maybe(0.5):
        i = w.rng.choice(same)
        return _Index(w.one_of(i, i, f"{size} - 1 - {i}"))
    if not w.over:
        return _Index("0")
    i = w.rng.choice(list(w.over))
    j = w.rng.choice([j for j in w.over if j != i] or ["1"])
    text = w.one_of(
        i,
        f"{i} + 1",
        f"{i} + 2",
        f"{i} - 1",
        f"2*{i}",
        f"2*{i} - 1",
        f"{i} + {j}",
        f"{i} - {j}",
        f"{i} // 2",
        f"{size} - {i}",
        f"2*{i} + {j}",
        f"{i} + {j} - 1",
        f"3 - {i}",
        "0",
        f"{i} % 2",
    )
    return _Index(text, (f"0 <= {text}", f"{text} < {size}"))


def _condition(w: _Operator, depth: int) -> str:
    kind = w.rng.random()
    if kind < 0.2 and w.masks and w.over:
        name = w.rng.choice(list(w.masks))
        at = _affine(w, w.masks[name][0])
        if w.maybe(0.5) and at.inside:
            return f"{' and '.join(at.inside)} and {name}[{at.text}]"
        return f"{name}[{at.text}{' | false' if at.inside else ''}]"
    if kind < 0.4 and w.places and w.over:
        name = w.rng.choice(list(w.places))
        shape, into = w.places[name]
        at = [_affine(w, n) for n in shape]
        inside = [c for i in at for c in i.inside]
        read = f"{name}[{', '.join(i.text for i in at)}]"
        test = f"{read} {w.one_of('<', '==', '!=', '>=')} {w.one_of('1', '2', *w.over)}"
        return " and ".join((*inside, test))
    if kind < 0.7 or not w.over:
        return f"{_value(w, min(depth - 1, 1))} {w.one_of('<', '>')} {w.one_of('0', '0.3', _leaf(w))}"
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


def _reduction(w: _Operator, depth: int) -> str:
    """`sum(r in 0..N where ...: body)`; its binders are in scope in the body alone."""
    outer, ranges, before = dict(w.over), [], []
    operation = w.one_of("sum", "sum", "sum", "sum", "sum", "max", "min", "prod")
    for _ in range(w.rng.choice((1, 1, 1, 2))):
        w.binders += 1
        name = f"r{w.binders}"
        extent, size, inside = _extent(w, outer, operation in ("max", "min"))
        before += inside
        ranges.append(f"{name} in {extent}")
        w.over[name] = size
    r = list(w.over)[-1]
    filters = f"{r} != 1", f"{r} % 2 == 0", *(f"{r} <= {i}" for i in outer)
    where = f" where {w.one_of(*filters)}" if w.maybe(0.2) and operation == "sum" else ""
    body = _read(w, w.rng.choice(list(w.tensors)))
    if w.maybe(0.5):
        body = f"{body} {w.one_of('*', '*', '+', '-')} {_value(w, min(depth, 1))}"
    w.over = outer
    text = f"{operation}({', '.join(ranges)}{where}: {body})"
    return f"(if {' and '.join(before)} then {text} else {w.one_of('0', '0.5')})" if before else text


def _extent(w: _Operator, outer: dict[str, str], some: bool) -> tuple[str, str, list[str]]:
    """A range, the size that it is all of, and under which conditions it is known.

    Args:
        some: it may not be empty.
    """
    size = w.rng.choice(w.sizes)
    kind = w.rng.random()
    if kind < 0.45 or not outer:
        return (f"0..{size}", size, []) if kind < 0.4 else ("0..3", "", [])
    if kind < 0.7:
        i = w.rng.choice(list(outer))
        own = outer[i] or "3"
        return w.one_of(f"0..{i} + 1", f"{i}..{i} + 2", *(() if some else (f"{i}..{own}", f"0..{i}"))), "", []
    if not w.places:
        return f"0..{size}", size, []
    name = w.rng.choice(list(w.places))
    shape, into = w.places[name]
    before = dict(w.over)
    w.over = dict(outer)
    at = [_affine(w, n) for n in shape]
    w.over = before
    text, inside = f"{name}[{', '.join(i.text for i in at)}]", [c for i in at for c in i.inside]
    if some:
        return f"0..{text} + 1", "", inside
    if len(at) == 1 and w.maybe(0.5):
        after = f"{at[0].text} + 1"
        return f"{text}..{name}[{after}]", "", [*inside, f"0 <= {after}", f"{after} < {shape[0]}"]
    return w.one_of(f"0..{text}", f"{text}..{into}", f"0..{text} + 1"), "", inside
