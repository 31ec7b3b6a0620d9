"""Random recurrences: an order is found exactly where there is one, and its loops compute what
the interpreter computes.
"""

from __future__ import annotations

from dataclasses import dataclass
from itertools import product

import numpy as np
from hypothesis import given
from hypothesis import strategies as st

import texpr as tx
from tests.profiles import examples
from texpr.ir.interpreter.loop import interpret_kernel
from texpr.ir.interpreter.tensor import interpret
from texpr.ir.verifier.program import verify_kernel
from texpr.lang import parse
from texpr.lang.elaboration.elaborate import unproven
from texpr.passes import lower, specialize
from texpr.poly import check_program

AXES, SIZES = "ijk", "NML"


@dataclass(frozen=True)
class Recurrence:
    """Tensors over one box; `reads[k]` are pairs of a tensor and the distance of the element
    that an element of tensor k needs.
    """

    rank: int
    reads: tuple[tuple[tuple[int, tuple[int, ...]], ...], ...]

    @property
    def text(self) -> str:
        shape, at = ", ".join(SIZES[: self.rank]), ", ".join(AXES[: self.rank])
        lines = []
        for k, reads in enumerate(self.reads):
            needed = (
                f"A{m}[{', '.join(f'{i} + {d}' if d >= 0 else f'{i} - {-d}' for i, d in zip(AXES, distance))} | {n + 1}] * {n + 2}"
                for n, (m, distance) in enumerate(reads)
            )
            lines.append(f"A{k}[{at}] = {' + '.join([f'X[{at}] * {k + 1}', *needed])}")
        outputs = ", ".join(f"A{k}: i64[{shape}]" for k in range(len(self.reads)))
        return f"op f(X: i64[{shape}]) -> ({outputs}) {{\n  " + "\n  ".join(lines) + "\n}"

    def has_an_order(self, sizes: tuple[int, ...]) -> bool:
        """By removing elements that need nothing that is left."""
        needs = {
            (k, at): {
                (m, to)
                for m, d in reads
                for to in [tuple(i + j for i, j in zip(at, d))]
                if all(0 <= i < n for i, n in zip(to, sizes))
            }
            for k, reads in enumerate(self.reads)
            for at in product(*map(range, sizes))
        }
        done: set = set()
        while ready := [e for e, of in needs.items() if of <= done]:
            done.update(ready)
            for e in ready:
                del needs[e]
        return not needs


def unimodular(draw: st.DrawFn, rank: int) -> np.ndarray:
    """A product of reversals, exchanges and skews."""
    matrix = np.eye(rank, dtype=int)
    for _ in range(draw(st.integers(0, 3))):
        a, b = draw(st.integers(0, rank - 1)), draw(st.integers(0, rank - 1))
        if a == b:
            matrix[a] *= -1
        else:
            matrix[a] += draw(st.sampled_from((-2, -1, 1))) * matrix[b]
    return matrix


@st.composite
def founded(draw: st.DrawFn) -> Recurrence:
    """Times of elements are rows of a unimodular matrix times their indices, plus a shift per
    tensor: what is needed is earlier.
    """
    rank, count = draw(st.integers(1, 3)), draw(st.integers(1, 3))
    times = unimodular(draw, rank)
    shifts = [[draw(st.integers(-1, 1)) for _ in range(rank)] for _ in range(count)]
    distances = list(product(range(-2, 3), repeat=rank))
    reads = []
    for k in range(count):
        earlier = [
            (m, d)
            for m in range(count)
            for d in distances
            if tuple(times @ d + np.subtract(shifts[m], shifts[k])) < (0,) * rank
        ]
        reads.append(
            tuple(draw(st.lists(st.sampled_from(earlier), max_size=3, unique=True))) if earlier else ()
        )
    return Recurrence(rank, tuple(reads))


@st.composite
def anything(draw: st.DrawFn) -> Recurrence:
    rank, count = draw(st.integers(1, 2)), draw(st.integers(1, 3))
    one = st.tuples(st.integers(0, count - 1), st.tuples(*[st.integers(-2, 2)] * rank))
    return Recurrence(rank, tuple(tuple(draw(st.lists(one, max_size=2, unique=True))) for _ in range(count)))


def check_lowered(r: Recurrence, sizes: tuple[int, ...]) -> None:
    program = unproven(parse(r.text).ops["f"], {}, {})
    kernel = lower(specialize(program, dict(zip(program.sizes, sizes))))
    verify_kernel(kernel)
    X = np.arange(np.prod(sizes)).reshape(sizes) % 7
    for got, want in zip(interpret_kernel(kernel, [X], {}), interpret(program, [X])):
        np.testing.assert_array_equal(got, want, err_msg=r.text)


@examples(60)
@given(founded())
def test_what_has_an_order_is_lowered(r: Recurrence):
    check_program(unproven(parse(r.text).ops["f"], {}, {}))
    check_lowered(r, (4, 3, 3)[: r.rank])


@examples(60)
@given(anything())
def test_verdicts_are_those_of_an_enumeration(r: Recurrence):
    """Accepted for all sizes: there is an order at all small ones. Refused: at some there is
    none.
    """
    try:
        check_program(unproven(parse(r.text).ops["f"], {}, {}))
    except tx.CheckError as e:
        assert e.code == "cycle", e
        assert not r.has_an_order((9,) * r.rank), r.text
    else:
        assert all(r.has_an_order(sizes) for sizes in product((1, 2, 5), repeat=r.rank)), r.text
        check_lowered(r, (4, 3)[: r.rank])
