"""`online_softmax`: running maxima compute what one maximum does, the certificate derives it,
and says so.
"""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest

import texpr as tx
from texpr.ir.build import integer
from texpr.ir.expr import Call, Const, FloorDiv, Max, Min, Mul, Read, Sub, Var, index
from texpr.ir.interpreter.loop import interpret_kernel
from texpr.ir.loop import Kernel
from texpr.ir.printing.tensor import show_program
from texpr.ir.tensor import Equation, Program
from texpr.ir.traverse import rewrite, walk
from texpr.passes import lower
from texpr.schedule.steps.placement.fold_storage import folded_storage
from texpr.support.errors import ScheduleError

TILE = 4
TEXT = """
op rows(X: f32[N, M], V: f32[M, K]) -> (O: f32[N, K], y: f32[N]) {
  m[i] = max(j: X[i, j])
  e[i, j] = exp(X[i, j] - m[i])
  z[i] = sum(j: e[i, j])
  O[i, v] = sum(j: e[i, j] * V[j, v]) / z[i]
  y[i] = log(z[i]) + m[i]
}"""
ROWS = tx.op(TEXT)
TRIANGLE = tx.op("""
op triangle(X: f32[N, N], V: f32[N, K]) -> O: f32[N, K] {
  let e: f32[N, N]
  m[i] = max(j in 0..i + 1: X[i, j])
  e[i, j] = exp(X[i, j] - m[i])  for j in 0..i + 1
  O[i, v] = sum(j in 0..i + 1: 3.0 * e[i, j] / 2.0 * V[j, v]) / sum(j in 0..i + 1: e[i, j])
}""")
ATTENTION = tx.op("""
op attention(Q: f32[N, D], K: f32[M, D], V: f32[M, E]) -> O: f32[N, E] {
  S[i, j] = sum(d: Q[i, d] * K[j, d])
  m[i] = max(j: S[i, j])
  e[i, j] = exp(S[i, j] - m[i])
  O[i, v] = sum(j: e[i, j] * V[j, v]) / sum(j: e[i, j])
}""")

FLASH = tx.op("""
op flash(Q: f32[N, D], K: f32[M, D], V: f32[M, E]) -> O: f32[N, E] {
  S[i, j] = sum(d: Q[i, d] * K[j, d])
  m[i] = max(j: S[i, j])
  e[i, j] = exp(S[i, j] - m[i])
  z[i] = sum(j: e[i, j])
  T[i, v] = sum(j: e[i, j] * V[j, v])
  O[i, v] = T[i, v] / z[i]
}""")


def _values(n: int, m: int) -> np.ndarray:
    """Rows: any numbers; growing; -inf at the start; at the end; everywhere; with inf; with NaN;
    far apart.
    """
    x = np.random.default_rng(m).standard_normal((n, m)).astype("f4") * 5
    inf = np.float32(np.inf)
    x[1] = np.sort(x[1])
    x[2, : (m + 1) // 2], x[3, m // 2 :], x[4] = -inf, -inf, -inf
    x[5, m // 2], x[6, m - 1] = inf, np.nan
    x[7] = np.linspace(-300, 300, m)
    return x


def _run(s: tx.Schedule, x: np.ndarray, v: np.ndarray) -> tuple[np.ndarray, ...]:
    sizes = {"N": x.shape[0], "M": x.shape[1], "K": v.shape[1]}
    return interpret_kernel(s.kernel, [x, v], {n.name: sizes[n.name] for n in s.program.sizes})


@pytest.mark.parametrize("m", [1, TILE - 1, TILE, TILE + 1, 3 * TILE - 1, 3 * TILE])
def test_rows_of_all_kinds(m: int):
    """Within 4e-6: each block rounds the factor and the product once more, the sums have up to
    12 terms below 1.
    """
    x, v = _values(8, m), np.ones((m, 3), "f4") * np.arange(1, 4, dtype="f4")
    s = tx.schedule(ROWS).online_softmax("m", TILE, reassoc=True)
    with np.errstate(all="ignore"):
        for got, wanted in zip(_run(s, x, v), tx.interpret(ROWS, x, v), strict=True):
            np.testing.assert_allclose(got, wanted, rtol=4e-6, atol=1e-6)


@pytest.mark.parametrize("n", [0, 1, TILE - 1, TILE, TILE + 1, 9])
def test_a_triangle(n: int):
    x, v = (np.random.default_rng(n).standard_normal((n, k)).astype("f4") for k in (n, 2))
    s = tx.schedule(TRIANGLE).online_softmax("m", TILE, reassoc=True)
    np.testing.assert_allclose(_run(s, x, v)[0], tx.interpret(TRIANGLE, x, v), rtol=1e-5, atol=1e-6)


@pytest.mark.parametrize(("n", "rows"), [(1, 3), (5, 2), (9, 4), (9, 5), (10, 1)])
def test_rows_of_a_triangle_have_blocks_of_their_own(n: int, rows: int):
    """Computed by the blocks that they have, and proven, for all sizes and for these."""
    x, v = (np.random.default_rng(n).standard_normal((n, k)).astype("f4") for k in (n, 2))
    for s in (tx.schedule(TRIANGLE), tx.schedule(TRIANGLE, N=n, K=2)):
        s.online_softmax("m", TILE, rows=rows, reassoc=True)
        np.testing.assert_allclose(_run(s, x, v)[0], tx.interpret(TRIANGLE, x, v), rtol=1e-5, atol=1e-6)
    assert "O_sum" in s.certificate().rounding


def test_the_blocks_of_rows():
    """As many as the last of four rows has; the range may also grow shorter, from the first row
    on.
    """
    program = (
        tx.schedule(TRIANGLE, N=16, K=2).online_softmax("m", TILE, rows=TILE, reassoc=True).kernel.program
    )
    assert program is not None
    text = show_program(program)
    assert "for c in 1..i // 4 + 2\n" in text and "m[i] = m_run[i, i // 4 + 1]\n" in text
    falling = show_program(_falling().online_softmax("m", TILE, rows=3, reassoc=True).kernel.program)  # type: ignore[arg-type]
    assert "m[i] = m_run[i, (N - i // 3 * 3 + 3) // 4]\n" in falling


def _falling() -> tx.Schedule:
    return tx.schedule(
        tx.op("""
op falling(X: f32[N, N]) -> z: f32[N] {
  let e: f32[N, N]
  m[i] = max(j in 0..N - i: X[i, j])
  e[i, j] = exp(X[i, j] - m[i])  for j in 0..N - i
  z[i] = sum(j in 0..N - i: e[i, j])
}""")
    )


def test_rows_with_too_few_blocks_are_refused():
    """A block less than the last one of four has."""
    program = tx.schedule(TRIANGLE).online_softmax("m", TILE, rows=TILE, reassoc=True).kernel.program
    assert program is not None
    s = tx.schedule(TRIANGLE)
    s.kernel = lower(
        _in_all(
            program,
            lambda n: Sub(n, index(1)) if isinstance(n, FloorDiv) and isinstance(n.lhs, Var) else None,
        )
    )
    with pytest.raises(ScheduleError) as e:
        s.certificate()
    assert (
        e.value.message
        == "the loops of triangle are not proven to compute it: the blocks of m are not its range"
    )


CHOSEN = """
op chosen(Q: f32[N, D], K: f32[M, D]) -> z: f32[N] require M >= 1 {
  S[i, j] = if j <= i then sum(d: Q[i, d] * K[j, d]) * 2.0 else -inf
  m[i] = max(j: S[i, j])
  e[i, j] = exp(S[i, j] - m[i])
  z[i] = sum(j: e[i, j])
}"""


def test_sums_that_are_chosen_are_computed_for_all_terms():
    """The condition stays where it chooses; another one does not come off for it."""
    s = tx.schedule(tx.op(CHOSEN)).online_softmax("m", TILE, reassoc=True)
    assert "if j <= i then sum(d: Q[i, d] * K[j, d]) * 2.0 else -inf" in show_program(s.kernel.program)  # type: ignore[arg-type]
    s.certificate()
    x, v = (np.random.default_rng(n).standard_normal((n, 2)).astype("f4") for n in (5, 6))
    found = interpret_kernel(
        s.kernel, [x, v], {n.name: {"N": 5, "M": 6, "D": 2}[n.name] for n in s.program.sizes}
    )
    np.testing.assert_allclose(found[0], tx.interpret(tx.op(CHOSEN), x, v), rtol=1e-5)
    other = tx.schedule(tx.op(CHOSEN.replace("sum(d:", "sum(d where d < 1:")))
    other.kernel = replace(
        s.kernel,
        program=_in_all(
            s.kernel.program,
            lambda n: (
                next(  # type: ignore[arg-type]
                    v for v in other.program.sizes if v.name == n.name
                )
                if isinstance(n, Var) and n in s.program.sizes
                else None
            ),
        ),
    )
    with pytest.raises(ScheduleError, match="S is no sum of multiples of exponentials"):
        other.certificate()


ROUNDED = TEXT.replace("e[i, j] * V[j, v]", "f32(bf16(e[i, j])) * V[j, v]")


def test_factors_that_are_rounded():
    """Each by 2^-9, relative to the maximum so far; what rounds to integers is no factor."""
    x, v = np.random.default_rng(1).standard_normal((3, 9)).astype("f4"), np.ones((9, 2), "f4")
    s = tx.schedule(tx.op(ROUNDED)).online_softmax("m", TILE, reassoc=True)
    assert "online_softmax: " in s.certificate().rounding
    np.testing.assert_allclose(_run(s, x, v)[0], tx.interpret(tx.op(ROUNDED), x, v)[0], rtol=2**-7)
    with pytest.raises(ScheduleError, match="outside of a sum"):
        tx.schedule(tx.op(TEXT.replace("e[i, j] * V[j, v]", "f32(i32(e[i, j])) * V[j, v]"))).online_softmax(
            "m", TILE, reassoc=True
        )


SCALES = ["0.5", "rsqrt(f32(M))", "f32(rsqrt(f64(M)))", "rsqrt(f32(bf16(M)))", "rsqrt(f32(f16(64)))"]


@pytest.mark.parametrize("scale", SCALES)
def test_differences_that_are_scaled(scale: str):
    """Rows of all kinds, as without a scale; factors between blocks have it too, and one that
    lacks it is refused.
    """
    scaled = tx.op(TEXT.replace("exp(X[i, j] - m[i])", f"exp((X[i, j] - m[i]) * {scale})"))
    x, v = _values(8, 11), np.ones((11, 3), "f4")
    s = tx.schedule(scaled).online_softmax("m", TILE, reassoc=True)
    with np.errstate(all="ignore"):
        for got, wanted in zip(_run(s, x, v), tx.interpret(scaled, x, v), strict=True):
            np.testing.assert_allclose(got, wanted, rtol=4e-6, atol=1e-6)
    assert "online_softmax: " in s.certificate().rounding
    for name, number, text in (
        ("m_scale", 0, "m_scale does not lead from one maximum to the next"),
        ("e_block", 0, "e_block are no exponentials relative to a running maximum"),
    ):
        s = tx.schedule(scaled)
        s.kernel = _faulty(
            name, number, lambda n: n.lhs if isinstance(n, Mul) and isinstance(n.lhs, Sub) else None, scaled
        )
        with pytest.raises(ScheduleError, match=text):
            s.certificate()


@pytest.mark.parametrize(
    "scale",
    [
        "-0.5",
        "0.0",
        "V[0, 0]",
        "f32(i)",
        "rsqrt(f32(f16(M)))",
        "rsqrt(f32(f8e5m2(M)))",
        "rsqrt(f32(f8e4m3(M)))",
        "f32(f16(0.00000001))",
        "sqrt(f32(M))",
    ],
)
def test_scales_that_may_not_be_above_zero_are_refused(scale: str):
    """By the step, and by the certificate where a step took them: 0 times -inf is NaN."""
    text = TEXT.replace("exp(X[i, j] - m[i])", f"exp((X[i, j] - m[i]) * {scale})").replace(
        "y: f32[N]) {", "y: f32[N]) require K >= 1 {"
    )
    with pytest.raises(ScheduleError, match="no equation has the form"):
        tx.schedule(tx.op(text)).online_softmax("m", TILE, reassoc=True)
    s = tx.schedule(tx.op(text))
    taken = tx.schedule(
        tx.op(TEXT.replace("exp(X[i, j] - m[i])", "exp((X[i, j] - m[i]) * 0.5)"))
    ).online_softmax("m", TILE, reassoc=True)
    factor = (
        next(n for e in s.program.equations for n in walk(e) if isinstance(n, Call) and n.function == "exp")
        .args[0]
        .rhs
    )
    named = {v.name: v for v in s.program.sizes}
    program = _in_all(
        taken.kernel.program,
        lambda n: (
            factor
            if isinstance(n, Const) and n.value == 0.5
            else named[n.name]
            if isinstance(n, Var) and n.name in named
            else None
        ),
    )
    s.kernel = replace(s.kernel, program=program)
    with pytest.raises(ScheduleError):
        s.certificate()


SCRIPT = """online_softmax("m", 16, reassoc=True)
allow_fma()
compute_at("e_block", "O_sum_run.1.c")
vectorize("O_sum_run.1.v")
parallel("O_sum_run.1.i")
"""


def test_steps_after_it_and_scripts():
    """Compiled, replayed as text and as JSON."""
    s = tx.schedule(ATTENTION, N=20, M=40, D=8, E=16).replay(SCRIPT)
    again = tx.schedule(ATTENTION, N=20, M=40, D=8, E=16).replay(s.script("json"))
    assert again.script() == s.script() == SCRIPT
    q, k, v = (
        np.random.default_rng(n).standard_normal((n, d)).astype("f4") for n, d in ((20, 8), (40, 8), (40, 16))
    )
    with tx.options(certify=True):
        np.testing.assert_allclose(
            again.compile()(q, k, v), tx.interpret(ATTENTION, q, k, v), rtol=2e-5, atol=1e-5
        )


def _in_one_pass(sizes: dict[str, int]) -> tx.Schedule:
    """Attention in one loop over rows, with one over blocks: scores, maximum, exponentials, sums."""
    s = tx.schedule(FLASH, **sizes).online_softmax("m", 4, reassoc=True)
    s.inline("m").inline("z").inline("T")
    s.merge("z_run.1.i", "T_run.1.i").merge("z_run.1.c", "T_run.1.c")
    for name in ("e_block", "m_scale", "m_base"):
        s.compute_at(name, "z_run.1.c")
    s.merge("m_run.1.i", "z_run.1.i").merge("m_run.1.c", "z_run.1.c")
    s.compute_at("m_block", "m_run.1.c").compute_at("S", "m_run.1.c")
    s.merge("m_run.1.i", "O.i").merge("T_run.0.i", "m_run.1.i")
    return s.merge("z_run.0.i", "T_run.0.i").merge("m_run.0.i", "z_run.0.i")


@pytest.mark.parametrize("sizes", [{}, {"N": 5, "M": 18, "D": 3, "E": 4}], ids=["symbolic", "known"])
def test_running_values_of_one_pass_are_folded(sizes: dict[str, int]):
    """What the last block leaves is read behind the loop, where its index is a number."""
    s = _in_one_pass(sizes)
    for name, depth in (("m_run", 2), ("z_run", 1), ("T_run", 1)):
        s.fold_storage(name, 1)
        (folded,) = (t for t in s.kernel.temporaries if t.name == name)
        assert integer(folded.shape[1]) == depth
    assert s.certificate()
    q, k, v = (
        np.random.default_rng(n).standard_normal((n, d)).astype("f4") for n, d in ((5, 3), (18, 3), (18, 4))
    )
    with tx.options(certify=True):
        np.testing.assert_allclose(s.compile()(q, k, v), tx.interpret(FLASH, q, k, v), rtol=2e-5, atol=1e-5)


def test_too_few_running_values_are_refused():
    """By the step, which names the element, and by the certificate of loops that it did not see."""
    s = _in_one_pass({"N": 5, "M": 16, "D": 3, "E": 4})
    with pytest.raises(ScheduleError) as refused:
        s.fold_storage("m_run", 1, 1)
    assert refused.value.code == "fold_storage" and refused.value.witness
    (m_run,) = (t for t in s.kernel.temporaries if t.name == "m_run")
    s.kernel = folded_storage(s.kernel, m_run, 1, 1)
    with pytest.raises(ScheduleError, match="are not proven to compute it"):
        s.certificate()


def test_the_certificate_names_the_law():
    found = tx.schedule(ATTENTION).online_softmax("m", TILE, reassoc=True).certificate()
    assert found.rounding == "online_softmax: exp(a - m) * exp(m - n) = exp(a - n) in O_sum, O_sum_"
    assert not found.bit_exact
    assert tx.schedule(ATTENTION).certificate().bit_exact


def test_the_new_equations():
    s = tx.schedule(ROWS).online_softmax("m", TILE, reassoc=True)
    assert s.kernel.program is not None
    assert (
        show_program(s.kernel.program)
        == """\
op rows(X: f32[N, M], V: f32[M, K]) -> (O: f32[N, K], y: f32[N])
   require M >= 1 or N == 0 {
  let m_block: f32[N, (M + 3) // 4]
  let m_run: f32[N, (M + 3) // 4 + 1]
  let m_base: f32[N, (M + 3) // 4 + 1]
  let m_scale: f32[N, (M + 3) // 4]
  let e_block: f32[N, (M + 3) // 4, 4]
  let z_run: f32[N, (M + 3) // 4 + 1]
  let O_run: f32[N, (M + 3) // 4 + 1, K]
  m_block[i, c] = max(u in 0..4 where c * 4 + u < M: X[i, c * 4 + u])
  m_run[i, 0] = -inf
  m_run[i, c] = max(m_run[i, c - 1], m_block[i, c - 1])  for c in 1..(M + 3) // 4 + 1
  m_base[i, c] = if m_run[i, c] == -inf then 0.0 else m_run[i, c]
  m_scale[i, c] = exp(m_run[i, c] - m_base[i, c + 1])
  m[i] = m_run[i, (M + 3) // 4]
  e_block[i, c, u] = exp(X[i, c * 4 + u] - m_base[i, c + 1])  where c * 4 + u < M
  z_run[i, 0] = 0.0
  z_run[i, c] = z_run[i, c - 1] * m_scale[i, c - 1] + sum(u where (c - 1) * 4 + u < M: e_block[i, c - 1, u])  for c in 1..(M + 3) // 4 + 1
  z[i] = z_run[i, (M + 3) // 4] * exp(m[i] - m[i])
  O_run[i, 0, v] = 0.0
  O_run[i, c, v] = O_run[i, c - 1, v] * m_scale[i, c - 1] + sum(u where (c - 1) * 4 + u < M: e_block[i, c - 1, u] * \
V[(c - 1) * 4 + u, v])  for c in 1..(M + 3) // 4 + 1
  O[i, v] = O_run[i, (M + 3) // 4, v] * exp(m[i] - m[i]) / z[i]
  y[i] = log(z[i]) + m[i]
}
"""
    )


def _faulty(target: str, number: int, change: object, op: tx.Op = ROWS) -> Kernel:
    """The loops of the new equations with a fault in the value of one of them."""
    program = tx.schedule(op).online_softmax("m", TILE, reassoc=True).kernel.program
    assert program is not None
    count = 0
    equations: list[Equation] = []
    for e in program.equations:
        assert isinstance(e, Equation)
        if e.target.name == target:
            equations.append(rewrite(e, change) if count == number else e)  # type: ignore[arg-type]
            count += 1
        else:
            equations.append(e)
    wrong = replace(program, equations=tuple(equations))
    assert show_program(wrong) != show_program(program), "nothing was changed"
    return lower(wrong)


def _constant(old: float, new: float):
    return lambda n: (
        replace(n, value=new) if isinstance(n, Const) and n.value == old and n.dtype.is_float else None
    )


FAULTS = {
    "a maximum from 0": ("m_run", 0, _constant(-np.inf, 0.0), "m_run does not begin at -inf"),
    "a minimum that runs": (
        "m_run",
        1,
        lambda n: Min(n.lhs, n.rhs) if isinstance(n, Max) else None,
        "m_run is no running maximum",
    ),
    "a block of less": (
        "m_block",
        0,
        lambda n: index(3) if isinstance(n, Const) and n.value == 4 and not n.dtype.is_float else None,
        "m_block has other blocks",
    ),
    "relative to 1": (
        "m_base",
        0,
        _constant(0.0, 1.0),
        "m_base is not the running maximum, and 0 where that is -inf",
    ),
    "a sum from 1": ("O_run", 0, _constant(0.0, 1.0), "O_run does not begin at 0"),
    "infinite where it is NaN": (
        "O",
        0,
        lambda n: n.lhs if type(n).__name__ == "Mul" else None,
        "O is not what ran along, or a number where its maximum is none",
    ),
    "not the last block": (
        "m",
        0,
        lambda n: replace(n, indices=(n.indices[0], index(0))) if isinstance(n, Read) else None,
        "m_run has other blocks",
    ),
    "the sum of another column": (
        "O_run",
        1,
        lambda n: (
            replace(n, indices=(n.indices[0], index(0)))
            if isinstance(n, Read) and n.tensor.name == "V"
            else None
        ),
        "O_run sums something else than O",
    ),
    "a factor left out": (
        "z_run",
        1,
        lambda n: n.lhs if type(n).__name__ == "Mul" and isinstance(n.rhs, Read) else None,
        "z_run is no sum that runs along",
    ),
}


@pytest.mark.parametrize("name", FAULTS)
def test_wrong_equations_are_refused(name: str):
    target, number, change, text = FAULTS[name]
    s = tx.schedule(ROWS)
    s.kernel = _faulty(target, number, change)
    with pytest.raises(ScheduleError) as e:
        s.certificate()
    assert e.value.message == f"the loops of rows are not proven to compute it: {text}"


def _in_all(program: Program, change: object) -> Program:
    return replace(program, equations=tuple(rewrite(e, change) for e in program.equations))  # type: ignore[arg-type]


def test_too_few_blocks_are_refused():
    """Where the last block is left out unless it is full."""
    program = tx.schedule(ROWS).online_softmax("m", TILE, reassoc=True).kernel.program
    assert program is not None
    s = tx.schedule(ROWS)
    s.kernel = lower(_in_all(program, lambda n: index(0) if isinstance(n, Const) and n.value == 3 else None))
    with pytest.raises(ScheduleError) as e:
        s.certificate()
    assert (
        e.value.message == "the loops of rows are not proven to compute it: the blocks of m are not its range"
    )
    assert e.value.witness == {"sizes": {"N": 1, "M": 1, "K": 0}, "instance": {"i": 0}}


@pytest.mark.parametrize(
    ("old", "new", "text"),
    [
        ("z[i] = sum(j: ", "z[i] = sum(j in 0..1: ", "z_run has other terms than z"),
        ("max(j: X[i, j])", "max(j in 0..1: X[i, j])", "blocks of m_run end elsewhere than m"),
        (
            "exp(X[i, j] - m[i])",
            "exp(X[i, j] - m[i]) * 2.0",
            "there is not one equation of exponentials relative to m",
        ),
        ("* V[j, v]", "* V[M - 1 - j, v]", "O_run sums something else than O"),
        ("/ z[i]", "* z[i]", "what is made of a sum differs"),
        ("sum(j: e[i, j])", "sum(j: e[i, j] * e[i, j])", "z is no sum of multiples of exponentials"),
        ("log(z[i]) + m[i]", "log(z[i]) - m[i]", "y is no sum of multiples of exponentials"),
    ],
)
def test_loops_of_another_operator_are_refused(old: str, new: str, text: str):
    """What the new equations of one operator say is not what another one says."""
    other = TEXT.replace(old, new).replace("y: f32[N]) {", "y: f32[N]) require M >= 1 {")
    assert other != TEXT
    s = tx.schedule(tx.op(other))
    program = tx.schedule(ROWS).online_softmax("m", TILE, reassoc=True).kernel.program
    assert program is not None
    named = {v.name: v for v in s.program.sizes}
    s.kernel = replace(
        s.kernel,
        program=_in_all(
            program, lambda n: named[n.name] if isinstance(n, Var) and n in program.sizes else None
        ),
    )
    with pytest.raises(ScheduleError) as e:
        s.certificate()
    assert e.value.message == f"the loops of rows are not proven to compute it: {text}"


def test_full_blocks_of_a_shorter_sum_are_refused():
    sizes = {"N": 3, "M": 8, "K": 2}
    s = tx.schedule(tx.op(TEXT.replace("z[i] = sum(j: ", "z[i] = sum(j in 0..1: ")), **sizes)
    s.kernel = replace(
        s.kernel, program=tx.schedule(ROWS, **sizes).online_softmax("m", TILE, reassoc=True).kernel.program
    )
    with pytest.raises(ScheduleError) as e:
        s.certificate()
    assert e.value.message == "the loops of rows are not proven to compute it: z_run has other terms than z"


COMPLAINTS = {
    's.online_softmax("m", 0, reassoc=True)': "error[online_softmax]: a block has at least 1 term, not 0",
    's.online_softmax("m", 4, reassoc=1)': "error[online_softmax]: `reassoc` is True or False, not 1",
    's.online_softmax("m", 4, rows=0, reassoc=True)': "error[online_softmax]: at least 1 row has blocks of "
    "its own, not 0",
    's.online_softmax("m", 4, rows=4, reassoc=True)': "error[online_softmax]: the range of `m` does not move "
    "with one of its axes",
    's.online_softmax("m", 4)': "error[exact]: online_softmax of `m` changes how float sums are rounded: z, "
    "O",
    's.online_softmax("z", 4, reassoc=True)': "error[online_softmax]: 'z' is no tensor of maxima of floats "
    "along one axis; these are: m",
    's.split("m.i", 2).online_softmax("m", 4, reassoc=True)': "error[online_softmax]: online_softmax "
    "rewrites the equations, before their loops "
    "are changed",
    's.online_softmax("m", 4, reassoc=True).online_softmax("m", 2, reassoc=True)': "error[online_softmax]: "
    "'m' is no tensor of "
    "maxima of floats along "
    "one axis; "
    "these are: m_block",
}


@pytest.mark.parametrize("call", COMPLAINTS)
def test_complaints(call: str):
    with pytest.raises(ScheduleError) as e:
        eval(call, {"s": tx.schedule(ROWS)})
    assert str(e.value).partition("\n")[0].partition("        ")[0] == COMPLAINTS[call]


OTHER_FORMS = {
    "e[i, j] = exp(X[i, j] * m[i]) z[i] = sum(j: e[i, j])": (
        "no equation has the form e[i, j] = exp(X[i, j] - m[i])",
        "online_softmax is for exponentials relative to a maximum",
    ),
    "e[i, j, k] = exp(X[i, j] - m[i]) for k in 0..2 z[i] = sum(j: e[i, j, 0])": (
        "`e` is not computed for each term of each maximum of `m`",
        "give it the axes of the maxima and the one along which they are, without conditions",
    ),
    "e[i, j] = exp(X[i, j] + 1 - m[i]) z[i] = sum(j: e[i, j])": (
        "`m` is the maximum of X[i, j], not of X[i, j] + 1.0",
        "take the maximum of what is exponentiated",
    ),
    "e[i, j] = exp(X[i, j] - m[i]) for j in 0..1 z[i] = e[i, 0]": (
        "`m` and `e` have different ranges along `j`",
        "give both the same range",
    ),
}


@pytest.mark.parametrize("equations", OTHER_FORMS)
def test_other_forms(equations: str):
    op = tx.op(f"op f(X: f32[N, M]) -> z: f32[N] require M >= 1 {{ m[i] = max(j: X[i, j]) {equations} }}")
    with pytest.raises(ScheduleError) as e:
        tx.schedule(op).online_softmax("m", 4, reassoc=True)
    assert (e.value.message, e.value.help) == OTHER_FORMS[equations]


def test_exponentials_that_are_an_output():
    equations = "m[i] = max(j: X[i, j]) e[i, j] = exp(X[i, j] - m[i]) z[i] = sum(j: e[i, j])"
    op = tx.op(f"op f(X: f32[N, M]) -> (e: f32[N, M], z: f32[N]) {{ {equations} }}")
    with pytest.raises(ScheduleError) as e:
        tx.schedule(op).online_softmax("m", 4, reassoc=True)
    assert e.value.message == "`e` is an output, so it is needed relative to the last maximum"
    assert e.value.help == "online_softmax is for exponentials that are summed and not used again"


def test_what_is_needed_relative_to_the_last_maximum():
    op = tx.op("""op softmax(X: f32[N, M]) -> Y: f32[N, M] {
  m[i] = max(j: X[i, j])
  e[i, j] = exp(X[i, j] - m[i])
  Y[i, j] = e[i, j] / sum(k: e[i, k])
}""")
    with pytest.raises(ScheduleError) as e:
        tx.schedule(op).online_softmax("m", 4, reassoc=True)
    assert e.value.message == (
        "`e` is used by `Y` outside of a sum along `j` of which it is a factor, so it is needed relative to "
        "the "
        "last maximum"
    )


def test_a_program_is_kept_by_steps():
    """A kernel knows its equations after other steps, too; they are not compared with it."""
    s = tx.schedule(ROWS)
    assert isinstance(s.kernel.program, Program)
    assert s.split("m.i", 2).kernel.program is s.naive.program
