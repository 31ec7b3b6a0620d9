"""Examples and batches of them, with the names of torch.utils.data; a loader may be saved in the
middle of an epoch.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from texpr.support.late import offer_late
from texpr.support.suggest import suggest_names

if TYPE_CHECKING:
    from texpr.nn.data.buckets import PadToBuckets, bucket_bounds
    from texpr.nn.data.data_loader import DataLoader, default_collate
    from texpr.nn.data.datasets import (
        ConcatDataset,
        Dataset,
        IterableDataset,
        Subset,
        TensorDataset,
        random_split,
    )
    from texpr.nn.data.samplers import (
        BatchSampler,
        GroupedBatchSampler,
        LengthBatchSampler,
        Sampler,
        SubsetRandomSampler,
        WeightedRandomSampler,
    )

__all__ = [
    "BatchSampler",
    "ConcatDataset",
    "DataLoader",
    "Dataset",
    "GroupedBatchSampler",
    "IterableDataset",
    "LengthBatchSampler",
    "PadToBuckets",
    "Sampler",
    "Subset",
    "SubsetRandomSampler",
    "TensorDataset",
    "WeightedRandomSampler",
    "bucket_bounds",
    "default_collate",
    "random_split",
]

suggest_names(__name__)
offer_late(__name__)
