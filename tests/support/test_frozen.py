"""Frozen classes: what they have of data classes, and that they stay frozen."""

from __future__ import annotations

import copy
import pickle
from dataclasses import FrozenInstanceError, dataclass, field, fields, replace
from typing import ClassVar

import pytest

from texpr.support.frozen_dataclass import node, record


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


@pytest.mark.parametrize("kind", (Pair, Derived))
def test_fields_by_place_and_name(kind: type[Pair]):
    made = kind("a")
    assert type(made) is kind
    assert (made.first, made.second, made.kind) == ("a", 2, "A")
    assert kind("a", second=3, kind="k").kind == "k"
    assert replace(made, second=5).second == 5
    assert [f.name for f in fields(made)] == ["kind", "first", "second"]


@pytest.mark.parametrize("made", (Pair("a"), Derived("a"), Point(1), Checked(1)))
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


@pytest.mark.parametrize("made", (Point(1, 2), Derived("a", 3)))
def test_copies(made):
    for other in (copy.copy(made), copy.deepcopy(made), pickle.loads(pickle.dumps(made))):
        assert type(other) is type(made)
        assert [getattr(other, f.name) for f in fields(made)] == [getattr(made, f.name) for f in fields(made)]


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
