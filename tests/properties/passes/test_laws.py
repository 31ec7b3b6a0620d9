"""Every pass keeps what a program or a kernel computes, bit for bit, and gives a well-formed
one.
"""

from __future__ import annotations

from collections.abc import Callable
from unittest.mock import patch

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from tests.compare import assert_same_bits
from tests.profiles import examples
from tests.properties.schedule.drawing import PROGRAMS, Scheduled, check, kernels, random_arrays
from tests.strategies import Case, cases
from texpr.ir.dtypes import F64
from texpr.ir.expr import Const, Var
from texpr.ir.interpreter.loop import ORDERS, interpret_kernel
from texpr.ir.interpreter.tensor import interpret
from texpr.ir.loop import For, Kernel, Poll
from texpr.ir.loop_kind import UNROLLED
from texpr.ir.tensor import Invoke, Program
from texpr.ir.traverse import walk
from texpr.ir.verifier.program import verify_kernel, verify_program
from texpr.passes import desugar, hoist, inline_calls, lower, specialize
from texpr.passes.loop import insert_polls as polls
from texpr.passes.loop.hoist_invariants import invariants_first
from texpr.passes.loop.insert_polls import insert_polls
from texpr.passes.loop.legalize_vectors import chunk_vectors
from texpr.passes.loop.place_buffers import place
from texpr.passes.loop.simplify_guards import drop_guards
from texpr.passes.loop.unroll import expand_unrolled
from texpr.passes.loop.unswitch import unswitch
from texpr.passes.tensor.promote_to_f64 import widened

TENSOR_PASSES: list[Callable[[Program], Program]] = [inline_calls, desugar, hoist]
LOOP_PASSES: list[Callable[[Kernel], Kernel]] = [
    place,
    expand_unrolled,
    drop_guards,
    unswitch,
    lambda k: chunk_vectors(k, 16),
    lambda k: invariants_first(k, 8),
    insert_polls,
]


def same(program: Program, original: Program, arrays: list[np.ndarray]) -> None:
    verify_program(program)
    with np.errstate(all="ignore"):
        for found, expected in zip(interpret(program, arrays), interpret(original, arrays), strict=True):
            assert_same_bits(found, expected)


@given(cases())
@examples(30)
def test_tensor_passes(case: Case):
    program = case.program
    for one in TENSOR_PASSES:
        program = one(program)
        same(program, case.program, list(case.arrays))


@given(cases(), st.data())
@examples(30)
def test_specialize(case: Case, data: st.DataObject):
    known = {v: n for t, a in zip(case.program.inputs, case.arrays) for v, n in zip(t.shape, a.shape)}
    chosen = {v: n for v, n in known.items() if data.draw(st.booleans())}
    program = specialize(case.program, chosen)
    assert not set(program.sizes) & chosen.keys()
    same(program, case.program, list(case.arrays))


@given(cases(), st.sampled_from(ORDERS))
@examples(30)
def test_lower(case: Case, order: str):
    kernel = lower(case.program)
    verify_kernel(kernel)
    sizes = {v: n for t, a in zip(case.program.inputs, case.arrays) for v, n in zip(t.shape, a.shape)}
    check(Scheduled(case.program, sizes, kernel, []), kernel, list(case.arrays), order)


@given(kernels(), st.sampled_from(ORDERS), st.integers(0, 2))
@examples(60)
def test_loop_passes_in_their_order(case: Scheduled, order: str, seed: int):
    kernel, arrays = case.kernel, random_arrays(case.program, case.sizes, seed)
    with patch.object(polls, "WORK", 4):
        for one in LOOP_PASSES:
            kernel = one(kernel)
            verify_kernel(kernel)
            check(case, kernel, arrays, order)
    loops = [n for n in walk(kernel) if isinstance(n, For)]
    assert not any(n.kind == UNROLLED or isinstance(n.extent, Const) and n.extent.value == 0 for n in loops)


@given(kernels(), st.integers(0, len(LOOP_PASSES) - 1))
@examples(30)
def test_loop_passes_alone_and_twice(case: Scheduled, which: int):
    arrays = random_arrays(case.program, case.sizes)
    once = LOOP_PASSES[which](case.kernel)
    verify_kernel(once)
    check(case, once, arrays, "shuffled")
    if LOOP_PASSES[which] is place:
        return  # a placed buffer is no temporary of the kernel any more
    twice = LOOP_PASSES[which](once)
    verify_kernel(twice)
    check(case, twice, arrays, "reversed")


@pytest.mark.parametrize("name", sorted(PROGRAMS))
def test_operators_lower(name):
    program = PROGRAMS[name]
    sizes = dict(zip(program.sizes, (5, 4, 3)))
    kernel = lower(program)
    check(Scheduled(program, sizes, kernel, []), kernel, random_arrays(program, sizes))
    assert not any(isinstance(e, Invoke) for e in inline_calls(program).equations)


@pytest.mark.parametrize("name", ["matmul", "softmax", "scatter"])
def test_widened(name):
    program = widened(PROGRAMS[name])
    verify_program(program)
    assert {t.dtype for t in program.outputs} == {F64}
    sizes = dict(zip(program.sizes, (5, 4, 3)))
    narrow = random_arrays(PROGRAMS[name], sizes)
    wide = [a.astype(np.float64) if a.dtype.kind == "f" else a for a in narrow]
    (found,), (expected,) = interpret(program, wide), interpret(PROGRAMS[name], narrow)
    np.testing.assert_allclose(found, expected, rtol=1e-4, atol=1e-30)


def test_a_kernel_with_nothing_to_do_is_the_same_object():
    kernel = lower(PROGRAMS["matmul"])
    for one in (expand_unrolled, drop_guards, unswitch, lambda k: invariants_first(k, 8)):
        assert one(kernel) is kernel


def test_long_loops_are_polled():
    """Between two polls lies a bounded amount of work, whatever the shape of the nest; a
    symbolic loop may be long.
    """
    for program in PROGRAMS.values():
        for loop in walk(insert_polls(lower(program))):
            if isinstance(loop, For) and isinstance(loop.extent, Var):
                assert any(isinstance(n, Poll) for n in loop.body)
    for name, sizes in (
        ("sequence", (1 << 12, 1 << 12)),
        ("lag", (1 << 30,)),
        ("matmul", (512, 512, 512)),
        ("nothing", (1 << 30,)),
    ):
        program = PROGRAMS[name]
        kernel = insert_polls(lower(specialize(program, dict(zip(program.sizes, sizes)))))
        assert any(isinstance(n, Poll) for n in walk(kernel))
        for loop in walk(kernel):
            if (
                isinstance(loop, For)
                and isinstance(loop.extent, Const)
                and not any(isinstance(n, Poll) for n in walk(loop))
            ):
                assert polls.work(loop) <= polls.SHORT


@pytest.mark.parametrize("name", ["matmul", "sequence", "lag", "nothing"])
def test_what_is_short_for_all_sizes_is_short_for_each(name: str):
    """The bound of a symbolic kernel's work holds at every size up to the one it was asked for,
    and is near it.
    """
    program = PROGRAMS[name]
    symbolic = insert_polls(lower(program))
    for largest in (1, 7, 64, 5000):
        constant = lower(specialize(program, dict.fromkeys(program.sizes, largest)))
        assert all(isinstance(loop.extent, Const) for loop in walk(constant) if isinstance(loop, For))
        least, most = sum(map(polls.work, constant.body)), polls.most_work(symbolic, largest)
        assert least <= most <= 4 * least + 2 * polls.WORK
        assert most <= polls.most_work(symbolic, largest + 1)


def test_interpreters_agree_where_a_pass_makes_buffers():
    program = PROGRAMS["softmax"]
    sizes = dict(zip(program.sizes, (3, 5)))
    kernel = place(lower(program))
    arrays = random_arrays(program, sizes)
    np.testing.assert_array_equal(interpret_kernel(kernel, arrays, sizes)[0], interpret(program, arrays)[0])
