"""Collectives of a backend: what tests of threads say of the logic, on real ranks."""

import sys

import ml_dtypes
import numpy as np

from texpr import CallError
from texpr import distributed as dist

kind = {"mpi": dist.MPICommunicator, "gloo": dist.GlooCommunicator}[sys.argv[1]]
comm = dist.init("gloo" if sys.argv[1] == "gloo" else None, timeout=90)
rank, size = comm.rank, comm.size
assert dist.init() is comm and type(comm) is kind
assert comm.local_rank == rank and comm.local_size == size and comm.is_main == (rank == 0)


def values(rank, dtype="float32", shape=(5, 3)):
    return (np.random.default_rng(rank).normal(size=shape) * 10).astype(dtype)


for dtype in ("float32", "float64", "float16", ml_dtypes.bfloat16, "int8", "int64", "int16"):
    rows = [values(k, dtype) for k in range(size)]
    wide = [
        r.astype("float32" if np.dtype(dtype).itemsize == 2 and dtype != "int16" else dtype) for r in rows
    ]
    total = wide[0].copy()
    for row in wide[1:]:
        total += row
    found = comm.allreduce(rows[rank], op="sum", reduction="ordered")
    assert found.dtype == dtype and (found == total.astype(dtype)).all(), dtype
    fast = comm.allreduce(rows[rank], op="sum")
    np.testing.assert_allclose(fast.astype("float64"), total.astype("float64"), rtol=1e-2, atol=1e-2)
    same = comm.gather_object(fast.tobytes())
    assert len(set(same)) == 1, "all ranks have the same bits"
    assert (comm.allreduce(rows[rank], op="max") == np.max(rows, axis=0)).all()
    assert comm.broadcast(rows[rank], size - 1).tobytes() == rows[-1].tobytes()
    gathered = comm.allgather(rows[rank][:rank])
    assert (gathered == np.concatenate([r[:k] for k, r in enumerate(rows)])).all() and gathered.dtype == dtype
    part = comm.reduce_scatter(rows[rank], "sum", "ordered")
    assert (part == np.array_split(total.astype(dtype), size)[rank]).all()

holes = np.float32([np.nan, 1, 2] if rank == size - 1 else [0, 3, 1])
assert np.array_equal(comm.allreduce(holes, "min"), np.float32([np.nan, 1, 1]), equal_nan=True)
assert np.array_equal(comm.allreduce(holes, "max"), np.float32([np.nan, 3, 2]), equal_nan=True)
assert len(set(comm.gather_object(comm.allreduce(holes[::-1], "min").tobytes()))) == 1

big = np.full(3_000_001, rank + 0.25, np.float32)
for reduction in ("fast", "ordered"):
    assert (comm.allreduce(big, "mean", reduction) == np.float32((size - 1) / 2 + 0.25)).all()
assert (comm.reduce_scatter(big.reshape(-1, 1)) == np.float32((size - 1) / 2 + 0.25)).all()
assert comm.allreduce(np.zeros((0, 3), np.float32)).shape == (0, 3)
assert bool(comm.allreduce(rank == 0, "min")) is False and bool(comm.allreduce(rank == 0, "max")) is True
assert comm.broadcast_object({"rank": rank}) == {"rank": 0}
assert comm.gather_object("x" * 100_000 * rank)[-1] == "x" * 100_000 * (size - 1)
comm.barrier(timeout=20)

pending = [comm.thread.submit(np.full(1000, float(rank + k), np.float32), "mean") for k in range(20)]
assert [p.wait()[0] for p in pending] == [(size - 1) / 2 + k for k in range(20)]

if kind is dist.MPICommunicator:
    from mpi4py import MPI

    part = MPI.COMM_WORLD.Split(rank % 2)  # of the world
    between = part.Create_intercomm(0, MPI.COMM_WORLD, 1 - rank % 2)
    for wrong, said in ((MPI.COMM_NULL, "to which no rank belongs"), (between, "joins two groups")):
        try:
            dist.init(wrong)
        except CallError as error:
            assert said in str(error) and error.code == "arguments"
        else:
            raise AssertionError("a communicator of no group or of two was taken")
else:
    import torch.distributed as td

    groups = [td.new_group(list(range(k, size, 2))) for k in range(2)]
    part = groups[rank % 2]
half = kind(part, timeout=20)
assert half.size == len(range(rank % 2, size, 2)) and half.rank == rank // 2
assert half.allreduce(float(rank), "sum") == sum(range(rank % 2, size, 2))

for wrong in (lambda: comm.allreduce(np.zeros(3 + rank)), lambda: comm.compare("the plan", str(rank))):
    try:
        wrong()
    except dist.DistributedError as error:
        assert error.ranks == tuple(range(1, size))
    else:
        raise AssertionError("ranks that differ were not seen")
comm.barrier()
if comm.is_main:
    print(f"{size} ranks agree")
