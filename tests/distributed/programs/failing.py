"""Rank 1 ends in one of several ways, while the others wait for it."""

import os
import signal
import sys
import time

from texpr import distributed as dist

how = sys.argv[1]
if how == "raise before MPI" and os.environ.get("OMPI_COMM_WORLD_RANK", os.environ.get("PMI_RANK")) == "1":
    raise ValueError("rank 1 fails early")
comm = dist.init(sys.argv[2], timeout=60)
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
        case "stop":
            os.kill(os.getpid(), signal.SIGSTOP)
        case "hang":
            time.sleep(600)
        case "stop inside":
            comm.reduce_buffer = lambda *_: os.kill(os.getpid(), signal.SIGSTOP)
if how in ("stop", "hang"):
    comm.barrier(timeout=2)
if how == "stop inside":
    comm.timeout = 2.0
comm.allreduce(1.0)
print("went on")
