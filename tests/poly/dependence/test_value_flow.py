"""Writers found by solving for them: what they feed is fed, and the common cases are found."""

from __future__ import annotations

import pytest
from hypothesis import given

import texpr as tx
from tests.poly.nests import at, events, kernel, less, loop, plus, put, tensor
from tests.profiles import examples
from tests.properties.poly.test_verdicts import kernels
from texpr.ir.dtypes import I32, I64
from texpr.ir.expr import Cast, Tensor, Var
from texpr.ir.expr import index as index_of
from texpr.ir.loop import If, Kernel
from texpr.ir.printing.loop import show_kernel
from texpr.lang import parse_kernel
from texpr.passes.loop.place_buffers import place
from texpr.poly.dependence import value_flow
from texpr.poly.dependence.kernel_model import Access, Statement, model
from texpr.poly.dependence.last_writer import is_written_before
from texpr.poly.dependence.value_flow import WrittenElements, flow_stays_within, is_covered
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


@examples(75)
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


@examples(75)
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


IN_PARTS = """kernel k(X: f32[6, 9]) -> (Y: f32[6, 9])
  let T: f32[6, 9]
  for i in 0..6
    for j in 0..8
      T[i, j] = X[i, j]
    {0}
    for j in 0..9
      Y[i, j] = T[i, j]
    {1}
"""
LAST = "for k in 0..1\n      T[i, 8 + k] = X[i, 8 + k]"


def precede(first: str, then: str) -> bool:
    k = parse_kernel(IN_PARTS.format(first, then))
    tensor, nest = k.temporaries[0], model(k)
    uses = [(s, a) for s in nest.statements for a in s.accesses if a.tensor is tensor]
    written = WrittenElements(nest, tensor, [(s, a) for s, a in uses if a.kind == "write"], 1)
    (read,) = [(s, a) for s, a in uses if a.kind == "read"]
    assert flow_stays_within(k, tensor, find_loops(k, "i")) == written.precede(*read)
    return written.precede(*read)


def test_parts_that_are_written_before_feed_together():
    assert precede(LAST, "")


@pytest.mark.parametrize(
    "parts", [("", ""), ("", LAST), (LAST.replace("[i, 8 + k] = X", "[5 - i, 8 + k] = X"), "")]
)
def test_parts_that_are_left_out_or_late_do_not_feed(parts: tuple[str, str]):
    assert not precede(*parts)


@examples(75)
@given(kernels())
def test_written_elements_are_covered(k: Kernel):
    nest = model(k)
    for reader in nest.statements:
        for read in (a for a in reader.accesses if a.kind != "write"):
            writes = [(s, a) for s in nest.statements for a in s.accesses if a.tensor is read.tensor]
            writes = [(s, a) for s, a in writes if a.kind != "read"]
            for depth in range(len(reader.loops) + 1):
                same = [
                    (s, a) for s, a in writes if [n.var for n in s.loops[:depth]] == outermost(reader, depth)
                ]
                if WrittenElements(nest, read.tensor, same, depth).precede(reader, read):
                    assert is_covered(nest, reader, read, same, depth), show_kernel(k)


def outermost(s: Statement, depth: int) -> list[Var]:
    return [n.var for n in s.loops[:depth]]


def test_buffers_are_placed_by_what_steps_asked(monkeypatch: pytest.MonkeyPatch):
    op = tx.op(
        """op f(X: f32[64, 64]) -> Y: f32[64, 64] {
             T[i, j] = X[i, j] + 1
             Y[i, j] = T[i, j] * T[i, 63 - j]
           }"""
    )
    k = tx.schedule(op).compute_at("T", "Y.i").parallel("Y.i").kernel
    asked: list[Tensor] = []
    monkeypatch.setattr(value_flow, "_stays_within", lambda kernel, tensor, loops: asked.append(tensor))
    assert [t.shape[0] for t in place(k).temporaries if t.name == "T"] != [t.shape[0] for t in k.temporaries]
    assert not asked
