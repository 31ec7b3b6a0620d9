"""Several processes as one program, on MPI: collectives of arrays, sharded data, a launcher.

from texpr import distributed as dist
comm = dist.init()
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from texpr.distributed.elsewhere_names import MODULE
from texpr.support.late import offer_late
from texpr.support.suggest import suggest_names

if TYPE_CHECKING:
    from texpr.distributed.communicator import Communicator
    from texpr.distributed.gathered_metrics import gather_for_metrics
    from texpr.distributed.gloo_communicator import GlooCommunicator
    from texpr.distributed.mpi_communicator import MPICommunicator
    from texpr.distributed.rank_checks import DistributedError
    from texpr.distributed.same_state import broadcast_optimizer_state, broadcast_parameters
    from texpr.distributed.start import init

__all__ = [
    "Communicator",
    "DistributedError",
    "GlooCommunicator",
    "MPICommunicator",
    "broadcast_optimizer_state",
    "broadcast_parameters",
    "gather_for_metrics",
    "init",
]

suggest_names(__name__, MODULE)
offer_late(__name__)
