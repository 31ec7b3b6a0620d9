"""Verdicts about random programs against running all instances at small sizes."""

from __future__ import annotations

import re
from itertools import product

from hypothesis import assume, given
from hypothesis import strategies as st

from tests.poly.program.running import wrong
from tests.profiles import examples
from texpr.ir.shapes import evaluate_size
from texpr.ir.tensor import Program
from texpr.lang import parse
from texpr.lang.elaboration.elaborate import unproven
from texpr.poly import check_program
from texpr.support.errors import CheckError

LARGEST = 4


@st.composite
def indices(draw, names: str) -> str:
    whole = draw(st.sampled_from(list(names)))
    match draw(st.integers(0, 11)):
        case 0:
            return f"{whole} + {draw(st.integers(1, 2))}"
        case 1:
            return f"{whole} - 1"
        case 2:
            return f"2*{whole}"
        case 3:
            return f"{whole} // 2"
        case 4:
            return f"{whole} + {draw(st.sampled_from(list(names)))}"
        case 5:
            return f"N - 1 - {whole}"
        case 6:
            return f"min({whole}, N - 1)"
        case 7:
            return str(draw(st.integers(0, 1)))
    return whole


@st.composite
def conditions(draw, names: str) -> str:
    comparison = draw(st.sampled_from(["<", "<=", ">", ">=", "==", "!="]))
    return f"{draw(indices(names))} {comparison} {draw(st.sampled_from(['0', '1', 'N', 'N - 1', 'M']))}"


@st.composite
def reads(draw, names: str, tensors: str) -> str:
    tensor = draw(st.sampled_from(list(tensors)))
    guard = draw(st.sampled_from(["", "", " | 0", " | 0", " | clamp", " | clamp", " | wrap", " | reflect"]))
    at = draw(indices(names)) + (f", {draw(indices(names))}" if tensor == "X" else "")
    return f"{tensor}[{at}{guard}]"


@st.composite
def values(draw, names: str, tensors: str) -> str:
    match draw(st.integers(0, 4)):
        case 0:
            inner = draw(reads(names + "k", tensors))
            where = f" where {draw(conditions(names + 'k'))}" if draw(st.integers(0, 3)) == 0 else ""
            extent = draw(st.sampled_from(["0..N", "1..N", "0..M", "0..i", "0..i + 1"]))
            return f"{draw(st.sampled_from(['sum', 'max']))}(k in {extent}{where}: {inner})"
        case 1:
            return f"(if {draw(conditions(names))} then {draw(reads(names, tensors))} else 0.0)"
    return draw(reads(names, tensors))


LEFT = ["i", "i", "i", "i + 1", "i - 1", "2*i", "i // 2", "N - 1 - i", "max(i, 1)"]
PAIRS = [
    ("2*i + j", "i in 0..N, j in 0..2"),
    ("i + j", "i in 0..N, j in 0..M"),
    ("2*i + j", "i in 0..M, j in 0..i"),
]
RANGES = ["0..N", "0..N", "0..N", "0..M", "1..N", "0..N + 1", "0..1", "0..2*N", "0..N//2"]


@st.composite
def equations(draw, target: str, tensors: str) -> str:
    at, ranges = (
        draw(st.sampled_from(PAIRS))
        if draw(st.integers(0, 4)) == 0
        else (draw(st.sampled_from(LEFT)), f"i in {draw(st.sampled_from(RANGES))}")
    )
    names = "ij" if "j" in at else "i"
    where = f" where {draw(conditions(names))}" if draw(st.integers(0, 3)) == 0 else ""
    guard = draw(st.sampled_from(["", "", "", " | drop"]))
    value = " + ".join(draw(st.lists(values(names, tensors), min_size=1, max_size=2)))
    return f"{target}[{at}{guard}] = {value} for {ranges}{where}"


@st.composite
def programs(draw) -> str:
    tensors = draw(st.sampled_from(["AX", "AX", "AXB", "AXT", "AXBT"]))
    lines = [draw(equations("B", tensors)) for _ in range(draw(st.sampled_from([1, 1, 2])))]
    lines += [draw(equations("T", tensors))] if "T" in tensors else []
    extent = draw(st.sampled_from(["N", "N", "N", "N + 1", "2*N", "N - 1", "N//2 + 1", "M"]))
    require = draw(st.sampled_from(["", "", " require N <= M", " require N >= 2"]))
    let = "  let T: f32[N]\n" if "T" in tensors else ""
    return (
        f"op t(A: f32[N], X: f32[N, M]) -> B: f32[{extent}]{require} {{\n{let}  " + "\n  ".join(lines) + "\n}"
    )


def example_of(e: CheckError) -> dict[str, int]:
    return {name: int(n) for name, n in re.findall(r"([NM])=(\d+)", " ".join(e.notes))}


@examples(75)
@given(programs())
def test_verdicts(text: str):
    try:
        program = unproven(parse(text).ops["t"], {}, {})
    except CheckError:
        assume(False)
        return
    n, m = (next((v for v in program.sizes if v.name == name), None) for name in "NM")
    assert n is not None and m is not None
    every = [{n: x, m: y} for x, y in product(range(LARGEST), repeat=2)]
    allowed = [s for s in every if all(evaluate_size(r, s) for r in program.requires)]
    bad = {(s[n], s[m]): codes for s in allowed if (codes := wrong(program, s))}
    check(text, program, n, m, allowed, bad)


def check(text: str, program: Program, n, m, allowed, bad) -> None:
    try:
        required = check_program(program)
    except CheckError as e:
        if e.message.startswith("no order was found") or "may be" in e.message:
            return
        found = {"N": 1, "M": 1, **example_of(e)}
        assert e.code in wrong(program, {n: found["N"], m: found["M"]}), f"{text}\n{e}\n{bad}"
        return
    for s in allowed:
        holds = all(evaluate_size(r, s) for r in required)
        assert not (holds and (s[n], s[m]) in bad), f"{text}\naccepted, but {bad}"
        assert min(s.values()) == 0 or holds, f"{text}\nrequires {required} of positive sizes"
