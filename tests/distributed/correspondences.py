"""Tests of other libraries and the tests here that ask the same.

All names were looked up in the repositories: Horovod at 2626dc87, Chainer at a8e15cbe, accelerate at
16cb6eb8, PyTorch in November 2026. The cases of PyTorch's `test_distributed_spawn.py` stand in
`torch/testing/_internal/distributed/distributed_test.py`.
"""

from __future__ import annotations

ADAPTED: dict[str, dict[str, tuple[str, ...]]] = {
    "horovod/test/parallel/test_torch.py": {
        "distributed/test_adapted.py::test_scaling_before_is_scaling_after": (
            "test_horovod_allreduce_prescale",
            "test_horovod_allreduce_postscale",
        ),
        "distributed/test_wrong_calls.py::test_calls_of_two_threads_at_once_are_an_error": (
            "test_horovod_allreduce_duplicate_name_error",
        ),
        "distributed/test_communicator.py::test_collectives_inside_of_traced_functions_are_refused": (
            "test_horovod_allreduce_grad",
        ),
        "nn/training/data_parallel/test_same_bits.py::test_ranks_are_accumulated_batches": (
            "test_gradient_clipping",
        ),
        "nn/training/data_parallel/test_ranks_together.py::test_frozen_layers_and_more_stages": (
            "test_dynamic_requires_grad",
        ),
        "nn/training/data_parallel/test_sync_batch_norm.py::test_ranks_are_one_large_batch": (
            "test_horovod_sync_batch_norm",
        ),
        "distributed/test_communicator.py::test_allreduce_of_dtypes": (
            "test_horovod_allreduce",
            "test_horovod_allreduce_min",
            "test_horovod_allreduce_max",
            "test_horovod_allreduce_product",
            "test_compression_fp16",
        ),
        "distributed/test_communicator.py::test_mean_is_the_sum_over_the_size": (
            "test_horovod_allreduce_average",
        ),
        "distributed/test_communicator.py::test_the_thread_reduces_in_order": (
            "test_horovod_allreduce_inplace",
        ),
        "distributed/test_adapted.py::test_fused_buffers_reduce_as_each_alone": (
            "test_horovod_allreduce_async_fused",
            "test_horovod_reducescatter_async_fused",
        ),
        "distributed/test_communicator.py::test_ranks_that_differ_are_an_error": (
            "test_horovod_allreduce_error",
            "test_horovod_allreduce_type_error",
            "test_horovod_allgather_error",
            "test_horovod_allgather_type_error",
            "test_horovod_broadcast_error",
            "test_horovod_broadcast_type_error",
            "test_horovod_broadcast_rank_error",
            "test_horovod_reducescatter_type_error",
            "test_horovod_reducescatter_error",
        ),
        "distributed/test_adapted.py::test_a_rank_that_fails_alone_leaves_the_others_an_error": (
            "test_horovod_allreduce_cpu_gpu_error",
        ),
        "distributed/test_communicator.py::test_broadcast_and_allgather_of_dtypes": (
            "test_horovod_allgather",
            "test_horovod_allgather_variable_size",
            "test_horovod_broadcast",
        ),
        "distributed/test_communicator.py::test_reduce_scatter_is_the_part_of_allreduce": (
            "test_horovod_reducescatter",
            "test_horovod_reducescatter_average",
        ),
        "distributed/test_communicator.py::test_wrong_arguments": (
            "test_horovod_reducescatter_scalar_error",
        ),
        "distributed/test_mpi.py::test_collectives": (
            "test_horovod_rank",
            "test_horovod_size",
            "test_horovod_allreduce_process_sets",
        ),
        "distributed/test_adapted.py::test_the_state_of_every_optimizer": ("test_broadcast_state",),
        "distributed/test_adapted.py::test_options_of_groups_are_those_of_the_root": (
            "test_broadcast_state_options",
        ),
        "distributed/test_adapted.py::test_parameters_that_need_no_gradient_are_broadcast_too": (
            "test_broadcast_state_no_grad",
        ),
        "distributed/test_communicator.py::test_objects": ("test_broadcast_object", "test_allgather_object"),
        "distributed/test_adapted.py::test_a_barrier_between_collectives": (
            "test_barrier_with_multiple_collectives",
        ),
        "distributed/test_adapted.py::test_uneven_batches_give_the_gradient_of_one_process": (
            "test_horovod_join_allreduce",
        ),
    },
    "horovod/test/integration": {
        "distributed/test_communicator.py::test_missing_ranks_are_named": ("test_stall.py",),
        "distributed/test_mpi.py::test_collectives": ("test_static_run.py::test_run_success",),
        "distributed/test_mpi.py::test_one_rank_that_fails_ends_all": (
            "test_static_run.py::test_run_failure",
        ),
        "distributed/test_mpi.py::test_restarts_go_on_from_the_last_checkpoint": (
            "elastic_common.py::test_single_rank_failure",
        ),
        "distributed/test_mpiexec.py::test_restarts": ("elastic_common.py::test_reset_limit",),
    },
    "chainer/tests/chainermn_tests": {
        "nn/training/data_parallel/test_ranks_together.py::test_a_training_goes_on_on_another_number_of_ranks": (
            "test_multi_node_snapshot.py::test_multinode_autoload",
        ),
        "nn/training/data_parallel/test_ranks_together.py::test_rank_0_writes": (
            "test_multi_node_snapshot.py::test_smoke_multinode_snapshot",
        ),
        "nn/training/data_parallel/test_overlap.py::test_a_slow_reduction_does_not_hold_up_the_backward_pass": (
            "test_double_buffering_optimizer.py::test_update_without_batched_copy",
        ),
        "nn/training/data_parallel/test_sync_batch_norm.py::test_ranks_are_one_large_batch": (
            "test_batch_normalization.py::test_multi_node_bn_cpu",
        ),
        "nn/training/data_parallel/test_ranks_together.py::test_stopping_early_restores_the_best_on_all_ranks": (
            "test_multi_node_early_stopping_trigger.py::test_early_stopping_trigger_with_accuracy_cpu",
        ),
        "distributed/test_adapted.py::test_mixed_dtypes_in_turn": (
            "test_communicator.py::check_multi_node_mean_grad_mixed_dtype",
        ),
        "distributed/test_communicator.py::test_empty_arrays": (
            "test_communicator.py::check_multi_node_mean_grad_empty",
        ),
        "distributed/test_communicator.py::test_broadcast_and_allgather_of_dtypes": (
            "test_communicator.py::test_allgather_cpu",
            "test_communicator.py::test_bcast_cpu",
        ),
        "distributed/test_communicator.py::test_allreduce_of_dtypes": (
            "test_communicator.py::test_allreduce_cpu",
        ),
        "nn/data/test_sharding.py::test_parameters_are_those_of_the_root": (
            "test_communicator.py::check_bcast_data",
            "test_allreduce_persistent.py::test_allreduce_persistent_cpu",
        ),
        "distributed/test_communicator.py::test_wrong_arguments": (
            "test_communicator.py::test_invalid_allreduce_grad_dtype",
        ),
        "distributed/test_adapted.py::test_data_sets_are_scattered_whole": (
            "test_scatter.py::test_scatter_dataset",
            "test_scatter.py::test_scatter_large_dataset_naive",
            "test_scatter.py::test_scatter_index_one",
            "test_empty_dataset.py::test_empty_dataset_numpy",
        ),
        "distributed/test_adapted.py::test_an_epoch_repeats_nothing": (
            "test_multi_node_iterator.py::test_mn_iterator_no_repeat",
        ),
        "nn/data/test_sharding.py::test_ranks_take_the_batches_of_one_process_in_turn": (
            "test_multi_node_iterator.py::test_mn_iterator_frag",
        ),
        "distributed/test_adapted.py::test_orders_that_samplers_overwrite": (
            "test_multi_node_iterator.py::test_overwrite_order",
        ),
        "nn/data/test_sharding.py::test_orders_that_differ_are_an_error": (
            "test_synchronized_iterator.py::test_sync",
        ),
        "distributed/test_adapted.py::test_observations_are_averaged_over_ranks": (
            "test_observation_aggregator.py::test_observation_aggregator_cpu",
        ),
        "distributed/test_adapted.py::test_metrics_over_ranks_are_those_of_one_process": (
            "test_multi_node_evaluator.py::test_generic",
        ),
    },
    "accelerate/test_utils/scripts": {
        "nn/training/data_parallel/test_same_bits.py::test_a_world_of_one_runs_the_plain_step": (
            "test_sync.py::test_noop_sync",
        ),
        "nn/training/data_parallel/test_same_bits.py::test_accumulated_rounds_send_once_and_keep_ranks_alike": (
            "test_sync.py::test_distributed_sync",
            "test_sync.py::test_gradient_accumulation",
        ),
        "nn/training/data_parallel/test_same_bits.py::test_learning_rates_and_averages": (
            "test_sync.py::test_gradient_accumulation_with_opt_and_scheduler",
        ),
        "distributed/test_mpi.py::test_a_training_of_ranks_is_one_process": (
            "test_script.py::training_check",
        ),
        "nn/data/test_sharding.py::test_ranks_take_the_batches_of_one_process_in_turn": (
            "test_script.py::dl_preparation_check",
        ),
        "nn/data/test_sharding.py::test_samplers": (
            "test_script.py::custom_sampler_check",
            "test_script.py::check_seedable_sampler_in_batch_sampler_shard",
        ),
        "distributed/test_adapted.py::test_seeds_decide_orders": ("test_script.py::check_seedable_sampler",),
        "distributed/test_adapted.py::test_a_loop_that_is_left_goes_on_in_its_next_epoch": (
            "test_sync.py::test_dataloader_break",
        ),
        "distributed/test_communicator.py::test_broadcast_and_allgather_of_dtypes": (
            "test_ops.py::test_gather",
            "test_ops.py::test_broadcast",
            "test_ops.py::test_pad_across_processes",
        ),
        "distributed/test_communicator.py::test_objects": ("test_ops.py::test_gather_object",),
        "distributed/test_communicator.py::test_non_contiguous_arrays_and_other_byte_orders": (
            "test_ops.py::test_gather_non_contiguous",
        ),
        "distributed/test_communicator.py::test_ranks_that_differ_are_an_error": (
            "test_ops.py::test_op_checker",
        ),
        "distributed/test_communicator.py::test_allreduce_of_dtypes": (
            "test_ops.py::test_reduce_sum",
            "test_ops.py::test_reduce_max",
        ),
        "distributed/test_communicator.py::test_mean_is_the_sum_over_the_size": (
            "test_ops.py::test_reduce_mean",
        ),
        "distributed/test_adapted.py::test_data_sets_are_scattered_whole": (
            "test_distributed_data_loop.py::test_default_ensures_even_batch_sizes",
        ),
        "distributed/test_adapted.py::test_uneven_batches_give_the_gradient_of_one_process": (
            "test_distributed_data_loop.py::test_can_join_uneven_inputs",
        ),
        "nn/data/test_sharding.py::test_a_loader_goes_on_with_another_number_of_ranks": (
            "test_distributed_data_loop.py::test_stateful_dataloader",
        ),
        "distributed/test_adapted.py::test_metrics_over_ranks_are_those_of_one_process": (
            "test_metrics.py::test_mrpc",
        ),
        "distributed/test_adapted.py::test_gathered_batches_where_the_last_one_is_left_out": (
            "test_metrics.py::test_gather_for_metrics_drop_last",
        ),
    },
    "pytorch/test/distributed": {
        "nn/training/data_parallel/test_ranks_together.py::test_ranks_may_run_out_first": (
            "test_distributed_spawn.py::test_ddp_uneven_inputs",
        ),
        "distributed/test_communicator.py::test_floats_of_16_bits_are_rounded_once": (
            "test_c10d_nccl.py::test_fp16_compress_wrapper_is_view",
        ),
        "distributed/test_communicator.py::test_the_thread_reduces_in_order": (
            "test_c10d_gloo.py::test_barrier_implies_wait",
        ),
        "distributed/test_mpi.py::test_layers_that_are_split_over_ranks_equal_the_whole_ones": (
            "tensor/parallel/test_tp_examples.py::test_mlp_training",
        ),
    },
}
"""By repository or file: our test, and those of theirs that it is for."""
