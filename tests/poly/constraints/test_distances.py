"""Distances, and the orders they say are kept, against all pairs of instances of small nests."""

from __future__ import annotations

from itertools import product

from hypothesis import given
from hypothesis import strategies as st

from tests.profiles import examples
from texpr.ir.expr import Var, index
from texpr.ir.loop import For
from texpr.poly.constraints.distances import distances, in_new_loops, order, stays_first
from texpr.poly.constraints.linear_forms import Form, variable

SIZE = Var("N")


def loops_of(extents: list[int]) -> list[For]:
    return [For(Var("xyz"[k]), index(n), ()) for k, n in enumerate(extents)]


def is_shared(key) -> bool:
    return key is SIZE


def value(form: Form, at: dict) -> int:
    return sum(c * at[k] for k, c in form.terms) + form.constant


@st.composite
def nests(draw):
    """Loops, the indices of two accesses, by the same terms where they are to tell something,
    and a value of a size.
    """
    loops = loops_of(draw(st.lists(st.integers(1, 5), min_size=1, max_size=3)))
    keys = [*(n.var for n in loops), SIZE]

    def form() -> tuple:
        if draw(st.booleans()):  # most indices are a loop and a number
            return ((draw(st.sampled_from(keys)), 1),)
        return tuple(
            (k, c)
            for k, c in zip(keys, draw(st.lists(st.integers(-2, 4), min_size=len(keys), max_size=len(keys))))
            if c
        )

    at = [Form(form(), draw(st.integers(-1, 1))) for _ in range(draw(st.integers(1, 3)))]
    to = [Form(f.terms if draw(st.integers(0, 3)) else form(), draw(st.integers(-1, 1))) for f in at]
    return loops, at, to, draw(st.integers(0, 2))


def pairs(loops: list[For], at: list[Form], to: list[Form], size: int):
    """All pairs of instances that access one element."""
    points = [
        dict(zip((n.var for n in loops), p)) | {SIZE: size}
        for p in product(*(range(int(n.extent.value)) for n in loops))
    ]  # type: ignore[attr-defined]
    there: dict[tuple, list[dict]] = {}
    for point in points:
        there.setdefault(tuple(value(f, point) for f in to), []).append(point)
    return [(one, two) for one in points for two in there.get(tuple(value(f, one) for f in at), ())]


@given(nests())
def test_instances_that_meet_are_as_far_apart_as_is_said(nest) -> None:
    loops, at, to, size = nest
    known = distances(at, to, loops, is_shared)
    for one, two in pairs(loops, at, to, size):
        assert known is not None
        assert all(two[v] - one[v] == d for v, d in known.items())


def test_distances_are_seen() -> None:
    x, y = loops = loops_of([4, 8])
    i, j = variable(x.var), variable(y.var)
    assert distances([i.shifted(1), j], [i, j.shifted(2)], loops, is_shared) == {x.var: 1, y.var: -2}
    assert distances([i.plus(j), i], [i.plus(j), i.shifted(1)], loops, is_shared) == {x.var: -1, y.var: 1}
    assert distances([i.times(8).plus(j)], [i.times(8).plus(j)], loops, is_shared) == {x.var: 0, y.var: 0}
    assert distances([i.times(8).plus(j).shifted(1)], [i.times(8).plus(j)], loops, is_shared) == {}
    assert distances([i.times(7).plus(j)], [i.times(7).plus(j)], loops, is_shared) == {}
    assert distances([i.times(2)], [i.times(2).shifted(1)], loops, is_shared) is None
    assert distances([i.plus(variable(SIZE))], [i], loops, is_shared) == {}


@st.composite
def rearranged(draw):
    """A nest and its loops in another order, some of them in tiles, some counted from the other
    end or shifted by what others count.
    """
    loops, at, to, size = draw(nests())
    new: list[For] = []
    forms: dict[Var, Form] = {}
    for k, n in enumerate(loops):
        extent, name = int(n.extent.value), n.var.name  # type: ignore[attr-defined]
        match draw(st.sampled_from(["stays", "tiles", "reversed", "skewed"])):
            case "tiles":
                factor = draw(st.integers(1, 4))
                outer, inner = (
                    For(Var(name + "o"), index(-(-extent // factor)), ()),
                    For(Var(name + "i"), index(factor), ()),
                )
                new += [outer, inner]
                forms[n.var] = variable(outer.var).times(factor).plus(variable(inner.var))
            case "reversed":
                back = (
                    n if draw(st.booleans()) else For(Var(name + "r"), n.extent, ())
                )  # the step does the former
                new.append(back)
                forms[n.var] = Form(((back.var, -1),), extent - 1)
            case "skewed" if k and loops[0].var in forms and len(forms[loops[0].var].terms) == 1:
                skew = For(Var(name + "s"), index(extent + 5), ())
                new.append(skew)
                forms[n.var] = variable(skew.var).plus(forms[loops[0].var], -1)
            case _:
                new.append(n)
                forms[n.var] = variable(n.var)
    return loops, at, to, size, draw(st.permutations(new)), forms, draw(st.booleans()), draw(st.booleans())


@examples(600)
@given(rearranged())
def test_an_order_that_is_said_to_be_kept_is(case) -> None:
    loops, at, to, size, new, forms, in_text, in_new_text = case
    known = distances(at, to, loops, is_shared)
    if known is None:
        return
    kept = stays_first(
        order((n.var for n in loops), known),
        in_text,
        order((n.var for n in new), in_new_loops(known, forms, new, is_shared)),
        in_new_text,
    )
    if not kept:
        return
    where = {}
    for point in product(*(range(int(n.extent.value)) for n in new)):
        there = dict(zip((n.var for n in new), point))
        where.setdefault(tuple(value(forms[n.var], there) for n in loops), point)
    for one, two in pairs(loops, at, to, size):
        first, second = (tuple(p[n.var] for n in loops) for p in (one, two))
        if first < second or first == second and in_text:
            a, b = where[first], where[second]
            assert a < b or a == b and in_new_text


def test_a_tile_that_is_longer_than_what_counts_tiles_fixes_nothing() -> None:
    (x,), outer, inner = loops_of([8]), For(Var("o"), index(4), ()), For(Var("i"), index(3), ())
    forms = {x.var: variable(outer.var).times(2).plus(variable(inner.var))}
    assert not told(in_new_loops({x.var: 0}, forms, [outer, inner], is_shared))
    forms = {x.var: variable(outer.var).times(3).plus(variable(inner.var))}
    assert in_new_loops({x.var: 0}, forms, [outer, inner], is_shared) == {outer.var: 0, inner.var: 0}
    assert not told(in_new_loops({x.var: 1}, forms, [outer, inner], is_shared))


def told(found: dict[Var, int | Var]) -> dict[Var, int]:
    return {v: d for v, d in found.items() if isinstance(d, int)}
