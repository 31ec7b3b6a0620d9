"""Names of torch.distributed, Horovod and mpi4py, and what to write for them."""

from __future__ import annotations

from texpr.support.elsewhere import meant, said

NO_SYNC = (
    "`nn.Trainer(..., accumulate=4)` sends gradients once per update; in a loop of one's own they add up in "
    "`grad` until you call `comm.allreduce`"
)
_NO_GPUS = 'arrays of several processes lie on CPUs, not on GPUs: `dist.init("mpi")` or `dist.init("gloo")`'
_NO_SERVERS = (
    "there are no parameter servers and no remote calls: gradients are reduced over all ranks, "
    "`nn.Trainer(..., comm=comm)`"
)
_WHOLE = "every rank holds all parameters; examples/split_layers.py splits layers over ranks by hand"
_FIXED = "a world keeps its size; `python -m texpr launch --restarts 3` goes on from the last checkpoint"
CALLS = {
    **meant("comm.allreduce(a)", "all_reduce", "Allreduce", "reduce", "grouped_allreduce"),
    **meant("comm.allgather(a)", "all_gather", "gather", "Allgather", "all_gather_into_tensor"),
    **meant("comm.reduce_scatter(a)", "reduce_scatter_tensor", "reducescatter"),
    **meant("comm.broadcast(a)", "bcast", "Bcast"),
    **meant("comm.gather_object(o)", "all_gather_object", "allgather_object"),
    **meant("comm.broadcast_object(o)", "broadcast_object_list"),
    **meant("comm.barrier(timeout=60)", "monitored_barrier", "Barrier"),
    **said(
        "ranks have no messages for one other rank; `comm.gather_object(o)` is for all",
        *("send", "recv", "isend", "irecv", "all_to_all", "alltoall", "Alltoall", "scatter"),
    ),
    **said(NO_SYNC, "no_sync", "skip_synchronize", "accumulate"),
}
COMMUNICATOR = {
    **CALLS,
    **meant("comm.rank", "Get_rank", "get_rank", "process_index"),
    **meant("comm.size", "Get_size", "get_world_size", "world_size", "num_processes"),
    **meant("comm.is_main", "is_main_process", "is_local_main_process"),
}
MODULE = {
    **{
        name: f"it is a method: `comm = dist.init()`, `{text}`"
        for name, text in {
            "allreduce": "comm.allreduce(a)",
            "allgather": "comm.allgather(a)",
            "broadcast": "comm.broadcast(a)",
            "reduce_scatter": "comm.reduce_scatter(a)",
            "barrier": "comm.barrier(timeout=60)",
            "broadcast_object": "comm.broadcast_object(o)",
            "gather_object": "comm.gather_object(o)",
            "compare": "comm.compare(what, text)",
            "rank": "comm.rank",
            "size": "comm.size",
        }.items()
    },
    **CALLS,
    **meant("dist.init().rank", "get_rank"),
    **meant("dist.init().size", "get_world_size", "world_size"),
    **meant("dist.init()", "init_process_group", "initialize", "Accelerator"),
    **meant(
        "nn.Trainer(..., comm=comm)",
        *(
            "DistributedDataParallel",
            "DDP",
            "DataParallel",
            "DistributedOptimizer",
            "DistributedGradientTape",
        ),
    ),
    **meant("dist.init(group)", "new_group", "create_communicator", "ProcessGroup", "add_process_set"),
    **meant('comm.allreduce(a, op="sum")', "ReduceOp", "Sum", "Average"),
    **meant("python -m texpr launch -n 4 train.py", "run", "launch", "spawn", "torchrun"),
    **said("ranks that have no batch left send zeros by themselves", "Join", "join"),
    **said(_NO_GPUS, "nccl", "nccl4py", "NCCLCommunicator"),
    **said(_NO_SERVERS, "rpc", "grpc", "ParameterServer", "ParameterServerStrategy"),
    **meant("nn.data.DataLoader(..., shard=comm)", "DistributedSampler", "scatter_dataset"),
    **said(
        _WHOLE, "FullyShardedDataParallel", "FSDP", "fully_shard", "DeviceMesh", "ZeroRedundancyOptimizer"
    ),
    **said(_FIXED, "elastic", "run_elastic"),
    **said("processes that end leave MPI by themselves", "destroy_process_group", "shutdown", "finalize"),
}
BACKENDS = {
    **said(_NO_GPUS, "nccl", "nccl4py", "rccl", "ucc", "cuda"),
    **said(_FIXED, "elastic"),
    **said(_WHOLE, "fsdp", "zero", "deepspeed"),
    **said(
        'arrays move by MPI, `dist.init()`, or by torch\'s gloo, `dist.init("gloo")`',
        *("grpc", "tcp", "horovod", "ray", "dask", "jax"),
    ),
    **said(_NO_SERVERS, "ps", "parameter_server", "parameter-server"),
}
"""Of `dist.init`, in small letters."""
