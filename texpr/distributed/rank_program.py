"""`python -m texpr.distributed.rank_program train.py`: as `python -m mpi4py train.py`, with MPI
begun before the program.

Hydra, the launcher of MPICH, does not see that a rank has failed which has not begun with MPI, and the
others wait for it in `MPI_Init`. Open MPI's launcher ends them.
"""

from __future__ import annotations


def main() -> None:
    """Run the program of the command line; one that fails ends all ranks."""
    from mpi4py import MPI, run

    assert MPI.Is_initialized()
    run.main()


if __name__ == "__main__":
    main()
