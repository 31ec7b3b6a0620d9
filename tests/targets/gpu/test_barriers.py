"""Threads of a block that share memory: where barriers stand, and that a missing one shows."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
import pytest

from tests.runtime.emulator.test_fibers import SM80, emulated
from tests.targets.cases import Case, assert_close, problem
from texpr.ir.build import add, compare, floordiv, mul, sub
from texpr.ir.dtypes import F32
from texpr.ir.expr import Expr, Read, Tensor, Var, index, plain
from texpr.ir.interpreter.loop import interpret_kernel
from texpr.ir.loop import Alloc, For, If, Kernel, Stmt, Store
from texpr.ir.loop_kind import SERIAL, parse_loop_kind
from texpr.runtime.emulator import fibers
from texpr.support.errors import CompileError
from texpr.targets import Artifact, emit_llvm, plan
from texpr.targets.gpu.emitter import BARRIER, WARP_BARRIER

CALL = f"  call void @{BARRIER}(i32 0)\n"
OF_WARP = f"  call void @{WARP_BARRIER}(i32 -1)\n"
ROWS = Case("rows", "op rows(X: f32[M, N]) -> Y: f32[M] { Y[i] = sum(j: X[i, j]) }", ((5, 100),))
BLOCK_SUM = """
split("j", 64)
rfactor("ji", reassoc=True)
bind("i", "block.x")
bind("ji", "thread.x")
"""
WARP_SUM = BLOCK_SUM.replace("64", "32")


def loop(var: Var, extent: int, kind: str, *body: Stmt) -> For:
    return For(var, index(extent), body, parse_loop_kind(kind) or SERIAL)


def tensor(name: str, *shape: int, scope: str = "global") -> Tensor:
    return Tensor(name, F32, plain(*map(index, shape)), scope=scope)


def kernel(inputs: list[Tensor], outputs: list[Tensor], *body: Stmt) -> Kernel:
    return Kernel("k", tuple(inputs), tuple(outputs), (), (), body)


def check(k: Kernel, change: Callable[[str], str] = lambda text: text) -> None:
    """Compare the emulator with the interpreter of kernels."""
    generator = np.random.default_rng(1)
    inputs = [generator.standard_normal([n.value for n in t.shape]).astype(np.float32) for t in k.inputs]  # type: ignore[attr-defined]
    expected = interpret_kernel(k, inputs, {})
    text, launches = emit_llvm(k, SM80)
    ready = plan(Artifact(SM80, "", "", "", b"", launches), {})
    for backwards in (False, True):
        outputs = [np.full_like(e, np.nan) for e in expected]
        fibers.run(change(text), ready.launches, inputs, outputs, [], [], backwards=backwards)
        assert_close(outputs, expected)


def barriers(k: Kernel) -> int:
    return emit_llvm(k, SM80)[0].count(CALL)


def without_barrier(which: int, call: str = CALL) -> Callable[[str], str]:
    """The text with one of its barriers taken out."""

    def change(text: str) -> str:
        parts = text.split(call)
        assert len(parts) > which + 1
        return call.join(parts[: which + 1]) + call.join(parts[which + 1 :])

    return change


def test_a_sum_by_a_block():
    assert_close(emulated(ROWS, BLOCK_SUM), problem(ROWS).expected)


def test_a_sum_without_its_barrier():
    found = emulated(ROWS, BLOCK_SUM, without_barrier(0))
    assert np.isnan(found[0]).all(), "the others' parts are not there yet: shared memory holds NaNs"


def test_only_the_barriers_that_are_needed():
    texts: list[str] = []
    emulated(ROWS, BLOCK_SUM, lambda text: texts.append(text) or text)
    assert texts[0].count(CALL) == 1, (
        "each thread adds to its own part: they meet once, before the sum of parts"
    )


def test_threads_of_one_warp_wait_for_no_other():
    texts: list[str] = []
    assert_close(emulated(ROWS, WARP_SUM, lambda text: texts.append(text) or text), problem(ROWS).expected)
    assert (texts[0].count(CALL), texts[0].count(OF_WARP)) == (0, 1)
    assert np.isnan(emulated(ROWS, WARP_SUM, without_barrier(0, OF_WARP))[0]).all()


def turned(of_rows: bool) -> Kernel:
    """Y[a, i] = T[a, 31 - i], then T[a, i] of the same row or Y[a, i] += T[1 - a, i] of the
    other one.
    """
    x, y, t = tensor("X", 2, 32), tensor("Y", 2, 32), tensor("T", 2, 32, scope="stack")
    b, other = Var("b"), lambda a: a if of_rows else sub(index(1), a)

    def rows(body: Callable[[Var, Var], Stmt]) -> For:
        a, i = Var("a"), Var("i")
        return loop(a, 2, "thread.y", loop(i, 32, "thread.x", body(a, i)))

    return kernel(
        [x],
        [y],
        loop(
            b,
            1,
            "block.x",
            Alloc(t),
            rows(lambda a, i: Store(t, (a, i), Read(x, (a, i)))),
            rows(lambda a, i: Store(y, (a, i), Read(t, (a, sub(index(31), i))))),
            rows(lambda a, i: Store(y, (a, i), Read(t, (other(a), i)), "add")),
        ),
    )


@pytest.mark.parametrize(("of_rows", "block", "warp"), [(True, 0, 1), (False, 1, 1)])
def test_warps_meet_where_they_use_each_others_elements(of_rows: bool, block: int, warp: int):
    """What a warp has met for, the block may still have to meet for."""
    k = turned(of_rows)
    text = emit_llvm(k, SM80)[0]
    assert (text.count(CALL), text.count(OF_WARP)) == (block, warp)
    check(k)
    for call in [*[CALL] * block, *[OF_WARP] * warp]:
        with pytest.raises(AssertionError, match="Not equal"):
            check(k, without_barrier(0, call))


def mirror() -> Kernel:
    """Y[8*o + i] += T[7 - i] with T a tile of X, tile after tile in one buffer."""
    x, y, t = tensor("X", 4, 8), tensor("Y", 8), tensor("T", 8, scope="stack")
    b, o, i, j, z = (Var(n) for n in "boijz")
    return kernel(
        [x],
        [y],
        loop(
            b,
            1,
            "block.x",
            Alloc(t),
            loop(z, 8, "thread.x", Store(y, (z,), Read(x, (index(0), z)))),
            loop(
                o,
                4,
                "serial",
                loop(i, 8, "thread.x", Store(t, (i,), Read(x, (o, i)))),
                loop(j, 8, "thread.x", Store(y, (j,), Read(t, (sub(index(7), j),)), "add")),
            ),
        ),
    )


def test_a_tile_is_read_before_it_is_overwritten():
    check(mirror())
    assert barriers(mirror()) == 2


@pytest.mark.parametrize("which", (0, 1))
def test_each_barrier_of_the_tile_matters(which: int):
    with pytest.raises(AssertionError, match="Not equal"):
        check(mirror(), without_barrier(which))


def test_a_neighbour_that_runs_first():
    """Without its barrier this is right if threads run in order: only the other order shows it."""
    x, y, t = tensor("X", 8), tensor("Y", 8), tensor("T", 8, scope="stack")
    b, i, j = (Var(n) for n in "bij")
    fill = loop(i, 8, "thread.x", Store(t, (i,), Read(x, (i,))))
    k = kernel(
        [x],
        [y],
        loop(
            b,
            1,
            "block.x",
            Alloc(t),
            fill,
            loop(j, 8, "thread.x", Store(y, (j,), Read(t, (floordiv(j, index(2)),)))),
        ),
    )
    check(k)
    with pytest.raises(AssertionError, match="Not equal"):
        check(k, without_barrier(0))


def test_threads_that_miss_a_barrier():
    def change(text: str) -> str:
        some = "  %some = icmp ult i64 %v2, 3\n  br i1 %some, label %meet, label %apart\n"
        return text.replace(CALL, f"{some}meet:\n{CALL}  br label %apart\napart:\n")

    with pytest.raises(AssertionError) as error:
        emulated(ROWS, BLOCK_SUM, change)
    assert "texpr_rows_0, block (0, 0, 0): 61 threads ended, 3 threads wait at barrier 1" in str(error.value)


def test_a_shorter_loop_over_threads():
    """Threads beyond the extent wait with the others."""
    x, y, t = tensor("X", 8), tensor("Y", 8), tensor("T", 8, scope="stack")
    b, i, j, z = (Var(n) for n in "bijz")
    check(
        kernel(
            [x],
            [y],
            loop(
                b,
                1,
                "block.x",
                Alloc(t),
                loop(z, 8, "thread.x", Store(t, (z,), Read(x, (z,)))),
                loop(i, 3, "thread.x", Store(t, (i,), Read(t, (add(i, index(5)),)))),
                loop(j, 8, "thread.x", Store(y, (j,), Read(t, (sub(index(7), j),)))),
            ),
        )
    )


def test_conditions_around_threads():
    """A condition that differs between threads guards their work, not the barriers inside it."""
    x, y, t = tensor("X", 4, 4), tensor("Y", 4, 4), tensor("T", 4, scope="stack")
    a, i, j = (Var(n) for n in "aij")
    fill = loop(i, 4, "thread.x", Store(t, (i,), Read(x, (a, i))))
    use = loop(j, 4, "thread.x", Store(y, (a, j), Read(t, (sub(index(3), j),))))
    z, w = Var("z"), Var("w")
    clear = loop(z, 4, "thread.y", loop(w, 4, "thread.x", Store(y, (z, w), Read(x, (z, w)))))
    check(
        kernel([x], [y], clear, loop(a, 4, "thread.y", Alloc(t), If(compare("<", a, index(3)), (fill, use))))
    )


def test_a_condition_that_reads():
    """Only threads that take part may read the condition: the others' indices lie outside."""
    x, y, t = tensor("X", 3), tensor("Y", 4, 4), tensor("T", 4, scope="stack")
    a, i, j, z, w = (Var(n) for n in "aijzw")
    zero = Read(x, (index(0),))
    fill = loop(i, 4, "thread.x", Store(t, (i,), Read(x, (index(1),))))
    use = loop(j, 4, "thread.x", Store(y, (a, j), Read(t, (sub(index(3), j),))))
    clear = loop(z, 4, "thread.y", loop(w, 4, "thread.x", Store(y, (z, w), zero)))
    inner = If(compare("<", zero, Read(x, (a,))), (fill, use))
    check(kernel([x], [y], clear, loop(a, 4, "thread.y", Alloc(t), If(compare("<", a, index(3)), (inner,)))))


def test_three_axes():
    x, y = tensor("X", 2, 3, 4), tensor("Y", 2, 3, 4)
    a, b, c = (Var(n) for n in "abc")
    at: tuple[Expr, ...] = (a, b, c)
    for prefix in ("block", "thread"):
        check(
            kernel(
                [x],
                [y],
                loop(
                    a,
                    2,
                    f"{prefix}.z",
                    loop(b, 3, f"{prefix}.y", loop(c, 4, f"{prefix}.x", Store(y, at, Read(x, at)))),
                ),
            )
        )


def refusal(k: Kernel) -> str:
    with pytest.raises(CompileError) as error:
        emit_llvm(k, SM80)
    return str(error.value)


def test_shared_memory_has_an_end():
    x, y, t = tensor("X", 64), tensor("Y", 64), tensor("T", 64000, scope="stack")
    b, i, j = (Var(n) for n in "bij")
    body = (
        Alloc(t),
        loop(i, 64, "thread.x", Store(t, (mul(i, index(250)),), Read(x, (i,)))),
        loop(j, 64, "thread.x", Store(y, (j,), Read(t, (mul(j, index(250)),)))),
    )
    assert refusal(kernel([x], [y], loop(b, 1, "block.x", *body))) == (
        "error[target]: T needs 256000 bytes of shared memory; there are 166912\n  help: use smaller tiles"
    )


def test_threads_that_would_not_meet():
    x, y, t = tensor("X", 4), tensor("Y", 4), tensor("T", 4, scope="stack")
    a, k, i, j = (Var(n) for n in "akij")
    body = For(
        k,
        a,
        (
            loop(i, 4, "thread.x", Store(t, (i,), Read(x, (i,)))),
            loop(j, 4, "thread.x", Store(y, (j,), Read(t, (a,)))),
        ),
    )
    assert refusal(kernel([x], [y], loop(a, 4, "thread.y", Alloc(t), body))) == (
        "error[target]: the extent of `k` differs between threads, which meet inside it\n  help: bind an "
        "inner loop to the threads instead"
    )


def test_statements_beside_a_loop_over_blocks():
    x, y = tensor("X", 4), tensor("Y", 4)
    a, b = Var("a"), Var("b")
    inner = loop(b, 4, "block.x", Store(y, (b,), Read(x, (b,))))
    assert refusal(
        kernel([x], [y], loop(a, 1, "block.y", Store(y, (index(0),), Read(x, (index(0),))), inner))
    ) == (
        "error[target]: `b`, bound to block.x, is not the only statement in the loop around it\n"
        "  help: blocks do not wait for each other: give the other statements a nest of their own"
    )


def test_one_buffer_for_all_threads():
    x, y, t = tensor("X", 4), tensor("Y", 4), tensor("T", 1)
    i = Var("i")
    body = (Store(t, (index(0),), Read(x, (i,))), Store(y, (i,), Read(t, (index(0),))))
    shared = Kernel("k", (x,), (y,), (t,), (), (loop(i, 4, "thread.x", *body),))
    assert refusal(shared) == (
        "error[target]: each iteration of `i`, bound to thread.x, writes its own T, and there is one of it\n"
        "  help: put unrolled and vectorized loops inside the bound ones"
    )
    check(kernel([x], [y], loop(i, 4, "thread.x", Alloc(t), *body)))
