"""Writers found by solving for them: what they feed is fed, and the common cases are found."""

from __future__ import annotations

import pytest
from hypothesis import given, settings

from tests.poly.nests import at, events, kernel, less, loop, plus, put, tensor
from tests.properties.poly.test_verdicts import kernels
from texpr.ir.dtypes import I32, I64
from texpr.ir.expr import Cast, Var
from texpr.ir.expr import index as index_of
from texpr.ir.loop import If, Kernel
from texpr.ir.printing.loop import show_kernel
from texpr.lang import parse_kernel
from texpr.poly.dependence.kernel_model import Access, Statement, model
from texpr.poly.dependence.last_writer import is_written_before
from texpr.poly.dependence.value_flow import flow_stays_within, is_covered
from texpr.schedule.structure.loops import find_loops


def found(k: Kernel) -> list[tuple[Statement, Access, Statement, Access]]:
    """Reads with the writes that are seen to feed them."""
    uses = [(s, a) for s in model(k).statements for a in s.accesses]
    return [
        (s, read, t, write)
        for s, read in uses
        for t, write in uses
        if read.kind != "write" != "read" != write.kind
        and read.tensor is write.tensor
        and is_written_before(model(k), s, read, t, write)
    ]


@settings(max_examples=75, deadline=None, derandomize=True)
@given(kernels())
def test_what_is_fed_was_written_before(k: Kernel):
    ran = events(k, {})
    for reader, read, writer, _ in found(k):
        depth = reader.common(writer)
        for n, event in enumerate(ran):
            if event.store is reader.store:
                before = [
                    x
                    for x in ran[:n]
                    if x.store is writer.store and x.iteration[:depth] == event.iteration[:depth]
                ]
                assert all(
                    element in {w for x in before for w in x.writes}
                    for element in event.reads
                    if element[0] is read.tensor
                    and len([a for a in reader.accesses if a.tensor is read.tensor]) == 1
                ), show_kernel(k)


@settings(max_examples=75, deadline=None, derandomize=True)
@given(kernels())
def test_isl_agrees(k: Kernel):
    for reader, read, writer, write in found(k):
        assert is_covered(model(k), reader, read, [(writer, write)], reader.common(writer)), show_kernel(k)


KERNEL = """kernel k(X: f32[N], a: i64) -> (Y: f32[N])
  let T: f32[N + 1]
  for i in 0..N
    {0}
"""
TILED = (
    "for jo in 0..4\n      for ji in 0..8\n        if 8*jo + ji < N\n          T[8*jo + ji] = X[8*jo + ji]\n "
    "   "
)
FED = {
    "the element before": "T[i] = X[i]\n    Y[i] = T[i]",
    "a row": "for j in 0..i + 1\n      T[j] = X[j]\n    Y[i] = T[i]",
    "further on": "for j in 0..N\n      T[j + 1] = X[j]\n    for r in 0..i\n      Y[r] = T[r + 1]",
    "where a number says so": "if 0 < a\n      T[i] = X[i]\n    if 0 < a\n      Y[i] = T[i]",
    "backwards": "for j in 0..N\n      T[N - j] = X[j]\n    for r in 0..i\n      Y[r] = T[r + 1]",
    "tiles": TILED
    + "for ro in 0..4\n      for ri in 0..8\n        if 8*ro + ri < N\n          Y[8*ro + ri] = T[8*ro + ri]",
}
NOT_FED = {
    "the element after": "Y[i] = T[i]\n    T[i] = X[i]",
    "another element": "T[i + 1] = X[i]\n    Y[i] = T[i]",
    "too short a row": "for j in 0..i\n      T[j] = X[j]\n    Y[i] = T[i]",
    "where it may not run": "if i < 7\n      T[i] = X[i]\n    Y[i] = T[i]",
    "the first alone": "if i == 0\n      T[i] = X[i]\n    Y[i] = T[i]",
    "where data say so": "if X[i] < 1.0\n      T[i] = X[i]\n    Y[i] = T[i]",
    "one of two that data choose": "T[if X[i] < 1.0 then 0 else 1] = X[i]\n    Y[i] = T[0]",
    "where data say so, but for one": "if X[i] < 1.0\n      if i != 3\n        T[i] = X[i]\n    if i != 3\n  "
    "    Y[i] = T[i]",
    "every second element": "for j in 0..N\n      if 2*j < N\n        T[2*j] = X[j]\n    Y[i] = T[i]",
    "fewer tiles": TILED.replace("0..4", "0..3")
    + "for ro in 0..4\n      for ri in 0..8\n        if 8*ro + ri < N\n"
    "          Y[8*ro + ri] = T[8*ro + ri]",
    "smaller tiles": TILED.replace("0..8", "0..7")
    + "for ro in 0..4\n      for ri in 0..8\n        if 8*ro + ri < N\n"
    "          Y[8*ro + ri] = T[8*ro + ri]",
}


def fed(body: str) -> bool:
    return any(read.tensor.name == "T" for _, read, _, _ in found(parse_kernel(KERNEL.format(body))))


@pytest.mark.parametrize("name", FED)
def test_seen(name: str):
    assert fed(FED[name])


@pytest.mark.parametrize("name", NOT_FED)
def test_not_seen(name: str):
    assert not fed(NOT_FED[name])


def test_data_of_another_iteration():
    """Two loops may count by one variable, and what is read in one is not what is read in the
    other.
    """
    i, j, w, X, Y, T = (
        Var("i"),
        Var("j"),
        tensor("w", 9, dtype=I32),
        tensor("X", 9),
        tensor("Y", 9, 9),
        tensor("T", 9, 9),
    )
    data = Cast(at(w, j), dtype=I64)
    for by, seen in ((0, True), (1, False)):
        for index, condition in ((data, less(0, 1)), (index_of(0), less(data, 3))):
            write, read = put(T, (index, plus(j, by)), at(X, j)), put(Y, (i, j), at(T, index, j))
            k = kernel(
                loop(i, 4, loop(j, 4, If(condition, (write,))), loop(j, 4, If(condition, (read,)))),
                inputs=(w, X),
            )
            assert not found(k) or seen


CHOSEN = """kernel f(X: f32[N], k: i64[N] in 0..2, m: i64[N] in 0..9) -> (Y: f32[N])
  let T: f32[2]
  for i in 0..N
    T[0] = X[i]
    if m[i] > 2
      Y[i] = T[{0}]
"""


@pytest.mark.parametrize("element, stays", [("k[i]", False), ("0", True)])
def test_an_element_that_data_says_may_be_one_that_is_not_written(element: str, stays: bool):
    k = parse_kernel(CHOSEN.format(element))
    assert flow_stays_within(k, k.temporaries[0], find_loops(k, "i")) is stays


@pytest.mark.parametrize(
    "conditions, stays",
    [(("i >= 0", "i < N"), True), (("X[i] > 0.0", "i < N"), False), (("i < N", "X[i] > 0.0"), False)],
)
def test_what_may_not_be_written_feeds_nothing(conditions: tuple[str, str], stays: bool):
    k = parse_kernel(
        """kernel f(X: f32[N]) -> (Y: f32[N])
  let T: f32[1]
  for i in 0..N
    if {}
      if {}
        T[0] = X[i]
    Y[i] = T[0]
""".format(*conditions)
    )
    assert flow_stays_within(k, k.temporaries[0], find_loops(k, "i")) is stays
