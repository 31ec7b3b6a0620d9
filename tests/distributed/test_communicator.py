"""Collectives above MPI: arguments, dtypes, orders of sums, errors. Ranks are threads here."""

from __future__ import annotations

import copy
import pickle
import threading
from time import sleep

import ml_dtypes
import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

import texpr as tx
from tests.distributed.thread_world import run_ranks
from tests.profiles import examples
from texpr import distributed as dist
from texpr import nn
from texpr.distributed.core_shares import share_of

FLOATS = ("float32", "float64", "float16", ml_dtypes.bfloat16)
NUMBERS = (*FLOATS, "int8", "int16", "int32", "int64", "uint8", "uint16", "uint32", "uint64")


def values(rank: int, dtype: object = "float32", shape: tuple[int, ...] = (5, 3)) -> np.ndarray:
    drawn = np.random.default_rng(rank).normal(size=shape) * 10
    return drawn.astype(np.int64).astype(dtype) if np.dtype(dtype).kind in "iu" else drawn.astype(dtype)


def same(results: list) -> np.ndarray:
    """The one result of all ranks, bit for bit."""
    for each in results:
        if isinstance(each, Exception):
            raise each
        assert each.dtype == results[0].dtype and each.tobytes() == results[0].tobytes()
    return results[0]


@pytest.mark.parametrize("dtype", NUMBERS, ids=str)
@pytest.mark.parametrize("op", ["sum", "min", "max", "prod"])
@pytest.mark.parametrize("reduction", ["fast", "ordered"])
def test_allreduce_of_dtypes(dtype, op, reduction):
    found = same(run_ranks(3, lambda c: c.allreduce(values(c.rank, dtype), op, reduction)))
    rows = [values(rank, dtype) for rank in range(3)]
    wide = np.float64 if np.dtype(dtype).kind not in "iu" else np.dtype(dtype)
    with np.errstate(over="ignore"):
        exact = {"sum": np.sum, "min": np.min, "max": np.max, "prod": np.prod}[op](
            np.stack(rows).astype(wide), axis=0, **({"dtype": wide} if op in ("sum", "prod") else {})
        )
    assert found.dtype == dtype and found.shape == (5, 3)
    if wide != np.float64:
        np.testing.assert_array_equal(found, exact)
    else:
        eps = float(ml_dtypes.finfo(dtype).eps) if dtype is ml_dtypes.bfloat16 else np.finfo(dtype).eps
        magnitude = np.sum(np.abs(np.stack(rows).astype(np.float64)), axis=0)
        bound = 2 * eps * (magnitude if op == "sum" else np.abs(exact))
        assert (np.abs(found.astype(np.float64) - exact) <= bound).all()


@pytest.mark.parametrize("dtype", FLOATS, ids=str)
def test_mean_is_the_sum_over_the_size(dtype):
    found = same(run_ranks(2, lambda c: c.allreduce(values(c.rank, dtype))))
    total = sum(values(rank, dtype).astype(np.float64) for rank in range(2))
    np.testing.assert_allclose(
        found.astype(np.float64), total / 2, rtol=8e-3 if dtype not in FLOATS[:2] else 1e-6
    )


@pytest.mark.parametrize("dtype, large", [("float16", 2048), (ml_dtypes.bfloat16, 256)], ids=str)
@pytest.mark.parametrize("reduction", ["fast", "ordered"])
def test_floats_of_16_bits_are_rounded_once(dtype, large, reduction):
    """In 16 bits, large + 1 is large."""

    def call(comm):
        return comm.allreduce(np.array([large if comm.rank == 0 else 1], dtype), "sum", reduction)

    assert [float(x[0]) for x in run_ranks(3, call)] == [large + 2] * 3


@examples(40)
@given(st.integers(1, 4), st.integers(0, 40), st.sampled_from(["float32", "float64"]), st.data())
def test_ordered_sums_are_those_of_one_process(size, count, dtype, data):
    """rank 0 + rank 1, then + rank 2, ..., as a loop that accumulates: bit for bit.

    Which NaN a sum of two NaNs is, NumPy decides by the place of an element: they count as one.
    """
    width = np.finfo(dtype).bits
    draw = st.lists(st.floats(width=width), min_size=count, max_size=count)
    rows = [np.array(data.draw(draw), dtype) for _ in range(size)]
    found = same(run_ranks(size, lambda c: c.allreduce(rows[c.rank], "sum", "ordered")))
    total = rows[0].copy()
    with np.errstate(all="ignore"):
        for row in rows[1:]:
            total += row
    one, other = (np.where(np.isnan(x), x.dtype.type("nan"), x) for x in (found, total))
    assert one.tobytes() == other.tobytes()


@pytest.mark.parametrize("size", [1, 2, 3, 4])
@pytest.mark.parametrize("rows", [0, 1, 3, 4, 7])
@pytest.mark.parametrize("reduction", ["fast", "ordered"])
def test_reduce_scatter_is_the_part_of_allreduce(size, rows, reduction):
    options = {"op": "mean", "reduction": reduction}
    whole = same(run_ranks(size, lambda c: c.allreduce(values(c.rank, shape=(rows, 2)), **options)))
    parts = run_ranks(size, lambda c: c.reduce_scatter(values(c.rank, shape=(rows, 2)), **options))
    for part, expected in zip(parts, np.array_split(whole, size), strict=True):
        np.testing.assert_array_equal(part, expected)


@pytest.mark.parametrize("dtype", [*NUMBERS, "bool"], ids=str)
def test_broadcast_and_allgather_of_dtypes(dtype):
    assert (
        same(run_ranks(3, lambda c: c.broadcast(values(c.rank, dtype), 1))).tobytes()
        == values(1, dtype).tobytes()
    )
    found = same(run_ranks(3, lambda c: c.allgather(values(c.rank, dtype, (c.rank, 2)))))
    expected = np.concatenate([values(rank, dtype, (rank, 2)) for rank in range(3)])
    assert found.dtype == dtype and found.tobytes() == expected.tobytes()


@pytest.mark.parametrize("shape", [(0,), (3, 0), (0, 2)])
def test_empty_arrays(shape):
    empty = np.zeros(shape, np.float32)
    assert same(run_ranks(2, lambda c: c.allreduce(empty))).shape == shape
    assert same(run_ranks(2, lambda c: c.broadcast(empty))).shape == shape
    assert same(run_ranks(2, lambda c: c.allgather(empty))).shape == (2 * shape[0], *shape[1:])
    assert run_ranks(2, lambda c: c.reduce_scatter(empty).shape) == [
        (-(-shape[0] // 2), *shape[1:]),
        (shape[0] // 2, *shape[1:]),
    ]


LAYOUTS = {
    "transposed": lambda a: a.T,
    "strided": lambda a: a[::2, ::-1],
    "fortran": np.asfortranarray,
    "big-endian": lambda a: a.astype(">f8"),
    "empty": lambda a: a[:0],
    "scalar": lambda a: a[1, 2],
}


@pytest.mark.parametrize("layout", LAYOUTS)
def test_non_contiguous_arrays_and_other_byte_orders(layout):
    def laid(rank):
        return LAYOUTS[layout](values(rank, "float64", (6, 4)))

    total = same(run_ranks(2, lambda c: c.allreduce(laid(c.rank), "sum")))
    np.testing.assert_array_equal(total, laid(0) + laid(1))
    np.testing.assert_array_equal(same(run_ranks(2, lambda c: c.broadcast(laid(c.rank)))), laid(0))


def test_arguments_are_left_as_they_are():
    def call(comm):
        a = values(comm.rank)
        comm.allreduce(a), comm.broadcast(a), comm.reduce_scatter(a), comm.allgather(a)
        return a.tobytes() == values(comm.rank).tobytes()

    assert run_ranks(2, call) == [True, True]


def test_tensors_and_parameters_give_tensors():
    def call(comm):
        x = tx.tensor(values(comm.rank)) * 2
        half = tx.tensor(values(comm.rank)).astype("bf16")
        parameter = nn.Parameter(values(comm.rank))
        return [
            comm.allreduce(x, "sum"),
            comm.allreduce(half, "max"),
            comm.broadcast(parameter),
            comm.allgather(x),
        ]

    for found in run_ranks(2, call):
        assert [type(t) for t in found] == [tx.Tensor] * 4
        assert [t.dtype.name for t in found] == ["f32", "bf16", "f32", "f32"]
        np.testing.assert_array_equal(found[0].numpy(), values(0) * 2 + values(1) * 2)
        np.testing.assert_array_equal(found[2].numpy(), values(0))
        assert found[3].shape == (10, 3)


def test_numbers():
    assert [float(x) for x in run_ranks(2, lambda c: c.allreduce(c.rank + 0.5))] == [1.0, 1.0]
    assert run_ranks(2, lambda c: c.allgather(c.rank).tolist()) == [[0, 1], [0, 1]]


def test_collectives_inside_of_traced_functions_are_refused():
    comm = dist.Communicator()
    with pytest.raises(tx.Error) as error:
        tx.jit(lambda x: comm.allreduce(x))(tx.ones(3))
    assert str(error.value).startswith(
        "error[symbolic]: allreduce of a value that a traced function computes"
    )


@pytest.mark.parametrize(
    "name, help",
    [
        ("all_reduce", "did you mean `comm.allreduce(a)`?"),
        ("Get_rank", "did you mean `comm.rank`?"),
        ("allreduc", "did you mean `allreduce`?"),
        (
            "no_sync",
            "`nn.Trainer(..., accumulate=4)` sends gradients once per update; in a loop of one's own they add "
            "up in `grad` until you call `comm.allreduce`",
        ),
    ],
)
def test_names_of_other_libraries(name, help):
    with pytest.raises(AttributeError) as error:
        getattr(dist.Communicator(), name)
    assert str(error.value) == f"Communicator has no `{name}`: {help}"


@pytest.mark.parametrize(
    "name, help",
    [
        ("allreduce", "it is a method: `comm = dist.init()`, `comm.allreduce(a)`"),
        ("DistributedDataParallel", "did you mean `nn.Trainer(..., comm=comm)`?"),
        (
            "FSDP",
            "every rank holds all parameters; examples/split_layers.py splits layers over ranks by hand",
        ),
        ("Join", "ranks that have no batch left send zeros by themselves"),
        ("new_group", "did you mean `dist.init(group)`?"),
        (
            "nccl",
            'arrays of several processes lie on CPUs, not on GPUs: `dist.init("mpi")` or `dist.init("gloo")`',
        ),
        (
            "ParameterServer",
            "there are no parameter servers and no remote calls: gradients are reduced over all ranks, "
            "`nn.Trainer(..., comm=comm)`",
        ),
    ],
)
def test_names_of_other_libraries_in_the_package(name, help):
    with pytest.raises(AttributeError) as error:
        getattr(dist, name)
    assert str(error.value).endswith(f"has no `{name}`: {help}")


@pytest.mark.parametrize(
    "machines, shares",
    [
        ([("a", range(4), 4)] * 2, [2, 2]),
        ([("a", range(4), 4)] * 3, [1, 1, 1]),
        ([("a", (0, 1), 2), ("a", (2, 3), 2)], [2, 2]),
        ([("a", range(8), 8), ("b", range(4), 4)], [8, 4]),
        ([("a", range(64), 4)] * 2, [2, 2]),
        ([("a", (0,), 1)] * 2, [1, 1]),
    ],
    ids=["shared", "three on four", "pinned", "two machines", "a quota", "one core"],
)
def test_each_rank_uses_its_share_of_the_cores(machines, shares):
    assert [share_of(machines, rank) for rank in range(len(machines))] == shares


def test_truth_values():
    assert [bool(x) for x in run_ranks(2, lambda c: c.allreduce(c.rank == 1, "min"))] == [False, False]
    assert [bool(x) for x in run_ranks(2, lambda c: c.allreduce(c.rank == 1, "max"))] == [True, True]


def test_least_and_greatest_are_nan_where_one_rank_has_nan():
    def call(comm):
        return np.array(comm.allreduce(np.float32([np.nan, 1, 2] if comm.rank == 1 else [0, 3, 1]), "min"))

    np.testing.assert_array_equal(same(run_ranks(3, call)), np.float32([np.nan, 1, 1]))


def test_objects():
    assert run_ranks(3, lambda c: c.broadcast_object({"rank": c.rank}, 2)) == [{"rank": 2}] * 3
    assert run_ranks(3, lambda c: c.gather_object("x" * c.rank)) == [["", "x", "xx"]] * 3


def test_a_world_of_one():
    comm = dist.Communicator()
    a = values(0)
    for found in (comm.allreduce(a), comm.broadcast(a), comm.allgather(a), comm.reduce_scatter(a)):
        np.testing.assert_array_equal(found, a)
        assert found is not a and not np.shares_memory(found, a)
    comm.barrier(timeout=1)
    comm.compare("the plan", "text")
    assert repr(comm) == "Communicator(rank=0, size=1)"
    assert (comm.local_rank, comm.local_size, comm.is_main) == (0, 1, True)


MISMATCHES = {
    "shapes": (
        lambda c: c.allreduce(np.zeros(3 + c.rank, "f4")),
        [
            'rank 0: allreduce(op="mean", reduction="fast") of f32[3]',
            'rank 1: allreduce(op="mean", reduction="fast") of f32[4]',
        ],
    ),
    "dtypes": (
        lambda c: c.broadcast(np.zeros(3, "f4" if c.rank else "f8")),
        ["rank 0: broadcast(root=0) of f64[3]", "rank 1: broadcast(root=0) of f32[3]"],
    ),
    "widths": (
        lambda c: c.allgather(np.zeros((2, c.rank), "f4")),
        ["rank 0: allgather of f32[*, 0]", "rank 1: allgather of f32[*, 1]"],
    ),
    "calls": (
        lambda c: c.barrier() if c.rank else c.gather_object(1),
        ["rank 0: gather_object()", "rank 1: barrier()"],
    ),
    "roots": (
        lambda c: c.broadcast_object(1, c.rank),
        ["rank 0: broadcast_object(root=0)", "rank 1: broadcast_object(root=1)"],
    ),
}


@pytest.mark.parametrize("name", MISMATCHES)
def test_ranks_that_differ_are_an_error(name):
    call, lines = MISMATCHES[name]
    for error in run_ranks(2, call):
        assert isinstance(error, dist.DistributedError) and error.ranks == (1,)
        assert str(error) == "\n".join(
            [
                "error[ranks]: the ranks do not call the same collective",
                *(f"    {line}" for line in lines),
                "  help: let every rank make the same calls in the same order, with arrays of one shape and dtype",
            ]
        )


def test_long_shapes_are_told_apart():
    def call(comm):
        return comm.allreduce(np.zeros((1,) * 60 + (1 + comm.rank,), "f4"))

    assert all(isinstance(e, dist.DistributedError) for e in run_ranks(2, call))


def test_missing_ranks_are_named():
    def call(comm):
        if comm.rank in (1, 3):
            return None
        comm.barrier(timeout=0.2)

    for rank in (0, 2):
        error = run_ranks(4, call)[rank]
        assert str(error) == (
            "error[ranks]: barrier: ranks 1 and 3 did not come within 0.2 s\n"
            "  help: see what these ranks say: they failed, hang, or do not make this call; a longer time is "
            "dist.init(timeout=...)"
        )
        assert error.ranks == (1, 3)


@pytest.mark.parametrize(
    "call, message",
    [
        (lambda c: c.allreduce(1.0, "average"), "op is 'average', expected mean, sum, min, max or prod"),
        (lambda c: c.allreduce(1.0, "sum", "slow"), "reduction is 'slow', expected fast or ordered"),
        (lambda c: c.allreduce(np.arange(3)), "allreduce: the mean of i64 is no integer"),
        (lambda c: c.allreduce(np.array([True]), "sum"), "allreduce: the sum of truth values"),
        (
            lambda c: c.allreduce(np.array(["a"])),
            "allreduce: the array has dtype <U1, which texpr does not have",
        ),
        (
            lambda c: c.allreduce(np.zeros(2, complex)),
            "the array has dtype complex128, which texpr does not have",
        ),
        (lambda c: c.allreduce([[1], [1, 2]]), "allreduce: expected an array, a tensor or a number: "),
        (lambda c: c.allreduce(np.ma.masked_array([1.0])), "allreduce: the array is masked"),
        (lambda c: c.broadcast(1.0, 1), "broadcast: root is 1, expected a rank from 0 to 0"),
        (lambda c: c.broadcast_object(1.0, -1), "broadcast_object: root is -1, expected a rank from 0 to 0"),
        (lambda c: c.reduce_scatter(1.0), "reduce_scatter: the array has no axis to be split"),
        (lambda c: c.barrier(timeout=0), "barrier: timeout is 0, expected seconds above 0"),
        (lambda c: dist.init("nccl"), "there is no backend 'nccl'"),
        (lambda c: dist.init("elastic"), "goes on from the last checkpoint"),
    ],
)
def test_wrong_arguments(call, message):
    with pytest.raises(tx.Error) as error:
        call(dist.Communicator())
    assert message in str(error.value)


REFUSED = {
    "nccl": 'arrays of several processes lie on CPUs, not on GPUs: `dist.init("mpi")` or `dist.init("gloo")`',
    "elastic": "a world keeps its size; `python -m texpr launch --restarts 3` goes on from the last checkpoint",
    "fsdp": "every rank holds all parameters; examples/split_layers.py splits layers over ranks by hand",
    "gRPC": 'arrays move by MPI, `dist.init()`, or by torch\'s gloo, `dist.init("gloo")`',
    "ps": "there are no parameter servers and no remote calls: gradients are reduced over all ranks, "
    "`nn.Trainer(..., comm=comm)`",
}


@pytest.mark.parametrize("name", REFUSED)
def test_backends_that_there_are_not(name: str):
    with pytest.raises(tx.CallError) as error:
        dist.init(name)
    assert str(error.value) == (
        f'error[arguments]: dist.init: there is no backend {name!r}, expected "mpi", "gloo" or a '
        f"communicator\n  help: {REFUSED[name]}"
    )


PLAN = "matmul 3\nrelu 3\nadd 4"


@pytest.mark.parametrize(
    "other, difference",
    [
        ("matmul 3\nrelu 5\nadd 4", "line 2 is `relu 5`, that of rank 0 `relu 3`"),
        (PLAN + "\nsub", "line 4 is `sub`, rank 0 ends there"),
        ("matmul 3", "line 2 is missing: `relu 3`, which rank 0 has"),
        (PLAN + "\n" + "x" * 200 + "1" + "y" * 200, "line 4 is `" + "x" * 160 + "...`, rank 0 ends there"),
    ],
)
def test_compare_names_the_first_difference(other, difference):
    for error in run_ranks(3, lambda c: c.compare("the plan", other if c.rank == 1 else PLAN)):
        assert error.ranks == (1,)
        assert str(error) == (
            "error[ranks]: rank 1 differs from rank 0 in the plan\n"
            f"    rank 1: {difference}\n"
            "  help: give all ranks the same model, arrays, options and versions; a loader with shard=comm shares out the data"
        )
    assert run_ranks(3, lambda c: c.compare("the plan", PLAN)) == [None] * 3


def test_long_lines_are_shown_where_they_differ():
    lines = ["x" * 200 + digit + "y" * 200 for digit in "12"]
    for error in run_ranks(2, lambda c: c.compare("the plan", lines[c.rank])):
        shown = [f"`...{'x' * 80}{digit}{'y' * 79}...`" for digit in "21"]
        assert f"rank 1: line 1 is {shown[0]}, that of rank 0 {shown[1]}\n" in str(error)


def test_copies_are_of_the_same_ranks_and_pickles_are_refused():
    layer = nn.Linear(2, 1)
    layer.comm = comm = dist.Communicator()
    assert copy.copy(comm) is copy.deepcopy(layer).comm is comm
    with pytest.raises(tx.CallError) as error:
        pickle.dumps({"comm": comm})
    assert str(error.value) == (
        "error[type]: a Communicator belongs to the process of its rank, and cannot be pickled\n"
        "  help: call dist.init() in the other process"
    )


def test_the_thread_reduces_in_order():
    def call(comm):
        buffers = [np.full(4, 10.0 * k + comm.rank) for k in range(3)]
        pending = [comm.thread.submit(b, "mean") for b in buffers]
        total = comm.allreduce(1.0, "sum")  # waits for the thread first
        assert all(p.is_done for p in pending)
        assert all(p.ended <= after.started for p, after in zip(pending, pending[1:]))
        return total, [p.wait()[0] for p in pending]

    assert run_ranks(2, call) == [(2, [0.5, 10.5, 20.5])] * 2


def test_the_caller_goes_on_while_the_thread_reduces():
    class Slow(dist.Communicator):
        gate = threading.Event()

        def reduce_into(self, buffer, op="sum", reduction="fast"):
            assert self.gate.wait(10)
            buffer += 1

    comm = Slow()
    pending = comm.thread.submit(np.zeros(2))
    assert not pending.is_done
    comm.gate.set()
    assert pending.wait().tolist() == [1, 1] and pending.is_done


def test_a_failure_of_the_thread_is_raised_where_it_is_waited_for():
    class Broken(dist.Communicator):
        def reduce_into(self, buffer, op="sum", reduction="fast"):
            raise OSError("the network is down")

    comm = Broken()
    pending = comm.thread.submit(np.zeros(2))
    with pytest.raises(OSError, match="the network is down"):
        pending.wait()
    with pytest.raises(OSError, match="the network is down"):
        comm.thread.submit(np.zeros(2))
    with pytest.raises(OSError, match="the network is down"):
        comm.thread.drain()


def test_a_reduction_that_does_not_end_is_an_error():
    class Stuck(dist.Communicator):
        def reduce_into(self, buffer, op="sum", reduction="fast"):
            sleep(1)

    comm = Stuck(timeout=0.1)
    pending = comm.thread.submit(np.zeros(2))
    with pytest.raises(dist.DistributedError, match="an allreduce of 16 bytes has not ended within 0.1 s"):
        pending.wait()
    comm.timeout = 0.2  # who waits again, waits no second time
    with pytest.raises(dist.DistributedError, match="has not ended within 0.1 s"):
        pending.wait()
