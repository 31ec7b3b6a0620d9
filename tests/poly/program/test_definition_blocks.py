"""Definitions that are blocks beside each other need no question to isl, others do."""

from __future__ import annotations

import random
from collections import Counter
from itertools import product

import pytest

from texpr.ir.affine import linear
from texpr.ir.build import integer
from texpr.ir.dtypes import F32
from texpr.ir.expr import index
from texpr.ir.tensor import Equation, Program
from texpr.ir.traverse import substitute
from texpr.lang import parse
from texpr.lang.elaboration.elaborate import unproven
from texpr.poly import check_program
from texpr.poly.program.definition_blocks import defines_each_once
from texpr.support.errors import CheckError


def program(text: str) -> Program:
    (op,) = parse(text, "op.tx").ops.values()
    return unproven(op, {v.name: F32 for v in op.type_variables}, {})


def definitions(of: Program) -> list[Equation]:
    return [e for e in of.equations if isinstance(e, Equation) and e.target is of.outputs[0]]


BLOCKS = {
    "written out": "op f(X: f32[N, 3]) -> Y: f32[N, 3] { Y[i, 0] = X[i, 0] Y[i, 1] = 1 Y[i, 2] = X[i, 1] }",
    "phases": "op f(X: f32[7]) -> Y: f32[7] { Y[2*i] = X[i] for i in 0..4 Y[2*i + 1] = 0 for i in 0..3 }",
    "parts": "op f(X: f32[N, 7]) -> Y: f32[N, 7] { Y[i, j] = 0 for j in 0..3 Y[i, j + 3] = 1 for j in 0..4 }",
    "digits": "op f(X: f32[3, 4]) -> Y: f32[14] "
    "{ Y[4*i + j] = X[i, j] for i in 0..3, j in 0..4 Y[k] = 0 for k in 12..14 }",
    "one element of a digit": "op f(X: f32[1, 4]) -> Y: f32[4] { Y[9*i + j] = X[i, j] for i in 0..1, j in 0..4 }",
    "squares": "op f(X: f32[2]) -> Y: f32[4, 4] { "
    + " ".join(f"Y[2*i + {p}, 2*j + {q}] = X[i] for i in 0..2, j in 0..2" for p in range(2) for q in range(2))
    + " }",
}


@pytest.mark.parametrize("text", BLOCKS.values(), ids=BLOCKS)
def test_blocks_are_counted(text):
    found = program(text)
    assert defines_each_once(definitions(found))
    check_program(found)


OTHERS = {
    "an element that nothing defines": "op f(X: f32[8]) -> Y: f32[8] { Y[2*i] = 0 for i in 0..4 }",
    "two that meet": "op f(X: f32[8]) -> Y: f32[8] { Y[i] = 0 for i in 0..5 Y[i + 4] = 1 for i in 0..3 }",
    "as many elements, one of them twice": "op f(X: f32[5]) -> Y: f32[5] "
    "{ Y[2*i] = 0 for i in 0..3 Y[i + 2] = 1 for i in 0..2 }",
    "digits that meet": "op f(X: f32[9]) -> Y: f32[9] { Y[2*i + j] = 0 for i in 0..3, j in 0..3 }",
    "a diagonal": "op f(X: f32[3]) -> Y: f32[3, 3] { Y[i, i] = X[i] }",
    "a condition": "op f(X: f32[3]) -> Y: f32[3] { Y[i] = X[i] where i < 2 }",
}


@pytest.mark.parametrize("text", OTHERS.values(), ids=OTHERS)
def test_others_are_not(text):
    assert not defines_each_once(definitions(program(text)))


@pytest.mark.parametrize("text", list(OTHERS.values())[:5], ids=list(OTHERS)[:5])
def test_wrong_definitions_are_refused(text):
    with pytest.raises(CheckError):
        check_program(program(text))


def random_text(random: random.Random, shape: tuple[int, ...]) -> str:
    """Definitions of a tensor with up to three blocks in each of its dimensions."""
    sides = []
    for d, n in enumerate(shape):
        step, parts = random.choice([1, 1, 2, 3]), []
        for p in range(step):
            extent = max(0, -(-(n - p) // step)) + random.choice([0, 0, 0, 0, -1])
            if step == 1 and extent > 1 and random.random() < 0.5:
                at = random.randrange(1, extent)
                parts += [(f"i{d}", f"i{d} in 0..{at}"), (f"i{d} + {at}", f"i{d} in 0..{extent - at}")]
            elif extent > 0:
                parts.append((f"{step}*i{d} + {p}", f"i{d} in 0..{extent}"))
        sides.append(parts or [(f"i{d}", f"i{d} in 0..{n}")])
    lines = [
        f"  Y[{', '.join(i for i, _ in block)}] = 1  for {', '.join(r for _, r in block)}"
        for block in product(*sides)
    ]
    return f"op f(X: f32[2]) -> Y: f32[{', '.join(map(str, shape))}] {{\n" + "\n".join(lines) + "\n  }\n"


def counted(equations: list[Equation]) -> Counter[tuple[int, ...]]:
    """How often each element is defined."""
    found: Counter[tuple[int, ...]] = Counter()
    for e in equations:
        for at in product(*[range(integer(a.lo) or 0, integer(a.hi) or 0) for a in e.axes]):
            values = {a.var: index(k) for a, k in zip(e.axes, at)}
            found[tuple(linear(substitute(i, values)).constant for i in e.indices)] += 1
    return found


@pytest.mark.parametrize("seed", range(60))
def test_random_blocks_against_enumeration(seed):
    """Each element is counted where the answer is yes, and the answer is yes where blocks are right."""
    draw = random.Random(seed)
    shape = tuple(draw.randrange(1, 7) for _ in range(draw.randrange(1, 3)))
    equations = definitions(program(random_text(draw, shape)))
    found = counted(equations)
    right = set(found) == set(product(*map(range, shape))) and set(found.values()) == {1}
    assert defines_each_once(equations) == right
