"""Rank 1 ends in one of several ways, while the others wait for it."""

import os
import signal
import sys
import time

from texpr import distributed as dist

how = sys.argv[1]
is_second = os.environ.get("OMPI_COMM_WORLD_RANK", os.environ.get("PMI_RANK")) == "1"
if how == "raise before MPI" and is_second:
    raise ValueError("rank 1 fails early")
if how == "stop before MPI" and is_second:
    os.kill(os.getpid(), signal.SIGSTOP)
comm = dist.init(sys.argv[2])
comm.barrier()
if comm.rank == 1:
    match how:
        case "raise":
            raise ValueError("rank 1 fails")
        case "exit":
            print("rank 1 ends", file=sys.stderr, flush=True)
            sys.exit(3)
        case "end":
            sys.exit()
        case "kill":
            os.kill(os.getpid(), signal.SIGKILL)
        case "stop" | "stop while others compute":
            os.kill(os.getpid(), signal.SIGSTOP)
        case "hang":
            time.sleep(600)
        case "stop inside":
            # Who ends all ranks may let this one go on first.
            comm.reduce_buffer = lambda *_: (os.kill(os.getpid(), signal.SIGSTOP), time.sleep(600))
        case "hang inside":
            comm.reduce_buffer = lambda *_: time.sleep(600)
if how == "hang":
    comm.barrier(timeout=2)
if how == "hang inside" and comm.rank == 0:
    comm.timeout = 2.0
if how == "stop while others compute":
    time.sleep(600)
comm.allreduce(1.0)
print("went on")
