"""Frozen classes: what they have of data classes, and that they stay frozen."""

from __future__ import annotations

import copy
import pickle
from dataclasses import FrozenInstanceError, dataclass, field, fields, replace
from typing import ClassVar

import pytest

from texpr.support import frozen_dataclass
from texpr.support.frozen_dataclass import frozen, frozen_by_identity, node, record


@node
class Base:
    kind: str = field(kw_only=True, default=None)  # type: ignore[assignment]


@node
class Pair(Base):
    implied: ClassVar = {"kind": "first.upper()"}
    first: str
    second: int = 2


@node
class Derived(Pair):
    """Nothing of its own."""


@node
class Checked:
    n: int

    def __post_init__(self) -> None:
        if self.n < 0:
            raise ValueError("negative")
        object.__setattr__(self, "n", self.n + 1)


@record
class Point:
    x: int
    y: int = 0


@frozen
class Settings:
    """One with all kinds of fields."""

    name: str
    parts: list[int] = field(default_factory=list)
    seen: int = field(default=3, init=False)
    note: str = field(default="", compare=False, repr=False)
    made: dict[str, int] = field(default_factory=dict, init=False)
    last: bool = field(default=False, kw_only=True)


@frozen_by_identity
class Single:
    value: int


@frozen
class Child(Point):
    z: int = 5

    def __repr__(self) -> str:
        return "own"


@frozen
class Loop:
    inside: list[object]


@pytest.mark.parametrize("kind", (Pair, Derived))
def test_fields_by_place_and_name(kind: type[Pair]):
    made = kind("a")
    assert type(made) is kind
    assert (made.first, made.second, made.kind) == ("a", 2, "A")
    assert kind("a", second=3, kind="k").kind == "k"
    assert replace(made, second=5).second == 5
    assert [f.name for f in fields(made)] == ["kind", "first", "second"]


@pytest.mark.parametrize("made", (Pair("a"), Derived("a"), Point(1), Checked(1), Settings("s"), Child(1)))
def test_nothing_can_be_changed_or_added(made):
    for each in fields(made):
        with pytest.raises(FrozenInstanceError):
            setattr(made, each.name, 1)
        with pytest.raises(FrozenInstanceError):
            delattr(made, each.name)
    with pytest.raises((AttributeError, TypeError)):
        made.other = 1


def test_equality():
    assert Point(1, 2) == Point(1, 2) != Point(1, 3)
    assert len({Point(1, 2), Point(1, 2)}) == 1
    assert Pair("a") != Pair("a")


def test_what_is_written_of_one():
    assert repr(Point(1)) == "Point(x=1, y=0)"


def test_post_init_runs_on_what_is_frozen():
    assert Checked(1).n == 2
    with pytest.raises(ValueError, match="negative"):
        Checked(-1)


def test_arguments_that_do_not_fit():
    with pytest.raises(TypeError, match=r"Pair.__init__\(\) missing 1 required positional argument: 'first'"):
        Pair()  # type: ignore[call-arg]
    with pytest.raises(TypeError, match="unexpected keyword argument 'z'"):
        Point(1, z=2)  # type: ignore[call-arg]


def test_fields_of_all_kinds():
    first, second = Settings("a"), Settings("a", note="other", last=False)
    assert (first.parts, first.seen, first.made, first.last) == ([], 3, {}, False)
    assert first.parts is not second.parts and first.made is not second.made
    assert first == second != Settings("a", [1]) and Settings("a", last=True) != first
    assert repr(second) == "Settings(name='a', parts=[], seen=3, made={}, last=False)"
    with pytest.raises(TypeError, match="unhashable type: 'list'"):
        hash(first)
    assert [f.name for f in fields(first)] == ["name", "parts", "seen", "note", "made", "last"]
    assert replace(first, name="b") == Settings("b") and Settings.__match_args__ == ("name", "parts", "note")


def test_what_stands_for_itself():
    assert (
        Single(1) != Single(1) and len({Single(1), Single(1)}) == 2 and repr(Single(1)) == "Single(value=1)"
    )


def test_a_class_keeps_its_own_methods_and_its_bases_fields():
    assert repr(Child(1)) == "own" and Child(1, 2, 3) == Child(1, 2, 3) != Child(1, 2)
    assert Point(1) != Child(1) and Child(1) != Point(1) and hash(Child(1)) == hash(Child(1))


def test_what_holds_itself_is_written():
    made = Loop([])
    made.inside.append(made)
    assert repr(made) == "Loop(inside=[...])"


@pytest.mark.parametrize("made", (Point(1, 2), Derived("a", 3), Settings("s", [1]), Child(1), Single(2)))
def test_copies(made):
    for other in (copy.copy(made), copy.deepcopy(made), pickle.loads(pickle.dumps(made))):
        assert type(other) is type(made)
        assert [getattr(other, f.name) for f in fields(made)] == [getattr(made, f.name) for f in fields(made)]


@record
class Ordered:
    low: int
    high: int

    def __init__(self, *, low: int, high: int) -> None:
        object.__setattr__(self, "low", min(low, high))
        object.__setattr__(self, "high", max(low, high))


CHANGES = (
    (Pair("a"), {"first": "b"}),
    (Pair("a"), {"first": "b", "kind": None}),
    (Derived("a", 3), {"second": 4, "kind": "k"}),
    (Point(1, 2), {}),
    (Point(1, 2), {"y": 5}),
    (Child(1, 2), {"z": 7}),
    (Checked(1), {"n": 5}),
    (Settings("s", [1]), {"note": "n"}),
    (Single(2), {"value": 3}),
    (Ordered(low=1, high=2), {"high": 0}),
)


@pytest.mark.parametrize(("made", "changes"), CHANGES)
def test_replace_is_that_of_data_classes(made, changes):
    other, expected = frozen_dataclass.replace(made, **changes), replace(made, **changes)
    assert type(other) is type(made)
    assert [getattr(other, f.name) for f in fields(made)] == [getattr(expected, f.name) for f in fields(made)]


@pytest.mark.parametrize("made", (Pair("a"), Point(1), Checked(1), Settings("s")))
def test_replace_knows_its_fields(made):
    with pytest.raises(TypeError, match="other"):
        frozen_dataclass.replace(made, other=1)


def test_a_default_is_one_object():
    with pytest.raises(AssertionError, match="ns: fields are given, or have one default"):

        @node
        class Listed:
            ns: list[int] = field(default_factory=list)


def test_a_data_class_may_be_derived():
    @dataclass(frozen=True, slots=True, eq=False)
    class Other(Pair):
        third: int = 3

    made = Other("a")
    assert (made.first, made.third, type(made)) == ("a", 3, Other)
